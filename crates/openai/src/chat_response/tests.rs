use serde_json::json;

use super::super::golden::assert_golden;
use super::super::turns::{client_calls, finished, text, used, with_client_calls, with_tools};
use super::*;

pub(in super::super) fn head() -> ChatHead {
    ChatHead {
        id: "chatcmpl-1".into(),
        created: 1_790_000_000,
        model: "scout".into(),
        metadata: Map::new(),
        last_reply_only: false,
    }
}

fn body(head: ChatHead, events: Vec<TurnEvent>) -> Result<Value, ApiError> {
    let mut response = ChatResponse::new(head);
    events.into_iter().for_each(|event| response.push(event));
    response.body().map(|body| serde_json::from_slice(&body).unwrap())
}

#[test]
fn a_turn_with_tools_of_ours_has_text_and_events_but_no_calls() {
    let mut response = ChatResponse::new(head());
    with_tools().into_iter().for_each(|event| response.push(event));
    assert_golden("chat_tools.json", &response.body().unwrap());
}

#[test]
fn calls_for_the_client_end_the_turn() {
    let metadata = json!({ "run": "7" }).as_object().unwrap().clone();
    let mut response = ChatResponse::new(ChatHead { metadata, ..head() });
    with_client_calls().into_iter().for_each(|event| response.push(event));
    assert_golden("chat_client_calls.json", &response.body().unwrap());
    let found = body(head(), vec![client_calls(&["call_1"]), TurnEvent::Done(Finish::Stop)]).unwrap();
    assert_eq!(found["choices"][0]["message"]["content"], Value::Null);
}

#[test]
fn a_discarded_reply_is_not_in_the_answer() {
    let events = vec![
        text("I look."),
        used(1, 1),
        finished("inv_1_0", Outcome::Success),
        text("Buy mi"),
        TurnEvent::Discard,
        text("Buy bread."),
        TurnEvent::Done(Finish::Length),
        text("late"),
    ];
    let found = body(head(), events).unwrap();
    assert_eq!(found["choices"][0]["message"]["content"], "I look.\n\nBuy bread.");
    assert_eq!(found["choices"][0]["finish_reason"], "length");
}

#[test]
fn an_answer_in_json_is_the_last_reply_only() {
    let events = vec![
        text("I look."),
        used(1, 1),
        finished("inv_1_0", Outcome::Success),
        text("{\"a\":"),
        text("1}"),
        used(1, 1),
        TurnEvent::Done(Finish::Stop),
    ];
    let found = body(ChatHead { last_reply_only: true, ..head() }, events).unwrap();
    assert_eq!(found["choices"][0]["message"]["content"], "{\"a\":1}");
}

#[test]
fn what_the_provider_did_not_count_is_left_out() {
    let found = body(head(), vec![TurnEvent::Done(Finish::Stop)]).unwrap();
    assert_eq!((found.get("usage"), &found["choices"][0]["message"]["content"]), (None, &json!("")));
}

#[test]
fn a_turn_that_failed_or_has_no_end_is_an_error() {
    let failed = ApiError::failure(super::super::FailureKind::ProviderUnreachable, "no route");
    assert_eq!(body(head(), vec![text("a"), TurnEvent::Failed(failed.clone())]), Err(failed));
    assert_eq!(body(head(), vec![text("a")]).unwrap_err().status, 500);
}
