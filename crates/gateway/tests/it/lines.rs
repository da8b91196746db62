//! Standard input and output: what is no message, too long or too much, and how it ends.

use std::time::Duration;

use serde_json::json;

use crate::stage::{Set, modern};

#[tokio::test]
async fn what_cannot_be_read_is_answered_and_harms_nothing() {
    let stage = Set::default().up().await;
    let mut client = stage.client();
    client.say(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
    client
        .say(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 7 } }))
        .await;
    for (line, code) in [
        ("hello?\n".to_owned().into_bytes(), -32700),
        (b"\xff\xfe\n".to_vec(), -32700),
        (b"[1,2\n".to_vec(), -32700),
        (b"{\"id\":1}\n".to_vec(), -32600),
        (b"42\n".to_vec(), -32600),
        ([vec![b'x'; 17 * 1024 * 1024], b"\n".to_vec()].concat(), -32600),
        (format!("[{}]\n", vec!["1"; 1001].join(",")).into_bytes(), -32600),
    ] {
        let shown = String::from_utf8_lossy(&line[..line.len().min(20)]).into_owned();
        client.bytes(line).await;
        let answer = client.next().await;
        assert_eq!(answer["error"]["code"], code, "{shown}: {answer}");
    }
    client.initialize().await;
    client.bytes("again\n").await;
    client.until(|message| message["error"]["code"] == -32700).await;
    client.request(1, "tools/call", json!({ "name": 5 })).await;
    assert_eq!(client.answer(1).await["error"]["code"], -32602);
    client.request("two", "no/such/method", json!({})).await;
    assert_eq!(client.answer("two").await["error"]["code"], -32601);
    client.request(3, "tools/list", json!({ "cursor": "made up" })).await;
    assert_eq!(client.answer(3).await["error"]["code"], -32602);
    let batch = json!([
        { "jsonrpc": "2.0", "id": 4, "method": "ping" },
        { "jsonrpc": "2.0", "id": 5, "method": "ping" },
    ]);
    client.say(batch).await;
    for id in [4, 5] {
        assert_eq!(client.answer(id).await["result"], json!({}));
    }
}

#[tokio::test]
async fn what_was_asked_before_the_end_of_the_input_is_answered_after_it() {
    let stage = Set::default().up().await;
    let mut client = stage.client();
    client.initialize().await;
    for id in 1..=50 {
        client.call(id, "one__echo", json!({ "text": id.to_string() })).await;
    }
    // The last one even without the end of its line.
    let last = json!({ "jsonrpc": "2.0", "id": 51, "method": "ping" });
    client.bytes(last.to_string()).await;
    client.hang_up();
    let answers = client.ended().await;
    for id in 1..=50 {
        assert_eq!(answers[&id.to_string()]["result"]["content"][0]["text"], id.to_string());
    }
    assert_eq!(answers["51"]["result"], json!({}));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_does_not_end_is_cut_when_its_time_is_over() {
    for (how, from, upto) in [("input", 10, 11), ("told", 10, 11), ("both", 0, 1), ("deaf", 0, 4)] {
        let stage = Set::default().up().await;
        let mut client = stage.client_with(Duration::from_secs(10));
        client.initialize().await;
        client.call(1, "one__waits", json!({})).await;
        stage.started(1).await;
        let began = tokio::time::Instant::now();
        match how {
            "input" => client.hang_up(),
            "told" => client.stop.cancel(),
            "both" => {
                client.hang_up();
                client.stop.cancel();
            }
            _ => client.lines.close(),
        }
        let answers = client.ended().await;
        let took = began.elapsed().as_secs();
        assert!((from..=upto).contains(&took), "{how}: {took} s");
        if how != "deaf" {
            let said = &answers["1"]["result"];
            assert_eq!(said["isError"], true, "{how}: {answers:?}");
            assert!(said["content"][0]["text"].as_str().unwrap().contains("cancelled"), "{said}");
        }
        assert_eq!(stage.heard.all().last().unwrap(), "finished cancelled for tester 9", "{how}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_asks_for_nothing_ends_at_once_and_one_that_listens_as_well() {
    let stage = Set::default().up().await;
    let mut client = stage.client();
    client.hang_up();
    assert!(client.ended().await.is_empty());

    let stage = Set::default().up().await;
    let mut client = stage.client();
    let params = json!({ "_meta": modern(), "notifications": { "toolsListChanged": true } });
    client.request(1, "subscriptions/listen", params).await;
    client.until(|message| message["method"] == "notifications/subscriptions/acknowledged").await;
    let began = tokio::time::Instant::now();
    client.hang_up();
    let answers = client.ended().await;
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert!(answers["1"]["result"].is_object(), "{answers:?}");
}

#[tokio::test]
async fn a_client_that_reads_no_answers_is_not_read_either() {
    let stage = Set::default().up().await;
    let mut client = stage.client();
    client.initialize().await;
    let flood = async {
        for id in 1..=100_000 {
            client.request(id, "ping", json!({})).await;
        }
    };
    let stuck = tokio::time::timeout(Duration::from_secs(2), flood).await.is_err();
    assert!(stuck, "all of it was read, and none of its answers");
}
