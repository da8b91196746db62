//! Checks the user's controls against the model's facts, with the same errors on every wire.

use crate::{Effort, Prompt, Thinking, TranslateError};

/// Checks that the model accepts temperature and `top_p` if they are set.
///
/// # Errors
/// If the model is known to refuse them.
pub(crate) fn check_sampling(prompt: &Prompt<'_>) -> Result<(), TranslateError> {
    let controls = prompt.controls;
    let sampled = controls.temperature.is_some() || controls.top_p.is_some();
    if sampled && prompt.facts.sampling == Some(false) {
        let problem =
            format!("the model `{}` does not accept temperature and top_p: leave them out", prompt.model);
        return Err(TranslateError::Control(problem));
    }
    Ok(())
}

/// Returns the effort to send.
///
/// # Errors
/// If an effort is set for a model that is known not to reason.
pub(crate) fn effort(prompt: &Prompt<'_>) -> Result<Option<Effort>, TranslateError> {
    match (prompt.facts.thinking, prompt.controls.effort) {
        (Some(Thinking::None), None | Some(Effort::None)) => Ok(None),
        (Some(Thinking::None), Some(_)) => Err(no_reasoning_error(prompt.model)),
        (_, effort) => Ok(effort),
    }
}

/// Checks that the calls of a reply are the model's own choice, for requests that cannot say anything else.
///
/// # Errors
/// If a call is forced, or the number of calls is limited.
pub(crate) fn check_unforced(prompt: &Prompt<'_>) -> Result<(), TranslateError> {
    if prompt.controls.forced.is_some() && !prompt.tools.is_empty() {
        let problem = format!("the model `{}` cannot be forced to call a tool", prompt.model);
        return Err(TranslateError::Control(problem));
    }
    check_unlimited(prompt)
}

/// Checks that a reply may have several calls, for requests that cannot say anything else.
///
/// # Errors
/// If the number of calls is limited.
pub(crate) fn check_unlimited(prompt: &Prompt<'_>) -> Result<(), TranslateError> {
    if prompt.controls.single_call && !prompt.tools.is_empty() {
        let problem = format!("the model `{}` cannot be limited to one call in a reply", prompt.model);
        return Err(TranslateError::Control(problem));
    }
    Ok(())
}

