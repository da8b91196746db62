//! Resources, prompts and questions of servers, through the gateway.

use serde_json::{Value, json};

use super::{Gate, audit, modern, text};
use crate::env::TestEnv;
use crate::fake_server::FakeServer;

#[test]
fn resources_and_prompts_of_servers_of_both_eras_are_served_and_audited() {
    for era in ["--era=legacy", "--era=modern"] {
        let env = TestEnv::new();
        FakeServer::new("docs", &[era, "--resources"]).write(&env);
        FakeServer::new("town", &[era, "--prompts"]).write(&env);
        let mut gate = Gate::begun(&env, &["--allow", "*"]);
        gate.request(1, "resources/list", json!({}));
        let listed = gate.answer(1);
        let uris = listed["result"]["resources"].as_array().unwrap_or_else(|| panic!("{listed}"));
        assert!(uris.iter().any(|one| one["uri"] == "demo://notes.md"), "{listed}");
        gate.request(2, "resources/read", json!({ "uri": "demo://notes.md" }));
        let read = gate.answer(2);
        assert_eq!(read["result"]["contents"][0]["uri"], "demo://notes.md", "{era} {read}");
        gate.request(3, "resources/read", json!({ "uri": "demo://nothing" }));
        let missing = gate.answer(3);
        assert_eq!(missing["error"]["code"], -32002, "{missing}");
        gate.request(4, "prompts/list", json!({}));
        let prompts = gate.answer(4);
        let name = prompts["result"]["prompts"][0]["name"].as_str().unwrap_or_else(|| panic!("{prompts}"));
        assert!(name.starts_with("town__"), "{prompts}");
        let (ran, _) = gate.hang_up();
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let audit = audit(&env);
        let finished = |line: &&Value| line["tool"] == "docs__read_resource" && line["kind"] == "finished";
        assert_eq!(audit.iter().filter(finished).count(), 2, "{audit:#?}");
    }
}

#[test]
fn a_client_that_can_is_asked_and_another_is_not() {
    for era in ["--era=legacy", "--era=modern"] {
        let env = TestEnv::new();
        FakeServer::new("asking", &[era, "--ask=form"]).write(&env);
        let mut gate = Gate::open(&env, &[]);
        let info = json!({ "name": "tester", "version": "9" });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": { "elicitation": {} }, "clientInfo": info });
        gate.request(0, "initialize", params);
        gate.answer(0);
        gate.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        gate.call(1, "asking__ask", json!({}));
        let question = gate.until(|message| message["method"] == "elicitation/create");
        assert!(question["params"]["requestedSchema"].is_object(), "{question}");
        gate.say(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "cancel" } }));
        let answer = gate.answer(1);
        assert!(text(&answer).contains("cancel"), "{era} {answer}");
        gate.hang_up();

        let mut gate = Gate::begun(&env, &[]);
        gate.call(1, "asking__ask", json!({}));
        let answer = gate.answer(1);
        assert!(text(&answer).contains("decline"), "{era} {answer}");
        gate.hang_up();
    }
    // In the newer era the question is the answer, and the call is repeated.
    let env = TestEnv::new();
    FakeServer::new("asking", &["--era=modern", "--ask=form"]).write(&env);
    let mut gate = Gate::open(&env, &[]);
    let mut meta = modern();
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({ "elicitation": { "form": {} } });
    gate.request(1, "tools/call", json!({ "name": "asking__ask", "arguments": {}, "_meta": meta }));
    let asked = gate.answer(1)["result"].clone();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let questions = asked["inputRequests"].as_object().unwrap();
    let answers: Value = questions.keys().map(|key| (key.clone(), json!({ "action": "cancel" }))).collect();
    let params = json!({ "name": "asking__ask", "arguments": {}, "_meta": meta, "inputResponses": answers,
        "requestState": asked["requestState"] });
    gate.request(2, "tools/call", params);
    let answer = gate.answer(2);
    assert!(text(&answer).contains("cancel"), "{answer}");
    gate.hang_up();
}
