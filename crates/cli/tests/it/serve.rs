//! `converse serve` over standard input and output, as other agents start it.

mod database;
mod isolation;
mod locks;
mod offers;
mod records;
mod reload;
mod tasks;
mod traces;
mod upstreams;

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};

use converse_testkit::hang_guard::{LIMIT, wait_until};
use serde_json::{Value, json};

use crate::env::canary::overhear;
use crate::env::{Ran, TestEnv, wait};
use crate::fake_server::FakeServer;

const LOG: &str = "home/.local/state/converse/audit.jsonl";

/// A gateway that runs, and its client.
struct Gate {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    others: Vec<Value>,
}

impl Gate {
    fn open(env: &TestEnv, flags: &[&str]) -> Self {
        let servers = env.path("servers");
        let mut command = env.command(["serve", "--ensembles"]);
        let mut child = command.arg(servers).args(flags).stdin(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = channel();
        let stdout = BufReader::new(overhear(child.stdout.take().unwrap()));
        std::thread::spawn(move || {
            stdout.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        let stdin = child.stdin.take();
        Self { child, stdin, lines, others: Vec::new() }
    }

    /// As an old client begins.
    fn begun(env: &TestEnv, flags: &[&str]) -> Self {
        let mut gate = Self::open(env, flags);
        let info = json!({ "name": "tester", "version": "9" });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info });
        gate.request(0, "initialize", params);
        let begun = gate.answer(0);
        assert_eq!(begun["result"]["serverInfo"]["name"], "converse", "{begun}");
        gate.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        gate
    }

    fn say(&mut self, message: &Value) {
        self.stdin.as_mut().unwrap().write_all(format!("{message}\n").as_bytes()).unwrap();
    }

    fn request(&mut self, id: u64, method: &str, params: Value) {
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
    }

    fn call(&mut self, id: u64, tool: &str, arguments: Value) {
        self.request(id, "tools/call", json!({ "name": tool, "arguments": arguments }));
    }

    fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.others.iter().position(&wanted) {
            return self.others.remove(at);
        }
        loop {
            let line = self.lines.recv_timeout(LIMIT).expect("nothing came");
            let message: Value = serde_json::from_str(&line).expect("stdout carries JSON and nothing else");
            assert_eq!(message["jsonrpc"], "2.0", "{line}");
            if wanted(&message) {
                return message;
            }
            self.others.push(message);
        }
    }

    fn answer(&mut self, id: u64) -> Value {
        self.until(|message| message["id"] == id && message.get("method").is_none())
    }

    fn names(&mut self, id: u64) -> Vec<String> {
        self.request(id, "tools/list", json!({}));
        let list = self.answer(id);
        let tools = list["result"]["tools"].as_array().expect("a list").iter();
        tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(std::process::Command::new("kill").args([name, &pid]).status().unwrap().success());
    }

    /// Waits until a call has been started, by the audit.
    fn started(&self, env: &TestEnv, count: usize) {
        wait_until("a call is started", || {
            audit(env).iter().filter(|line| line["kind"] == "started").count() >= count
        });
    }

    /// Ends it, as clients do.
    fn hang_up(mut self) -> (Ran, Vec<Value>) {
        self.stdin = None;
        self.ended()
    }

    /// How it ended, and what it said last.
    fn ended(self) -> (Ran, Vec<Value>) {
        let ran = wait(self.child);
        let rest = self.lines.iter().map(|line| serde_json::from_str(&line).unwrap());
        (ran, self.others.iter().cloned().chain(rest).collect())
    }
}

fn audit(env: &TestEnv) -> Vec<Value> {
    let text = std::fs::read_to_string(env.path(LOG)).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_default()
}

fn modern() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "newer", "version": "1" },
    })
}

