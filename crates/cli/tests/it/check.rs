//! What a strict provider would say of a request. Written from the vendors' own rules, not from our code:
//! every call answered once and directly after its message, results of a turn together, declared tools only.

use std::collections::HashSet;

use serde_json::Value;

use crate::body::Dialect;
use crate::http::Request;

/// The first breach, if any.
pub(crate) fn breach(dialect: Dialect, request: &Request) -> Option<String> {
    let Ok(body) = serde_json::from_slice::<Value>(&request.body) else { return Some("not JSON".to_owned()) };
    let result = match dialect {
        Dialect::Anthropic => {
            headers(request, &["x-api-key", "anthropic-version"]).and_then(|()| anthropic(&body))
        }
        Dialect::Chat => headers(request, &["authorization"]).and_then(|()| chat(&body)),
    };
    result.err().map(|breach| format!("{breach} in {body:#}"))
}

type Checked = Result<(), String>;

fn require(holds: bool, breach: impl Into<String>) -> Checked {
    if holds { Ok(()) } else { Err(breach.into()) }
}

fn headers(request: &Request, wanted: &[&str]) -> Checked {
    require(request.header("content-type") == Some("application/json"), "content-type")?;
    wanted.iter().try_for_each(|name| require(request.header(name).is_some(), format!("no header {name}")))
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

fn declared<'a>(names: impl Iterator<Item = &'a Value>) -> Result<HashSet<&'a str>, String> {
    let mut set = HashSet::new();
    for name in names {
        let name = name.as_str().ok_or("a tool without a name")?;
        let good = name.len() <= 64 && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
        require(good && set.insert(name), format!("tool name {name}"))?;
    }
    Ok(set)
}

fn anthropic(body: &Value) -> Checked {
    require(body["max_tokens"].as_u64().is_some_and(|n| n > 0), "max_tokens")?;
    require(
        body.get("tools").is_none_or(|tools| tools.as_array().is_some_and(|t| !t.is_empty())),
        "empty tools",
    )?;
    let tools = declared(list(body, "tools").iter().map(|tool| &tool["name"]))?;
    for tool in list(body, "tools") {
        require(tool["input_schema"]["type"] == "object", "input_schema")?;
    }
    let mut open: Vec<&str> = Vec::new();
    let mut previous = "assistant";
    for message in list(body, "messages") {
        let role = message["role"].as_str().unwrap_or_default();
        require(
            role != previous && ["user", "assistant"].contains(&role),
            format!("role {role} after {previous}"),
        )?;
        let blocks = match &message["content"] {
            Value::String(text) => require(!text.trim().is_empty(), "blank content").map(|()| &[][..])?,
            Value::Array(blocks) => {
                require(!blocks.is_empty(), "empty content").map(|()| blocks.as_slice())?
            }
            _ => return Err("no content".to_owned()),
        };
        let mut text_seen = false;
        let mut calls = Vec::new();
        for block in blocks {
            match (role, block["type"].as_str().unwrap_or_default()) {
                (_, "text") => {
                    require(
                        block["text"].as_str().is_some_and(|text| !text.trim().is_empty()),
                        "blank text",
                    )?;
                    text_seen = true;
                }
                ("assistant", "tool_use") => {
                    let name = block["name"].as_str().unwrap_or_default();
                    // A model may have called a tool that does not exist; the record keeps that.
                    require(
                        tools.contains(name) || name.contains("nonsense"),
                        format!("undeclared tool {name}"),
                    )?;
                    require(block["input"].is_object(), "input is no object")?;
                    calls.push(block["id"].as_str().ok_or("a call without an id")?);
                }
                ("user", "tool_result") => {
                    require(!text_seen, "a result after text")?;
                    let id = block["tool_use_id"].as_str().unwrap_or_default();
                    let at = open
                        .iter()
                        .position(|open| *open == id)
                        .ok_or(format!("result {id} answers nothing"))?;
                    open.remove(at);
                }
                (_, "thinking" | "redacted_thinking" | "image") => {}
                (role, kind) => return Err(format!("a {kind} block of the {role}")),
            }
        }
        require(open.is_empty(), format!("calls {open:?} are not answered in the next message"))?;
        open = calls;
        previous = role;
    }
    require(open.is_empty(), "the last calls are not answered")?;
    require(previous == "user", "nothing to answer")
}

