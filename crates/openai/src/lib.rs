//! The OpenAI-compatible API without IO: requests are parsed from bytes, and the events of a turn become response objects
//! or Server-Sent Events. Ids and times are arguments.
//!
//! Tools that this server ran are never reported as calls for the client to run. In chat completions they are `event`
//! members beside the choices. In responses they are `mcp_call` items.
//!
//! Request parameters that are not supported are refused with an error object that names them. They are accepted if
//! their value is `null` or the documented default, because client libraries send such values.
//!
//! Source of all formats: the types of the official library, PyPI `openai` 3.54.0, read in November 2026.

mod chat_request;
mod chat_response;
mod chat_stream;
mod content;
mod conversation;
mod error;
mod event;
mod fields;
mod media;
mod models;
mod options;
mod responses_input;
mod responses_item;
mod responses_object;
mod responses_output;
mod responses_request;
mod responses_stream;
mod sse;
mod usage;

pub use chat_request::ChatRequest;
pub use chat_response::{ChatHead, ChatResponse};
pub use chat_stream::ChatStream;
pub use conversation::{Answer, Conversation};
pub use error::{ApiError, FailureKind};
pub use event::{ClientCall, Finish, ToolCall, TurnEvent};
pub use media::Attachment;
pub use models::{ModelEntry, model, model_list};
pub use options::{AnswerFormat, ClientTool, Sampling, ToolChoice, ToolUse};
pub use responses_input::ApprovalAnswer;
pub use responses_object::{
    Parameters, ResponseHead, ResponseState, ResponseStatus, input_item_list, response_deleted,
};
pub use responses_request::ResponsesRequest;
pub use responses_stream::ResponsesStream;
pub use sse::{DONE, HEARTBEAT};
pub use usage::Spent;

#[cfg(test)]
mod golden;
#[cfg(test)]
mod turns;
