//! Detects reasoning whose text the provider does not reveal.

use converse_canister::Native;
use serde_json::Value;

/// Returns whether a reply has reasoning without readable text: redacted blocks, or opaque (encrypted) ones.
/// Anthropic `redacted_thinking` and `display: omitted`, Responses items without a summary, OpenRouter
/// `reasoning.encrypted` (SDK types and pages as of 2026-11).
pub fn has_hidden_thinking(native: &Native) -> bool {
    native.items.iter().any(|item| match kind(item) {
        "redacted_thinking" => true,
        "thinking" => is_empty(item.get("thinking")) && !is_empty(item.get("signature")),
        "reasoning" => {
            let words = ["summary", "content"].iter().any(|key| !is_empty(item.get(*key)));
            !words && !is_empty(item.get("encrypted_content"))
        }
        _ => {
            let details = item.get("reasoning_details").and_then(Value::as_array);
            details.is_some_and(|details| {
                let encrypted = details.iter().any(|detail| kind(detail) == "reasoning.encrypted");
                encrypted && details.iter().all(|detail| kind(detail) == "reasoning.encrypted")
            })
        }
    })
}

fn kind(item: &Value) -> &str {
    item.get("type").and_then(Value::as_str).unwrap_or_default()
}

fn is_empty(value: Option<&Value>) -> bool {
    match value {
        Some(Value::String(text)) => text.is_empty(),
        Some(Value::Array(list)) => list.is_empty(),
        Some(Value::Null) | None => true,
        Some(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use converse_canister::ProviderName;
    use serde_json::json;

    use super::*;
    use crate::{AuthScheme, Dialect, Endpoint, Quirks};

    #[test]
    fn only_thinking_without_words_is_hidden() {
        let provider = ProviderName::new("there").unwrap();
        let endpoint =
            Endpoint::new(provider, Dialect::OpenAiChat, String::new(), AuthScheme::None, Quirks::OPENAI);
        for (item, hidden) in [
            (json!({ "type": "redacted_thinking", "data": "x" }), true),
            (json!({ "type": "thinking", "thinking": "", "signature": "x" }), true),
            (json!({ "type": "thinking", "thinking": "words", "signature": "x" }), false),
            (json!({ "type": "reasoning", "summary": [], "encrypted_content": "x" }), true),
            (
                json!({ "type": "reasoning", "summary": [{ "text": "words" }], "encrypted_content": "x" }),
                false,
            ),
            (json!({ "reasoning_details": [{ "type": "reasoning.encrypted", "data": "x" }] }), true),
            (json!({ "reasoning_details": [{ "type": "reasoning.text", "text": "words" }] }), false),
            (json!({ "reasoning_details": [] }), false),
            (json!({ "type": "text", "text": "words" }), false),
        ] {
            let native = Native { maker: endpoint.maker("m"), items: vec![item.clone()] };
            assert_eq!(has_hidden_thinking(&native), hidden, "{item}");
        }
    }
}
