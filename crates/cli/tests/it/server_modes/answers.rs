//! Rows over HTTP that are about an answer to a call.

use std::time::Duration;

use serde_json::json;

use super::row::{Ends, ROW, Row};
use super::site::{Era, HTML, cut, json_answer, mute, nothing, on, text};
use crate::http::Answer;

pub(super) fn rows() -> Vec<Row> {
    vec![
        Row {
            name: "http: 404, the session is gone",
            misdeed: |asked, _| (asked.is_call() && asked.times == 1).then(|| nothing(404)),
            asked: &[("initialize", 2), ("tools/call", 2)],
            ..ROW
        },
        Row {
            name: "http: 400 without an id after a restart",
            misdeed: |asked, _| {
                let error = json!({ "code": -32000, "message": "Bad Request: No valid session ID provided" });
                let body = json!({ "jsonrpc": "2.0", "error": error, "id": null }).to_string();
                (asked.is_call() && asked.times == 1).then(|| Answer::new(400, "application/json", body))
            },
            asked: &[("initialize", 2), ("tools/call", 2)],
            ..ROW
        },
        Row {
            name: "http: every session is gone at once",
            policy: "max_retries = 3",
            misdeed: |asked, _| on(asked, "tools/call", || nothing(404)),
            ends: Ends::Call("interrupted", "it has just started"),
            asked: &[("initialize", 2), ("tools/call", 2)],
            ..ROW
        },
        Row {
            name: "http: 400 with our id",
            misdeed: |asked, _| {
                let error = json!({ "code": -32602, "message": "no such luck" });
                let body = json!({ "jsonrpc": "2.0", "error": error, "id": asked.id() }).to_string();
                on(asked, "tools/call", || Answer::new(400, "application/json", body))
            },
            ends: Ends::Call("failed", "no such luck"),
            asked: &[("initialize", 1), ("tools/call", 1)],
            ..ROW
        },
        Row {
            name: "http: 401 in the middle of a session",
            misdeed: |asked, _| on(asked, "tools/call", || nothing(401).header("www-authenticate", "Bearer")),
            ends: Ends::Call("failed", "requires authorization (HTTP 401)"),
            asked: &[("tools/call", 1)],
            ..ROW
        },
        Row {
            name: "http: 403, want of a scope",
            misdeed: |asked, _| {
                let challenge = "Bearer error=\"insufficient_scope\", scope=\"files:write\"";
                on(asked, "tools/call", || nothing(403).header("www-authenticate", challenge))
            },
            ends: Ends::Call("failed", "requires authorization (HTTP 403)"),
            asked: &[("tools/call", 1)],
            ..ROW
        },
        Row {
            name: "http: 202 to a call",
            era: Era::Modern,
            misdeed: |asked, _| on(asked, "tools/call", || nothing(202)),
            ends: Ends::Call("interrupted", "outcome unknown"),
            asked: &[("tools/call", 1)],
            ..ROW
        },
        Row {
            name: "http: an HTML page for a result",
            misdeed: |asked, _| on(asked, "tools/call", || Answer::new(200, "text/html", HTML)),
            ends: Ends::Call("interrupted", "text/html instead of JSON"),
            asked: &[("tools/call", 1)],
            ..ROW
        },
        Row {
            name: "http: nothing for a result",
            misdeed: |asked, _| on(asked, "tools/call", || json_answer("")),
            ends: Ends::Call("interrupted", "could not be read: nothing"),
            asked: &[("tools/call", 1)],
            ..ROW
        },
        Row {
            name: "http: 500",
            misdeed: |asked, _| on(asked, "tools/call", || Answer::new(500, "text/html", HTML)),
            ends: Ends::Call("interrupted", "HTTP 500"),
            asked: &[("tools/call", 1)],
            ..ROW
        },
        Row {
            name: "http: 502",
            policy: "max_retries = 2\nidempotent = true",
            misdeed: |asked, _| on(asked, "tools/call", || nothing(502)),
            ends: Ends::Call("interrupted", "HTTP 502"),
            asked: &[("tools/call", 1)],
            ..ROW
        },
        Row {
            name: "http: 503 for a call that may not be repeated",
            policy: "max_retries = 2",
            misdeed: |asked, _| on(asked, "tools/call", || nothing(503)),
            ends: Ends::Call("unreachable", "the server is busy"),
            asked: &[("tools/call", 1)],
            ..ROW
        },
        Row {
            name: "http: 503 for a call that may",
            policy: "max_retries = 2\nidempotent = true",
            misdeed: |asked, _| (asked.is_call() && asked.times == 1).then(|| nothing(503)),
            asked: &[("tools/call", 2)],
            ..ROW
        },
        Row {
            ids: "C5",
            name: "http: the connection ends without an answer",
            policy: "max_retries = 2\nidempotent = true",
            misdeed: |asked, _| on(asked, "tools/call", || cut(json_answer("{}"), 0)),
            ends: Ends::Call("interrupted", "outcome unknown"),
            asked: &[("tools/call", 1)],
            ..ROW
        },
        Row {
            ids: "C5",
            name: "http: the connection ends within the answer",
            misdeed: |asked, _| on(asked, "tools/call", || cut(asked.answers(text("hello")), 40)),
            ends: Ends::Call("interrupted", "outcome unknown"),
            asked: &[("tools/call", 1)],
            ..ROW
        },
        Row {
            ids: "C4",
            name: "http: no answer to a call",
            policy: "timeout = 1",
            misdeed: |asked, _| on(asked, "tools/call", mute),
            ends: Ends::Call("timeout", "no answer within 1 s"),
            asked: &[("tools/call", 1)],
            ..ROW
        },
        Row {
            ids: "C4",
            name: "http: a byte at a time",
            policy: "timeout = 1",
            misdeed: |asked, _| {
                let drip =
                    Answer { piece: 1, pause: Duration::from_millis(100), ..asked.answers(text("hello")) };
                on(asked, "tools/call", || drip)
            },
            ends: Ends::Call("timeout", "no answer within 1 s"),
            ..ROW
        },
        Row {
            ids: "C3",
            name: "http: somebody else's id",
            misdeed: |asked, _| {
                let body = json!({ "jsonrpc": "2.0", "id": "somebody-else", "result": text("hello") });
                on(asked, "tools/call", || json_answer(body.to_string()))
            },
            ends: Ends::Call("interrupted", "could not be read"),
            ..ROW
        },
        Row {
            ids: "C3",
            name: "http: the id as a text",
            misdeed: |asked, _| {
                let body = json!({ "jsonrpc": "2.0", "id": asked.id().to_string(), "result": text("hello") });
                on(asked, "tools/call", || json_answer(body.to_string()))
            },
            ..ROW
        },
        Row {
            ids: "C2",
            name: "http: a byte order mark, CR LF and half a character",
            misdeed: |asked, _| {
                let body =
                    [b"\xef\xbb\xbf\r\n", asked.result(text("hello \u{1}")).as_bytes(), b"\r\n"].concat();
                let body = String::from_utf8(body).unwrap().replace("\\u0001", "\u{7f}").into_bytes();
                let body: Vec<u8> =
                    body.into_iter().map(|byte| if byte == 0x7f { 0xd0 } else { byte }).collect();
                on(asked, "tools/call", || json_answer(body))
            },
            ..ROW
        },
        Row {
            ids: "C8",
            name: "http: content of a kind that nobody knows",
            misdeed: |asked, _| {
                let content =
                    json!([{ "type": "hologram", "beams": 3 }, { "type": "text", "text": "hello" }]);
                on(asked, "tools/call", || asked.answers(json!({ "content": content })))
            },
            ..ROW
        },
        Row {
            ids: "C8",
            name: "http: isError",
            misdeed: |asked, _| {
                let content = json!([{ "type": "text", "text": "it failed on purpose" }]);
                on(asked, "tools/call", || asked.answers(json!({ "content": content, "isError": true })))
            },
            ends: Ends::Call("failed", "it failed on purpose"),
            ..ROW
        },
        Row {
            ids: "C8",
            name: "http: a batch for an answer",
            misdeed: |asked, _| {
                let note = json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "level": "info", "data": 1 } });
                let body = format!("[{note}, {}]", asked.result(text("hello")));
                on(asked, "tools/call", || json_answer(body))
            },
            ..ROW
        },
        Row {
            ids: "C7",
            name: "http: a tool that vanished",
            misdeed: |asked, _| {
                let error = json!({ "code": -32602, "message": "Unknown tool: echo" });
                let body = json!({ "jsonrpc": "2.0", "id": asked.id(), "error": error });
                on(asked, "tools/call", || json_answer(body.to_string()))
            },
            ends: Ends::Call("failed", "Unknown tool"),
            ..ROW
        },
        Row {
            ids: "C11",
            name: "http: never answers the goodbye",
            misdeed: |asked, _| on(asked, "DELETE", mute),
            ..ROW
        },
    ]
}
