//! Exports a session as a document.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::{Decided, Document, Kept};
use crate::{Loaded, SessionError, Store, digests};

impl Store {
    /// Reads a session as it is after repairs, and the content that it needs. `program` is the reader.
    pub fn export(&self, id: Uuid, program: &str) -> Result<Document, SessionError> {
        let mut document = self.document(id, program)?;
        let contents = self.contents(id);
        let mut needed: Vec<_> = document.canisters.iter().flat_map(|kept| digests(&kept.canister)).collect();
        needed.sort_unstable();
        needed.dedup();
        for digest in needed {
            // What cannot be read is missing like what is not there or does not match: see [`Document::missing`].
            if let Ok(Some(bytes)) = contents.get(&digest) {
                document.contents.insert(digest, bytes);
            }
        }
        Ok(document)
    }

    /// Like [`Store::export`], without content.
    pub fn document(&self, id: Uuid, program: &str) -> Result<Document, SessionError> {
        let Loaded { header, transcript, decisions, usage, cost, condensed, places, .. } = self.read(id)?;
        let metadata = self.metadata(id)?;
        let mut at = header.created;
        let kept = Vec::from(transcript).into_iter().enumerate().map(|(number, canister)| {
            // A canister of a repair has no position yet, so it gets the time of the message before it.
            at = places.get(number).map_or(at, |place| place.at);
            Kept { at, canister }
        });
        let canisters = kept.collect();
        Ok(Document {
            program: program.to_owned(),
            session: id.to_string(),
            created: header.created,
            name: metadata.name,
            tags: metadata.tags,
            model: metadata.model,
            usage,
            cost,
            condensed,
            canisters,
            decisions: decisions.into_iter().map(|(id, decision)| Decided { id, decision }).collect(),
            contents: BTreeMap::new(),
        })
    }
}
