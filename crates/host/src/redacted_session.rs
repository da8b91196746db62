//! A copy of a conversation with all known secrets redacted.
//!
//! Long results and attached texts are stored by digest. A redacted text has a new digest, and the messages refer to
//! it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use converse_canister::{Canister, Content};
use converse_session::{Decided, Document, Kept, digest, digests_mut};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::failure::{Failure, Kind};
use crate::secrets::Redactor;

/// Returns the conversation with every known secret redacted.
///
/// # Errors
///
/// A message cannot be read without its secret.
pub fn redacted(mut document: Document, redactor: &Redactor) -> Result<Document, Failure> {
    let (mut others, mut contents) = (HashMap::new(), BTreeMap::new());
    for (old, bytes) in std::mem::take(&mut document.contents) {
        let clean = std::str::from_utf8(&bytes).ok().map(|text| redactor.clean(text).into_bytes());
        match clean.filter(|clean| **clean != *bytes) {
            Some(clean) => {
                let new = digest(&clean);
                others.insert(old, new);
                contents.insert(new, Arc::from(clean));
            }
            None => drop(contents.insert(old, bytes)),
        }
    }
    let mut canisters = Vec::with_capacity(document.canisters.len());
    let mut changed = HashSet::new();
    for Kept { at, canister } in document.canisters {
        let mut cleaned: Canister = clean(canister.clone(), redactor)?;
        changed.extend(cleaned.turn().filter(|_| cleaned != canister));
        let canister = &mut cleaned;
        for digest in digests_mut(canister) {
            *digest = others.get(digest).copied().unwrap_or(*digest);
        }
        canisters.push(Kept { at, canister: cleaned });
    }
    for kept in &mut canisters {
        if kept.canister.turn().is_some_and(|turn| changed.contains(&turn)) {
            unsealed(&mut kept.canister);
        }
    }
    let decided = document
        .decisions
        .into_iter()
        .map(|Decided { id, decision }| Ok(Decided { id, decision: clean(decision, redactor)? }));
    Ok(Document {
        decisions: decided.collect::<Result<_, Failure>>()?,
        name: document.name.map(|name| redactor.clean(&name)),
        model: document.model,
        tags: document.tags.iter().map(|tag| redactor.clean(tag)).collect(),
        condensed: clean(document.condensed, redactor)?,
        canisters,
        contents,
        ..document
    })
}

/// Removes the provider's signatures, because the provider would refuse a changed reply.
fn unsealed(canister: &mut Canister) {
    match canister {
        Canister::Assistant(assistant) => {
            assistant.native = None;
            for content in &mut assistant.content {
                if let Content::Text { seal, .. }
                | Content::Reasoning { seal, .. }
                | Content::Blob { seal, .. } = content
                {
                    *seal = None;
                }
            }
        }
        Canister::Invocation(invocation) => invocation.seal = None,
        _ => {}
    }
}

fn clean<T: Serialize + DeserializeOwned>(value: T, redactor: &Redactor) -> Result<T, Failure> {
    let broken = |_| {
        let message = "a secret is in the structure of a message, so it cannot be redacted";
        Failure::new(Kind::Internal, "not-redacted", message).hint("to export with secrets: `--raw`")
    };
    let mut json = serde_json::to_value(&value).map_err(broken)?;
    let before = json.clone();
    redactor.clean_json(&mut json);
    if json == before { Ok(value) } else { serde_json::from_value(json).map_err(broken) }
}

#[cfg(test)]
mod tests {
    use converse_canister::{
        Arguments, Artefact, Assistant, Cost, Invocation, InvocationId, InvocationResult,
    };
    use converse_canister::{Outcome, Stop, TurnId, Usage, User};
    use converse_session::digests;
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;
    use crate::secrets::Secret;

    const SECRET: &str = "sk-canary-12345";

