//! The exported document as a value.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use converse_canister::{Canister, Condensed, Cost, Decision, Digest, InvocationId, Usage};
use jiff::Timestamp;
use serde::{Serialize, Serializer};

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

    /// Writes the whole document as JSON over several lines.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut *out, self)?;
        out.write_all(b"\n")
    }

    /// Writes the document without the bytes of images, documents and long results, as JSON over several lines.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub fn write_without_contents(&self, out: &mut dyn Write) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut *out, &Parts { contents: None, ..self.parts() })?;
        out.write_all(b"\n")
    }

    /// Writes the document as lines, for programs that read one message at a time.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub fn write_lines(&self, out: &mut dyn Write) -> io::Result<()> {
        write_line(out, &Parts { canisters: None, contents: None, ..self.parts() })?;
        Canisters(&self.canisters).items().try_for_each(|item| write_line(out, &item))?;
        Contents(&self.contents).items().try_for_each(|item| write_line(out, &item))
    }

    fn parts(&self) -> Parts<'_> {
        Parts {
            format: DOCUMENT_FORMAT,
            program: &self.program,
            session: &self.session,
            created: self.created,
            name: self.name.as_deref(),
            tags: &self.tags,
            model: self.model.as_deref(),
            usage: self.usage,
            cost: self.cost,
            condensed: self.condensed.as_ref(),
            canisters: Some(Canisters(&self.canisters)),
            decisions: &self.decisions,
            contents: Some(Contents(&self.contents)),
        }
    }
}

/// The whole document. Messages and contents are made one by one while it is written.
impl Serialize for Document {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.parts().serialize(serializer)
    }
}

fn write_line(out: &mut dyn Write, line: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, line)?;
    out.write_all(b"\n")
}

/// The keys of a document in their order.
#[derive(Serialize)]
struct Parts<'d> {
    format: u32,
    program: &'d str,
    session: &'d str,
    created: Timestamp,
    name: Option<&'d str>,
    tags: &'d [String],
    model: Option<&'d str>,
    usage: Usage,
    cost: Cost,
    condensed: Option<&'d Condensed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    canisters: Option<Canisters<'d>>,
    decisions: &'d [Decided],
    #[serde(skip_serializing_if = "Option::is_none")]
    contents: Option<Contents<'d>>,
}

struct Canisters<'d>(&'d [Kept]);

#[derive(Serialize)]
struct NumberedCanister<'d> {
    number: u64,
    at: Timestamp,
    canister: &'d Canister,
}

impl<'d> Canisters<'d> {
    fn items(&self) -> impl Iterator<Item = NumberedCanister<'d>> {
        let numbered = self.0.iter().zip(1..);
        numbered.map(|(Kept { at, canister }, number)| NumberedCanister { number, at: *at, canister })
    }
}

impl Serialize for Canisters<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.items())
    }
}

struct Contents<'d>(&'d BTreeMap<Digest, Arc<[u8]>>);

#[derive(Serialize)]
struct EncodedContent<'d> {
    digest: &'d Digest,
    base64: String,
}

impl<'d> Contents<'d> {
    fn items(&self) -> impl Iterator<Item = EncodedContent<'d>> {
        self.0.iter().map(|(digest, bytes)| EncodedContent { digest, base64: STANDARD.encode(bytes) })
    }
}

impl Serialize for Contents<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.items())
    }
}
