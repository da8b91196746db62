//! Parses a document of unknown origin. Each part is checked separately, so that errors name their place.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use converse_canister::{Canister, Digest, InvocationId, Transcript, TurnId};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{DOCUMENT_FORMAT, Decided, Document, Kept, MAX_IMPORT_BYTES};
use crate::blob::{MAX_BLOB_BYTES, digest};
use crate::parse::is_deep;

/// Limits on tags, which are part of the small metadata file.
const MOST_TAGS: usize = 64;
const LONGEST_TAG: usize = 128;
/// Limit on turn numbers, which leaves as many for later replies.
const MOST_TURN: u64 = TurnId::LAST.0 / 2;

/// Why a document is refused. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("the document has more than {} MiB", MAX_IMPORT_BYTES / 1024 / 1024)]
    TooLarge,
    #[error("the document is not valid JSON: {0}")]
    NoJson(String),
    #[error("the document has format {0} of a later version; this version reads up to {DOCUMENT_FORMAT}")]
    Newer(u64),
    #[error("{place}: {reason}")]
    Wrong {
        /// Such as `canisters[3].at`.
        place: String,
        reason: String,
    },
}

impl Document {
    /// Parses a document that [`Document::write_json`] made.
    pub fn read(bytes: &[u8]) -> Result<Self, ImportError> {
        if bytes.len() > MAX_IMPORT_BYTES {
            return Err(ImportError::TooLarge);
        }
        let mut all = Part::whole(bytes)?;
        match all.need::<u64>("format")? {
            format if format == u64::from(DOCUMENT_FORMAT) => {}
            format if format > u64::from(DOCUMENT_FORMAT) => return Err(ImportError::Newer(format)),
            _ => return Err(wrong("format", "0 is not a format version")),
        }
        let canisters = canisters(all.parts("canisters")?)?;
        let known: HashSet<_> = canisters.iter().filter_map(|kept| invocation(&kept.canister)).collect();
        let decisions = decisions(all.parts("decisions")?, &known)?;
        let contents = contents(all.parts("contents")?)?;
        let condensed: Option<converse_canister::Condensed> = all.may("condensed")?;
        if condensed.as_ref().is_some_and(|condensed| condensed.covers > canisters.len()) {
            return Err(wrong("condensed.covers", "greater than the number of canisters"));
        }
        Ok(Self {
            program: all.need("program")?,
            session: short(&mut all, "session")?.unwrap_or_default(),
            created: all.need("created")?,
            name: short(&mut all, "name")?,
            tags: tags(&mut all)?,
            model: short(&mut all, "model")?,
            usage: all.may("usage")?,
            cost: all.may("cost")?,
            condensed,
            canisters,
            decisions,
            contents,
        })
    }
}

/// Reads a short text, for files that are small.
fn short(part: &mut Part, name: &str) -> Result<Option<String>, ImportError> {
    let text: Option<String> = part.may(name)?;
    match &text {
        Some(text) if text.len() > 1000 => Err(wrong(name, "more than 1000 bytes")),
        _ => Ok(text),
    }
}

fn tags(part: &mut Part) -> Result<Vec<String>, ImportError> {
    let tags: Vec<String> = part.may("tags")?;
    if tags.len() > MOST_TAGS {
        return Err(wrong("tags", &format!("more than {MOST_TAGS}")));
    }
    match tags.iter().position(|tag| tag.len() > LONGEST_TAG) {
        Some(at) => Err(wrong(&format!("tags[{at}]"), &format!("more than {LONGEST_TAG} bytes"))),
        None => Ok(tags),
    }
}

fn canisters(parts: Vec<Part>) -> Result<Vec<Kept>, ImportError> {
    let mut transcript = Transcript::new();
    let mut kept = Vec::with_capacity(parts.len());
    for mut part in parts {
        let (at, canister): (_, Canister) = (part.need("at")?, part.need("canister")?);
        numbered(&canister).map_err(|reason| wrong(&part.path("canister"), &reason))?;
        let pushed = transcript.push(canister.clone());
        pushed.map_err(|breach| wrong(&part.path("canister"), &breach.to_string()))?;
        kept.push(Kept { at, canister });
    }
    match transcript.open().first() {
        Some(open) => Err(wrong("canisters", &format!("invocation `{}` has no result", open.id))),
        None => Ok(kept),
    }
}

