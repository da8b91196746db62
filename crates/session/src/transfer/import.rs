//! From a document to a session of its own.

use converse_canister::{Cost, Digest, Usage};
use jiff::Timestamp;
use uuid::Uuid;

use super::{Document, Kept};
use crate::{Body, Header, Session, SessionError, Store, digests};

impl Store {
    /// Makes a new session of it, whole or not at all, and says which content is missing. What it took is written in
    /// one line, and the header says that it was taken in: it was spent elsewhere.
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
    session.metadata.model = document.model;
    // Behind the last reply: a reply that a journal ends in passes for one that was cut while being saved.
    session.append(Body::Note { text: format!("taken in from {}", document.session) }, now).map(drop)
}
