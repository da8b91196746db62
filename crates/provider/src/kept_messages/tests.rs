//! A request with kept messages is the request that is written from the beginning, byte for byte.

use std::sync::Arc;

use converse_canister::{
    Arguments, Assistant, Blobs, Declaration, Digest, Document, Invocation, InvocationId, InvocationResult,
    Native, Outcome, PreparedTools, Stop, Supervisor, ToolName, Transcript, User,
};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::rows::row;
use crate::{Controls, Dialect, Facts, processor};

struct Pixels;

impl Blobs for Pixels {
    fn bytes(&self, _: &Digest) -> Option<Arc<[u8]>> {
        Some(Arc::from([1, 2, 3]))
    }
}

/// What is said next.
#[derive(Debug, Clone)]
enum Step {
    Supervisor(String),
    User(String),
    Document(String),
    Picture,
    /// A reply: its words, its stop, the texts of the results of its calls, and whether the last result is a picture.
    Reply(String, u8, Vec<String>, bool),
    /// The same request once more.
    Again,
}

fn step() -> impl Strategy<Value = Step> {
    let words = || "[a-z\"\\\\é\n ]{0,6}";
    prop_oneof![
        1 => words().prop_map(Step::Supervisor),
        2 => words().prop_map(Step::User),
        1 => words().prop_map(Step::Document),
        1 => Just(Step::Picture),
        8 => (words(), 0..9_u8, proptest::collection::vec(words(), 0..3), proptest::bool::weighted(0.1))
            .prop_map(|(words, stop, results, picture)| Step::Reply(words, stop, results, picture)),
        1 => Just(Step::Again),
    ]
}

fn picture() -> Content {
    Content::Blob { mime: "image/png".to_owned(), digest: Digest([7; 32]), name: None, seal: None }
}

/// Appends what a step says; a canister that breaks the rules of a transcript is left out.
fn say(transcript: &mut Transcript, step: &Step, endpoint: &Endpoint, model: &str) {
    let mut push = |canister| drop(transcript.push(canister));
    match step {
        Step::Supervisor(text) => push(Canister::Supervisor(Supervisor { text: text.clone() })),
        Step::User(text) => push(Canister::User(User::text(text.clone()))),
        Step::Document(text) => push(Canister::Document(Document {
            name: "d".to_owned(),
            mime: "text/plain".to_owned(),
            content: vec![Content::text(text.clone())],
            labels: None,
        })),
        Step::Picture => push(Canister::User(User { content: vec![picture()] })),
        Step::Again => {}
        Step::Reply(words, stop, results, with_picture) => {
            let turn = transcript.next_turn();
            let stop = match stop {
                0 => Stop::Refused { reason: None },
                1 => Stop::Truncated,
                2 => Stop::Paused,
                _ => Stop::End,
            };
            let calls: Vec<_> = results.iter().map(|text| (format!("call_{}", text.len()), text)).collect();
            let items = native(endpoint.dialect, words, &calls);
            let mut push = |canister| drop(transcript.push(canister));
            push(Canister::Assistant(Assistant {
                turn,
                content: vec![Content::text(words.clone())],
                native: Some(Native { maker: endpoint.maker(model), items }),
                stop,
                response_id: None,
            }));
            for (index, (id, text)) in calls.iter().enumerate() {
                push(Canister::Invocation(Invocation {
                    turn,
                    id: InvocationId::of(turn, index),
                    // Some servers use an id again.
                    wire_id: Some(id.clone()),
                    tool: format!("t {text}"),
                    arguments: Arguments::parse(&json!({ "a": text }).to_string()),
                    seal: None,
                }));
            }
            for (index, text) in results.iter().enumerate() {
                let outcome = if text.len() == 3 { Outcome::Failed } else { Outcome::Success };
                let mut result = InvocationResult::new(InvocationId::of(turn, index), outcome, text.clone());
                if *with_picture && index + 1 == results.len() {
                    result.content.push(picture());
                }
                push(Canister::Result(result));
            }
        }
    }
}

