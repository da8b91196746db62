//! Several servers with one database: each of them knows the sessions, turns and questions of the others.

use converse_testkit::hang_guard::wait_until;
use converse_testkit::postgres::PostgresServer;

use super::comparisons::answer;
use super::*;
use crate::provider::Line;
use crate::serve_http::slow_server;

/// A database, and servers that have nothing else in common.
struct Team {
    database: PostgresServer,
    url: String,
    provider: Provider,
}

impl Team {
    fn new<const N: usize>(script: [crate::body::Says; N]) -> Self {
        Self::with(Provider::new(Dialect::Chat, script))
    }

    fn with(provider: Provider) -> Self {
        let database = PostgresServer::start().unwrap_or_else(|error| panic!("{error}"));
        let url = database.database().unwrap();
        Self { database, url, provider }
    }

    fn sql(&self, sql: &str) -> String {
        self.database.sql("test0", sql).unwrap_or_else(|error| panic!("{error}"))
    }

    /// A machine for one server.
    fn machine(&self) -> TestEnv {
        self.provider.env(TestEnv::new()).var("CONVERSE_SERVE_TOKEN", TOKEN)
    }

    fn open(&self, env: &TestEnv, flags: &[&str]) -> Gate {
        let gate = open(env, &[&["--openai", "--store", &self.url], flags].concat());
        wait_until("the server has the database", || is_ready(&gate));
        gate
    }

    fn question(&self, session: &str) -> Value {
        let mut body = question("Go.");
        body["threadId"] = json!(session);
        body["forwardedProps"] = json!({ "model": self.provider.model() });
        body
    }
}

fn is_ready(gate: &Gate) -> bool {
    send(gate, "GET", "/readyz", TOKEN, &Value::Null).0 == 200
}

