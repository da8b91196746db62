//! What came of an invocation, as a tool tells its pipeline.

use converse_canister::Content;
use converse_ensemble::{Answer, InvokeError};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Given {
    Answer {
        content: Vec<Content>,
        /// It ran, and says that it failed.
        #[serde(default, skip_serializing_if = "is_false")]
        is_error: bool,
        /// Nothing had run for it.
        #[serde(default, skip_serializing_if = "is_false")]
        kept: bool,
    },
    Error {
        kind: Kind,
        message: String,
        /// Something had been sent.
        #[serde(default, skip_serializing_if = "is_false")]
        sent: bool,
        #[serde(default, skip_serializing_if = "is_false")]
        kept: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    Invalid,
    Unreachable,
    NoDescriptors,
    Failed,
    Interrupted,
    Unsandboxed,
    HeldBack,
    Timeout,
}

fn is_false(value: &bool) -> bool {
    !value
}

impl Given {
    pub(crate) fn of(outcome: &Result<Answer, InvokeError>) -> Self {
        match outcome {
            Ok(Answer { content, is_error, kept, .. }) => {
                Self::Answer { content: content.clone(), is_error: *is_error, kept: *kept }
            }
            Err(error) => Self::error(error),
        }
    }

    fn error(error: &InvokeError) -> Self {
        let (kind, sent) = match error {
            InvokeError::Invalid(_) => (Kind::Invalid, false),
            InvokeError::Unreachable { sent, .. } => (Kind::Unreachable, *sent),
            InvokeError::NoDescriptors(_) => (Kind::NoDescriptors, false),
            InvokeError::Failed(_) => (Kind::Failed, false),
            InvokeError::Interrupted(_) => (Kind::Interrupted, false),
            InvokeError::Unsandboxed(_) => (Kind::Unsandboxed, false),
            InvokeError::HeldBack(_) => (Kind::HeldBack, false),
            InvokeError::Timeout(_) => (Kind::Timeout, false),
            InvokeError::Kept(inner) => {
                return match Self::error(inner) {
                    Self::Error { kind, message, sent, .. } => {
                        Self::Error { kind, message, sent, kept: true }
                    }
                    answer @ Self::Answer { .. } => answer,
                };
            }
        };
        Self::Error { kind, message: error.to_string(), sent, kept: false }
    }

    pub(crate) fn outcome(self) -> Result<Answer, InvokeError> {
        match self {
            Self::Answer { content, is_error, kept } => Ok(Answer { kept, ..Answer::new(content, is_error) }),
            Self::Error { kind, message, sent, kept } => {
                let error = match kind {
                    Kind::Invalid => InvokeError::Invalid(message),
                    Kind::Unreachable => InvokeError::Unreachable { message, sent },
                    Kind::NoDescriptors => InvokeError::NoDescriptors(message),
                    Kind::Failed => InvokeError::Failed(message),
                    Kind::Interrupted => InvokeError::Interrupted(message),
                    Kind::Unsandboxed => InvokeError::Unsandboxed(message),
                    Kind::HeldBack => InvokeError::HeldBack(message),
                    Kind::Timeout => InvokeError::Timeout(message),
                };
                Err(if kept { InvokeError::Kept(Box::new(error)) } else { error })
            }
        }
    }
}
