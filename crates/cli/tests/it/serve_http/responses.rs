//! `serve --http --openai`: `/v1/responses`.

use std::sync::{Arc, Mutex};

use converse_testkit::hang_guard::wait_until;
use serde_json::{Value, json};

use super::openai::{body, get, open, post};
use super::{Gate, OTHER, TOKEN, slow_server, token_file};
use crate::body::{Dialect, calls, text};
use crate::env::TestEnv;
use crate::provider::Provider;

const ROUTE: &str = "/v1/responses";

fn question(model: &str, text: &str) -> Value {
    json!({ "model": model, "input": text })
}

fn with(mut request: Value, more: &Value) -> Value {
    for (key, value) in more.as_object().unwrap() {
        request[key] = value.clone();
    }
    request
}

fn create(gate: &Gate, request: &Value) -> Value {
    let (status, answer) = post(gate, ROUTE, TOKEN, request);
    assert_eq!(status, 200, "{answer}");
    body(&answer)
}

fn shown(gate: &Gate, id: &Value) -> (u16, String) {
    get(gate, &path(id), TOKEN)
}

fn path(id: &Value) -> String {
    format!("{ROUTE}/{}", id.as_str().unwrap())
}

fn delete(gate: &Gate, id: &Value, token: &str) -> u16 {
    let path = path(id);
    let request = format!(
        "DELETE {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\r\n"
    );
    gate.ask(&request).0
}

fn events(answer: &str) -> Vec<Value> {
    assert!(answer.contains("content-type: text/event-stream"), "{answer}");
    let lines = answer.lines().filter_map(|line| line.strip_prefix("data: "));
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn item<'a>(response: &'a Value, kind: &str) -> &'a Value {
    let items = response["output"].as_array().unwrap();
    items.iter().find(|item| item["type"] == kind).unwrap_or_else(|| panic!("no {kind}: {response}"))
}

#[test]
fn a_response_is_whole_or_streamed_and_tools_of_this_server_are_mcp_calls() {
    let env = TestEnv::new().var("CONVERSE_SERVE_TOKEN", TOKEN);
    let gate = open(&env, &["-e", "essentials"]);
    let asked = question("understudy", "What is 15% of 2500?");
    let whole = create(&gate, &asked);
    assert_eq!((&whole["status"], &whole["object"]), (&json!("completed"), &json!("response")), "{whole}");
    let call = item(&whole, "mcp_call");
    assert_eq!(
        (&call["server_label"], &call["name"]),
        (&json!("essentials"), &json!("calculator")),
        "{whole}"
    );
    assert!(item(&whole, "message")["content"][0]["text"].as_str().unwrap().contains("375"), "{whole}");

    let (status, answer) = post(&gate, ROUTE, TOKEN, &with(asked, &json!({ "stream": true })));
    let events = events(&answer);
    let numbers: Vec<_> = events.iter().map(|event| event["sequence_number"].as_u64().unwrap()).collect();
    assert_eq!((status, numbers), (200, (0..events.len() as u64).collect()), "{answer}");
    let last = events.last().unwrap();
    assert_eq!(
        (&events[0]["type"], &last["type"]),
        (&json!("response.created"), &json!("response.completed"))
    );
    let (status, answer) = shown(&gate, &last["response"]["id"]);
    assert_eq!((status, &body(&answer)), (200, &last["response"]), "{answer}");
}

#[test]
fn a_response_is_continued_listed_and_deleted_and_nobody_else_sees_it() {
    let provider = Provider::new(Dialect::Chat, [text("one"), text("two"), text("three")]);
    let env = provider.env(TestEnv::new());
    let file = token_file(&env, &format!("{TOKEN}\n{OTHER}\n"));
    let gate = open(&env, &["-e", "essentials", "--token-file", &file]);
    let first = create(&gate, &with(question(provider.model(), "A"), &json!({ "instructions": "Shout." })));
    let id = first["id"].clone();
    let more = json!({ "previous_response_id": id, "instructions": "Whisper." });
    let second = create(&gate, &with(question(provider.model(), "B"), &more));
    assert_eq!(second["previous_response_id"], id, "{second}");
    let sent = &provider.requests()[1]["messages"];
    let texts: Vec<&Value> = sent.as_array().unwrap().iter().map(|one| &one["content"]).collect();
    assert_eq!(texts[0], "Whisper.", "instructions of the earlier response do not apply: {sent}");
    assert!(sent.as_array().unwrap().len() == 4 && !sent.to_string().contains("Shout"), "{sent}");

    let items = body(&get(&gate, &format!("{}/input_items", path(&second["id"])), TOKEN).1);
    assert_eq!(items["data"][0]["content"][0]["text"], "B", "{items}");
    for route in [path(&id), format!("{}/input_items", path(&id))] {
        assert_eq!(get(&gate, &route, OTHER).0, 404, "{route}");
    }
    assert_eq!(post(&gate, &format!("{}/cancel", path(&id)), OTHER, &json!({})).0, 404);
    assert_eq!(post(&gate, ROUTE, OTHER, &with(question(provider.model(), "B"), &more)).0, 404);
    assert_eq!(delete(&gate, &id, OTHER), 404);
    assert_eq!((delete(&gate, &id, TOKEN), shown(&gate, &id).0), (200, 404));

    let gone = create(&gate, &with(question(provider.model(), "C"), &json!({ "store": false })));
    assert_eq!(shown(&gate, &gone["id"]).0, 404, "{gone}");
}

