//! Both eras, without a session.

use converse_testkit::hang_guard::ends;
use serde_json::{Value, json};

use crate::stage::{Request, Set, Stage};

#[tokio::test]
async fn both_eras_are_answered_and_nothing_is_kept_between_requests() {
    let stage = Stage::new(Set::default());
    let answer = stage.ask(&Request::call("echo")).await;
    assert_eq!(answer.said(), "at 127.0.0.1, token seen: false");
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}});
    let answer = stage.ask(&Request::post(&hello)).await;
    let result: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(result["result"]["protocolVersion"], "2025-11-25");
    assert_eq!(answer.header("mcp-session-id"), None);
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(stage.ask(&Request::post(&ready)).await.status, 202);
    // Another connection, and no `initialize` on it: any replica would do.
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "echo"}});
    let call = Request::post(&call).with("mcp-protocol-version", "2025-11-25");
    assert_eq!(stage.ask(&call).await.said(), "at 127.0.0.1, token seen: false");
}

#[tokio::test]
async fn there_is_no_stream_beside_the_answers() {
    let stage = Stage::new(Set::default());
    for method in ["GET", "DELETE", "PUT"] {
        let answer =
            stage.ask(&Request::get("/mcp").with("accept", "text/event-stream").method(method)).await;
        assert_eq!((answer.status, answer.header("allow")), (405, Some("POST")), "{method}");
    }
}

#[tokio::test]
async fn progress_makes_a_stream_of_an_answer() {
    let stage = Stage::new(Set::default());
    let quiet = stage.ask(&Request::call("progress")).await;
    assert_eq!(quiet.header("content-type"), Some("application/json"));
    let told = stage.ask(&Request::call_with("progress", json!({"progressToken": "p"}))).await;
    assert_eq!(told.header("content-type"), Some("text/event-stream"));
    let (progress, result) = (told.body.find("notifications/progress"), told.body.find("\"done\""));
    assert!(progress.is_some() && progress < result, "{}", told.body);
}

#[tokio::test]
async fn whoever_hangs_up_cancels() {
    let stage = Stage::new(Set::default());
    let mut client = stage.connect().await;
    client.send(&Request::call("wait").bytes()).await;
    stage.tools.0.began.notified().await;
    drop(client);
    ends("the call that goes on for nobody", stage.tools.0.dropped.notified()).await;
}
