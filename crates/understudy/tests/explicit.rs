//! The explicit form `@ensemble.invoker key=value …`, through the public function.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers may panic")]

use bytes::Bytes;
use serde_json::{Value, json};

/// The calls of a prompt: name and arguments as they go over the wire.
fn calls(text: &str, properties: &Value) -> Vec<(String, String)> {
    let schema = json!({"type": "object", "required": ["text"], "properties": properties});
    let tools = ["lab__probe", "bare"].map(|name| json!({"function": {"name": name, "parameters": schema}}));
    let body =
        json!({"model": "m", "tools": tools, "messages": [{"role": "user", "content": text}]}).to_string();
    let request =
        http::Request::post("http://understudy/v1/chat/completions").body(Bytes::from(body)).unwrap();
    let reply: Value = serde_json::from_slice(converse_understudy::respond(&request).body()).unwrap();
    let calls = reply.pointer("/choices/0/message/tool_calls").and_then(Value::as_array).cloned();
    let field =
        |call: &Value, pointer: &str| call.pointer(pointer).and_then(Value::as_str).unwrap().to_owned();
    let both = |call: Value| (field(&call, "/function/name"), field(&call, "/function/arguments"));
    calls.unwrap_or_default().into_iter().map(both).collect()
}

fn properties() -> Value {
    json!({"text": {"type": "string"}, "count": {"type": "integer"}, "on": {"type": "boolean"}, "tags": {"type": "array"}})
}

#[test]
fn values_are_quoted_or_bare_or_json() {
    for (text, name, arguments) in [
        ("@lab.probe text=5 count=5 on=true", "lab__probe", r#"{"text":"5","count":5,"on":true}"#),
        ("@lab__probe text=\"a b = c\"", "lab__probe", r#"{"text":"a b = c"}"#),
        ("@lab.probe text='it is'", "lab__probe", r#"{"text":"it is"}"#),
        ("@lab.probe text=«раз два» other=x", "lab__probe", r#"{"text":"раз два","other":"x"}"#),
        ("@lab.probe hello wide world", "lab__probe", r#"{"text":"hello wide world"}"#),
        ("@lab.probe \"hello\" count=2", "lab__probe", r#"{"count":2,"text":"hello"}"#),
        (
            "@lab.probe text=x tags=[1,{\"a\":2}] count=3",
            "lab__probe",
            r#"{"text":"x","tags":[1,{"a":2}],"count":3}"#,
        ),
        ("@lab.probe {\"text\": 1, \"text\": 2}", "lab__probe", "{\"text\": 1, \"text\": 2}"),
        ("@lab.probe {broken", "lab__probe", "{broken"),
        ("@lab.probe", "lab__probe", "{}"),
        ("@bare 1 + 1 == 2", "bare", r#"{"text":"1 + 1 == 2"}"#),
        ("@no.such/tool x=1", "no__such_tool", r#"{"x":1}"#),
        ("@lab.probe text=\"\"", "lab__probe", r#"{"text":""}"#),
    ] {
        assert_eq!(calls(text, &properties()), [(name.to_owned(), arguments.to_owned())], "{text}");
    }
}

#[test]
fn the_schema_decides_the_type_of_a_bare_value() {
    for (schema, text, value) in [
        (json!({"type": "string"}), "5", json!("5")),
        (json!({"type": "integer"}), "5", json!(5)),
        (json!({"type": "integer"}), "five", json!("five")),
        (json!({"type": "boolean"}), "no", json!(false)),
        (json!({"type": "array", "items": {"type": "string"}}), "a,5", json!(["a", "5"])),
        (json!({"type": "array"}), "[1, 2]", json!([1, 2])),
        (json!({"type": "object"}), "{\"a\": 1}", json!({"a": 1})),
        (json!({"type": ["string", "null"]}), "null", json!(null)),
        (json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}), "4", json!(4)),
        (json!({}), "true", json!(true)),
        (json!({}), "word", json!("word")),
        (json!({}), "\"5\"", json!("5")),
    ] {
        let made = calls(&format!("@lab.probe x={text}"), &json!({ "x": schema }));
        assert_eq!(made, [("lab__probe".to_owned(), json!({ "x": value }).to_string())], "{schema} {text}");
    }
}

#[test]
fn a_prompt_may_hold_several_beside_plain_text() {
    let made = calls("What is it?\n@lab.probe a @lab.probe b\nand @bare c\nmore\ntext", &properties());
    let texts: Vec<_> = made.iter().map(|(_, arguments)| arguments.as_str()).collect();
    assert_eq!(texts, [r#"{"text":"a"}"#, r#"{"text":"b"}"#, r#"{"text":"c"}"#]);
    for text in
        ["mail ann@example.org", "ask @john about it", "say \"@lab.probe x\"", "@ alone", "@.x", "@x."]
    {
        assert!(calls(text, &properties()).is_empty(), "{text}");
    }
}
