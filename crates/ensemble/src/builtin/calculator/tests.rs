use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::Calculator;
use super::cage::Cage;
use crate::builtin::testing::{build, context, fixed, invoke, value, words};
use crate::{Answer, Invocable, InvokeError};
use converse_canister::Arguments;

fn calculator() -> std::sync::Arc<dyn Invocable> {
    build("calculator", json!({}), Path::new("/"), &[], fixed("2026-11-20T12:00:00Z")).unwrap()
}

fn answer(arguments: Value) -> Answer {
    invoke(&*calculator(), arguments).unwrap()
}

/// The result with `~` before it if it is not exact, or `error: …`.
fn calculated(arguments: Value) -> String {
    let answer = answer(arguments.clone());
    if answer.is_error {
        return format!("error: {}", words(&answer));
    }
    let value = value(&answer);
    assert_eq!(value["expression"], arguments["expression"]);
    let sign = if value["exact"] == json!(true) { "" } else { "~" };
    format!("{sign}{}", value["result"].as_str().unwrap())
}

#[test]
fn expressions_have_these_results() {
    let mut wrong = Vec::new();
    for (expression, expected) in [
        ("0.1 + 0.2", "0.3"),
        ("15% of 2500", "375"),
        ("2500*0.15", "375"),
        ("2500 + 15%", "2875"),
        ("2500 - 15%", "2125"),
        ("2500 kg + 10%", "2750 kg"),
        ("200 * 15%", "30"),
        ("100 / 50%", "200"),
        ("200 kg * 15%", "30 kg"),
        ("10% + 5%", "15%"),
        ("15% of 80 + 10%", "13.2"),
        ("100 + 10% + 5%", "115.5"),
        ("sqrt(25%)", "0.5"),
        ("1/3", "~0.3333333333"),
        ("2/4", "0.5"),
        ("2**10", "1024"),
        ("2^-1", "0.5"),
        ("2^3^2", "512"),
        ("-2^2", "-4"),
        ("5²", "25"),
        ("2×3÷4−1", "0.5"),
        ("√9 + 1", "4"),
        ("∛27", "3"),
        ("sqrt(2)", "~1.4142135624"),
        ("8^(1/3)", "2"),
        ("2π", "~6.2831853072"),
        ("sqrt(9)^2 + 3!", "15"),
        ("sin(2)^2 + cos(2)^2", "~1"),
        ("ln(2)^2", "~0.4804530139"),
        ("round(123456789012345678901.5)", "123456789012345678902"),
        ("floor(-7/2) km to m", "-4000 m"),
        ("sin(30 deg)", "0.5"),
        ("sin 30°", "0.5"),
        ("sin(pi/6)", "0.5"),
        ("cos(0)", "1"),
        ("sin^(-1)(0.5) to deg", "~30 degs"),
        ("atan(1) to deg", "~45 degs"),
        ("log(100)", "~2"),
        ("log2(8)", "~3"),
        ("ln(e)", "~1"),
        ("exp(1)", "~2.7182818285"),
        ("5!", "120"),
        ("10 choose 3", "120"),
        ("17 mod 5", "2"),
        ("17 % 5", "2"),
        ("abs(-3) + floor(2.7) + round(2.5)", "8"),
        ("255 to hex", "ff"),
        ("0xff + 1 to decimal", "256"),
        ("0b101 to decimal", "5"),
        ("6 & 3", "2"),
        ("1 << 10", "1024"),
        ("0.1 + 0.2 == 0.3", "true"),
        ("5 km to miles", "~3.1068559612 miles"),
        ("10 in to cm", "25.4 cm"),
        ("5 ft 6 in to cm", "167.64 cm"),
        ("72 °F to °C to 1 dp", "~22.2 °C"),
        ("1234.5678 to 3 sf", "~1230"),
        ("1/3 * 10^-15", "~0.0000000000000003333333333"),
        ("100 degC to degF", "212 °F"),
        ("60 mph to km/h", "96.56064 km / h"),
        ("2 weeks to hours", "336 hours"),
        ("1 GiB to MB", "1073.741824 MB"),
        ("2(3+4)", "14"),
        ("1.5(2)", "3"),
        ("(1+2)(3+4)", "21"),
        ("[1+{2*3}]/7", "1"),
        ("2 x 3 =", "6"),
        ("1e3", "1000"),
        ("1 2/3 * 3", "5"),
        ("((((((((1-(2-(3-(4-(5))))))))))))", "3"),
        ("123456789012345678901234567890 * 2", "246913578024691357802469135780"),
        ("i^2", "-1"),
    ] {
        let result = calculated(json!({ "expression": expression }));
        if result != expected {
            wrong.push(format!("{expression}: {result}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn decimals_round_and_never_pretend() {
    for (expression, decimals, expected) in [
        ("2/3", 2, "~0.67"),
        ("375", 2, "375"),
        ("5 km to miles", 2, "~3.11 miles"),
        ("1/7", 30, "~0.142857142857142857142857142857"),
        // The evaluator rounds these to `1` and `21`, and prints fifty digits of a root.
        ("0.006", 2, "~0.01"),
        ("20.06", 1, "~20.1"),
        ("sqrt(2)", 50, "~1.4142135623731"),
        ("pi to 50 dp", 3, "~3.142"),
        ("1 == 1", 2, "true"),
    ] {
        assert_eq!(
            calculated(json!({ "expression": expression, "decimals": decimals })),
            expected,
            "{expression}"
        );
    }
    let error = invoke(&*calculator(), json!({ "expression": "1", "decimals": 51 })).unwrap_err();
    assert!(matches!(error, InvokeError::Invalid(text) if text.contains("`decimals`")));
    assert!(matches!(invoke(&*calculator(), json!({})), Err(InvokeError::Invalid(_))));
}

#[test]
fn what_cannot_be_calculated_is_said() {
    let mut wrong = Vec::new();
    for (expression, said) in [
        ("", "nothing to calculate"),
        ("1/0", "division by zero"),
        ("0^0", "zero to the power of zero"),
        ("5 mod 0", "modulo by zero"),
        ("1 kg + 2 m", "cannot convert"),
        ("foo + 1", "unknown identifier"),
        ("3 +", "unexpected"),
        ("(1 + 2", "not closed"),
        ("log(0)", "must lie"),
        ("1,5 + 2", "`,`"),
        ("roll d20", "dice"),
        ("2d6", "dice"),
        ("5 USD to EUR", "exchange rates"),
        ("$5", "currencies"),
        ("today", "current date"),
        ("@2020-01-01", "`@`"),
        ("f = 5", "`=`"),
        ("(x: x x)(x: x x)", "`:`"),
        ("\"a\" + \"b\"", "`\"`"),
        ("sin", "function"),
        ("1 + sin", "function"),
        ("2^40000", "12042 characters"),
        ("1/3 to 51 dp", "50 decimals"),
    ] {
        let result = calculated(json!({ "expression": expression }));
        if !result.starts_with("error: ") || !result.contains(said) {
            wrong.push(format!("{expression}: {result}, not {said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let long = calculated(json!({ "expression": "9".repeat(1_001) }));
    assert_eq!(long, "error: the expression has 1001 bytes; at most 1000 are read");
}

/// Each of these once aborted the process, ran for hours or ran past the interrupt.
#[test]
fn hostile_expressions_end_soon_with_a_clean_answer() {
    let flat = |term: &str, sign: &str| vec![term; 1_000 / (term.len() + sign.len())].join(sign);
    let nested = |open: &str, depth: usize| format!("{}1{}", open.repeat(depth), ")".repeat(depth));
    let staircase = format!("{}{}", format!("{}-(", vec!["1"; 60].join("-")).repeat(6), ")".repeat(6));
    let hostile = [
        "9^9^9^9".to_owned(),
        "10^10000000".to_owned(),
        "100000!".to_owned(),
        "5!!!!".to_owned(),
        "2^(2^26)".to_owned(),
        "exp(1e9)".to_owned(),
        "1000000 choose 500000".to_owned(),
        "1e999999999".to_owned(),
        "1e-999999999".to_owned(),
        "fib 10000000".to_owned(),
        "10^(10^6) to words".to_owned(),
        "(".repeat(10_000),
        nested("(", 10_000),
        nested("(", 64),
        nested("1-(", 64),
        nested("2(", 64),
        nested("1 % (", 64),
        nested("sin(", 64),
        nested("2 sin(", 64),
        nested("-(", 64),
        nested("1/(1+", 64),
        nested("10%+(", 64),
        nested("2^(", 64),
        staircase,
        flat("1", "+"),
        flat("1", "-"),
        flat("2", "*"),
        flat("1", "/"),
        flat("2", "^"),
        flat("9", "^9+"),
        flat("1", " "),
        flat("1 m", " "),
        flat("light", " "),
        flat("1", "%+"),
        flat("(1)", ""),
        flat("(1)", "-"),
        flat("e", " of "),
        flat("1", " to "),
        flat("!", ""),
        "-".repeat(1_000),
        "-".repeat(64) + "1",
        "+-".repeat(400) + "1",
        "√".repeat(300) + "2",
        "9".repeat(1_000),
        "0.".to_owned() + &"3".repeat(990),
        "9".repeat(1_001),
        "\u{0}".repeat(10),
        "🦀".repeat(200),
    ];
    // Less patience than usual, so that the test does not take as long as the attacks would like.
    let calculator = Calculator { cage: Cage::new(Duration::from_millis(50)) };
    for expression in &hostile {
        let answer = invoke(&calculator, json!({ "expression": expression })).unwrap();
        let text =
            if answer.is_error { words(&answer).to_owned() } else { value(&answer)["result"].to_string() };
        let short: String = expression.chars().take(40).collect();
        assert!(!text.is_empty() && text.chars().count() <= 10_002, "{short}");
        assert!(!text.contains("crashed") && !text.contains("could not be stopped"), "{short}: {text}");
    }
}

#[test]
fn a_cancelled_calculation_ends_and_frees_its_thread() {
    let calculator = calculator();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let expression = json!({ "expression": "9^9^9^9" });
    let arguments = Arguments::from_object(expression.as_object().unwrap().clone());
    runtime.block_on(async {
        let cancel = CancellationToken::new();
        cancel.cancel();
        // More than there are threads: each must give its place back.
        for _ in 0..9 {
            let answer = calculator.invoke(context(cancel.clone()), &arguments).await.unwrap();
            assert!(words(&answer).contains("cancelled"));
        }
    });
    assert_eq!(calculated(json!({ "expression": "1+1" })), "2");
}
