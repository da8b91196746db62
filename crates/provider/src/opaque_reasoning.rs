//! Detects refusals of opaque (signed or encrypted) reasoning that the provider itself issued.
//!
//! Reasoning is replayed to its maker signed or encrypted, a stored reply by its id. The maker may no longer accept it:
//! a key was changed, another account or server answers, a stored reply was deleted, or a proxy changed the content.
//! Such a request is refused until the opaque parts are left out. Anthropic and Google have no code for it, and proxies
//! wrap the codes of others in their own text, so messages are matched too; these are the providers' (all seen
//! 2026-11):
//!
//! - Anthropic: <https://github.com/anthropics/claude-code/issues/10627> (`thinking`; the check is explained in
//!   <https://github.com/anthropics/anthropic-sdk-python/issues/1598>),
//!   <https://github.com/anthropics/claude-code/issues/56708> (`redacted_thinking`),
//!   <https://github.com/anthropics/claude-code/issues/63574> (blocks "cannot be modified").
//! - Gemini: <https://github.com/google-gemini/gemini-cli/issues/13467> (corrupted),
//!   <https://github.com/decolua/9router/issues/301> (not valid, Google's other endpoint),
//!   <https://github.com/lbjlaq/Antigravity-Manager/issues/733> (missing), and the finish reason of google-genai 3.4.0.
//! - OpenAI: <https://github.com/openai/codex/issues/8145> (encrypted content),
//!   <https://github.com/maximhq/bifrost/issues/2441> (a stored reply), <https://github.com/vercel/ai/issues/7543> (an
//!   item that is kept nowhere), <https://github.com/openai/openai-node/issues/1567> (reasoning that has lost what it led
//!   to).

use crate::Refusal;

const CODES: [&str; 3] =
    ["invalid_encrypted_content", "previous_response_not_found", "MISSING_THOUGHT_SIGNATURE"];

/// Phrases that occur together in a message, in lower case.
const WORDS: [&[&str]; 10] = [
    &["invalid `signature` in `thinking` block"],
    &["invalid `data` in `redacted_thinking` block"],
    &["`thinking` or `redacted_thinking` blocks", "cannot be modified"],
    &["corrupted thought signature"],
    &["thought signature is not valid"],
    &["missing a thought_signature"],
    &["the encrypted content", "could not be verified"],
    &["previous response with id", "not found"],
    &["items are not persisted when `store`"],
    &["of type 'reasoning' was provided without its required following item"],
];

impl Refusal {
    /// Returns whether the provider refused opaque reasoning, or a stored reply, of an earlier turn. The same request without
    /// them may succeed.
    pub fn rejects_opaque_reasoning(&self) -> bool {
        let message = self.message.to_ascii_lowercase();
        self.code.as_deref().is_some_and(|code| CODES.contains(&code))
            || WORDS.iter().any(|words| words.iter().all(|word| message.contains(word)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::RetryAdvice;
    use crate::head::Head;
    use crate::refusal::from_body;

    fn rejects_opaque_reasoning(status: u16, body: &Value) -> bool {
        let retry = RetryAdvice::default();
        let head = Head { status, event_stream: false, lines: false, request_id: None, retry };
        from_body(&head, body.to_string().as_bytes()).rejects_opaque_reasoning()
    }

    #[test]
    fn refused_opaque_reasoning_is_distinguished_from_other_refusals() {
        let google = |message: &str| json!([{ "error": { "code": 400, "message": message, "status": "INVALID_ARGUMENT" } }]);
        let anthropic = |message: &str| {
            let message = format!("messages.1.content.0: {message}");
            json!({ "type": "error", "error": { "type": "invalid_request_error", "message": message } })
        };
        let openai = |code: Option<&str>, message: &str| json!({ "error": { "message": message, "type": "invalid_request_error", "param": null, "code": code } });
        let lost = "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.";
        let alone = "Item 'rs_1' of type 'reasoning' was provided without its required following item.";
        for (status, body, rejected) in [
            (400, google("Corrupted thought signature."), true),
            (400, google("Unable to submit request because Thought signature is not valid."), true),
            (400, google("Function call is missing a thought_signature in functionCall parts."), true),
            (400, google("Please use a valid role: user, model."), false),
            (400, anthropic("Invalid `signature` in `thinking` block"), true),
            (400, anthropic("Invalid `data` in `redacted_thinking` block"), true),
            (
                400,
                anthropic(
                    "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.",
                ),
                true,
            ),
            // Missing reasoning is not refused reasoning.
            (400, anthropic("Expected `thinking` or `redacted_thinking`, but found `text`."), false),
            (400, openai(Some("invalid_encrypted_content"), "no"), true),
            (400, openai(None, "The encrypted content gAAA...DQ== could not be verified."), true),
            (400, openai(None, "The encrypted content is too long."), false),
            (400, openai(Some("previous_response_not_found"), "no"), true),
            (404, openai(None, "Previous response with id 'resp_1' not found."), true),
            (404, openai(Some("model_not_found"), "The model `m` does not exist"), false),
            (404, openai(None, lost), true),
            (400, openai(None, alone), true),
            (400, openai(Some("invalid_value"), "Invalid value: 'x'."), false),
            // OpenRouter adds the upstream provider's message to its own.
            (
                400,
                json!({ "error": { "message": "Provider returned error", "code": 400, "metadata": {
                "raw": "{\n  \"error\": {\n    \"message\": \"Corrupted thought signature.\" } }" } } }),
                true,
            ),
        ] {
            assert_eq!(rejects_opaque_reasoning(status, &body), rejected, "{status} {body}");
        }
    }
}
