//! Canonical JSON, so that equal values have equal digests.
//!
//! This is RFC 8785 (checked 2026-11: <https://www.rfc-editor.org/rfc/rfc8785>) but for one thing: an integer is written
//! exactly, where the RFC would round it to a double, so that no two integers that a program tells apart meet.

use serde_json::{Map, Number, Value};

/// Serialises a value without blanks, with keys sorted by UTF-16 units and numbers as ECMAScript writes them.
pub fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

fn write(value: &Value, text: &mut String) {
    match value {
        Value::Array(entries) => {
            text.push('[');
            for (index, entry) in entries.iter().enumerate() {
                separate(index, text);
                write(entry, text);
            }
            text.push(']');
        }
        Value::Object(members) => object(members, text),
        Value::Number(number) => text.push_str(&number_text(number)),
        // serde_json escapes what the RFC does and nothing else.
        Value::Null | Value::Bool(_) | Value::String(_) => text.push_str(&value.to_string()),
    }
}

fn object(members: &Map<String, Value>, text: &mut String) {
    let mut members: Vec<_> = members.iter().collect();
    members.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
    text.push('{');
    for (index, (key, value)) in members.into_iter().enumerate() {
        separate(index, text);
        text.push_str(&Value::from(key.as_str()).to_string());
        text.push(':');
        write(value, text);
    }
    text.push('}');
}

fn separate(index: usize, text: &mut String) {
    if index > 0 {
        text.push(',');
    }
}

fn number_text(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() => ecmascript(float),
        _ => number.to_string(),
    }
}

/// `Number::toString` of ECMAScript. serde_json has found the digits: the fewest that read back as the same double, the
/// even ones where two are as good.
fn ecmascript(float: f64) -> String {
    let number_text = Value::from(float.abs()).to_string();
    let (mantissa, exponent) = number_text.split_once('e').unwrap_or((&number_text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let digits = all.trim_start_matches('0');
    let leading = all.len() - digits.len();
    let digits = digits.trim_end_matches('0');
    if digits.is_empty() {
        return "0".to_owned();
    }
    let length = |text: usize| i32::try_from(text).unwrap_or(i32::MAX);
    // Where the point stands, counted from before the first digit.
    let point = length(whole.len()) - length(leading) + exponent.parse::<i32>().unwrap_or(0);
    let count = length(digits.len());
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    let plain = if !(-5..=21).contains(&point) {
        let (first, rest) = digits.split_at(1);
        let fraction = if rest.is_empty() { String::new() } else { format!(".{rest}") };
        format!("{first}{fraction}e{:+}", point - 1)
    } else if point >= count {
        format!("{digits}{}", zeros(point - count))
    } else if point > 0 {
        let (whole, fraction) = digits.split_at(usize::try_from(point).unwrap_or(0));
        format!("{whole}.{fraction}")
    } else {
        format!("0.{}{digits}", zeros(-point))
    };
    if float < 0.0 { format!("-{plain}") } else { plain }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_are_ordered_as_the_rfc_says() {
        // Section 3.2.3 of the RFC: the order is of UTF-16 units, in which an emoji comes before U+FB33.
        let value = json!({ "\u{20ac}": 1, "\r": 2, "\u{fb33}": 3, "1": 4, "\u{1f600}": 5, "\u{80}": 6, "\u{f6}": 7 });
        assert_eq!(
            canonical(&value),
            "{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"\u{f6}\":7,\"\u{20ac}\":1,\"\u{1f600}\":5,\"\u{fb33}\":3}"
        );
        assert_eq!(
            canonical(&json!({ "b": [1, { "d": null, "c": true }], "a": {} })),
            r#"{"a":{},"b":[1,{"c":true,"d":null}]}"#
        );
        assert_eq!(
            canonical(&json!("\u{1}\u{8}\u{7f}/\"\\\u{2028}é")),
            "\"\\u0001\\b\u{7f}/\\\"\\\\\u{2028}é\""
        );
    }

    #[test]
    fn numbers_are_written_as_the_rfc_says() {
        // Appendix B of the RFC.
        for (float, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (5e-324, "5e-324"),
            (-5e-324, "-5e-324"),
            (1.797_693_134_862_315_7e308, "1.7976931348623157e+308"),
            (9_007_199_254_740_992.0, "9007199254740992"),
            (295_147_905_179_352_830_000.0, "295147905179352830000"),
            (9.999_999_999_999_997e22, "9.999999999999997e+22"),
            (1e23, "1e+23"),
            (999_999_999_999_999_700_000.0, "999999999999999700000"),
            (1e21, "1e+21"),
            (333_333_333.333_333_25, "333333333.33333325"),
            (0.000_001, "0.000001"),
            (0.000_000_1, "1e-7"),
            (-0.000_003_333_333_333_333_333_5, "-0.0000033333333333333333"),
            (1.5, "1.5"),
            // As good as .813, and even.
            (-13_298_279_891_358.812, "-13298279891358.812"),
        ] {
            assert_eq!(canonical(&json!(float)), text);
        }
        assert_eq!(
            canonical(&json!([9_007_199_254_740_993_u64, u64::MAX, i64::MIN])),
            "[9007199254740993,18446744073709551615,-9223372036854775808]"
        );
    }

    proptest! {
        #[test]
        fn a_number_reads_back_as_itself(float in any::<f64>().prop_filter("JSON has no others", |f| f.is_finite())) {
            prop_assert_eq!(ecmascript(float).parse::<f64>().unwrap(), float);
        }
    }
}