#[test]
fn tools_of_servers_and_our_own_are_served_in_both_eras_and_audited() {
    let env = TestEnv::new();
    FakeServer::new("up", &[]).write(&env);
    let mut gate = Gate::begun(&env, &[]);
    let names = gate.names(1);
    assert!(names.contains(&"up__echo".to_owned()), "{names:?}");
    assert!(names.contains(&"essentials__calculator".to_owned()), "{names:?}");
    gate.call(2, "up__echo", json!({ "text": "hello" }));
    assert_eq!(text(&gate.answer(2)), "hello");
    gate.call(3, "up__image", json!({}));
    let image = gate.answer(3);
    assert_eq!(image["result"]["content"][0]["type"], "image", "{image}");
    assert!(image["result"]["content"][0]["data"].as_str().unwrap().starts_with("iVBOR"), "{image}");
    gate.call(4, "up__fail", json!({}));
    assert_eq!(gate.answer(4)["result"]["isError"], true);
    gate.call(5, "essentials__calculator", json!({ "expression": "6*7" }));
    assert!(text(&gate.answer(5)).contains("42"));
    gate.call(6, "up__no_such", json!({}));
    assert_eq!(gate.answer(6)["error"]["code"], -32602);
    let (ran, rest) = gate.hang_up();
    assert_eq!((ran.code, rest, ran.stderr.as_str()), (0, vec![], ""));

    let mut gate = Gate::open(&env, &[]);
    gate.request(1, "server/discover", json!({ "_meta": modern() }));
    let found = gate.answer(1);
    assert!(
        found["result"]["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")),
        "{found}"
    );
    let params = json!({ "name": "up__echo", "arguments": { "text": "new" }, "_meta": modern() });
    gate.request(2, "tools/call", params);
    let answer = gate.answer(2);
    assert_eq!((text(&answer), &answer["result"]["resultType"]), ("new", &json!("complete")), "{answer}");
    assert_eq!(gate.hang_up().0.code, 0);

    env.run(&["audit", "verify"]).exits(0);
    let log = audit(&env);
    let of = |invocation: &str, client: &str| -> Vec<String> {
        let lines = log.iter().filter(|line| line["invocation"] == invocation && line["client"] == client);
        lines
            .map(|line| format!("{} {}", line["kind"].as_str().unwrap(), line["tool"].as_str().unwrap()))
            .collect()
    };
    let whole = ["decided up__echo", "started up__echo", "finished up__echo"];
    assert_eq!(
        (of("inv_1_0", "\"tester 9\""), of("inv_1_0", "\"newer 1\"")),
        (whole.map(String::from).into(), whole.map(String::from).into())
    );
    assert_eq!(of("inv_5_0", "\"tester 9\""), ["finished up__no_such"]);
    let mut sessions: Vec<_> = log.iter().map(|line| line["session"].as_str().unwrap()).collect();
    sessions.dedup();
    assert_eq!(sessions.len(), 2, "{sessions:?}");
    assert!(sessions.iter().all(|session| session.starts_with("serve-")));
}

#[test]
fn a_view_is_served_to_a_client_that_names_it() {
    let env = TestEnv::new();
    FakeServer::new("up", &[]).write(&env);
    env.write(
        "home/.config/converse/config.toml",
        "[[views]]\nname = \"words\"\ninstructions = \"Say it.\"\ntokens = [\"00000000\"]\ntools = [\"up.image\", \
         { tool = \"up.echo\", name = \"say\", arguments = { text = \"fixed\" } }]\n",
    );
    let mut gate = Gate::open(&env, &["--view", "words"]);
    let info = json!({ "name": "tester", "version": "9" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info });
    gate.request(0, "initialize", params);
    let begun = gate.answer(0);
    assert!(begun["result"]["instructions"].as_str().unwrap().starts_with("Say it.\n"), "{begun}");
    gate.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    assert_eq!(gate.names(1), ["say", "up__image"]);
    gate.call(2, "say", json!({}));
    assert_eq!(text(&gate.answer(2)), "fixed");
    gate.call(3, "say", json!({ "text": "mine" }));
    let given = gate.answer(3);
    assert!(text(&given).contains("`text` is not an argument of this tool"), "{given}");
    gate.call(4, "up__echo", json!({ "text": "mine" }));
    assert_eq!(gate.answer(4)["error"]["message"], "unknown tool: up__echo");
    let (ran, _) = gate.hang_up();
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let started = audit(&env).into_iter().find(|line| line["kind"] == "started").unwrap();
    assert_eq!(
        (&started["tool"], &started["client"]),
        (&json!("up__echo"), &json!("\"tester 9\" in view words"))
    );
    let unknown = env.run(&["serve", "--view", "wrods"]).exits(2);
    assert!(
        unknown.stderr.contains("error[unknown-view]") && unknown.stderr.contains("did you mean `words`?")
    );
}

