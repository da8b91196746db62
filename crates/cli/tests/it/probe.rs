//! `converse mcp probe`, the list of tools that nobody is started for, and what is told while servers are waited for.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::env::{Ran, TestEnv, wait};
use crate::fake_server::{FakeServer, at_once, brief, noted, own_command};
use crate::http::{Answer, serve};
use crate::terminal::Terminal;

fn probe(env: &TestEnv, options: &[&str], flags: &[&str]) -> Ran {
    let command = own_command(flags);
    let args = ["mcp", "probe"].iter().chain(options).map(ToString::to_string);
    let args = args.chain(["--".to_owned()]).chain(command);
    wait(env.command(args).spawn().unwrap())
}

#[test]
fn a_server_is_diagnosed_in_either_era() {
    at_once([("modern", "2026-07-28"), ("legacy", "2025-11-25")], |(era, protocol)| {
        let env = TestEnv::new();
        let flags = [&*format!("--era={era}"), "--stderr=hello from stderr", "--malformed=no_schema"];
        for option in ["auto", era, protocol] {
            let ran = probe(&env, &["--json", "--protocol", option], &flags);
            assert_eq!(ran.code, 0, "{}", brief(&ran));
            let found = ran.json();
            assert_eq!((&found["era"], &found["protocol"]), (&json!(era), &json!(protocol)), "{found}");
            assert_eq!(found["server"]["name"], "fake-server", "{found}");
            assert_eq!(found["reached"]["way"], "stdio");
            assert!(found["tools"].as_array().unwrap().contains(&json!("echo")), "{found}");
            assert!(found["capabilities"].as_array().unwrap().contains(&json!("tools")), "{found}");
            assert!(found["tools_tokens"].as_u64().unwrap() > 100, "{found}");
            assert!(found["stderr"].as_str().unwrap().contains("hello from stderr"), "{found}");
            let (least, middle) =
                (found["list_min_s"].as_f64().unwrap(), found["list_median_s"].as_f64().unwrap());
            assert!(0.0 < least && least <= middle, "{found}");
        }
        let text = probe(&env, &[], &flags).exits(0).stdout;
        for part in [protocol, era, "echo", "tokens", "median of 5", "hello from stderr"] {
            assert!(text.contains(part), "no {part:?} in {text}");
        }
    });
}

#[test]
fn a_server_of_the_other_era_is_not_reached() {
    let env = TestEnv::new();
    let ran = probe(&env, &["--protocol", "legacy"], &["--era=modern"]).exits(10);
    assert!(ran.stdout.is_empty() && ran.stderr.contains("probe"), "{}", brief(&ran));
}

#[test]
fn one_that_cannot_be_reached_says_why() {
    let env = TestEnv::new();
    let ran = probe(&env, &["--json"], &["--stderr=no licence", "--exit=3"]).exits(10);
    assert!(ran.stderr.contains("no licence") && ran.stderr.contains("exit status: 3"), "{}", brief(&ran));
    let ran = probe(&env, &["--timeout", "1"], &["--idle"]).exits(10);
    assert!(ran.stderr.contains("within 1 s"), "{}", brief(&ran));
    let ran = env.run(&["mcp", "probe", "http://127.0.0.1:9/mcp", "--timeout", "2"]).exits(10);
    assert!(ran.stderr.contains("could not be reached"), "{}", brief(&ran));
    env.run(&["mcp", "probe", "localhost:9"]).exits(2);
    env.run(&["mcp", "probe", "http://127.0.0.1:9/mcp", "--elicit", "ask"]).exits(2);
}

