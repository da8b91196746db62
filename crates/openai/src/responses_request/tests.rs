use converse_canister::{Canister, Content};

use super::super::input_item_list;
use super::*;

const PNG: &str = "data:image/png;base64,iVBORw0KGgo=";

fn parse(more: Value) -> Result<ResponsesRequest, ApiError> {
    let mut request = json!({ "model": "scout", "input": "hello" });
    for (key, value) in more.as_object().unwrap() {
        request[key] = value.clone();
    }
    ResponsesRequest::parse(request.to_string().as_bytes())
}

fn input(items: Value) -> Result<ResponsesRequest, ApiError> {
    parse(json!({ "input": items }))
}

#[test]
fn a_request_of_the_libraries_is_parsed_and_repeated() {
    let parsed = parse(json!({
        "instructions": "Be brief.", "stream": true, "stream_options": { "include_obfuscation": false },
        "store": true, "background": true, "previous_response_id": "resp_0",
        "reasoning": { "effort": "low", "summary": "auto" }, "temperature": 0.5, "top_p": 0.9,
        "max_output_tokens": 50, "max_tool_calls": 3, "parallel_tool_calls": false, "metadata": { "a": "b" },
        "text": { "format": { "type": "json_schema", "name": "n", "schema": { "type": "object" }, "strict": true } },
        "tools": [{ "type": "function", "name": "weather", "parameters": { "type": "object" }, "strict": null }],
        "tool_choice": { "type": "function", "name": "weather" }, "safety_identifier": "u",
        "include": ["reasoning.encrypted_content"], "truncation": "disabled", "service_tier": "auto",
        "top_logprobs": 0, "prompt": null, "conversation": null,
    }))
    .unwrap();
    assert!(parsed.stream && parsed.store && parsed.background && parsed.show_reasoning);
    assert_eq!(parsed.sampling.effort, Some(Effort::Low));
    assert_eq!((parsed.max_tool_calls, parsed.tools.parallel), (Some(3), false));
    assert_eq!(parsed.instructions.as_deref(), Some("Be brief."));
    let Parameters { reasoning, text, tool_choice, tools, metadata, .. } = parsed.parameters();
    assert_eq!(reasoning, json!({ "effort": "low", "summary": "auto" }));
    assert_eq!((&text["format"]["name"], &text["format"]["strict"]), (&json!("n"), &json!(true)));
    assert_eq!((&tool_choice["name"], &tools[0]["name"]), (&json!("weather"), &json!("weather")));
    assert_eq!(metadata["a"], "b");
    let plain = parse(json!({})).unwrap();
    assert!(plain.store && !plain.stream && !plain.background && !plain.show_reasoning);
}

#[test]
fn each_refused_parameter_is_named() {
    for (more, param, code) in [
        (json!({ "access_programs": {} }), "access_programs", "unsupported_parameter"),
        (json!({ "background_options": {} }), "background_options", "unsupported_parameter"),
        (json!({ "context_management": [] }), "context_management", "unsupported_parameter"),
        (json!({ "conversation": "c" }), "conversation", "unsupported_parameter"),
        (json!({ "image": {} }), "image", "unsupported_parameter"),
        (json!({ "moderation": {} }), "moderation", "unsupported_parameter"),
        (json!({ "prompt": { "id": "p" } }), "prompt", "unsupported_parameter"),
        (json!({ "prompt_cache_key": "k" }), "prompt_cache_key", "unsupported_parameter"),
        (json!({ "prompt_cache_options": {} }), "prompt_cache_options", "unsupported_parameter"),
        (json!({ "prompt_cache_retention": "24h" }), "prompt_cache_retention", "unsupported_parameter"),
        (json!({ "service_tier": "priority" }), "service_tier", "unsupported_value"),
        (json!({ "top_logprobs": 2 }), "top_logprobs", "unsupported_value"),
        (json!({ "truncation": "auto" }), "truncation", "unsupported_value"),
        (json!({ "include": ["message.output_text.logprobs"] }), "include[0]", "unsupported_value"),
        (json!({ "include": [1] }), "include[0]", "invalid_type"),
        (json!({ "reasoning": { "summary": "detailed" } }), "reasoning.summary", "unsupported_value"),
        (json!({ "reasoning": { "mode": "pro" } }), "reasoning.mode", "unsupported_value"),
        (json!({ "reasoning": { "context": "all_turns" } }), "reasoning.context", "unsupported_value"),
        (json!({ "reasoning": { "effort": "huge" } }), "reasoning.effort", "invalid_value"),
        (json!({ "reasoning": { "efort": "low" } }), "reasoning.efort", "unknown_parameter"),
        (json!({ "text": { "verbosity": "low" } }), "text.verbosity", "unsupported_value"),
        (json!({ "text": { "format": { "type": "grammar" } } }), "text.format.type", "invalid_value"),
        (json!({ "text": { "format": {} } }), "text.format.type", "missing_required_parameter"),
        (
            json!({ "text": { "format": { "type": "json_schema", "name": "n" } } }),
            "text.format.schema",
            "missing_required_parameter",
        ),
        (json!({ "tools": [{ "type": "web_search" }] }), "tools[0].type", "unsupported_value"),
        (json!({ "tools": [{ "type": "mcp", "server_label": "x" }] }), "tools[0].type", "unsupported_value"),
        (
            json!({ "tools": [{ "type": "function", "name": "a", "output_schema": {} }] }),
            "tools[0].output_schema",
            "unsupported_parameter",
        ),
        (
            json!({ "tools": [{ "type": "function", "name": "a", "async": true }] }),
            "tools[0].async",
            "unsupported_value",
        ),
        (json!({ "tool_choice": { "type": "mcp" } }), "tool_choice.type", "unsupported_value"),
        (json!({ "tool_choice": "required" }), "tool_choice", "invalid_value"),
        (json!({ "background": true, "store": false }), "background", "invalid_value"),
        (json!({ "stream_options": {} }), "stream_options", "invalid_value"),
        (json!({ "max_output_tokens": 0 }), "max_output_tokens", "invalid_value"),
        (json!({ "max_tool_calls": "2" }), "max_tool_calls", "invalid_type"),
        (json!({ "max_tokens": 5 }), "max_tokens", "unknown_parameter"),
        (json!({ "messages": [] }), "messages", "unknown_parameter"),
        (json!({ "input": null }), "input", "missing_required_parameter"),
        (json!({ "input": 5 }), "input", "invalid_type"),
        (json!({ "input": [] }), "input", "invalid_value"),
        (json!({ "model": null }), "model", "missing_required_parameter"),
    ] {
        let error = parse(more.clone()).expect_err(&more.to_string());
        assert_eq!((error.param.as_deref(), error.code.as_deref()), (Some(param), Some(code)), "{error}");
        assert!(error.message.contains(param), "{error}");
    }
}

