//! `--cancel-on-disconnect`: a turn ends when its clients have left, also while nothing happens in it.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, channel};

use converse_testkit::hang_guard::{LIMIT, wait_until};
use serde_json::json;

use super::idempotency::{CHAT, RESPONSES, RUNS, Slow, keyed, open, question, sent};
use super::openai::{body, post};
use super::{Gate, TOKEN};
use crate::body::{Dialect, Says, calls, text};
use crate::env::TestEnv;
use crate::http::Answer;
use crate::provider::Provider;

const FLAG: &str = "--cancel-on-disconnect";

/// The requests that begin a turn, and whether their answers are streams.
const REQUESTS: [(&str, bool); 5] =
    [(CHAT, true), (CHAT, false), (RESPONSES, true), (RESPONSES, false), (RUNS, true)];

/// A reply that begins and never ends, and what is told when its connection is closed.
fn silent() -> (Answer, Receiver<()>) {
    let (closed, is_closed) = channel();
    let delta = json!({ "role": "assistant", "content": "Begun. " });
    let chunk = json!({ "id": "1", "object": "chat.completion.chunk", "created": 1, "model": "stub",
        "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] });
    let mut answer = Answer::new(200, "text/event-stream", format!("data: {chunk}\n\n"));
    (answer.piece, answer.stall, answer.closed) = (37, true, Some(closed));
    (answer, is_closed)
}

fn opened(provider: &Provider) -> (TestEnv, Gate) {
    let env = provider.env(TestEnv::new()).var("CONVERSE_SERVE_TOKEN", TOKEN);
    let gate = open(&env, &["-e", "essentials", FLAG]);
    (env, gate)
}

/// Reads a stream until the model has begun.
fn begun(client: &mut TcpStream) -> String {
    let (mut said, mut bytes) = (Vec::new(), [0; 1024]);
    loop {
        let text = String::from_utf8_lossy(&said);
        if text.contains("Begun.") {
            return text.into_owned();
        }
        let count = client.read(&mut bytes).unwrap();
        assert_ne!(count, 0, "the stream has ended: {text}");
        said.extend_from_slice(&bytes[..count]);
    }
}

#[test]
fn a_turn_with_a_silent_model_ends_when_its_client_leaves() {
    let keys = [String::new(), keyed("order-8")];
    let ways = REQUESTS.iter().flat_map(|request| keys.iter().map(move |key| (*request, key)));
    for ((route, stream), key) in ways {
        let (answer, is_closed) = silent();
        let provider = Provider::new(Dialect::Chat, [answer]);
        let (_env, gate) = opened(&provider);
        let mut client = sent(&gate, route, key, &question(route, provider.model(), stream));
        if stream {
            begun(&mut client);
        } else {
            wait_until("the model is asked", || !provider.requests().is_empty());
        }
        drop(client);
        let ended = is_closed.recv_timeout(LIMIT);
        assert!(ended.is_ok(), "{route}, stream: {stream}, {key}: the turn goes on");
    }
}

#[test]
fn a_turn_with_a_silent_tool_ends_when_its_client_leaves() {
    let slow = Slow::new();
    let gate = slow.open(&[FLAG, "--max-turns", "1"]);
    for (route, stream) in REQUESTS {
        let script: [Says; 2] = [calls([("upstream__slow", json!({}))]), text("Next.")];
        slow.provider.plays(script);
        let client = sent(&gate, route, "", &question(route, slow.provider.model(), stream));
        slow.began.recv_timeout(LIMIT).unwrap();
        drop(client);
        // There is room for one turn.
        let next = question(CHAT, slow.provider.model(), false);
        let mut answer = (0, String::new());
        wait_until("the turn has ended", || {
            answer = post(&gate, CHAT, TOKEN, &next);
            answer.0 != 429
        });
        assert!(answer.0 == 200 && answer.1.contains("Next."), "{route}, stream: {stream}: {answer:?}");
    }
}

#[test]
fn a_turn_that_was_begun_without_a_stream_ends_when_the_client_that_follows_it_leaves() {
    let (answer, is_closed) = silent();
    let provider = Provider::new(Dialect::Chat, [answer]);
    let (_env, gate) = opened(&provider);
    let mut client =
        sent(&gate, RUNS, "accept: application/json\r\n", &question(RUNS, provider.model(), false));
    let mut accepted = String::new();
    client.read_to_string(&mut accepted).unwrap();
    let session = body(&accepted)["session"].as_str().unwrap().to_owned();
    wait_until("the model is asked", || !provider.requests().is_empty());
    let mut follower = TcpStream::connect(&gate.address).unwrap();
    let request = format!(
        "GET /api/sessions/{session}/events HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\n\r\n"
    );
    follower.write_all(request.as_bytes()).unwrap();
    begun(&mut follower);
    assert!(is_closed.try_recv().is_err(), "the turn ended before a client followed it");
    drop(follower);
    is_closed.recv_timeout(LIMIT).unwrap();
}

#[test]
fn a_background_response_goes_on_when_its_client_leaves() {
    let ((first, first_closed), (second, second_closed)) = (silent(), silent());
    let provider = Provider::new(Dialect::Chat, [first, second]);
    let (_env, gate) = opened(&provider);
    let mut asked = question(RESPONSES, provider.model(), true);
    asked["background"] = json!(true);
    let mut client = sent(&gate, RESPONSES, "", &asked);
    let said = begun(&mut client);
    let id = said.split('"').find(|word| word.starts_with("resp_")).unwrap();
    drop(client);
    // The server has noticed the first client when it has noticed the second one.
    let mut client = sent(&gate, CHAT, "", &question(CHAT, provider.model(), true));
    begun(&mut client);
    drop(client);
    second_closed.recv_timeout(LIMIT).unwrap();
    let (status, cancelled) = post(&gate, &format!("{RESPONSES}/{id}/cancel"), TOKEN, &json!({}));
    assert_eq!((status, body(&cancelled)["status"].as_str()), (200, Some("cancelled")), "{cancelled}");
    first_closed.recv_timeout(LIMIT).unwrap();
}
