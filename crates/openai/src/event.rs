//! Events of a turn, as far as clients of the OpenAI API see them.

use converse_canister::{Cost, Outcome, Usage};
use serde_json::Value;

use super::ApiError;

/// What happens in a turn, in order. The last event is [`Done`](Self::Done) or [`Failed`](Self::Failed).
#[derive(Debug, Clone, PartialEq)]
pub enum TurnEvent {
    TextDelta(String),
    ReasoningDelta(String),
    /// The text of this reply of the model so far is void, because the model is asked again. Streams cannot take it back.
    Discard,
    /// A tool of this server is about to run.
    ToolStarted {
        call: ToolCall,
        arguments: Value,
    },
    /// A tool of this server has answered, or its call was refused. `text` is what the model reads. The arguments are
    /// known only if the call was [`started`](Self::ToolStarted) before.
    ToolFinished {
        call: ToolCall,
        outcome: Outcome,
        text: String,
    },
    /// A call of a tool of this server waits for an approval, and the turn ends. The id of the call is the id of the
    /// request for approval.
    ApprovalNeeded {
        call: ToolCall,
        arguments: Value,
    },
    /// The model calls tools that the client brought. The turn ends.
    ClientCalls(Vec<ClientCall>),
    /// A reply of the model is whole. A turn has one or more. `cost` is `None` if the price is unknown.
    Usage {
        usage: Usage,
        cost: Option<Cost>,
    },
    Done(Finish),
    Failed(ApiError),
}

/// An invocation of a tool of this server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// Unique in the turn.
    pub id: String,
    pub ensemble: String,
    pub tool: String,
    /// Id of the request for approval that the client has answered.
    pub approval: Option<String>,
}

/// A call of a tool that the client brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCall {
    /// The client sends it back with the result.
    pub id: String,
    pub name: String,
    /// JSON text.
    pub arguments: String,
}

/// Why a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    Stop,
    /// The output limit cut the answer.
    Length,
    /// The client must run tools.
    ToolCalls,
    /// The model or a filter declined.
    ContentFilter,
}
