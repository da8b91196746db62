//! Reasoning that its maker refuses to take back: asked once more without it, and never in a loop.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers may panic")]

use std::sync::{Arc, Mutex};

use converse_canister::{Canister, NoBlobs, Transcript, User};
use converse_engine::{
    CompactionPolicy, Conversation, Ending, Engine, EngineError, Event, Limits, Ports, RetryPolicy, Route,
    Sink, SinkError, Timeouts, converse,
};
use converse_ensemble::{NoArtefacts, Roster};
use converse_provider::{Controls, Dialect, Facts, processor, row};
use converse_testkit::wire::{Nobody, ScriptedWire, WireReply};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

fn reply(number: u32, item: Value) -> WireReply {
    let thought = json!({ "id": format!("rs_{number}"), "type": "reasoning", "summary": [],
        "encrypted_content": format!("seal-{number}") });
    let (id, usage) = (format!("resp_{number}"), json!({ "input_tokens": 1, "output_tokens": 1 }));
    let output = [thought, item];
    let reply = json!({ "id": id, "status": "completed", "model": "m", "output": output, "usage": usage });
    WireReply::Body(200, reply)
}

fn says(number: u32) -> WireReply {
    let content = json!([{ "type": "output_text", "text": format!("text-{number}"), "annotations": [] }]);
    reply(
        number,
        json!({ "id": format!("msg_{number}"), "type": "message", "role": "assistant",
        "status": "completed", "content": content }),
    )
}

/// Of a tool that is not there, which is answered all the same.
fn calls(number: u32) -> WireReply {
    reply(
        number,
        json!({ "id": format!("fc_{number}"), "type": "function_call", "name": "none",
        "call_id": format!("call_{number}"), "arguments": "{}", "status": "completed" }),
    )
}

fn refuses(code: &str) -> WireReply {
    WireReply::refusal(400, code)
}

const SEAL: &str = "invalid_encrypted_content";

#[derive(Default)]
struct Warnings(Mutex<Vec<String>>);

impl Sink for Warnings {
    fn emit(&self, event: &Event<'_>) -> Result<(), SinkError> {
        match event {
            Event::Warned(warning) => self.0.lock().unwrap().push((*warning).to_owned()),
            Event::Restarted(restart) => {
                self.0
                    .lock()
                    .unwrap()
                    .push(format!("restart {}, taken back: {}", restart.attempt, restart.discard));
            }
            _ => {}
        }
        Ok(())
    }
}

struct Ran {
    ending: Result<Ending, EngineError>,
    requests: Vec<Value>,
    warnings: Vec<String>,
}

impl Ran {
    /// For each request the seals that it shows.
    fn seals(&self) -> Vec<String> {
        let shown = |request: &Value| {
            let request = request.to_string();
            let numbers = (1..9).filter(|number| request.contains(&format!("seal-{number}")));
            numbers.map(|number| number.to_string()).collect::<Vec<_>>().join(",")
        };
        self.requests.iter().map(shown).collect()
    }
}

/// One turn of the user; the models are asked in their order.
async fn turn(
    conversation: &mut Conversation,
    models: &[&str],
    stored: bool,
    replies: Vec<WireReply>,
) -> Ran {
    let (count, script) = (replies.len(), ScriptedWire::following(replies));
    let route = |model: &&str| {
        let mut endpoint = row("openai-responses").unwrap().endpoint(None);
        endpoint.quirks.stored = stored;
        let (processor, facts) = (processor(Dialect::OpenAiResponses), Facts::default());
        let controls = Controls::default();
        Route { endpoint, processor, model: (*model).to_owned(), controls, facts, wire: &script }
    };
    let (roster, _) = Roster::connect(Vec::new(), Vec::new(), Arc::new(NoArtefacts)).await;
    let engine = Engine {
        route: route(&models[0]),
        fallbacks: models[1..].iter().map(route).collect(),
        roster: &roster,
        blobs: &NoBlobs,
        note: Some("a note".to_owned()),
        answer: None,
        timeouts: Timeouts::default(),
        retry: RetryPolicy { retries: 0, ..RetryPolicy::default() },
        compaction: CompactionPolicy::default(),
        can_take_back: false,
        deadline: None,
    };
    let warnings = Warnings::default();
    let ports =
        Ports { approver: &Nobody, sinks: &[&warnings], jitter: &|| 0.0, runner: None, steering: None };
    conversation.say(Canister::User(User::text("go"))).unwrap();
    let ending = converse(conversation, &engine, ports, &CancellationToken::new()).await;
    drop(engine);
    let requests = script.requests();
    assert_eq!(requests.len(), count, "not all of the script was asked for");
    Ran { ending, requests, warnings: warnings.0.into_inner().unwrap() }
}

