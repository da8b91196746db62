//! What goes over the wire: whole and streamed replies are the same, rounds follow each other, errors have their form.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers may panic")]

mod offered;

use bytes::Bytes;
use http::{Method, Request, Response};
use serde_json::{Value, json};

fn send(body: &Value) -> Response<Bytes> {
    let request =
        Request::post("http://understudy/v1/chat/completions").body(Bytes::from(body.to_string())).unwrap();
    converse_understudy::respond(&request)
}

fn whole(body: &Value) -> Value {
    let response = send(body);
    assert_eq!(response.status(), 200, "{:?}", response.body());
    serde_json::from_slice(response.body()).unwrap()
}

fn tools() -> Value {
    Value::Array(offered::all())
}

fn ask(prompt: &str) -> Value {
    json!({"model": "understudy", "messages": [{"role": "user", "content": prompt}], "tools": tools()})
}

/// The body with the reply's calls and these results behind it.
fn answered(mut body: Value, reply: &Value, results: &[&str]) -> Value {
    let message = reply.pointer("/choices/0/message").unwrap().clone();
    let calls = message["tool_calls"].as_array().unwrap().clone();
    assert_eq!(calls.len(), results.len());
    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(message);
    for (call, result) in calls.iter().zip(results) {
        messages.push(json!({"role": "tool", "tool_call_id": call["id"], "content": result}));
    }
    body
}

/// The message that a stream's chunks add up to, and why it ended.
fn added_up(stream: &str) -> (Value, String, Vec<Value>) {
    let (mut text, mut calls, mut finish, mut chunks) =
        (String::new(), Vec::<Value>::new(), String::new(), Vec::new());
    let mut lines: Vec<&str> = stream.split("\n\n").filter(|line| !line.is_empty()).collect();
    assert_eq!(lines.pop(), Some("data: [DONE]"));
    for line in lines {
        let chunk: Value = serde_json::from_str(line.strip_prefix("data: ").unwrap()).unwrap();
        if let Some(choice) = chunk["choices"].get(0) {
            text.push_str(choice["delta"]["content"].as_str().unwrap_or_default());
            for call in choice["delta"]["tool_calls"].as_array().into_iter().flatten() {
                let index = usize::try_from(call["index"].as_u64().unwrap()).unwrap();
                if index == calls.len() {
                    calls.push(json!({"id": call["id"], "name": call["function"]["name"], "arguments": ""}));
                }
                let more = calls[index]["arguments"].as_str().unwrap().to_owned()
                    + call["function"]["arguments"].as_str().unwrap();
                calls[index]["arguments"] = json!(more);
            }
            if let Some(reason) = choice["finish_reason"].as_str() {
                finish = reason.to_owned();
            }
        }
        chunks.push(chunk);
    }
    (json!({"text": text, "calls": calls}), finish, chunks)
}

const SEED: &str = "What is 15% of 2500, and what time is it in Tokyo?";

#[test]
fn a_turn_of_two_parallel_calls() {
    let body = ask(SEED);
    let first = whole(&body);
    assert_eq!(first.pointer("/choices/0/finish_reason"), Some(&json!("tool_calls")));
    let when = json!({"timezone": "Asia/Tokyo", "datetime": "2026-11-21T08:55:12+09:00", "text": "Saturday, 21 November 2026, 08:55:12 (UTC+09:00)"}).to_string();
    let sum = json!({"expression": "15% of 2500", "result": "375", "exact": true}).to_string();
    let second = whole(&answered(body, &first, &[&sum, &when]));
    assert_eq!(
        second.pointer("/choices/0/message/content").and_then(Value::as_str),
        Some("15% of 2500 = 375\nAsia/Tokyo: Saturday, 21 November 2026, 08:55:12 (UTC+09:00)")
    );
    assert_eq!(second.pointer("/choices/0/finish_reason"), Some(&json!("stop")));
    assert_ne!(first["id"], second["id"]);
}

