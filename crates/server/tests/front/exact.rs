//! Arguments are read as strictly as those of a model, over lines and over HTTP, and what is no message is answered.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use converse_gateway::Counters;
use converse_server::{Access, Handlers, Hosts, HttpListener, HttpOptions, Limits, listen};
use converse_testkit::hang_guard::ends;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use crate::tools::{Set, Stage};

/// Of `one__echo`: its arguments as they are written, and what is said of them.
fn inexact() -> [(String, &'static str); 7] {
    let deep = |depth| format!(r#"{{"text":{}{}}}"#, "[".repeat(depth), "]".repeat(depth));
    [
        (r#"{"text":"a","text":"b"}"#.to_owned(), "`text` is given twice"),
        (r#"{"x":{"a":1,"\u0061":1}}"#.to_owned(), "`a` is given twice"),
        (r#"{"x":12345678901234567890123}"#.to_owned(), "cannot be held exactly"),
        (r#"{"x":1e400}"#.to_owned(), "number out of range"),
        (deep(100_000), "recursion limit"),
        (deep(125), "more than 64 levels of nesting"),
        (format!(r#"{{"text":"{}"}}"#, "y".repeat(2 * 1024 * 1024)), "at most 1048576 are read"),
    ]
}

fn call(id: usize, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"one__echo","arguments":{arguments}}}}}"#
    )
}

fn judge(answer: &Value, id: usize, words: &str) {
    assert_eq!(answer["id"], id);
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let said = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(said.contains(words), "{said:.300}");
}

#[tokio::test]
async fn arguments_that_can_be_read_in_two_ways_do_not_run_over_lines() {
    let stage = Set::default().up().await;
    let mut client = stage.client();
    client.initialize().await;
    for (id, (arguments, words)) in (1..).zip(inexact()) {
        client.bytes(format!("{}\n", call(id, &arguments))).await;
        judge(&client.answer(id).await, id, words);
    }
    assert_eq!(stage.started.load(Ordering::SeqCst), 0);
    client.bytes(format!("{}\n", call(99, r#"{"text":"as it is"}"#))).await;
    assert_eq!(client.answer(99).await["result"]["content"][0]["text"], "as it is");
}

/// Posts bodies to a gateway, each on a connection of its own.
struct Poster(std::net::SocketAddr);

impl Poster {
    fn new(stage: &Stage) -> Self {
        let bound = HttpListener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = bound.address();
        let hosts = Hosts::new(address, &[], &[]).unwrap();
        let (access, limits) = (Access::open(), Limits::default());
        let front = HttpOptions {
            access,
            hosts,
            front: None,
            metrics: None,
            sessions: None,
            drain: Duration::from_secs(20),
            limits,
        };
        let gateway = stage.gateway.clone();
        let (counters, stop) = (Arc::new(Counters::default()), CancellationToken::new());
        tokio::spawn(listen(bound, Handlers::new(move || gateway.for_client()), front, counters, stop));
        Self(address)
    }

    async fn post(&self, body: impl AsRef<[u8]>) -> (u16, Value) {
        let body = body.as_ref();
        let mut stream = TcpStream::connect(self.0).await.unwrap();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(body).await.unwrap();
        let mut answer = String::new();
        ends("waiting for an answer", stream.read_to_string(&mut answer)).await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let value = serde_json::from_str(body).unwrap_or_else(|_| panic!("{answer}"));
        (head.split(' ').nth(1).unwrap().parse().unwrap(), value)
    }
}

#[tokio::test]
async fn arguments_that_can_be_read_in_two_ways_do_not_run_over_http() {
    let stage = Set::default().up().await;
    let poster = Poster::new(&stage);
    for (id, (arguments, words)) in (1..).zip(inexact()) {
        let (status, answer) = poster.post(call(id, &arguments)).await;
        assert_eq!(status, 200, "{answer}");
        judge(&answer, id, words);
    }
    assert_eq!(stage.started.load(Ordering::SeqCst), 0);
    let (_, answer) = poster.post(format!("\n{} ", call(99, r#"{"text":"as it is"}"#))).await;
    assert_eq!(answer["result"]["content"][0]["text"], "as it is");
}

#[tokio::test]
async fn a_body_that_is_no_message_is_answered_in_the_words_of_the_protocol() {
    let stage = Set::default().up().await;
    let poster = Poster::new(&stage);
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"ping","params":{{"_meta":{{"a":{}{}}}}}}}"#,
        "[".repeat(500),
        "]".repeat(500)
    );
    let ping = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
    let bodies: [(&[u8], i64, Value); 8] = [
        (b"", -32700, Value::Null),
        (b"hello", -32700, Value::Null),
        (b"\xff\xfe", -32700, Value::Null),
        (b"{\"id\":7}", -32600, json!(7)),
        (deep.as_bytes(), -32600, json!(7)),
        (&format!("[{ping}]").into_bytes(), -32600, Value::Null),
        (
            br#"{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"a","name":"b"}}"#,
            -32602,
            json!("x"),
        ),
        (
            br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":{"a":1e400}}}"#,
            -32600,
            json!(7),
        ),
    ];
    for (body, code, id) in bodies {
        let (status, answer) = poster.post(body).await;
        assert_eq!((status, &answer["error"]["code"]), (400, &json!(code)), "{answer}");
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &id), "{answer}");
    }
    assert_eq!(poster.post(ping).await.0, 200);
}

#[tokio::test]
async fn what_will_not_run_waits_for_nobody_and_what_waits_is_bounded() {
    let stage = Set { max_calls: 1, ..Set::default() }.up().await;
    let mut client = stage.client();
    client.initialize().await;
    client.call(1, "one__waits", json!({})).await;
    stage.started(1).await;
    client.call(2, "one__echo", json!({ "text": "y".repeat(4 * 1024 * 1024) })).await;
    judge(&client.answer(2).await, 2, "at most 1048576 are read");
    let much = json!({ "text": "y".repeat(1000 * 1024) });
    for id in 3..=69 {
        client.call(id, "one__echo", much.clone()).await;
    }
    let refused = client.until(|message| message["error"]["code"] == -32050).await;
    assert!(refused["error"]["message"].as_str().unwrap().contains("nothing was run"), "{refused}");
    client.call(70, "one__echo", json!({})).await;
    client
        .say(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } }))
        .await;
    assert_eq!(client.answer(70).await["result"]["content"][0]["text"], "nothing");
}
