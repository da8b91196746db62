use serde_json::json;

use super::super::golden::assert_golden;
use super::super::turns::{finished, text, used, with_approval, with_client_calls, with_tools};
use super::super::{ApiError, ResponsesRequest};
use super::*;

pub(in super::super) fn head() -> ResponseHead {
    let request = ResponsesRequest::parse(br#"{"model":"scout","input":"hello"}"#).unwrap();
    ResponseHead {
        id: "resp_1".into(),
        created_at: 1_790_000_000,
        model: request.model.clone(),
        parameters: request.parameters(),
        last_reply_only: false,
    }
}

fn state(head: ResponseHead, events: &[TurnEvent]) -> ResponseState {
    let mut state = ResponseState::new(head, false);
    events.iter().for_each(|event| state.push(event, 1_790_000_005));
    state
}

fn object(state: &ResponseState) -> Value {
    serde_json::from_slice(&state.body()).unwrap()
}

#[test]
fn tools_of_ours_are_mcp_calls() {
    assert_golden("response_tools.json", &state(head(), &with_tools()).body());
}

#[test]
fn calls_for_the_client_and_approvals_are_items() {
    let body = r#"{"model":"scout","input":"hello","instructions":"Be brief.","temperature":1,"max_tool_calls":2,
        "reasoning":{"effort":"low","summary":"auto"},"text":{"format":{"type":"json_schema","name":"n","schema":{}}},
        "tools":[{"type":"function","name":"weather","parameters":{"type":"object"},"strict":false}],
        "tool_choice":{"type":"function","name":"weather"},"metadata":{"a":"b"},"user":"u"}"#;
    let parameters = ResponsesRequest::parse(body.as_bytes()).unwrap().parameters();
    let state_ = state(ResponseHead { parameters, ..head() }, &with_client_calls());
    assert_golden("response_client_calls.json", &state_.body());
    assert_golden("response_approval.json", &state(head(), &with_approval()).body());
}

#[test]
fn each_end_has_its_status() {
    let ended = |event| object(&state(head(), &[text("a"), used(1, 1), event]));
    let length = ended(TurnEvent::Done(Finish::Length));
    assert_eq!((&length["status"], &length["completed_at"]), (&json!("incomplete"), &Value::Null));
    assert_eq!(length["incomplete_details"]["reason"], "max_output_tokens");
    let filter = ended(TurnEvent::Done(Finish::ContentFilter));
    assert_eq!(filter["incomplete_details"]["reason"], "content_filter");
    let failed = |error| ended(TurnEvent::Failed(error));
    let found = failed(ApiError::failure(FailureKind::ProviderUnreachable, "no route"));
    assert_eq!(
        (&found["status"], &found["error"]),
        (&json!("failed"), &json!({ "code": "server_error", "message": "no route" }))
    );
    assert_eq!(failed(ApiError::rate_limit(None, "x"))["error"]["code"], "rate_limit_exceeded");
    assert_eq!(failed(ApiError::context_length("input", "x"))["error"]["code"], "invalid_prompt");
    let queued = ResponseState::new(head(), true);
    assert_eq!((&object(&queued)["status"], &object(&queued)["usage"]), (&json!("queued"), &Value::Null));
    let mut cancelled = state(head(), &[text("a")]);
    cancelled.cancel();
    cancelled.push(&TurnEvent::Done(Finish::Stop), 0);
    let found = object(&cancelled);
    assert_eq!(
        (&found["status"], &found["output"][0]["status"]),
        (&json!("cancelled"), &json!("incomplete"))
    );
    assert_eq!(response_deleted("resp_1"), br#"{"id":"resp_1","object":"response","deleted":true}"#);
}

#[test]
fn a_discarded_reply_is_not_in_the_output() {
    let events = [
        text("I look."),
        used(1, 1),
        finished("inv_1_0", converse_canister::Outcome::Success),
        text("Buy mi"),
        TurnEvent::Discard,
        text("Buy bread."),
        TurnEvent::Done(Finish::Stop),
    ];
    let found = object(&state(head(), &events));
    let texts: Vec<&Value> =
        found["output"].as_array().unwrap().iter().map(|item| &item["content"][0]["text"]).collect();
    assert_eq!(texts, [&json!("I look."), &Value::Null, &json!("Buy bread.")]);
    let held = object(&state(ResponseHead { last_reply_only: true, ..head() }, &events));
    let texts: Vec<&Value> =
        held["output"].as_array().unwrap().iter().map(|item| &item["content"][0]["text"]).collect();
    assert_eq!(texts, [&Value::Null, &json!("Buy bread.")]);
}
