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

pub(crate) fn no_reasoning_error(model: &str) -> TranslateError {
    TranslateError::Control(format!("the model `{model}` has no thinking: leave out the effort"))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use converse_canister::{Canister, NoBlobs, User};
    use serde_json::Value;

    use super::*;
    use crate::{Controls, Dialect, Facts, processor, row};

    fn request(
        dialect: Dialect,
        controls: &Controls,
        facts: &Facts,
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
        let prompt = Prompt { model: "m", view: &view, tools: &[], controls, facts, blobs: &NoBlobs };
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
                let error = request(dialect, &controls, &facts).unwrap_err();
                assert_eq!(error, TranslateError::Control(words.to_owned()), "{dialect:?}");
                assert!(request(dialect, &controls, &Facts::default()).is_ok(), "{dialect:?}: nothing known");
            }
            let unthinking = request(dialect, &set(None, None, Some(Effort::None)), &facts).unwrap();
            let body: Value = serde_json::from_slice(unthinking.body()).unwrap();
            for key in ["thinking", "reasoning_effort", "reasoning", "think"] {
                assert_eq!(body.get(key), None, "{dialect:?}: nothing to be kept from");
            }
        }
    }
}