/// The native form of a reply, as its words and the ids and texts of its calls. The last letter of the words decides what
/// else is in it.
fn native(dialect: Dialect, words: &str, calls: &[(String, &String)]) -> Vec<serde_json::Value> {
    let odd = words.len() % 2 == 1;
    match dialect {
        Dialect::AnthropicMessages => {
            let mut thought = json!({ "type": "thinking", "thinking": words, "signature": "s" });
            if words.ends_with('a') {
                thought["cache_control"] = json!({ "type": "ephemeral" });
            }
            let text = json!({ "type": "text", "text": words });
            let uses = calls.iter().map(
                |(id, text)| json!({ "type": "tool_use", "id": id, "name": "t", "input": { "a": text } }),
            );
            odd.then_some(thought).into_iter().chain([text]).chain(uses).collect()
        }
        Dialect::Gemini => {
            let thought = json!({ "text": words, "thought": true });
            let text = json!({ "text": words });
            let uses = calls.iter().enumerate().map(|(index, (id, text))| {
                let mut part = json!({ "functionCall": { "id": id, "name": "t", "args": { "a": text } } });
                if index == 0 {
                    part["thoughtSignature"] = json!(format!("sig {words}"));
                }
                part
            });
            odd.then_some(thought).into_iter().chain([text]).chain(uses).collect()
        }
        Dialect::Ollama => vec![json!({ "thinking": words })],
        Dialect::OpenAiChat | Dialect::OpenAiResponses => vec![json!({ "reasoning_content": words })],
    }
}

/// A server, the wire and the model that it is asked with, and the base of its address.
fn wires() -> impl Strategy<Value = (&'static str, Dialect, &'static str, &'static str)> {
    let compatible = prop_oneof![
        Just("openai"),
        Just("mistral"),
        Just("deepseek"),
        Just("openrouter"),
        Just("ollama"),
        Just("anthropic"),
    ];
    let any = prop_oneof![Just(Dialect::OpenAiChat), Just(Dialect::OpenAiResponses), Just(Dialect::Ollama)];
    let model = prop_oneof![Just("gemini-3-pro"), Just("gemini-2.5-pro"), Just("m")];
    let base = prop_oneof![3 => Just("https://api.anthropic.com"), 1 => Just("https://r")];
    prop_oneof![
        3 => (compatible, any).prop_map(|(provider, dialect)| (provider, dialect, "m", "https://r")),
        3 => base.prop_map(|base| ("anthropic", Dialect::AnthropicMessages, "m", base)),
        2 => model.prop_map(|model| ("gemini", Dialect::Gemini, model, "https://r")),
    ]
}

fn list_key(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Gemini => "contents",
        Dialect::OpenAiResponses => "input",
        Dialect::AnthropicMessages | Dialect::OpenAiChat | Dialect::Ollama => "messages",
    }
}

