use rmcp::model::CallToolResult;

use super::*;

fn other() -> Principal {
    Principal::of_digest(&[1; 32])
}

fn began(tasks: &Tasks, id: &str, principal: &Principal, now: Moment) -> Option<CancellationToken> {
    let cancel = CancellationToken::new();
    tasks.begin(id.to_owned(), principal, cancel.clone(), now).map(|()| cancel)
}

fn after(now: Moment, time: Duration) -> Moment {
    Moment { at: now.at + time, stamp: now.stamp }
}

fn text(text: &str) -> Result<CallToolResponse, ErrorData> {
    Ok(CallToolResponse::Complete(CallToolResult::success(vec![rmcp::model::ContentBlock::text(text)])))
}

fn seen(tasks: &Tasks, id: &str, principal: &Principal, now: Moment) -> Value {
    serde_json::to_value(tasks.state(id, principal, now).map(Polled::into_task)).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_task_is_its_principal_s_alone() {
    let (tasks, now) = (Tasks::default(), Moment::now());
    let cancel = began(&tasks, "a", &other(), now).unwrap();
    assert_eq!(seen(&tasks, "a", &other(), now)["status"], "working");
    for (id, principal) in [("a", Principal::Owner), ("a", Principal::of_digest(&[2; 32])), ("b", other())] {
        assert!(tasks.state(id, &principal, now).is_none());
        assert!(tasks.answer(id, &principal, InputResponses::default(), now).is_none());
        assert!(tasks.cancel(id, &principal, now).is_none());
    }
    assert!(!cancel.is_cancelled());
    tasks.cancel("a", &other(), now).unwrap();
    assert!(cancel.is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_task_is_that_of_its_call() {
    let now = Moment::now();
    let refused = Err(ErrorData::new(ErrorCode(-32050), "busy", None));
    let broken = || Ok(CallToolResponse::Complete(CallToolResult::error(vec![])));
    for (answer, cancelled, status) in [
        (text("x"), false, "completed"),
        // It ended before it was stopped.
        (text("x"), true, "completed"),
        (broken(), false, "completed"),
        (broken(), true, "cancelled"),
        (refused.clone(), false, "failed"),
        (refused, true, "cancelled"),
    ] {
        let tasks = Tasks::default();
        let cancel = began(&tasks, "a", &Principal::Owner, now).unwrap();
        if cancelled {
            cancel.cancel();
        }
        tasks.tell("a", "half".to_owned(), now);
        let working = seen(&tasks, "a", &Principal::Owner, now);
        assert_eq!((&working["statusMessage"], &working["ttlMs"]), (&json!("half"), &Value::Null));
        tasks.end("a", &answer, after(now, Duration::from_secs(10)));
        let over = seen(&tasks, "a", &Principal::Owner, now);
        assert_eq!((&over["status"], &over["ttlMs"]), (&json!(status), &json!(310_000)), "{over}");
        match status {
            "completed" => assert!(over["result"]["content"].is_array(), "{over}"),
            "failed" => {
                assert_eq!(over["error"], json!({ "code": -32050, "message": "busy" }));
                assert_eq!(over["statusMessage"], "busy");
            }
            _ => assert!(over.get("result").is_none() && over.get("error").is_none()),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_open_question_is_answered_once_and_by_its_key() {
    let (tasks, now, owner) = (Tasks::default(), Moment::now(), Principal::Owner);
    began(&tasks, "a", &owner, now).unwrap();
    let request = || input_request("roots/list", &Value::Null).unwrap();
    let (one, answer) = tasks.ask("a", request(), now).unwrap();
    let (two, other) = tasks.ask("a", request(), now).unwrap();
    let asks = seen(&tasks, "a", &owner, now);
    assert_eq!(asks["status"], "input_required");
    assert_eq!(
        asks["inputRequests"],
        json!({ &one: { "method": "roots/list" }, &two: { "method": "roots/list" } })
    );
    let answers =
        |key: &str| InputResponses::from([(key.to_owned(), json!(key)), ("x".to_owned(), json!(1))]);
    tasks.answer("a", &owner, answers(&one), now).unwrap();
    assert_eq!(answer.await.unwrap(), json!(one));
    assert_eq!(seen(&tasks, "a", &owner, now)["status"], "input_required");
    tasks.withdraw("a", &two);
    assert_eq!(seen(&tasks, "a", &owner, now)["status"], "working");
    assert!(other.await.is_err());
    tasks.answer("a", &owner, answers(&two), now).unwrap();
    let (three, _) = tasks.ask("a", request(), now).unwrap();
    assert!(three != one && three != two, "a key is not used again");
}

#[tokio::test(start_paused = true)]
async fn tasks_their_results_and_their_time_are_bounded() {
    let (tasks, now, owner) = (Tasks::default(), Moment::now(), Principal::Owner);
    // A running task is kept, a result for five minutes.
    began(&tasks, "runs", &owner, now).unwrap();
    began(&tasks, "ends", &owner, now).unwrap();
    tasks.end("ends", &text("x"), now);
    let late = |seconds| after(now, Duration::from_secs(seconds));
    for (id, seconds, is_kept) in [("ends", 299, true), ("ends", 300, false), ("runs", 9000, true)] {
        assert_eq!(tasks.state(id, &owner, late(seconds)).is_some(), is_kept, "{id} {seconds}");
    }
    // So many for each, and so many for all. Only results that were fetched make room.
    let (tasks, each) = (Tasks::default(), 64);
    for n in 0..each {
        began(&tasks, &n.to_string(), &owner, now).unwrap();
    }
    assert!(began(&tasks, "more", &owner, now).is_none());
    tasks.end("7", &text("x"), now);
    assert!(began(&tasks, "more", &owner, now).is_none(), "its client has not got it");
    tasks.state("7", &owner, now).unwrap();
    assert!(began(&tasks, "more", &owner, now).is_some());
    assert!(tasks.state("7", &owner, now).is_none());
    let many = (0..1024).filter(|n: &u32| {
        let principal = Principal::of_digest(&[u8::try_from(n / 60).unwrap(); 32]);
        began(&tasks, &format!("other {n}"), &principal, now).is_some()
    });
    assert_eq!(many.count(), 1024 - each);
    // Results of so many bytes.
    let (tasks, large) = (Tasks::default(), "x".repeat(12 * 1024 * 1024));
    for (id, status) in [("a", "completed"), ("b", "completed"), ("c", "failed")] {
        began(&tasks, id, &owner, now).unwrap();
        tasks.end(id, &text(&large), now);
        assert_eq!(seen(&tasks, id, &owner, now)["status"], status, "{id}");
    }
    began(&tasks, "d", &other(), now).unwrap();
    tasks.end("d", &text(&large), now);
    assert_eq!(seen(&tasks, "d", &other(), now)["status"], "completed", "another one has room of its own");
}

#[tokio::test(start_paused = true)]
async fn a_result_is_parsed_by_its_poll_and_known_when_it_is_fetched_again() {
    let (tasks, now, owner) = (Tasks::default(), Moment::now(), Principal::Owner);
    began(&tasks, "a", &owner, now).unwrap();
    assert!(!tasks.state("a", &owner, now).unwrap().is_repeated);
    tasks.end("a", &text("x"), now);
    let [first, second] = [(); 2].map(|()| tasks.state("a", &owner, now).unwrap());
    let (Payload::Result(text), Payload::Result(again)) = (&first.payload, &second.payload) else {
        panic!("it is parsed while the tasks are locked: {first:?}");
    };
    assert!(Arc::ptr_eq(text, again));
    assert_eq!((first.is_repeated, second.is_repeated), (false, true));
    let over = serde_json::to_value(second.into_task()).unwrap();
    assert_eq!(over["result"]["content"][0]["text"], "x");
}
