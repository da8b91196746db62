//! What came of an invocation, as a tool tells its pipeline.

use converse_canister::Content;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Given {
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
        kind: ErrorKind,
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
pub enum ErrorKind {
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
