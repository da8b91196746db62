//! Prompts in two languages against fourteen tools, nine of them foreign; the share that is routed rightly is stated in
//! `docs/reference/understudy.md` and must be what this run finds.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers may panic")]

use bytes::Bytes;
use serde_json::{Value, json};

const PROMPTS: &str = include_str!("prompts.toml");
const TOOLS: &str = include_str!("tools.json");
const PAGE: &str = include_str!("../../../docs/reference/understudy.md");

/// All calls of the turn; every call is answered with `an answer`.
fn calls(prompt: &str) -> Vec<(String, Value)> {
    let tools: Value = serde_json::from_str(TOOLS).unwrap();
    let mut messages = vec![json!({"role": "user", "content": prompt})];
    let mut found = Vec::new();
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
            found.push((text("/function/name"), serde_json::from_str(&text("/function/arguments")).unwrap()));
        }
    }
    found
}

fn is_right(prompt: &str, wanted: &[toml::Value]) -> Result<(), String> {
    let found = calls(prompt);
    let fits = |(call, wanted): (&(String, Value), &toml::Value)| {
        let arguments = serde_json::to_value(&wanted[1]).unwrap();
        call.0 == wanted[0].as_str().unwrap()
            && arguments.as_object().unwrap().iter().all(|(key, value)| call.1.get(key) == Some(value))
    };
    if found.len() == wanted.len() && found.iter().zip(wanted).all(fits) {
        Ok(())
    } else {
        Err(format!("{prompt}\n    {found:?}"))
    }
}

fn share(set: &str) -> (usize, usize, Vec<String>) {
    let table: toml::Table = PROMPTS.parse().unwrap();
    let prompts = table.get(set).map(|set| set.as_array().unwrap().clone()).unwrap_or_default();
    let judge =
        |one: &toml::Value| is_right(one["prompt"].as_str().unwrap(), one["calls"].as_array().unwrap()).err();
    let wrong: Vec<String> = prompts.iter().filter_map(judge).collect();
    (prompts.len() - wrong.len(), prompts.len(), wrong)
}

#[test]
fn every_seen_prompt_is_routed_rightly() {
    let (right, all, wrong) = share("seen");
    println!("seen: {right} of {all}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(PAGE.contains(&format!("seen: {right} of {all}")), "the page must say `seen: {right} of {all}`");
}

/// What the router finds among prompts that it was not written beside. It may rise and must not fall.
const HELD_OUT_RIGHT: usize = 62;

#[test]
fn the_share_of_held_out_prompts_is_the_stated_one() {
    let (right, all, wrong) = share("held_out");
    println!("held-out: {right} of {all}\n{}", wrong.join("\n"));
    assert!(right >= HELD_OUT_RIGHT, "{}", wrong.join("\n"));
    assert!(
        PAGE.contains(&format!("held-out: {right} of {all}")),
        "the page must say `held-out: {right} of {all}`"
    );
}