async fn begun(stored: bool) -> Conversation {
    let mut conversation = Conversation::resume(Transcript::new(), Limits::default());
    let ran = turn(&mut conversation, &["m"], stored, vec![says(1)]).await;
    assert!(ran.ending.is_ok());
    conversation
}

#[tokio::test]
async fn the_call_is_made_once_more_without_the_seals_and_they_stay_away() {
    let mut conversation = begun(false).await;
    let script = vec![refuses(SEAL), calls(2), calls(3), says(4)];
    let ran = turn(&mut conversation, &["m"], false, script).await;
    assert!(matches!(ran.ending, Ok(Ending::Finished { .. })), "{:?}", ran.ending);
    assert_eq!(ran.seals(), ["1", "", "2", "2,3"]);
    assert!(ran.requests[1].to_string().contains("text-1"), "the words stay");
    assert!(ran.requests[1].to_string().contains("a note"));
    let warning =
        "openai-responses/m does not take back its reasoning of earlier turns: no; asking again without it";
    assert_eq!(ran.warnings, [warning]);
    // Nothing is forgotten: another run tries again.
    let ran = turn(&mut conversation, &["m"], false, vec![says(5)]).await;
    assert_eq!(ran.seals(), ["1,2,3,4"]);
}

#[tokio::test]
async fn it_is_made_once_more_only() {
    for (script, seals) in [
        (vec![refuses(SEAL), refuses(SEAL)], vec!["1", ""]),
        (vec![refuses("invalid_value")], vec!["1"]),
        // Each call of a loop has its own second try, since each reply brings a new seal.
        (vec![refuses(SEAL), calls(2), refuses(SEAL), refuses(SEAL)], vec!["1", "", "2", ""]),
    ] {
        let ran = turn(&mut begun(false).await, &["m"], false, script).await;
        assert!(matches!(ran.ending, Err(EngineError::Exchange(_))), "{:?}", ran.ending);
        assert_eq!(ran.seals(), seals);
    }
    // There is none that could be left out: not one at all, or another model's.
    for (mut conversation, model) in
        [(Conversation::resume(Transcript::new(), Limits::default()), "m"), (begun(false).await, "n")]
    {
        let ran = turn(&mut conversation, &[model], false, vec![refuses(SEAL)]).await;
        assert!(matches!(ran.ending, Err(EngineError::Exchange(_))));
        assert!(ran.warnings.is_empty());
    }
}

#[tokio::test]
async fn a_stored_reply_that_is_gone_is_told_anew() {
    let mut conversation = begun(true).await;
    let script = vec![refuses("previous_response_not_found"), calls(2), says(3)];
    let ran = turn(&mut conversation, &["m"], true, script).await;
    let named: Vec<_> = ran.requests.iter().map(|request| request["previous_response_id"].clone()).collect();
    assert_eq!(named, [json!("resp_1"), Value::Null, json!("resp_2")]);
    assert_eq!(ran.requests[1]["input"].as_array().unwrap().len(), 3, "{}", ran.requests[1]);
}

#[tokio::test]
async fn another_model_gets_its_own_seals_all_the_same() {
    let mut conversation = begun(false).await;
    turn(&mut conversation, &["n"], false, vec![says(2)]).await;
    let spent = WireReply::Body(402, json!({ "error": { "message": "spent" } }));
    let ran = turn(&mut conversation, &["m", "n"], false, vec![refuses(SEAL), spent, says(3)]).await;
    assert_eq!(ran.seals(), ["1", "", "2"]);
}

/// It may be refused after it has begun to think: what was shown is taken back first. Words that cannot be taken back
/// end it.
#[tokio::test]
async fn a_refusal_within_a_stream_takes_back_what_was_shown() {
    let events = |delta: &str| {
        let begun = json!({ "type": delta, "output_index": 0, "delta": "Hm" });
        let refused = json!({ "type": "error", "code": SEAL, "message": "no", "param": null });
        WireReply::Events(vec![format!("event: {delta}\ndata: {begun}\n\nevent: error\ndata: {refused}\n\n")])
    };
    let thought = events("response.reasoning_summary_text.delta");
    let ran = turn(&mut begun(false).await, &["m"], false, vec![thought, says(2)]).await;
    assert_eq!(ran.seals(), ["1", ""]);
    assert_eq!(ran.warnings.len(), 2, "{:?}", ran.warnings);
    assert_eq!(ran.warnings[0], "restart 1, taken back: true");
    let ran = turn(&mut begun(false).await, &["m"], false, vec![events("response.output_text.delta")]).await;
    assert!(matches!(ran.ending, Err(EngineError::Exchange(error)) if error.kept));
}
