//! The six kinds of message.

use serde::{Deserialize, Serialize};

use crate::{Content, Invocation, InvocationResult, Labels, Native, Stop, TurnId};

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Canister {
    Supervisor(Supervisor),
    User(User),
    Document(Document),
    Assistant(Assistant),
    Invocation(Invocation),
    Result(InvocationResult),
}

impl Canister {
    /// Returns the reply it is part of, if a model wrote it.
    pub fn turn(&self) -> Option<TurnId> {
        match self {
            Self::Assistant(assistant) => Some(assistant.turn),
            Self::Invocation(invocation) => Some(invocation.turn),
            _ => None,
        }
    }
}

/// Instructions for the conversation (a "system" message on most wires).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Supervisor {
    pub text: String,
}

/// A message of the user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct User {
    pub content: Vec<Content>,
}

impl User {
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![Content::text(text)] }
    }
}

/// A document that the user attached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Document {
    pub name: String,
    pub mime: String,
    pub content: Vec<Content>,
    /// Where it comes from and what is private in it, if anybody else may have written it or it is private.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<Labels>,
}

/// Text of a model. A reply begins with one of these, even if it consists of calls only: it has the native form of the
/// whole turn and the reason why the turn ended. Text after a call is another canister of the same turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Assistant {
    pub turn: TurnId,
    pub content: Vec<Content>,
    /// The whole reply as the provider wrote it; on the first canister of a turn only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Native>,
    pub stop: Stop,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
}

impl Assistant {
    /// Returns its text pieces, joined without separators.
    pub fn words(&self) -> String {
        self.content.iter().filter_map(Content::as_text).collect()
    }
}
