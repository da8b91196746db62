//! One line → messages for the protocol library.
//!
//! The results of the handshake are decoded here; every other result is handed on as the text it came as, for whoever
//! asked (see [`crate::raw`]): the library's own way is a dozen guesses and all or nothing, and one odd tool or content
//! block would cost the whole answer. A request of ours that is answered with something unusable is answered with an
//! error, never with silence.

use std::collections::{HashMap, VecDeque};

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, CustomRequest, CustomResult, DiscoverResult,
    ErrorCode, ErrorData, InitializeResult, JsonRpcRequest, RequestId, ServerJsonRpcMessage, ServerRequest,
    ServerResult,
};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::raw::First;
use crate::sanitize;

/// Messages in one line: 2025-03-26 allowed batches.
const MAX_BATCH: usize = 1000;
/// Bytes of a request or notification of the server; longer ones are ignored. Answers may be as long as a line.
const MAX_UNASKED: usize = 256 * 1024;
/// Bytes of an answer that is decoded here, and of what an error says beside its message.
const MAX_HANDSHAKE: usize = 1024 * 1024;
const MAX_ERROR_DATA: usize = 64 * 1024;

/// What a request of ours is answered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Awaited {
    Initialize,
    Discover,
    /// Decoded by the library: what it asks on its own account.
    Listen,
    Text,
}

/// Knows which of our requests are unanswered.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    awaited: HashMap<i64, Awaited>,
    /// Only those are noted whose answers are no text; whoever sends it knows which others there are.
    open: bool,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    jsonrpc: &'a RawValue,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

impl Decoder {
    /// One for HTTP, where an answer comes to its request: it is none if there is no such request.
    pub(crate) fn open() -> Self {
        Self { open: true, ..Self::default() }
    }

    /// Notes what is sent, so that its answer is understood.
    pub(crate) fn sent(&mut self, message: &ClientJsonRpcMessage) {
        match message {
            ClientJsonRpcMessage::Request(request) => {
                let awaited = match &request.request {
                    ClientRequest::InitializeRequest(_) => Awaited::Initialize,
                    ClientRequest::DiscoverRequest(_) => Awaited::Discover,
                    ClientRequest::SubscriptionsListenRequest(_) => Awaited::Listen,
                    _ => Awaited::Text,
                };
                if let RequestId::Number(id) = request.id
                    && !(self.open && awaited == Awaited::Text)
                {
                    self.awaited.insert(id, awaited);
                }
            }
            ClientJsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(RequestId::Number(id)) = cancelled.params.request_id
                {
                    self.awaited.remove(&id);
                }
            }
            _ => {}
        }
    }

    /// Decodes a line. False: it was no JSON-RPC.
    pub(crate) fn decode(&mut self, line: &[u8], messages: &mut VecDeque<ServerJsonRpcMessage>) -> bool {
        // A server that could not read the id leaves it out: it can only mean the one request there is.
        let only = (self.awaited.len() == 1).then(|| self.awaited.keys().next().copied()).flatten();
        self.decode_for(only, line, messages)
    }

    /// `own`: whose error it is if it does not say whose.
    pub(crate) fn decode_for(
        &mut self,
        own: Option<i64>,
        line: &[u8],
        messages: &mut VecDeque<ServerJsonRpcMessage>,
    ) -> bool {
        // A server that cuts a character in two still gave an answer.
        let text = String::from_utf8_lossy(line);
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.starts_with('[') {
            let Ok(batch) = serde_json::from_str::<First<&RawValue, MAX_BATCH>>(text) else { return false };
            let decoded = batch.items.iter().filter(|one| self.one(own, one.get(), messages)).count();
            return decoded > 0;
        }
        text.starts_with('{') && self.one(own, text, messages)
    }

    fn one(&mut self, own: Option<i64>, text: &str, messages: &mut VecDeque<ServerJsonRpcMessage>) -> bool {
        let Ok(envelope) = serde_json::from_str::<Envelope<'_>>(text) else { return false };
        if envelope.jsonrpc.get() == "null" {
            return false;
        }
        if envelope.method.is_some() {
            messages.extend(unasked(text));
        } else {
            messages.extend(self.answer(own, &envelope, text));
        }
        true
    }

    /// An answer to a request that waits for one; others are too late, or were never asked for.
    fn answer(
        &mut self,
        own: Option<i64>,
        envelope: &Envelope<'_>,
        text: &str,
    ) -> Option<ServerJsonRpcMessage> {
        let id = match envelope.id {
            Some(id) => number(id)?,
            None if envelope.error.is_some() => own?,
            None => return None,
        };
        let awaited = self.awaited.remove(&id).or(self.open.then_some(Awaited::Text))?;
        let id = RequestId::Number(id);
        if let Some(error) = envelope.error {
            return Some(ServerJsonRpcMessage::error(error_data(error), Some(id)));
        }
        let Some(result) = envelope.result else {
            return Some(unreadable("it has neither a result nor an error", id));
        };
        if awaited != Awaited::Text && text.len() > MAX_HANDSHAKE {
            return Some(unreadable(format!("it has more than {MAX_HANDSHAKE} bytes"), id));
        }
        let result = match awaited {
            Awaited::Text => {
                Ok(ServerResult::CustomResult(CustomResult(Value::String(result.get().to_owned()))))
            }
            Awaited::Initialize => {
                serde_json::from_str::<InitializeResult>(result.get()).map(ServerResult::InitializeResult)
            }
            Awaited::Discover => {
                serde_json::from_str::<DiscoverResult>(result.get()).map(ServerResult::DiscoverResult)
            }
            Awaited::Listen => {
                return serde_json::from_str(text).map_or_else(|error| Some(unreadable(error, id)), Some);
            }
        };
        Some(match result {
            Ok(result) => ServerJsonRpcMessage::response(result, id),
            Err(error) => unreadable(error, id),
        })
    }
}

