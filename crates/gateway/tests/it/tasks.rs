//! Calls that become tasks, and clients that follow them or cannot.

use std::time::Duration;

use converse_config::BudgetPlan;
use serde_json::{Value, json};

use crate::stage::{Client, Set, Stage, modern};

async fn stage() -> Stage {
    Set { of_two: vec!["works".to_owned(), "other".to_owned()], ..Set::default() }.up().await
}

/// What a client says of itself that follows tasks and fills in forms.
fn follower() -> Value {
    let mut meta = modern();
    meta["io.modelcontextprotocol/clientCapabilities"] =
        json!({ "extensions": { "io.modelcontextprotocol/tasks": {} }, "elicitation": {} });
    meta
}

fn works(how: &str, meta: Value) -> Value {
    json!({ "name": "two__works", "arguments": { "text": how }, "_meta": meta })
}

async fn asked(client: &mut Client, id: u64, method: &str, mut params: Value) -> Value {
    params["_meta"] = follower();
    client.request(id, method, params).await;
    client.answer(id).await
}

/// Begins a task and returns its id.
async fn begun(client: &mut Client, id: u64, how: &str) -> Value {
    client.request(id, "tools/call", works(how, follower())).await;
    let begun = client.answer(id).await;
    assert_eq!(
        (&begun["result"]["resultType"], &begun["result"]["status"]),
        (&json!("task"), &json!("working"))
    );
    let task = begun["result"]["taskId"].clone();
    assert!(task.as_str().unwrap().len() == 32, "{begun}");
    assert!(begun["result"]["createdAt"].as_str().unwrap().ends_with('Z'), "{begun}");
    task
}

/// Polls until the task has this status.
async fn until(client: &mut Client, task: &Value, status: &str) -> Value {
    loop {
        let polled = asked(client, 900, "tasks/get", json!({ "taskId": task })).await["result"].take();
        assert_eq!((&polled["resultType"], &polled["taskId"]), (&json!("complete"), task), "{polled}");
        if polled["status"] == status {
            return polled;
        }
        assert!(["working", "input_required"].contains(&polled["status"].as_str().unwrap()), "{polled}");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_task_is_offered_to_clients_of_the_newer_era() {
    let stage = stage().await;
    let mut client = stage.client();
    client.request(1, "server/discover", json!({ "_meta": modern() })).await;
    let found = client.answer(1).await;
    let extensions = json!({ "io.modelcontextprotocol/tasks": {} });
    assert_eq!(found["result"]["capabilities"]["extensions"], extensions);
    let begun = stage.client().initialize().await;
    assert_eq!(begun["result"]["capabilities"].get("extensions"), None);
}

#[tokio::test]
async fn a_client_that_follows_tasks_polls_the_result_of_its_call() {
    let stage = stage().await;
    let mut client = stage.client();
    let task = begun(&mut client, 1, "").await;
    let over = until(&mut client, &task, "completed").await;
    assert_eq!(over["result"]["content"], json!([{ "type": "text", "text": "worked" }]));
    assert_eq!(over["statusMessage"], "half");
    assert_eq!(until(&mut client, &task, "completed").await, over, "it can be fetched again");
    let failing = begun(&mut client, 2, "fail").await;
    assert_eq!(until(&mut client, &failing, "completed").await["result"]["isError"], true);
    assert_ne!(task, failing);
    // Another call is answered as before.
    client.call(3, "two__other", json!({ "text": "x" })).await;
    let mut params = works("", follower());
    params["name"] = json!("two__other");
    client.request(4, "tools/call", params).await;
    assert_eq!(client.answer(4).await["result"]["resultType"], "complete");
    let ended = stage.heard.all().iter().filter(|line| line.starts_with("finished")).count();
    assert_eq!(ended, 3, "a task is one call: {:?}", stage.heard.all());
}

#[tokio::test]
async fn a_result_that_is_fetched_again_counts_as_a_call_of_the_minute_only() {
    let budget = BudgetPlan { calls_per_minute: Some(3), ..BudgetPlan::default() };
    let stage = Set { of_two: vec!["works".to_owned()], budget, ..Set::default() }.up().await;
    let mut client = stage.client();
    let task = begun(&mut client, 1, "").await;
    until(&mut client, &task, "completed").await;
    for _ in 0..2 {
        until(&mut client, &task, "completed").await;
    }
    let refused = asked(&mut client, 2, "tasks/get", json!({ "taskId": task })).await;
    assert_eq!(refused["error"]["code"], -32051, "{refused}");
    let budget = BudgetPlan { bytes_per_day: Some(1), ..BudgetPlan::default() };
    let stage = Set { of_two: vec!["works".to_owned()], budget, ..Set::default() }.up().await;
    let mut client = stage.client();
    let task = begun(&mut client, 1, "").await;
    let over = until(&mut client, &task, "completed").await;
    client.request(3, "tools/call", works("", follower())).await;
    while client.answer(3).await["error"]["code"] != -32051 {
        client.request(3, "tools/call", works("", follower())).await;
    }
    assert_eq!(until(&mut client, &task, "completed").await, over, "it is paid for");
}

#[tokio::test]
async fn a_question_ends_when_the_gateway_drains() {
    let stage = stage().await;
    let mut client = stage.client_with(Duration::from_secs(3600));
    let task = begun(&mut client, 1, "ask").await;
    until(&mut client, &task, "input_required").await;
    stage.gateway.stop_asking();
    let over = until(&mut client, &task, "completed").await;
    let said = over["result"]["content"][0]["text"].as_str().unwrap();
    assert_eq!(said, "the client did not answer: the gateway is shutting down");
    // Nor does a client that gets requests while its call runs hold the gateway.
    let stage = Set { of_two: vec!["asks".to_owned()], ..Set::default() }.up().await;
    let mut old = stage.client_with(Duration::from_secs(3600));
    old.initialize_with(json!({ "elicitation": {} })).await;
    old.call(1, "two__asks", json!({})).await;
    old.until(|message| message["method"] == "elicitation/create").await;
    old.stop.cancel();
    let answers = old.ended().await;
    let said = answers["1"]["result"]["content"][0]["text"].as_str().unwrap();
    assert!(said.ends_with("the gateway is shutting down"), "{answers:?}");
}

#[tokio::test]
async fn a_client_that_does_not_follow_tasks_waits_for_the_result() {
    let stage = stage().await;
    let mut old = stage.client();
    old.initialize_with(json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } })).await;
    old.call(1, "two__works", json!({})).await;
    assert_eq!(old.answer(1).await["result"]["content"][0]["text"], "worked");
    let mut new = stage.client();
    new.request(1, "tools/call", works("", modern())).await;
    assert_eq!(new.answer(1).await["result"]["content"][0]["text"], "worked");
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let params = json!({ "taskId": "x", "inputResponses": {}, "_meta": modern() });
        new.request(2, method, params).await;
        let refused = new.answer(2).await;
        assert_eq!(refused["error"]["code"], -32021, "{refused}");
    }
}

