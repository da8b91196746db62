//! How streams and turns end: with their token, with their client, and at shutdown.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use converse_testkit::hang_guard::{Deadline, LIMIT, wait_until};
use serde_json::{Value, json};

use super::{get, head, open, question, run, session_of, types, words};
use crate::body::{Dialect, calls, text};
use crate::env::TestEnv;
use crate::provider::Provider;
use crate::serve_http::{Gate, OTHER, TOKEN, slow_server, token_file};

const EVERYTHING: &str = "/api/events";

/// A request whose answer is read line by line.
fn begin(gate: &Gate, method: &str, path: &str, token: &str, more: &str) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(&gate.address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let more = format!("authorization: Bearer {token}\r\n{more}\r\n");
    stream.write_all(head(gate, method, path, &more).as_bytes()).unwrap();
    BufReader::new(stream)
}

/// A stream that is open, and its status.
fn stream(gate: &Gate, path: &str, token: &str) -> (u16, BufReader<TcpStream>) {
    let mut stream = begin(gate, "GET", path, token, "");
    let mut line = String::new();
    stream.read_line(&mut line).unwrap();
    (line.split(' ').nth(1).unwrap_or_else(|| panic!("{line}")).parse().unwrap(), stream)
}

#[track_caller]
fn opened(gate: &Gate, path: &str, token: &str) -> BufReader<TcpStream> {
    let (status, stream) = stream(gate, path, token);
    assert_eq!(status, 200, "{path}");
    stream
}

/// What comes until the stream ends. Signs of life come all the time.
fn rest(mut stream: BufReader<TcpStream>) -> String {
    let (deadline, mut text) = (Deadline::begin(), String::new());
    while stream.read_line(&mut text).unwrap() > 0 {
        deadline.check(|| format!("it goes on: {text}"));
    }
    text
}

#[test]
fn a_stream_ends_with_the_token_that_opened_it() {
    let env = TestEnv::new();
    let file = token_file(&env, &format!("{TOKEN}\n{OTHER}\n"));
    let mut gate = open(&env, &["--token-file", &file]);
    let id = session_of(&run(&gate, &question("What is 15% of 2500?")));
    let of_session = format!("/api/sessions/{id}/events");
    let gone = [EVERYTHING, of_session.as_str()].map(|path| opened(&gate, path, TOKEN));
    let stays = opened(&gate, EVERYTHING, OTHER);
    token_file(&env, OTHER);
    while !gate.says().ends_with("again\n") {}
    for stream in gone {
        rest(stream);
    }
    stays.get_ref().set_nonblocking(true).unwrap();
    let end = stays.lines().find_map(|line| line.err().map(|error| error.kind()));
    assert_eq!(end, Some(std::io::ErrorKind::WouldBlock), "the other was ended too");
}

#[test]
fn clients_that_only_follow_do_not_hold_up_the_end() {
    let env = TestEnv::new().var("CONVERSE_SERVE_TOKEN", TOKEN);
    let gate = open(&env, &["--drain", "3600"]);
    let id = session_of(&run(&gate, &question("What is 15% of 2500?")));
    let of_session = format!("/api/sessions/{id}/events");
    let follow = [EVERYTHING, of_session.as_str()].map(|path| opened(&gate, path, TOKEN));
    gate.signal();
    for stream in follow {
        rest(stream);
    }
    let (code, said) = gate.ended();
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn a_turn_that_runs_ends_and_none_begins() {
    let provider =
        Provider::new(Dialect::Chat, [calls([("upstream__slow", json!({}))]), text("Done at last.")]);
    let env = provider.env(TestEnv::new()).var("CONVERSE_SERVE_TOKEN", TOKEN);
    let (has_begun, go) = slow_server(&env);
    let servers = env.path("servers").display().to_string();
    let flags =
        ["--openai", "--ensembles", &servers, "-e", "upstream", "--allow", "upstream.*", "--drain", "3600"];
    let gate = open(&env, &flags);
    let mut asked = question("Go.");
    asked["forwardedProps"] = json!({ "model": provider.model() });
    let chat = json!({ "model": provider.model(), "messages": [{ "role": "user", "content": "Go." }] });
    let id = std::thread::scope(|scope| {
        let running = scope.spawn(|| run(&gate, &asked));
        has_begun.recv_timeout(LIMIT).unwrap();
        let everything = opened(&gate, EVERYTHING, TOKEN);
        // They were let in before, and their bodies come after.
        let late = [("/api/runs", &asked), ("/v1/chat/completions", &chat)].map(|(path, body)| {
            let body = body.to_string();
            let more = format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len());
            (begin(&gate, "POST", path, TOKEN, &more), body)
        });
        gate.signal();
        let address = gate.address.parse().unwrap();
        let lets_in = || TcpStream::connect_timeout(&address, Duration::from_millis(200)).is_ok();
        wait_until("nobody is let in", || !lets_in());
        for (mut stream, body) in late {
            stream.get_mut().write_all(body.as_bytes()).unwrap();
            let answer = rest(stream).to_ascii_lowercase();
            assert!(answer.starts_with("http/1.1 503 ") && answer.contains("\r\nretry-after: "), "{answer}");
        }
        go.send(()).unwrap();
        let ran = running.join().unwrap();
        assert_eq!((*types(&ran).last().unwrap(), words(&ran).as_str()), ("RUN_FINISHED", "Done at last."));
        let told = rest(everything);
        assert!(told.contains("\"running\":false"), "who follows learns the end of the turn: {told}");
        session_of(&ran)
    });
    let (code, said) = gate.ended();
    assert_eq!(code, Some(0), "{said}");
    let shown = env.run(&["sessions", "show", &id]).exits(0).stdout;
    assert!(shown.contains("Done at last."), "{shown}");
    env.run(&["sessions", "check"]).exits(0);
    assert_eq!(provider.requests().len(), 2, "no other turn began");
}