#[test]
fn a_stream_adds_up_to_the_whole() {
    for prompt in
        [SEED, "Привет!", "@x.y a=1 @essentials.calculator {\"expression\": \"1+1 and much more to say\"}"]
    {
        let mut body = ask(prompt);
        body["stream"] = json!(true);
        let response = send(&body);
        assert_eq!(response.headers()["content-type"], "text/event-stream; charset=utf-8");
        let (message, finish, chunks) = added_up(std::str::from_utf8(response.body()).unwrap());
        let plain = whole(&ask(prompt));
        let expected = plain.pointer("/choices/0/message").unwrap();
        assert_eq!(message["text"].as_str().unwrap(), expected["content"].as_str().unwrap_or_default());
        let calls = expected["tool_calls"].as_array().cloned().unwrap_or_default();
        assert_eq!(message["calls"].as_array().unwrap().len(), calls.len());
        for (mine, its) in message["calls"].as_array().unwrap().iter().zip(&calls) {
            assert_eq!(
                (&mine["name"], &mine["arguments"]),
                (&its["function"]["name"], &its["function"]["arguments"])
            );
        }
        assert_eq!(json!(finish), plain["choices"][0]["finish_reason"]);
        assert!(chunks.iter().all(|chunk| chunk["id"] == chunks[0]["id"] && chunk.get("usage").is_none()));
    }
}

#[test]
fn usage_comes_when_it_is_asked_for() {
    let mut body = ask("Привет!");
    body["stream"] = json!(true);
    body["stream_options"] = json!({"include_usage": true});
    let response = send(&body);
    let (message, _, chunks) = added_up(std::str::from_utf8(response.body()).unwrap());
    let last = chunks.last().unwrap();
    assert_eq!(last["choices"], json!([]));
    assert_eq!(last["usage"]["prompt_tokens"], json!(body.to_string().len().div_ceil(4)));
    assert_eq!(
        last["usage"]["completion_tokens"],
        json!(message["text"].as_str().unwrap().len().div_ceil(4))
    );
    assert!(chunks[0]["usage"].is_null() && chunks[0].get("usage").is_some());
}

#[test]
fn equal_requests_get_equal_bytes_and_every_call_its_own_id() {
    assert_eq!(send(&ask(SEED)).body(), send(&ask(SEED)).body());
    let first = whole(&ask(SEED));
    let calls = first.pointer("/choices/0/message/tool_calls").unwrap().as_array().unwrap();
    assert_ne!(calls[0]["id"], calls[1]["id"]);
}

