//! Turns for tests of responses and streams.

use converse_canister::{Cost, Outcome, Usage};
use serde_json::json;

use super::{ClientCall, Finish, ToolCall, TurnEvent};

pub(super) fn text(piece: &str) -> TurnEvent {
    TurnEvent::TextDelta(piece.to_owned())
}

pub(super) fn thought(piece: &str) -> TurnEvent {
    TurnEvent::ReasoningDelta(piece.to_owned())
}

pub(super) fn call(id: &str) -> ToolCall {
    ToolCall { id: id.to_owned(), ensemble: "files".into(), tool: "read_file".into(), approval: None }
}

pub(super) fn started(id: &str) -> TurnEvent {
    TurnEvent::ToolStarted { call: call(id), arguments: json!({ "path": "a.txt" }) }
}

pub(super) fn finished(id: &str, outcome: Outcome) -> TurnEvent {
    let text = if outcome.is_success() { "Buy milk.\ndata: [DONE]\n\n" } else { "not allowed" };
    TurnEvent::ToolFinished { call: call(id), outcome, text: text.to_owned() }
}

pub(super) fn used(input: u64, output: u64) -> TurnEvent {
    let usage = Usage {
        input: Some(input),
        output: Some(output),
        cache_read: Some(2),
        cache_write: None,
        reasoning: Some(1),
    };
    TurnEvent::Usage { usage, cost: Some(Cost(1500)) }
}

pub(super) fn client_calls(ids: &[&str]) -> TurnEvent {
    let one = |id: &&str| ClientCall {
        id: (*id).to_owned(),
        name: "weather".into(),
        arguments: r#"{"at":"Kyiv"}"#.into(),
    };
    TurnEvent::ClientCalls(ids.iter().map(one).collect())
}

/// A turn with reasoning, two tools of this server, and an answer.
pub(super) fn with_tools() -> Vec<TurnEvent> {
    vec![
        thought("I must "),
        thought("look."),
        text("I look."),
        used(10, 5),
        started("inv_1_0"),
        started("inv_1_1"),
        finished("inv_1_1", Outcome::Refused),
        finished("inv_1_0", Outcome::Success),
        text("Buy "),
        text("\"milk\"\u{2028}."),
        used(20, 7),
        TurnEvent::Done(Finish::Stop),
    ]
}

pub(super) fn with_client_calls() -> Vec<TurnEvent> {
    vec![
        text("Wait."),
        client_calls(&["call_1", "call_2"]),
        TurnEvent::Usage { usage: Usage { input: Some(3), ..Usage::default() }, cost: None },
        TurnEvent::Done(Finish::Stop),
    ]
}

/// Turns of any order of events, each with its end: a sequence of numbers decides.
pub(super) fn generated(mut seed: u64) -> Vec<TurnEvent> {
    let mut next = |below: u64| {
        // Knuth's MMIX generator.
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let mut events = Vec::new();
    let mut tools = 0;
    for _ in 0..next(14) {
        match next(9) {
            0 | 1 => events.push(text(["a", "b\n", "", "\"ü\r\n"][next(4) as usize])),
            2 => events.push(thought(["x", "", "y"][next(3) as usize])),
            3 => events.push(used(next(50), next(50))),
            4 => {
                tools += 1;
                let id = format!("inv_1_{tools}");
                events.extend([
                    started(&id),
                    finished(&id, [Outcome::Success, Outcome::Failed][next(2) as usize]),
                ]);
            }
            5 => {
                tools += 2;
                let (one, two) = (format!("inv_1_{}", tools - 1), format!("inv_1_{tools}"));
                events.extend([started(&one), started(&two), finished(&two, Outcome::Success)]);
                events.push(finished(&one, Outcome::Timeout));
            }
            6 => {
                tools += 1;
                events.push(finished(&format!("inv_1_{tools}"), Outcome::Refused));
            }
            7 => {
                tools += 1;
                events.push(client_calls(&[&format!("call_{tools}")]));
            }
            _ => events.push(text("c")),
        }
    }
    let finish = [Finish::Stop, Finish::Length, Finish::ContentFilter][next(3) as usize];
    events.push(TurnEvent::Done(finish));
    events
}

/// A turn that ends because a call needs an approval.
pub(super) fn with_approval() -> Vec<TurnEvent> {
    let call =
        ToolCall { id: "mcpr_1".into(), ensemble: "files".into(), tool: "delete".into(), approval: None };
    vec![
        text("I must ask."),
        used(1, 2),
        TurnEvent::ApprovalNeeded { call, arguments: json!({ "path": "a" }) },
        TurnEvent::Done(Finish::Stop),
    ]
}