/// Checks that the turn number leaves room for later replies.
fn numbered(canister: &Canister) -> Result<(), String> {
    match canister.turn() {
        Some(turn) if turn.0 > MOST_TURN => Err(format!("turn {} exceeds the limit {MOST_TURN}", turn.0)),
        _ => Ok(()),
    }
}

fn invocation(canister: &Canister) -> Option<InvocationId> {
    match canister {
        Canister::Invocation(invocation) => Some(invocation.id.clone()),
        _ => None,
    }
}

fn decisions(parts: Vec<Part>, known: &HashSet<InvocationId>) -> Result<Vec<Decided>, ImportError> {
    let decided = parts.into_iter().map(|mut part| {
        let (id, decision) = (part.need("id")?, part.need("decision")?);
        match known.contains(&id) {
            true => Ok(Decided { id, decision }),
            false => Err(wrong(&part.path("id"), "not the id of an invocation in this document")),
        }
    });
    decided.collect()
}

fn contents(parts: Vec<Part>) -> Result<BTreeMap<Digest, Arc<[u8]>>, ImportError> {
    let content = parts.into_iter().map(|mut part| {
        let expected: Digest = part.need("digest")?;
        let text: String = part.need("base64")?;
        let place = part.path("base64");
        let bytes = STANDARD.decode(text).map_err(|error| wrong(&place, &error.to_string()))?;
        if bytes.len() > MAX_BLOB_BYTES {
            return Err(wrong(&place, &format!("more than {MAX_BLOB_BYTES} bytes")));
        }
        if digest(&bytes) != expected {
            return Err(wrong(&place, "the bytes do not match `digest`"));
        }
        Ok((expected, Arc::from(bytes)))
    });
    content.collect()
}

/// An object of the document and its path.
struct Part {
    place: String,
    fields: Map<String, Value>,
}

impl Part {
    fn whole(bytes: &[u8]) -> Result<Self, ImportError> {
        // Checked before parsing, which recurses.
        if is_deep(bytes) {
            return Err(ImportError::NoJson("too many levels of nesting".to_owned()));
        }
        let mut reader = serde_json::Deserializer::from_slice(bytes);
        reader.disable_recursion_limit();
        let value = Value::deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
        match value.map_err(|error| ImportError::NoJson(error.to_string()))? {
            Value::Object(fields) => Ok(Self { place: String::new(), fields }),
            _ => Err(wrong("the document", "expected an object")),
        }
    }

    fn path(&self, name: &str) -> String {
        if self.place.is_empty() { name.to_owned() } else { format!("{}.{name}", self.place) }
    }

    fn need<T: DeserializeOwned>(&mut self, name: &str) -> Result<T, ImportError> {
        let value = self.fields.shift_remove(name).ok_or_else(|| wrong(&self.path(name), "is missing"))?;
        serde_json::from_value(value).map_err(|error| wrong(&self.path(name), &error.to_string()))
    }

    /// Reads an optional field; null counts as missing.
    fn may<T: DeserializeOwned + Default>(&mut self, name: &str) -> Result<T, ImportError> {
        match self.fields.get(name) {
            None | Some(Value::Null) => Ok(T::default()),
            Some(_) => self.need(name),
        }
    }

    fn parts(&mut self, name: &str) -> Result<Vec<Self>, ImportError> {
        let items: Vec<Value> = if name == "canisters" { self.need(name)? } else { self.may(name)? };
        let parts = items.into_iter().enumerate().map(|(at, item)| {
            let place = format!("{}[{at}]", self.path(name));
            match item {
                Value::Object(fields) => Ok(Self { place, fields }),
                _ => Err(wrong(&place, "expected an object")),
            }
        });
        parts.collect()
    }
}

fn wrong(place: &str, reason: &str) -> ImportError {
    ImportError::Wrong { place: place.to_owned(), reason: reason.to_owned() }
}
