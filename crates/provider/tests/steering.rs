//! What the user says to a turn that runs, on each wire: after all results of a reply, before the next one.

#![allow(clippy::unwrap_used, reason = "a test's helpers may panic")]

use converse_canister::{
    Arguments, Assistant, Canister, Content, Invocation, InvocationId, InvocationResult, NoBlobs, Outcome,
    Stop, Transcript, TurnId, User,
};
use converse_provider::{Controls, Facts, Prompt, ToolProtocol, processor_of, row};
use serde_json::{Value, json};

/// A question, a reply with two calls, their results in the order in which they came, and two messages of the user.
fn steered() -> Transcript {
    let turn = TurnId(1);
    let call = |index: usize| {
        Canister::Invocation(Invocation {
            turn,
            id: InvocationId::of(turn, index),
            wire_id: Some(format!("call{index}")),
            tool: "t__look".to_owned(),
            arguments: Arguments::parse(&format!("{{\"at\":{index}}}")),
            seal: None,
        })
    };
    let result = |index: usize| {
        let id = InvocationId::of(turn, index);
        Canister::Result(InvocationResult::new(id, Outcome::Success, format!("result {index}")))
    };
    let content = vec![Content::text("I look.")];
    let words =
        Canister::Assistant(Assistant { turn, content, native: None, stop: Stop::End, response_id: None });
    let said = |text: &str| Canister::User(User::text(text));
    let all = vec![said("q"), words, call(0), call(1), result(1), result(0), said("faster"), said("please")];
    Transcript::try_from(all).unwrap()
}

/// Returns the messages of a request from the results on.
fn sent(provider: &str, key: &str, from: usize, tools: Option<ToolProtocol>) -> Value {
    let mut endpoint = row(provider).unwrap().endpoint(None);
    endpoint.tools = tools.unwrap_or(endpoint.tools);
    let (controls, facts, transcript) = (Controls::default(), Facts::default(), steered());
    let view = transcript.as_slice();
    let prompt = Prompt { model: "m", view, tools: &[], controls: &controls, facts: &facts, blobs: &NoBlobs };
    let request = processor_of(&endpoint).nativize(&prompt, &endpoint).unwrap();
    let body: Value = serde_json::from_slice(request.body()).unwrap();
    body[key].as_array().unwrap().iter().skip(from).cloned().collect()
}

#[test]
fn words_of_the_user_follow_the_results_on_every_wire() {
    let outputs = |key: &str| {
        let one = |index: usize| json!({ "role": "tool", key: if key == "tool_name" { json!("t__look") } else { json!(format!("inv_1_{index}")) }, "content": format!("result {index}") });
        [one(0), one(1), json!({ "role": "user", "content": "faster\n\nplease" })]
    };
    assert_eq!(sent("openai", "messages", 2, None), json!(outputs("tool_call_id")));
    assert_eq!(sent("ollama-native", "messages", 2, None), json!(outputs("tool_name")));

    // Results come first in the message that has them.
    let result = |index: usize| json!({ "type": "tool_result", "tool_use_id": format!("inv_1_{index}"), "content": format!("result {index}") });
    let words = [
        json!({ "type": "text", "text": "faster" }),
        json!({ "type": "text", "text": "please", "cache_control": { "type": "ephemeral" } }),
    ];
    let content: Vec<Value> = [result(0), result(1)].into_iter().chain(words).collect();
    assert_eq!(sent("anthropic", "messages", 2, None), json!([{ "role": "user", "content": content }]));

    let output = |index: usize| json!({ "type": "function_call_output", "call_id": format!("inv_1_{index}"), "output": format!("result {index}") });
    let words = json!({ "role": "user", "content": "faster\n\nplease" });
    assert_eq!(sent("openai-responses", "input", 4, None), json!([output(0), output(1), words]));

    // One part for each call, in their order, before the words.
    let response = |index: usize| json!({ "functionResponse": { "name": "t__look", "response": { "output": format!("result {index}") } } });
    let parts = [response(0), response(1), json!({ "text": "faster" }), json!({ "text": "please" })];
    assert_eq!(sent("gemini", "contents", 2, None), json!([{ "role": "user", "parts": parts }]));

    let response = |index: usize| {
        format!(
            "<tool_response>\n{{\"name\":\"t__look\",\"content\":\"result {index}\"}}\n</tool_response>\n"
        )
    };
    let content = format!("{}{}\nfaster\n\nplease", response(0), response(1));
    let prompted = sent("openai", "messages", 2, Some(ToolProtocol::Prompted));
    assert_eq!(prompted, json!([{ "role": "user", "content": content }]));
}
