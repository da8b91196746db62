//! The arguments of a call as JSON text. They stay text while the call waits, because parsed values take many times the
//! memory.

use std::sync::Arc;

use converse_canister::{Arguments, Malformed};
use rmcp::RoleServer;
use rmcp::model::JsonObject;
use rmcp::service::RequestContext;
use serde_json::{Map, Value};

/// Memory of parsed values, as a multiple of their text, in the worst case.
const PARSED_SIZE_FACTOR: usize = 16;

/// Raw arguments; an extension of the request, or of the HTTP request.
#[derive(Debug, Clone)]
pub(crate) struct RawArguments {
    text: Text,
    /// Bytes of the message without the arguments.
    envelope_size: usize,
}

#[derive(Debug, Clone)]
enum Text {
    Kept(Arc<str>),
    TooLong(usize),
}

impl RawArguments {
    pub(crate) fn new(arguments: &str, envelope_size: usize) -> Self {
        let text = match arguments.len() {
            bytes if bytes > Arguments::MAX_BYTES => Text::TooLong(bytes),
            _ => Text::Kept(arguments.into()),
        };
        Self { text, envelope_size }
    }

    /// Returns the raw arguments of a request, or `parsed` if no transport has stored raw arguments.
    pub(crate) fn of(context: &RequestContext<RoleServer>, parsed: Option<JsonObject>) -> Self {
        let parts = || context.extensions.get::<http::request::Parts>();
        let arguments = context.extensions.get::<Self>().or_else(|| parts()?.extensions.get::<Self>());
        arguments.cloned().unwrap_or_else(|| {
            let text = Value::Object(parsed.unwrap_or_default()).to_string();
            Self::new(&text, 0)
        })
    }

    /// The text, unless it is too long.
    pub(crate) fn text(&self) -> Result<&str, Malformed> {
        match &self.text {
            Text::Kept(text) => Ok(text),
            Text::TooLong(bytes) => Err(too_long(*bytes)),
        }
    }

    /// Raw arguments that are a part of these.
    pub(crate) fn inner(&self, arguments: &str) -> Self {
        Self::new(arguments, self.envelope_size)
    }

    /// Bytes of the arguments as the client wrote them.
    pub(crate) fn len(&self) -> usize {
        match &self.text {
            Text::Kept(text) => text.len(),
            Text::TooLong(bytes) => *bytes,
        }
    }

    /// Approximate bytes of memory while the call waits; `None` if it will not run, so it need not wait.
    pub(crate) fn weight(&self) -> Option<usize> {
        match &self.text {
            Text::Kept(text) => Some(text.len() + PARSED_SIZE_FACTOR * self.envelope_size),
            Text::TooLong(_) => None,
        }
    }

    /// Parses as strictly as the arguments from a model.
    pub(crate) fn parse(self) -> Arguments {
        match self.text {
            Text::Kept(text) => Arguments::parse(&text),
            Text::TooLong(bytes) => {
                Arguments { object: Map::new(), raw: Box::default(), malformed: Some(too_long(bytes)) }
            }
        }
    }
}

fn too_long(bytes: usize) -> Malformed {
    Malformed::TooLong { bytes, limit: Arguments::MAX_BYTES }
}
