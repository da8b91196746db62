//! Imports a document as a new session.

use converse_canister::{Cost, Digest, Usage};
use jiff::Timestamp;
use uuid::Uuid;

use super::{Document, Kept};
use crate::{Body, Header, Session, SessionError, Store, digests};

impl Store {
    /// Creates a new session from a document, completely or not at all, and returns the missing content. Its usage is one
    /// line, and the header marks the session as imported, because the usage was paid for elsewhere.
    pub fn import(
        &self,
        document: Document,
        id: Uuid,
        program: &str,
        now: Timestamp,
    ) -> Result<Vec<Digest>, SessionError> {
        let missing = missing(&document);
        let imported = Some(document.session.clone());
        let header = Header { imported, ..Header::new(program, document.created) };
        self.place(id, header, |session| fill(session, document, now))?;
        Ok(missing)
    }
}

fn missing(document: &Document) -> Vec<Digest> {
    let mut needed: Vec<_> = document.canisters.iter().flat_map(|kept| digests(&kept.canister)).collect();
    needed.sort_unstable();
    needed.dedup();
    needed.retain(|digest| !document.contents.contains_key(digest));
    needed
}

fn fill(session: &mut Session, document: Document, now: Timestamp) -> Result<(), SessionError> {
    for bytes in document.contents.values() {
        session.contents.put(bytes)?;
    }
    let mut last = document.created;
    for Kept { at, canister } in document.canisters {
        session.append(canister.into(), at)?;
        last = at;
    }
    for super::Decided { id, decision } in document.decisions {
        session.append(Body::Decided { id, decision }, last)?;
    }
    if document.usage != Usage::default() || document.cost != Cost::default() {
        let model = document.model.clone().unwrap_or_default();
        let (usage, cost) = (document.usage, Some(document.cost));
        session.append(Body::Used { usage, cost, model, provider: None }, last)?;
    }
    if let Some(condensed) = document.condensed {
        session.append(Body::Condensed { condensed }, last)?;
    }
    session.metadata.name = document.name;
    session.metadata.tags = document.tags;
    session.metadata.model_imported = document.model.is_some();
    session.metadata.model = document.model;
    // After the last reply, because a reply at the end of a journal counts as cut while it was saved.
    session.append(Body::Note { text: format!("taken in from {}", document.session) }, now).map(drop)
}
