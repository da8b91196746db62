//! Errors of translating canisters to and from bytes.

use std::time::Duration;

use crate::Reply;

/// Why a prompt cannot be sent on this wire.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TranslateError {
    #[error("tool `{tool}` cannot be offered to this provider: {reason}")]
    Tool { tool: String, reason: String },
    #[error("the base URL `{url}` is not usable: {reason}")]
    BaseUrl { url: String, reason: String },
    #[error("the conversation has no message to answer")]
    NothingToAnswer,
    #[error("{0}")]
    Control(String),
}

/// Why a body cannot be read any further.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    #[error("the response has an event of more than {limit} bytes")]
    EventTooLarge { limit: usize },
    #[error("the response is longer than {limit} bytes")]
    BodyTooLarge { limit: usize },
    #[error("the response does not follow this wire's format: {0}")]
    Malformed(String),
}

/// Why a body did not end in a reply.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ReplyError {
    /// The provider refused the request, by status or within a 200.
    #[error(transparent)]
    Refusal(#[from] Refusal),
    /// The body ended before the reply did. The partial reply is marked `Stop::Cut` and has no invocations, since none may
    /// run.
    #[error("the response ended before the reply did")]
    CutShort { partial: Box<Reply> },
    /// The body is complete and has no message: no text, no call, no stop reason. `reply` has the usage, if any came.
    #[error("the response has no message")]
    Empty { reply: Box<Reply> },
    #[error(transparent)]
    Decode(#[from] DecodeError),
}

/// A classified refusal. The class alone decides retries and exit codes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    pub class: RefusalClass,
    /// HTTP status; 200 when the error came inside a stream.
    pub status: u16,
    /// The provider's message, at most 2 KiB, not yet escaped for a terminal.
    pub message: String,
    /// The provider's code or type for it, if any.
    pub code: Option<String>,
    pub request_id: Option<String>,
    /// The provider's advice on retries.
    pub retry: RetryAdvice,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalClass {
    /// 401, 403.
    Auth,
    /// 402, spend limits, `insufficient_quota`: waiting does not help.
    Quota,
    /// 429.
    RateLimit,
    /// 408, 409, 5xx, 529, in-stream overload.
    Overload,
    /// The prompt is too long for the model.
    ContextTooLong,
    /// 400, 404, 413, 422 and every other fault of the request itself.
    BadRequest,
    /// A body that is neither a reply nor an error of this provider, such as a proxy's HTML page with a 200.
    Nonsense,
}

/// Retry advice in all forms of `Retry-After`, read from headers or body. Relative: a date is compared with the
/// response's own `Date` header, so no clock is needed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RetryAdvice {
    pub after: Option<Duration>,
    /// `x-should-retry`: wins over the class.
    pub should: Option<bool>,
}