#[test]
fn an_approval_ends_the_turn_and_the_next_request_answers_it() {
    let provider = Provider::new(
        Dialect::Chat,
        [
            calls([("io__write_file", json!({ "path": "a.txt", "content": "milk" }))]),
            text("Written."),
            calls([("io__write_file", json!({ "path": "b.txt", "content": "milk" }))]),
            text("Not written."),
            calls([("io__write_file", json!({ "path": "c.txt", "content": "milk" }))]),
            text("Written."),
        ],
    );
    let env = provider.env(TestEnv::new()).var("CONVERSE_SERVE_TOKEN", TOKEN);
    let gate = open(&env, &["-e", "io"]);
    for (file, approve, store) in [("a.txt", true, true), ("b.txt", false, true), ("c.txt", true, false)] {
        let asked = create(&gate, &question(provider.model(), "Write it."));
        let request = item(&asked, "mcp_approval_request");
        assert_eq!(
            (&request["server_label"], &request["name"]),
            (&json!("io"), &json!("write_file")),
            "{asked}"
        );
        assert!(!env.path("work").join(file).exists());
        let answer = json!({ "type": "mcp_approval_response", "approval_request_id": request["id"],
            "approve": approve, "reason": "because" });
        let wrong = with(answer.clone(), &json!({ "approval_request_id": "mcpr_other" }));
        let send = |answer: Value| {
            let request = json!({ "model": provider.model(), "previous_response_id": asked["id"],
                "input": [answer], "store": store });
            post(&gate, ROUTE, TOKEN, &request)
        };
        assert_eq!(send(wrong).0, 400);
        let (status, answered) = send(answer.clone());
        assert_eq!(status, 200, "{answered}");
        let (status, again) = send(answer);
        assert!(status == 409 && again.contains("answered already"), "a call is approved once: {again}");
        let answered = body(&answered);
        let call = item(&answered, "mcp_call");
        assert_eq!(call["status"], if approve { "completed" } else { "failed" }, "{answered}");
        assert_eq!(call["approval_request_id"], request["id"], "{answered}");
        assert_eq!(
            (&call["server_label"], &call["name"]),
            (&json!("io"), &json!("write_file")),
            "{answered}"
        );
        assert_eq!(env.path("work").join(file).exists(), approve, "{answered}");
    }
    let sent = provider.requests();
    assert!(sent[3].to_string().contains("because"), "{}", sent[3]);
}

