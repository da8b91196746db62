//! Decides whether a request replays a reply's reasoning.

use converse_canister::{Assistant, Stop};
use serde_json::Value;

use crate::{Dialect, Endpoint, ReasoningReplay, ToolProtocol};

/// Keys of chat completions under which reasoning comes as one text.
pub(crate) const REASONING_KEYS: [&str; 2] = ["reasoning_content", "reasoning"];

/// Returns whether a request to this model includes the reasoning of a reply; `words` is the reply's first canister, and
/// `in_turn` says that the user has not spoken since. Only the model that made the reasoning gets it, in its native form,
/// and on some wires not all servers accept it. Of a reply without calls, which nothing follows in its turn, some servers
/// get none; it is counted here.
pub fn replays_reasoning(words: &Assistant, endpoint: &Endpoint, model: &str, in_turn: bool) -> bool {
    let Some(native) = &words.native else { return false };
    let has = |key: &str| native.items.iter().any(|item: &Value| item.get(key).is_some());
    let is_sent = match endpoint.dialect {
        _ if endpoint.tools == ToolProtocol::Prompted => false,
        Dialect::OpenAiChat => match endpoint.quirks.replay_reasoning {
            ReasoningReplay::Never => false,
            ReasoningReplay::InTurn => in_turn && REASONING_KEYS.into_iter().any(has),
            ReasoningReplay::Always(key) => has(key),
        },
        Dialect::Ollama => has("thinking"),
        Dialect::AnthropicMessages | Dialect::OpenAiResponses | Dialect::Gemini => !native.items.is_empty(),
    };
    is_sent && native.maker == endpoint.maker(model) && words.stop != Stop::Cut
}

#[cfg(test)]
mod tests {
    use converse_canister::{
        Canister, InvocationId, InvocationResult, Native, NoBlobs, Outcome, TurnId, User,
    };
    use serde_json::json;

    use super::*;
    use crate::{AuthScheme, Controls, Facts, Prompt, Quirks, ReplyOrigin, processor_of, row};

    #[test]
    fn thoughts_go_back_to_who_had_them_and_wants_them() {
        let thought = json!({ "reasoning_content": "hm", "thinking": "hm" });
        for (name, model, stop, in_turn, goes) in [
            ("deepseek", "m", Stop::End, false, true),
            ("deepseek", "other", Stop::End, true, false),
            ("deepseek", "m", Stop::Cut, true, false),
            ("groq", "m", Stop::End, true, false),
            ("vllm", "m", Stop::End, true, true),
            ("vllm", "m", Stop::End, false, false),
            ("ollama", "other", Stop::End, true, false),
            ("ollama-native", "m", Stop::End, false, true),
            ("anthropic", "m", Stop::End, false, true),
        ] {
            let endpoint = row(name).unwrap().endpoint(None);
            let native = Some(Native { maker: endpoint.maker("m"), items: vec![thought.clone()] });
            let (turn, content) = (TurnId(1), Vec::new());
            let words = Assistant { turn, content, native, stop, response_id: None };
            let replays =
                |words: &Assistant, endpoint: &Endpoint| replays_reasoning(words, endpoint, model, in_turn);
            assert_eq!(replays(&words, &endpoint), goes, "{name} {model} {in_turn} {:?}", words.stop);
            let prompted = Endpoint { tools: ToolProtocol::Prompted, ..endpoint.clone() };
            assert!(!replays(&words, &prompted), "{name}");
            assert!(!replays(&Assistant { native: None, ..words }, &endpoint), "{name}");
        }
    }

    /// A reply with reasoning and a call, under the given key, and its result; then perhaps another question.
    fn view(endpoint: &Endpoint, key: &str, asks_again: bool) -> Vec<Canister> {
        let function = json!({ "name": "w", "arguments": "{}" });
        let call = json!({ "id": "c", "type": "function", "function": function });
        let message = json!({ "role": "assistant", "content": null, key: "hm", "tool_calls": [call] });
        let body = json!({ "choices": [{ "message": message, "finish_reason": "tool_calls" }] }).to_string();
        let head = http::Response::builder().header("content-type", "application/json");
        let origin = ReplyOrigin { turn: TurnId(1), model: "m".to_owned(), endpoint: endpoint.clone() };
        let mut decoder = processor_of(endpoint).normalize(&head.body(()).unwrap().into_parts().0, origin);
        decoder.feed(body.as_bytes(), &mut Vec::new()).unwrap();
        let mut view = vec![Canister::User(User::text("q"))];
        view.extend(decoder.finish().unwrap().canisters);
        let id = InvocationId::of(TurnId(1), 0);
        view.push(Canister::Result(InvocationResult::new(id, Outcome::Success, "sun")));
        view.extend(asks_again.then(|| Canister::User(User::text("and?"))));
        view
    }

    fn sent_back(endpoint: &Endpoint, key: &str, asks_again: bool) -> Option<Value> {
        let view = view(endpoint, key, asks_again);
        let (controls, facts) = (Controls::default(), Facts::default());
        let prompt = Prompt {
            model: "m",
            view: &view,
            tools: &[],
            controls: &controls,
            facts: &facts,
            blobs: &NoBlobs,
        };
        let request = processor_of(endpoint).nativize(&prompt, endpoint).unwrap();
        let body: Value = serde_json::from_slice(request.body()).unwrap();
        let others = REASONING_KEYS.iter().filter(|other| **other != key);
        assert!(others.clone().all(|other| body["messages"][1].get(other).is_none()), "{body}");
        body["messages"][1].get(key).cloned()
    }

    /// Under the key it came under, to servers that are run by their users and to unknown ones.
    #[test]
    fn reasoning_with_calls_goes_back_within_the_turn() {
        let unknown = |quirks| {
            let (name, url) = ("gpustack".to_owned().try_into().unwrap(), "http://h.example/v1".to_owned());
            Endpoint::new(name, Dialect::OpenAiChat, url, AuthScheme::Bearer, quirks)
        };
        let row = |name: &str| row(name).unwrap().endpoint(None);
        let elsewhere = crate::row("openai-chat").unwrap().endpoint(Some("http://h.example/v1"));
        let servers = [row("ollama"), row("vllm"), row("llamacpp"), row("lmstudio"), elsewhere];
        for endpoint in servers.into_iter().chain([unknown(Quirks::CAUTIOUS)]) {
            for key in REASONING_KEYS {
                let name = &endpoint.provider;
                assert_eq!(sent_back(&endpoint, key, false), Some(json!("hm")), "{name} {key}");
                assert_eq!(sent_back(&endpoint, key, true), None, "{name} {key}");
            }
        }
        let off = Quirks { replay_reasoning: ReasoningReplay::Never, ..Quirks::CAUTIOUS };
        for endpoint in [unknown(off), row("groq"), row("mistral"), row("together")] {
            assert_eq!(sent_back(&endpoint, "reasoning", false), None, "{}", endpoint.provider);
        }
    }
}
