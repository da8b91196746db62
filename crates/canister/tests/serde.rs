//! Every canister reads back as it was written, and the written form of version 1 stays readable.

#![allow(clippy::unwrap_used, reason = "a test's helpers may panic")]

use converse_canister::{
    Arguments, Artefact, Assistant, Canister, Content, Decision, Digest, Document, Invocation, InvocationId,
    InvocationResult, Maker, Native, Outcome, ProviderName, ReasoningToken, Stop, Supervisor, Transcript,
    TurnId, User,
};
use proptest::prelude::*;
use serde_json::{Value, json};

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_filter("finite", |f| f.is_finite()).prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((".{0,6}", inner), 0..4)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

fn maker() -> impl Strategy<Value = Maker> {
    ("[a-z][a-z0-9-]{0,8}", ".{0,8}", ".{0,8}").prop_map(|(provider, model, endpoint)| Maker {
        provider: ProviderName::new(provider).unwrap(),
        dialect: "anthropic-messages".into(),
        model,
        endpoint,
    })
}

fn seal() -> impl Strategy<Value = Option<ReasoningToken>> {
    prop::option::of((maker(), value()).prop_map(|(maker, value)| ReasoningToken { maker, value }))
}

fn content() -> impl Strategy<Value = Content> {
    let name = || prop::option::of(".{0,8}");
    prop_oneof![
        (".{0,20}", seal()).prop_map(|(text, seal)| Content::Text { text, seal }),
        (".{0,20}", seal()).prop_map(|(text, seal)| Content::Reasoning { text, seal }),
        (".{0,8}", any::<[u8; 32]>(), name(), seal()).prop_map(|(mime, digest, name, seal)| Content::Blob {
            mime,
            digest: Digest(digest),
            name,
            seal
        }),
        (".{0,8}", name(), name()).prop_map(|(uri, name, mime)| Content::Resource { uri, name, mime }),
        value().prop_map(|value| Content::Structured { value }),
    ]
}

fn contents() -> impl Strategy<Value = Vec<Content>> {
    prop::collection::vec(content(), 0..4)
}

fn stop() -> impl Strategy<Value = Stop> {
    prop_oneof![
        Just(Stop::End),
        Just(Stop::Sequence),
        Just(Stop::Truncated),
        Just(Stop::Paused),
        Just(Stop::Cut),
        prop::option::of(".{0,8}").prop_map(|reason| Stop::Refused { reason }),
        ".{0,8}".prop_map(Stop::Other),
    ]
}

fn id() -> impl Strategy<Value = InvocationId> {
    "[a-zA-Z0-9_-]{1,64}".prop_map(|id| InvocationId::new(id).unwrap())
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop::sample::select(vec![
        Outcome::Success,
        Outcome::NoSuchTool,
        Outcome::Invalid,
        Outcome::Refused,
        Outcome::Timeout,
        Outcome::Unreachable,
        Outcome::Failed,
        Outcome::Cancelled,
        Outcome::Interrupted,
    ])
}

fn assistant() -> impl Strategy<Value = Canister> {
    let native =
        (maker(), prop::collection::vec(value(), 0..3)).prop_map(|(maker, items)| Native { maker, items });
    (any::<u64>(), contents(), prop::option::of(native), stop(), prop::option::of(".{0,8}")).prop_map(
        |(turn, content, native, stop, response_id)| {
            Canister::Assistant(Assistant { turn: TurnId(turn), content, native, stop, response_id })
        },
    )
}

fn invocation() -> impl Strategy<Value = Canister> {
    let raw = prop_oneof![".{0,20}", value().prop_map(|v| json!({ "a": v }).to_string())];
    (any::<u64>(), id(), prop::option::of(".{0,8}"), ".{0,8}", raw, seal()).prop_map(
        |(turn, id, wire_id, tool, raw, seal)| {
            let arguments = Arguments::parse(&raw);
            Canister::Invocation(Invocation { turn: TurnId(turn), id, wire_id, tool, arguments, seal })
        },
    )
}

fn result() -> impl Strategy<Value = Canister> {
    let artefact = (any::<u64>(), any::<u64>(), prop::option::of(any::<[u8; 32]>().prop_map(Digest)))
        .prop_map(|(bytes, kept, digest)| Artefact { bytes, kept, digest });
    (id(), contents(), outcome(), prop::option::of(artefact)).prop_map(|(id, content, outcome, truncated)| {
        Canister::Result(InvocationResult { id, content, outcome, truncated, cost: None, labels: None })
    })
}

fn canister() -> impl Strategy<Value = Canister> {
    prop_oneof![
        ".{0,20}".prop_map(|text| Canister::Supervisor(Supervisor { text })),
        contents().prop_map(|content| Canister::User(User { content })),
        (".{0,8}", ".{0,8}", contents()).prop_map(|(name, mime, content)| Canister::Document(Document {
            name,
            mime,
            content,
            labels: None,
        })),
        assistant(),
        invocation(),
        result(),
    ]
}

proptest! {
    #[test]
    fn every_canister_survives_json(canister in canister()) {
        let json = serde_json::to_string(&canister).unwrap();
        let back: Canister = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(&back, &canister);
        prop_assert_eq!(serde_json::to_string(&back).unwrap(), json);
    }

    #[test]
    fn every_decision_survives_json(rule in ".{0,8}", comment in prop::option::of(".{0,8}"), value in value()) {
        for decision in [
            Decision::Allow { rule: rule.clone() },
            Decision::AllowEdited { arguments: [("k".to_owned(), value)].into_iter().collect() },
            Decision::Deny { rule: rule.clone(), comment },
            Decision::Remember { pattern: rule },
        ] {
            let json = serde_json::to_string(&decision).unwrap();
            prop_assert_eq!(serde_json::from_str::<Decision>(&json).unwrap(), decision);
        }
    }
}

/// What version 1 wrote. If this test must change, the format version must too.
#[test]
fn format_1_reads_as_it_was() {
    let written = json!([
        {"role": "supervisor", "text": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "2+2?"}]},
        {"role": "assistant", "turn": 1, "content": [{"type": "reasoning", "text": "hm"}], "stop": "end",
         "native": {"maker": {"provider": "anthropic", "dialect": "anthropic-messages", "model": "m", "endpoint": "e"},
                    "items": [{"type": "thinking", "thinking": "hm", "signature": "s"}]}},
        {"role": "invocation", "turn": 1, "id": "inv_1_0", "wire_id": "toolu_1", "tool": "essentials__calculator",
         "arguments": {"object": {"expression": "2+2"}, "raw": "{\"expression\":\"2+2\"}"}},
        {"role": "result", "id": "inv_1_0", "content": [{"type": "structured", "value": {"result": "4"}}],
         "outcome": "success"},
        {"role": "assistant", "turn": 2, "content": [{"type": "text", "text": "4"}],
         "stop": {"refused": {"reason": null}}},
    ]);
    let transcript: Transcript = serde_json::from_value(written.clone()).unwrap();
    assert_eq!(serde_json::to_value(&transcript).unwrap(), written);
    assert_eq!(converse_canister::FORMAT, 1);
}
