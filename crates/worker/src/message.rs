//! What travels between a client, the Restate server and a worker. The values in Restate's journal outlive a version of the
//! program: fields are only ever added.

use std::collections::BTreeMap;

use converse_batch::{Acts, Line};
use converse_canister::Cost;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A conversation to run. Its session has the key of the object as its id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Request {
    pub(crate) line: Line,
    /// What it may cost; without it, what the settings of the worker say.
    #[serde(default)]
    pub(crate) max_cost: Option<Cost>,
    #[serde(default)]
    pub(crate) approvals: Approvals,
}

/// What happens to calls that need an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Approvals {
    /// They are refused.
    #[default]
    Refuse,
    /// The conversation waits until they are answered.
    Wait,
}

/// How a conversation ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ended {
    /// As a line of the results of `converse batch`.
    pub(crate) line: Value,
    pub(crate) acts: Acts,
}

/// How far a step came.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub(crate) enum Advanced {
    /// Another step follows.
    More {
        next: Next,
    },
    /// These questions must be answered first.
    Waiting {
        questions: Vec<Question>,
    },
    Done(Ended),
}

/// What the next step does, for people who look at Restate's journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Next {
    Model,
    Tools,
}

impl Next {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Tools => "tools",
        }
    }
}

/// A call that needs an approval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Question {
    /// Of the invocation.
    pub(crate) id: String,
    /// `ensemble.invoker`.
    pub(crate) tool: String,
    /// Without secrets.
    pub(crate) arguments: Value,
    pub(crate) rule: String,
    pub(crate) effects: String,
}

/// The questions of a session that waits, and where their answers go.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Waiting {
    pub(crate) awakeable: String,
    pub(crate) questions: Vec<Question>,
}

/// Answers by the id of the invocation.
pub(crate) type Answers = BTreeMap<String, Answer>;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Answer {
    Allow,
    Deny {
        #[serde(default)]
        comment: Option<String>,
    },
}
