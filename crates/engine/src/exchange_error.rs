//! Errors of model calls, and what may still be tried after them.

use std::time::Duration;

use converse_provider::{DecodeError, Refusal, RefusalClass, RetryAdvice, TranslateError};

use crate::retry::may_pass;
use crate::{RetryPolicy, SinkError, WireError, WireErrorKind};

/// The error of a model call that gave no complete reply, after all retries.
#[derive(Debug, thiserror::Error)]
#[error("{cause}")]
pub struct ExchangeError {
    pub cause: AttemptError,
    /// The last `provider/model` that was requested.
    pub route: String,
    /// Routes that were tried before it.
    pub routes_before: usize,
    /// Number of attempts on this route.
    pub attempts: u32,
    /// Time spent waiting between them.
    pub waited: Duration,
    /// The delay that the provider requested, if it is longer than all retries may take.
    pub asked_to_wait: Option<Duration>,
    /// Whether text of the last attempt was shown, and is in the transcript.
    pub kept: bool,
    /// The provider's id of the last request, if a response had begun.
    pub request_id: Option<String>,
}

/// The error of one attempt.
#[derive(Debug, thiserror::Error)]
pub enum AttemptError {
    #[error(transparent)]
    Translate(#[from] TranslateError),
    #[error(transparent)]
    Wire(#[from] WireError),
    #[error("no {what} for {} s", .after.as_secs_f64())]
    Timeout { what: &'static str, after: Duration },
    #[error("the response ended before the reply did")]
    CutShort,
    #[error("the model's reply is empty: it has neither text nor tool calls")]
    Empty,
    #[error(transparent)]
    Refusal(#[from] Refusal),
    #[error(transparent)]
    Decode(#[from] DecodeError),
    #[error(transparent)]
    Sink(#[from] SinkError),
}

impl AttemptError {
    /// Returns whether the same request may be answered later.
    pub fn retryable(&self) -> bool {
        match self {
            Self::Wire(error) => match error.kind {
                WireErrorKind::Connection
                | WireErrorKind::NoDescriptors
                | WireErrorKind::Broken
                | WireErrorKind::NoSuchHost => true,
                WireErrorKind::Tls | WireErrorKind::Request => false,
            },
            Self::Timeout { .. } | Self::CutShort | Self::Empty => true,
            Self::Refusal(refusal) => may_pass(refusal.class, refusal.status),
            Self::Translate(_) | Self::Decode(_) | Self::Sink(_) => false,
        }
    }

    /// Returns the policy for retries after this error. An unknown host name is looked up only once more: it is either a
    /// short failure of the network or a typing error. After an empty reply the model is asked twice more, because each
    /// reply costs.
    pub(crate) fn policy(&self, policy: RetryPolicy) -> RetryPolicy {
        match self {
            Self::Wire(error) if error.kind == WireErrorKind::NoSuchHost => {
                RetryPolicy { retries: policy.retries.min(1), ..policy }
            }
            Self::Empty => RetryPolicy { retries: policy.retries.min(2), ..policy },
            _ => policy,
        }
    }

    /// Returns whether the prompt does not fit into the model's window.
    pub(crate) fn is_too_long(&self) -> bool {
        matches!(self, Self::Refusal(refusal) if refusal.class == RefusalClass::ContextTooLong)
    }

    /// Returns whether the server refused because of its rate or its load.
    pub(crate) fn is_too_fast(&self) -> bool {
        matches!(self, Self::Refusal(refusal) if matches!(refusal.class, RefusalClass::RateLimit | RefusalClass::Overload))
    }

    /// Returns what the provider says about a retry.
    pub fn advice(&self) -> RetryAdvice {
        match self {
            Self::Refusal(refusal) => refusal.retry,
            _ => RetryAdvice::default(),
        }
    }

    /// Returns whether the server is at fault, so that the next route may be tried; see [`crate::Route`].
    pub(crate) fn is_server_fault(&self) -> bool {
        match self {
            Self::Wire(error) => !matches!(error.kind, WireErrorKind::Request | WireErrorKind::NoDescriptors),
            Self::Timeout { .. } | Self::CutShort | Self::Empty | Self::Decode(_) => true,
            Self::Refusal(refusal) => match refusal.class {
                RefusalClass::Quota
                | RefusalClass::RateLimit
                | RefusalClass::Overload
                | RefusalClass::Nonsense => true,
                RefusalClass::BadRequest => refusal.is_unknown_model(),
                RefusalClass::Auth | RefusalClass::ContextTooLong => false,
            },
            Self::Translate(_) | Self::Sink(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(class: RefusalClass, status: u16, code: Option<&str>) -> AttemptError {
        let retry = RetryAdvice::default();
        let (message, code) = ("no".to_owned(), code.map(str::to_owned));
        Refusal { class, status, message, code, request_id: None, retry }.into()
    }

    fn wire(kind: WireErrorKind) -> AttemptError {
        WireError { kind, message: "broken".to_owned() }.into()
    }

    #[test]
    fn somebody_else_is_asked_where_the_fault_is_the_servers() {
        use RefusalClass::{Auth, BadRequest, ContextTooLong, Nonsense, Overload, Quota, RateLimit};
        for (cause, passes) in [
            (refusal(Quota, 429, None), true),
            (refusal(RateLimit, 429, None), true),
            (refusal(Overload, 529, None), true),
            (refusal(Nonsense, 200, None), true),
            (refusal(BadRequest, 404, None), true),
            (refusal(BadRequest, 400, Some("model_not_found")), true),
            (refusal(BadRequest, 400, None), false),
            (refusal(BadRequest, 413, None), false),
            (refusal(Auth, 401, None), false),
            (refusal(ContextTooLong, 400, None), false),
            (wire(WireErrorKind::Connection), true),
            (wire(WireErrorKind::NoSuchHost), true),
            (wire(WireErrorKind::Tls), true),
            (wire(WireErrorKind::Request), false),
            (AttemptError::CutShort, true),
            (AttemptError::Empty, true),
            (TranslateError::NothingToAnswer.into(), false),
        ] {
            assert_eq!(cause.is_server_fault(), passes, "{cause:?}");
        }
    }

    #[test]
    fn a_name_that_is_not_there_is_asked_for_twice_at_most() {
        let patient = RetryPolicy::default();
        assert_eq!(wire(WireErrorKind::NoSuchHost).policy(patient).retries, 1);
        assert_eq!(wire(WireErrorKind::Connection).policy(patient).retries, patient.retries);
        let hasty = RetryPolicy { retries: 0, ..patient };
        assert_eq!(wire(WireErrorKind::NoSuchHost).policy(hasty).retries, 0);
    }
}
