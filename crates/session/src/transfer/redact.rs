//! A copy of a conversation with all known secrets redacted.
//!
//! Long results and attached texts are stored by digest. A redacted text has a new digest, and the messages refer to
//! it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use converse_canister::{Canister, Content};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Decided, Document, Kept};
use crate::{digest, digests_mut};

/// Removes known secrets.
pub trait Redact: Send + Sync {
    /// Returns the text without secrets.
    fn text(&self, text: &str) -> String;

    /// Removes secrets from every string and key in a value.
    fn json(&self, value: &mut serde_json::Value);
}

impl Document {
    /// Returns the conversation with every known secret redacted.
    ///
    /// # Errors
    ///
    /// A message cannot be read without its secret, because the secret is in its structure.
    pub fn redacted(mut self, redact: &dyn Redact) -> serde_json::Result<Self> {
        let (mut others, mut contents) = (HashMap::new(), BTreeMap::new());
        for (old, bytes) in std::mem::take(&mut self.contents) {
            let clean = std::str::from_utf8(&bytes).ok().map(|text| redact.text(text).into_bytes());
            match clean.filter(|clean| **clean != *bytes) {
                Some(clean) => {
                    let new = digest(&clean);
                    others.insert(old, new);
                    contents.insert(new, Arc::from(clean));
                }
                None => drop(contents.insert(old, bytes)),
            }
        }
        let mut changed = HashSet::new();
        for Kept { canister, .. } in &mut self.canisters {
            if let Some(cleaned) = cleaned(canister, redact)? {
                changed.extend(cleaned.turn().filter(|_| cleaned != *canister));
                *canister = cleaned;
            }
            for digest in digests_mut(canister) {
                *digest = others.get(digest).copied().unwrap_or(*digest);
            }
        }
        for kept in &mut self.canisters {
            if kept.canister.turn().is_some_and(|turn| changed.contains(&turn)) {
                remove_signatures(&mut kept.canister);
            }
        }
        for Decided { decision, .. } in &mut self.decisions {
            if let Some(cleaned) = cleaned(decision, redact)? {
                *decision = cleaned;
            }
        }
        if let Some(cleaned) = cleaned(&self.condensed, redact)? {
            self.condensed = cleaned;
        }
        Ok(Self {
            name: self.name.map(|name| redact.text(&name)),
            tags: self.tags.iter().map(|tag| redact.text(tag)).collect(),
            contents,
            ..self
        })
    }
}

/// Removes the provider's signatures, because the provider would refuse a changed reply.
fn remove_signatures(canister: &mut Canister) {
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

/// Returns the value without secrets; `None` if it has none.
fn cleaned<T: Serialize + DeserializeOwned>(value: &T, redact: &dyn Redact) -> serde_json::Result<Option<T>> {
    let mut json = serde_json::to_value(value)?;
    let before = json.clone();
    redact.json(&mut json);
    (json != before).then(|| serde_json::from_value(json)).transpose()
}

#[cfg(test)]
mod tests {
    use converse_canister::{
        Arguments, Artefact, Assistant, Cost, Invocation, InvocationId, InvocationResult,
    };
    use converse_canister::{Outcome, Stop, TurnId, Usage, User};
    use jiff::Timestamp;
    use serde_json::{Value, json};

    use super::*;
    use crate::digests;

    const SECRET: &str = "sk-canary-12345";

    /// Replaces this text by another one.
    struct Replace(&'static str, &'static str);

    impl Redact for Replace {
        fn text(&self, text: &str) -> String {
            text.replace(self.0, self.1)
        }

        fn json(&self, value: &mut Value) {
            match value {
                Value::String(text) => *text = self.text(text),
                Value::Array(items) => items.iter_mut().for_each(|item| self.json(item)),
                Value::Object(members) => {
                    let renamed = std::mem::take(members).into_iter().map(|(key, mut item)| {
                        self.json(&mut item);
                        (self.text(&key), item)
                    });
                    *members = renamed.collect();
                }
                _ => {}
            }
        }
    }

    const REDACTED: Replace = Replace(SECRET, "[redacted]");

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
        let clean = document.clone().redacted(&REDACTED).unwrap();
        let mut text = Vec::new();
        clean.write_without_contents(&mut text).unwrap();
        assert!(!String::from_utf8(text).unwrap().contains(SECRET));
        let texts: Vec<_> = clean.contents.values().map(|bytes| String::from_utf8_lossy(bytes)).collect();
        assert_eq!(texts.len(), 2);
        assert!(texts.contains(&"the key is [redacted]".into()), "{texts:?}");
        // The messages point to the new text, and it is taken in as it is.
        let needed: Vec<_> = clean.canisters.iter().flat_map(|kept| digests(&kept.canister)).collect();
        assert!(matches!(needed[..], [one] if clean.contents.contains_key(&one)), "{needed:?}");
        let json = serde_json::to_string(&clean).unwrap();
        assert_eq!(Document::read(json.as_bytes()).unwrap(), clean);
        assert_eq!(document.clone().redacted(&Replace(SECRET, SECRET)).unwrap(), document);
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
        let clean = document.clone().redacted(&REDACTED).unwrap();
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