#[test]
fn a_turn_that_takes_longer_than_the_drain_is_interrupted_and_recorded() {
    let provider = Provider::new(Dialect::Chat, [calls([("upstream__slow", json!({}))])]);
    let env = provider.env(TestEnv::new()).var("CONVERSE_SERVE_TOKEN", TOKEN);
    let (has_begun, _go) = slow_server(&env);
    let servers = env.path("servers").display().to_string();
    let flags = ["--ensembles", &servers, "-e", "upstream", "--allow", "upstream.*", "--drain", "0.5"];
    let gate = open(&env, &flags);
    let mut asked = question("Go.");
    asked["forwardedProps"] = json!({ "model": provider.model() });
    let asked = asked.to_string();
    let more = format!("content-type: application/json\r\ncontent-length: {}\r\n", asked.len());
    let mut run = begin(&gate, "POST", "/api/runs", TOKEN, &more);
    run.get_mut().write_all(asked.as_bytes()).unwrap();
    has_begun.recv_timeout(LIMIT).unwrap();
    let id = get(&gate, "/api/sessions")["items"][0]["id"].as_str().unwrap().to_owned();
    gate.signal();
    let (code, said) = gate.ended();
    assert_eq!(code, Some(0), "{said}");
    env.run(&["sessions", "check"]).exits(0);
    let shown = env.run(&["sessions", "export", &id]).exits(0).stdout;
    assert!(shown.contains("cancelled") || shown.contains("interrupted"), "{shown}");
}

#[test]
fn streams_of_a_principal_are_bounded_and_those_of_clients_that_left_do_not_count() {
    let env = TestEnv::new();
    let file = token_file(&env, &format!("{TOKEN}\n{OTHER}\n"));
    let gate = open(&env, &["--token-file", &file, "--max-turns", "1"]);
    let mut many = Vec::new();
    let refused = loop {
        let (status, stream) = stream(&gate, EVERYTHING, TOKEN);
        match status {
            200 => many.push(stream),
            _ => break (status, rest(stream).to_ascii_lowercase()),
        }
    };
    // 512 that follow, and one for each turn.
    assert_eq!((many.len(), refused.0), (513, 429), "{}", refused.1);
    assert!(
        refused.1.contains("\r\nretry-after: 1\r\n") && refused.1.contains("too-many-streams"),
        "{}",
        refused.1
    );
    let asked = question("Hello").to_string();
    let more = format!("content-type: application/json\r\ncontent-length: {}\r\n", asked.len());
    let mut run = begin(&gate, "POST", "/api/runs", TOKEN, &more);
    run.get_mut().write_all(asked.as_bytes()).unwrap();
    assert!(rest(run).starts_with("HTTP/1.1 429 "), "a turn whose events nobody could read does not begin");
    assert_eq!(get(&gate, "/api/sessions")["items"], Value::Array(Vec::new()));
    opened(&gate, EVERYTHING, OTHER);
    drop(many);
    let deadline = Deadline::begin();
    while stream(&gate, EVERYTHING, TOKEN).0 != 200 {
        deadline.check(|| "streams of clients that left are still counted");
    }
}