#[test]
fn rules_hold_and_what_nobody_can_be_asked_about_is_refused_in_words() {
    let env = TestEnv::new();
    FakeServer::new("up", &[]).policy("").write(&env);
    let descriptor = std::fs::read_to_string(env.path("servers/up.toml")).unwrap();
    env.write("servers/up.toml", &descriptor.replace("permission = \"allow\"", ""));
    for (flags, runs, words) in [
        (&[][..], false, "`--allow 'up.echo'` gives it"),
        (&["--allow", "up.*"][..], true, "hello"),
        (&["--allow", "up.*", "--deny", "up.echo"][..], false, "not allowed by the rule"),
    ] {
        let mut gate = Gate::begun(&env, flags);
        gate.call(1, "up__echo", json!({ "text": "hello" }));
        let answer = gate.answer(1);
        assert!(text(&answer).contains(words), "{flags:?}: {answer}");
        assert_eq!(answer["result"]["isError"] == true, !runs);
        gate.call(2, "essentials__calculator", json!({ "expression": 5 }));
        let invalid = gate.answer(2);
        assert!(invalid["result"]["isError"] == true && text(&invalid).contains("/expression"), "{invalid}");
        assert_eq!(gate.hang_up().0.code, 0);
    }
    let started = audit(&env).iter().filter(|line| line["kind"] == "started").count();
    assert_eq!(started, 1);
}

#[test]
fn calls_run_side_by_side_and_can_be_taken_back() {
    let env = TestEnv::new();
    FakeServer::new("up", &[]).write(&env);
    let mut gate = Gate::begun(&env, &[]);
    for id in 1..=3 {
        gate.call(id, "up__meet", json!({ "count": 3 }));
    }
    for id in 1..=3 {
        assert_eq!(text(&gate.answer(id)), "met");
    }
    gate.call(4, "up__sleep", json!({ "ms": 60_000 }));
    gate.started(&env, 4);
    let cancelled = json!({ "requestId": 4, "reason": "enough" });
    gate.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled }));
    gate.call(5, "up__progress", json!({ "steps": 0 }));
    gate.answer(5);
    let params = json!({ "name": "up__progress", "arguments": { "steps": 3, "ms": 100 }, "_meta": { "progressToken": "t" } });
    gate.request(6, "tools/call", params);
    gate.answer(6);
    let steps = gate.others.iter().filter(|message| message["method"] == "notifications/progress").count();
    // The last one may come too late to be passed on.
    assert!((2..=3).contains(&steps), "{steps}");
    let (ran, rest) = gate.hang_up();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(!rest.iter().any(|message| message["id"] == 4), "{rest:?}");
    let outcomes: Vec<_> = audit(&env).into_iter().filter(|line| line["invocation"] == "inv_4_0").collect();
    assert_eq!(outcomes.last().unwrap()["outcome"], "cancelled");
}

#[test]
fn whatever_ends_it_first_answers_what_runs() {
    for how in ["EOF", "-TERM", "-INT", "both"] {
        let env = TestEnv::new();
        FakeServer::new("up", &[]).write(&env);
        let mut gate = Gate::begun(&env, &["--drain", "600"]);
        let ms = if how == "both" { 600_000 } else { 500 };
        gate.call(1, "up__sleep", json!({ "ms": ms }));
        gate.started(&env, 1);
        if matches!(how, "EOF" | "both") {
            gate.stdin = None;
        }
        if how == "both" {
            gate.signal("-TERM");
        } else if how != "EOF" {
            gate.signal(how);
        }
        let (ran, rest) = gate.ended();
        assert_eq!(ran.code, 0, "{how}: {}", ran.stderr);
        let last =
            rest.iter().find(|message| message["id"] == 1).unwrap_or_else(|| panic!("{how}: {rest:?}"));
        let words = if how == "both" { "cancelled before it had answered" } else { "woken" };
        assert_eq!(text(last), words, "{how}");
        let log = audit(&env);
        assert_eq!(log.last().unwrap()["kind"], "finished", "{how}");
    }
}

