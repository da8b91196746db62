//! [`Decoder`]: decodes a line into messages for the protocol library.
//!
//! Results of the handshake are decoded here. Every other result is passed on as text (see [`crate::raw`]), because the
//! library guesses its type, and one unknown tool or content block would lose the whole answer. An unusable answer
//! becomes an error, so that no request of ours stays without an answer.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, CustomRequest, DiscoverResult, ErrorCode,
    ErrorData, InitializeResult, JsonRpcRequest, RequestId, ServerJsonRpcMessage, ServerRequest,
    ServerResult,
};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::raw::{self, First};
use crate::sanitize;

/// Messages in one line. Version 2025-03-26 allowed batches.
const MAX_BATCH: usize = 1000;
/// Bytes of a request or notification of the server; longer ones are ignored. Answers may be as long as a line.
const MAX_UNSOLICITED: usize = 256 * 1024;
/// Bytes of an answer that is decoded here, and of an error with its data.
const MAX_HANDSHAKE: usize = 1024 * 1024;
const MAX_ERROR_DATA: usize = 64 * 1024;

/// The expected type of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Awaited {
    Initialize,
    Discover,
    /// A subscription, which the library decodes.
    Listen,
    Text,
}

/// Decodes messages, knowing the unanswered requests.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    awaited: HashMap<i64, Awaited>,
    /// Whether unknown ids are accepted as answers in text form; then only other requests are recorded.
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
    /// Creates a decoder for HTTP, where each answer arrives with its request.
    pub(crate) fn open() -> Self {
        Self { open: true, ..Self::default() }
    }

    /// Records a sent message, so that its answer can be decoded.
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

    /// Decodes a line. Returns false if the line is not JSON-RPC.
    pub(crate) fn decode(&mut self, line: &[u8], messages: &mut VecDeque<ServerJsonRpcMessage>) -> bool {
        // A server that could not read the id omits it. That is unambiguous if one request is unanswered.
        let only = (self.awaited.len() == 1).then(|| self.awaited.keys().next().copied()).flatten();
        self.decode_for(only, line, messages)
    }

    /// Decodes a line. An error without an id answers the request `own`.
    pub(crate) fn decode_for(
        &mut self,
        own: Option<i64>,
        line: &[u8],
        messages: &mut VecDeque<ServerJsonRpcMessage>,
    ) -> bool {
        // Invalid UTF-8 does not make an answer unusable. The strict reader is several times faster than the lossy one.
        let text = str::from_utf8(line).map_or_else(|_| String::from_utf8_lossy(line), Cow::Borrowed);
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
            messages.extend(unsolicited(text));
        } else {
            messages.extend(self.answer(own, &envelope, text));
        }
        true
    }

    /// Decodes an answer. Returns `None` if no request waits for it.
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
            return Some(unreadable("neither `result` nor `error` is present", id));
        };
        if awaited != Awaited::Text && text.len() > MAX_HANDSHAKE {
            return Some(unreadable(format!("more than {MAX_HANDSHAKE} bytes"), id));
        }
        let result = match awaited {
            Awaited::Text => Ok(raw::result(result.get())),
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

/// Decodes a request or notification of the server. Messages that the library cannot read are ignored.
fn unsolicited(text: &str) -> Option<ServerJsonRpcMessage> {
    if text.len() > MAX_UNSOLICITED {
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
            // Kept as JSON: the library's types drop unknown keywords of a form, such as `pattern`.
            let whole: RawRequest = serde_json::from_str(text).ok()?;
            Some(ServerJsonRpcMessage::request(
                ServerRequest::CustomRequest(CustomRequest::new(whole.method, whole.params)),
                id,
            ))
        }
        message => Some(message),
    }
}

#[derive(Deserialize)]
struct RawRequest {
    method: String,
    params: Option<Value>,
}

/// Parses the id of one of our requests. Some servers return the number as a string or a float.
fn number(id: &RawValue) -> Option<i64> {
    let text = id.get();
    let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
    text.parse().ok().or_else(|| {
        let id: f64 = text.parse().ok()?;
        (id.fract() == 0.0 && id.abs() < 9e15).then_some(id as i64)
    })
}

/// An error without its data.
#[derive(Deserialize)]
struct BareError {
    code: ErrorCode,
    message: String,
}

fn error_data(error: &RawValue) -> ErrorData {
    let read = if error.get().len() > MAX_ERROR_DATA {
        serde_json::from_str::<BareError>(error.get())
            .map(|bare| ErrorData::new(bare.code, bare.message, None))
    } else {
        serde_json::from_str(error.get())
    };
    read.unwrap_or_else(|_| {
        // Not a JSON-RPC error (a string, a code that is not an integer): quoted as received.
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