#[test]
fn items_become_a_transcript() {
    let parsed = input(json!([
        { "role": "developer", "content": "Be brief." },
        { "type": "message", "role": "user", "content": [
            { "type": "input_text", "text": "Look." },
            { "type": "input_image", "image_url": PNG, "detail": "auto" },
            { "type": "input_file", "file_data": "YSxi", "filename": "t.csv" } ] },
        { "type": "reasoning", "id": "rs_1", "summary": [{ "type": "summary_text", "text": "Hm." }],
          "encrypted_content": null },
        { "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
          "content": [{ "type": "output_text", "text": "I look.", "annotations": [], "logprobs": [] }] },
        { "type": "mcp_call", "id": "mcp_1", "server_label": "files", "name": "read", "arguments": "{\"a\":1}",
          "output": "milk", "error": null, "status": "completed", "approval_request_id": null },
        { "type": "mcp_call", "id": "mcp_2", "server_label": "files", "name": "read", "arguments": "{}",
          "error": { "type": "mcp_tool_execution_error", "content": [{ "type": "text", "text": "gone" }] } },
        { "type": "function_call", "call_id": "c1", "name": "weather", "arguments": "{}" },
        { "type": "function_call", "call_id": "c2", "name": "weather", "arguments": "{}", "id": "fc_1" },
        { "type": "function_call_output", "call_id": "c2", "output": [{ "type": "input_text", "text": "sun" }] },
        { "type": "function_call_output", "call_id": "c1", "output": "rain" },
    ]))
    .unwrap();
    let shown = |canister: &Canister| match canister {
        Canister::Supervisor(system) => format!("system {}", system.text),
        Canister::Document(document) => format!("document {}", document.name),
        Canister::User(user) => format!("user {}", user.content.len()),
        Canister::Assistant(reply) => format!(
            "{} {:?}",
            reply.turn.0,
            reply
                .content
                .iter()
                .map(|content| match content {
                    Content::Reasoning { text, .. } => format!("({text})"),
                    other => other.as_text().unwrap().to_owned(),
                })
                .collect::<Vec<_>>()
        ),
        Canister::Invocation(call) => format!("{} {} {:?}", call.id, call.tool, call.wire_id),
        Canister::Result(result) => {
            format!("{} {} {}", result.id, result.outcome.label(), result.content[0].as_text().unwrap())
        }
    };
    let found: Vec<String> = parsed.conversation.transcript.as_slice().iter().map(shown).collect();
    assert_eq!(
        found,
        [
            "system Be brief.",
            "document t.csv",
            "user 2",
            "1 [\"(Hm.)\"]",
            "1 [\"I look.\"]",
            "inv_1_0 files__read None",
            "inv_1_0 success milk",
            "2 []",
            "inv_2_0 files__read None",
            "inv_2_0 failed gone",
            "3 []",
            "inv_3_0 weather Some(\"c1\")",
            "inv_3_1 weather Some(\"c2\")",
            "inv_3_1 success sun",
            "inv_3_0 success rain",
        ]
    );
    assert_eq!(parsed.conversation.attachments.len(), 1);
}

