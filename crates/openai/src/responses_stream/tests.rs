use serde_json::{Value, json};

use super::super::golden::assert_golden;
use super::super::responses_object::tests::head;
use super::super::turns::{generated, text, thought, with_approval, with_client_calls, with_tools};
use super::super::{ApiError, FailureKind, Finish};
use super::*;

const NOW: u64 = 1_790_000_005;

fn stream(head: ResponseHead, queued: bool, events: &[TurnEvent]) -> Vec<u8> {
    let mut stream = ResponsesStream::new(head, queued);
    let mut out = Vec::new();
    events.iter().for_each(|event| stream.push(event, NOW, &mut out));
    out
}

/// Splits a stream into its events, and checks their names and numbers.
fn events(bytes: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(bytes).unwrap();
    let one = |(number, event): (usize, &str)| {
        let (name, data) = event.split_once("\ndata: ").unwrap();
        let data: Value = serde_json::from_str(data).unwrap();
        assert_eq!(name.strip_prefix("event: "), data["type"].as_str());
        assert_eq!(data["sequence_number"], number);
        data
    };
    text.split_terminator("\n\n").enumerate().map(one).collect()
}

fn add(to: &mut Value, piece: &Value) {
    *to = format!("{}{}", to.as_str().unwrap_or_default(), piece.as_str().unwrap()).into();
}

/// What a client makes of the events: items built of the deltas only, which must be equal to the finished ones.
fn folded(events: &[Value]) -> Vec<Value> {
    let mut items: Vec<Value> = Vec::new();
    let mut done = Vec::new();
    for event in events {
        let at = event["output_index"].as_u64().unwrap_or(0) as usize;
        match event["type"].as_str().unwrap() {
            "response.output_item.added" => {
                assert_eq!(at, items.len());
                items.push(event["item"].clone());
            }
            "response.content_part.added" => items[at]["content"] = json!([event["part"]]),
            "response.reasoning_summary_part.added" => items[at]["summary"] = json!([event["part"]]),
            "response.output_text.delta" => add(&mut items[at]["content"][0]["text"], &event["delta"]),
            "response.output_text.done" => assert_eq!(items[at]["content"][0]["text"], event["text"]),
            "response.content_part.done" => assert_eq!(items[at]["content"][0], event["part"]),
            "response.reasoning_summary_text.delta" => {
                add(&mut items[at]["summary"][0]["text"], &event["delta"])
            }
            "response.reasoning_summary_text.done" => {
                assert_eq!(items[at]["summary"][0]["text"], event["text"])
            }
            "response.reasoning_summary_part.done" => assert_eq!(items[at]["summary"][0], event["part"]),
            "response.mcp_call_arguments.delta" | "response.function_call_arguments.delta" => {
                add(&mut items[at]["arguments"], &event["delta"]);
            }
            "response.mcp_call_arguments.done" | "response.function_call_arguments.done" => {
                assert_eq!(items[at]["arguments"], event["arguments"]);
            }
            "response.output_item.done" => {
                let item = &event["item"];
                for key in ["id", "type", "content", "summary", "arguments", "name"] {
                    assert_eq!(items[at].get(key), item.get(key), "{key} of {item}");
                }
                assert_ne!(item.get("status"), Some(&json!("in_progress")));
                items[at] = item.clone();
                done.push(at);
            }
            _ => {}
        }
        if let Some(id) = event.get("item_id") {
            assert_eq!(*id, items[at]["id"]);
        }
    }
    done.sort_unstable();
    assert_eq!(done, (0..items.len()).collect::<Vec<_>>(), "each item ends once");
    items
}

#[test]
fn the_events_of_turns() {
    let failed = ApiError::failure(FailureKind::ProviderUnreachable, "no route");
    assert_golden("response_tools.sse", &stream(head(), false, &with_tools()));
    assert_golden("response_client_calls.sse", &stream(head(), true, &with_client_calls()));
    assert_golden("response_approval.sse", &stream(head(), false, &with_approval()));
    assert_golden("response_failed.sse", &stream(head(), false, &[text("a"), TurnEvent::Failed(failed)]));
    let cut = [thought("x"), text("a"), TurnEvent::Done(Finish::Length)];
    assert_golden("response_incomplete.sse", &stream(head(), false, &cut));
}

#[test]
fn every_stream_adds_up_to_the_whole_response() {
    for seed in 0..300 {
        let turn = generated(seed);
        for last_reply_only in [false, true] {
            let head = ResponseHead { last_reply_only, ..head() };
            let mut whole = ResponseState::new(head.clone(), false);
            turn.iter().for_each(|event| whole.push(event, NOW));
            let whole: Value = serde_json::from_slice(&whole.body()).unwrap();
            let found = events(&stream(head, seed % 2 == 0, &turn));
            assert_eq!(json!(folded(&found)), whole["output"], "seed {seed}");
            assert_eq!(found.last().unwrap()["response"], whole, "seed {seed}");
        }
    }
}

#[test]
fn a_stream_begins_with_the_response_and_ends_once() {
    let mut stream = ResponsesStream::new(head(), true);
    let mut out = Vec::new();
    stream.begin(&mut out);
    stream.begin(&mut out);
    stream.push(&text("a"), NOW, &mut out);
    stream.cancel(&mut out);
    stream.cancel(&mut out);
    stream.push(&TurnEvent::Done(Finish::Stop), NOW, &mut out);
    assert!(stream.state().is_over());
    let found = events(&out);
    let kinds: Vec<&str> = found.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(kinds[..3], ["response.created", "response.queued", "response.in_progress"]);
    assert_eq!(kinds.iter().filter(|kind| **kind == "response.incomplete").count(), 1);
    let last = found.last().unwrap();
    assert_eq!(
        (&last["type"], &last["response"]["status"]),
        (&json!("response.incomplete"), &json!("cancelled"))
    );
}

#[test]
fn text_that_was_sent_and_is_void_ends_the_stream_with_an_error() {
    let turn = [text("Buy mi"), TurnEvent::Discard, text("Buy bread."), TurnEvent::Done(Finish::Stop)];
    let found = events(&stream(head(), false, &turn));
    assert_eq!(found.last().unwrap()["type"], "response.failed");
    // Before any text of the reply, nothing is void. Text that is held back can be taken back.
    for (head, turn) in [(head(), &turn[1..]), (ResponseHead { last_reply_only: true, ..head() }, &turn[..])]
    {
        let found = events(&stream(head, false, turn));
        assert_eq!(folded(&found)[0]["content"][0]["text"], "Buy bread.");
        assert_eq!(found.last().unwrap()["type"], "response.completed");
    }
}
