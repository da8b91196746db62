//! Scans a message of a client before the protocol library parses it.
//!
//! The library uses the last of two equal keys, rounds numbers and has no size limit. So the arguments of a call are cut
//! out of the text here, and parsed when the call runs, as strictly as the arguments from a model.
//! <https://www.jsonrpc.org/specification#error_object> (checked 2026-11)

use std::ops::Range;

use bytes::Bytes;
use converse_canister::Arguments;
use http::request::Parts;
use http::{HeaderMap, Method};
use rmcp::model::{
    CallToolRequest, ClientJsonRpcMessage, ClientRequest, ErrorData, GetExtensions as _, JsonRpcMessage,
    JsonRpcRequest, ProtocolVersion, RequestId, ServerJsonRpcMessage,
};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::error::Category;
use serde_json::value::RawValue;

use crate::raw_arguments::RawArguments;

/// Maximum bytes of a message without the arguments of its call. They are parsed and kept until the answer.
pub(crate) const MAX_ENVELOPE: usize = 256 * 1024;

/// Header with the revision of the protocol.
const VERSION: &str = "mcp-protocol-version";

/// The error answer to an invalid message.
#[derive(Debug)]
pub struct RejectedMessage {
    pub(crate) id: Option<RequestId>,
    pub(crate) error: Box<ErrorData>,
}

impl RejectedMessage {
    /// The error as a JSON-RPC message.
    pub fn to_json(self) -> Vec<u8> {
        let message: ServerJsonRpcMessage = JsonRpcMessage::error(*self.error, self.id);
        serde_json::to_vec(&message).unwrap_or_default()
    }
}

impl From<ErrorData> for RejectedMessage {
    fn from(error: ErrorData) -> Self {
        Self { id: None, error: Box::new(error) }
    }
}

/// A JSON object that may be a message, and the range of the arguments if the message is a call.
#[derive(Debug)]
pub(crate) struct Message<'a> {
    text: &'a str,
    id: Option<RequestId>,
    call: Option<Option<Range<usize>>>,
    is_initialize: bool,
    /// Whether it has a field of an answer.
    is_answer: bool,
}

/// The top level of a message. A duplicate key is an error, because other readers may use the other value.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    result: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(rename = "name")]
    _name: Option<IgnoredAny>,
    #[serde(rename = "_meta")]
    _meta: Option<IgnoredAny>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