/// What a request is made with that does not change within a turn.
fn controls() -> impl Strategy<Value = (Controls, Facts)> {
    let effort = proptest::option::of(Just(crate::Effort::Medium));
    let budget = proptest::option::of(Just(crate::Thinking::Budget));
    let extra = proptest::option::weighted(
        0.2,
        prop_oneof![
            Just(("cache_control", json!({ "type": "ephemeral" }))),
            Just(("system", json!("Own words."))),
            Just(("tools", json!([]))),
            Just(("messages", json!([]))),
            Just(("contents", json!([]))),
            Just(("input", json!([]))),
        ],
    );
    (effort, budget, extra).prop_map(|(effort, thinking, extra)| {
        let extra = extra.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        (Controls { effort, extra, ..Controls::default() }, Facts { thinking, ..Facts::default() })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, ..ProptestConfig::default() })]

    #[test]
    fn what_is_kept_changes_no_request(
        steps in proptest::collection::vec(step(), 1..14),
        (provider, dialect, model, base) in wires(),
        (controls, facts) in controls(),
        patched in proptest::bool::weighted(0.1),
        with_tools in proptest::bool::weighted(0.8),
    ) {
        let mut endpoint = row(provider).unwrap().endpoint(None);
        endpoint.dialect = dialect;
        endpoint.base_url = base.to_owned();
        if patched {
            let change = crate::Change::Set { at: format!("/{}/0/x", list_key(dialect)), value: true.into() };
            endpoint.patches = vec![crate::Patch { models: None, change }];
        }
        let arguments = json!({ "type": "object", "properties": { "a": {} } }).into();
        let tool = Declaration { name: ToolName::cleaned("t"), description: "<\"é\">".to_owned(), arguments };
        let tools = if with_tools { &[tool][..] } else { &[] };
        let (mut transcript, mut kept) = (Transcript::new(), KeptMessages::default());
        let prepared_tools = PreparedTools::default();
        for step in &steps {
            say(&mut transcript, step, &endpoint, model);
            let view = transcript.as_slice();
            let prompt = Prompt { model, view, tools, controls: &controls, facts: &facts, blobs: &Pixels };
            let anew = processor(endpoint.dialect).nativize(&prompt, &endpoint);
            let prepared = Prepared { tools: Some(&prepared_tools), messages: Some(&mut kept) };
            let appended = processor(endpoint.dialect).nativize_prepared(&prompt, &endpoint, prepared);
            let body = |request: Result<http::Request<bytes::Bytes>, crate::TranslateError>| {
                request.map(|request| String::from_utf8(request.body().to_vec()).unwrap())
            };
            prop_assert_eq!(format!("{:?}", body(appended)), format!("{:?}", body(anew)));
        }
    }
}

/// Canisters that are kept after each request of a conversation.
fn kept_after(provider: &str, steps: &[Step]) -> Vec<usize> {
    let endpoint = row(provider).unwrap().endpoint(Some("https://r"));
    let tool = Declaration {
        name: ToolName::cleaned("t"),
        description: String::new(),
        arguments: json!({ "type": "object" }).into(),
    };
    let (mut transcript, mut kept) = (Transcript::new(), KeptMessages::default());
    let after = steps.iter().map(|step| {
        say(&mut transcript, step, &endpoint, "m");
        let (controls, facts) = (Controls::default(), Facts::default());
        let (view, tools) = (transcript.as_slice(), std::slice::from_ref(&tool));
        let prompt = Prompt { model: "m", view, tools, controls: &controls, facts: &facts, blobs: &Pixels };
        let prepared = Prepared { tools: None, messages: Some(&mut kept) };
        let _ = processor(endpoint.dialect).nativize_prepared(&prompt, &endpoint, prepared);
        kept.canisters
    });
    after.collect()
}

#[test]
fn answered_calls_are_kept_and_media_are_not() {
    let call = |picture| Step::Reply("w".to_owned(), 9, vec!["r".to_owned()], picture);
    let user = || Step::User("q".to_owned());
    for provider in ["openai", "anthropic", "gemini", "ollama-native"] {
        let kept_after = |steps: &[Step]| kept_after(provider, steps);
        assert_eq!(kept_after(&[user(), call(false), call(false), user()]), [1, 4, 7, 8], "{provider}");
        assert_eq!(kept_after(&[Step::Supervisor("s".to_owned()), user(), call(false)]), [0, 1, 4]);
        assert_eq!(kept_after(&[user(), call(true), call(false)]), [1, 0, 0]);
        assert_eq!(kept_after(&[Step::Picture, call(false)]), [0, 0]);
    }
    // A paused reply with nothing after it that is written: the next reply continues its message.
    let paused = Step::Reply("w".to_owned(), 2, vec![], false);
    let steps = [user(), paused, Step::User(String::new()), call(false)];
    assert_eq!(kept_after("anthropic", &steps), [1, 0, 0, 6]);
    // A mark of Anthropic's own in a reply.
    let marked = Step::Reply("a".to_owned(), 9, vec!["r".to_owned()], false);
    assert_eq!(kept_after("anthropic", &[user(), marked, call(false)]), [1, 0, 0]);
}
