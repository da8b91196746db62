//! One message of a client, looked at before the protocol library makes values of it.
//!
//! The library takes the last of two keys of one name, rounds numbers, and knows no size. So the arguments of a call are
//! cut out of the text here, and read where they run, as strictly as those of a model.
//! <https://www.jsonrpc.org/specification#error_object> (checked 2026-11)

use std::ops::Range;

use converse_canister::Arguments;
use rmcp::model::{ClientJsonRpcMessage, ErrorData, GetExtensions as _, JsonRpcMessage, RequestId};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::error::Category;
use serde_json::value::RawValue;

use crate::written::Written;

/// Bytes of a message beside the arguments of its call: they are values for as long as it is not answered.
pub(crate) const MAX_BESIDE: usize = 256 * 1024;

/// What is answered to something that is no message.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) id: Option<RequestId>,
    pub(crate) error: Box<ErrorData>,
}

impl From<ErrorData> for Refused {
    fn from(error: ErrorData) -> Self {
        Self { id: None, error: Box::new(error) }
    }
}

/// A JSON object that may be a message, and where the arguments are in it, if it is a call.
#[derive(Debug)]
pub(crate) struct Message<'a> {
    text: &'a str,
    id: Option<RequestId>,
    call: Option<Option<Range<usize>>>,
}

/// None of its names may be there twice: then nobody knows which one somebody else has read.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
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
    pub(crate) fn look_at(text: &'a str) -> Result<Self, Refused> {
        let envelope: Envelope<'a> = serde_json::from_str(text).map_err(|error| match error.classify() {
            Category::Data => no_message(&error),
            _ => unreadable(&error.to_string()),
        })?;
        // An array would be taken for the fields in their order.
        if !text.starts_with('{') {
            return Err(no_message(&"it is no object"));
        }
        let id = envelope.id.and_then(|id| serde_json::from_str(id.get()).ok());
        let call = match envelope.params.filter(|_| is_call(envelope.method)) {
            Some(params) if params.get().starts_with('{') => {
                let refused = |error: serde_json::Error| Refused {
                    id: id.clone(),
                    ..ErrorData::invalid_params(format!("the parameters cannot be read: {error}"), None)
                        .into()
                };
                let params: Params<'a> = serde_json::from_str(params.get()).map_err(refused)?;
                let arguments = params.arguments.map(RawValue::get).filter(|raw| raw.starts_with('{'));
                Some(arguments.and_then(|arguments| place(text, arguments)))
            }
            _ => None,
        };
        let message = Self { text, id, call };
        if message.beside() > MAX_BESIDE {
            let limit = MAX_BESIDE / 1024;
            let text = format!("more than {limit} KiB beside the arguments of a call are not read");
            return Err(Refused { id: message.id, ..ErrorData::invalid_request(text, None).into() });
        }
        Ok(message)
    }

    fn arguments(&self) -> Option<&'a str> {
        self.text.get(self.call.clone()??)
    }

    fn beside(&self) -> usize {
        self.text.len() - self.arguments().map_or(0, str::len)
    }

    /// Of a call: what it is to run with.
    pub(crate) fn written(&self) -> Option<Written> {
        self.call.as_ref()?;
        Some(Written::new(self.arguments().unwrap_or("{}"), self.beside()))
    }

    /// For the library. A call has no arguments in it.
    pub(crate) fn read(&self) -> Result<ClientJsonRpcMessage, Refused> {
        let read = match self.bare() {
            Some(bare) => serde_json::from_str(&bare),
            None => serde_json::from_str(self.text),
        };
        read.map_err(|_| Refused {
            id: self.id.clone(),
            ..ErrorData::invalid_request("it is no JSON-RPC 2.0 message", None).into()
        })
    }

    /// The same, with what a call is to run with among its extensions.
    pub(crate) fn opened(&self) -> Result<ClientJsonRpcMessage, Refused> {
        let mut message = self.read()?;
        if let (JsonRpcMessage::Request(request), Some(written)) = (&mut message, self.written()) {
            request.request.extensions_mut().insert(written);
        }
        Ok(message)
    }

    /// The text without the arguments of its call, if it has any.
    pub(crate) fn bare(&self) -> Option<String> {
        let Range { start, end } = self.call.clone()??;
        Some(format!("{}{{}}{}", self.text.get(..start)?, self.text.get(end..)?))
    }

    /// Does the library understand of the whole text what is meant?
    pub(crate) fn is_exact(&self) -> bool {
        let exact = |arguments| Arguments::parse(arguments).malformed.is_none();
        self.arguments().is_none_or(exact) && serde_json::from_str::<ClientJsonRpcMessage>(self.text).is_ok()
    }
}

fn is_call(method: Option<&RawValue>) -> bool {
    method.is_some_and(|raw| serde_json::from_str::<String>(raw.get()).is_ok_and(|name| name == "tools/call"))
}

/// Where a piece of a text is in it.
fn place(text: &str, piece: &str) -> Option<Range<usize>> {
    let start = piece.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
    let range = start..start + piece.len();
    (text.get(range.clone()) == Some(piece)).then_some(range)
}

pub(crate) fn unreadable(why: &str) -> Refused {
    ErrorData::parse_error(format!("this is not JSON: {why}"), None).into()
}

fn no_message(why: &dyn std::fmt::Display) -> Refused {
    ErrorData::invalid_request(format!("it is no JSON-RPC 2.0 message: {why}"), None).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(params: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools\/call","params":{params}}}"#)
    }

    #[test]
    fn what_is_no_message_is_told_from_what_is_no_json() {
        let long = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"ping","x":"{}"}}"#, "y".repeat(MAX_BESIDE));
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
            let read = Message::look_at(text).and_then(|message| message.read());
            let refused = read.expect_err(text);
            assert_eq!((refused.error.code.0, refused.id.is_some()), (code, has_id), "{text:.90}");
        }
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
            // Deep, but only too deep inside a message.
            (&format!(r#"{{"a":{}{}}}"#, "[".repeat(125), "]".repeat(125)), false),
            (&long, false),
        ] {
            let text =
                call(&format!(r#"{{"name":"t","arguments": {arguments} ,"_meta":{{"arguments":{{}}}}}}"#));
            let message = Message::look_at(&text).unwrap();
            assert_eq!(message.arguments(), Some(arguments));
            assert_eq!(message.is_exact(), is_exact, "{arguments:.50}");
            let without = text.replacen(arguments, "{}", 1);
            assert_eq!(message.bare().as_deref(), Some(&*without));
            let weight = message.written().unwrap().weight();
            assert_eq!(weight.is_none(), arguments.len() > Arguments::MAX_BYTES);
            let read = message.written().unwrap().read();
            assert_eq!(&*read.raw, if weight.is_some() { arguments } else { "" });
            let JsonRpcMessage::Request(request) = message.opened().unwrap() else { panic!("{text}") };
            assert!(request.request.extensions().get::<Written>().is_some());
        }
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
            let message = Message::look_at(&text).unwrap();
            assert_eq!((message.bare(), message.written().is_some()), (None, is_call), "{text}");
        }
    }
}