impl<'a> Message<'a> {
    pub(crate) fn parse(text: &'a str) -> Result<Self, RejectedMessage> {
        let envelope: Envelope<'a> = serde_json::from_str(text).map_err(|error| match error.classify() {
            Category::Data => not_a_message(&error),
            _ => not_json(&error.to_string()),
        })?;
        // Without this, an array would be accepted as the fields in their order.
        if !text.starts_with('{') {
            return Err(not_a_message(&"not an object"));
        }
        let id = envelope.id.and_then(|id| serde_json::from_str(id.get()).ok());
        let method = envelope.method.and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
        let is = |name| method.as_deref() == Some(name);
        let call = match envelope.params.filter(|_| is("tools/call")) {
            Some(params) if params.get().starts_with('{') => {
                let refused = |error: serde_json::Error| RejectedMessage {
                    id: id.clone(),
                    ..ErrorData::invalid_params(format!("invalid parameters: {error}"), None).into()
                };
                let params: Params<'a> = serde_json::from_str(params.get()).map_err(refused)?;
                let arguments = params.arguments.map(RawValue::get).filter(|raw| raw.starts_with('{'));
                Some(arguments.and_then(|arguments| range_of(text, arguments)))
            }
            _ => None,
        };
        let is_answer = envelope.result.is_some() || envelope.error.is_some();
        let message = Self { text, id, call, is_initialize: is("initialize"), is_answer };
        if message.envelope_size() > MAX_ENVELOPE {
            let limit = MAX_ENVELOPE / 1024;
            let text = format!("the message has more than {limit} KiB without the arguments of a call");
            return Err(RejectedMessage { id: message.id, ..ErrorData::invalid_request(text, None).into() });
        }
        Ok(message)
    }

    fn arguments(&self) -> Option<&'a str> {
        self.text.get(self.call.clone()??)
    }

    fn envelope_size(&self) -> usize {
        self.text.len() - self.arguments().map_or(0, str::len)
    }

    /// The arguments, if the message is a call.
    pub(crate) fn raw_arguments(&self) -> Option<RawArguments> {
        self.call.as_ref()?;
        Some(RawArguments::new(self.arguments().unwrap_or("{}"), self.envelope_size()))
    }

    /// Parses the message for the library, from its text `reduced` by the arguments of a call if it has arguments.
    fn to_rmcp(&self, reduced: Option<&str>) -> Result<ClientJsonRpcMessage, RejectedMessage> {
        let text = reduced.unwrap_or(self.text);
        if let Some(call) = self.call_in(text) {
            return Ok(call);
        }
        serde_json::from_str(text).map_err(|_| RejectedMessage {
            id: self.id.clone(),
            ..ErrorData::invalid_request("not a JSON-RPC 2.0 message", None).into()
        })
    }

    /// Parses a call as one. The library compares a message with each kind of request, which costs several times as much.
    fn call_in(&self, text: &str) -> Option<ClientJsonRpcMessage> {
        self.call.as_ref().filter(|_| !self.is_answer)?;
        let call: JsonRpcRequest<CallToolRequest> = serde_json::from_str(text).ok()?;
        let request = ClientRequest::CallToolRequest(call.request);
        Some(JsonRpcMessage::Request(JsonRpcRequest { jsonrpc: call.jsonrpc, id: call.id, request }))
    }

    /// Parses the message for the library, with the raw arguments of a call as an extension instead of parsed ones.
    pub(crate) fn to_rmcp_with_arguments(&self) -> Result<ClientJsonRpcMessage, RejectedMessage> {
        let mut message = self.to_rmcp(self.without_arguments().as_deref())?;
        if let (JsonRpcMessage::Request(request), Some(arguments)) = (&mut message, self.raw_arguments()) {
            request.request.extensions_mut().insert(arguments);
        }
        Ok(message)
    }

    /// The text without the arguments of the call; `None` if the message has no arguments.
    pub(crate) fn without_arguments(&self) -> Option<String> {
        let Range { start, end } = self.call.clone()??;
        Some(format!("{}{{}}{}", self.text.get(..start)?, self.text.get(end..)?))
    }

    /// Returns whether the library parses the whole text without loss.
    pub(crate) fn is_exact(&self) -> bool {
        let exact = |arguments| Arguments::parse(arguments).malformed.is_none();
        self.arguments().is_none_or(exact) && serde_json::from_str::<ClientJsonRpcMessage>(self.text).is_ok()
    }
}

/// Returns the range of `piece`, which is a slice of `text`.
fn range_of(text: &str, piece: &str) -> Option<Range<usize>> {
    let start = piece.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
    let range = start..start + piece.len();
    (text.get(range.clone()) == Some(piece)).then_some(range)
}

/// The body of an HTTP request.
#[derive(Debug)]
pub struct AcceptedBody {
    /// For the protocol library.
    pub bytes: Bytes,
    /// Whether it is the `initialize` of a client.
    pub is_initialize: bool,
}

