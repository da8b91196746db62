//! Tasks over HTTP, where each poll is a request of its own.

use super::*;
use crate::fake_server::FakeServer;

/// Sends a request of a client that follows tasks, and returns the answer.
fn ask(gate: &Gate, token: &str, method: &str, name: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities":
            { "extensions": { "io.modelcontextprotocol/tasks": {} }, "elicitation": {} },
    });
    let headers = format!("mcp-method: {method}\r\nmcp-name: {name}\r\ncontent-length");
    let request = post(method, &params, Some(token)).replace("2025-11-25", "2026-07-28");
    let answer = gate.ask(&request.replacen("content-length", &headers, 1)).1;
    let message = answer.find("{\"jsonrpc\"").map(|at| answer.split_at(at).1).unwrap_or_default();
    let mut messages = serde_json::Deserializer::from_str(message).into_iter::<Value>();
    messages.next().unwrap_or_else(|| panic!("{answer}")).unwrap()
}

#[test]
fn a_task_is_polled_answered_and_cancelled_by_its_principal_alone() {
    let env = TestEnv::new();
    let journal = env.path("journal");
    FakeServer::new("up", &["--tasks=ask", &format!("--journal={}", journal.display())]).write(&env);
    let servers = env.path("servers").display().to_string();
    let file = token_file(&env, &format!("{TOKEN}\n{OTHER}\n"));
    let flags = ["-e", "up", "--ensembles", &servers, "--token-file", &file];
    let gate = Gate::begun(&mut env.command([&["serve", "--http", "127.0.0.1:0"], &flags[..]].concat()));
    let begin = |polls: u64| {
        let params = json!({ "name": "up__work", "arguments": { "polls": polls } });
        let begun = ask(&gate, TOKEN, "tools/call", "up__work", params);
        assert_eq!(begun["result"]["resultType"], "task", "{begun}");
        begun["result"]["taskId"].as_str().unwrap().to_owned()
    };
    let of = |token: &str, method: &str, task: &str, responses: Value| {
        let mut params = json!({ "taskId": task });
        if method == "tasks/update" {
            params["inputResponses"] = responses;
        }
        ask(&gate, token, method, task, params)
    };
    let poll = |task: &str, wanted: &str| {
        let mut last = Value::Null;
        wait_until("the task has its status", || {
            last = of(TOKEN, "tasks/get", task, Value::Null)["result"].take();
            last["status"] == wanted
        });
        last
    };
    let task = begin(2);
    let asks = poll(&task, "input_required");
    let questions = asks["inputRequests"].as_object().unwrap();
    assert_eq!(questions.values().next().unwrap()["method"], "elicitation/create", "{asks}");
    let responses =
        json!({ questions.keys().next().unwrap(): { "action": "accept", "content": { "city": "Rome" } } });
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let refused = of(OTHER, method, &task, responses.clone());
        assert_eq!(refused["error"]["code"], -32602, "{method}: {refused}");
    }
    assert_eq!(of(TOKEN, "tasks/update", &task, responses)["result"]["resultType"], "complete");
    let over = poll(&task, "completed");
    let said = over["result"]["content"][0]["text"].as_str().unwrap();
    assert!(said.starts_with("worked with") && said.contains("Rome"), "{over}");
    // The second one is stopped while it asks.
    let task = begin(1_000_000);
    poll(&task, "input_required");
    assert_eq!(of(TOKEN, "tasks/cancel", &task, Value::Null)["result"]["resultType"], "complete");
    poll(&task, "cancelled");
    let journal = || std::fs::read_to_string(&journal).unwrap();
    wait_until("the server is told", || journal().contains("tasks/cancel"));
    gate.signal();
    let (code, said) = gate.ended();
    assert_eq!(code, Some(0), "{said}");
    let log = log(&env);
    for kind in ["decided", "started", "finished"] {
        assert_eq!(log.matches(&format!("\"kind\":\"{kind}\"")).count(), 2, "a task is one call: {log}");
    }
    assert_eq!(journal().matches("tools/call").count(), 2);
    env.run(&["audit", "verify"]).exits(0);
}

#[test]
fn a_task_has_the_time_to_drain_to_end() {
    let env = TestEnv::new();
    let journal = env.path("journal");
    FakeServer::new("up", &["--tasks", &format!("--journal={}", journal.display())]).write(&env);
    let servers = env.path("servers").display().to_string();
    let file = token_file(&env, &format!("{TOKEN}\n"));
    let flags = ["-e", "up", "--ensembles", &servers, "--token-file", &file, "--drain", "600"];
    let gate = Gate::begun(&mut env.command([&["serve", "--http", "127.0.0.1:0"], &flags[..]].concat()));
    let params = json!({ "name": "up__work", "arguments": { "polls": 15 } });
    let begun = ask(&gate, TOKEN, "tools/call", "up__work", params);
    assert_eq!(begun["result"]["resultType"], "task", "{begun}");
    gate.signal();
    let (code, said) = gate.ended();
    assert_eq!(code, Some(0), "{said}");
    let journal = std::fs::read_to_string(&journal).unwrap();
    assert!(!journal.contains("tasks/cancel"), "{journal}");
    assert_eq!(journal.matches("tasks/get").count(), 16, "{journal}");
}

#[test]
fn a_task_that_asks_does_not_hold_the_shutdown() {
    let env = TestEnv::new();
    let journal = env.path("journal");
    FakeServer::new("up", &["--tasks=ask", &format!("--journal={}", journal.display())]).write(&env);
    let servers = env.path("servers").display().to_string();
    let file = token_file(&env, &format!("{TOKEN}\n"));
    let flags = ["-e", "up", "--ensembles", &servers, "--token-file", &file, "--drain", "600"];
    let gate = Gate::begun(&mut env.command([&["serve", "--http", "127.0.0.1:0"], &flags[..]].concat()));
    let params = json!({ "name": "up__work", "arguments": { "polls": 2 } });
    let begun = ask(&gate, TOKEN, "tools/call", "up__work", params);
    let task = begun["result"]["taskId"].as_str().unwrap();
    wait_until("the task asks", || {
        let polled = ask(&gate, TOKEN, "tasks/get", task, json!({ "taskId": task }));
        polled["result"]["status"] == "input_required"
    });
    gate.signal();
    let (code, said) = gate.ended();
    assert_eq!(code, Some(0), "{said}");
    let journal = std::fs::read_to_string(&journal).unwrap();
    assert!(journal.contains("tasks/cancel"), "{journal}");
}
