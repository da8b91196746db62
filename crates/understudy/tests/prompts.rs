//! Prompts in two languages against the shipped tools, read from their descriptors, and six foreign ones.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers may panic")]

mod offered;

use bytes::Bytes;
use serde_json::{Value, json};

const PROMPTS: &str = include_str!("prompts.toml");
const PAGE: &str = include_str!("../../../docs/reference/understudy.md");

/// All calls of the turn; every call is answered with `an answer`.
fn calls(prompt: &str, tools: &[Value]) -> Vec<(String, Value)> {
    let mut messages = vec![json!({"role": "user", "content": prompt})];
    let mut made = Vec::new();
    for _ in 0..4 {
        let body = json!({"model": "understudy", "messages": messages, "tools": tools}).to_string();
        let request =
            http::Request::post("http://understudy/v1/chat/completions").body(Bytes::from(body)).unwrap();
        let response: Value = serde_json::from_slice(converse_understudy::respond(&request).body()).unwrap();
        let message = response.pointer("/choices/0/message").unwrap().clone();
        let Some(round) = message.get("tool_calls").and_then(Value::as_array).cloned() else { break };
        messages.push(message);
        for call in round {
            let text = |pointer: &str| call.pointer(pointer).and_then(Value::as_str).unwrap().to_owned();
            messages.push(json!({"role": "tool", "tool_call_id": text("/id"), "content": "an answer"}));
            made.push((text("/function/name"), serde_json::from_str(&text("/function/arguments")).unwrap()));
        }
    }
    made
}

fn wrong(prompt: &str, wanted: &[toml::Value], tools: &[Value]) -> Option<String> {
    let made = calls(prompt, tools);
    let fits = |(call, wanted): (&(String, Value), &toml::Value)| {
        let arguments = serde_json::to_value(&wanted[1]).unwrap();
        call.0 == wanted[0].as_str().unwrap()
            && arguments.as_object().unwrap().iter().all(|(key, value)| call.1.get(key) == Some(value))
    };
    let right = made.len() == wanted.len() && made.iter().zip(wanted).all(fits);
    (!right).then(|| format!("{prompt}\n    {made:?}"))
}

fn prompts() -> Vec<(String, Vec<toml::Value>)> {
    let table: toml::Table = PROMPTS.parse().unwrap();
    let row = |one: &toml::Value| {
        (one["prompt"].as_str().unwrap().to_owned(), one["calls"].as_array().unwrap().clone())
    };
    table["prompts"].as_array().unwrap().iter().map(row).collect()
}

#[test]
fn every_prompt_becomes_the_calls_that_are_promised() {
    let tools = offered::all();
    let all = prompts();
    let wrong: Vec<String> = all.iter().filter_map(|(prompt, calls)| wrong(prompt, calls, &tools)).collect();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    let nothing = all.iter().filter(|(_, calls)| calls.is_empty()).count();
    let stated = format!("{} prompts, {nothing} of which must call nothing", all.len());
    assert!(PAGE.contains(&stated), "the page must say `{stated}`");
}

/// Without the foreign tools a word weighs differently. The shipped tools must do the same alone, and a prompt for foreign
/// tools must call nothing.
#[test]
fn the_shipped_tools_alone_do_the_same() {
    let shipped = offered::shipped(false);
    let few = |tool: &&Value| {
        let name = tool["function"]["name"].as_str().unwrap();
        name.starts_with("essentials__") || name.starts_with("io__")
    };
    do_the_same(&shipped);
    do_the_same(&offered::shipped(true));
    do_the_same(&shipped.iter().filter(few).cloned().collect::<Vec<_>>());
}

fn do_the_same(tools: &[Value]) {
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool.pointer("/function/name")?.as_str()).collect();
    let mut failed = Vec::new();
    for (prompt, all) in prompts() {
        let mut wanted = all.clone();
        wanted.retain(|call| names.contains(&call[0].as_str().unwrap()));
        // A half of a prompt may depend on the other one.
        if wanted.is_empty() || wanted.len() == all.len() {
            failed.extend(wrong(&prompt, &wanted, tools));
        }
    }
    assert!(failed.is_empty(), "{} tools, {} wrong:\n{}", tools.len(), failed.len(), failed.join("\n"));
}

#[test]
fn tools_that_are_off_by_default_are_found_when_they_are_offered() {
    for (prompt, tool, code) in [
        ("Run the Python program \"print(6 * 7)\"", "code__python", "print(6 * 7)"),
        ("run this shell script: \"echo a\"", "code__shell", "echo a"),
        ("Выполни программу на javascript «console.log(1)»", "code__javascript", "console.log(1)"),
    ] {
        let wanted = (tool.to_owned(), json!({"code": code}));
        assert_eq!(calls(prompt, &offered::shipped(true)), [wanted], "{prompt}");
        assert_eq!(calls(prompt, &offered::shipped(false)), [], "{prompt}");
    }
}