/// Checks the body of an HTTP request. Returns it for the protocol library, and stores the raw arguments of a call as an
/// extension of `parts`.
///
/// # Errors
///
/// Fails if the body is not one message.
pub fn accept_body(parts: &mut Parts, body: Bytes) -> Result<AcceptedBody, RejectedMessage> {
    if parts.method != Method::POST {
        return Ok(AcceptedBody { bytes: body, is_initialize: false });
    }
    let text = std::str::from_utf8(&body).map_err(|_| not_json("the body is not UTF-8"))?;
    if text.trim_ascii_start().starts_with('[') {
        let text = "batches are not supported over HTTP; send the messages one by one";
        return Err(ErrorData::invalid_request(text, None).into());
    }
    let message = Message::parse(text.trim_ascii())?;
    let is_initialize = message.is_initialize;
    let (arguments, reduced) = (message.raw_arguments(), message.without_arguments());
    if let Some(arguments) = arguments {
        parts.extensions.insert(arguments);
    }
    // The library compares arguments in headers with the body. Inexact arguments are removed here and rejected later.
    if reduced.is_some() && has_argument_headers(&parts.headers) && message.is_exact() {
        return Ok(AcceptedBody { bytes: body, is_initialize });
    }
    message.to_rmcp(reduced.as_deref())?;
    Ok(AcceptedBody { bytes: reduced.map_or(body, Bytes::from), is_initialize })
}

/// Returns whether the protocol library compares headers with the arguments of a call, which it does from the revision
/// 2026-07-28 on.
fn has_argument_headers(headers: &HeaderMap) -> bool {
    let version = headers.get(VERSION).and_then(|version| version.to_str().ok());
    version.is_some_and(|version| version >= ProtocolVersion::STANDARD_HEADERS.as_str())
}

pub(crate) fn not_json(why: &str) -> RejectedMessage {
    ErrorData::parse_error(format!("not JSON: {why}"), None).into()
}

