//! A request with kept messages is the request that is written from the beginning, byte for byte.

use std::sync::Arc;

use converse_canister::{
    Arguments, Assistant, Blobs, Digest, Document, Invocation, InvocationId, InvocationResult, Native,
    Outcome, Stop, Supervisor, Transcript, User,
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
fn say(transcript: &mut Transcript, step: &Step, endpoint: &Endpoint) {
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
            let items = vec![json!({ "reasoning_content": words })];
            let mut push = |canister| drop(transcript.push(canister));
            push(Canister::Assistant(Assistant {
                turn,
                content: vec![Content::text(words.clone())],
                native: Some(Native { maker: endpoint.maker("m"), items }),
                stop,
                response_id: None,
            }));
            for (index, text) in results.iter().enumerate() {
                push(Canister::Invocation(Invocation {
                    turn,
                    id: InvocationId::of(turn, index),
                    // Some servers use an id again.
                    wire_id: Some(format!("call_{}", text.len())),
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

proptest! {
    #[test]
    fn what_is_kept_changes_no_request(
        steps in proptest::collection::vec(step(), 1..14),
        provider in prop_oneof![Just("openai"), Just("mistral"), Just("deepseek"), Just("openrouter"), Just("ollama")],
        dialect in prop_oneof![Just(Dialect::OpenAiChat), Just(Dialect::OpenAiResponses)],
        patched in proptest::bool::weighted(0.1),
    ) {
        let mut endpoint = row(provider).unwrap().endpoint(None);
        endpoint.dialect = dialect;
        endpoint.base_url = "https://r".to_owned();
        if patched {
            let change = crate::Change::Set { at: "/messages/0/x".to_owned(), value: true.into() };
            endpoint.patches = vec![crate::Patch { models: None, change }];
        }
        let (mut transcript, mut kept) = (Transcript::new(), KeptMessages::default());
        for step in &steps {
            say(&mut transcript, step, &endpoint);
            let (controls, facts) = (Controls::default(), Facts::default());
            let view = transcript.as_slice();
            let prompt = Prompt { model: "m", view, tools: &[], controls: &controls, facts: &facts, blobs: &Pixels };
            let anew = processor(endpoint.dialect).nativize(&prompt, &endpoint);
            let prepared = Prepared { tools: None, messages: Some(&mut kept) };
            let appended = processor(endpoint.dialect).nativize_prepared(&prompt, &endpoint, prepared);
            let body = |request: Result<http::Request<bytes::Bytes>, crate::TranslateError>| {
                request.map(|request| String::from_utf8(request.body().to_vec()).unwrap())
            };
            prop_assert_eq!(format!("{:?}", body(appended)), format!("{:?}", body(anew)));
        }
    }
}

/// Canisters that are kept after each request of a conversation.
fn kept_after(steps: &[Step]) -> Vec<usize> {
    let endpoint = row("openai").unwrap().endpoint(Some("https://r"));
    let (mut transcript, mut kept) = (Transcript::new(), KeptMessages::default());
    let after = steps.iter().map(|step| {
        say(&mut transcript, step, &endpoint);
        let (controls, facts) = (Controls::default(), Facts::default());
        let view = transcript.as_slice();
        let prompt =
            Prompt { model: "m", view, tools: &[], controls: &controls, facts: &facts, blobs: &Pixels };
        let prepared = Prepared { tools: None, messages: Some(&mut kept) };
        let _ = processor(Dialect::OpenAiChat).nativize_prepared(&prompt, &endpoint, prepared);
        kept.canisters
    });
    after.collect()
}

#[test]
fn answered_calls_are_kept_and_media_are_not() {
    let call = |picture| Step::Reply("w".to_owned(), 9, vec!["r".to_owned()], picture);
    let user = || Step::User("q".to_owned());
    assert_eq!(kept_after(&[user(), call(false), call(false), user()]), [1, 4, 7, 8]);
    assert_eq!(kept_after(&[Step::Supervisor("s".to_owned()), user(), call(false)]), [0, 1, 4]);
    assert_eq!(kept_after(&[user(), call(true), call(false)]), [1, 0, 0]);
    assert_eq!(kept_after(&[Step::Picture, call(false)]), [0, 0]);
}