#[test]
fn a_step_that_needs_the_one_before_waits_for_it() {
    let body = ask("Read a.txt, then save it to b.txt");
    let first = whole(&body);
    let second_body = answered(body, &first, &["the text of a"]);
    let second = whole(&second_body);
    let call = second.pointer("/choices/0/message/tool_calls/0/function").unwrap();
    assert_eq!(call["name"], "io__write_file");
    assert_eq!(call["arguments"], r#"{"path":"b.txt","content":"the text of a"}"#);
    let third = whole(&answered(second_body, &second, &["wrote 13 bytes to b.txt"]));
    assert_eq!(
        third.pointer("/choices/0/message/content"),
        Some(&json!("a.txt: the text of a\nwrote 13 bytes to b.txt"))
    );
}

#[test]
fn each_step_takes_the_answer_before_it() {
    let body = ask("Read a.txt, then save it to b.txt, then read c.txt, then save it to d.txt");
    let first = whole(&body);
    let body = answered(body, &first, &["text a"]);
    let second = whole(&body);
    let body = answered(body, &second, &["saved", "text c"]);
    let third = whole(&body);
    let call = third.pointer("/choices/0/message/tool_calls/0/function/arguments").unwrap();
    assert_eq!(call, r#"{"path":"d.txt","content":"text c"}"#);
}

#[test]
fn a_step_after_a_failure_is_left_out_and_said() {
    let body = ask("Прочитай a.txt и сохрани это в b.txt");
    let first = whole(&body);
    let second = whole(&answered(body, &first, &["error (refused): not allowed here"]));
    let text = second.pointer("/choices/0/message/content").and_then(Value::as_str).unwrap();
    assert!(text.starts_with("`io.read_file` не выполнен (отказано): not allowed here"), "{text}");
    assert!(text.contains("Следующий шаг пропущен"), "{text}");
}

#[test]
fn what_was_not_routed_is_said_beside_the_answers() {
    let body = ask("What is 2+2? Sing me a song.");
    let first = whole(&body);
    let second = whole(&answered(body, &first, &["4"]));
    let text = second.pointer("/choices/0/message/content").and_then(Value::as_str).unwrap();
    assert!(
        text.starts_with("2 + 2 = 4\n\nI am a router, no language model")
            && text.contains("«Sing me a song.»"),
        "{text}"
    );
}

#[test]
fn nothing_matched_says_what_there_is() {
    let reply = whole(&ask("Расскажи анекдот"));
    let text = reply.pointer("/choices/0/message/content").and_then(Value::as_str).unwrap();
    for part in [
        "не языковая модель",
        "- io.read_file — Reads a text file of the workspace",
        "@essentials.calculator expression=",
        "OPENAI_API_KEY",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let mut bare = ask(SEED);
    bare.as_object_mut().unwrap().remove("tools");
    let text = whole(&bare).pointer("/choices/0/message/content").unwrap().to_string();
    assert!(text.contains("No tools are offered") && text.contains("not a language model"), "{text}");
}

#[test]
fn many_calls_come_in_bounded_replies() {
    let prompt = (0..40).map(|n| format!("@essentials.calculator {n}+1")).collect::<Vec<_>>().join("\n");
    let mut body = ask(&prompt);
    let mut rounds = Vec::new();
    loop {
        let reply = whole(&body);
        let Some(calls) = reply.pointer("/choices/0/message/tool_calls").and_then(Value::as_array) else {
            break;
        };
        rounds.push(calls.len());
        let results = vec!["1"; calls.len()];
        body = answered(body, &reply, &results);
    }
    assert_eq!(rounds, [16, 16, 8]);
    let mut single = ask(SEED);
    single["parallel_tool_calls"] = json!(false);
    assert_eq!(whole(&single).pointer("/choices/0/message/tool_calls").unwrap().as_array().unwrap().len(), 1);
}

#[test]
fn a_new_prompt_does_not_count_old_calls() {
    let body = ask("What is 2+2?");
    let first = whole(&body);
    let mut body = answered(body, &first, &["4"]);
    body["messages"].as_array_mut().unwrap().extend([
        json!({"role": "assistant", "content": "2 + 2 = 4"}),
        json!({"role": "user", "content": "What is 3+3?"}),
    ]);
    let reply = whole(&body);
    assert_eq!(
        reply.pointer("/choices/0/message/tool_calls/0/function/arguments"),
        Some(&json!(r#"{"expression":"3 + 3"}"#))
    );
}

#[test]
fn what_cannot_be_answered_is_refused_in_openais_form() {
    let post = |path: &str, method: Method, body: &'static [u8]| {
        let request = Request::builder().method(method).uri(path).body(Bytes::from_static(body)).unwrap();
        let response = converse_understudy::respond(&request);
        let error: Value = serde_json::from_slice(response.body()).unwrap();
        let keys: Vec<String> = error["error"].as_object().unwrap().keys().cloned().collect();
        assert_eq!(keys, ["message", "type", "param", "code"]);
        response.status().as_u16()
    };
    assert_eq!(post("/v1/chat/completions", Method::POST, b"{"), 400);
    assert_eq!(post("/v1/chat/completions", Method::POST, b"{\"model\":\"m\",\"messages\":[]}"), 400);
    assert_eq!(post("/v1/responses", Method::POST, b"{}"), 404);
    assert_eq!(post("/v1/chat/completions", Method::GET, b""), 405);
}

#[test]
fn hostile_input_is_answered() {
    let deep = "[".repeat(100_000);
    let request = Request::post("/chat/completions").body(Bytes::from(deep)).unwrap();
    assert_eq!(converse_understudy::respond(&request).status(), 400);
    let prompts = [
        "(".repeat(70_000),
        "@".repeat(70_000),
        "\"' «".repeat(20_000),
        "5 and 6 ".repeat(9_000),
        "a.b/c ".repeat(9_000),
        "1+".repeat(40_000),
        "@a.b x={".repeat(8_000),
        "Tokyo and ".repeat(7_000),
    ];
    for prompt in prompts {
        let reply = whole(&ask(&prompt));
        assert!(reply["choices"][0]["finish_reason"].is_string());
    }
}

#[test]
fn thousands_of_tools_are_ranked() {
    let mut body = ask("What is the flavour of gadget 7?");
    let tool = |n: usize| json!({"type": "function", "function": {"name": format!("shop__gadget_{n}"), "description": "Tells the price of a gadget.", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}}});
    body["tools"] = (0..2500).map(tool).collect();
    assert_eq!(whole(&body).pointer("/choices/0/finish_reason"), Some(&json!("stop")));
    body["messages"][0]["content"] = json!("@shop.gadget_2400 path=x");
    assert_eq!(
        whole(&body).pointer("/choices/0/message/tool_calls/0/function/name"),
        Some(&json!("shop__gadget_2400"))
    );
}

#[test]
fn what_is_wrong_is_named() {
    let user = json!([{"role": "user", "content": "x"}]);
    for (body, param) in [
        (json!([]), "model"),
        (json!({"messages": user}), "model"),
        (json!({"model": "m"}), "messages"),
        (json!({"model": "m", "messages": []}), "messages"),
        (json!({"model": "m", "messages": [{"role": "king"}]}), "messages"),
        (json!({"model": "m", "messages": [{"role": "tool", "content": "x"}]}), "messages"),
        (json!({"model": "m", "messages": user, "tools": {}}), "tools"),
        (json!({"model": "m", "messages": user, "tools": [{}]}), "tools"),
        (
            json!({"model": "m", "messages": user, "response_format": {"type": "json_schema"}}),
            "response_format",
        ),
    ] {
        let response = send(&body);
        let error: Value = serde_json::from_slice(response.body()).unwrap();
        assert_eq!((response.status().as_u16(), &error["error"]["param"]), (400, &json!(param)), "{body}");
    }
}

#[test]
fn the_choice_of_tools_is_obeyed() {
    let offered = |choice: Value| {
        let tools = json!([{"function": {"name": "a__x"}}, {"function": {"name": "b__x"}}]);
        let messages = json!([{"role": "user", "content": "hello"}]);
        let reply =
            whole(&json!({"model": "m", "messages": messages, "tools": tools, "tool_choice": choice}));
        let text = reply.pointer("/choices/0/message/content").unwrap().to_string();
        [text.contains("- a.x"), text.contains("- b.x")]
    };
    assert_eq!(offered(json!("none")), [false, false]);
    assert_eq!(offered(json!("auto")), [true, true]);
    assert_eq!(offered(json!({"type": "function", "function": {"name": "b__x"}})), [false, true]);
}

#[test]
fn images_of_a_result_are_not_a_prompt() {
    let body = ask("What is 2+2?");
    let first = whole(&body);
    let mut body = answered(body, &first, &["4"]);
    let image = json!({"type": "image_url", "image_url": {"url": "data:"}});
    let shown = json!({"role": "user", "content": [{"type": "text", "text": "What is 3+3?"}, image]});
    body["messages"].as_array_mut().unwrap().push(shown);
    assert_eq!(whole(&body).pointer("/choices/0/message/content"), Some(&json!("2 + 2 = 4")));
}

#[test]
fn a_limit_of_tokens_cuts_between_characters_and_says_so() {
    let mut body = ask("Привет!");
    body["max_tokens"] = json!(1);
    let choice = whole(&body)["choices"][0].clone();
    assert_eq!((&choice["message"]["content"], &choice["finish_reason"]), (&json!("Я "), &json!("length")));
}
