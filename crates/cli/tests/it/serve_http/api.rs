//! `serve --http --api --panel`: sessions, turns, approvals and the pages of the panel.

mod browser;
mod by_hand;
mod comparisons;
mod crossing;
mod figures;
mod kept_answers;
mod lost_turns;
mod openapi;
mod other_questions;
mod replicas;
mod streams;

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;

use converse_testkit::hang_guard::LIMIT;
use serde_json::{Value, json};

use super::{Gate, OTHER, TOKEN, token_file};
use crate::body::{Dialect, calls, text};
use crate::env::TestEnv;
use crate::provider::Provider;

fn head(gate: &Gate, method: &str, path: &str, more: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n{more}", gate.address)
}

fn send(gate: &Gate, method: &str, path: &str, token: &str, body: &Value) -> (u16, String) {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let more = format!(
        "authorization: Bearer {token}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    gate.ask(&head(gate, method, path, &more))
}

#[track_caller]
fn json_of(answer: (u16, String)) -> Value {
    let body = answer.1.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    assert!(answer.0 < 300, "{}", answer.1);
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {}", answer.1))
}

fn get(gate: &Gate, path: &str) -> Value {
    json_of(send(gate, "GET", path, TOKEN, &Value::Null))
}

/// Follows a stream until the end of a run: positions and events.
fn events(gate: &Gate, request: &str) -> Vec<(String, Value)> {
    let mut stream = TcpStream::connect(&gate.address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let (mut events, mut id) = (Vec::new(), String::new());
    let mut said = String::new();
    for line in BufReader::new(stream).lines() {
        let line = line.unwrap();
        if let Some(position) = line.strip_prefix("id: ") {
            id = position.to_owned();
        } else if let Some(data) = line.strip_prefix("data: ") {
            let event: Value = serde_json::from_str(data).unwrap();
            let is_last = event["type"] == "RUN_FINISHED" || event["type"] == "RUN_ERROR";
            // Only the last event of several that belong together has a position.
            events.push((std::mem::take(&mut id), event));
            if is_last {
                return events;
            }
        }
        said.push_str(&line);
    }
    panic!("the run did not end: {said}")
}

fn run(gate: &Gate, body: &Value) -> Vec<(String, Value)> {
    run_as(gate, TOKEN, body)
}

fn run_as(gate: &Gate, token: &str, body: &Value) -> Vec<(String, Value)> {
    let body = body.to_string();
    let more = format!(
        "authorization: Bearer {token}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    events(gate, &head(gate, "POST", "/api/runs", &more))
}

fn follow(gate: &Gate, session: &str, after: &str) -> Vec<(String, Value)> {
    let more = format!("authorization: Bearer {TOKEN}\r\nlast-event-id: {after}\r\n\r\n");
    events(gate, &head(gate, "GET", &format!("/api/sessions/{session}/events"), &more))
}

fn question(text: &str) -> Value {
    json!({
        "protocolVersion": "1.0", "threadId": "", "runId": "r1", "state": {}, "tools": [], "context": [],
        "messages": [{ "id": "1", "role": "user", "content": text }],
        "forwardedProps": { "model": "understudy" },
    })
}

fn types(events: &[(String, Value)]) -> Vec<&str> {
    events.iter().map(|(_, event)| event["type"].as_str().unwrap()).collect()
}

fn words(events: &[(String, Value)]) -> String {
    events
        .iter()
        .filter_map(|(_, event)| event["delta"].as_str().filter(|_| event["type"] == "TEXT_MESSAGE_CONTENT"))
        .collect()
}

fn session_of(events: &[(String, Value)]) -> String {
    events[0].1["threadId"].as_str().unwrap().to_owned()
}

/// A link below the workspace, which a test leads to another directory: the same arguments then name another file.
struct Link(std::path::PathBuf);

impl Link {
    fn new(env: &TestEnv) -> Self {
        for directory in ["one", "two"] {
            std::fs::create_dir_all(env.path("work").join(directory)).unwrap();
        }
        let link = Self(env.path("work/link"));
        std::os::unix::fs::symlink("one", &link.0).unwrap();
        link
    }

    fn leads_to(&self, directory: &str) {
        std::fs::remove_file(&self.0).unwrap();
        std::os::unix::fs::symlink(directory, &self.0).unwrap();
    }

    /// What is in `note.txt` of both directories.
    fn written(&self, env: &TestEnv) -> [Option<String>; 2] {
        ["one", "two"]
            .map(|directory| std::fs::read_to_string(env.path("work").join(directory).join("note.txt")).ok())
    }
}

fn open(env: &TestEnv, flags: &[&str]) -> Gate {
    Gate::open(env, &[&["--panel", "-e", "essentials", "-e", "io"], flags].concat())
}

#[test]
fn a_run_is_streamed_saved_and_can_be_managed() {
    let env = TestEnv::new().var("CONVERSE_SERVE_TOKEN", TOKEN);
    let gate = open(&env, &[]);
    let run = run(&gate, &question("What is 15% of 2500?"));
    let kinds = types(&run);
    assert_eq!((kinds[0], *kinds.last().unwrap()), ("RUN_STARTED", "RUN_FINISHED"), "{kinds:?}");
    assert_eq!(run.last().unwrap().1["outcome"]["type"], "success");
    for kind in ["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT", "TEXT_MESSAGE_END"]
    {
        assert_eq!(kinds.iter().filter(|one| **one == kind).count(), 1, "{kind}: {kinds:?}");
    }
    assert!(words(&run).contains("375"), "{run:?}");

    let id = session_of(&run);
    let shown = get(&gate, &format!("/api/sessions/{id}"));
    let roles: Vec<&str> =
        shown["messages"].as_array().unwrap().iter().map(|one| one["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant"], "{shown}");
    assert_eq!(shown["messages"][1]["parts"][0]["tool"], "calculator", "{shown}");
    for (reply, calls) in [(1, true), (3, false)] {
        let reply = &shown["messages"][reply];
        assert_eq!(reply["parts"].to_string().contains("calculator"), calls, "{shown}");
        assert!(reply["model"] == "understudy" && reply["elapsed_ms"].is_u64(), "{reply}");
        assert!(
            reply["usage"]["input_tokens"].is_u64() || reply["usage"]["input_tokens"].is_null(),
            "{reply}"
        );
    }
    assert_eq!(get(&gate, "/api/sessions?text=2500")["items"][0]["id"], json!(id));
    assert_eq!(get(&gate, "/api/sessions?text=nonesuch")["items"], json!([]));
    let path = format!("/api/sessions/{id}");
    let named = json_of(send(&gate, "PATCH", &path, TOKEN, &json!({ "name": "Percent", "tags": ["sums"] })));
    assert_eq!((&named["name"], &named["tags"]), (&json!("Percent"), &json!(["sums"])));
    assert_eq!(get(&gate, "/api/sessions?tag=sums")["items"].as_array().map(Vec::len), Some(1));
    let fork = json_of(send(&gate, "POST", &format!("{path}/fork"), TOKEN, &json!({ "at": 2 })));
    assert_eq!(fork["messages"], 4, "not in the middle of a reply: {fork}");
    let (status, text) = send(&gate, "GET", &format!("{path}/export?format=markdown"), TOKEN, &Value::Null);
    assert!(status == 200 && text.contains("attachment; filename=") && text.contains("375"), "{text}");
    let lines = send(&gate, "GET", &format!("{path}/export?format=jsonl"), TOKEN, &Value::Null).1;
    let lines = lines.split_once("\r\n\r\n").unwrap().1;
    assert_eq!(lines.lines().count(), 6, "the session and its messages: {lines}");
    let more = format!(
        "authorization: Bearer {TOKEN}\r\ncontent-type: application/jsonl\r\ncontent-length: {}\r\n\r\n{lines}",
        lines.len()
    );
    let imported = json_of(gate.ask(&head(&gate, "POST", "/api/sessions/import", &more)));
    assert_eq!(
        (&imported["messages"], &imported["words"]),
        (&named["messages"], &named["words"]),
        "{imported}"
    );
    let rewound = json_of(send(&gate, "POST", &format!("{path}/rewind"), TOKEN, &json!({ "at": 0 })));
    assert_eq!(rewound["messages"], 0, "{rewound}");
    assert_eq!(send(&gate, "DELETE", &path, TOKEN, &Value::Null).0, 204);
    assert_eq!(send(&gate, "GET", &path, TOKEN, &Value::Null).0, 404);
    assert_eq!(send(&gate, "GET", "/api/sessions?colour=red", TOKEN, &Value::Null).0, 400);
}

#[test]
fn a_stream_goes_on_from_every_position_without_a_gap_or_a_duplicate() {
    let env = TestEnv::new().var("CONVERSE_SERVE_TOKEN", TOKEN);
    let gate = open(&env, &[]);
    let run = run(&gate, &question("What is 15% of 2500?"));
    let id = session_of(&run);
    let positions: Vec<&String> = run.iter().map(|(position, _)| position).collect();
    // The whole run is over: what follows comes from the session, as after a restart.
    for (index, position) in positions.iter().enumerate().filter(|(_, position)| !position.is_empty()) {
        if positions.get(index + 1) == Some(position) || position.ends_with('e') {
            continue;
        }
        let rest = follow(&gate, &id, position);
        let before = words(&run[..=index]);
        assert_eq!(before + &words(&rest), words(&run), "after {position}");
        let results = |events: &[(String, Value)]| {
            types(events).iter().filter(|kind| **kind == "TOOL_CALL_RESULT").count()
        };
        assert_eq!(results(&run[..=index]) + results(&rest), 1, "after {position}: {rest:?}");
    }
}

#[test]
fn an_approval_survives_the_server_and_is_answered_by_another_client() {
    let env = TestEnv::new().var("CONVERSE_SERVE_TOKEN", TOKEN);
    let mut gate = open(&env, &[]);
    let asked = run(&gate, &question("@io.write_file path=note.txt content=hello"));
    let outcome = &asked.last().unwrap().1["outcome"];
    assert_eq!(outcome["type"], "interrupt", "{asked:?}");
    let interrupt = &outcome["interrupts"][0];
    assert_eq!(interrupt["metadata"]["tool"], "write_file", "{interrupt}");
    assert!(!env.path("work/note.txt").exists());
    gate.child.kill().unwrap();
    gate.child.wait().unwrap();

    let gate = open(&env, &[]);
    let inbox = get(&gate, "/api/approvals");
    let item = &inbox["items"][0];
    assert_eq!((&item["id"], &item["arguments"]["path"]), (&interrupt["id"], &json!("note.txt")), "{inbox}");
    let id = session_of(&asked);
    assert_eq!(get(&gate, "/api/sessions")["items"][0]["waiting"], 1);
    let path = format!("/api/approvals/{}", interrupt["id"].as_str().unwrap());
    let answered = json_of(send(&gate, "POST", &path, TOKEN, &json!({ "decision": "once" })));
    assert_eq!(answered["left"], 0);
    let rest = follow(&gate, &id, &asked.last().unwrap().0);
    assert_eq!(rest.last().unwrap().1["outcome"]["type"], "success", "{rest:?}");
    assert_eq!(std::fs::read_to_string(env.path("work/note.txt")).unwrap(), "hello");
    assert!(send(&gate, "POST", &path, TOKEN, &json!({ "decision": "once" })).0 >= 400, "answered once only");
    env.run(&["sessions", "check"]).exits(0);
}

#[test]
fn a_refusal_reaches_the_model_and_a_session_answer_holds_for_the_session() {
    let write = |content: &'static str| {
        calls([("io__write_file", json!({ "path": "note.txt", "content": content }))])
    };
    let script = [write("a"), text("Refused."), write("b"), text("Done."), write("c"), text("Again.")];
    let provider = Provider::new(Dialect::Chat, script);
    let env = provider.env(TestEnv::new()).var("CONVERSE_SERVE_TOKEN", TOKEN);
    let gate = open(&env, &[]);
    let ask = |session: &str| {
        let mut body = question("Write it");
        body["threadId"] = json!(session);
        body["forwardedProps"] = json!({ "model": provider.model() });
        run(&gate, &body)
    };
    let resume = |asked: &[(String, Value)], payload: Value| {
        let id = asked.last().unwrap().1["outcome"]["interrupts"][0]["id"].clone();
        let resume = json!([{ "interruptId": id, "status": "resolved", "payload": payload }]);
        let body = json!({
            "threadId": session_of(asked), "runId": "r2", "messages": [], "resume": resume,
            "forwardedProps": { "model": provider.model() },
        });
        run(&gate, &body)
    };
    let asked = ask("");
    let id = session_of(&asked);
    let denied = resume(&asked, json!({ "decision": "deny", "comment": "not now" }));
    assert_eq!(words(&denied), "Refused.", "{denied:?}");
    assert!(provider.requests()[1].to_string().contains("refused by the user: not now"));
    let asked = ask(&id);
    let allowed = resume(&asked, json!({ "decision": "session" }));
    assert_eq!(words(&allowed), "Done.", "{allowed:?}");
    let again = ask(&id);
    assert_eq!(
        (words(&again).as_str(), again.last().unwrap().1["outcome"]["type"].as_str()),
        ("Again.", Some("success"))
    );
    assert_eq!(std::fs::read_to_string(env.path("work/note.txt")).unwrap(), "c");
}

#[test]
fn an_instruction_of_a_client_is_text_and_names_no_file() {
    let env = TestEnv::new().var("CONVERSE_SERVE_TOKEN", TOKEN);
    std::fs::write(env.path("work/keys.txt"), "the-words-of-the-file").unwrap();
    let gate = open(&env, &[]);
    let mut body = question("What is 15% of 2500?");
    body["forwardedProps"]["system"] = json!("@keys.txt");
    let asked = run(&gate, &body);
    assert_eq!(asked.last().unwrap().1["outcome"]["type"], "success", "{asked:?}");
    let shown = get(&gate, &format!("/api/sessions/{}", session_of(&asked))).to_string();
    assert!(shown.contains("@keys.txt") && !shown.contains("the-words-of-the-file"), "{shown}");
}

#[test]
fn a_turn_goes_on_after_its_question_with_the_tools_it_was_begun_with() {
    let write = calls([("io__write_file", json!({ "path": "note.txt", "content": "a" }))]);
    let provider = Provider::new(Dialect::Chat, [write, text("Done.")]);
    let env = provider.env(TestEnv::new()).var("CONVERSE_SERVE_TOKEN", TOKEN);
    let mut gate = open(&env, &[]);
    let mut body = question("Write it");
    body["forwardedProps"] = json!({ "model": provider.model(), "ensembles": ["io"] });
    let asked = run(&gate, &body);
    let id = asked.last().unwrap().1["outcome"]["interrupts"][0]["id"].as_str().unwrap().to_owned();
    gate.child.kill().unwrap();
    gate.child.wait().unwrap();
    let gate = open(&env, &[]);
    json_of(send(&gate, "POST", &format!("/api/approvals/{id}"), TOKEN, &json!({ "decision": "once" })));
    let rest = follow(&gate, &session_of(&asked), &asked.last().unwrap().0);
    assert_eq!(words(&rest), "Done.", "{rest:?}");
    let [before, after] = &provider.requests()[..] else { panic!("{:?}", provider.requests()) };
    assert_eq!(before["tools"], after["tools"], "the tools of `io` alone");
}

#[test]
fn a_client_that_comes_late_learns_how_a_run_failed() {
    let provider = Provider::new(Dialect::Chat, [crate::http::Answer::new(401, "application/json", "{}")]);
    let env = provider.env(TestEnv::new()).var("CONVERSE_SERVE_TOKEN", TOKEN);
    let gate = open(&env, &[]);
    let mut body = question("Hello");
    body["forwardedProps"] = json!({ "model": provider.model() });
    let failed = run(&gate, &body);
    let last = &failed.last().unwrap().1;
    assert_eq!(last["type"], "RUN_ERROR", "{failed:?}");
    let id = session_of(&failed);
    assert_eq!(follow(&gate, &id, "0.0.0").last().unwrap().1, *last);
    drop(gate);
    let gate = open(&env, &[]);
    let after = follow(&gate, &id, "0.0.0");
    assert_eq!(after.last().unwrap().1["code"], "interrupted", "not as if there were an answer: {after:?}");
}

#[test]
fn an_invocation_that_runs_has_no_result_for_a_client_that_comes_late() {
    let provider = Provider::new(Dialect::Chat, [calls([("t__wait", json!({}))]), text("Done.")]);
    let env = provider.env(TestEnv::new()).var("CONVERSE_SERVE_TOKEN", TOKEN);
    env.write(
        "home/.config/converse/ensembles/t.toml",
        "[ensemble]\nname = \"t\"\n[[invokers]]\nname = \"wait\"\ndescription = \"Waits\"\npermission = \"allow\"\n\
         command = { argv = [\"cat\", \"pipe\"] }\n",
    );
    env.shell("mkfifo pipe").exits(0);
    let gate = open(&env, &["-e", "t"]);
    let mut body = question("Wait");
    body["forwardedProps"] = json!({ "model": provider.model() });
    let body = body.to_string();
    let more = format!(
        "authorization: Bearer {TOKEN}\r\naccept: application/json\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    let begun = json_of(gate.ask(&head(&gate, "POST", "/api/runs", &more)));
    let id = begun["session"].as_str().unwrap();
    let session = format!("/api/sessions/{id}");
    let pipe = env.path("work/pipe");
    // It opens when the tool reads.
    let open = move || std::fs::File::options().write(true).open(pipe).unwrap();
    let pipe = converse_testkit::hang_guard::run("the tool reads", open);
    let results = |shown: &Value| {
        let messages = shown["messages"].as_array().unwrap().iter();
        messages.filter(|one| one["role"] == "tool").map(|one| one["outcome"].clone()).collect::<Vec<_>>()
    };
    let shown = get(&gate, &session);
    assert_eq!((&shown["running"], results(&shown)), (&json!(true), vec![]), "{shown}");
    drop(pipe);
    let end = follow(&gate, id, &format!("{}.0.0", shown["total"]));
    assert_eq!(end.last().unwrap().1["outcome"]["type"], "success", "{end:?}");
    assert_eq!(types(&end).iter().filter(|kind| **kind == "TOOL_CALL_RESULT").count(), 1, "{end:?}");
    assert_eq!(results(&get(&gate, &session)), ["success"]);
}

#[test]
fn another_question_ends_what_waits() {
    let env = TestEnv::new().var("CONVERSE_SERVE_TOKEN", TOKEN);
    let gate = open(&env, &[]);
    let asked = run(&gate, &question("@io.write_file path=note.txt content=hello"));
    let mut next = question("What is 15% of 2500?");
    next["threadId"] = json!(session_of(&asked));
    let answered = run(&gate, &next);
    assert_eq!(answered.last().unwrap().1["outcome"]["type"], "success", "{answered:?}");
    assert!(words(&answered).contains("375"), "{answered:?}");
    assert_eq!(get(&gate, "/api/approvals")["items"], json!([]));
    assert!(!env.path("work/note.txt").exists());
}

#[test]
fn nothing_of_one_principal_is_visible_to_another() {
    let env = TestEnv::new();
    let file = token_file(&env, &format!("{TOKEN}\n{OTHER}\n"));
    let gate = open(&env, &["--token-file", &file]);
    let asked = run(&gate, &question("@io.write_file path=note.txt content=hello"));
    let id = session_of(&asked);
    let interrupt = asked.last().unwrap().1["outcome"]["interrupts"][0]["id"].as_str().unwrap().to_owned();
    let theirs = |method: &str, path: &str, body: Value| send(&gate, method, path, OTHER, &body);
    assert_eq!(json_of(theirs("GET", "/api/sessions", Value::Null))["items"], json!([]));
    assert_eq!(json_of(theirs("GET", "/api/sessions?text=note", Value::Null))["items"], json!([]));
    assert_eq!(json_of(theirs("GET", "/api/approvals", Value::Null))["items"], json!([]));
    for (method, path, body) in [
        ("GET", format!("/api/sessions/{id}"), Value::Null),
        ("GET", format!("/api/sessions/{id}/events"), Value::Null),
        ("GET", format!("/api/sessions/{id}/export"), Value::Null),
        ("PATCH", format!("/api/sessions/{id}"), json!({ "name": "mine" })),
        ("DELETE", format!("/api/sessions/{id}"), Value::Null),
        ("POST", format!("/api/sessions/{id}/fork"), json!({ "at": 1 })),
        ("POST", format!("/api/sessions/{id}/cancel"), Value::Null),
        ("POST", format!("/api/approvals/{interrupt}"), json!({ "decision": "once" })),
    ] {
        let (status, answer) = theirs(method, &path, body);
        assert_eq!(status, 404, "{method} {path}: {answer}");
    }
    assert!(!env.path("work/note.txt").exists());
    // Neither sees the sessions of the command line.
    assert_eq!(env.run(&["sessions", "list"]).exits(0).stdout, "");
}

#[test]
fn a_browser_is_let_in_by_its_token_and_kept_by_a_cookie() {
    let env = TestEnv::new().var("CONVERSE_SERVE_TOKEN", TOKEN);
    let gate = open(&env, &[]);
    let page = |path: &str, more: &str| gate.ask(&head(&gate, "GET", path, &format!("{more}\r\n")));
    let (status, door) = page("/", "");
    assert!(status == 401 && door.contains("<form") && door.contains("frame-ancestors 'none'"), "{door}");
    assert_eq!(page("/?token=wrong-token-0123456789", "").0, 401);
    let (status, entered) = page(&format!("/?token={TOKEN}"), "");
    assert!(status == 303 && entered.contains("location: /\r\n"), "{entered}");
    let cookie = entered.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let cookie = format!("cookie: {}\r\n", cookie.split(';').next().unwrap());
    let (status, index) = page("/", &cookie);
    assert!(status == 200 && index.contains("script-src 'self'") && index.contains("nosniff"), "{index}");
    assert_eq!(page("/panel/main.js", "").0, 200);
    assert_eq!(page("/api/sessions", &cookie).0, 200);
    assert_eq!(page("/api/sessions", "").0, 401);

    let post = |origin: &str| {
        let more = format!("{cookie}{origin}content-type: application/json\r\ncontent-length: 2\r\n\r\n{{}}");
        gate.ask(&head(&gate, "POST", "/api/sessions", &more)).0
    };
    assert_eq!(post(""), 403, "a request that no page of this server made");
    assert_eq!(post("origin: http://evil.example\r\n"), 403);
    assert_eq!(post(&format!("origin: http://{}\r\n", gate.address)), 201);
}

#[test]
fn a_repeated_question_keeps_its_attachments_and_nothing_is_loaded_from_elsewhere() {
    let provider = Provider::new(Dialect::Chat, [text("One."), text("Two.")]);
    let env = provider.env(TestEnv::new()).var("CONVERSE_SERVE_TOKEN", TOKEN);
    let gate = open(&env, &[]);
    let png = "\u{89}PNG";
    let more = format!(
        "authorization: Bearer {TOKEN}\r\ncontent-type: image/png\r\ncontent-length: {}\r\n\r\n{png}",
        png.len()
    );
    let upload = json_of(gate.ask(&head(&gate, "POST", "/api/uploads?name=a.png", &more)));
    let mut body = question("Look");
    body["forwardedProps"] = json!({ "model": provider.model(), "attachments": [upload["id"]] });
    let id = session_of(&run(&gate, &body));
    let kept = get(&gate, &format!("/api/sessions/{id}"))["messages"][0]["content"][1].clone();
    assert_eq!(kept["type"], "image", "{kept}");
    let ask = |url: &Value, max_cost: Value| {
        let source = json!({ "type": "url", "value": url, "mimeType": "image/png" });
        let parts = json!([{ "type": "text", "text": "Again" }, { "type": "image", "source": source }]);
        json!({
            "threadId": id, "runId": "r2", "messages": [{ "id": "2", "role": "user", "content": parts }],
            "forwardedProps": { "model": provider.model(), "at": 0, "max_cost": max_cost },
        })
    };
    let other = format!("/api/sessions/{id}/content/{}", "0".repeat(64));
    for url in ["http://evil.example/a.png", "data:image/png;base64,AAAA", other.as_str()] {
        assert_eq!(send(&gate, "POST", "/api/runs", TOKEN, &ask(&json!(url), Value::Null)).0, 422, "{url}");
    }
    assert_eq!(send(&gate, "POST", "/api/runs", TOKEN, &ask(&kept["url"], json!(-1.0))).0, 400);
    let (status, unpriced) = send(&gate, "POST", "/api/runs", TOKEN, &ask(&kept["url"], json!(1.0)));
    assert!(status == 422 && unpriced.contains("unknown-price"), "{unpriced}");
    let again = run(&gate, &ask(&kept["url"], Value::Null));
    assert_eq!(words(&again), "Two.", "{again:?}");
    let shown = get(&gate, &format!("/api/sessions/{id}"));
    assert_eq!(shown["messages"][0]["content"][1]["sha256"], kept["sha256"], "{shown}");
}

#[test]
fn ids_of_uploads_cannot_be_guessed() {
    let env = TestEnv::new().var("CONVERSE_SERVE_TOKEN", TOKEN);
    let gate = open(&env, &[]);
    let upload = || {
        let id = json_of(send(&gate, "POST", "/api/uploads?name=a.json", TOKEN, &json!({})))["id"].clone();
        id.as_str().unwrap().to_owned()
    };
    let (one, other) = (upload(), upload());
    assert!(one.len() == 32 && other.len() == 32, "{one} {other}");
    // Not a time or a length, which both would share.
    assert!(one[..8] != other[..8] && one[16..] != other[16..], "{one} {other}");
}