fn not_a_message(why: &dyn std::fmt::Display) -> RejectedMessage {
    ErrorData::invalid_request(format!("not a JSON-RPC 2.0 message: {why}"), None).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(params: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools\/call","params":{params}}}"#)
    }

    #[test]
    fn what_is_no_message_is_told_from_what_is_no_json() {
        let long =
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":"ping","x":"{}"}}"#, "y".repeat(MAX_ENVELOPE));
        let deep = format!(r#"{{"name":"t","_meta":{{"a":{}{}}}}}"#, "[".repeat(500), "]".repeat(500));
        for (text, code, has_id) in [
            ("", -32700, false),
            ("{\"id\":7", -32700, false),
            ("hello", -32700, false),
            ("42", -32600, false),
            (r#"["2.0", "tools/call", {}]"#, -32600, false),
            (r#"{"id":7}"#, -32600, true),
            (r#"{"jsonrpc":"2.0","id":7,"id":8,"method":"ping"}"#, -32600, false),
            (r#"{"jsonrpc":"2.0","id":7,"method":"ping","method":"tools/call"}"#, -32600, false),
            (r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"_meta":{"a":1e400}}}"#, -32600, true),
            (&call(r#"{"name":"a","name":"b"}"#), -32602, true),
            (&call(r#"{"name":"a","arguments":{},"argum\u0065nts":{"a":1}}"#), -32602, true),
            (&call(r#"{"name":"a","_meta":{},"_meta":{}}"#), -32602, true),
            (&call(&deep), -32600, true),
            (&long, -32600, true),
        ] {
            let read = Message::parse(text).and_then(|message| message.to_rmcp(None));
            let refused = read.expect_err(text);
            assert_eq!((refused.error.code.0, refused.id.is_some()), (code, has_id), "{text:.90}");
        }
    }

    #[test]
    fn a_call_is_parsed_as_the_library_parses_it() {
        for params in [
            r#"{"name":"t"}"#,
            r#"{"name":"t","arguments":{"a":[1]},"_meta":{"progressToken":"p","x":{"y":1}}}"#,
            r#"{"name":"t","arguments":null,"other":1}"#,
            r#"{"name":"t","inputResponses":{"a":{"action":"accept"}},"requestState":"s"}"#,
            r#"{"name":5}"#,
            "[]",
        ] {
            let text = call(params);
            let whole = serde_json::from_str::<ClientJsonRpcMessage>(&text);
            let read = Message::parse(&text).unwrap().to_rmcp(None);
            assert_eq!(read.ok().map(|read| format!("{read:?}")), whole.ok().map(|read| format!("{read:?}")));
        }
        let both = call(r#"{"name":"t"}"#).replace(r#""id":7"#, r#""id":7,"result":{}"#);
        assert!(Message::parse(&both).unwrap().call_in(&both).is_none());
    }

    #[test]
    fn the_arguments_of_a_call_are_kept_as_they_were_written() {
        let long = format!(r#"{{"a":"{}"}}"#, "x".repeat(Arguments::MAX_BYTES));
        for (arguments, is_exact) in [
            (r#"{ "a": 1, "b": [{}] }"#, true),
            ("{}", true),
            (r#"{"a":1,"a":2}"#, false),
            (r#"{"a":1e400}"#, false),
            (r#"{"a":12345678901234567890123}"#, false),
            (&format!(r#"{{"a":{}{}}}"#, "[".repeat(5000), "]".repeat(5000)), false),
            // Too deep only inside a message.
            (&format!(r#"{{"a":{}{}}}"#, "[".repeat(125), "]".repeat(125)), false),
            (&long, false),
        ] {
            let text =
                call(&format!(r#"{{"name":"t","arguments": {arguments} ,"_meta":{{"arguments":{{}}}}}}"#));
            let message = Message::parse(&text).unwrap();
            assert_eq!(message.arguments(), Some(arguments));
            assert_eq!(message.is_exact(), is_exact, "{arguments:.50}");
            let without = text.replacen(arguments, "{}", 1);
            assert_eq!(message.without_arguments().as_deref(), Some(&*without));
            let weight = message.raw_arguments().unwrap().weight();
            assert_eq!(weight.is_none(), arguments.len() > Arguments::MAX_BYTES);
            let read = message.raw_arguments().unwrap().parse();
            assert_eq!(&*read.raw, if weight.is_some() { arguments } else { "" });
            let JsonRpcMessage::Request(request) = message.to_rmcp_with_arguments().unwrap() else {
                panic!("{text}")
            };
            assert!(request.request.extensions().get::<RawArguments>().is_some());
        }
    }

    #[test]
    fn over_http_the_library_reads_arguments_only_to_compare_headers_with_them() {
        let whole = |arguments: &str| call(&format!(r#"{{"name":"t","arguments":{arguments}}}"#));
        let (exact, inexact, none) = (r#"{"a": 1}"#, r#"{"a": 1, "a": 2}"#, "{}");
        for (version, arguments, read) in [
            (None, exact, none),
            (Some("2025-11-25"), exact, none),
            (Some("2026-07-28"), exact, exact),
            (Some("2026-07-28"), inexact, none),
        ] {
            let request = http::Request::post("/mcp");
            let request =
                version.into_iter().fold(request, |request, version| request.header(VERSION, version));
            let (mut parts, ()) = request.body(()).unwrap().into_parts();
            let body = accept_body(&mut parts, whole(arguments).into()).unwrap();
            assert_eq!(body.bytes, whole(read), "{version:?}");
            assert_eq!(parts.extensions.get::<RawArguments>().unwrap().text().unwrap(), arguments);
        }
        let (mut parts, ()) = http::Request::post("/mcp").body(()).unwrap().into_parts();
        let refused = accept_body(&mut parts, whole(exact).replace("2.0", "1.0").into()).unwrap_err();
        assert_eq!(refused.error.code.0, -32600);
    }

    #[test]
    fn what_has_no_arguments_is_left_as_it_is() {
        for (text, is_call) in [
            (call(r#"{"name":"t"}"#), true),
            (call(r#"{"name":"t","arguments":null}"#), true),
            (call(r#"{"name":"t","arguments":[1]}"#), true),
            (call("[]"), false),
            (r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"arguments":{"a":1,"a":2}}}"#.into(), false),
        ] {
            let message = Message::parse(&text).unwrap();
            assert_eq!(
                (message.without_arguments(), message.raw_arguments().is_some()),
                (None, is_call),
                "{text}"
            );
        }
    }
}
