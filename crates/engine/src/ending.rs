//! How a turn ends.

use converse_canister::InvocationId;

use crate::Limit;

#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// With an answer; `unapproved` invocations had needed an approval that nobody could give, `unsandboxed` ones a
    /// sandbox that is not to be had here.
    Finished {
        unapproved: usize,
        unsandboxed: usize,
    },
    /// The model's output limit or window cut the answer.
    Truncated,
    /// The model or its provider's filter declined.
    RefusedByModel {
        reason: Option<String>,
    },
    /// In a way that is not known, without an answer; the provider's own word for it.
    Odd {
        word: String,
    },
    /// The answer was never what it had to be; why the last one was not.
    Unfit {
        errors: String,
    },
    Limit(Limit),
    /// An invocation failed whose descriptor says `on_failure = "stop"`.
    Stopped {
        id: InvocationId,
        /// `ensemble.invoker`.
        tool: String,
    },
    Cancelled,
}
