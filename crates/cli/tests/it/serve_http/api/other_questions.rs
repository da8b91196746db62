//! An answer counts for the question that was shown, and for no other one about the same call.

use converse_testkit::hang_guard::wait_until;

use super::comparisons::{answer, compare, models};
use super::*;
use crate::body::Says;

const ROUTE: &str = "/v1/responses";

fn write() -> Says {
    calls([("io__write_file", json!({ "path": "link/note.txt", "content": "x" }))])
}

/// Answers a question with a yes, and returns the question that the turn ends with.
fn asked_again(gate: &Gate, shown: &Value) -> Value {
    answer(gate, shown, &json!({ "decision": "once" }));
    ended(gate);
    let inbox = get(gate, "/api/approvals")["items"].clone();
    assert!(inbox[0].is_object(), "the answer counted for another question");
    assert!(inbox[0]["id"] != *shown, "{inbox}");
    inbox[0].clone()
}

fn ended(gate: &Gate) {
    wait_until("no turn runs", || {
        let sessions = get(gate, "/api/sessions");
        sessions["items"].as_array().unwrap().iter().all(|one| one["running"] == false)
    });
}

#[test]
fn a_yes_does_not_count_for_another_file() {
    let provider = Provider::new(Dialect::Chat, [write(), text("Done.")]);
    let env = provider.env(TestEnv::new()).var("CONVERSE_SERVE_TOKEN", TOKEN);
    let link = Link::new(&env);
    let gate = open(&env, &[]);
    let mut body = question("Write it");
    body["forwardedProps"] = json!({ "model": provider.model() });
    let asked = run(&gate, &body);
    let shown = asked.last().unwrap().1["outcome"]["interrupts"][0]["id"].clone();
    link.leads_to("two");
    let again = asked_again(&gate, &shown);
    assert!(again["reaches"].as_str().unwrap().contains("/two/note.txt"), "{again}");
    assert_eq!(link.written(&env), [None, None]);
    // A browser that still shows the first question cannot answer the second with it.
    let path = format!("/api/approvals/{}", shown.as_str().unwrap());
    assert_eq!(send(&gate, "POST", &path, TOKEN, &json!({ "decision": "once" })).0, 404);
    answer(&gate, &again["id"], &json!({ "decision": "once" }));
    assert_eq!(words(&follow(&gate, &session_of(&asked), &asked.last().unwrap().0)), "Done.");
    assert_eq!(link.written(&env), [None, Some("x".to_owned())]);
}

#[test]
fn a_yes_does_not_count_for_another_definition() {
    let provider = Provider::new(Dialect::Chat, [calls([("own__tool", json!({}))]), text("Done.")]);
    let env = provider.env(TestEnv::new()).var("CONVERSE_SERVE_TOKEN", TOKEN);
    let descriptor = |word: &str| {
        let command = format!("argv = [\"sh\", \"-c\", \"echo {word} >> ran.txt\"]");
        let tool = "[[invokers]]\nname = \"tool\"\ndescription = \"d\"\neffects = \"write\"\n";
        let text =
            format!("[ensemble]\nname = \"own\"\ndescription = \"d\"\n{tool}[invokers.command]\n{command}\n");
        env.write("home/.config/converse/ensembles/own.toml", &text);
    };
    descriptor("shown");
    let mut gate = open(&env, &["-e", "own"]);
    let mut body = question("Go");
    body["forwardedProps"] = json!({ "model": provider.model() });
    let asked = run(&gate, &body);
    let shown = asked.last().unwrap().1["outcome"]["interrupts"][0]["id"].clone();
    gate.child.kill().unwrap();
    gate.child.wait().unwrap();
    descriptor("other");
    let gate = open(&env, &["-e", "own"]);
    asked_again(&gate, &shown);
    assert!(!env.path("work/ran.txt").exists());
}

#[test]
fn an_answer_in_a_comparison_does_not_count_for_another_file() {
    let (one, two) = models();
    let env = two.env(one.env(TestEnv::new())).var("CONVERSE_SERVE_TOKEN", TOKEN);
    let link = Link::new(&env);
    let first = calls([("io__write_file", json!({ "path": "first.txt", "content": "x" }))]);
    one.plays([write(), text("One.")]);
    two.plays([first, write(), text("Two.")]);
    let gate = open(&env, &[]);
    let (_, sessions) = compare(&gate, [&one, &two]);
    let asked = sessions.each_ref().map(|session| follow(&gate, session, "0.0.0"));
    let id = |events: &[(String, Value)]| events.last().unwrap().1["outcome"]["interrupts"][0]["id"].clone();
    answer(&gate, &id(&asked[0]), &json!({ "decision": "once" }));
    assert_eq!(words(&follow(&gate, &sessions[0], &asked[0].last().unwrap().0)), "One.");
    link.leads_to("two");
    let again = asked_again(&gate, &id(&asked[1]));
    assert_eq!(again["session"], json!(sessions[1]), "{again}");
    assert_eq!(link.written(&env), [Some("x".to_owned()), None]);
}

#[test]
fn an_approval_of_a_response_does_not_count_for_another_file() {
    let provider = Provider::new(Dialect::Chat, [write(), text("Done.")]);
    let env = provider.env(TestEnv::new()).var("CONVERSE_SERVE_TOKEN", TOKEN);
    let link = Link::new(&env);
    let gate = open(&env, &["--openai"]);
    let create = |more: &Value| {
        let mut body = json!({ "model": provider.model() });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json_of(send(&gate, "POST", ROUTE, TOKEN, &body))
    };
    let request = |response: &Value| {
        let items = response["output"].as_array().unwrap();
        let found = items.iter().find(|item| item["type"] == "mcp_approval_request");
        found.unwrap_or_else(|| panic!("nothing is asked: {response}"))["id"].clone()
    };
    let approve = |response: &Value| {
        let answer = json!({ "type": "mcp_approval_response", "approval_request_id": request(response), "approve": true });
        create(&json!({ "previous_response_id": response["id"], "input": [answer] }))
    };
    let asked = create(&json!({ "input": "Write it" }));
    link.leads_to("two");
    let again = approve(&asked);
    assert!(request(&again) != request(&asked), "{again}");
    assert_eq!(link.written(&env), [None, None]);
    let done = approve(&again);
    assert_eq!(done["status"], "completed", "{done}");
    assert_eq!(link.written(&env), [None, Some("x".to_owned())]);
}
