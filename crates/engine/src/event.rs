//! Events: everything that happens in a turn, as borrowed values. A sink clones what it keeps.
//!
//! **Invariant:** not `Serialize`. The public JSONL records are types of their own with their own version.

use std::time::Duration;

use converse_canister::{
    Canister, Condensed, Cost, Decision, Declaration, Invocation, InvocationId, InvocationResult, TurnId,
    Usage,
};
use converse_ensemble::{Pending, ToolProgress};
use converse_provider::Delta;
use serde_json::Value;

use crate::Ending;

#[derive(Debug)]
pub enum Event<'a> {
    /// A model is about to be called.
    Requested {
        turn: TurnId,
        iteration: u32,
        model: &'a str,
        tools: &'a [Declaration],
    },
    /// A piece of a reply, for showing only.
    Delta(&'a Delta),
    /// Nothing has come for a second since the last piece of a reply.
    Stalled,
    /// The call failed in a way that may pass; it is made again after the delay.
    Restarted(Restart<'a>),
    /// A warning for the user. The turn continues.
    Warned(&'a str),
    /// A remark for the user.
    Noted(&'a str),
    /// A canister that joins the transcript once every sink has accepted this event.
    Appended(&'a Canister),
    /// A summary that models are shown from here on instead of the beginning of the conversation.
    Condensed {
        condensed: &'a Condensed,
        /// Tokens of a request before and after, by estimate.
        before: u64,
        after: u64,
    },
    /// An approval is about to be requested for these invocations.
    Deciding(&'a [Pending]),
    Decided {
        id: &'a InvocationId,
        decision: &'a Decision,
    },
    /// These invocations are about to run in parallel, with exactly these arguments (defaults filled in, edits
    /// applied). They are durable before they run if one of them has effects: one that only reads may be forgotten in a
    /// power cut, and runs again.
    Started {
        invocations: &'a [Invocation],
        /// Whether one of them does more than read, according to its declaration.
        has_effects: bool,
    },
    ToolProgress {
        id: &'a InvocationId,
        word: &'a ToolProgress,
    },
    Finished {
        invocation: &'a Invocation,
        result: &'a InvocationResult,
        elapsed: Duration,
    },
    /// Tokens and cost of a reply that is complete or broke off.
    Used {
        usage: Usage,
        /// `None` if it is unknown.
        cost: Option<Cost>,
        /// The provider's name of the model.
        model: &'a str,
        /// The provider that served the reply.
        provider: &'a str,
        /// Whether the reply broke off. It took at least this much then.
        cut: bool,
        /// `provider/model`, if it is not the requested model.
        instead: Option<&'a str>,
    },
    /// A reply and all its results are complete.
    Committed {
        turn: TurnId,
        /// Whether they are on disk: at the end of the turn.
        durable: bool,
    },
    /// The value of the checked answer, just before the end of the turn.
    Answered(&'a Value),
    Done(&'a Ending),
}

/// What a renderer needs to know about a retry.
#[derive(Debug, Clone, Copy)]
pub struct Restart<'a> {
    pub reason: &'a str,
    /// 1 for the first retry.
    pub attempt: u32,
    pub delay: Duration,
    /// Whether text of this reply was shown and must be retracted.
    pub discard: bool,
}
