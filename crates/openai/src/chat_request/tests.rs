use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use converse_canister::{Canister, TurnId};
use converse_provider::Effort;

use super::super::ToolChoice;
use super::*;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n and more";

fn request(more: Value) -> Value {
    let mut request = json!({ "model": "scout", "messages": [{ "role": "user", "content": "hello" }] });
    for (key, value) in more.as_object().unwrap() {
        request[key] = value.clone();
    }
    request
}

fn parse(request: &Value) -> Result<ChatRequest, ApiError> {
    ChatRequest::parse(request.to_string().as_bytes())
}

fn said(messages: Value) -> Result<Conversation, ApiError> {
    parse(&request(json!({ "messages": messages }))).map(|request| request.conversation)
}

fn data_url(mime: &str, bytes: &[u8]) -> String {
    format!("data:{mime};base64,{}", STANDARD.encode(bytes))
}

fn function(name: &str) -> Value {
    json!({ "type": "function", "function": { "name": name } })
}

#[test]
fn a_request_of_the_libraries_is_parsed() {
    let body = request(json!({
        "stream": true, "stream_options": { "include_usage": true, "include_obfuscation": false },
        "temperature": 0.2, "top_p": 1, "max_completion_tokens": 100, "stop": ["\n", "END"],
        "reasoning_effort": "xhigh", "user": "u", "metadata": { "run": "7" },
        "response_format": { "type": "json_schema", "json_schema": {
            "name": "answer", "strict": true, "schema": { "type": "object" } } },
        "tools": [{ "type": "function", "function": {
            "name": "weather", "description": "Weather", "parameters": { "type": "object" }, "strict": null } }],
        "tool_choice": { "type": "function", "function": { "name": "weather" } },
        "parallel_tool_calls": false,
    }));
    let parsed = parse(&body).unwrap();
    assert_eq!(parsed.model, "scout");
    assert!(parsed.stream && parsed.include_usage);
    assert_eq!(
        parsed.sampling,
        Sampling {
            temperature: Some(0.2),
            top_p: Some(1.0),
            max_output_tokens: Some(100),
            stop: vec!["\n".into(), "END".into()],
            effort: Some(Effort::XHigh),
        }
    );
    let (name, schema) = ("answer".to_owned(), json!({ "type": "object" }));
    assert_eq!(parsed.answer, AnswerFormat::JsonSchema { name, description: None, schema, strict: true });
    assert_eq!(parsed.tools.tools[0].declaration.name.as_str(), "weather");
    assert_eq!(parsed.tools.choice, ToolChoice::Function("weather".into()));
    assert!(!parsed.tools.parallel);
    assert_eq!((parsed.user.as_deref(), &parsed.metadata["run"]), (Some("u"), &json!("7")));
}

#[test]
fn documented_defaults_and_null_are_accepted() {
    let body = request(json!({
        "n": 1, "presence_penalty": 0, "frequency_penalty": 0.0, "logprobs": false, "top_logprobs": null,
        "logit_bias": {}, "store": false, "service_tier": "auto", "modalities": ["text"], "verbosity": "medium",
        "seed": null, "tools": [], "tool_choice": "auto", "parallel_tool_calls": true, "stop": null,
        "response_format": { "type": "text" }, "stream": null, "stream_options": null, "functions": null,
        "max_tokens": null, "temperature": null, "user": null, "metadata": null,
    }));
    let parsed = parse(&body).unwrap();
    assert_eq!((parsed.sampling, parsed.answer), (Sampling::default(), AnswerFormat::Text));
    assert!(parsed.tools.tools.is_empty() && parsed.tools.parallel && !parsed.stream);
    let parsed = parse(&request(json!({ "tool_choice": "none", "max_tokens": 5, "stop": "x" }))).unwrap();
    assert_eq!(parsed.tools.choice, ToolChoice::None);
    assert_eq!((parsed.sampling.max_output_tokens, &*parsed.sampling.stop), (Some(5), &["x".to_owned()][..]));
}

