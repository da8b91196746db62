//! Rows with much in them.

use serde_json::Value;

use super::row::{Ends, ROW, Row};
use super::site::{Asked, events, json_answer};
use crate::http::Answer;
use crate::provider_faults::bytes::gzip_bomb;

const MIB: usize = 1024 * 1024;

/// A result with a text of so many bytes; built without being copied.
fn long(id: &Value, bytes: usize) -> Vec<u8> {
    let head = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":""#);
    let mut body = Vec::with_capacity(bytes + 200);
    body.extend_from_slice(head.as_bytes());
    body.resize(head.len() + bytes, b'x');
    body.extend_from_slice(br#""}]}}"#);
    body
}

fn items(id: &Value, item: &str, count: usize) -> Vec<u8> {
    let items = format!("{item},").repeat(count);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{items}{item}]}}}}"#).into_bytes()
}

fn event(data: Vec<u8>) -> Answer {
    events([b"data: ".as_slice(), &data, b"\n\n"].concat())
}

fn on_call(asked: &Asked, answer: impl FnOnce(&Value) -> Answer) -> Option<Answer> {
    asked.is_call().then(|| answer(asked.id()))
}

const TOO_LONG: Ends = Ends::Call("interrupted", "16 MiB");
/// The call itself has ten minutes: one that waits for them hangs.
const LARGE: Row = Row { ids: "C6 T14", policy: "timeout = 600", asked: &[("tools/call", 1)], ..ROW };

pub(super) fn rows() -> Vec<Row> {
    vec![
        Row {
            name: "http: a result of 100 MB",
            misdeed: |asked, _| on_call(asked, |id| json_answer(long(id, 100 * MIB))),
            ends: TOO_LONG,
            ..LARGE
        },
        Row {
            name: "http: a result of 100 MB of unknown length",
            misdeed: |asked, _| {
                on_call(asked, |id| Answer { piece: MIB, ..json_answer(long(id, 100 * MIB)) })
            },
            ends: TOO_LONG,
            ..LARGE
        },
        Row {
            name: "http: an event of 100 MB",
            misdeed: |asked, _| on_call(asked, |id| event(long(id, 100 * MIB))),
            ends: TOO_LONG,
            ..LARGE
        },
        Row {
            name: "http: an event of 17 MiB",
            misdeed: |asked, _| on_call(asked, |id| event(long(id, 17 * MIB))),
            ends: TOO_LONG,
            ..LARGE
        },
        Row {
            name: "http: a bomb in gzip",
            misdeed: |asked, _| {
                on_call(asked, |_| json_answer(gzip_bomb(1024)).header("content-encoding", "gzip"))
            },
            ends: TOO_LONG,
            ..LARGE
        },
        Row {
            name: "http: a bomb in gzip, in a stream",
            misdeed: |asked, _| {
                on_call(asked, |_| events(gzip_bomb(1024)).header("content-encoding", "gzip"))
            },
            ends: TOO_LONG,
            ..LARGE
        },
        Row {
            name: "http: a result just short enough is cut",
            misdeed: |asked, _| on_call(asked, |id| json_answer(long(id, 15 * MIB))),
            ends: Ends::Call("success", "[truncated: kept"),
            ..LARGE
        },
        Row {
            name: "http: an event just short enough is cut",
            misdeed: |asked, _| on_call(asked, |id| event(long(id, 15 * MIB))),
            ends: Ends::Call("success", "[truncated: kept"),
            ..LARGE
        },
        Row {
            name: "http: half a million texts",
            misdeed: |asked, _| {
                on_call(asked, |id| json_answer(items(id, r#"{"type":"text","text":"x"}"#, 500_000)))
            },
            ends: Ends::Call("success", "x"),
            ..LARGE
        },
        Row {
            name: "http: millions of scraps in an event",
            misdeed: |asked, _| on_call(asked, |id| event(items(id, "0", 7_000_000))),
            ends: Ends::Call("success", ""),
            ..LARGE
        },
        Row {
            name: "http: a refusal of 100 MB",
            misdeed: |asked, _| {
                on_call(asked, |_| Answer::new(422, "application/json", vec![b'x'; 100 * MIB]))
            },
            ends: Ends::Call("failed", "HTTP 422"),
            ..LARGE
        },
    ]
}
