#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test's helpers may panic and read its files"
)]
//! Every case of the corpus, under one contract: the request is this one, and the reply is this one however its body
//! is cut in pieces; a body that ends early gives no reply, and no invocation.

mod batches;
mod cases;
mod hostile;

use std::collections::HashMap;

use converse_canister::{Canister, Transcript};
use converse_provider::{Dialect, Reply, ReplyError};
use serde_json::Value;

use cases::{Case, decode, expect, outcome, text_of};

#[test]
fn there_are_enough_cases() {
    let cases = cases::all();
    for dialect in Dialect::ALL {
        let count = cases.iter().filter(|case| case.original.endpoint.dialect == dialect).count();
        assert!(count >= 20, "{}: {count}", dialect.label());
    }
}

#[test]
fn requests_come_out_as_written() {
    for case in cases::all().iter().filter(|case| case.has_prompt) {
        expect(&case.folder.join("request.json"), &case.original.request());
    }
}

/// Two requests of one conversation must begin alike, or caches and signatures are worth nothing.
#[test]
fn a_longer_view_keeps_the_shorter_ones_messages() {
    let mut compared = 0;
    for case in cases::all().iter().filter(|case| case.has_prompt) {
        let whole = case.original.request();
        let Some(all) = list(&whole["body"]) else { continue };
        for end in 1..case.original.view.len() {
            let view = case.original.view[..end].to_vec();
            let complete = Transcript::try_from(view.clone()).is_ok_and(|transcript| !transcript.has_open());
            if !complete || !matches!(case.original.view[end], Canister::Assistant(_)) {
                continue;
            }
            let shorter = cases::OriginalPrompt { view, ..case.original.clone() }.request();
            let Some(part) = list(&shorter["body"]) else { continue };
            // The last message may still grow by what the user says next.
            for (at, (one, other)) in part.iter().zip(all).enumerate().take(part.len() - 1) {
                let (one, other) = (unmarked(one), unmarked(other));
                assert_eq!(one.to_string(), other.to_string(), "{} message {at} of view {end}", case.name);
                compared += 1;
            }
        }
    }
    assert!(compared > 10, "{compared}");
}

/// Marks for the cache move with a conversation; they are no part of what it holds.
fn unmarked(message: &Value) -> Value {
    let mut message = message.clone();
    let blocks = message.get_mut("content").and_then(Value::as_array_mut);
    for block in blocks.into_iter().flatten().filter_map(Value::as_object_mut) {
        block.shift_remove("cache_control");
    }
    message
}

/// What a request says in order, under whichever name.
fn list(body: &Value) -> Option<&Vec<Value>> {
    // What the server keeps is not in the request.
    if body.get("previous_response_id").is_some() {
        return None;
    }
    ["messages", "input", "contents"].iter().find_map(|key| body[key].as_array())
}

#[test]
fn replies_are_the_same_however_a_body_is_cut() {
    for case in cases::all() {
        let Some((head, body)) = &case.response else { continue };
        let (whole, deltas) = decode(&case.original, head, [body.as_slice()]);
        expect(&case.folder.join("reply.json"), &outcome(&whole));
        let by_byte = decode(&case.original, head, body.chunks(1));
        let by_line = decode(&case.original, head, body.split_inclusive(|byte| *byte == b'\n'));
        let before_line = decode(&case.original, head, before_newlines(body));
        for (how, (cut, new_deltas)) in
            [("byte", by_byte), ("line", by_line), ("before each newline", before_line)]
        {
            assert_eq!(cut, whole, "{} by {how}", case.name);
            assert_eq!(text_of(&new_deltas), text_of(&deltas), "{} by {how}: what was told", case.name);
        }
    }
}

fn before_newlines(body: &[u8]) -> Vec<&[u8]> {
    let mut cuts: Vec<usize> = (0..body.len()).filter(|at| body[*at] == b'\n').collect();
    cuts.insert(0, 0);
    cuts.push(body.len());
    cuts.windows(2).map(|pair| &body[pair[0]..pair[1]]).collect()
}

