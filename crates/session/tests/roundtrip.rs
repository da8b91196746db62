//! Every entry reads back as it was written.

#![allow(clippy::unwrap_used, reason = "a test's helpers may panic")]

use converse_canister::{
    Arguments, Artefact, Assistant, Canister, Condensed, Content, Cost, Decision, Digest, Document,
    Invocation, InvocationId, InvocationResult, Maker, Native, Outcome, ProviderName, ReasoningToken, Stop,
    Supervisor, TurnId, Usage, User,
};
use converse_session::{Body, Entry, Header};
use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::{Map, Value};

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter("finite", |f| f.is_finite()).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            map(inner).prop_map(Value::Object)
        ]
    })
}

fn map(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::vec((any::<String>(), value), 0..4).prop_map(|pairs| pairs.into_iter().collect())
}

fn maker() -> impl Strategy<Value = Maker> {
    ("[a-z]{1,8}", any::<String>()).prop_map(|(provider, model)| Maker {
        provider: ProviderName::new(provider).unwrap(),
        dialect: "d".into(),
        model,
        endpoint: "https://example.org/v1".into(),
    })
}

fn seal() -> impl Strategy<Value = Option<ReasoningToken>> {
    prop::option::of((maker(), value()).prop_map(|(maker, value)| ReasoningToken { maker, value }))
}

fn contents() -> impl Strategy<Value = Vec<Content>> {
    let content = prop_oneof![
        (any::<String>(), seal()).prop_map(|(text, seal)| Content::Text { text, seal }),
        (any::<String>(), seal()).prop_map(|(text, seal)| Content::Reasoning { text, seal }),
        (any::<[u8; 32]>(), seal()).prop_map(|(bytes, seal)| Content::Blob {
            mime: "image/png".into(),
            digest: Digest(bytes),
            name: None,
            seal
        }),
        value().prop_map(|value| Content::Structured { value }),
    ];
    prop::collection::vec(content, 0..3)
}

fn id() -> impl Strategy<Value = InvocationId> {
    (any::<u64>(), 0..99_usize).prop_map(|(turn, index)| InvocationId::of(TurnId(turn), index))
}

fn canister() -> impl Strategy<Value = Canister> {
    let native =
        (maker(), prop::collection::vec(value(), 0..3)).prop_map(|(maker, items)| Native { maker, items });
    let invocation = (any::<u64>(), id(), any::<String>(), any::<String>(), seal());
    let artefact = (any::<u64>(), any::<[u8; 32]>()).prop_map(|(bytes, digest)| Artefact {
        bytes,
        kept: 1,
        digest: Some(Digest(digest)),
    });
    prop_oneof![
        any::<String>().prop_map(|text| Canister::Supervisor(Supervisor { text })),
        contents().prop_map(|content| Canister::User(User { content })),
        (any::<String>(), contents()).prop_map(|(name, content)| {
            Canister::Document(Document { name, mime: "text/plain".into(), content, labels: None })
        }),
        (any::<u64>(), contents(), prop::option::of(native), any::<String>()).prop_map(
            |(turn, content, native, stop)| {
                let (turn, stop) = (TurnId(turn), Stop::Other(stop));
                Canister::Assistant(Assistant { turn, content, native, stop, response_id: None })
            }
        ),
        invocation.prop_map(|(turn, id, tool, raw, seal)| {
            let (turn, arguments) = (TurnId(turn), Arguments::parse(&raw));
            Canister::Invocation(Invocation { turn, id, wire_id: Some(tool.clone()), tool, arguments, seal })
        }),
        (id(), contents(), prop::option::of(artefact)).prop_map(|(id, content, truncated)| {
            Canister::Result(InvocationResult {
                id,
                content,
                outcome: Outcome::Failed,
                truncated,
                cost: Some(Cost(8_000)),
                labels: None,
            })
        }),
    ]
}

fn timestamp() -> impl Strategy<Value = Timestamp> {
    (Timestamp::MIN.as_second()..Timestamp::MAX.as_second(), 0..1_000_000_000)
        .prop_map(|(seconds, nanos)| Timestamp::new(seconds, nanos).unwrap())
}

fn body() -> impl Strategy<Value = Body> {
    let cost = || prop::option::of(any::<u64>().prop_map(Cost));
    let later = map(value()).prop_map(|mut fields| {
        fields.retain(|name, _| !matches!(name.as_str(), "seq" | "at" | "sum"));
        fields.insert("type".to_owned(), "of a later version".into());
        Body::Other(fields)
    });
    prop_oneof![
        (any::<u32>(), any::<String>(), timestamp()).prop_map(|(format, program, created)| {
            Body::Opened(Header { format, ..Header::new(program, created) })
        }),
        canister().prop_map(Body::from),
        (id(), map(value())).prop_map(|(id, arguments)| {
            Body::Decided { id, decision: Decision::AllowEdited { arguments } }
        }),
        id().prop_map(|id| Body::Started { id }),
        (any::<u64>(), cost(), any::<String>(), prop::option::of(any::<String>())).prop_map(
            |(input, cost, model, provider)| {
                Body::Used { usage: Usage { input: Some(input), ..Usage::default() }, cost, model, provider }
            }
        ),
        any::<u64>().prop_map(|turn| Body::Incomplete { turn: TurnId(turn) }),
        (any::<usize>(), any::<String>()).prop_map(|(covers, summary)| Body::Condensed {
            condensed: Condensed { covers, summary, model: "m".into() }
        }),
        any::<u64>().prop_map(|to| Body::Rewound { to }),
        any::<String>().prop_map(|text| Body::Note { text }),
        later,
    ]
}

proptest! {
    #[test]
    fn every_entry_is_one_line_that_reads_back(seq: u64, at in timestamp(), body in body()) {
        let entry = Entry { seq, at, body };
        let line = entry.to_line().unwrap();
        prop_assert_eq!(line.iter().position(|byte| *byte == b'\n'), Some(line.len() - 1));
        let back = Entry::from_line(&line).unwrap();
        prop_assert_eq!(&back, &entry);
        prop_assert_eq!(back.to_line().unwrap(), line);
    }

    #[test]
    fn no_bytes_make_the_reader_fall(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(entry) = Entry::from_line(&bytes) {
            prop_assert_eq!(Entry::from_line(&entry.to_line().unwrap()), Ok(entry));
        }
    }
}
