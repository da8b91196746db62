//! The traits of a dialect: a translator of prompts and a decoder of replies.

use bytes::Bytes;
use converse_canister::{Canister, Cost, Declaration, Stop, TurnId, Usage};
use serde_json::Value;

use crate::error::{DecodeError, ReplyError, TranslateError};
use crate::{Endpoint, Prepared, Prompt};

/// Translator of canisters to and from one provider's wire. Holds no state and opens no socket.
pub trait Processor: Send + Sync {
    /// Returns the tools in the wire's format.
    ///
    /// # Errors
    /// [`TranslateError::Tool`] names the tool that the wire cannot offer.
    fn prepare_tools(&self, tools: &[Declaration], endpoint: &Endpoint)
    -> Result<Vec<Value>, TranslateError>;

    /// Translates a prompt to a request. The request never contains the key: the HTTP client adds it (see
    /// [`Endpoint::auth`]), so a request can be shown, recorded and logged.
    ///
    /// # Errors
    /// If this wire cannot carry the prompt.
    fn nativize(
        &self,
        prompt: &Prompt<'_>,
        endpoint: &Endpoint,
    ) -> Result<http::Request<Bytes>, TranslateError> {
        self.nativize_prepared(prompt, endpoint, Prepared::default())
    }

    /// The same for one of several requests with the same tools or of one conversation, whose text is made once if the wire
    /// allows it. The request is that of [`nativize`](Self::nativize), byte for byte.
    ///
    /// # Errors
    /// Those of [`nativize`](Self::nativize).
    fn nativize_prepared(
        &self,
        prompt: &Prompt<'_>,
        endpoint: &Endpoint,
        prepared: Prepared<'_>,
    ) -> Result<http::Request<Bytes>, TranslateError>;

    /// Returns a decoder for a response with this head: a stream, a whole body or an error page.
    fn normalize(&self, head: &http::response::Parts, origin: ReplyOrigin) -> Box<dyn Decoder>;

    /// Returns the request that counts a prompt's tokens; `None` if the wire cannot count.
    fn count(
        &self,
        _prompt: &Prompt<'_>,
        _endpoint: &Endpoint,
    ) -> Option<Result<http::Request<Bytes>, TranslateError>> {
        None
    }

    /// Reads the response to [`Processor::count`]: tokens of input, if the body has them.
    fn counted(&self, _body: &[u8]) -> Option<u64> {
        None
    }
}

/// Properties of the request whose response is decoded.
#[derive(Debug, Clone)]
pub struct ReplyOrigin {
    /// The number of the reply; invocation ids derive from it.
    pub turn: TurnId,
    /// The requested model.
    pub model: String,
    pub endpoint: Endpoint,
}

/// Reader of one response body, in pieces of any size.
pub trait Decoder: Send {
    /// Takes the next bytes and appends the deltas they contain.
    ///
    /// # Errors
    /// If the body is malformed or too long. An error ends the reply; nothing more may be fed.
    fn feed(&mut self, bytes: &[u8], out: &mut Vec<Delta>) -> Result<(), DecodeError>;

    /// Returns whether the reply is complete. Some servers keep the connection open after that.
    fn is_complete(&self) -> bool;

    /// Ends the body and returns the reply. The result does not depend on how the body was cut in pieces.
    ///
    /// # Errors
    /// If the provider refused, the body ended early, or it cannot be decoded.
    fn finish(self: Box<Self>) -> Result<Reply, ReplyError>;
}

/// A piece of a reply in progress. Deltas are for display only; the [`Reply`] is authoritative.
#[derive(Debug, Clone, PartialEq)]
pub enum Delta {
    Text(String),
    Reasoning(String),
    /// The model began to write an invocation, the `index`th of the reply.
    InvocationStarted {
        index: usize,
        tool: String,
    },
    /// A fragment of its arguments.
    Arguments {
        index: usize,
        fragment: String,
    },
}

/// One complete reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// An assistant canister first (the whole turn's native form on it), then the rest of the turn in its order.
    pub canisters: Vec<Canister>,
    pub stop: Stop,
    pub usage: Usage,
    /// Only if the provider reports it.
    pub cost: Option<Cost>,
    /// The model as the provider names it.
    pub model: Option<String>,
    pub request_id: Option<String>,
}
