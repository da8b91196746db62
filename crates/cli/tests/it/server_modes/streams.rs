//! Rows over HTTP that are about streams of events.

use std::time::Duration;

use serde_json::json;

use super::row::{Ends, ROW, Row};
use super::site::{HTML, events, mute, on, text};
use crate::http::Answer;

pub(super) fn rows() -> Vec<Row> {
    vec![
        Row {
            name: "http: a stream that drops and is resumed",
            misdeed: |asked, state| match (asked.method.as_str(), asked.request.header("last-event-id")) {
                ("tools/call", _) => Some(events("id: seven\nretry: 100\ndata:\n\n")),
                ("GET", Some("seven")) => {
                    Some(events(format!("id: eight\ndata: {}\n\n", state.late_answer())))
                }
                _ => None,
            },
            asked: &[("tools/call", 1)],
            ..ROW
        },
        Row {
            name: "http: a stream that drops and cannot be resumed",
            misdeed: |asked, _| on(asked, "tools/call", || events("id: seven\nretry: 100\ndata:\n\n")),
            ends: Ends::Call("interrupted", "outcome unknown"),
            asked: &[("tools/call", 1)],
            ..ROW
        },
        Row {
            name: "http: a stream that drops without a number",
            misdeed: |asked, _| on(asked, "tools/call", || events(": nothing yet\n\n")),
            ends: Ends::Call("interrupted", "the event stream ended before the answer arrived"),
            asked: &[("tools/call", 1)],
            ..ROW
        },
        Row {
            name: "http: a stream that breaks within an event",
            misdeed: |asked, _| {
                let body = format!("data: {}\n\n", asked.result(text("hello")));
                let mut answer = events(body).header("content-length", "999");
                answer.cut_at = Some(40);
                on(asked, "tools/call", || answer)
            },
            ends: Ends::Call("interrupted", "outcome unknown"),
            asked: &[("tools/call", 1)],
            ..ROW
        },
        Row {
            ids: "C2",
            name: "http: rubbish between the events",
            misdeed: |asked, _| {
                let body = format!(
                    "\u{feff}: hi\r\n\r\ndata: {HTML}\n\nnonsense\n\nevent: ping\ndata: 1\n\ndata: {{\"half\n\n\
                     event: message\rdata: {}\r\r",
                    asked.result(text("hello"))
                );
                on(asked, "tools/call", || Answer { piece: 3, ..events(body) })
            },
            ..ROW
        },
        Row {
            ids: "C8",
            name: "http: odd content in a stream",
            misdeed: |asked, _| {
                let content = json!([{ "type": "hologram" }, { "type": "text", "text": "hello" }, 7]);
                let body = format!("data: {}\n\n", asked.result(json!({ "content": content })));
                on(asked, "tools/call", || events(body))
            },
            ..ROW
        },
        Row {
            ids: "C4 T14",
            name: "http: progress for ever",
            policy: "timeout = 2\nidle_timeout = 1",
            misdeed: |asked, _| {
                let token = &asked.message["params"]["_meta"]["progressToken"];
                let step = |n| {
                    let params = json!({ "progressToken": token, "progress": n });
                    format!(
                        "data: {}\n\n",
                        json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params })
                    )
                };
                let body: String = (0..2000).map(step).collect();
                let forever = Answer { piece: 128, pause: Duration::from_millis(5), ..events(body) };
                on(asked, "tools/call", || forever)
            },
            ends: Ends::Call("timeout", "no answer within 2 s"),
            ..ROW
        },
        Row {
            ids: "C10",
            name: "http: a flood of logs",
            misdeed: |asked, _| {
                let data = "so many words ".repeat(20);
                let params = json!({ "level": "error", "data": data });
                let note = json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": params });
                let flood = format!("data: {note}\n\n").repeat(10_000);
                let body = format!("{flood}data: {}\n\n", asked.result(text("hello")));
                on(asked, "tools/call", || events(body))
            },
            ..ROW
        },
        Row {
            ids: "C10",
            name: "http: asks us without end",
            misdeed: |asked, _| match asked.method.as_str() {
                "GET" => {
                    let ping =
                        |n| format!("data: {}\n\n", json!({ "jsonrpc": "2.0", "id": n, "method": "ping" }));
                    Some(Answer { stall: true, ..events((0..1000).map(ping).collect::<String>()) })
                }
                // Its answers to them are not taken.
                "POST" | "tools/call" => Some(mute()),
                _ => None,
            },
            ends: Ends::Call("interrupted", "asked more than 64 times"),
            ..ROW
        },
        Row {
            ids: "C11",
            name: "http: breaks every stream of the session at once",
            policy: "timeout = 4",
            misdeed: |asked, state| match asked.method.as_str() {
                "GET" => Some(events("id: 1\nretry: 0\n\n")),
                // It must not be kept busy by it: until the third of them it has nothing to say.
                "tools/call" => {
                    let slow =
                        Answer { piece: 1, pause: Duration::from_millis(10), ..asked.answers(text("hello")) };
                    assert!(state.times("GET") < 20);
                    Some(slow)
                }
                _ => None,
            },
            ..ROW
        },
    ]
}