/// What was shown while a stream came in is what the reply says.
#[test]
fn deltas_tell_the_replys_words() {
    let mut streams = 0;
    for case in cases::all() {
        let Some((head, body)) = &case.response else { continue };
        let (Ok(reply), deltas) = decode(&case.original, head, [body.as_slice()]) else { continue };
        if deltas.is_empty() {
            continue;
        }
        streams += 1;
        assert_eq!(text_of(&deltas), words(&reply), "{}", case.name);
    }
    assert!(streams > 10, "{streams}");
}

fn words(reply: &Reply) -> String {
    let words = |canister: &Canister| match canister {
        Canister::Assistant(assistant) => Some(assistant.words()),
        _ => None,
    };
    reply.canisters.iter().filter_map(words).collect()
}

#[test]
fn a_body_that_ends_early_is_no_reply_and_holds_no_invocation() {
    for case in cases::all() {
        let Some((head, body)) = &case.response else { continue };
        let (whole, _) = decode(&case.original, head, [body.as_slice()]);
        for end in 0..body.len() {
            match decode(&case.original, head, [&body[..end]]).0 {
                // The terminal marker was within the part: the reply must be the whole one, but for late usage.
                Ok(cut) => {
                    let whole =
                        whole.as_ref().unwrap_or_else(|_| panic!("{} cut at {end}: {cut:?}", case.name));
                    assert_eq!(cut.canisters, whole.canisters, "{} cut at {end}", case.name);
                }
                Err(ReplyError::CutShort { partial }) => {
                    assert!(!has_invocation(&partial), "{} cut at {end}", case.name);
                }
                // Half an event is a cut; only what the whole body has wrong may be wrong in a part of it.
                Err(other) => {
                    assert!(whole.is_err() || !is_stream(head), "{} cut at {end}: {other:?}", case.name)
                }
            }
        }
    }
}

fn is_stream(head: &http::response::Parts) -> bool {
    head.headers.get("content-type").is_some_and(|kind| {
        ["text/event-stream", "application/x-ndjson"]
            .iter()
            .any(|stream| kind.as_bytes().starts_with(stream.as_bytes()))
    })
}

fn has_invocation(reply: &Reply) -> bool {
    reply.canisters.iter().any(|canister| matches!(canister, Canister::Invocation(_)))
}

#[test]
fn streamed_and_whole_replies_are_the_same() {
    let cases = cases::all();
    let by_name: HashMap<&str, &Case> = cases.iter().map(|case| (case.name.as_str(), case)).collect();
    let mut pairs = 0;
    for case in &cases {
        let Some(streamed) = case.name.strip_suffix("_whole") else { continue };
        let [streamed, whole] = [by_name[streamed], case].map(|case| {
            let (head, body) = case.response.as_ref().unwrap();
            decode(&case.original, head, [body.as_slice()]).0
        });
        assert_eq!(streamed, whole, "{}", case.name);
        pairs += 1;
    }
    assert!(pairs >= 4, "{pairs}");
}

#[test]
fn every_reply_is_a_lawful_continuation() {
    let mut replies = 0;
    for case in cases::all() {
        let Some((head, body)) = &case.response else { continue };
        let reply = match decode(&case.original, head, [body.as_slice()]).0 {
            Ok(reply) => reply,
            Err(ReplyError::CutShort { partial }) => *partial,
            Err(_) => continue,
        };
        let mut transcript = Transcript::try_from(case.original.view.clone()).unwrap();
        assert!(matches!(reply.canisters.first(), Some(Canister::Assistant(_))), "{}", case.name);
        for canister in reply.canisters {
            transcript.push(canister).unwrap_or_else(|error| panic!("{}: {error}", case.name));
        }
        replies += 1;
    }
    assert!(replies > 20, "{replies}");
}
