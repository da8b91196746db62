//! Foreign text in a message: short, on one line, and nothing in it that acts.

use converse_text::escape::escape;
use converse_text::shorten::chars;
use serde_json::Value;

/// Characters of a text that are shown.
const MOST: usize = 200;

/// The text in quotes, cut.
pub(crate) fn excerpt(text: &str) -> String {
    let shown = chars(text, MOST).replace('\r', "\\r").replace('\n', "\\n").replace('\t', "\\t");
    format!("\"{}\"", escape(&shown))
}

/// The value as JSON, cut.
pub(crate) fn json_excerpt(value: &Value) -> String {
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
