//! Validation of sampling requests
//! (<https://modelcontextprotocol.io/specification/2025-11-25/client/sampling>, checked 2026-11).

use serde_json::Value;

/// Bytes of a whole request.
const MAX_BYTES: usize = 128 * 1024;
const MAX_MESSAGES: usize = 50;

/// Checks what counts for every sampling request, also for one that a client answers.
pub(crate) fn validate_size(params: &Value) -> Result<(), String> {
    if params.to_string().len() > MAX_BYTES {
        return Err(format!("the request has more than {MAX_BYTES} bytes"));
    }
    if params.get("tools").is_some() || params.get("toolChoice").is_some() {
        return Err("`sampling.tools` was not declared: the model is asked without tools".to_owned());
    }
    Ok(())
}

/// Checks a sampling request.
pub(crate) fn validate(params: &Value) -> Result<(), String> {
    validate_size(params)?;
    let messages = params["messages"].as_array().filter(|messages| !messages.is_empty());
    let messages = messages.ok_or("`messages` must be an array that is not empty")?;
    if messages.len() > MAX_MESSAGES {
        return Err(format!("there are more than {MAX_MESSAGES} messages"));
    }
    for message in messages {
        if !matches!(message["role"].as_str(), Some("user" | "assistant")) {
            return Err("the role of a message must be `user` or `assistant`".to_owned());
        }
        let mut parts = match &message["content"] {
            Value::Array(parts) => parts.iter().collect::<Vec<_>>(),
            part => vec![part],
        }
        .into_iter();
        if !parts.all(|part| part["type"] == "text" && part["text"].is_string()) {
            return Err("only text is supported".to_owned());
        }
    }
    match params["maxTokens"].as_u64() {
        Some(1..) => Ok(()),
        _ => Err("`maxTokens` must be an integer above 0".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_text_without_tools_is_valid() {
        let text = |text: &str| json!({ "role": "user", "content": { "type": "text", "text": text } });
        let of = |message: Value| json!({ "messages": [message], "maxTokens": 10 });
        for (params, wrong) in [
            (of(text("hi")), None),
            (of(json!({ "role": "assistant", "content": [{ "type": "text", "text": "a" }] })), None),
            (json!({ "messages": [text("hi")] }), Some("maxTokens")),
            (json!({ "messages": [text("hi")], "maxTokens": 0 }), Some("maxTokens")),
            (json!({ "messages": [], "maxTokens": 1 }), Some("not empty")),
            (json!({ "maxTokens": 1 }), Some("not empty")),
            (json!({ "messages": vec![text("hi"); 51], "maxTokens": 1 }), Some("more than 50")),
            (of(text(&"x".repeat(MAX_BYTES))), Some("bytes")),
            (of(json!({ "role": "system", "content": { "type": "text", "text": "a" } })), Some("role")),
            (of(json!({ "role": "user", "content": { "type": "image", "data": "" } })), Some("only text")),
            (of(json!({ "role": "user", "content": "bare" })), Some("only text")),
            (json!({ "messages": [text("hi")], "maxTokens": 1, "tools": [] }), Some("without tools")),
        ] {
            match (validate(&params), wrong) {
                (Ok(()), None) => {}
                (Err(why), Some(part)) => assert!(why.contains(part), "{why}"),
                (checked, _) => panic!("{params}: {checked:?}"),
            }
        }
    }
}