#[test]
fn results_and_approvals_continue_an_earlier_response() {
    let items = json!([
        { "type": "function_call_output", "call_id": "c1", "output": "rain" },
        { "type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": false, "reason": "no" },
    ]);
    let parsed = parse(json!({ "input": items, "previous_response_id": "resp_0" })).unwrap();
    assert!(parsed.conversation.transcript.as_slice().is_empty());
    assert_eq!(parsed.conversation.answers[0].call_id, "c1");
    let answer = ApprovalAnswer { request_id: "mcpr_1".into(), approve: false, reason: Some("no".into()) };
    assert_eq!(parsed.approvals, [answer]);
    assert!(parse(json!({ "input": null, "previous_response_id": "resp_0" })).is_ok());
    let error = input(items).unwrap_err();
    assert_eq!(error.param.as_deref(), Some("input[0].call_id"));
}

#[test]
fn an_item_that_is_not_supported_is_named() {
    let user = json!({ "role": "user", "content": "hello" });
    let part = |part: Value| json!([{ "role": "user", "content": [part] }]);
    for (items, param, why) in [
        (json!([{ "id": "msg_1" }]), "input[0]", "`previous_response_id`"),
        (json!([{ "type": "item_reference", "id": "msg_1" }]), "input[0]", "`previous_response_id`"),
        (json!([{ "type": "computer_call" }]), "input[0].type", "`computer_call` is not supported"),
        (json!([{ "content": "x" }]), "input[0].type", "missing"),
        (json!([{ "role": "tool", "content": "x" }]), "input[0].role", "found `tool`"),
        (json!([{ "role": "user", "content": "x", "phase": "commentary" }]), "input[0].phase", "unknown"),
        (json!([{ "type": "mcp_approval_request", "id": "a" }]), "input[0]", "`previous_response_id`"),
        (
            json!([{ "type": "mcp_approval_response", "approval_request_id": "a", "approve": true }]),
            "input[0]",
            "`previous_response_id`",
        ),
        (
            json!([user, { "type": "reasoning", "id": "r", "summary": [], "encrypted_content": "x" }, user]),
            "input[1].encrypted_content",
            "another provider",
        ),
        (json!([user, { "role": "assistant", "content": "x" }]), "input", "last message"),
        (
            json!([user, { "type": "function_call", "call_id": "c", "name": "t", "arguments": "" }]),
            "input",
            "calls without a result: `c`",
        ),
        (part(json!({ "type": "text", "text": "x" })), "input[0].content[0].type", "`input_text`"),
        (
            part(json!({ "type": "input_image", "image_url": "https://x.y/z.png" })),
            "input[0].content[0].image_url",
            "a link is not supported",
        ),
        (part(json!({ "type": "input_image", "file_id": "f" })), "input[0].content[0].file_id", "data URL"),
        (
            part(json!({ "type": "input_file", "file_url": "https://x" })),
            "input[0].content[0].file_url",
            "links",
        ),
        (
            part(json!({ "type": "input_image", "image_url": PNG, "detail": "low" })),
            "input[0].content[0].detail",
            "`\"auto\"`",
        ),
    ] {
        let error = input(items.clone()).expect_err(&items.to_string());
        assert_eq!(error.param.as_deref(), Some(param), "{error}");
        assert!(error.message.contains(why), "{error}");
    }
}

#[test]
fn input_items_are_listed_by_pages() {
    let parsed = input(json!([
        { "role": "user", "content": "a" },
        { "role": "assistant", "content": "b", "id": "msg_b" },
        { "type": "function_call", "call_id": "c", "name": "t", "arguments": "{}" },
        { "type": "function_call_output", "call_id": "c", "output": "d" },
        { "role": "user", "content": [{ "type": "input_image", "image_url": PNG }] },
    ]))
    .unwrap();
    let items = parsed.input_items("resp_9");
    let all = input_item_list(&items, None, 100, false).unwrap();
    super::super::golden::assert_golden("items.json", &all);
    let page = |after, limit, descending| -> Value {
        serde_json::from_slice(&input_item_list(&items, after, limit, descending).unwrap()).unwrap()
    };
    let first = page(None, 2, true);
    assert_eq!((&first["first_id"], &first["last_id"]), (&json!("msg_9_in4"), &json!("fco_9_in3")));
    assert_eq!(first["has_more"], true);
    let rest = page(Some("fco_9_in3"), 3, true);
    assert_eq!((&rest["first_id"], &rest["has_more"]), (&json!("fc_9_in2"), &json!(false)));
    assert_eq!(page(Some("msg_9_in0"), 1, false)["last_id"], "msg_b");
    assert_eq!(input_item_list(&items, Some("x"), 1, false).unwrap_err().status, 404);
}
