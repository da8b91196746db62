//! A reply on the wire: one JSON body, or a stream of chunks as `data:` lines, word by word, with `[DONE]` at its end.
//!
//! The forms are those of OpenAI's Chat Completions (<https://platform.openai.com/docs/api-reference/chat>, checked
//! 2026-11-20). Ids are made from the request's bytes and `created` is 0, so that equal requests get equal bytes. Usage
//! is an estimate, four bytes to the token. Arguments are streamed in small pieces, as a real model streams them.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};
use serde_json::{Value, json};

use crate::request::{Malformed, Request};

/// A text, or calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reply {
    Text(String),
    /// Name and arguments (JSON text) of each.
    Calls(Vec<(String, String)>),
}

/// Bytes of arguments in one piece of a stream.
const PIECE: usize = 24;

pub(crate) fn response(request: &Request, body: &[u8], reply: Reply) -> Response<Bytes> {
    let (reply, finish) = limited(reply, request.most_tokens);
    let seed = fnv(body);
    let written = match &reply {
        Reply::Text(text) => text.len(),
        Reply::Calls(calls) => calls.iter().map(|(name, arguments)| name.len() + arguments.len()).sum(),
    };
    let (prompt, completion) = (body.len().div_ceil(4), written.div_ceil(4));
    let usage = json!({ "prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion });
    if request.stream {
        let text = stream(request, seed, &reply, finish, &usage);
        answer(StatusCode::OK, "text/event-stream; charset=utf-8", text)
    } else {
        answer(StatusCode::OK, "application/json", whole(request, seed, &reply, finish, usage).to_string())
    }
}

/// `{"error":{"message","type","param","code"}}`, as OpenAI writes it.
pub(crate) fn refusal(
    status: StatusCode,
    message: &str,
    param: Option<&str>,
    code: Option<&str>,
) -> Response<Bytes> {
    let error = json!({ "message": message, "type": "invalid_request_error", "param": param, "code": code });
    answer(status, "application/json", json!({ "error": error }).to_string())
}

pub(crate) fn malformed(error: &Malformed) -> Response<Bytes> {
    let code = (*error == Malformed::Format).then_some("unsupported_value");
    refusal(StatusCode::BAD_REQUEST, &error.to_string(), error.param(), code)
}

fn answer(status: StatusCode, mime: &'static str, body: String) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(mime));
    response
}

/// Returns the text within the requested limit, and the reason why it ends.
fn limited(reply: Reply, most_tokens: Option<u64>) -> (Reply, &'static str) {
    match reply {
        Reply::Calls(_) => (reply, "tool_calls"),
        Reply::Text(text) => {
            let most = most_tokens.and_then(|tokens| usize::try_from(tokens.saturating_mul(4)).ok());
            match most.filter(|most| text.len() > *most) {
                Some(most) => (Reply::Text(crate::words::front(&text, most).to_owned()), "length"),
                None => (Reply::Text(text), "stop"),
            }
        }
    }
}

fn whole(request: &Request, seed: u64, reply: &Reply, finish: &str, usage: Value) -> Value {
    let message = match reply {
        Reply::Text(text) => json!({ "role": "assistant", "content": text, "refusal": null }),
        Reply::Calls(calls) => {
            let calls: Vec<Value> =
                calls.iter().enumerate().map(|(index, call)| whole_call(seed, index, call)).collect();
            json!({ "role": "assistant", "content": null, "tool_calls": calls, "refusal": null })
        }
    };
    json!({
        "id": id(seed), "object": "chat.completion", "created": 0, "model": request.model,
        "choices": [{ "index": 0, "message": message, "logprobs": null, "finish_reason": finish }],
        "usage": usage,
    })
}

fn whole_call(seed: u64, index: usize, (name, arguments): &(String, String)) -> Value {
    json!({ "id": call_id(seed, index), "type": "function", "function": { "name": name, "arguments": arguments } })
}

fn id(seed: u64) -> String {
    format!("chatcmpl-understudy-{seed:016x}")
}

fn call_id(seed: u64, index: usize) -> String {
    format!("call_{seed:016x}_{index}")
}

fn stream(request: &Request, seed: u64, reply: &Reply, finish: &str, usage: &Value) -> String {
    let mut text = String::new();
    let mut say = |choices: Value, usage: Option<&Value>| {
        let mut chunk = json!({ "id": id(seed), "object": "chat.completion.chunk", "created": 0, "model": request.model, "choices": choices });
        if request.include_usage {
            chunk["usage"] = usage.cloned().unwrap_or(Value::Null);
        }
        text.push_str(&format!("data: {chunk}\n\n"));
    };
    let choice = |delta: Value, finish: Option<&str>| json!([{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish }]);
    match reply {
        Reply::Text(words) => {
            say(choice(json!({ "role": "assistant", "content": "" }), None), None);
            for word in words.split_inclusive(char::is_whitespace) {
                say(choice(json!({ "content": word }), None), None);
            }
        }
        Reply::Calls(calls) => {
            say(choice(json!({ "role": "assistant", "content": null }), None), None);
            for (index, (name, arguments)) in calls.iter().enumerate() {
                let opening = json!({ "index": index, "id": call_id(seed, index), "type": "function", "function": { "name": name, "arguments": "" } });
                say(choice(json!({ "tool_calls": [opening] }), None), None);
                for piece in pieces(arguments) {
                    let piece = json!({ "index": index, "function": { "arguments": piece } });
                    say(choice(json!({ "tool_calls": [piece] }), None), None);
                }
            }
        }
    }
    say(choice(json!({}), Some(finish)), None);
    if request.include_usage {
        say(json!([]), Some(usage));
    }
    text.push_str("data: [DONE]\n\n");
    text
}

fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let piece = crate::words::front(rest, PIECE);
        pieces.push(piece);
        rest = &rest[piece.len()..];
    }
    pieces
}

/// FNV-1a, 64 bits: enough to tell requests apart; nothing secret depends on it.
fn fnv(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
