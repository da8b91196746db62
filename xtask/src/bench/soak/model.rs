//! A model that asks for the calculator once a turn and then answers, whatever was said before; for as long as it takes,
//! and without remembering anything.

use std::io::{self, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};

use serde_json::{Value, json};

use crate::request::Request;

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n";

pub(super) fn start() -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            // A client that goes away ends its own connection only.
            std::thread::spawn(move || answer(&connection));
        }
    });
    Ok(address)
}

fn answer(mut connection: &TcpStream) -> io::Result<()> {
    let Some(request) = Request::read(&mut BufReader::new(connection))? else { return Ok(()) };
    let body: Value = serde_json::from_slice(&request.body)?;
    let delta = delta(&body);
    let reason = if delta.get("tool_calls").is_some() { "tool_calls" } else { "stop" };
    let chunk = |delta: &Value, reason: &Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": reason });
        json!({ "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "stub", "choices": [choice] })
    };
    let events = [
        chunk(&delta, &Value::Null).to_string(),
        chunk(&json!({}), &json!(reason)).to_string(),
        "[DONE]".into(),
    ];
    let mut all = HEAD.to_owned();
    for event in events.map(|event| format!("data: {event}\n\n")) {
        all.push_str(&format!("{:x}\r\n{event}\r\n", event.len()));
    }
    all.push_str("0\r\n\r\n");
    connection.write_all(all.as_bytes())
}

/// `turn N` gets a call, its result `answer N.`, and anything else is a summary that is asked for.
fn delta(body: &Value) -> Value {
    let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
    let turn = messages.iter().rev().find(|message| message["role"] == "user").and_then(turn);
    match (turn, messages.last().map(|last| last["role"] == "tool")) {
        (Some(turn), Some(true)) => json!({ "role": "assistant", "content": format!("answer {turn}.") }),
        (Some(turn), _) if body["tools"].is_array() => {
            let arguments = json!({ "expression": format!("{turn} * 2") }).to_string();
            let function = json!({ "name": "essentials__calculator", "arguments": arguments });
            let call =
                json!({ "index": 0, "id": format!("call_{turn}"), "type": "function", "function": function });
            json!({ "role": "assistant", "content": null, "tool_calls": [call] })
        }
        _ => json!({ "role": "assistant", "content": "So far there were turns." }),
    }
}

fn turn(message: &Value) -> Option<u64> {
    message["content"].as_str()?.strip_prefix("turn ")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_has_a_call_and_an_answer_and_a_summary_neither() {
        let user = |text: &str| json!({ "role": "user", "content": text });
        let result = json!({ "role": "tool", "content": "14" });
        let said = |messages: Value, tools: Value| delta(&json!({ "messages": messages, "tools": tools }));
        let called = said(json!([user("turn 6"), user("turn 7")]), json!([{}]));
        assert_eq!(called["tool_calls"][0]["function"]["arguments"], "{\"expression\":\"7 * 2\"}");
        assert_eq!(said(json!([user("turn 7"), result]), json!([{}]))["content"], "answer 7.");
        for (messages, tools) in
            [(json!([user("condense")]), json!([{}])), (json!([user("turn 7")]), Value::Null)]
        {
            assert_eq!(said(messages, tools)["content"], "So far there were turns.");
        }
    }
}