    #[test]
    fn a_secret_is_nowhere_in_what_comes_out() {
        let whole = format!("the key is {SECRET}").into_bytes();
        let (turn, id) = (TurnId(1), InvocationId::of(TurnId(1), 0));
        let mut result = InvocationResult::new(id.clone(), Outcome::Success, format!("got {SECRET}"));
        result.truncated = Some(Artefact { bytes: 1, kept: 1, digest: Some(digest(&whole)) });
        let arguments = Arguments::parse(&format!(r#"{{"{SECRET}": ["x\u0020{SECRET}"]}}"#));
        let canisters = [
            Canister::User(User::text(SECRET)),
            Canister::Assistant(Assistant {
                turn,
                content: vec![],
                native: None,
                stop: Stop::End,
                response_id: None,
            }),
            Canister::Invocation(Invocation {
                turn,
                id,
                wire_id: None,
                tool: "t".into(),
                arguments,
                seal: None,
            }),
            Canister::Result(result),
        ];
        let at = Timestamp::UNIX_EPOCH;
        let document = Document {
            program: "p".into(),
            session: "s".into(),
            created: at,
            name: Some(SECRET.into()),
            tags: vec![SECRET.into()],
            model: None,
            usage: Usage::default(),
            cost: Cost(0),
            condensed: None,
            canisters: canisters.into_iter().map(|canister| Kept { at, canister }).collect(),
            decisions: vec![],
            contents: BTreeMap::from([
                (digest(&whole), Arc::from(whole)),
                (digest(b"\xff"), Arc::from(&b"\xff"[..])),
            ]),
        };
        let redactor = Redactor::default();
        redactor.learn([Secret::new(SECRET)]);
        let clean = redacted(document.clone(), &redactor).unwrap();
        assert!(!clean.without_contents().to_string().contains(SECRET));
        let texts: Vec<_> = clean.contents.values().map(|bytes| String::from_utf8_lossy(bytes)).collect();
        assert_eq!(texts.len(), 2);
        assert!(texts.contains(&"the key is [redacted]".into()), "{texts:?}");
        // The messages point to the new text, and it is taken in as it is.
        let needed: Vec<_> = clean.canisters.iter().flat_map(|kept| digests(&kept.canister)).collect();
        assert!(matches!(needed[..], [one] if clean.contents.contains_key(&one)), "{needed:?}");
        let json = clean.to_json().to_string();
        assert_eq!(Document::read(json.as_bytes()).unwrap(), clean);
        assert_eq!(redacted(document.clone(), &Redactor::default()).unwrap(), document);
    }

    #[test]
    fn what_was_signed_with_a_secret_in_it_is_signed_no_more() {
        let maker = || json!({ "provider": "p", "dialect": "d", "model": "m", "endpoint": "e" });
        let seal = || json!({ "maker": maker(), "value": "signature" });
        let reply = |turn: u64, text: &str| {
            let native = json!({ "maker": maker(), "items": [{ "type": "thinking", "signature": "s" }] });
            let content = json!([{ "type": "reasoning", "text": text, "seal": seal() },
                { "type": "text", "text": "plain", "seal": seal() }]);
            json!({ "role": "assistant", "turn": turn, "content": content, "native": native, "stop": "end" })
        };
        let call = |turn: u64, key: &str| {
            let arguments = Arguments::parse(&json!({ "key": key }).to_string());
            let id = InvocationId::of(TurnId(turn), 0);
            let invocation =
                Invocation { turn: TurnId(turn), id, wire_id: None, tool: "t".into(), arguments, seal: None };
            let mut json = serde_json::to_value(Canister::Invocation(invocation)).unwrap();
            json["seal"] = seal();
            json
        };
        let result = |turn: u64| {
            let id = InvocationId::of(TurnId(turn), 0);
            serde_json::to_value(Canister::Result(InvocationResult::new(id, Outcome::Success, "ok"))).unwrap()
        };
        // One says it, one only in the arguments of its call, one not at all.
        let canisters = [
            vec![reply(1, SECRET), call(1, "x"), result(1)],
            vec![reply(2, "x"), call(2, SECRET), result(2)],
            vec![reply(3, "x"), call(3, "x"), result(3)],
        ]
        .concat();
        let at = "2026-01-01T00:00:00Z";
        let canisters: Vec<_> =
            canisters.into_iter().map(|canister| json!({ "at": at, "canister": canister })).collect();
        let json = json!({ "format": 1, "program": "p", "created": at, "canisters": canisters });
        let document = Document::read(json.to_string().as_bytes()).unwrap();
        let redactor = Redactor::default();
        redactor.learn([Secret::new(SECRET)]);
        let clean = redacted(document.clone(), &redactor).unwrap();
        for (before, kept) in document.canisters.iter().zip(&clean.canisters) {
            let json = serde_json::to_string(&kept.canister).unwrap();
            assert!(!json.contains(SECRET));
            match kept.canister.turn() {
                Some(TurnId(1 | 2)) => assert!(!json.contains("signature"), "{json}"),
                _ => assert_eq!(before, kept),
            }
        }
    }
}