#[test]
fn nonsense_and_long_lines_are_answered_and_do_not_end_it() {
    let env = TestEnv::new();
    FakeServer::new("up", &[]).write(&env);
    let mut gate = Gate::open(&env, &[]);
    let mut stdin = gate.stdin.take().unwrap();
    stdin.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    stdin.write_all(&vec![b'x'; 17 * 1024 * 1024]).unwrap();
    stdin.write_all(b"\n").unwrap();
    gate.stdin = Some(stdin);
    assert_eq!(gate.until(|_| true)["error"]["code"], -32700);
    let long = gate.until(|_| true);
    assert!(long["error"]["message"].as_str().unwrap().contains("16 MiB"), "{long}");
    gate.request(1, "server/discover", json!({ "_meta": modern() }));
    gate.answer(1);
    assert_eq!(gate.hang_up().0.code, 0);
}

#[test]
fn a_gateway_behind_a_gateway_reaches_its_tools() {
    let env = TestEnv::new();
    FakeServer::new("up", &[]).write(&env);
    let inner = env.path("servers").display().to_string();
    for era in ["legacy", "modern"] {
        let own = env!("CARGO_BIN_EXE_converse");
        let outer = FakeServer::new("outer", &[])
            .command(&[own, "serve", "--ensembles", &inner, "--ensemble", "up"])
            .connection(&format!("protocol = \"{era}\""))
            .ensemble("enabled = true");
        // Beside the inner ones, so that they are not served by it.
        let text = {
            outer.write(&env);
            let written = env.path("servers/outer.toml");
            let text = std::fs::read_to_string(&written).unwrap();
            std::fs::remove_file(written).unwrap();
            text
        };
        env.write("outside/outer.toml", &text);
        let outside = env.path("outside").display().to_string();
        let call = |tool: &str, arguments: &str| {
            env.run(&["ensembles", "call", tool, arguments, "--json", "--ensembles", &outside])
        };
        let ran = call("outer.up__echo", r#"{"text":"through two"}"#).exits(0);
        assert_eq!(ran.json()["content"][0]["text"], "through two", "{era}");
        let ran = call("outer.up__fail", "{}").exits(10);
        assert_eq!(ran.json()["outcome"], "failed", "{era}");
        let ran = call("outer.up__image", "{}").exits(0);
        assert_eq!(ran.json()["content"][0]["mime"], "image/png", "{era}");
    }
    env.run(&["audit", "verify"]).exits(0);
    let log = audit(&env);
    let inner =
        log.iter().filter(|line| line["client"].as_str().is_some_and(|client| client.contains("converse")));
    assert_eq!(inner.filter(|line| line["kind"] == "started").count(), 6, "each of them is audited twice");
}

#[test]
fn two_servers_may_have_tools_of_one_name() {
    let env = TestEnv::new();
    FakeServer::new("one", &[]).write(&env);
    FakeServer::new("two", &[]).write(&env);
    let mut gate = Gate::begun(&env, &[]);
    let names = gate.names(1);
    assert!(
        ["one__echo", "two__echo"].iter().all(|name| names.iter().any(|there| there == name)),
        "{names:?}"
    );
    assert_eq!(gate.hang_up().0.code, 0);

    let (ran, _) = Gate::open(&env, &["--bare-names"]).hang_up();
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert!(ran.stderr.contains("error[name-clash]"), "{}", ran.stderr);
    assert!(ran.stderr.contains("`one.") && ran.stderr.contains("`two."), "{}", ran.stderr);
    assert!(ran.stderr.contains("`enabled = false` or `exclude`"), "{}", ran.stderr);

    let mut gate = Gate::begun(&env, &["--bare-names", "--ensemble", "one"]);
    assert!(gate.names(1).contains(&"echo".to_owned()));
    gate.call(2, "echo", json!({ "text": "bare" }));
    assert_eq!(text(&gate.answer(2)), "bare");
    assert_eq!(gate.hang_up().0.code, 0);
}

#[test]
fn what_cannot_be_had_is_told_and_the_rest_is_served() {
    let env = TestEnv::new();
    FakeServer::new("up", &[]).write(&env);
    FakeServer::new("down", &["--exit=3", "--stderr=no licence"]).write(&env);
    let mut gate = Gate::begun(&env, &[]);
    let names = gate.names(1);
    assert!(names.iter().any(|name| name == "up__echo"), "{names:?}");
    assert!(!names.iter().any(|name| name.starts_with("down__")), "{names:?}");
    let (ran, _) = gate.hang_up();
    assert_eq!(ran.code, 0);
    assert!(ran.stderr.contains("`down`") && ran.stderr.contains("no licence"), "{}", ran.stderr);

    // It may come later, also one that is required.
    FakeServer::new("down", &["--exit=3"]).ensemble("required = true").write(&env);
    let mut gate = Gate::begun(&env, &["--ensemble", "down", "--ensemble", "up"]);
    gate.call(1, "up__echo", json!({ "text": "served" }));
    assert_eq!(text(&gate.answer(1)), "served");
    assert_eq!(gate.hang_up().0.code, 0);
}

#[test]
fn what_nobody_has_trusted_is_not_served() {
    let env = TestEnv::new();
    FakeServer::new("up", &[]).write(&env);
    let mark = env.path("work/started");
    let command = json!(["/bin/sh", "-c", format!("touch {}; exec cat", mark.display())]);
    env.write(
        "work/ensembles/ours.toml",
        &format!("[ensemble]\nname = \"ours\"\ndescription = \"Of the project\"\n\n[connection]\ntransport = \"stdio\"\ncommand = {command}\n"),
    );
    let mut gate = Gate::begun(&env, &[]);
    assert!(!gate.names(1).iter().any(|name| name.starts_with("ours__")));
    let (ran, _) = gate.hang_up();
    assert!(ran.code == 0 && ran.stderr.contains("not trusted"), "{}", ran.stderr);
    assert!(!mark.exists(), "it was started");
    let (ran, _) = Gate::open(&env, &["--ensemble", "ours"]).hang_up();
    assert_eq!(ran.code, 3, "{}", ran.stderr);
}

#[test]
fn thousands_of_calls_leave_nothing_behind() {
    const ROUND: u64 = 1000;
    const AT_ONCE: u64 = 25;
    let env = TestEnv::new();
    FakeServer::new("up", &[]).write(&env);
    let mut gate = Gate::begun(&env, &["--ensemble", "up"]);
    let pid = gate.child.id();
    let mut held = Vec::new();
    for round in 0..5 {
        for batch in 0..ROUND / AT_ONCE {
            let first = 1 + round * ROUND + batch * AT_ONCE;
            for id in first..first + AT_ONCE {
                let tool = if id % 50 == 0 { "up__image" } else { "up__echo" };
                gate.call(id, tool, json!({ "text": "x".repeat(2000) }));
            }
            for id in first..first + AT_ONCE {
                let answer = gate.answer(id);
                assert!(answer["result"]["content"].is_array(), "{answer}");
            }
        }
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        held.push(line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap());
    }
    assert_eq!(gate.hang_up().0.code, 0);
    // The allocator gives memory back when it likes. 2 KB that stay of each call would be 4 MB here.
    let least = |rounds: &[u64]| rounds.iter().min().copied().unwrap();
    assert!(least(&held[3..]) < least(&held[1..3]) + 2048, "KiB after each round: {held:?}");
    env.run(&["audit", "verify"]).exits(0);
}

/// Trust is compared at each start, not only when the gateway begins.
#[test]
fn a_script_that_is_swapped_while_it_serves_is_not_started() {
    let env = TestEnv::new();
    let script = env.write("work/tools/run.sh", "echo first\n");
    env.write(
        "work/ensembles/run.toml",
        "[ensemble]\nname = \"run\"\ndescription = \"d\"\n[[invokers]]\nname = \"run\"\ndescription = \"d\"\n\
         permission = \"allow\"\ncommand = { argv = [\"sh\", \"tools/run.sh\"] }\n",
    );
    std::fs::create_dir_all(env.path("servers")).unwrap();
    let hash = env.run(&["ensembles", "trust", "--json"]).exits(3).json()["sha256"].clone();
    env.run(&["ensembles", "trust", "--hash", hash.as_str().unwrap()]).exits(0);
    let mut gate = Gate::begun(&env, &[]);
    gate.call(1, "run__run", json!({}));
    assert_eq!(text(&gate.answer(1)).trim_end(), "first");
    std::fs::write(&script, "echo swapped\n").unwrap();
    gate.call(2, "run__run", json!({}));
    let answer = gate.answer(2);
    assert!(text(&answer).contains("not started: `tools/run.sh` has changed"), "{answer}");
    std::fs::write(&script, "echo first\n").unwrap();
    gate.call(3, "run__run", json!({}));
    assert_eq!(text(&gate.answer(3)).trim_end(), "first");
    assert_eq!(gate.hang_up().0.code, 0);
}
