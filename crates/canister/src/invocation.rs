//! A tool's declaration, a model's call of it, the result, and the decision about the call.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::{Arguments, Content, Cost, Digest, InvocationId, Labels, ReasoningToken, ToolName, TurnId};

/// A tool as declared to a model: all that a processor needs to know about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Declaration {
    pub name: ToolName,
    pub description: String,
    /// JSON Schema of the arguments object (2020-12 unless it names another). Shared by all copies.
    pub arguments: Arc<Value>,
}

/// What a wire has made of one list of tools, as JSON text. Tools that change need a new value.
#[derive(Debug, Default)]
pub struct PreparedTools {
    text: OnceLock<(&'static str, Box<RawValue>)>,
    tokens: OnceLock<u64>,
}

impl PreparedTools {
    /// Returns what this wire makes of the tools. The text of the first wire is kept.
    ///
    /// # Errors
    /// Those of `prepare`.
    pub fn get<E>(
        &self,
        wire: &'static str,
        prepare: impl FnOnce() -> Result<Box<RawValue>, E>,
    ) -> Result<Cow<'_, RawValue>, E> {
        if let Some((_, kept)) = self.text.get().filter(|(by, _)| *by == wire) {
            return Ok(Cow::Borrowed(kept));
        }
        let made = prepare()?;
        let (by, kept) = self.text.get_or_init(|| (wire, made.clone()));
        Ok(if *by == wire { Cow::Borrowed(kept) } else { Cow::Owned(made) })
    }

    /// Returns the estimated tokens of the tools, which are counted once.
    pub fn tokens(&self, count: impl FnOnce() -> u64) -> u64 {
        *self.tokens.get_or_init(count)
    }
}

/// A model's request to run a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Invocation {
    pub turn: TurnId,
    pub id: InvocationId,
    /// The id as the server sent it, if it sent a usable one; echoed byte for byte to its maker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire_id: Option<String>,
    /// The name as the model wrote it. Not a checked name: models invent tools, and the record must say which.
    pub tool: String,
    pub arguments: Arguments,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seal: Option<ReasoningToken>,
}

/// The result of an invocation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InvocationResult {
    pub id: InvocationId,
    pub content: Vec<Content>,
    pub outcome: Outcome,
    /// Set when the content was cut to its limit: where the full text is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<Artefact>,
    /// What running it cost, where that is known. An answer that was kept from an earlier call costs nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// Where the content comes from and what is private in it, if anybody else may have written it or it is private.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<Labels>,
}

impl InvocationResult {
    pub fn new(id: InvocationId, outcome: Outcome, text: impl Into<String>) -> Self {
        Self { id, content: vec![Content::text(text)], outcome, truncated: None, cost: None, labels: None }
    }
}

/// How an invocation ended. The model reads every outcome and the audit log counts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Success,
    NoSuchTool,
    /// The arguments were malformed or did not fit the schema; nothing ran.
    Invalid,
    /// A rule or the user refused, or no user could be asked; nothing ran.
    Refused,
    Timeout,
    Unreachable,
    /// The tool ran and said that it failed, or crashed.
    Failed,
    Cancelled,
    /// The tool was started and never answered; its effects are unknown.
    Interrupted,
}

impl Outcome {
    pub fn is_success(self) -> bool {
        self == Self::Success
    }

    /// Returns the name of the outcome in records and logs.
    pub fn label(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::NoSuchTool => "no_such_tool",
            Self::Invalid => "invalid",
            Self::Refused => "refused",
            Self::Timeout => "timeout",
            Self::Unreachable => "unreachable",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
        }
    }
}

/// The full text of a result that was cut before the model saw it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artefact {
    /// Size of the whole, in bytes.
    pub bytes: u64,
    /// Bytes kept in the result.
    pub kept: u64,
    /// Digest of the whole, if it could be stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
}

/// The decision about an invocation before it ran. Shared by journal, engine and gateway.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    Allow {
        /// What allowed it: a rule with its place, or `user`.
        rule: String,
    },
    /// Allowed by the user with other arguments than the model's; these are what runs.
    AllowEdited { arguments: Map<String, Value> },
    Deny {
        rule: String,
        /// The user's comment to the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        comment: Option<String>,
    },
    /// Allowed now and from now on, for this pattern.
    Remember { pattern: String },
}

impl Decision {
    pub fn allows(&self) -> bool {
        !matches!(self, Self::Deny { .. })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::to_raw_value;

    use super::*;

    #[test]
    fn tools_are_prepared_once_for_the_first_wire_and_errors_are_not_kept() {
        let prepared = PreparedTools::default();
        assert_eq!(prepared.get("chat", || Err("no schema")).unwrap_err(), "no schema");
        let text = |text: &str| Ok::<_, &str>(to_raw_value(text).unwrap());
        assert_eq!(prepared.get("chat", || text("one")).unwrap().get(), r#""one""#);
        assert_eq!(prepared.get("chat", || text("two")).unwrap().get(), r#""one""#);
        assert_eq!(prepared.get("responses", || text("three")).unwrap().get(), r#""three""#);
        assert_eq!(prepared.get("chat", || Err("again")).unwrap().get(), r#""one""#);
    }
}
