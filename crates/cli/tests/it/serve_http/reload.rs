//! A configuration that changes while it is served over HTTP.

use rustix::process::{Pid, Signal, kill_process};

use super::tokens::{followed, read_to_its_end};
use super::upstreams::listener;
use super::*;
use crate::fake_server::FakeServer;

fn hang_up(gate: &Gate) {
    kill_process(Pid::from_child(&gate.child), Signal::HUP).unwrap();
}

#[test]
fn calls_listeners_and_figures_live_through_a_reload() {
    let env = TestEnv::new();
    FakeServer::new("same", &[]).write(&env);
    FakeServer::new("changing", &[]).write(&env);
    let servers = env.path("servers").display().to_string();
    let mut gate = Gate::open(&env, &["--ensembles", &servers]);
    let list = |gate: &Gate| gate.ask(&post("tools/list", &json!({}), None)).1;
    assert!(list(&gate).contains("changing__echo"));
    let process = |gate: &Gate, tool: &str| {
        let (_, answer) = gate.call(tool, &json!({}), None);
        let body: Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
        body["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    };
    let (same, changing) = (process(&gate, "same__pid"), process(&gate, "changing__pid"));
    let mut listener = listener(&gate);
    let running = |tool: &str, arguments: Value| {
        let mut stream = TcpStream::connect(&gate.address).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream.write_all(call(tool, &arguments, None).as_bytes()).unwrap();
        stream
    };
    let calls =
        [running("same__meet", json!({ "count": 2 })), running("changing__sleep", json!({ "ms": 4_000 }))];
    wait_until("they run", || gate.ask(&get("/metrics")).1.contains("\nconverse_calls_running 2\n"));
    FakeServer::new("changing", &["--many=1"]).write(&env);
    FakeServer::new("coming", &[]).write(&env);
    hang_up(&gate);
    let mut line = String::new();
    while !line.contains("notifications/tools/list_changed") {
        line.clear();
        assert_ne!(listener.read_line(&mut line).unwrap(), 0, "it ended");
    }
    wait_until("it is served", || list(&gate).contains("coming__echo"));
    assert_eq!(process(&gate, "same__pid"), same);
    assert_ne!(process(&gate, "changing__pid"), changing);
    gate.call("same__meet", &json!({ "count": 2 }), None);
    for mut stream in calls {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200") && !answer.contains("\"isError\":true"), "{answer}");
    }
    let (_, metrics) = gate.ask(&get("/metrics"));
    assert!(metrics.contains("converse_reloads_total{outcome=\"applied\"}"), "{metrics}");
    assert!(metrics.contains("converse_upstream_up{ensemble=\"coming\"} 1\n"), "{metrics}");
    assert!(!metrics.contains("outcome=\"refused\"}"), "{metrics}");

    env.write("servers/coming.toml", "[ensemble]\nname = 7\n");
    hang_up(&gate);
    while !gate.says().contains("coming.toml:2:8: error[") {}
    let (_, metrics) = gate.ask(&get("/metrics"));
    assert!(metrics.contains("converse_reloads_total{outcome=\"refused\"}"), "{metrics}");
    let (status, answer) = gate.ask(&get("/readyz"));
    assert!(status == 200 && answer.contains(r#""ensemble":"coming""#), "{answer}");
    assert!(list(&gate).contains("coming__echo"));
    drop(listener);
    gate.signal();
    assert_eq!(gate.ended().0, Some(0));
}

/// Signals a change, and returns what is taken over.
pub(super) fn taken_over(gate: &mut Gate) -> String {
    hang_up(gate);
    loop {
        let line = gate.says();
        assert!(!line.is_empty(), "it ended");
        if let Some(what) = line.trim_end().strip_prefix("note: the configuration was read again: ") {
            return what.to_owned();
        }
    }
}

const SETTINGS: &str = "home/.config/converse/config.toml";

#[test]
fn turns_and_calls_by_hand_begin_with_the_rules_and_settings_as_they_are() {
    let env = TestEnv::new().var("CONVERSE_SERVE_TOKEN", TOKEN);
    let mut gate = Gate::open(&env, &["-e", "essentials", "--openai", "--api"]);
    let chat = |gate: &Gate| {
        let asked = json!({ "role": "user", "content": "What is 15% of 2500?" });
        let asked = json!({ "model": "understudy", "messages": [asked] });
        openai::post(gate, "/v1/chat/completions", TOKEN, &asked).1
    };
    let by_hand = |gate: &Gate| {
        openai::post(gate, "/api/tools/essentials/calculator", TOKEN, &json!({ "arguments": sum() })).1
    };
    assert!(chat(&gate).contains("375"));
    assert!(by_hand(&gate).contains("42"));
    let preset = "[presets.short]\nsystem = \"Be short.\"\n";
    env.write(SETTINGS, &format!("{preset}[permissions]\ndeny = [\"essentials.calculator\"]\n"));
    assert_eq!(taken_over(&mut gate), "the rules; the settings of turns");
    for answer in [chat(&gate), by_hand(&gate)] {
        assert!(!answer.contains("375") && !answer.contains("\"42\""), "{answer}");
        assert!(answer.contains("not allowed by the rule"), "{answer}");
    }
    let models = openai::get(&gate, "/v1/models", TOKEN).1;
    assert!(models.contains("\"id\":\"short\""), "{models}");
    env.write(SETTINGS, preset);
    assert_eq!(taken_over(&mut gate), "the rules");
    assert!(chat(&gate).contains("375"));
    assert!(by_hand(&gate).contains("42"));
}

#[test]
fn views_come_and_go_and_name_other_clients() {
    let env = TestEnv::new();
    // `printf TOKEN | sha256sum` begins with 4859dbe8, that of `OTHER` with 6b7fe824.
    let view = |name: &str, tool: &str, token: &str| {
        format!("[[views]]\nname = \"{name}\"\ntools = [\"essentials.{tool}\"]\ntokens = [\"{token}\"]\n")
    };
    env.write(SETTINGS, &view("one", "calculator", "4859dbe8"));
    let file = token_file(&env, &format!("{TOKEN}\n{OTHER}\n"));
    let mut gate = Gate::open(&env, &["-e", "essentials", "--token-file", &file]);
    let list = |gate: &Gate, view: &str, token: &str| {
        let request = post("tools/list", &json!({}), Some(token));
        let (status, answer) = gate.ask(&request.replacen("/mcp ", &format!("/mcp/{view} "), 1));
        let has = |tool: &str| answer.contains(&format!("essentials__{tool}"));
        (status, has("calculator"), has("current_datetime"))
    };
    assert_eq!(list(&gate, "one", TOKEN), (200, true, false));
    assert_eq!(list(&gate, "one", OTHER).0, 403);
    env.write(
        SETTINGS,
        &[view("one", "current_datetime", "4859dbe8"), view("two", "calculator", "6b7fe824")].concat(),
    );
    assert_eq!(taken_over(&mut gate), "the views");
    assert_eq!(list(&gate, "one", TOKEN), (200, false, true));
    assert_eq!(list(&gate, "two", OTHER), (200, true, false));
    assert_eq!(list(&gate, "two", TOKEN).0, 404);
    env.write(SETTINGS, &view("two", "calculator", "6b7fe824"));
    assert_eq!(taken_over(&mut gate), "the views");
    assert_eq!(list(&gate, "one", TOKEN).0, 403);
    assert_eq!(list(&gate, "two", OTHER), (200, true, false));
}

#[test]
fn what_a_view_gave_ends_with_it() {
    let env = TestEnv::new();
    FakeServer::new("up", &[]).write(&env);
    let servers = env.path("servers").display().to_string();
    let view = |token: &str| format!("[[views]]\nname = \"v\"\ntools = [\"up.*\"]\ntokens = [\"{token}\"]\n");
    env.write(SETTINGS, &view("4859dbe8"));
    let file = token_file(&env, &format!("{TOKEN}\n{OTHER}\n"));
    let args = ["--ensembles", &servers, "--token-file", &file, "--max-calls", "1"];
    let mut gate = Gate::open(&env, &args);
    let mut listener = followed(&gate, TOKEN);
    let begun = |tool: &str, arguments: Value| {
        let mut stream = TcpStream::connect(&gate.address).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream.write_all(call(tool, &arguments, Some(TOKEN)).as_bytes()).unwrap();
        stream
    };
    let running = begun("up__meet", json!({ "count": 2 }));
    wait_until("it runs", || log(&env).contains("\"kind\":\"started\""));
    let mut waiting = begun("up__echo", json!({ "text": "said all the same" }));
    env.write(SETTINGS, &view("6b7fe824"));
    assert_eq!(taken_over(&mut gate), "the views");
    read_to_its_end(&mut listener);
    // Its end makes room for the other one.
    drop(running);
    let mut answer = String::new();
    waiting.read_to_string(&mut answer).unwrap();
    assert!(!answer.contains("said all the same"), "{answer}");
    gate.signal();
    assert_eq!(gate.ended().0, Some(0));
}
