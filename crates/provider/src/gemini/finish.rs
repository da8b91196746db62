//! Maps Gemini's finish reasons: `FinishReason` of google-genai 3.4.0 and
//! <https://ai.google.dev/api/generate-content#FinishReason> (checked 2026-11).
//!
//! Three kinds do not end a reply. If the model wrote an unreadable call, or called an unknown tool, the request is
//! retried, as Google's own command-line client does
//! (<https://github.com/google-gemini/gemini-cli/blob/main/packages/core/src/core/geminiChat.ts>). If a signature was
//! missing, the request is wrong. `FINISH_REASON_UNSPECIFIED` means that the reply continues.

use converse_canister::Stop;
use serde_json::json;

use crate::body::Fault;

/// The reply broke off and is worth nothing.
const BROKEN: [&str; 3] = ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE"];

/// The model or a filter declined.
const DECLINED: [&str; 13] = [
    "SAFETY",
    "RECITATION",
    "LANGUAGE",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "MODEL_ARMOR",
    "ESCALATION",
    "PUP_LIMITED_DISABLED",
    "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT",
    "IMAGE_RECITATION",
    "JAILBREAK",
];

/// Returns the end of a reply; `None` if the reply continues.
pub(super) fn stop(reason: &str, message: Option<&str>) -> Result<Option<Stop>, Fault> {
    let explained =
        |word: &str| message.map_or_else(|| word.to_owned(), |message| format!("{word}: {message}"));
    Ok(Some(match reason {
        "FINISH_REASON_UNSPECIFIED" => return Ok(None),
        // Also with calls and at a stop sequence; the reason is the same.
        "STOP" => Stop::End,
        "MAX_TOKENS" | "CONTINUATION" => Stop::Truncated,
        "MISSING_THOUGHT_SIGNATURE" => {
            let message = explained("the conversation lacks a signature of the model's thoughts");
            return Err(Fault::Refused(json!({
                "error": { "code": 400, "status": reason, "message": message }
            })));
        }
        word if BROKEN.contains(&word) => return Err(Fault::BrokenOff(word.to_owned())),
        word if DECLINED.contains(&word) => Stop::Refused { reason: Some(explained(word)) },
        other => Stop::Other(other.to_owned()),
    }))
}

/// Builds the stop of a blocked prompt.
pub(super) fn blocked(reason: &str, message: Option<&str>) -> Stop {
    let more = message.map(|message| format!(": {message}")).unwrap_or_default();
    Stop::Refused { reason: Some(format!("the prompt was blocked ({reason}){more}")) }
}