#[test]
fn each_refused_parameter_is_named() {
    for (more, param, code) in [
        (json!({ "n": 2 }), "n", "unsupported_value"),
        (json!({ "presence_penalty": 0.1 }), "presence_penalty", "unsupported_value"),
        (json!({ "frequency_penalty": -1 }), "frequency_penalty", "unsupported_value"),
        (json!({ "logprobs": true }), "logprobs", "unsupported_value"),
        (json!({ "top_logprobs": 3 }), "top_logprobs", "unsupported_value"),
        (json!({ "logit_bias": { "50256": -100 } }), "logit_bias", "unsupported_value"),
        (json!({ "store": true }), "store", "unsupported_value"),
        (json!({ "modalities": ["text", "audio"] }), "modalities", "unsupported_value"),
        (json!({ "verbosity": "low" }), "verbosity", "unsupported_value"),
        (json!({ "service_tier": "flex" }), "service_tier", "unsupported_value"),
        (json!({ "audio": { "voice": "x" } }), "audio", "unsupported_parameter"),
        (json!({ "functions": [] }), "functions", "unsupported_parameter"),
        (json!({ "function_call": "auto" }), "function_call", "unsupported_parameter"),
        (json!({ "moderation": {} }), "moderation", "unsupported_parameter"),
        (json!({ "prediction": {} }), "prediction", "unsupported_parameter"),
        (json!({ "prompt_cache_key": "k" }), "prompt_cache_key", "unsupported_parameter"),
        (json!({ "prompt_cache_options": {} }), "prompt_cache_options", "unsupported_parameter"),
        (json!({ "prompt_cache_retention": "24h" }), "prompt_cache_retention", "unsupported_parameter"),
        (json!({ "seed": 7 }), "seed", "unsupported_parameter"),
        (json!({ "web_search_options": {} }), "web_search_options", "unsupported_parameter"),
        (json!({ "temprature": 1 }), "temprature", "unknown_parameter"),
        (json!({ "other": null }), "other", "unknown_parameter"),
        (json!({ "model": null }), "model", "missing_required_parameter"),
        (json!({ "model": 5 }), "model", "invalid_type"),
        (json!({ "messages": null }), "messages", "missing_required_parameter"),
        (json!({ "messages": {} }), "messages", "invalid_type"),
        (json!({ "messages": [] }), "messages", "invalid_value"),
        (json!({ "stream": "yes" }), "stream", "invalid_type"),
        (json!({ "stream_options": {} }), "stream_options", "invalid_value"),
        (
            json!({ "stream": true, "stream_options": { "include_obfuscation": true } }),
            "stream_options.include_obfuscation",
            "unsupported_value",
        ),
        (
            json!({ "stream": true, "stream_options": { "usage": true } }),
            "stream_options.usage",
            "unknown_parameter",
        ),
        (json!({ "temperature": 2.1 }), "temperature", "invalid_value"),
        (json!({ "temperature": "0" }), "temperature", "invalid_type"),
        (json!({ "top_p": -0.1 }), "top_p", "invalid_value"),
        (json!({ "max_tokens": 0 }), "max_tokens", "invalid_value"),
        (json!({ "max_tokens": 1.5 }), "max_tokens", "invalid_value"),
        (json!({ "max_tokens": 1, "max_completion_tokens": 1 }), "max_tokens", "invalid_value"),
        (json!({ "stop": ["1", "2", "3", "4", "5"] }), "stop", "invalid_value"),
        (json!({ "stop": "" }), "stop", "invalid_value"),
        (json!({ "stop": [1] }), "stop", "invalid_type"),
        (json!({ "reasoning_effort": "huge" }), "reasoning_effort", "invalid_value"),
        (json!({ "response_format": { "type": "xml" } }), "response_format.type", "invalid_value"),
        (json!({ "response_format": {} }), "response_format.type", "missing_required_parameter"),
        (json!({ "response_format": { "type": "text", "x": 1 } }), "response_format.x", "unknown_parameter"),
        (
            json!({ "response_format": { "type": "json_schema" } }),
            "response_format.json_schema",
            "missing_required_parameter",
        ),
        (
            json!({ "response_format": { "type": "json_schema", "json_schema": { "name": "a b", "schema": {} } } }),
            "response_format.json_schema.name",
            "invalid_value",
        ),
        (
            json!({ "response_format": { "type": "json_schema", "json_schema": { "name": "a" } } }),
            "response_format.json_schema.schema",
            "missing_required_parameter",
        ),
        (json!({ "tools": [{ "type": "custom", "custom": {} }] }), "tools[0].type", "unsupported_value"),
        (json!({ "tools": [function("a b")] }), "tools[0].function.name", "invalid_value"),
        (json!({ "tools": [function("a"), function("a")] }), "tools[1]", "invalid_value"),
        (
            json!({ "tools": [{ "type": "function", "function": { "name": "a", "x": 1 } }] }),
            "tools[0].function.x",
            "unknown_parameter",
        ),
        (
            json!({ "tools": [{ "type": "function", "function": { "name": "a", "parameters": [] } }] }),
            "tools[0].function.parameters",
            "invalid_type",
        ),
        (json!({ "tool_choice": "any" }), "tool_choice", "invalid_value"),
        (json!({ "tool_choice": "required" }), "tool_choice", "invalid_value"),
        (json!({ "tool_choice": function("a") }), "tool_choice", "invalid_value"),
        (
            json!({ "tool_choice": { "type": "allowed_tools", "allowed_tools": {} } }),
            "tool_choice.type",
            "unsupported_value",
        ),
        (json!({ "parallel_tool_calls": 1 }), "parallel_tool_calls", "invalid_type"),
        (json!({ "metadata": { "a": 1 } }), "metadata.a", "invalid_type"),
        (json!({ "metadata": { "a": "x".repeat(513) } }), "metadata", "invalid_value"),
        (json!({ "user": {} }), "user", "invalid_type"),
    ] {
        let error = parse(&request(more.clone())).expect_err(&more.to_string());
        assert_eq!((error.param.as_deref(), error.code.as_deref()), (Some(param), Some(code)), "{error}");
        assert_eq!((error.status, error.kind), (400, "invalid_request_error"));
        assert!(error.message.contains(param), "{error}");
    }
}

