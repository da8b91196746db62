//! The arguments of a call as their client wrote them: text for as long as the call waits, since values take many times
//! the room.

use std::sync::Arc;

use converse_canister::{Arguments, Malformed};
use rmcp::RoleServer;
use rmcp::model::JsonObject;
use rmcp::service::RequestContext;
use serde_json::{Map, Value};

/// How much more room values take than their text, at worst.
const SWELL: usize = 16;

/// Among the extensions of a request; over HTTP among those of its head.
#[derive(Debug, Clone)]
pub(crate) struct Written {
    text: Text,
    /// Bytes of the message beside them.
    beside: usize,
}

#[derive(Debug, Clone)]
enum Text {
    Kept(Arc<str>),
    TooLong(usize),
}

impl Written {
    pub(crate) fn new(arguments: &str, beside: usize) -> Self {
        let text = match arguments.len() {
            bytes if bytes > Arguments::MAX_BYTES => Text::TooLong(bytes),
            _ => Text::Kept(arguments.into()),
        };
        Self { text, beside }
    }

    /// What the library has read counts only where nobody has looked before it.
    pub(crate) fn of(context: &RequestContext<RoleServer>, read: Option<JsonObject>) -> Self {
        let parts = || context.extensions.get::<http::request::Parts>();
        let written = context.extensions.get::<Self>().or_else(|| parts()?.extensions.get::<Self>());
        written.cloned().unwrap_or_else(|| {
            let text = Value::Object(read.unwrap_or_default()).to_string();
            Self::new(&text, 0)
        })
    }

    /// Bytes that it takes while it waits, about; `None`: it will not run, so it need not wait.
    pub(crate) fn weight(&self) -> Option<usize> {
        match &self.text {
            Text::Kept(text) => Some(text.len() + SWELL * self.beside),
            Text::TooLong(_) => None,
        }
    }

    /// As strict as with the arguments that a model writes.
    pub(crate) fn read(self) -> Arguments {
        match self.text {
            Text::Kept(text) => Arguments::parse(&text),
            Text::TooLong(bytes) => {
                let malformed = Some(Malformed::TooLong { bytes, limit: Arguments::MAX_BYTES });
                Arguments { object: Map::new(), raw: Box::default(), malformed }
            }
        }
    }
}