#[tokio::test]
async fn a_question_of_a_task_is_answered_by_its_client() {
    let stage = stage().await;
    let mut client = stage.client();
    let task = begun(&mut client, 1, "ask").await;
    let asks = until(&mut client, &task, "input_required").await;
    let questions = asks["inputRequests"].as_object().unwrap();
    let (key, question) = questions.iter().next().unwrap();
    assert_eq!((&question["method"], questions.len()), (&json!("elicitation/create"), 1));
    let answer = json!({ "action": "accept", "content": { "name": "Ada" } });
    let update = json!({ "taskId": task, "inputResponses": { key: answer, "other": {} } });
    assert_eq!(asked(&mut client, 2, "tasks/update", update).await["result"]["resultType"], "complete");
    let over = until(&mut client, &task, "completed").await;
    assert_eq!(over["result"]["content"][0]["text"], answer.to_string());
    // A client that declares no forms is not asked.
    let mut meta = follower();
    meta["io.modelcontextprotocol/clientCapabilities"]["elicitation"].take();
    client.request(3, "tools/call", works("ask", meta)).await;
    let task = client.answer(3).await["result"]["taskId"].clone();
    let over = until(&mut client, &task, "completed").await;
    assert_eq!(over["result"]["content"][0]["text"], "it cannot ask");
}

#[tokio::test]
async fn a_task_that_is_cancelled_cancels_its_call() {
    let stage = stage().await;
    let mut client = stage.client();
    let task = begun(&mut client, 1, "wait").await;
    assert_eq!(
        asked(&mut client, 2, "tasks/get", json!({ "taskId": task })).await["result"]["status"],
        "working"
    );
    // The request is answered, so it cannot be cancelled.
    let cancelled = json!({ "requestId": 1 });
    client.say(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled })).await;
    assert_eq!(
        asked(&mut client, 3, "tasks/get", json!({ "taskId": task })).await["result"]["status"],
        "working"
    );
    assert_eq!(
        asked(&mut client, 4, "tasks/cancel", json!({ "taskId": task })).await["result"],
        json!({ "resultType": "complete" })
    );
    until(&mut client, &task, "cancelled").await;
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let params = json!({ "taskId": "0".repeat(32), "inputResponses": {} });
        assert_eq!(asked(&mut client, 5, method, params).await["error"]["code"], -32602, "{method}");
    }
    assert!(
        stage.heard.all().iter().any(|line| line.starts_with("finished cancelled")),
        "{:?}",
        stage.heard.all()
    );
}

#[tokio::test]
async fn a_task_ends_with_the_client_that_could_poll_it() {
    let stage = stage().await;
    let mut client = stage.client();
    begun(&mut client, 1, "wait").await;
    client.hang_up();
    client.ended().await;
    assert_eq!(stage.gateway.running(), 0);
    let heard = stage.heard.all();
    assert!(heard.last().unwrap().starts_with("finished"), "{heard:?}");
}
