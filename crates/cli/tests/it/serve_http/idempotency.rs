//! `Idempotency-Key`: a key runs a turn once.

use std::io::Write as _;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;

use converse_testkit::hang_guard::{LIMIT, wait_until};
use serde_json::{Value, json};

use super::openai::body;
use super::{Gate, OTHER, TOKEN, slow_server, token_file};
use crate::body::{Dialect, Says, calls, text};
use crate::env::TestEnv;
use crate::provider::Provider;

const KEY: &str = "order-7-of-tuesday";
pub(super) const CHAT: &str = "/v1/chat/completions";
pub(super) const RESPONSES: &str = "/v1/responses";
pub(super) const RUNS: &str = "/api/runs";

pub(super) fn question(route: &str, model: &str, stream: bool) -> Value {
    let messages = json!([{ "id": "1", "role": "user", "content": "Go." }]);
    match route {
        CHAT => {
            json!({ "model": model, "stream": stream, "messages": [{ "role": "user", "content": "Go." }] })
        }
        RESPONSES => json!({ "model": model, "stream": stream, "input": "Go." }),
        _ => json!({ "threadId": "", "messages": messages, "forwardedProps": { "model": model } }),
    }
}

fn request(route: &str, token: &str, more: &str, body: &Value) -> String {
    let body = body.to_string();
    format!(
        "POST {route} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
         authorization: Bearer {token}\r\n{more}content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

pub(super) fn keyed(key: &str) -> String {
    format!("Idempotency-Key: {key}\r\n")
}

fn send(gate: &Gate, route: &str, body: &Value) -> (u16, String) {
    gate.ask(&request(route, TOKEN, &keyed(KEY), body))
}

/// Sends a request whose answer is not read.
pub(super) fn sent(gate: &Gate, route: &str, more: &str, body: &Value) -> TcpStream {
    let mut client = TcpStream::connect(&gate.address).unwrap();
    client.set_read_timeout(Some(LIMIT)).unwrap();
    client.write_all(request(route, TOKEN, more, body).as_bytes()).unwrap();
    client
}

fn is_replayed(answer: &str) -> bool {
    answer.contains("idempotent-replayed: true")
}

/// The events of a stream, or the one body.
fn said(answer: &str) -> Vec<&str> {
    if answer.contains("content-type: text/event-stream") {
        return answer.lines().filter(|line| line.starts_with("data: ")).collect();
    }
    answer.split("\r\n\r\n").skip(1).collect()
}

/// The code of an error object, which has the form of its route.
fn code(answer: &str) -> String {
    let error = body(answer)["error"].clone();
    assert!(error["message"].as_str().is_some_and(|text| text.contains("Idempotency-Key")), "{answer}");
    error["code"].as_str().unwrap().replace('_', "-")
}

pub(super) fn open(env: &TestEnv, flags: &[&str]) -> Gate {
    Gate::open(env, &[&["--openai", "--api"], flags].concat())
}

fn kill(gate: Gate) {
    let Gate { mut child, .. } = gate;
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_key_runs_a_turn_once_and_its_answer_is_replayed_also_after_a_kill() {
    for (route, stream) in [(CHAT, false), (CHAT, true), (RESPONSES, false), (RESPONSES, true), (RUNS, true)]
    {
        let provider = Provider::new(Dialect::Chat, [text("one"), text("two")]);
        let env = provider.env(TestEnv::new()).var("CONVERSE_SERVE_TOKEN", TOKEN);
        let gate = open(&env, &["-e", "essentials"]);
        let asked = question(route, provider.model(), stream);
        let (status, first) = send(&gate, route, &asked);
        assert!(status == 200 && first.contains("one") && !is_replayed(&first), "{route}: {first}");
        let (status, second) = send(&gate, route, &asked);
        assert!(status == 200 && is_replayed(&second), "{route}: {second}");
        assert_eq!(said(&second), said(&first), "{route}");
        kill(gate);

        let gate = open(&env, &["-e", "essentials"]);
        let (status, third) = send(&gate, route, &asked);
        assert!(status == 200 && is_replayed(&third), "{route}: {third}");
        assert_eq!(said(&third), said(&first), "{route}");
        let mut other = asked.clone();
        other[if route == RUNS { "runId" } else { "user" }] = json!("other");
        let (status, refused) = send(&gate, route, &other);
        assert_eq!((status, code(&refused).as_str()), (422, "idempotency-key-reused"), "{refused}");
        assert_eq!(provider.requests().len(), 1, "{route}");
        let (status, new) = gate.ask(&request(route, TOKEN, &keyed("another"), &asked));
        assert!(status == 200 && new.contains("two"), "{route}: {new}");

        let dir = env.path("home/.local/share/converse/idempotency");
        for file in std::fs::read_dir(dir).unwrap().map(|file| file.unwrap()) {
            assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
            let text = std::fs::read_to_string(file.path()).unwrap();
            assert!(!text.contains(KEY), "only its digest is kept: {text}");
        }
    }
}

/// A server with a slow tool that the model calls, and what lets the tool go on.
pub(super) struct Slow {
    pub(super) provider: Provider,
    env: TestEnv,
    pub(super) began: std::sync::mpsc::Receiver<()>,
    go: std::sync::mpsc::Sender<()>,
}

impl Slow {
    pub(super) fn new() -> Self {
        let script: [Says; 2] = [calls([("upstream__slow", json!({}))]), text("At last.")];
        let provider = Provider::new(Dialect::Chat, script);
        let env = provider.env(TestEnv::new()).var("CONVERSE_SERVE_TOKEN", TOKEN);
        let (began, go) = slow_server(&env);
        Self { provider, env, began, go }
    }

    pub(super) fn open(&self, flags: &[&str]) -> Gate {
        let servers = self.env.path("servers").display().to_string();
        let own = ["--ensembles", &servers, "-e", "upstream", "--allow", "upstream.*"];
        open(&self.env, &[&own, flags].concat())
    }

    /// Sends a request whose turn has reached the tool.
    fn begin(&self, gate: &Gate, route: &str, body: &Value) -> TcpStream {
        let client = sent(gate, route, &keyed(KEY), body);
        self.began.recv_timeout(LIMIT).unwrap();
        client
    }
}

#[test]
fn a_turn_that_a_kill_cut_is_not_run_again() {
    for route in [CHAT, RESPONSES, RUNS] {
        let slow = Slow::new();
        let gate = slow.open(&[]);
        let asked = question(route, slow.provider.model(), route != CHAT);
        let _client = slow.begin(&gate, route, &asked);
        let (status, refused) = send(&gate, route, &asked);
        assert_eq!((status, code(&refused).as_str()), (409, "idempotency-key-in-use"), "{refused}");
        assert!(refused.contains("retry-after: 1"), "{refused}");
        kill(gate);

        let gate = slow.open(&[]);
        for _ in 0..2 {
            let (status, refused) = send(&gate, route, &asked);
            assert_eq!((status, code(&refused).as_str()), (409, "idempotency-key-interrupted"), "{refused}");
            assert!(route == RUNS || refused.contains("x-should-retry: false"), "{refused}");
        }
        assert_eq!(slow.provider.requests().len(), 1, "{route}");
    }
}

#[test]
fn a_client_that_left_gets_the_answer_with_its_key() {
    for (route, stream) in [(CHAT, false), (CHAT, true), (RESPONSES, false), (RUNS, true)] {
        let slow = Slow::new();
        let gate = slow.open(&[]);
        let asked = question(route, slow.provider.model(), stream);
        drop(slow.begin(&gate, route, &asked));
        slow.go.send(()).unwrap();
        let mut answer = (0, String::new());
        wait_until("the turn has ended", || {
            answer = send(&gate, route, &asked);
            answer.0 != 409
        });
        assert!(answer.0 == 200 && is_replayed(&answer.1) && answer.1.contains("last."), "{answer:?}");
        assert_eq!(slow.provider.requests().len(), 2, "{route}");
    }
}

#[test]
fn a_turn_that_ends_with_its_client_is_not_run_again() {
    for stream in [false, true] {
        let slow = Slow::new();
        let gate = slow.open(&["--cancel-on-disconnect"]);
        let asked = question(CHAT, slow.provider.model(), stream);
        drop(slow.begin(&gate, CHAT, &asked));
        wait_until("the server has noticed", || {
            let (status, refused) = send(&gate, CHAT, &asked);
            assert_eq!(status, 409, "{refused}");
            code(&refused) == "idempotency-key-interrupted"
        });
    }
}

#[test]
fn a_key_is_free_again_if_no_turn_began_and_no_other_principal_sees_it() {
    let provider = Provider::new(Dialect::Chat, [text("one"), text("two"), text("three")]);
    let env = provider.env(TestEnv::new());
    let file = token_file(&env, &format!("{TOKEN}\n{OTHER}\n"));
    let gate = open(&env, &["-e", "essentials", "--token-file", &file]);
    let asked = question(CHAT, provider.model(), false);
    let mut wrong = asked.clone();
    wrong["temprature"] = json!(1);
    for (route, wrong) in [(CHAT, &wrong), (RESPONSES, &wrong), (RUNS, &json!({ "messages": [] }))] {
        let (status, refused) = send(&gate, route, wrong);
        assert!(status == 400 && !refused.contains("Idempotency"), "{route}: {refused}");
    }
    let (status, first) = send(&gate, CHAT, &asked);
    assert!(status == 200 && first.contains("one"), "{first}");
    let other = question(RESPONSES, provider.model(), false);
    let (status, refused) = send(&gate, RESPONSES, &other);
    assert_eq!((status, code(&refused).as_str()), (422, "idempotency-key-reused"), "{refused}");
    for (asked, route, expected) in [(&asked, CHAT, "two"), (&other, RESPONSES, "three")] {
        // The path with a slash at its end is the same route.
        let path = format!("{route}/");
        let key = if route == CHAT { keyed(KEY) } else { keyed("theirs") };
        for replayed in [false, true] {
            let (status, theirs) = gate.ask(&request(&path, OTHER, &key, asked));
            assert!(status == 200 && theirs.contains(expected), "{theirs}");
            assert_eq!(is_replayed(&theirs), replayed, "{theirs}");
        }
    }
    assert!(send(&gate, CHAT, &asked).1.contains("one"));
    let long = keyed(&"x".repeat(256));
    for key in [keyed(""), long, keyed("a") + &keyed("b"), keyed("\u{e9}")] {
        let (status, refused) = gate.ask(&request(CHAT, TOKEN, &key, &asked));
        assert_eq!((status, code(&refused).as_str()), (400, "bad-idempotency-key"), "{refused}");
    }
    assert_eq!(provider.requests().len(), 3);
}

#[test]
fn a_failure_of_a_turn_is_replayed_and_not_repeated() {
    let refused = || crate::http::Answer::new(401, "application/json", "{}");
    let provider = Provider::new(Dialect::Chat, [refused(), refused(), refused()]);
    let env = provider.env(TestEnv::new()).var("CONVERSE_SERVE_TOKEN", TOKEN);
    let gate = open(&env, &["-e", "essentials"]);
    for (index, route) in [CHAT, RESPONSES, RUNS].into_iter().enumerate() {
        let asked = question(route, provider.model(), false);
        let ask = || gate.ask(&request(route, TOKEN, &keyed(route), &asked));
        let ((status, first), (again, second)) = (ask(), ask());
        assert_eq!((status, again), if route == RUNS { (200, 200) } else { (502, 502) }, "{first}");
        assert!(is_replayed(&second) && said(&first) == said(&second), "{second}");
        assert!(route == RUNS || second.contains("x-should-retry: false"), "{second}");
        assert_eq!(provider.requests().len(), index + 1, "{route}");
    }
}
