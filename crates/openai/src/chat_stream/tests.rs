use serde_json::{Value, json};

use super::super::ChatResponse;
use super::super::chat_response::tests::head;
use super::super::golden::assert_golden;
use super::super::turns::{generated, text, used, with_approval, with_client_calls, with_tools};
use super::*;

fn stream(head: ChatHead, include_usage: bool, events: &[TurnEvent]) -> Vec<u8> {
    let mut stream = ChatStream::new(head, include_usage);
    let mut out = Vec::new();
    events.iter().for_each(|event| stream.push(event, &mut out));
    out
}

/// Splits a stream into its events, as a reader of Server-Sent Events does.
fn chunks(bytes: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(bytes).unwrap();
    let mut events: Vec<&str> = text.split_terminator("\n\n").collect();
    assert_eq!(events.pop(), Some("data: [DONE]"));
    let one = |event: &str| serde_json::from_str(event.strip_prefix("data: ").unwrap()).unwrap();
    events.into_iter().map(one).collect()
}

/// What a client makes of the chunks: the message and the rest of the whole response.
fn folded(chunks: &[Value]) -> Value {
    let (mut content, mut reasoning) = (String::new(), String::new());
    let (mut calls, mut events): (Vec<Value>, Vec<Value>) = (vec![], vec![]);
    let (mut finish, mut usage) = (Value::Null, Value::Null);
    for chunk in chunks {
        if let Some(event) = chunk.get("event") {
            match events.iter_mut().find(|other| other["id"] == event["id"]) {
                Some(other) => {
                    event.as_object().unwrap().iter().for_each(|(key, value)| other[key] = value.clone())
                }
                None => events.push(event.clone()),
            }
        }
        let Some(choice) = chunk["choices"].get(0) else {
            usage = chunk["usage"].clone();
            continue;
        };
        content.push_str(choice["delta"]["content"].as_str().unwrap_or_default());
        reasoning.push_str(choice["delta"]["reasoning_content"].as_str().unwrap_or_default());
        for call in choice["delta"]["tool_calls"].as_array().into_iter().flatten() {
            let mut call = call.clone();
            assert_eq!(call.as_object_mut().unwrap().remove("index"), Some(json!(calls.len())));
            calls.push(call);
        }
        assert!(finish.is_null(), "nothing but usage follows the finish reason");
        finish = choice["finish_reason"].clone();
    }
    json!({ "content": content, "reasoning": reasoning, "calls": calls, "events": events, "finish": finish,
            "usage": usage })
}

fn whole(head: ChatHead, events: Vec<TurnEvent>) -> Value {
    let mut response = ChatResponse::new(head);
    events.into_iter().for_each(|event| response.push(event));
    let body: Value = serde_json::from_slice(&response.body().unwrap()).unwrap();
    let choice = &body["choices"][0];
    let message = &choice["message"];
    let list = |key: &str| message.get(key).cloned().unwrap_or_else(|| json!([]));
    json!({ "content": message["content"].as_str().unwrap_or_default(),
            "reasoning": message.get("reasoning_content").and_then(Value::as_str).unwrap_or_default(),
            "calls": list("tool_calls"), "events": list("events"), "finish": choice["finish_reason"],
            "usage": body.get("usage").cloned().unwrap_or_default() })
}

#[test]
fn the_chunks_of_a_turn_with_tools_of_ours() {
    assert_golden("chat_tools.sse", &stream(head(), true, &with_tools()));
}

#[test]
fn the_chunks_of_a_turn_that_ends_with_calls_for_the_client() {
    assert_golden("chat_client_calls.sse", &stream(head(), false, &with_client_calls()));
}

#[test]
fn every_stream_adds_up_to_the_whole_response() {
    for seed in 0..300 {
        let events = generated(seed);
        for last_reply_only in [false, true] {
            let head = ChatHead { last_reply_only, ..head() };
            let found = folded(&chunks(&stream(head.clone(), true, &events)));
            assert_eq!(found, whole(head, events.clone()), "seed {seed}");
        }
    }
}

#[test]
fn usage_is_sent_only_if_it_was_asked_for_and_counted() {
    let events = [text("a"), used(3, 4), TurnEvent::Done(Finish::Stop)];
    let with = chunks(&stream(head(), true, &events));
    let (last, others) = with.split_last().unwrap();
    assert_eq!((last["choices"].as_array().unwrap().len(), &last["usage"]["total_tokens"]), (0, &json!(7)));
    assert!(others.iter().all(|chunk| chunk.get("usage") == Some(&Value::Null)));
    let without = chunks(&stream(head(), false, &events));
    assert_eq!(without.len(), others.len());
    assert!(without.iter().all(|chunk| chunk.get("usage").is_none()));
    let uncounted = chunks(&stream(head(), true, &[TurnEvent::Done(Finish::Stop)]));
    assert_eq!(uncounted.last().unwrap()["choices"][0]["finish_reason"], "stop");
}

#[test]
fn text_that_was_sent_and_is_void_ends_the_stream_with_an_error() {
    let events = [text("Buy mi"), TurnEvent::Discard, text("Buy bread."), TurnEvent::Done(Finish::Stop)];
    let found = chunks(&stream(head(), true, &events));
    assert_eq!(found.last().unwrap()["error"]["code"], "provider_unreachable");
    assert_eq!(folded(&found[..found.len() - 1])["content"], "Buy mi");
    // Before any text of the reply, nothing is void. Text that is held back can be taken back.
    let found = chunks(&stream(head(), true, &events[1..]));
    assert_eq!(folded(&found)["content"], "Buy bread.");
    let found = chunks(&stream(ChatHead { last_reply_only: true, ..head() }, true, &events));
    assert_eq!(folded(&found)["content"], "Buy bread.");
}

#[test]
fn a_failure_is_an_error_chunk_and_the_end() {
    let failed = ApiError::failure(FailureKind::Limit, "the turn took too long");
    let mut stream = ChatStream::new(head(), true);
    let mut out = Vec::new();
    stream.begin(&mut out);
    assert!(!stream.is_over());
    stream.push(&TurnEvent::Failed(failed), &mut out);
    let length = out.len();
    stream.push(&text("late"), &mut out);
    assert!(stream.is_over() && out.len() == length);
    let found = chunks(&out);
    assert_eq!(found[0]["choices"][0]["delta"], json!({ "role": "assistant", "content": "" }));
    assert_eq!(
        found[1],
        json!({ "error": { "message": "the turn took too long", "type": "invalid_request_error", "param": null,
                           "code": "turn_limit_exceeded" } })
    );
}

#[test]
fn a_call_that_waits_for_an_approval_is_an_event() {
    let found = chunks(&stream(head(), false, &with_approval()));
    let event = found.iter().find_map(|chunk| chunk.get("event")).unwrap();
    assert_eq!((&event["status"], &event["name"]), (&json!("waiting"), &json!("delete")));
    assert_eq!(folded(&found)["events"], whole(head(), with_approval())["events"]);
}
