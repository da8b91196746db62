//! Tokens of a file, while it changes.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::process::Command;

use converse_testkit::hang_guard::{Deadline, LIMIT};
use serde_json::json;

use super::{Gate, OTHER, TOKEN, get, log, sum, token_file};
use crate::env::TestEnv;

#[test]
fn tokens_let_in_and_can_be_changed_while_it_runs() {
    let env = TestEnv::new().var("CONVERSE_SERVE_TOKEN", OTHER);
    let file = token_file(&env, &format!("# of the build\n{TOKEN}\n"));
    let mut gate = Gate::open(&env, &["-e", "essentials", "--token-file", &file]);
    let tool = "essentials__calculator";
    for (token, status) in
        [(None, 401), (Some("canary-0123456789abcdeg"), 401), (Some(TOKEN), 200), (Some(OTHER), 200)]
    {
        let (got, answer) = gate.call(tool, &sum(), token);
        assert_eq!(got, status, "{answer}");
        // The head has a time in it, which may be any number.
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        assert_eq!(body.contains("42"), status == 200, "{answer}");
    }
    assert_eq!([get("/healthz"), get("/metrics")].map(|request| gate.ask(&request).0), [200, 401]);
    let new = "new-canary-0123456789";
    token_file(&env, new);
    let line = gate.says();
    assert!(line.starts_with("read ") && line.ends_with("again\n"), "{line}");
    let status = |token: &str| gate.call(tool, &sum(), Some(token)).0;
    assert_eq!([TOKEN, OTHER, new].map(status), [401, 200, 200]);
    gate.signal();
    let (code, said) = gate.ended();
    assert_eq!(code, Some(0), "{said}");
    let log = log(&env);
    // `printf canary-0123456789abcdef | sha256sum`; the client gave no name, so there is none.
    assert!(log.contains("\"client\":\"via token 4859dbe8 at 127.0.0.1\""), "{log}");
    assert!(!log.contains("canary"), "a token was written down");
    env.run(&["audit", "verify"]).exits(0);
}

#[test]
fn a_list_that_is_emptied_or_taken_away_lets_nobody_in() {
    let env = TestEnv::new();
    let file = token_file(&env, TOKEN);
    let mut gate = Gate::open(&env, &["-e", "essentials", "--token-file", &file]);
    let status = |gate: &Gate| gate.call("essentials__calculator", &sum(), Some(TOKEN)).0;
    type Change = fn(&TestEnv, &str);
    let changes: [(Change, &str, u16); 6] = [
        (|env, _| drop(token_file(env, "# none\n")), "every request is refused", 401),
        (|env, _| drop(token_file(env, TOKEN)), "again", 200),
        (|env, _| drop(token_file(env, "short\n")), "the previous tokens stay valid", 200),
        (|_, file| std::fs::remove_file(file).unwrap(), "its tokens are no longer valid", 401),
        (|env, _| drop(token_file(env, TOKEN)), "again", 200),
        (|_, file| piped(file), "not a regular file; its tokens are no longer valid", 401),
    ];
    for (change, said, expected) in changes {
        change(&env, &file);
        let line = gate.says();
        assert!(line.contains(said), "{said}: {line}");
        assert_eq!(status(&gate), expected, "{said}");
    }
    gate.signal();
    let (code, said) = gate.ended();
    // Nobody is told twice, and the pipe is not waited for.
    assert_eq!((code, said.as_str()), (Some(0), ""));
    let ran = env.run(&["serve", "--http", "127.0.0.1:0", "--token-file", &file]).exits(2);
    assert!(ran.stderr.contains("not a regular file"), "{}", ran.stderr);
}

/// A pipe in the place of a file, that nobody writes to.
fn piped(file: &str) {
    std::fs::remove_file(file).unwrap();
    assert!(Command::new("mkfifo").arg(file).status().unwrap().success());
}

/// A stream of changes that is open.
pub(super) fn followed(gate: &Gate, token: &str) -> BufReader<TcpStream> {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {
        "notifications": { "toolsListChanged": true }, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {} } } })
    .to_string();
    let mut stream = TcpStream::connect(&gate.address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\n\
         mcp-method: subscriptions/listen\r\nauthorization: Bearer {token}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    while !line.contains("notifications/") {
        line.clear();
        assert_ne!(stream.read_line(&mut line).unwrap(), 0, "it ended at once");
    }
    stream
}

/// Signs of life come all the time: it is the end that must come in time.
pub(super) fn read_to_its_end(stream: &mut BufReader<TcpStream>) {
    let (deadline, mut line) = (Deadline::begin(), String::new());
    while stream.read_line(&mut line).unwrap() > 0 {
        deadline.check(|| format!("it goes on: {line}"));
    }
}

#[test]
fn a_stream_ends_with_the_token_it_was_opened_by() {
    let env = TestEnv::new();
    let file = token_file(&env, &format!("{TOKEN}\n{OTHER}\n"));
    let mut gate = Gate::open(&env, &["-e", "essentials", "--token-file", &file]);
    let (mut gone, mut stays) = (followed(&gate, TOKEN), followed(&gate, OTHER));
    token_file(&env, OTHER);
    assert!(gate.says().ends_with("again\n"));
    read_to_its_end(&mut gone);
    stays.get_ref().set_nonblocking(true).unwrap();
    let end = loop {
        let mut line = String::new();
        match stays.read_line(&mut line) {
            Ok(0) => break None,
            Ok(_) => {}
            Err(error) => break Some(error.kind()),
        }
    };
    assert_eq!(end, Some(std::io::ErrorKind::WouldBlock), "the other was ended too");
    gate.signal();
    assert_eq!(gate.ended().0, Some(0));
}
