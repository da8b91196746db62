//! What can go wrong between canisters and bytes.

use std::time::Duration;

use crate::Reply;

/// A prompt that this wire cannot carry.
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

/// A body that cannot be read any further.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    #[error("the response has an event of more than {limit} bytes")]
    EventTooLarge { limit: usize },
    #[error("the response is longer than {limit} bytes")]
    BodyTooLarge { limit: usize },
    #[error("the response is not what this wire prescribes: {0}")]
    Malformed(String),
}

/// Why there is no reply at the end of a body.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ReplyError {
    /// The provider said no: by status, or within a 200.
    #[error(transparent)]
    Refusal(#[from] Refusal),
    /// The body ended before the reply did. What had come is kept, marked `Stop::Cut`; none of its invocations is
    /// there, since none may run.
    #[error("the response ended before the reply did")]
    CutShort { partial: Box<Reply> },
    #[error(transparent)]
    Decode(#[from] DecodeError),
}

/// A classified refusal. The class alone decides about retries and exit codes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    pub class: RefusalClass,
    /// HTTP status; 200 when the error came inside a stream.
    pub status: u16,
    /// The provider's own words, at most 2 KiB, not yet made safe for a terminal.
    pub message: String,
    /// The provider's code or type for it, if any.
    pub code: Option<String>,
    pub request_id: Option<String>,
    /// What the provider says about trying again.
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
    /// 400, 404, 413, 422 and whatever else the request itself is to blame for.
    BadRequest,
    /// A body that is no error of this provider (an HTML page of a proxy with a 200, say).
    Nonsense,
}

/// `Retry-After` in all its forms, read from headers or body. Relative; the wire's clock is not needed because a date
/// is compared with the response's own `Date` header.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RetryAdvice {
    pub after: Option<Duration>,
    /// `x-should-retry`: wins over the class.
    pub should: Option<bool>,
}
