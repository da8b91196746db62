//! Tests of tools without a model.
//!
//! [`verdict()`] compares the result of a call with the expectations of a descriptor's `[[tests]]`. [`synthesise()`] makes
//! arguments from a JSON Schema: some that fit it, and some that must be refused. Both are pure: nothing here calls a tool,
//! reads a clock or uses random numbers, so the same schema always gives the same arguments.

mod outcome;
mod synth;
mod verdict;

pub use outcome::{TestKind, TestOutcome, TestStatus};
pub use synth::{Sample, Synthesis, synthesise};
pub use verdict::{Miss, result_text, verdict};

use converse_text::escape::escape;
use converse_text::shorten::chars;
use serde_json::Value;

/// Characters of a foreign text that are shown.
const MOST: usize = 200;

/// Returns a foreign text in quotes: cut, on one line, and without active characters.
fn excerpt(text: &str) -> String {
    let shown = chars(text, MOST).replace('\r', "\\r").replace('\n', "\\n").replace('\t', "\\t");
    format!("\"{}\"", escape(&shown))
}

/// Returns a value as JSON, cut and without active characters.
fn json_excerpt(value: &Value) -> String {
    escape(&chars(&value.to_string(), MOST))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_shown_is_short_and_harmless() {
        assert_eq!(excerpt("a\nb\tc\r\x1b[31m\u{202e}"), "\"a\\nb\\tc\\r\\u{1b}[31m\\u{202e}\"");
        assert_eq!(excerpt(&"ж".repeat(201)), format!("\"{}…\"", "ж".repeat(200)));
        assert_eq!(excerpt(&"ж".repeat(200)), format!("\"{}\"", "ж".repeat(200)));
        assert_eq!(json_excerpt(&json!({ "a": "\u{202e}" })), "{\"a\":\"\\u{202e}\"}");
        assert_eq!(json_excerpt(&json!("x".repeat(300))).chars().count(), 201);
    }
}
