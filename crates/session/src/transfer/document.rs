//! The exported document as a value.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use converse_canister::{Canister, Condensed, Cost, Decision, Digest, InvocationId, Usage};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use super::DOCUMENT_FORMAT;
use crate::digests;

/// A whole session, independent of its directory.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// The program that wrote it, such as `converse 0.1.0`.
    pub program: String,
    /// The id of the exported session.
    pub session: String,
    pub created: Timestamp,
    pub name: Option<String>,
    pub tags: Vec<String>,
    /// The model that was used last.
    pub model: Option<String>,
    pub usage: Usage,
    pub cost: Cost,
    pub condensed: Option<Condensed>,
    pub canisters: Vec<Kept>,
    pub decisions: Vec<Decided>,
    /// The content that the canisters need, as far as it exists.
    pub contents: BTreeMap<Digest, Arc<[u8]>>,
}

/// A message and its time.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    pub at: Timestamp,
    pub canister: Canister,
}

/// The decision about an invocation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Decided {
    pub id: InvocationId,
    pub decision: Decision,
}

impl Document {
    /// Returns the content that the messages need and the document does not have.
    pub fn missing(&self) -> BTreeSet<Digest> {
        let needed = self.canisters.iter().flat_map(|kept| digests(&kept.canister));
        needed.filter(|digest| !self.contents.contains_key(digest)).collect()
    }

    /// Returns the whole document.
    pub fn to_json(&self) -> Value {
        let mut json = self.without_contents();
        let contents = self.contents.iter();
        let contents: Vec<_> = contents
            .map(|(digest, bytes)| json!({ "digest": digest, "base64": STANDARD.encode(bytes) }))
            .collect();
        if let Some(object) = json.as_object_mut() {
            object.insert("contents".to_owned(), contents.into());
        }
        json
    }

    /// Returns the document without the bytes of images, documents and long results.
    pub fn without_contents(&self) -> Value {
        let canisters = self.canisters.iter().zip(1..);
        let canisters: Vec<_> = canisters
            .map(|(kept, number)| json!({ "number": number, "at": kept.at, "canister": kept.canister }))
            .collect();
        json!({
            "format": DOCUMENT_FORMAT,
            "program": self.program,
            "session": self.session,
            "created": self.created,
            "name": self.name,
            "tags": self.tags,
            "model": self.model,
            "usage": self.usage,
            "cost": self.cost,
            "condensed": self.condensed,
            "canisters": canisters,
            "decisions": self.decisions,
        })
    }
}