#[test]
fn tools_are_called_with_what_was_typed() {
    let env = TestEnv::new();
    let echo = ["--call", "echo", r#"{"text": "hi"}"#];
    let ran = probe(&env, &[&["--json"][..], &echo, &["--call", "pid", "{}"]].concat(), &[]);
    assert_eq!(ran.code, 0, "{}", brief(&ran));
    let calls = ran.json()["calls"].clone();
    assert_eq!(calls[0]["tool"], "echo");
    assert_eq!((&calls[0]["outcome"], &calls[0]["content"][0]["text"]), (&json!("success"), &json!("hi")));
    assert_eq!(calls[0]["arguments"], json!({ "text": "hi" }));
    assert_eq!(calls[1]["outcome"], "success", "in the order they were typed: {calls}");

    for (call, outcome) in [(["fail", "{}"], "failed"), (["echo", r#"{"text": 1}"#], "invalid")] {
        let ran = probe(&env, &["--json", "--call", call[0], call[1]], &[]).exits(10);
        assert_eq!(ran.json()["calls"][0]["outcome"], outcome, "{}", brief(&ran));
        assert!(ran.stderr.contains("1 of 1 call did not succeed"), "{}", brief(&ran));
    }
    let ran = probe(&env, &["--call", "ecko", "{}"], &[]).exits(2);
    assert!(ran.stderr.contains("did you mean `echo`"), "{}", brief(&ran));
    let ran = probe(&env, &["--call", "echo", "{\"text\": 1, \"text\": 2}"], &[]).exits(2);
    assert!(ran.stderr.contains("given twice"), "{}", brief(&ran));
}

#[test]
fn every_tool_is_called_with_the_least_that_fits() {
    let env = TestEnv::new();
    env.write("tools.json", TOOLS);
    let file = format!("--tool-file={}", env.path("tools.json").display());
    let ran = probe(&env, &["--json", "--call-all"], &[&file]).exits(0);
    let calls = ran.json()["calls"].as_array().unwrap().clone();
    let called: Vec<(&str, &Value)> =
        calls.iter().map(|call| (call["tool"].as_str().unwrap(), &call["outcome"])).collect();
    // A tool that refuses what was made up is no failure.
    let (success, failed) = (json!("success"), json!("failed"));
    assert_eq!(called, [("echo", &success), ("fail", &failed), ("pid", &success)], "{}", brief(&ran));
    assert!(
        calls[0]["arguments"]["text"].is_string() && calls[0]["arguments"]["more"].is_null(),
        "{calls:?}"
    );
    let again = probe(&env, &["--json", "--call-all"], &[&file]).json();
    assert_eq!(again["calls"][0]["arguments"], calls[0]["arguments"], "always the same");
    // One that falls silent is.
    let ran =
        probe(&env, &["--json", "--call-all", "--timeout", "1"], &[&file, "--mute=tools/call"]).exits(10);
    assert_eq!(ran.json()["calls"][0]["outcome"], "timeout", "{}", brief(&ran));
}

const TOOLS: &str = r#"[
    { "name": "echo", "description": "d", "inputSchema": {
        "type": "object", "properties": { "text": { "type": "string" }, "more": { "type": "string" } }, "required": ["text"] } },
    { "name": "fail", "inputSchema": { "type": "object" } },
    { "name": "pid", "inputSchema": { "type": "object" } }
]"#;

#[test]
fn a_rule_of_the_user_holds_for_a_probe_too() {
    let env = TestEnv::new();
    env.write("home/.config/converse/config.toml", "[permissions]\ndeny = [\"*.echo\"]\n");
    let ran = probe(&env, &["--json", "--call", "echo", r#"{"text": "hi"}"#], &[]).exits(10);
    assert_eq!(ran.json()["calls"][0]["outcome"], "refused", "{}", brief(&ran));
    let log = env.run(&["audit", "verify", "--json"]).exits(0).json();
    assert!(log["records"].as_u64().is_some_and(|records| records > 0), "{log}");
}

#[test]
fn tools_are_listed_from_what_was_seen_and_nothing_is_started() {
    let env = TestEnv::new();
    let journal = env.path("journal").display().to_string();
    let fake = FakeServer::new("fake", &[&*format!("--journal={journal}")]);
    fake.and("[tools]\nexclude = [\"pid\"]\n").write(&env);
    let dir = env.path("servers").display().to_string();
    let list = |more: &[&str]| {
        env.run(&[&["ensembles", "list", "--tools", "--ensembles", &dir], more].concat()).exits(0)
    };
    let started = || noted(&env, "journal", "tools/list");

    let text = list(&[]).stdout;
    assert!(text.contains("fake: not seen yet: `converse ensembles show fake --connect`"), "{text}");
    assert!(text.contains("essentials: ") && text.contains("calculator"), "{text}");
    let row =
        |listed: &Value| listed.as_array().unwrap().iter().find(|row| row["name"] == "fake").unwrap().clone();
    let unseen = row(&list(&["--json"]).json());
    assert_eq!((&unseen["invokers"], &unseen["seen_s_ago"]), (&Value::Null, &Value::Null));
    assert_eq!(started(), 0);

    env.run(&["ensembles", "show", "fake", "--connect", "--ensembles", &dir]).exits(0);
    let seen = started();
    assert!(seen > 0);
    let text = list(&[]).stdout;
    assert!(text.contains("fake: 8 tools, seen ") && text.contains("Repeats a text word for word"), "{text}");
    let found = row(&list(&["--json"]).json());
    let names: Vec<&str> =
        found["invokers"].as_array().unwrap().iter().map(|tool| tool["invoker"].as_str().unwrap()).collect();
    assert!(names.contains(&"echo") && !names.contains(&"pid"), "as its descriptor keeps them: {names:?}");
    assert!(found["seen_s_ago"].as_u64().is_some_and(|age| age < 3600), "{found}");
    assert_eq!(started(), seen, "nothing was started for it");

    // Another command line is another server, of which nothing is known.
    FakeServer::new("fake", &[]).write(&env);
    assert!(list(&[]).stdout.contains("fake: not seen yet"));
}

fn slow(env: &TestEnv, names: [&'static str; 2], ms: u64) -> String {
    for name in names {
        FakeServer::new(name, &[&*format!("--slow={ms}"), "--era=legacy"])
            .connection("protocol = \"legacy\"")
            .write(env);
    }
    env.path("servers").display().to_string()
}

#[test]
fn whoever_is_waited_for_is_told_on_a_terminal_and_taken_away() {
    let env = TestEnv::new();
    let dir = slow(&env, ["first", "second"], 2600);
    let began = Instant::now();
    let args = ["ensembles", "check", "--connect", &dir, "--color", "never"];
    let mut terminal = Terminal::run(&env, &args);
    terminal.shows("starting first … 1 s");
    terminal.shows("starting second … ");
    assert!(began.elapsed() >= Duration::from_secs(1), "not before there is something to wait for");
    terminal.shows("starting first … 2 s");
    let screen = terminal.shows(" 0 errors, ").to_owned();
    assert_eq!(terminal.ends(), 0, "{screen:?}");
    // What was drawn is erased before the answer: everything below is cleared after the last of it.
    let last = screen.rfind("starting ").unwrap();
    assert!(screen[last..].contains("\r\u{1b}[J"), "{screen:?}");
}

#[test]
fn elsewhere_a_line_or_nothing_is_told() {
    at_once([(&["--plain"][..], 4600_u64, 1), (&["--quiet"], 1500, 0)], |(flags, ms, lines)| {
        let env = TestEnv::new();
        let dir = slow(&env, ["first", "first"], ms);
        let args = [&["ensembles", "check", "--connect", &dir], flags].concat();
        let mut terminal = Terminal::run(&env, &args);
        let screen = terminal.shows("0 errors").to_owned();
        assert_eq!(screen.matches("starting first … 4 s").count(), lines, "{flags:?} {screen:?}");
        assert_eq!(screen.matches("starting").count(), lines, "{flags:?} {screen:?}");
        assert_eq!(terminal.ends(), 0);
    });
    let env = TestEnv::new();
    let dir = slow(&env, ["first", "first"], 1500);
    let piped = env.run(&["ensembles", "check", "--connect", &dir]).exits(0);
    assert!(!piped.stderr.contains("starting"), "{}", brief(&piped));
}

/// A legacy server with one tool that wants this key.
fn site(key: &'static str) -> u16 {
    serve(move |request| {
        if request.header("x-key") != Some(key) {
            return Answer::new(401, "text/plain", "who are you?").header("www-authenticate", "Bearer");
        }
        let message: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let result = match message["method"].as_str().unwrap_or_default() {
            "initialize" => json!({
                "protocolVersion": "2025-06-18", "capabilities": { "tools": {} },
                "serverInfo": { "name": "site", "version": "3" },
            }),
            "tools/list" => {
                json!({ "tools": [{ "name": "there", "inputSchema": { "type": "object", "anyOf": [{}] } }] })
            }
            "tools/call" => json!({ "content": [{ "type": "text", "text": "here" }] }),
            _ if request.method != "POST" => return Answer::new(405, "text/plain", ""),
            _ if message["id"].is_null() => return Answer::new(202, "text/plain", ""),
            _ => {
                let error = json!({ "code": -32601, "message": "no such method" });
                let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "error": error });
                return Answer::new(200, "application/json", answer.to_string());
            }
        };
        let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
        Answer::new(200, "application/json", answer.to_string())
    })
}

#[test]
fn a_server_over_http_gets_its_headers_and_the_report_shows_no_keys() {
    let env = TestEnv::new().var("SITE_WORD", "s3cret-and-long");
    let url = format!("http://127.0.0.1:{}/mcp?access=s3cret-and-long", site("s3cret-and-long"));
    let header = ["--header", "X-Key: ${SITE_WORD}"];
    let call = ["--call", "there", "{}"];
    let ran = env.run(&[&["mcp", "probe", &url, "--json"], &header[..], &call].concat()).exits(0);
    let found = ran.json();
    assert_eq!((&found["era"], &found["protocol"]), (&json!("legacy"), &json!("2025-06-18")), "{found}");
    assert_eq!(
        (&found["server"]["name"], &found["calls"][0]["content"][0]["text"]),
        (&json!("site"), &json!("here"))
    );
    let lint: Vec<&str> =
        found["lint"].as_array().unwrap().iter().map(|one| one["provider"].as_str().unwrap()).collect();
    assert!(lint.contains(&"Anthropic"), "it takes no `anyOf` at the root: {found}");
    assert!(found["reached"]["url"].as_str().unwrap().ends_with("/mcp"), "{found}");
    assert!(!ran.stdout.contains("s3cret"), "{}", brief(&ran));
    let text = env.run(&[&["mcp", "probe", &url], &header[..]].concat()).exits(0).stdout;
    assert!(text.contains("site 3") && text.contains("Anthropic") && !text.contains("s3cret"), "{text}");

    let ran = env.run(&["mcp", "probe", &url, "--header", "X-Key: another"]).exits(10);
    assert!(ran.stderr.contains("401") && ran.stdout.is_empty(), "{}", brief(&ran));
    let ran = env.run(&["mcp", "probe", &url, "--header", "X-Key: ${NOT_SET}"]).exits(10);
    assert!(ran.stderr.contains("NOT_SET"), "{}", brief(&ran));
}

/// A report is passed on, so what was typed on the command line is not in it as a whole.
#[test]
fn a_report_on_a_command_shows_no_keys() {
    let env = TestEnv::new();
    let command = own_command(&["--stderr=hello"]);
    for options in [&["--json"][..], &[]] {
        let typed = ["mcp", "probe"].iter().chain(options).chain(&["--", "env", "KEY=hunter2", "A=canary"]);
        let typed = typed.map(ToString::to_string).chain(command.clone());
        let ran = wait(env.command(typed).spawn().unwrap()).exits(0);
        assert!(ran.stdout.contains("env") && ran.stdout.contains("KEY=[redacted]"), "{}", brief(&ran));
        assert!(!format!("{ran:?}").contains("hunter2") && !ran.stdout.contains("canary"), "{}", brief(&ran));
    }
}

#[test]
fn questions_are_answered_as_it_was_said() {
    at_once(["legacy", "modern"], |era| {
        let env = TestEnv::new();
        let answered = |options: &[&str]| {
            let options = [&["--json", "--call", "ask", "{}"], options].concat();
            let ran = probe(&env, &options, &["--ask=form", &format!("--era={era}")]);
            ran.json()["calls"][0]["content"].to_string()
        };
        // It requires a field that has no default.
        let declined = answered(&["--elicit", "defaults"]);
        assert!(declined.contains("decline"), "{era}: {declined}");
        let untold = answered(&[]);
        assert!(!untold.contains("accept"), "{era}: {untold}");
    });
}
