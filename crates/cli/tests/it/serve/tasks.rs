//! Tools whose servers begin tasks.

use super::*;

#[test]
fn a_task_of_a_server_is_waited_for() {
    let env = TestEnv::new();
    let journal = env.path("journal");
    let journal = || std::fs::read_to_string(&journal).unwrap_or_default();
    FakeServer::new("up", &["--tasks", &format!("--journal={}", env.path("journal").display())]).write(&env);
    let servers = env.path("servers").display().to_string();
    let ran = env.run(&["ensembles", "call", "up.work", r#"{"polls":2}"#, "--json", "--ensembles", &servers]);
    assert_eq!(ran.exits(0).json()["content"][0]["text"], "worked");
    assert_eq!(journal().matches("tasks/get").count(), 3);
    // A client that cannot follow tasks gets the result, in both eras, and hears the messages.
    let mut gate = Gate::begun(&env, &[]);
    let meta = json!({ "progressToken": "p" });
    let work = |meta: &Value| json!({ "name": "up__work", "arguments": { "polls": 2 }, "_meta": meta });
    gate.request(1, "tools/call", work(&meta));
    assert_eq!(text(&gate.answer(1)), "worked");
    let heard: Vec<_> =
        gate.others.iter().filter(|message| message["method"] == "notifications/progress").collect();
    assert_eq!(heard[0]["params"]["message"], "2 polls left", "{heard:?}");
    assert_eq!(gate.hang_up().0.code, 0);
    let mut gate = Gate::open(&env, &[]);
    gate.request(1, "tools/call", work(&modern()));
    let answer = gate.answer(1);
    assert_eq!((text(&answer), &answer["result"]["resultType"]), ("worked", &json!("complete")), "{answer}");
    // A call that is cancelled cancels the task.
    let endless = json!({ "name": "up__work", "arguments": { "polls": 1_000_000 }, "_meta": modern() });
    gate.request(2, "tools/call", endless);
    let polls = journal().matches("tasks/get").count();
    wait_until("the task is polled", || journal().matches("tasks/get").count() > polls);
    gate.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 2 } }));
    wait_until("the task is cancelled", || journal().contains("tasks/cancel"));
    assert_eq!(gate.hang_up().0.code, 0);
    env.run(&["audit", "verify"]).exits(0);
    let log = audit(&env);
    let kinds = |kind: &str| log.iter().filter(|line| line["kind"] == kind).count();
    assert_eq!((kinds("started"), kinds("finished")), (4, 4), "a task is one call");
}

#[test]
fn a_task_passes_through_two_gateways() {
    let env = TestEnv::new();
    let journal = env.path("journal");
    FakeServer::new("up", &["--tasks", &format!("--journal={}", journal.display())]).write(&env);
    let inner = env.path("servers").display().to_string();
    let outer = FakeServer::new("outer", &[])
        .command(&[env!("CARGO_BIN_EXE_converse"), "serve", "--ensembles", &inner, "--ensemble", "up"])
        .connection("protocol = \"modern\"")
        .ensemble("enabled = true");
    outer.write(&env);
    // Beside the inner one, so that it does not serve itself.
    let written = env.path("servers/outer.toml");
    env.write("outside/outer.toml", &std::fs::read_to_string(&written).unwrap());
    std::fs::remove_file(written).unwrap();
    let outside = env.path("outside").display().to_string();
    let ran = env.run(&[
        "ensembles",
        "call",
        "outer.up__work",
        r#"{"polls":2}"#,
        "--json",
        "--ensembles",
        &outside,
    ]);
    assert_eq!(ran.exits(0).json()["content"][0]["text"], "worked");
    assert_eq!(std::fs::read_to_string(journal).unwrap().matches("tasks/get").count(), 3);
}