#[test]
fn a_body_that_two_readers_could_understand_differently_is_refused() {
    let deep = format!(r#"{{"model":{}1{}}}"#, "[".repeat(5000), "]".repeat(5000));
    for (body, why) in [
        (&b"{\"model\":\"a\",\"mod\\u0065l\":\"b\"}"[..], "`model` is given twice"),
        (br#"{"messages":[{"role":"user","role":"system"}]}"#, "`role` is given twice"),
        (br#"{"temperature":0.12345678901234567890123}"#, "cannot be held exactly"),
        (b"{\"model\":\"\xff\"}", "not UTF-8"),
        (deep.as_bytes(), "recursion limit"),
        (b"[]", "found an array"),
        (b"{} {}", "trailing"),
        (b"", "EOF"),
    ] {
        let error = ChatRequest::parse(body).unwrap_err();
        assert_eq!(error.code.as_deref(), Some("invalid_json"));
        assert!(error.message.contains(why), "{error}");
    }
}

#[test]
fn messages_become_a_transcript() {
    let call = |id: &str| json!({ "id": id, "type": "function", "function": { "name": "weather", "arguments": "{\"at\":1}" } });
    let conversation = said(json!([
        { "role": "system", "content": "Be brief." },
        { "role": "developer", "content": [{ "type": "text", "text": "Be " }, { "type": "text", "text": "kind." }] },
        { "role": "user", "content": "Weather?" },
        { "role": "assistant", "content": null, "reasoning_content": "Two places.", "refusal": null,
          "annotations": [], "audio": null, "function_call": null, "tool_calls": [call("b"), call("a")] },
        { "role": "tool", "tool_call_id": "a", "content": "rain" },
        { "role": "tool", "tool_call_id": "b", "content": [{ "type": "text", "text": "sun" }] },
        { "role": "assistant", "content": "", "tool_calls": [call("a")], "events": [{ "type": "tool" }] },
        { "role": "tool", "tool_call_id": "a", "content": "snow" },
        { "role": "assistant", "content": [{ "type": "text", "text": "Rain." }], "tool_calls": null },
        { "role": "assistant", "content": "" },
        { "role": "user", "content": "And now?" },
    ]))
    .unwrap();
    let shown = |canister: &Canister| match canister {
        Canister::Supervisor(system) => format!("system {}", system.text),
        Canister::User(user) => format!("user {:?}", user.content[0].as_text().unwrap()),
        Canister::Assistant(reply) => format!("{:?} {}", reply.turn, reply.words()),
        Canister::Invocation(call) => {
            format!("{} {} {}", call.id, call.wire_id.as_deref().unwrap(), call.arguments.raw)
        }
        Canister::Result(result) => format!("{} {}", result.id, result.content[0].as_text().unwrap()),
        Canister::Document(_) => unreachable!(),
    };
    let found: Vec<String> = conversation.transcript.as_slice().iter().map(shown).collect();
    assert_eq!(
        found,
        [
            "system Be brief.",
            "system Be kind.",
            "user \"Weather?\"",
            "TurnId(1) ",
            "inv_1_0 b {\"at\":1}",
            "inv_1_1 a {\"at\":1}",
            "inv_1_1 rain",
            "inv_1_0 sun",
            "TurnId(2) ",
            "inv_2_0 a {\"at\":1}",
            "inv_2_0 snow",
            "TurnId(3) Rain.",
            "user \"And now?\"",
        ]
    );
    assert_eq!(conversation.transcript.next_turn(), TurnId(4));
    let Canister::Assistant(first) = &conversation.transcript.as_slice()[3] else { panic!() };
    assert_eq!(first.content, [Content::Reasoning { text: "Two places.".into(), seal: None }]);
}

#[test]
fn a_message_in_the_wrong_place_is_named() {
    let user = json!({ "role": "user", "content": "hello" });
    let calls = json!({ "role": "assistant", "tool_calls": [
        { "id": "a", "type": "function", "function": { "name": "t", "arguments": "{}" } },
        { "id": "b", "type": "function", "function": { "name": "t", "arguments": "" } },
    ] });
    let result = |id: &str| json!({ "role": "tool", "tool_call_id": id, "content": "ok" });
    for (messages, param, why) in [
        (json!([result("a")]), "messages[0].tool_call_id", "waits for its result"),
        (json!([user, calls, result("a"), result("c")]), "messages[3].tool_call_id", "`c` is not the id"),
        (json!([user, calls, result("a"), result("a")]), "messages[3].tool_call_id", "`a` is not the id"),
        (json!([user, calls, result("a")]), "messages", "calls without a result: `b`"),
        (json!([user, calls, user]), "messages[2]", "calls without a result: `a`, `b`"),
        (json!([user, calls, { "role": "assistant", "content": "x" }]), "messages[2]", "without a result"),
        (json!([user, { "role": "assistant", "content": "x" }]), "messages", "last message must be"),
        (json!([{ "role": "system", "content": "x" }]), "messages", "message of the user is missing"),
        (json!([{ "role": "user", "content": "" }]), "messages[0]", "is empty"),
        (json!([{ "role": "user" }]), "messages[0].content", "missing"),
        (json!([{ "role": "tool", "content": "x" }]), "messages[0].tool_call_id", "missing"),
        (json!([{ "role": "function", "content": "x" }]), "messages[0].role", "`tool`"),
        (json!([{ "role": "bot", "content": "x" }]), "messages[0].role", "found `bot`"),
        (json!([{ "role": "user", "content": "x", "name": "Ann" }]), "messages[0].name", "not supported"),
        (
            json!([{ "role": "user", "content": "x", "contents": 1 }]),
            "messages[0].contents",
            "did you mean `content`",
        ),
        (json!(["hello"]), "messages[0]", "expected an object"),
        (
            json!([user, { "role": "assistant", "tool_calls": [{ "id": "a", "type": "custom", "custom": {} }] }]),
            "messages[1].tool_calls[0].type",
            "`function`",
        ),
        (
            json!([user, { "role": "assistant", "tool_calls": [{ "id": "", "type": "function",
                "function": { "name": "t", "arguments": "{}" } }] }]),
            "messages[1].tool_calls[0].id",
            "empty",
        ),
        (
            json!([user, { "role": "assistant", "audio": { "id": "a" } }]),
            "messages[1].audio",
            "not supported",
        ),
        (
            json!([user, { "role": "assistant", "function_call": { "name": "t", "arguments": "" } }]),
            "messages[1].function_call",
            "`tool_calls`",
        ),
    ] {
        let error = said(messages.clone()).expect_err(&messages.to_string());
        assert_eq!(error.param.as_deref(), Some(param), "{error}");
        assert!(error.message.contains(why), "{error}");
    }
}

#[test]
fn images_recordings_and_files_become_blobs_and_documents() {
    let png = data_url("image/png", PNG);
    let pdf = data_url("application/pdf", b"%PDF-1.7 x");
    let wav = STANDARD.encode(b"RIFF\0\0\0\0WAVEfmt ");
    let conversation = said(json!([{ "role": "user", "content": [
        { "type": "image_url", "image_url": { "url": png, "detail": "auto" } },
        { "type": "text", "text": "What is it?" },
        { "type": "image_url", "image_url": { "url": png } },
        { "type": "input_audio", "input_audio": { "data": wav, "format": "wav" } },
        { "type": "file", "file": { "file_data": pdf, "filename": "a\u{7}.pdf" } },
        { "type": "file", "file": { "file_data": STANDARD.encode("a,b\n"), "filename": "t.csv" } },
    ] }]))
    .unwrap();
    let [Canister::Document(document), Canister::User(user)] = conversation.transcript.as_slice() else {
        panic!("{conversation:?}")
    };
    assert_eq!((document.name.as_str(), document.content[0].as_text()), ("t.csv", Some("a,b\n")));
    let kinds: Vec<&str> = user
        .content
        .iter()
        .map(|content| match content {
            Content::Blob { mime, .. } => mime.as_str(),
            other => other.as_text().unwrap(),
        })
        .collect();
    assert_eq!(kinds, ["image/png", "What is it?", "image/png", "audio/wav", "application/pdf"]);
    // The image occurs twice and is kept once.
    assert_eq!(conversation.attachments.len(), 3);
    assert_eq!(&*conversation.attachments[0].bytes, PNG);
    assert_eq!(conversation.attachments[2].name.as_deref(), Some("a.pdf"));
}

#[test]
fn links_and_content_of_another_type_are_refused() {
    let image = |url: &str| json!({ "type": "image_url", "image_url": { "url": url } });
    let file = |file: Value| json!({ "type": "file", "file": file });
    for (part, param, why) in [
        (image("https://example.com/a.png"), "image_url.url", "a link is not supported; expected a data URL"),
        (image("file:///etc/passwd"), "image_url.url", "a link is not supported"),
        (image("cat.png"), "image_url.url", "expected a data URL"),
        (image("data:image/png,abc"), "image_url.url", "data:MIME;base64,DATA"),
        (image("data:image/png;base64,%%"), "image_url.url", "not Base64"),
        (image(&data_url("image/png", b"<svg onload=alert(1)>")), "image_url.url", "of another type"),
        (image(&data_url("image/png", b"GIF89a")), "image_url.url", "the content is image/gif"),
        (image(&data_url("application/pdf", b"%PDF-1.7")), "image_url.url", "expected an image"),
        (
            json!({ "type": "image_url", "image_url": { "url": data_url("image/png", PNG), "detail": "high" } }),
            "image_url.detail",
            "`\"auto\"`",
        ),
        (json!({ "type": "image_url", "image_url": "x" }), "image_url", "expected an object"),
        (
            json!({ "type": "input_audio", "input_audio": { "data": "AAAA", "format": "wav" } }),
            "input_audio.data",
            "WAV or MP3",
        ),
        (
            json!({ "type": "input_audio", "input_audio": { "data": "", "format": "ogg" } }),
            "input_audio.format",
            "`wav`, `mp3`",
        ),
        (file(json!({ "file_id": "f" })), "file.file_id", "send `file_data`"),
        (file(json!({ "file_data": "https://x.y/z.pdf" })), "file.file_data", "a link is not supported"),
        (file(json!({ "file_data": "" })), "file.file_data", "UTF-8 text"),
        (file(json!({ "file_data": STANDARD.encode(b"PK\x03\x04\0") })), "file.file_data", "of another type"),
        (file(json!({ "file_data": STANDARD.encode(b"\xff\xfe") })), "file.file_data", "of another type"),
        (json!({ "type": "video_url", "video_url": {} }), "type", "`video_url` is not supported"),
        (
            json!({ "type": "text", "text": "x", "prompt_cache_breakpoint": { "mode": "explicit" } }),
            "prompt_cache_breakpoint",
            "not supported",
        ),
    ] {
        let error = said(json!([{ "role": "user", "content": [part] }])).unwrap_err();
        assert_eq!(error.param, Some(format!("messages[0].content[0].{param}")), "{error}");
        assert!(error.message.contains(why), "{error}");
    }
    let image = image(&data_url("image/png", PNG));
    for role in ["system", "tool"] {
        let error = said(json!([{ "role": role, "content": [image], "tool_call_id": "a" }])).unwrap_err();
        assert_eq!(error.param.as_deref(), Some("messages[0].content[0].type"), "{error}");
    }
}
