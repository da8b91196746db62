//! One line of the audit log, before it has a place in the chain.

use std::time::Duration;

use converse_canister::{Content, Decision, Digest, InvocationId, Outcome};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value};

use super::tail::End;
use super::{AuditError, MAX_LINE_BYTES, Redact};
use crate::digest;

/// Characters of a name; models and clients invent longer ones.
const NAME: usize = 256;

/// Something that happened to an invocation.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// `None` if the conversation is not kept.
    pub session: Option<String>,
    /// For whom, where somebody else calls through us: as it says of itself.
    pub client: Option<String>,
    /// Nothing runs: what it once came to is given again.
    pub replayed: bool,
    pub invocation: InvocationId,
    /// As it was asked for: `ensemble__invoker`.
    pub tool: String,
    pub happened: Happened,
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Happened {
    /// It was allowed or denied. `arguments` is the digest of what was asked for.
    Decided { decision: Decision, arguments: Digest },
    /// It is about to run with these very arguments.
    Started { arguments: Map<String, Value> },
    /// It was answered; `elapsed` is `None` if nothing ran. `content` is the digest of what the model is given.
    Finished { outcome: Outcome, content: Digest, elapsed: Option<Duration> },
}

/// The SHA-256 of an arguments object, written as compact JSON.
pub(crate) fn arguments_digest(arguments: &Map<String, Value>) -> Digest {
    digest(&serde_json::to_vec(arguments).unwrap_or_default())
}

impl Happened {
    /// `arguments` is what was asked for, written as compact JSON to be hashed.
    pub fn decided(decision: &Decision, arguments: &Map<String, Value>) -> Self {
        Self::Decided { decision: decision.clone(), arguments: arguments_digest(arguments) }
    }

    /// The content is written as compact JSON to be hashed.
    pub fn finished(outcome: Outcome, content: &[Content], elapsed: Option<Duration>) -> Self {
        let content = digest(&serde_json::to_vec(content).unwrap_or_default());
        Self::Finished { outcome, content, elapsed }
    }
}

/// The line; what is `None` is left out, but for `session`.
#[derive(Debug, Default, Serialize)]
pub(super) struct Line<'a> {
    seq: u64,
    at: Timestamp,
    prev: String,
    kind: &'static str,
    pid: u32,
    session: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    replayed: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    invocation: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    comment: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments_sha256: Option<Digest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result_sha256: Option<Digest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    milliseconds: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    torn_bytes: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    torn_sha256: Option<Digest>,
}

/// Says that an unfinished line was cut off.
pub(super) fn mended(torn: &[u8]) -> Line<'static> {
    Line { kind: "mended", torn_bytes: Some(torn.len()), torn_sha256: Some(digest(torn)), ..Line::default() }
}

impl Record {
    /// The line that follows `end`, its newline included.
    pub(super) fn line(&self, end: &End, at: Timestamp, redact: &Redact) -> Result<Vec<u8>, AuditError> {
        let named = Line {
            session: self.session.as_deref(),
            client: self.client.as_ref().map(|client| client.chars().take(NAME).collect()),
            replayed: self.replayed.then_some(true),
            invocation: Some(self.invocation.as_str()),
            tool: Some(self.tool.chars().take(NAME).collect()),
            ..Line::default()
        };
        match &self.happened {
            Happened::Decided { decision, arguments } => {
                Line { arguments_sha256: Some(*arguments), ..decided(named, decision) }
            }
            Happened::Started { arguments } => Line {
                kind: "started",
                arguments_sha256: Some(arguments_digest(arguments)),
                arguments: Some(Value::Object(arguments.clone())),
                ..named
            },
            Happened::Finished { outcome, content, elapsed } => Line {
                kind: "finished",
                outcome: Some(outcome.label()),
                result_sha256: Some(*content),
                milliseconds: elapsed.map(|elapsed| u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)),
                ..named
            },
        }
        .line(end, at, redact)
    }
}

fn decided<'a>(named: Line<'a>, decision: &Decision) -> Line<'a> {
    let (word, rule, comment) = match decision {
        Decision::Allow { rule } => ("allow", rule.as_str(), None),
        Decision::AllowEdited { .. } => ("allow_edited", "user", None),
        Decision::Deny { rule, comment } => ("deny", rule.as_str(), comment.clone()),
        Decision::Remember { pattern } => ("remember", pattern.as_str(), None),
    };
    Line { kind: "decided", decision: Some(word), rule: Some(rule.to_owned()), comment, ..named }
}

impl Line<'_> {
    pub(super) fn line(mut self, end: &End, at: Timestamp, redact: &Redact) -> Result<Vec<u8>, AuditError> {
        self.seq = end.seq + 1;
        self.at = at;
        self.prev = end.head.to_string();
        self.pid = std::process::id();
        for text in
            [&mut self.client, &mut self.tool, &mut self.rule, &mut self.comment].into_iter().flatten()
        {
            *text = redact(text);
        }
        self.arguments = self.arguments.map(|arguments| redacted(arguments, redact));
        let mut line = serde_json::to_vec(&self)?;
        line.push(b'\n');
        if line.len() > MAX_LINE_BYTES { Err(AuditError::TooLong { bytes: line.len() }) } else { Ok(line) }
    }
}

/// With secrets taken out of every text, keys included. As deep as the value is, which was read within a limit.
fn redacted(value: Value, redact: &Redact) -> Value {
    match value {
        Value::String(text) => Value::String(redact(&text)),
        Value::Array(items) => items.into_iter().map(|item| redacted(item, redact)).collect(),
        Value::Object(members) => {
            members.into_iter().map(|(key, value)| (redact(&key), redacted(value, redact))).collect()
        }
        plain => plain,
    }
}