/// Begins a run without a stream, with more headers.
fn begun(gate: &Gate, body: &Value, more: &str) -> (u16, String) {
    let body = body.to_string();
    let more = format!(
        "authorization: Bearer {TOKEN}\r\naccept: application/json\r\ncontent-type: application/json\r\n{more}\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    gate.ask(&head(gate, "POST", "/api/runs", &more))
}

/// The events without what depends on the moment: pieces of text and their HTML, times.
fn course(events: &[(String, Value)]) -> Vec<String> {
    let skipped = ["TEXT_MESSAGE_CONTENT", "STATE_SNAPSHOT"];
    let of = |event: &Value| match event["type"].as_str().unwrap() {
        "CUSTOM" => event["name"].as_str().filter(|name| *name == "converse.user").map(str::to_owned),
        kind if skipped.contains(&kind) => None,
        kind => Some(kind.to_owned()),
    };
    events.iter().filter_map(|(_, event)| of(event)).collect()
}

fn outcome(events: &[(String, Value)]) -> &Value {
    &events.last().unwrap().1["outcome"]["type"]
}

#[test]
fn a_session_goes_on_at_any_server_and_is_its_owners_alone() {
    let team = Team::new([text("One."), text("Two.")]);
    let (here, there) = (team.machine(), team.machine());
    let [one, two] = [&here, &there].map(|env| {
        let file = token_file(env, &format!("{OTHER}\n"));
        team.open(env, &["--token-file", &file])
    });
    let first = run(&one, &team.question(""));
    let id = session_of(&first);
    let path = format!("/api/sessions/{id}");
    assert_eq!(get(&two, &path)["total"], 2);
    let second = run(&two, &team.question(&id));
    assert_eq!((session_of(&second), words(&second).as_str()), (id.clone(), "Two."));
    for gate in [&one, &two] {
        assert_eq!(get(gate, &path)["total"], 4);
        assert_eq!(get(gate, "/api/sessions")["items"].as_array().unwrap().len(), 1);
        let listed = json_of(send(gate, "GET", "/api/sessions", OTHER, &Value::Null));
        assert_eq!(listed["items"], json!([]), "the sessions of another principal");
        assert_eq!(send(gate, "GET", &path, OTHER, &Value::Null).0, 404);
    }
    // A name that the database cannot have is the client's error.
    let mut named = team.question("");
    named["runId"] = json!("a\0b");
    let (status, refused) = begun(&one, &named, "");
    assert!(status == 400 && refused.contains("runId"), "{refused}");
    // What one server alone could know is not offered.
    let models = json!({ "question": "Go.", "models": ["understudy", team.provider.model()] });
    let (status, refused) = send(&two, "POST", "/api/comparisons", TOKEN, &models);
    assert!(status == 501 && refused.contains("store-unsupported"), "{refused}");
    let response = json!({ "model": "understudy", "input": "What is 6*7?" });
    let (status, refused) = send(&two, "POST", "/v1/responses", TOKEN, &response);
    assert!(status == 501 && refused.contains("store_unsupported"), "{refused}");
    let response = json!({ "model": "understudy", "input": "What is 6*7?", "store": false });
    assert_eq!(send(&two, "POST", "/v1/responses", TOKEN, &response).0, 200);
    assert_eq!(send(&two, "DELETE", &path, TOKEN, &Value::Null).0, 204);
    assert_eq!(send(&one, "GET", &path, TOKEN, &Value::Null).0, 404);
}

#[test]
fn the_audit_log_of_each_principal_is_one_at_all_servers() {
    let team = Team::new([]);
    let (here, there) = (team.machine(), team.machine());
    let [one, two] = [&here, &there].map(|env| {
        let file = token_file(env, &format!("{OTHER}\n"));
        team.open(env, &["--token-file", &file])
    });
    let call = |gate: &Gate, token: &str| {
        let arguments = json!({ "arguments": { "expression": "6*7" } });
        assert_eq!(send(gate, "POST", "/api/tools/essentials/calculator", token, &arguments).0, 200);
    };
    call(&one, TOKEN);
    call(&two, TOKEN);
    call(&two, OTHER);
    let log = |gate: &Gate, token: &str| json_of(send(gate, "GET", "/api/audit", token, &Value::Null));
    for gate in [&one, &two] {
        for (token, calls) in [(TOKEN, 2), (OTHER, 1)] {
            let log = log(gate, token);
            assert_eq!((log["items"].as_array().unwrap().len(), &log["verified"]), (calls * 3, &json!(true)));
        }
    }
    let response = json!({ "model": "understudy", "input": "What is 6*7?", "store": false });
    assert_eq!(send(&one, "POST", "/v1/responses", TOKEN, &response).0, 200);
    assert_eq!(log(&two, TOKEN)["items"].as_array().unwrap().len(), 9);
    let verified = here.run(&["audit", "verify", "--json", "--store", &team.url]).exits(0).json();
    assert_eq!(
        (verified["chains"].as_array().unwrap().len(), &verified["chains"][1]["records"]),
        (2, &json!(3))
    );
    for env in [&here, &there] {
        let files = crate::env::files(&env.path("home/.local"));
        assert!(!files.iter().any(|file| format!("{file:?}").contains("audit")), "{files:?}");
    }
    team.sql("UPDATE converse.audit SET line = overlay(line placing 'x'::bytea from 200) WHERE seq = 4");
    assert_eq!(log(&one, TOKEN)["verified"], false);
    assert_eq!(log(&one, OTHER)["verified"], true);
}

#[test]
fn a_turn_is_seen_and_cancelled_at_another_server_and_its_key_is_known_there() {
    let slow = || calls([("upstream__slow", json!({}))]);
    let team = Team::new([slow(), text("Done."), slow()]);
    let (here, there) = (team.machine(), team.machine());
    let (has_begun, go) = slow_server(&here);
    let servers = here.path("servers").display().to_string();
    let flags = ["--ensembles", &servers, "-e", "upstream", "--allow", "upstream.*"];
    let (one, two) = (team.open(&here, &flags), team.open(&there, &flags));
    let key = "Idempotency-Key: once\r\n";
    let (status, accepted) = begun(&one, &team.question(""), key);
    assert_eq!(status, 202, "{accepted}");
    let id = json_of((status, accepted.clone()))["session"].as_str().unwrap().to_owned();
    let path = format!("/api/sessions/{id}");
    // It is saved when it is accepted.
    assert_eq!(get(&two, &path)["messages"][0]["role"], "user");
    let (status, replayed) = begun(&two, &team.question(""), key);
    assert!(status == 202 && replayed.contains("idempotent-replayed: true"), "{replayed}");
    assert_eq!(json_of((status, replayed))["session"], json!(id));
    has_begun.recv_timeout(LIMIT).unwrap();
    assert_eq!(get(&two, &path)["running"], true);
    assert_eq!(get(&two, "/api/sessions")["items"][0]["running"], true);
    let (status, refused) = begun(&two, &team.question(&id), "");
    assert!(status == 409 && refused.contains("busy"), "{refused}");
    assert_eq!(send(&two, "DELETE", &path, TOKEN, &Value::Null).0, 409);

    // Followed at both, from the beginning: the other server tells the same, as whole messages.
    let position = std::thread::scope(|scope| {
        let [here, there] = [&one, &two].map(|gate| scope.spawn(|| follow(gate, &id, "0.0.0")));
        go.send(()).unwrap();
        let (here, there) = (here.join().unwrap(), there.join().unwrap());
        assert_eq!(course(&there), course(&here), "{there:?}");
        assert_eq!((words(&there).as_str(), outcome(&there)), ("Done.", &json!("success")));
        assert_eq!(there.last().unwrap().1, here.last().unwrap().1, "the end is the same, with its run");
        there.last().unwrap().0.clone()
    });
    assert_eq!(get(&two, &path)["running"], false);

    let (status, _) = begun(&one, &team.question(&id), "");
    assert_eq!(status, 202);
    has_begun.recv_timeout(LIMIT).unwrap();
    std::thread::scope(|scope| {
        let there = scope.spawn(|| follow(&two, &id, &position));
        let cancelled = send(&two, "POST", &format!("{path}/cancel"), TOKEN, &Value::Null);
        assert_eq!(cancelled.0, 202, "{}", cancelled.1);
        assert_eq!(outcome(&there.join().unwrap()), "cancelled");
    });
    assert_eq!(send(&two, "POST", &format!("{path}/cancel"), TOKEN, &Value::Null).0, 404);
    go.send(()).unwrap();
    assert_eq!(team.provider.requests().len(), 3, "no turn ran twice");
}

#[test]
fn an_approval_is_answered_at_another_server() {
    let write = calls([("io__write_file", json!({ "path": "note.txt", "content": "hello" }))]);
    let team = Team::new([write, text("Written.")]);
    let (here, there) = (team.machine(), team.machine());
    let (one, two) = (team.open(&here, &[]), team.open(&there, &[]));
    let asked = run(&one, &team.question(""));
    let (id, position) = (session_of(&asked), asked.last().unwrap().0.clone());
    let question = get(&two, "/api/approvals")["items"][0]["id"].clone();
    assert_eq!(question, asked.last().unwrap().1["outcome"]["interrupts"][0]["id"], "{asked:?}");
    std::thread::scope(|scope| {
        let follows = scope.spawn(|| follow(&one, &id, &position));
        assert_eq!(answer(&two, &question, &json!({ "decision": "once" }))["left"], 0);
        let rest = follows.join().unwrap();
        assert_eq!((words(&rest).as_str(), outcome(&rest)), ("Written.", &json!("success")), "{rest:?}");
    });
    assert!(!here.path("work/note.txt").exists(), "the server that got the answer runs the turn");
    assert_eq!(std::fs::read_to_string(there.path("work/note.txt")).unwrap(), "hello");
    for gate in [&one, &two] {
        assert_eq!(get(gate, "/api/approvals")["items"], json!([]));
        let path = format!("/api/approvals/{}", question.as_str().unwrap());
        assert_eq!(send(gate, "POST", &path, TOKEN, &json!({ "decision": "once" })).0, 404);
    }
}

#[test]
fn the_turn_of_a_server_that_was_killed_is_closed_by_another_and_the_session_goes_on() {
    let slow = calls([("upstream__slow", json!({}))]);
    let team = Team::new([slow, text("Goes on.")]);
    let (here, there) = (team.machine(), team.machine());
    let (has_begun, go) = slow_server(&here);
    let servers = here.path("servers").display().to_string();
    let flags = ["--ensembles", &servers, "-e", "upstream", "--allow", "upstream.*"];
    let (mut one, two) = (team.open(&here, &flags), team.open(&there, &flags));
    let (status, accepted) = begun(&one, &team.question(""), "Idempotency-Key: once\r\n");
    let id = json_of((status, accepted))["session"].as_str().unwrap().to_owned();
    has_begun.recv_timeout(LIMIT).unwrap();
    one.child.kill().unwrap();
    one.child.wait().unwrap();
    let seen = follow(&two, &id, "0.0.0");
    let last = &seen.last().unwrap().1;
    assert_eq!((&last["type"], &last["code"]), (&json!("RUN_ERROR"), &json!("interrupted")), "{seen:?}");
    let shown = get(&two, &format!("/api/sessions/{id}"));
    assert!(shown["running"] == false && shown.to_string().contains("outcome is unknown"), "{shown}");
    // The key was answered when the turn was saved.
    let (status, replayed) = begun(&two, &team.question(""), "Idempotency-Key: once\r\n");
    assert!(status == 202 && replayed.contains("idempotent-replayed"), "{replayed}");
    let next = run(&two, &team.question(&id));
    assert_eq!((words(&next).as_str(), outcome(&next)), ("Goes on.", &json!("success")));
    assert!(has_begun.try_recv().is_err(), "the call ran once");
    go.send(()).unwrap();
}

#[test]
fn a_server_is_ready_while_its_database_answers_and_tells_of_changes_elsewhere() {
    let team = Team::new([text("One.")]);
    let (here, there) = (team.machine(), team.machine());
    let (one, two) = (team.open(&here, &[]), team.open(&there, &[]));
    let mut stream = TcpStream::connect(&two.address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let more = format!("authorization: Bearer {TOKEN}\r\n\r\n");
    stream.write_all(head(&two, "GET", "/api/events", &more).as_bytes()).unwrap();
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    assert!(lines.any(|line| line == ": "), "it listens");
    let id = session_of(&run(&one, &team.question("")));
    let told = lines.find_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data: ")?).ok());
    assert_eq!(told.unwrap()["id"], json!(id));

    team.database.crash().unwrap();
    wait_until("the server is not ready", || !is_ready(&one));
    let (status, refused) = send(&one, "GET", &format!("/api/sessions/{id}"), TOKEN, &Value::Null);
    assert!(status >= 500, "a failure is not a missing session: {refused}");
    team.database.resume().unwrap();
    wait_until("the server is ready", || is_ready(&one));
    assert_eq!(get(&one, &format!("/api/sessions/{id}"))["total"], 2);
}

#[test]
fn a_turn_that_was_accepted_survives_a_crash_of_the_database() {
    let stalled = Line::Bent(text("Hello."), |answer| (answer.stall, answer.cut_at) = (true, Some(8)));
    let mut team = Team::with(Provider::chat([stalled]));
    // A server that cannot send messages, and a database that writes nothing to its disk by itself: only what waits for the
    // disk is there after a crash.
    team.sql("CREATE ROLE member LOGIN; GRANT CREATE ON DATABASE test0 TO member");
    team.sql("REVOKE EXECUTE ON FUNCTION pg_notify FROM PUBLIC");
    team.sql("ALTER SYSTEM SET wal_writer_delay = '10s'");
    team.sql("SELECT pg_reload_conf()");
    team.url = team.url.replace("//converse@", "//member@");
    let env = team.machine();
    let one = team.open(&env, &[]);
    let (status, accepted) = begun(&one, &team.question(""), "");
    team.database.crash().unwrap();
    assert_eq!(status, 202, "{accepted}");
    team.database.resume().unwrap();
    let saved =
        "SELECT count(*) FROM converse.entries WHERE position('Go.' IN convert_from(line, 'UTF8')) > 0";
    assert_eq!(team.sql(saved), "1", "the message was lost");
}

#[test]
fn a_database_that_hangs_holds_up_its_turns_and_nothing_else() {
    let team = Team::new([calls([("upstream__slow", json!({}))]), text("Done.")]);
    let env = team.machine();
    let (has_begun, go) = slow_server(&env);
    let servers = env.path("servers").display().to_string();
    let one = team.open(&env, &["--ensembles", &servers, "-e", "upstream", "--allow", "upstream.*"]);
    let (status, accepted) = begun(&one, &team.question(""), "");
    assert_eq!(status, 202, "{accepted}");
    let id = json_of((status, accepted))["session"].as_str().unwrap().to_owned();
    has_begun.recv_timeout(LIMIT).unwrap();
    std::thread::scope(|scope| {
        let lock = "BEGIN; LOCK TABLE converse.entries IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(1000)";
        let locked = "SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted";
        let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
        let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'BEGIN; LOCK %'";
        let holder = scope.spawn(|| team.database.sql("test0", lock));
        wait_until("the journals are locked", || team.sql(locked) != "0");
        go.send(()).unwrap();
        wait_until("a statement of the turn waits", || team.sql(waiting) != "0");
        assert_eq!(send(&one, "GET", "/healthz", TOKEN, &Value::Null).0, 200);
        let messages = json!([{ "role": "user", "content": "What is 6*7?" }]);
        let chat = json!({ "model": "understudy", "messages": messages });
        let (status, said) = send(&one, "POST", "/v1/chat/completions", TOKEN, &chat);
        assert!(status == 200 && said.contains("42"), "{said}");
        assert_ne!(team.sql(waiting), "0", "they were answered when the statement had been given up");
        team.sql(end);
        assert!(holder.join().unwrap().is_err(), "the lock was held until now");
    });
    let rest = follow(&one, &id, "0.0.0");
    assert_eq!((words(&rest).as_str(), outcome(&rest)), ("Done.", &json!("success")), "{rest:?}");
}

#[test]
fn an_audit_log_that_hangs_holds_up_calls_and_nothing_else() {
    let team = Team::new([]);
    let env = team.machine();
    let one = team.open(&env, &[]);
    let arguments = json!({ "arguments": { "expression": "6*7" } });
    let call = || send(&one, "POST", "/api/tools/essentials/calculator", TOKEN, &arguments).0;
    assert_eq!(call(), 200);
    std::thread::scope(|scope| {
        let lock = "BEGIN; LOCK TABLE converse.audit_heads IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(1000)";
        let locked = "SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted";
        let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
        let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'BEGIN; LOCK %'";
        let holder = scope.spawn(|| team.database.sql("test0", lock));
        wait_until("the log is locked", || team.sql(locked) != "0");
        let called = scope.spawn(call);
        wait_until("an append waits", || team.sql(waiting) != "0");
        for path in ["/healthz", "/api/sessions"] {
            assert_eq!(send(&one, "GET", path, TOKEN, &Value::Null).0, 200, "{path}");
        }
        assert_ne!(team.sql(waiting), "0", "they were answered when the append had been given up");
        team.sql(end);
        assert!(holder.join().unwrap().is_err(), "the lock was held until now");
        assert_eq!(called.join().unwrap(), 200);
    });
    assert_eq!(get(&one, "/api/audit")["items"].as_array().unwrap().len(), 6);
}
