//! One line of the audit log before it is chained.

use std::time::Duration;

use converse_canister::{Decision, Digest, InvocationId, InvocationResult, Labels, Outcome};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value};

use super::tail::End;
use super::{AuditError, MAX_LINE_BYTES, RedactText};
use crate::digest;

/// Limit on the characters of names; models and clients may invent longer ones.
const NAME: usize = 256;

/// Bytes of a line with a digest and short arguments.
const TYPICAL_LINE_BYTES: usize = 512;

/// An event of one invocation.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// `None` if the conversation is not saved.
    pub session: Option<String>,
    /// The client that calls through the server, as it names itself.
    pub client: Option<String>,
    /// Nothing runs: a recorded result is returned.
    pub replayed: bool,
    pub invocation: InvocationId,
    /// The requested name: `ensemble__invoker`.
    pub tool: String,
    pub happened: Happened,
}

/// What happened to an invocation.
#[derive(Debug, Clone, PartialEq)]
pub enum Happened {
    /// Allowed or denied. `arguments` is the digest of the requested arguments.
    Decided { decision: Decision, arguments: Digest },
    /// About to run with exactly these arguments.
    Started { arguments: Map<String, Value> },
    /// Answered; `elapsed` is `None` if nothing ran. `content` is the digest of what the model gets.
    Finished { outcome: Outcome, content: Digest, elapsed: Option<Duration>, labels: Option<Labels> },
}

/// Returns the SHA-256 of an arguments object as compact JSON.
pub(crate) fn arguments_digest(arguments: &Map<String, Value>) -> Digest {
    digest(&serde_json::to_vec(arguments).unwrap_or_default())
}

impl Happened {
    /// Creates a decision with the digest of the requested arguments as compact JSON.
    pub fn decided(decision: &Decision, arguments: &Map<String, Value>) -> Self {
        Self::Decided { decision: decision.clone(), arguments: arguments_digest(arguments) }
    }

    /// Creates an outcome with the digest of the content as compact JSON.
    pub fn finished(result: &InvocationResult, elapsed: Option<Duration>) -> Self {
        let content = digest(&serde_json::to_vec(&result.content).unwrap_or_default());
        Self::Finished { outcome: result.outcome, content, elapsed, labels: result.labels.clone() }
    }
}

/// A line; fields that are `None` are left out, except `session`.
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
    labels: Option<Labels>,
    #[serde(skip_serializing_if = "Option::is_none")]
    torn_bytes: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    torn_sha256: Option<Digest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    missing_seq: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    missing_sha256: Option<Digest>,
    /// The last record that is known to be on disk; only in the first one after a sync.
    #[serde(skip_serializing_if = "Option::is_none")]
    synced: Option<u64>,
}

/// The kind of a record about bytes that were cut off.
pub(super) const REPAIR: &str = "mended";

impl Record {
    pub(super) fn line(&self) -> Line<'_> {
        let named = Line {
            session: self.session.as_deref(),
            client: self.client.as_deref().map(name),
            replayed: self.replayed.then_some(true),
            invocation: Some(self.invocation.as_str()),
            tool: Some(name(&self.tool)),
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
            Happened::Finished { outcome, content, elapsed, labels } => Line {
                kind: "finished",
                outcome: Some(outcome.label()),
                result_sha256: Some(*content),
                milliseconds: elapsed.map(|elapsed| u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)),
                labels: labels.clone(),
                ..named
            },
        }
    }
}

/// Returns at most [`NAME`] characters.
fn name(text: &str) -> String {
    let end = text.char_indices().nth(NAME).map_or(text.len(), |(end, _)| end);
    text.get(..end).unwrap_or_default().to_owned()
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
    /// The record of bytes at the end that a crash left incomplete, and that were cut off.
    pub(super) fn repair(torn: &[u8]) -> Self {
        Self {
            kind: REPAIR,
            torn_bytes: Some(torn.len()),
            torn_sha256: Some(digest(torn)),
            ..Self::default()
        }
    }

    /// The record of a failure after which the log continues. `missing` is the last line that was written before it, if
    /// the log no longer has that line.
    pub(super) fn resumed(reason: &str, missing: Option<&End>) -> Self {
        Self {
            kind: "resumed",
            comment: Some(reason.to_owned()),
            missing_seq: missing.map(|missing| missing.seq),
            missing_sha256: missing.map(|missing| missing.head),
            ..Self::default()
        }
    }

    /// Returns the text of the line that follows `end`, including its newline. `synced` is a record that is on disk.
    pub(super) fn chained(
        mut self,
        end: &End,
        synced: Option<u64>,
        at: Timestamp,
        redact: &RedactText,
    ) -> Result<Vec<u8>, AuditError> {
        self.seq = end.seq + 1;
        self.synced = synced;
        self.at = at;
        self.prev = end.head.to_string();
        self.pid = std::process::id();
        for text in
            [&mut self.client, &mut self.tool, &mut self.rule, &mut self.comment].into_iter().flatten()
        {
            *text = redact(text);
        }
        for text in self.labels.iter_mut().flat_map(|labels| &mut labels.private) {
            *text = redact(text);
        }
        self.arguments = self.arguments.map(|arguments| redacted(arguments, redact));
        let mut line = Vec::with_capacity(TYPICAL_LINE_BYTES);
        serde_json::to_writer(&mut line, &self)?;
        line.push(b'\n');
        if line.len() > MAX_LINE_BYTES { Err(AuditError::TooLong { bytes: line.len() }) } else { Ok(line) }
    }
}

/// Removes secrets from every text, including keys. The depth of the value is already limited.
fn redacted(value: Value, redact: &RedactText) -> Value {
    match value {
        Value::String(text) => Value::String(redact(&text)),
        Value::Array(items) => items.into_iter().map(|item| redacted(item, redact)).collect(),
        Value::Object(members) => {
            members.into_iter().map(|(key, value)| (redact(&key), redacted(value, redact))).collect()
        }
        plain => plain,
    }
}
