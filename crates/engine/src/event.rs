//! Everything that happens, said once, with types. Borrowed: a sink that keeps something clones what it keeps.
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
    /// The call failed in a way that may pass; it is made again after the delay.
    Restarted(Restart<'a>),
    /// Something that the user should know and that ends nothing.
    Warned(&'a str),
    /// What is good to know, and nothing to worry about.
    Noted(&'a str),
    /// A canister joins the transcript. When every sink has accepted it, it has.
    Appended(&'a Canister),
    /// Models are shown this from here on instead of the beginning of the conversation.
    Condensed {
        condensed: &'a Condensed,
        /// Tokens of a request before and after, by estimate.
        before: u64,
        after: u64,
    },
    /// Somebody is about to be asked.
    Deciding(&'a [Pending]),
    Decided {
        id: &'a InvocationId,
        decision: &'a Decision,
    },
    /// These are about to run, side by side, with the very arguments that stand here (defaults filled in, edits
    /// applied); durable before they do.
    Started(&'a [Invocation]),
    ToolProgress {
        id: &'a InvocationId,
        word: &'a ToolProgress,
    },
    Finished {
        invocation: &'a Invocation,
        result: &'a InvocationResult,
        elapsed: Duration,
    },
    /// A reply has come as far as it will.
    Used {
        usage: Usage,
        /// `None`: nobody knows.
        cost: Option<Cost>,
        /// As the provider names it.
        model: &'a str,
        /// Who served it.
        provider: &'a str,
        /// The reply broke off: it took at least so much.
        cut: bool,
        /// Another than was asked for gave it: `provider/model`.
        instead: Option<&'a str>,
    },
    /// A reply and all its results are durable.
    Committed {
        turn: TurnId,
    },
    /// What the checked answer of the turn stands for; just before the end.
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
    /// Text of this reply was shown already and must be taken back.
    pub discard: bool,
}
