//! Output items of responses.
//!
//! Source: `types/responses/response_output_item.py` and the types beside it, PyPI `openai` 3.54.0, November 2026. Since
//! then, `error` of an `mcp_call` is an object.

use converse_canister::Outcome;
use serde::Serialize;

use super::ToolCall;

/// An item of `output`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Item {
    Reasoning {
        id: String,
        summary: Vec<SummaryText>,
    },
    Message {
        id: String,
        status: Status,
        role: &'static str,
        content: Vec<OutputText>,
    },
    /// An invocation of a tool of this server.
    McpCall {
        id: String,
        status: Status,
        approval_request_id: Option<String>,
        arguments: String,
        error: Option<ExecutionError>,
        name: String,
        output: Option<String>,
        server_label: String,
    },
    McpApprovalRequest {
        id: String,
        arguments: String,
        name: String,
        server_label: String,
    },
    /// A call of a tool that the client brought.
    FunctionCall {
        id: String,
        status: Status,
        arguments: String,
        call_id: String,
        name: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Status {
    InProgress,
    Completed,
    Incomplete,
    Failed,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename = "summary_text")]
pub(super) struct SummaryText {
    pub(super) text: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename = "output_text")]
pub(super) struct OutputText {
    pub(super) annotations: [(); 0],
    pub(super) logprobs: [(); 0],
    pub(super) text: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename = "mcp_tool_execution_error")]
pub(super) struct ExecutionError {
    content: [ErrorText; 1],
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename = "text")]
struct ErrorText {
    text: String,
}

impl OutputText {
    pub(super) fn new(text: String) -> Self {
        Self { annotations: [], logprobs: [], text }
    }
}

impl Item {
    pub(super) fn id(&self) -> &str {
        match self {
            Self::Reasoning { id, .. }
            | Self::Message { id, .. }
            | Self::McpCall { id, .. }
            | Self::McpApprovalRequest { id, .. }
            | Self::FunctionCall { id, .. } => id,
        }
    }

    pub(super) fn message(id: String) -> Self {
        Self::Message { id, status: Status::InProgress, role: "assistant", content: Vec::new() }
    }

    pub(super) fn mcp_call(id: String, call: &ToolCall) -> Self {
        Self::McpCall {
            id,
            status: Status::InProgress,
            approval_request_id: call.approval.clone(),
            arguments: String::new(),
            error: None,
            name: call.tool.clone(),
            output: None,
            server_label: call.ensemble.clone(),
        }
    }

    /// Adds the result of an `mcp_call`.
    pub(super) fn finish_call(&mut self, outcome: Outcome, text: &str) {
        let Self::McpCall { status, error, output, .. } = self else { return };
        if outcome.is_success() {
            *status = Status::Completed;
            *output = Some(text.to_owned());
        } else {
            *status = Status::Failed;
            *error = Some(ExecutionError { content: [ErrorText { text: text.to_owned() }] });
        }
    }

    /// Sets the status of an item that has one.
    pub(super) fn set_status(&mut self, new: Status) {
        match self {
            Self::Message { status, .. }
            | Self::McpCall { status, .. }
            | Self::FunctionCall { status, .. } => *status = new,
            Self::Reasoning { .. } | Self::McpApprovalRequest { .. } => {}
        }
    }

    pub(super) fn is_message(&self) -> bool {
        matches!(self, Self::Message { .. })
    }

    /// Returns the text of a message or of reasoning.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Message { content, .. } => content.first().map_or("", |part| &part.text),
            Self::Reasoning { summary, .. } => summary.first().map_or("", |part| &part.text),
            _ => "",
        }
    }

    pub(super) fn push_text(&mut self, piece: &str) {
        match self {
            Self::Message { content, .. } => match content.first_mut() {
                Some(part) => part.text.push_str(piece),
                None => content.push(OutputText::new(piece.to_owned())),
            },
            Self::Reasoning { summary, .. } => match summary.first_mut() {
                Some(part) => part.text.push_str(piece),
                None => summary.push(SummaryText { text: piece.to_owned() }),
            },
            _ => {}
        }
    }
}