pub(crate) fn no_reasoning_error(model: &str) -> TranslateError {
    TranslateError::Control(format!("the model `{model}` has no thinking: leave out the effort"))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use converse_canister::{Canister, Declaration, NoBlobs, ToolName, User};
    use serde_json::{Value, json};

    use super::*;
    use crate::{Controls, Dialect, Facts, ForcedCall, ToolProtocol, processor, processor_of, row};

    fn request(
        dialect: Dialect,
        controls: &Controls,
        facts: &Facts,
        tools: &[Declaration],
    ) -> Result<http::Request<Bytes>, TranslateError> {
        let name = match dialect {
            Dialect::AnthropicMessages => "anthropic",
            Dialect::OpenAiChat => "openai-chat",
            Dialect::OpenAiResponses => "openai-responses",
            Dialect::Gemini => "gemini",
            Dialect::Ollama => "ollama-native",
        };
        let endpoint = row(name).unwrap().endpoint(None);
        let view = [Canister::User(User::text("hello"))];
        let prompt = Prompt { model: "m", view: &view, tools, controls, facts, blobs: &NoBlobs };
        processor(dialect).nativize(&prompt, &endpoint)
    }

    #[test]
    fn what_a_model_is_known_not_to_take_is_the_same_error_on_every_wire() {
        let set = |temperature, top_p, effort| Controls { temperature, top_p, effort, ..Controls::default() };
        let facts = Facts { sampling: Some(false), thinking: Some(Thinking::None), ..Facts::default() };
        for dialect in Dialect::ALL {
            for (controls, words) in [
                (
                    set(Some(0.5), None, None),
                    "the model `m` does not accept temperature and top_p: leave them out",
                ),
                (
                    set(None, Some(0.5), None),
                    "the model `m` does not accept temperature and top_p: leave them out",
                ),
                (set(None, None, Some(Effort::Low)), "the model `m` has no thinking: leave out the effort"),
            ] {
                let error = request(dialect, &controls, &facts, &[]).unwrap_err();
                assert_eq!(error, TranslateError::Control(words.to_owned()), "{dialect:?}");
                assert!(
                    request(dialect, &controls, &Facts::default(), &[]).is_ok(),
                    "{dialect:?}: nothing known"
                );
            }
            let unthinking = request(dialect, &set(None, None, Some(Effort::None)), &facts, &[]).unwrap();
            let body: Value = serde_json::from_slice(unthinking.body()).unwrap();
            for key in ["thinking", "reasoning_effort", "reasoning", "think"] {
                assert_eq!(body.get(key), None, "{dialect:?}: nothing to be kept from");
            }
        }
    }

    fn tool() -> Declaration {
        Declaration {
            name: ToolName::cleaned("weather"),
            description: String::new(),
            arguments: json!({ "type": "object" }).into(),
        }
    }

    #[test]
    fn one_call_in_a_reply_is_said_as_each_wire_wants_it_or_refused() {
        let (facts, tools) = (Facts::default(), [tool()]);
        let body = |request: http::Request<Bytes>| serde_json::from_slice::<Value>(request.body()).unwrap();
        for forced in [None, Some(ForcedCall::Any)] {
            let kind = if forced.is_some() { "any" } else { "auto" };
            let choice = json!({ "type": kind, "disable_parallel_tool_use": true });
            let controls = Controls { single_call: true, forced, ..Controls::default() };
            for (dialect, expected) in [
                (Dialect::OpenAiChat, Some(("parallel_tool_calls", json!(false)))),
                (Dialect::OpenAiResponses, Some(("parallel_tool_calls", json!(false)))),
                (Dialect::AnthropicMessages, Some(("tool_choice", choice))),
                (Dialect::Gemini, None),
                (Dialect::Ollama, None),
            ] {
                let sent = request(dialect, &controls, &facts, &tools);
                match expected {
                    Some((key, value)) => assert_eq!(body(sent.unwrap())[key], value, "{dialect:?}"),
                    None => assert!(matches!(sent, Err(TranslateError::Control(_))), "{dialect:?}"),
                }
                let plain = body(request(dialect, &controls, &facts, &[]).unwrap());
                let said = [&plain["parallel_tool_calls"], &plain["tool_choice"]];
                assert!(said.iter().all(|said| said.is_null()), "{dialect:?}: {plain}");
                let free = body(request(dialect, &Controls::default(), &facts, &tools).unwrap());
                let said = [&free["parallel_tool_calls"], &free["tool_choice"]];
                assert!(said.iter().all(|said| said.is_null()), "{dialect:?}: {free}");
            }
        }
    }

    #[test]
    fn a_forced_call_is_said_as_each_wire_wants_it_or_refused() {
        let tool = tool();
        let gemini = |config: Value| Some(("toolConfig", json!({ "functionCallingConfig": config })));
        let choice = |choice: Value| Some(("tool_choice", choice));
        let named = || ForcedCall::Tool("weather".to_owned());
        for (dialect, forced, expected) in [
            (Dialect::OpenAiChat, ForcedCall::Any, choice(json!("required"))),
            (
                Dialect::OpenAiChat,
                named(),
                choice(json!({ "type": "function", "function": { "name": "weather" } })),
            ),
            (Dialect::OpenAiResponses, ForcedCall::Any, choice(json!("required"))),
            (Dialect::OpenAiResponses, named(), choice(json!({ "type": "function", "name": "weather" }))),
            (Dialect::AnthropicMessages, ForcedCall::Any, choice(json!({ "type": "any" }))),
            (Dialect::AnthropicMessages, named(), choice(json!({ "type": "tool", "name": "weather" }))),
            (Dialect::Gemini, ForcedCall::Any, gemini(json!({ "mode": "ANY" }))),
            (Dialect::Gemini, named(), gemini(json!({ "mode": "ANY", "allowedFunctionNames": ["weather"] }))),
            (Dialect::Ollama, ForcedCall::Any, None),
            (Dialect::Ollama, named(), None),
        ] {
            let controls = Controls { forced: Some(forced), ..Controls::default() };
            let (facts, tools) = (Facts::default(), std::slice::from_ref(&tool));
            let body =
                |request: http::Request<Bytes>| serde_json::from_slice::<Value>(request.body()).unwrap();
            let sent = request(dialect, &controls, &facts, tools);
            match expected {
                Some((key, value)) => assert_eq!(body(sent.unwrap())[key], value, "{dialect:?}"),
                None => assert!(matches!(sent, Err(TranslateError::Control(_))), "{dialect:?}"),
            }
            let plain = body(request(dialect, &controls, &facts, &[]).unwrap());
            assert!(plain["tool_choice"].is_null() && plain["toolConfig"].is_null(), "{dialect:?}: {plain}");
            let mut endpoint = row("openai-chat").unwrap().endpoint(None);
            endpoint.tools = ToolProtocol::Prompted;
            let view = [Canister::User(User::text("hello"))];
            let prompt = Prompt {
                model: "m",
                view: &view,
                tools,
                controls: &controls,
                facts: &facts,
                blobs: &NoBlobs,
            };
            assert!(processor_of(&endpoint).nativize(&prompt, &endpoint).is_err());
        }
    }
}
