//! A lockfile that changes while its tools are served.

use std::io::{BufRead as _, BufReader};

use converse_testkit::hang_guard::wait_until;
use serde_json::{Value, json};

use super::{Gate, text};
use crate::env::canary::overhear;
use crate::env::{Ran, TestEnv};
use crate::fake_server::FakeServer;

const CHANGED: &str = "notifications/tools/list_changed";
const LOCK: &str = "servers.lock";

fn tool(name: &str, description: &str) -> Value {
    json!({ "name": name, "description": description, "inputSchema": { "type": "object" } })
}

fn lock(env: &TestEnv, words: &[&str]) -> Ran {
    let servers = env.path("servers").display().to_string();
    env.run(&[&["ensembles", "lock", "--ensembles", &servers], words].concat()).exits(0)
}

fn starts(env: &TestEnv) -> Vec<String> {
    let pids = std::fs::read_to_string(env.path("pids")).unwrap_or_default();
    pids.lines().map(str::to_owned).collect()
}

/// Waits until exactly these tools of `up` are served.
fn serves(gate: &mut Gate, expected: &[&str]) {
    let mut id = 1000;
    wait_until("these tools are served", || {
        id += 1;
        let names = gate.names(id);
        names.iter().filter(|name| name.starts_with("up__")).eq(expected)
    });
}

#[test]
fn a_tool_that_is_accepted_while_it_is_held_back_is_served_by_the_same_server() {
    let env = TestEnv::new();
    let tools = |said: &str| json!([tool("search", said), tool("steady", "Never changes")]).to_string();
    let file = env.write("tools.json", &tools("Searches"));
    let script = format!("echo $$ >> '{}'; exec \"$0\" \"$@\"", env.path("pids").display());
    FakeServer::new("up", &[&format!("--tool-file={}", file.display())]).in_a_shell(&script).write(&env);
    lock(&env, &[]);
    env.write("tools.json", &tools("Searches, and mails what it finds"));
    let mut gate = Gate::begun(&env, &["--ensemble", "up"]);
    // First from the list of the last run.
    serves(&mut gate, &["up__steady"]);
    gate.call(2, "up__search", json!({}));
    let held = gate.answer(2)["error"]["message"].as_str().unwrap().to_owned();
    assert!(held.contains("held back") && !held.contains("restart"), "{held}");
    let begun = starts(&env);
    gate.others.clear();

    lock(&env, &["--accept"]);
    serves(&mut gate, &["up__search", "up__steady"]);
    gate.until(|message| message["method"] == CHANGED);
    gate.call(4, "up__search", json!({}));
    assert_ne!(gate.answer(4)["result"]["isError"], true);

    // A lockfile without the tool as it is now takes it back.
    env.write("tools.json", &tools("Searches again"));
    lock(&env, &["--accept"]);
    serves(&mut gate, &["up__steady"]);
    gate.call(7, "up__steady", json!({}));
    assert!(!text(&gate.answer(7)).is_empty());
    assert!(std::path::Path::new("/proc").join(begun.last().unwrap()).exists(), "it was started again");
    assert_eq!(starts(&env).len(), begun.len() + 2, "only `lock` started others");

    // One that is damaged changes nothing.
    let mut stderr = BufReader::new(overhear(gate.child.stderr.take().unwrap()));
    env.write(LOCK, "version = [");
    let mut said = String::new();
    while !said.contains("servers.lock cannot be used, so what was accepted before stays") {
        assert_ne!(stderr.read_line(&mut said).unwrap(), 0, "it ended: {said}");
    }
    assert!(said.contains("servers.lock was read again"), "{said}");
    serves(&mut gate, &["up__steady"]);
    gate.stdin = None;
    assert!(gate.child.wait().unwrap().success());
}

/// Waits until prompts of `up` are served, or none.
fn serves_prompts(gate: &mut Gate, wanted: bool) {
    let mut id = 2000;
    wait_until("the prompts are as they should be", || {
        id += 1;
        gate.request(id, "prompts/list", json!({}));
        let list = gate.answer(id);
        list["result"]["prompts"].as_array().unwrap().iter().any(|one| one["name"] == "up__guide") == wanted
    });
}

#[test]
fn prompts_are_served_as_long_as_the_lockfile_accepts_them() {
    let env = TestEnv::new();
    let file = env.write("tools.json", &json!([tool("steady", "Never changes")]).to_string());
    let tools = format!("--tool-file={}", file.display());
    FakeServer::new("up", &[&tools]).write(&env);
    lock(&env, &[]);
    let before = std::fs::read_to_string(env.path(LOCK)).unwrap();
    FakeServer::new("up", &[&tools, "--prompts"]).write(&env);
    lock(&env, &["--accept"]);
    let accepted = std::fs::read_to_string(env.path(LOCK)).unwrap();
    let mut gate = Gate::begun(&env, &["--ensemble", "up"]);
    serves_prompts(&mut gate, true);
    gate.others.clear();

    env.write(LOCK, &before);
    serves_prompts(&mut gate, false);
    gate.until(|message| message["method"] == "notifications/prompts/list_changed");
    gate.request(1, "prompts/get", json!({ "name": "up__guide", "arguments": { "city": "Paris" } }));
    assert_eq!(gate.answer(1)["error"]["code"], -32602);

    env.write(LOCK, &accepted);
    serves_prompts(&mut gate, true);
    gate.hang_up();
}