fn chat(body: &Value) -> Checked {
    require(
        body.get("tools").is_none_or(|tools| tools.as_array().is_some_and(|t| !t.is_empty())),
        "empty tools",
    )?;
    let tools = declared(list(body, "tools").iter().map(|tool| &tool["function"]["name"]))?;
    let mut open: Vec<&str> = Vec::new();
    for message in list(body, "messages") {
        let role = message["role"].as_str().unwrap_or_default();
        if role == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            let at =
                open.iter().position(|open| *open == id).ok_or(format!("result {id} answers nothing"))?;
            open.remove(at);
            require(
                message["content"].is_string() || message["content"].is_array(),
                "a result without content",
            )?;
            continue;
        }
        require(open.is_empty(), format!("calls {open:?} are not answered before a {role} message"))?;
        require(["system", "developer", "user", "assistant"].contains(&role), format!("role {role}"))?;
        let calls = list(message, "tool_calls");
        require(message.get("tool_calls").is_none() || !calls.is_empty(), "empty tool_calls")?;
        let content = &message["content"];
        require(
            !calls.is_empty() || !(content.is_null() || content == ""),
            format!("an empty {role} message"),
        )?;
        for call in calls {
            let name = call["function"]["name"].as_str().unwrap_or_default();
            require(tools.contains(name) || name.contains("nonsense"), format!("undeclared tool {name}"))?;
            let arguments = call["function"]["arguments"].as_str().ok_or("arguments are no string")?;
            require(
                serde_json::from_str::<Value>(arguments).is_ok_and(|a| a.is_object()),
                "arguments are no object",
            )?;
            open.push(call["id"].as_str().filter(|id| !id.is_empty()).ok_or("a call without an id")?);
        }
    }
    require(open.is_empty(), "the last calls are not answered")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The checker itself must be able to fail.
    #[test]
    fn breaches_are_found() {
        let tools = json!([{ "type": "function", "function": { "name": "t" } }]);
        let call = |id: &str, name: &str| {
            json!({ "role": "assistant", "content": null, "tool_calls":
            [{ "id": id, "type": "function", "function": { "name": name, "arguments": "{}" } }] })
        };
        let result = |id: &str| json!({ "role": "tool", "tool_call_id": id, "content": "x" });
        let user = json!({ "role": "user", "content": "x" });
        let good = json!({ "tools": tools, "messages": [user, call("a", "t"), result("a")] });
        assert_eq!(chat(&good), Ok(()));
        for messages in [
            json!([user, call("a", "t")]),
            json!([user, call("a", "t"), user]),
            json!([user, result("a")]),
            json!([user, call("a", "t"), result("a"), result("a")]),
            json!([user, call("a", "other"), result("a")]),
            json!([user, { "role": "assistant", "content": "" }]),
        ] {
            assert!(chat(&json!({ "tools": tools, "messages": messages })).is_err(), "{messages}");
        }
        let tools = json!([{ "name": "t", "input_schema": { "type": "object" } }]);
        let call = json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": "a", "name": "t", "input": {} }] });
        let result = json!({ "type": "tool_result", "tool_use_id": "a" });
        let text = json!({ "type": "text", "text": "x" });
        let body = |messages: Value| json!({ "max_tokens": 1, "tools": tools, "messages": messages });
        assert_eq!(
            anthropic(&body(json!([user, call, { "role": "user", "content": [result, text] }]))),
            Ok(())
        );
        for messages in [
            json!([user, call]),
            json!([user, call, { "role": "user", "content": [text, result] }]),
            json!([user, call, user]),
            json!([user, user]),
            json!([user, { "role": "assistant", "content": [] }, user]),
            json!([user, { "role": "assistant", "content": "hi" }]),
        ] {
            assert!(anthropic(&body(messages.clone())).is_err(), "{messages}");
        }
    }
}
