//! Durations and sizes with units. A bare number is seconds or bytes.

use std::time::Duration;

use toml::de::DeValue;

const DURATIONS: [(&str, f64); 4] = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
const SIZES: [(&str, f64); 7] = [
    ("b", 1.0),
    ("kb", 1e3),
    ("mb", 1e6),
    ("gb", 1e9),
    ("kib", 1024.0),
    ("mib", 1024.0 * 1024.0),
    ("gib", 1024.0 * 1024.0 * 1024.0),
];

/// Reads a duration. `None`: not a duration. `Some(Err)`: a text that cannot be read. Too long a duration is
/// `Duration::MAX`, so that the caller's range refuses it.
pub(crate) fn duration(value: &DeValue<'_>) -> Option<Result<Duration, ()>> {
    let seconds = number(value, &DURATIONS)?;
    Some(seconds.map(|seconds| Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX)))
}

/// Reads a size in bytes, without fractions.
pub(crate) fn size(value: &DeValue<'_>) -> Option<Result<usize, ()>> {
    let is_part = matches!(value, DeValue::Float(_));
    let bytes = number(value, &SIZES).filter(|_| !is_part)?;
    // The cast saturates and turns NaN into 0; both are out of every range.
    Some(bytes.map(|bytes| bytes as usize))
}

fn number(value: &DeValue<'_>, units: &[(&str, f64)]) -> Option<Result<f64, ()>> {
    match value {
        DeValue::Integer(_) | DeValue::Float(_) => plain(value).map(Ok),
        DeValue::String(text) => Some(with_unit(text, units).ok_or(())),
        _ => None,
    }
}

/// Reads a number in any notation of TOML.
pub(crate) fn plain(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Float(float) => float.as_str().parse().ok(),
        DeValue::Integer(integer) if integer.radix() == 10 => integer.as_str().parse().ok(),
        DeValue::Integer(integer) => {
            let read = i64::from_str_radix(integer.as_str(), integer.radix());
            // Beyond 64 bits, so out of every range.
            Some(read.map_or(f64::INFINITY, |integer| integer as f64))
        }
        _ => None,
    }
}

fn with_unit(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at_checked(end)?;
    let unit = unit.trim().to_lowercase();
    let (_, factor) = units.iter().find(|(name, _)| *name == unit)?;
    Some(number.parse::<f64>().ok()? * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> DeValue<'_> {
        DeValue::parse(text).unwrap().into_inner()
    }

    #[test]
    fn durations_are_seconds_or_have_a_unit() {
        for (text, millis) in [
            ("30", 30_000),
            ("0.25", 250),
            ("\"30s\"", 30_000),
            ("\"5 m\"", 300_000),
            ("\"500ms\"", 500),
            ("\"1.5s\"", 1500),
            ("\"2H\"", 7_200_000),
            ("-3", 0),
            ("nan", 0),
            ("0x10", 16_000),
            ("0o10", 8_000),
            ("0b1_0", 2_000),
        ] {
            assert_eq!(duration(&value(text)), Some(Ok(Duration::from_millis(millis))), "{text}");
        }
        assert_eq!(duration(&value("99999999999999999999.0")), Some(Ok(Duration::MAX)));
        assert_eq!(duration(&value("inf")), Some(Ok(Duration::MAX)));
        assert_eq!(duration(&value("0xffff_ffff_ffff_ffff_ff")), Some(Ok(Duration::MAX)));
        for text in ["\"30\"", "\"\"", "\"s\"", "\"1.2.3s\"", "\"-3s\"", "\"30 seconds\"", "\"∞\""] {
            assert_eq!(duration(&value(text)), Some(Err(())), "{text}");
        }
        assert_eq!(duration(&value("true")), None);
    }

    #[test]
    fn sizes_are_bytes_or_have_a_unit() {
        for (text, bytes) in [
            ("1000", 1000),
            ("\"64 KiB\"", 65_536),
            ("\"64KB\"", 64_000),
            ("\"1.5 MiB\"", 1_572_864),
            ("\"7b\"", 7),
            ("0x400", 1024),
        ] {
            assert_eq!(size(&value(text)), Some(Ok(bytes)), "{text}");
        }
        assert_eq!(size(&value("-1")), Some(Ok(0)));
        assert_eq!(size(&value("\"64 Kilo\"")), Some(Err(())));
        assert_eq!(size(&value("[]")), None);
        assert_eq!(size(&value("1.5")), None);
    }
}