#[test]
fn calls_of_the_clients_tools_are_answered_with_the_earlier_response() {
    let provider =
        Provider::new(Dialect::Chat, [calls([("weather", json!({ "city": "Paris" }))]), text("It rains.")]);
    let env = provider.env(TestEnv::new()).var("CONVERSE_SERVE_TOKEN", TOKEN);
    let gate = open(&env, &["-e", "essentials", "--allow", "*"]);
    let tools =
        json!({ "tools": [{ "type": "function", "name": "weather", "parameters": { "type": "object" } }] });
    let first = create(&gate, &with(question(provider.model(), "Weather?"), &tools));
    let call = item(&first, "function_call").clone();
    assert_eq!(call["arguments"], "{\"city\":\"Paris\"}", "{first}");
    let next = with(tools, &json!({ "model": provider.model(), "previous_response_id": first["id"] }));
    let unanswered = with(next.clone(), &json!({ "input": "And now?" }));
    assert_eq!(post(&gate, ROUTE, TOKEN, &unanswered).0, 400);
    let output = json!({ "type": "function_call_output", "call_id": call["call_id"], "output": "rain" });
    let second = create(&gate, &with(next, &json!({ "input": [output] })));
    assert_eq!(item(&second, "message")["content"][0]["text"], "It rains.", "{second}");
    assert_eq!(provider.requests()[0]["tools"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_background_response_is_retrieved_cancelled_and_failed_after_a_kill() {
    let provider = Provider::new(
        Dialect::Chat,
        [
            calls([("upstream__slow", json!({}))]),
            text("At last."),
            calls([("upstream__slow", json!({}))]),
            calls([("upstream__slow", json!({}))]),
        ],
    );
    let env = provider.env(TestEnv::new()).var("CONVERSE_SERVE_TOKEN", TOKEN);
    let (began, go) = slow_server(&env);
    let began = Arc::new(Mutex::new(began));
    let servers = env.path("servers").display().to_string();
    let flags = ["--ensembles", &servers, "-e", "upstream", "--allow", "upstream.*"];
    let gate = open(&env, &flags);
    let status = |gate: &Gate, id: &Value| body(&shown(gate, id).1)["status"].clone();
    let begin = |gate: &Gate| {
        let request = with(question(provider.model(), "Go."), &json!({ "background": true }));
        let response = create(gate, &request);
        assert_eq!(response["status"], "queued", "{response}");
        began.lock().unwrap().recv_timeout(converse_testkit::hang_guard::LIMIT).unwrap();
        response["id"].clone()
    };
    let first = begin(&gate);
    assert_eq!(status(&gate, &first), "in_progress");
    go.send(()).unwrap();
    wait_until("the response is complete", || status(&gate, &first) == "completed");
    assert!(shown(&gate, &first).1.contains("At last."));

    let second = begin(&gate);
    let (code, answer) = post(&gate, &format!("{}/cancel", path(&second)), TOKEN, &json!({}));
    assert_eq!((code, &body(&answer)["status"]), (200, &json!("cancelled")), "{answer}");
    assert_eq!(status(&gate, &second), "cancelled");
    go.send(()).unwrap();

    let third = begin(&gate);
    let Gate { mut child, .. } = gate;
    child.kill().unwrap();
    child.wait().unwrap();
    let asked = provider.requests().len();
    let gate = open(&env, &flags);
    let (code, answer) = shown(&gate, &third);
    let failed = body(&answer);
    assert_eq!(
        (code, &failed["status"], &failed["error"]["code"]),
        (200, &json!("failed"), &json!("server_error"))
    );
    assert_eq!(status(&gate, &first), "completed");
    assert_eq!(provider.requests().len(), asked, "the turn was not repeated");
}

#[test]
fn a_background_stream_is_read_again_from_a_number() {
    let env = TestEnv::new().var("CONVERSE_SERVE_TOKEN", TOKEN);
    let gate = open(&env, &["-e", "essentials"]);
    let request =
        with(question("understudy", "What is 2+2?"), &json!({ "background": true, "stream": true }));
    let all = events(&post(&gate, ROUTE, TOKEN, &request).1);
    let id = &all[0]["response"]["id"];
    let later = events(&get(&gate, &format!("{}?stream=true&starting_after=2", path(id)), TOKEN).1);
    assert_eq!(later, all[3..]);
    let plain = create(&gate, &question("understudy", "What is 2+2?"));
    let (status, answer) = get(&gate, &format!("{}?stream=true", path(&plain["id"])), TOKEN);
    assert!(status == 400 && answer.contains("background"), "{answer}");
}

#[test]
fn a_failure_is_an_error_or_the_end_of_a_stream() {
    let refused = || crate::http::Answer::new(401, "application/json", "{}");
    let provider = Provider::new(Dialect::Chat, [refused(), refused()]);
    let env = provider.env(TestEnv::new()).var("CONVERSE_SERVE_TOKEN", TOKEN);
    let gate = open(&env, &["-e", "essentials"]);
    let asked = question(provider.model(), "Hello");
    let (status, answer) = post(&gate, ROUTE, TOKEN, &asked);
    assert_eq!((status, &body(&answer)["error"]["code"]), (502, &json!("provider_refused")), "{answer}");
    assert!(answer.contains("x-should-retry: false"), "{answer}");
    let (_, answer) = post(&gate, ROUTE, TOKEN, &with(asked, &json!({ "stream": true })));
    let last = events(&answer).pop().unwrap();
    assert_eq!(
        (&last["type"], &last["response"]["status"]),
        (&json!("response.failed"), &json!("failed")),
        "{last}"
    );
    for (key, value) in
        [("temprature", json!(1)), ("conversation", json!("c")), ("previous_response_id", json!("x"))]
    {
        let (status, answer) =
            post(&gate, ROUTE, TOKEN, &with(question("understudy", "x"), &json!({ key: value })));
        assert!(matches!(status, 400 | 404), "{answer}");
        assert_eq!(body(&answer)["error"]["param"], key, "{answer}");
    }
}
