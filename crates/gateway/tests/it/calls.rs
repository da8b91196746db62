//! What a call is answered with.

use std::time::Duration;

use converse_config::{Permission, Rule};
use converse_testkit::hang_guard::ends;
use serde_json::{Value, json};

use crate::stage::{Set, allow, modern};

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn each_kind_of_result_is_what_the_protocol_has_for_it() {
    let stage = Set::default().up().await;
    let mut client = stage.client();
    client.initialize().await;
    let png = json!({ "type": "image", "data": "cG5n", "mimeType": "image/png" });
    let lost = json!({ "type": "text", "text": "[image/png: the content is not available]" });
    let link = json!({ "type": "resource_link", "uri": "file:///x", "name": "x" });
    let said = |text: &str| json!({ "type": "text", "text": text });
    for (id, (tool, result)) in (1..).zip([
        ("echo", json!({ "content": [said("hello")], "isError": false })),
        (
            "structured",
            json!({ "content": [said(r#"{"n":1}"#)], "structuredContent": { "n": 1 }, "isError": false }),
        ),
        ("list", json!({ "content": [said("[1]")], "isError": false })),
        ("picture", json!({ "content": [png, lost, link], "isError": false })),
        ("fails", json!({ "content": [said("it did not work")], "isError": true })),
        ("verbatim", json!({ "content": [said("as it came")] })),
        ("odd", json!({ "content": [said("in words")], "isError": false })),
    ]) {
        client.call(id, &format!("one__{tool}"), json!({ "text": "hello" })).await;
        assert_eq!(client.answer(id).await["result"], result, "{tool}");
    }
    client.call(99, "one__long", json!({})).await;
    let long = client.answer(99).await;
    let pieces = long["result"]["content"].as_array().unwrap();
    assert_eq!((pieces.len(), text(&long).len()), (2, 64 * 1024));
    assert_eq!(pieces[1]["text"], "[truncated: kept 65536 of 100000 bytes]");
}

#[tokio::test]
async fn what_may_not_run_is_answered_in_words_and_written_down() {
    let rules = vec![allow("two.*"), Rule::new("one.fails", Permission::Deny, "test").unwrap()];
    let stage = Set { rules, ..Set::default() }.up().await;
    let mut client = stage.client();
    client.initialize().await;
    for (id, (tool, arguments, code, words)) in (1..).zip([
        ("nobody", json!({}), Some(-32602), "unknown tool: nobody"),
        ("one.echo", json!({}), Some(-32602), "unknown tool: one.echo"),
        ("two__other", json!({ "text": 5 }), None, "/text"),
        ("one__fails", json!({}), None, "not allowed by the rule"),
        ("one__echo", json!({}), None, "`--allow 'one.echo'` gives it"),
        ("two__other", json!({ "text": "y".repeat(1024 * 1024) }), None, "at most 1048576 are read"),
    ]) {
        client.call(id, tool, arguments).await;
        let answer = client.answer(id).await;
        assert_eq!(answer["error"]["code"].as_i64(), code, "{answer}");
        let said = answer["error"]["message"].as_str().unwrap_or(text(&answer));
        assert!(said.contains(words), "{said}");
        assert_eq!(answer["result"]["isError"] == json!(true), code.is_none(), "{answer}");
    }
    assert_eq!(
        stage.heard.all(),
        [
            "asked inv_1_0 nobody for tester 9",
            "unrun no_such_tool for tester 9",
            "asked inv_2_0 one.echo for tester 9",
            "unrun no_such_tool for tester 9",
            "asked inv_3_0 two__other for tester 9",
            "unrun invalid for tester 9",
            "asked inv_4_0 one__fails for tester 9",
            "decided false for tester 9",
            "unrun refused for tester 9",
            "asked inv_5_0 one__echo for tester 9",
            "decided false for tester 9",
            "unrun refused for tester 9",
            "asked inv_6_0 two__other for tester 9",
            "unrun invalid for tester 9",
        ]
    );
    assert_eq!(stage.started.load(std::sync::atomic::Ordering::SeqCst), 0);
}

#[tokio::test]
async fn nothing_runs_that_cannot_be_written_down() {
    let stage = Set::default().up().await;
    let mut client = stage.client();
    client.initialize().await;
    stage.heard.fill_the_disk();
    for (id, tool) in [(1, "one__echo"), (2, "nobody")] {
        client.call(id, tool, json!({})).await;
        let answer = client.answer(id).await;
        assert_eq!(answer["error"]["code"], -32603);
        assert!(answer["error"]["message"].as_str().unwrap().contains("the disk is full"), "{answer}");
    }
    assert_eq!(stage.started.load(std::sync::atomic::Ordering::SeqCst), 0);
}

#[tokio::test]
async fn calls_run_side_by_side_up_to_their_number_and_can_be_taken_back() {
    let stage = Set { max_calls: 2, ..Set::default() }.up().await;
    let mut client = stage.client();
    client.initialize().await;
    for id in 1..=3 {
        client.call(id, "one__waits", json!({})).await;
    }
    stage.started(2).await;
    // The third one waits for a place; what needs none is answered.
    client.request(4, "ping", json!({})).await;
    client.answer(4).await;
    assert_eq!(stage.gateway.running(), 3);
    assert_eq!(stage.started.load(std::sync::atomic::Ordering::SeqCst), 2);
    let cancel = |id: u64| json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
    client.say(cancel(1)).await;
    stage.started(3).await;
    client.say(cancel(2)).await;
    client.say(cancel(3)).await;
    ends("waiting for idleness", stage.gateway.idle()).await;
    let finished = stage.heard.all().iter().filter(|line| line.starts_with("finished cancelled")).count();
    assert_eq!(finished, 3);
    client.hang_up();
    let late = client.ended().await;
    assert!(late.is_empty(), "what was taken back is not answered: {late:?}");
}

#[tokio::test]
async fn words_on_the_way_reach_who_asked_for_them_before_the_answer() {
    for (era, token, level, progress, logs) in [
        ("old", true, None, 3, 1),
        ("old", false, None, 0, 1),
        ("old", true, Some("error"), 3, 0),
        ("new", true, None, 3, 0),
        ("new", false, Some("info"), 0, 1),
        ("new", false, Some("error"), 0, 0),
    ] {
        let stage = Set::default().up().await;
        let mut client = stage.client();
        let mut meta = json!({});
        if era == "old" {
            client.initialize().await;
            if let Some(level) = level {
                client.request(1, "logging/setLevel", json!({ "level": level })).await;
                client.answer(1).await;
            }
        } else {
            meta = modern();
            if let Some(level) = level {
                meta["io.modelcontextprotocol/logLevel"] = json!(level);
            }
        }
        if token {
            meta["progressToken"] = json!("t");
        }
        let params = json!({ "name": "one__progress", "arguments": {}, "_meta": meta });
        client.request(2, "tools/call", params).await;
        assert_eq!(text(&client.answer(2).await), "done");
        let told = client.told("notifications/progress");
        let steps: Vec<_> = told.iter().map(|word| word["params"]["message"].as_str().unwrap()).collect();
        assert_eq!(steps, ["step 1", "step 2", "step 3"][..progress], "{era} {token} {level:?}");
        assert!(told.iter().all(|word| word["params"]["progressToken"] == "t"));
        let told = client.told("notifications/message");
        assert_eq!(told.len(), logs, "{era} {token} {level:?}");
        assert!(told.iter().all(|word| word["params"]["logger"] == "one.progress"));
    }
}

/// A client that only calls never asks what there is.
#[tokio::test]
async fn a_tool_that_has_changed_is_begun_once_and_then_known() {
    let stage = Set { of_two: vec!["held".to_owned()], ..Set::default() }.up().await;
    *stage.next.lock().unwrap() = Some(vec!["held".to_owned()]);
    let mut client = stage.client();
    for id in 1..=2 {
        client
            .request(id, "tools/call", json!({ "name": "two__held", "arguments": {}, "_meta": modern() }))
            .await;
        let said = client.answer(id).await["error"]["message"].as_str().unwrap_or_default().to_owned();
        assert!(said.contains("it is not what it was") && said.contains("lock --accept"), "{said}");
        assert!(!said.contains("restart"), "{said}");
    }
    let begun = stage.heard.all().iter().filter(|line| line.starts_with("started")).count();
    assert_eq!(begun, 1, "{:?}", stage.heard.all());
}

#[tokio::test]
async fn no_progress_is_thinned_and_an_unread_flood_keeps_the_newest() {
    // The last of the messages that wait is a log message.
    for (sent, first, told) in [("200", 1.0, 200), ("5000", 3978.0, 1023)] {
        let stage = Set::default().up().await;
        let mut client = stage.client();
        client.initialize().await;
        let params = json!({ "name": "one__progress", "arguments": { "text": sent }, "_meta": { "progressToken": "t" } });
        client.request(1, "tools/call", params).await;
        client.answer(1).await;
        let steps: Vec<f64> = client
            .told("notifications/progress")
            .iter()
            .map(|step| step["params"]["progress"].as_f64().unwrap())
            .collect();
        assert_eq!((steps.len(), steps.first().copied()), (told, Some(first)), "{sent}");
        assert_eq!(steps.last().copied(), sent.parse().ok(), "{sent}");
        assert!(steps.is_sorted());
    }
}

/// A client that reads slowly gets what was said before its answer; one that stops reading gets its answer in time.
#[tokio::test(start_paused = true)]
async fn what_a_slow_client_is_told_comes_before_its_answer() {
    for (pause, told) in
        [(Duration::ZERO, 1024), (Duration::from_millis(5), 1024), (Duration::from_secs(2), 17)]
    {
        let stage = Set::default().up().await;
        let mut client = stage.client();
        client.initialize().await;
        let params = json!({ "name": "one__progress", "arguments": { "text": "5000" }, "_meta": { "progressToken": "t" } });
        client.request(1, "tools/call", params).await;
        let mut before = 0;
        loop {
            tokio::time::sleep(pause).await;
            let line = client.lines.recv().await.unwrap();
            if serde_json::from_slice::<Value>(&line).unwrap()["id"] == json!(1) {
                break;
            }
            before += 1;
        }
        assert_eq!(before, told, "{pause:?}");
    }
}
