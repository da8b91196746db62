//! `serve --http --openai`: models and chat completions for clients of OpenAI's API.

use serde_json::{Value, json};

use super::{Gate, OTHER, TOKEN, log, token_file};
use crate::body::{Dialect, calls, text};
use crate::env::TestEnv;
use crate::provider::{KEY, Provider};

const ROUTE: &str = "/v1/chat/completions";

pub(super) fn post(gate: &Gate, path: &str, token: &str, body: &Value) -> (u16, String) {
    let body = body.to_string();
    gate.ask(&format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
         authorization: Bearer {token}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    ))
}

pub(super) fn get(gate: &Gate, path: &str, token: &str) -> (u16, String) {
    gate.ask(&format!(
        "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\r\n"
    ))
}

pub(super) fn body(answer: &str) -> Value {
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

/// The events of a stream, without the marker of its end, which must be there.
fn events(answer: &str) -> Vec<Value> {
    assert!(answer.contains("content-type: text/event-stream"), "{answer}");
    let lines = answer.lines().filter_map(|line| line.strip_prefix("data: "));
    let mut lines: Vec<&str> = lines.collect();
    assert_eq!(lines.pop(), Some("[DONE]"), "{answer}");
    lines.into_iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn question(model: &str, text: &str) -> Value {
    json!({ "model": model, "messages": [{ "role": "user", "content": text }] })
}

pub(super) fn open(env: &TestEnv, flags: &[&str]) -> Gate {
    Gate::open(env, &[&["--openai"], flags].concat())
}

#[test]
fn a_question_is_answered_with_tools_of_this_server() {
    let env = TestEnv::new().var("CONVERSE_SERVE_TOKEN", TOKEN);
    let gate = open(&env, &["-e", "essentials"]);
    let (status, answer) = post(&gate, ROUTE, TOKEN, &question("understudy", "What is 15% of 2500?"));
    let whole = body(&answer);
    let choice = &whole["choices"][0];
    assert_eq!((status, &choice["finish_reason"]), (200, &json!("stop")), "{answer}");
    assert!(choice["message"]["content"].as_str().unwrap().contains("375"), "{answer}");
    // The client must not run it again.
    assert_eq!(choice["message"].get("tool_calls"), None, "{answer}");
    let event = &choice["message"]["events"][0];
    assert_eq!((&event["name"], &event["status"]), (&json!("calculator"), &json!("done")), "{answer}");
    assert!(event["result"].as_str().unwrap().contains("375"), "{answer}");

    let mut streamed = question("understudy", "What is 15% of 2500?");
    streamed["stream"] = json!(true);
    let (status, answer) = post(&gate, ROUTE, TOKEN, &streamed);
    let chunks = events(&answer);
    let deltas = chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str());
    assert_eq!((status, deltas.collect::<String>()), (200, "15% of 2500 = 375".to_owned()), "{answer}");
    let tools = chunks.iter().filter_map(|chunk| chunk["event"]["status"].as_str());
    assert_eq!(tools.collect::<Vec<_>>(), ["running", "done"], "{answer}");
    drop(gate);
    assert!(log(&env).contains("calculator"), "{}", log(&env));
    env.run(&["audit", "verify"]).exits(0);
}

#[test]
fn a_call_of_the_clients_tools_is_forced() {
    let provider =
        Provider::new(Dialect::Chat, [calls([("weather", json!({}))]), calls([("weather", json!({}))])]);
    let env = provider.env(TestEnv::new()).var("CONVERSE_SERVE_TOKEN", TOKEN);
    let gate = open(&env, &["-e", "essentials"]);
    let function = json!({ "type": "function", "function": { "name": "weather" } });
    for choice in [json!("required"), function.clone()] {
        let mut request = question(provider.model(), "Hello");
        request["tools"] = json!([function]);
        request["tool_choice"] = choice.clone();
        let (status, answer) = post(&gate, ROUTE, TOKEN, &request);
        assert!(status == 200 && answer.contains("tool_calls"), "{answer}");
        assert_eq!(provider.requests().last().unwrap()["tool_choice"], choice);
        request["model"] = json!("understudy");
        let (status, answer) = post(&gate, ROUTE, TOKEN, &request);
        assert_eq!((status, &body(&answer)["error"]["param"]), (400, &json!("tool_choice")), "{answer}");
    }
}

#[test]
fn a_call_of_the_clients_tools_has_arguments_that_match_the_schema() {
    let call = |city: Value| calls([("weather", json!({ "city": city }))]);
    let provider = Provider::new(Dialect::Chat, [call(json!(5)), call(json!("Oslo"))]);
    let env = provider.env(TestEnv::new()).var("CONVERSE_SERVE_TOKEN", TOKEN);
    let gate = open(&env, &["-e", "essentials"]);
    let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
    let mut request = question(provider.model(), "Weather?");
    request["tools"] = json!([{ "type": "function",
        "function": { "name": "weather", "strict": true, "parameters": schema } }]);
    let (status, answer) = post(&gate, ROUTE, TOKEN, &request);
    assert_eq!(status, 200, "{answer}");
    let made = body(&answer)["choices"][0]["message"]["tool_calls"].clone();
    assert_eq!(
        (made.as_array().map(Vec::len), &made[0]["function"]["arguments"]),
        (Some(1), &json!(r#"{"city":"Oslo"}"#))
    );
    assert_eq!(provider.requests().len(), 2);
}

#[test]
fn a_reply_is_limited_to_one_call_or_to_none() {
    let provider = Provider::new(Dialect::Chat, [text("one"), text("two"), text("three"), text("four")]);
    let env = provider.env(TestEnv::new()).var("CONVERSE_SERVE_TOKEN", TOKEN);
    let gate = open(&env, &["-e", "essentials"]);
    let tools = json!([{ "type": "function", "function": { "name": "weather" } }]);
    for tools in [json!([]), tools] {
        let mut request = question(provider.model(), "Hello");
        request["tools"] = tools;
        request["parallel_tool_calls"] = json!(false);
        let (status, answer) = post(&gate, ROUTE, TOKEN, &request);
        assert_eq!(status, 200, "{answer}");
        assert_eq!(provider.requests().last().unwrap()["parallel_tool_calls"], false);
        let mut other = request.clone();
        other["model"] = json!("understudy");
        let (status, answer) = post(&gate, ROUTE, TOKEN, &other);
        assert_eq!((status, &body(&answer)["error"]["param"]), (400, &json!("parallel_tool_calls")));
        request["tool_choice"] = json!("none");
        let (status, answer) = post(&gate, ROUTE, TOKEN, &request);
        assert_eq!(status, 200, "{answer}");
        assert!(provider.requests().last().unwrap()["tools"].is_null(), "{answer}");
    }
}

#[test]
fn tools_of_the_client_are_left_to_it() {
    let provider = Provider::new(
        Dialect::Chat,
        [calls([("get__weather", json!({ "city": "Paris" }))]), text("It rains.")],
    );
    let env = provider.env(TestEnv::new()).var("CONVERSE_SERVE_TOKEN", TOKEN);
    let gate = open(&env, &["-e", "essentials", "--allow", "*"]);
    let mut request = question(provider.model(), "Weather in Paris?");
    let parameters = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
    request["tools"] =
        json!([{ "type": "function", "function": { "name": "get__weather", "parameters": parameters } }]);
    let (status, answer) = post(&gate, ROUTE, TOKEN, &request);
    let choice = &body(&answer)["choices"][0];
    assert_eq!((status, &choice["finish_reason"]), (200, &json!("tool_calls")), "{answer}");
    let message = choice["message"].clone();
    let call = &message["tool_calls"][0];
    assert_eq!(
        call["function"],
        json!({ "name": "get__weather", "arguments": "{\"city\":\"Paris\"}" }),
        "{answer}"
    );

    let result = json!({ "role": "tool", "tool_call_id": call["id"], "content": "rain" });
    let asked = request["messages"][0].clone();
    request["messages"] = json!([asked, message, result]);
    let (status, answer) = post(&gate, ROUTE, TOKEN, &request);
    let choice = &body(&answer)["choices"][0];
    assert_eq!((status, &choice["message"]["content"]), (200, &json!("It rains.")), "{answer}");
    let requests = provider.requests();
    let offered = &requests[0]["tools"];
    assert_eq!(offered.as_array().map(Vec::len), Some(1), "never mixed with tools of this server: {offered}");
    assert_eq!(requests[1]["messages"].as_array().map(Vec::len), Some(3), "{}", requests[1]);
}

#[test]
fn settings_of_a_request_and_of_a_preset_reach_the_model() {
    let provider = Provider::new(Dialect::Chat, [text("one"), text("two")]);
    let env = provider.env(TestEnv::new()).var("CONVERSE_SERVE_TOKEN", TOKEN);
    env.write(
        "home/.config/converse/config.toml",
        &format!(
            "[presets.brief]\ndescription = \"Short answers\"\nmodel = \"{}\"\nsystem = \"Be brief.\"\nensembles = []\n\
             [presets.free]\nmodel = \"understudy\"\n\
             [presets.strict]\nmodel = \"understudy\"\npermissions = {{ deny = [\"essentials.calculator\"] }}\n",
            provider.model()
        ),
    );
    let gate = open(&env, &["-e", "essentials"]);
    let (_, list) = get(&gate, "/v1/models", TOKEN);
    assert!(list.contains("\"id\":\"brief\"") && list.contains("Short answers"), "{list}");
    assert!(!list.contains("Be brief."), "the system text is not for clients: {list}");
    assert_eq!(get(&gate, "/v1/models/brief", TOKEN).0, 200);
    assert_eq!(get(&gate, "/v1/models/other", TOKEN).0, 404);

    let mut request = question("brief", "Hello");
    request["max_completion_tokens"] = json!(77);
    request["top_p"] = json!(0.5);
    let (status, answer) = post(&gate, ROUTE, TOKEN, &request);
    assert_eq!((status, &body(&answer)["model"]), (200, &json!("brief")), "{answer}");
    assert_eq!(body(&answer)["choices"][0]["message"]["content"], "one");
    let sent = &provider.requests()[0];
    assert_eq!(sent["messages"][0]["content"], "Be brief.", "{sent}");
    assert_eq!((&sent["top_p"], sent.get("tools")), (&json!(0.5), None), "{sent}");
    assert!(sent.to_string().contains("77"), "{sent}");
    for (preset, outcome) in [("free", "success"), ("strict", "refused"), ("free", "success")] {
        let (_, answer) = post(&gate, ROUTE, TOKEN, &question(preset, "What is 15% of 2500?"));
        let event = &body(&answer)["choices"][0]["message"]["events"][0];
        assert_eq!(event["outcome"], outcome, "{preset}: {answer}");
    }
}

#[test]
fn what_cannot_be_honoured_is_refused_with_an_error_object() {
    let env = TestEnv::new();
    let file = token_file(&env, TOKEN);
    let gate = open(&env, &["-e", "essentials", "--token-file", &file]);
    let refused = |token: &str, change: &[(&str, Value)]| {
        let mut request = question("understudy", "x");
        change.iter().for_each(|(key, value)| request[*key] = value.clone());
        let (status, answer) = post(&gate, ROUTE, token, &request);
        let error = body(&answer)["error"].clone();
        assert!(error["message"].is_string() && error["type"].is_string(), "{answer}");
        (status, error["param"].as_str().map(str::to_owned))
    };
    assert_eq!(refused(OTHER, &[]), (401, None));
    for (key, value, status) in [
        ("temprature", json!(1), 400),
        ("n", json!(2), 400),
        ("logprobs", json!(true), 400),
        ("tool_choice", json!("required"), 400),
        ("model", json!("no-such-model"), 404),
        ("messages", json!([]), 400),
    ] {
        assert_eq!(refused(TOKEN, &[(key, value)]), (status, Some(key.to_owned())), "{key}");
    }
    let (status, answer) = get(&gate, ROUTE, TOKEN);
    assert!(status == 405 && answer.contains("allow: POST"), "{answer}");
    assert_eq!(get(&gate, "/v1/unknown", TOKEN).0, 404);
    // Without the flag there is no such route.
    let plain = Gate::open(&env, &["-e", "essentials"]);
    assert_eq!(get(&plain, "/v1/models", TOKEN).0, 404);
}

#[test]
fn a_token_is_made_where_none_is_given() {
    let env = TestEnv::new();
    let mut command = env.command(["serve", "--http", "127.0.0.1:0", "--openai", "-e", "essentials"]);
    let mut gate = Gate::begun(&mut command);
    let openai = gate.says();
    assert!(openai.contains("/v1"), "{openai}");
    let line = gate.says();
    let token = line
        .trim_end()
        .strip_prefix("the token of this run: ")
        .unwrap_or_else(|| panic!("{line}"))
        .to_owned();
    assert_eq!(token.len(), 64, "{token}");
    assert_eq!(get(&gate, "/v1/models", &token).0, 200);
    assert_eq!(get(&gate, "/v1/models", TOKEN).0, 401);
    assert_eq!(gate.call("essentials__calculator", &super::sum(), None).0, 401);
    assert_eq!(gate.call("essentials__calculator", &super::sum(), Some(&token)).0, 200);
}

#[test]
fn a_failure_of_the_provider_is_an_error_that_is_not_repeated() {
    let provider = Provider::new(Dialect::Chat, [crate::http::Answer::new(401, "application/json", "{}")]);
    let env = provider.env(TestEnv::new()).var("CONVERSE_SERVE_TOKEN", TOKEN);
    let gate = open(&env, &["-e", "essentials"]);
    let (status, answer) = post(&gate, ROUTE, TOKEN, &question(provider.model(), "Hello"));
    assert_eq!((status, &body(&answer)["error"]["code"]), (502, &json!("provider_refused")), "{answer}");
    assert!(answer.contains("x-should-retry: false"), "{answer}");
    assert!(!answer.contains(KEY), "{answer}");
}
