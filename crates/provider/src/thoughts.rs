//! Decides whether a request replays a reply's reasoning.

use converse_canister::{Assistant, Stop};
use serde_json::Value;

use crate::{Dialect, Endpoint, ToolProtocol};

/// Returns whether a request to this model includes the reasoning of a reply; `words` is the reply's first canister. Only
/// the model that made the reasoning gets it, in its native form, and on some wires not all servers accept it.
pub fn replays_reasoning(words: &Assistant, endpoint: &Endpoint, model: &str) -> bool {
    let Some(native) = &words.native else { return false };
    let has = |key: &str| native.items.iter().any(|item: &Value| item.get(key).is_some());
    let is_sent = match endpoint.dialect {
        _ if endpoint.tools == ToolProtocol::Prompted => false,
        Dialect::OpenAiChat => endpoint.quirks.replay_reasoning.is_some_and(has),
        Dialect::Ollama => has("thinking"),
        Dialect::AnthropicMessages | Dialect::OpenAiResponses | Dialect::Gemini => !native.items.is_empty(),
    };
    is_sent && native.maker == endpoint.maker(model) && words.stop != Stop::Cut
}

#[cfg(test)]
mod tests {
    use converse_canister::{Native, TurnId};
    use serde_json::json;

    use super::*;
    use crate::row;

    #[test]
    fn thoughts_go_back_to_who_had_them_and_wants_them() {
        let thought = json!({ "reasoning_content": "hm", "thinking": "hm" });
        for (name, model, stop, goes) in [
            ("deepseek", "m", Stop::End, true),
            ("deepseek", "other", Stop::End, false),
            ("deepseek", "m", Stop::Cut, false),
            ("openai-chat", "m", Stop::End, false),
            ("ollama-native", "m", Stop::End, true),
            ("anthropic", "m", Stop::End, true),
        ] {
            let endpoint = row(name).unwrap().endpoint(None);
            let native = Some(Native { maker: endpoint.maker("m"), items: vec![thought.clone()] });
            let (turn, content) = (TurnId(1), Vec::new());
            let words = Assistant { turn, content, native, stop, response_id: None };
            assert_eq!(replays_reasoning(&words, &endpoint, model), goes, "{name} {model} {:?}", words.stop);
            let prompted = Endpoint { tools: ToolProtocol::Prompted, ..endpoint.clone() };
            assert!(!replays_reasoning(&words, &prompted, model), "{name}");
            assert!(!replays_reasoning(&Assistant { native: None, ..words }, &endpoint, model), "{name}");
        }
    }
}