/// What the server says on its own account. What the library cannot read, it cannot heed.
fn unasked(text: &str) -> Option<ServerJsonRpcMessage> {
    if text.len() > MAX_UNASKED {
        tracing::debug!(bytes = text.len(), "an over-long message of a server was ignored");
        return None;
    }
    let read = serde_json::from_str(text).inspect_err(|error| {
        let error = sanitize::clean(&error.to_string(), 300);
        tracing::debug!(%error, "a message of a server was ignored");
    });
    match read.ok()? {
        ServerJsonRpcMessage::Request(JsonRpcRequest {
            id,
            request: ServerRequest::ElicitRequest(_),
            ..
        }) => {
            // As it was sent: the library's types leave out what they do not know of a form, such as patterns.
            let whole: Question = serde_json::from_str(text).ok()?;
            Some(ServerJsonRpcMessage::request(
                ServerRequest::CustomRequest(CustomRequest::new(whole.method, whole.params)),
                id,
            ))
        }
        message => Some(message),
    }
}

#[derive(Deserialize)]
struct Question {
    method: String,
    params: Option<Value>,
}

/// Our ids are numbers; some servers answer with the number as a string, or as a float.
fn number(id: &RawValue) -> Option<i64> {
    let text = id.get();
    let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
    text.parse().ok().or_else(|| integral(text.parse().ok()?))
}

/// What is beyond 2^53 is no id of ours.
fn integral(id: f64) -> Option<i64> {
    (id.fract() == 0.0 && id.abs() < 9e15).then_some(id as i64)
}

/// An error without its data.
#[derive(Deserialize)]
struct Said {
    code: ErrorCode,
    message: String,
}

fn error_data(error: &RawValue) -> ErrorData {
    let read = if error.get().len() > MAX_ERROR_DATA {
        serde_json::from_str::<Said>(error.get()).map(|said| ErrorData::new(said.code, said.message, None))
    } else {
        serde_json::from_str(error.get())
    };
    read.unwrap_or_else(|_| {
        // Not as JSON-RPC has it (a bare string, a code that is no integer): its own words are the best there is.
        let (code, text) = (ErrorCode::INTERNAL_ERROR, error.get());
        let cut = text.get(..text.floor_char_boundary(2048)).unwrap_or_default();
        ErrorData::new(code, cut.to_owned(), None)
    })
}

fn unreadable(why: impl std::fmt::Display, id: RequestId) -> ServerJsonRpcMessage {
    let why = sanitize::clean(&why.to_string(), 300);
    let message = format!("the server's answer could not be read: {why}");
    ServerJsonRpcMessage::error(ErrorData::new(ErrorCode::INTERNAL_ERROR, message, None), Some(id))
}
