//! Results as `functionResponse` parts.
//!
//! One for each call, in the calls' order; the response is an object with `output` or `error`. Gemini 3 takes media
//! within it (`parts`); for older models they follow in the same content, after the last response, and a line in the
//! response says so.
//!
//! <https://ai.google.dev/gemini-api/docs/function-calling>, `class FunctionResponse` of google-genai 3.4.0 (checked
//! 2026-11).

use converse_canister::{Blobs, Content};
use serde_json::{Map, Value, json};

use super::contents::inline_data;
use crate::grouping::{Call, Turn};
use crate::media::{Media, Position, heading};
use crate::plain;

/// Returns the parts that answer a turn: its responses, then the media that do not fit into them.
pub(super) fn parts(turn: &Turn<'_>, blobs: &dyn Blobs, media: &Media<'_>) -> Vec<Value> {
    let mut parts: Vec<Value> = turn.calls().map(|call| part(call, blobs, media)).collect();
    let shown = media.behind(turn);
    if !shown.is_empty() {
        parts.push(json!({ "text": heading(&shown) }));
        parts.extend(shown.iter().map(inline_data));
    }
    parts
}

/// Returns the server's id of the call, if it is unique.
pub(super) fn servers_id<'a>(call: &'a Call<'_>) -> Option<&'a str> {
    call.invocation.wire_id.as_deref().filter(|id| *id == call.wire_id)
}

fn part(call: &Call<'_>, blobs: &dyn Blobs, media: &Media<'_>) -> Value {
    let mut function = Map::new();
    if let Some(id) = servers_id(call) {
        function.insert("id".into(), json!(id));
    }
    function.insert("name".into(), json!(call.tool));
    if call.answer.outcome().is_success() {
        let contents = plain::contents(&call.answer);
        function.insert("response".into(), json!({ "output": output(contents, media) }));
        let shown: Vec<Value> = contents
            .iter()
            .filter_map(|content| media.inline(content, Position::Result))
            .map(|shown| inline_data(&shown))
            .collect();
        if !shown.is_empty() {
            function.insert("parts".into(), Value::Array(shown));
        }
    } else {
        function.insert("response".into(), json!({ "error": plain::failure(&call.answer, blobs) }));
    }
    json!({ "functionResponse": function })
}

/// A lone piece of JSON stays JSON; everything else is text.
fn output(contents: &[Content], media: &Media<'_>) -> Value {
    if let [Content::Structured { value }] = contents {
        return value.clone();
    }
    let words = contents.iter().filter_map(|content| match media.inline(content, Position::Result) {
        Some(_) => None,
        None => media.words(content, Position::Result),
    });
    json!(words.collect::<Vec<_>>().join("\n"))
}
