//! Fits a conversation and its tools into a model's context window.
//!
//! The journal keeps everything; what a model is shown is a projection of it ([`view()`]). Near the window, and only
//! there, results that later ones have superseded go first, then the bulk of old ones, then the older part of the
//! conversation is summarised by the model itself. Questions of the user stay unchanged as long as other content can be shortened,
//! and so does the system text always.
//! All of this is pure; the driver's `condensing.rs` carries out the decisions.

use std::collections::HashSet;

use converse_canister::{Digest, TurnId};

mod ledger;
mod offered;
mod room;
mod shortened_input;
mod summary_request;
mod trimming;
mod view;
mod weight;

pub use ledger::{Ledger, Part, Row};
pub use offered::{offered, tokens_of};

pub(crate) use ledger::{Sums, declared_tokens, note_tokens, weight, window};
pub use room::CompactionPolicy;
pub(crate) use room::{Room, cut, share};
pub(crate) use shortened_input::last_question;
pub(crate) use summary_request::{bounded, summary_request};
pub(crate) use trimming::Trims;
pub(crate) use view::{shortened, view};
pub(crate) use weight::BYTES;

use ledger::Scale;

/// What converse has learnt and decided about the context window during one run of a session.
///
/// Passes from turn to turn: a shortened canister stays shortened, and the provider's token counts stay known. A resumed
/// session starts with an empty state.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ContextState {
    pub(crate) trims: Trims,
    pub(crate) scale: Scale,
    /// The route, and the estimated tokens of a request that the route refused as too long.
    pub(crate) refused: Option<(String, u64)>,
    /// Replies before this turn were given to a view that has changed since.
    pub(crate) stale: Option<TurnId>,
    /// Whether the user was notified that tools are offered through a search.
    pub(crate) search_reported: bool,
    /// Contents already reported as degraded: route, digest and name.
    pub(crate) degraded_reported: HashSet<(String, Digest, Option<String>)>,
}

impl ContextState {
    pub(crate) fn refused(&self, route: &str) -> Option<u64> {
        self.refused.as_ref().filter(|(whose, _)| whose == route).map(|(_, tokens)| *tokens)
    }
}

#[cfg(test)]
mod testing {
    //! Canisters for tests of what fits.

    use converse_canister::{
        Arguments, Assistant, Canister, Content, Document, Invocation, InvocationId, InvocationResult,
        Outcome, Stop, TurnId, User,
    };

    pub(super) fn user(text: &str) -> Canister {
        Canister::User(User::text(text))
    }

    pub(super) fn document(name: &str, text: &str) -> Canister {
        let (name, mime) = (name.to_owned(), "text/plain".to_owned());
        Canister::Document(Document { name, mime, content: vec![Content::text(text)], labels: None })
    }

    pub(super) fn reply(turn: u64, text: &str) -> Canister {
        Canister::Assistant(Assistant {
            turn: TurnId(turn),
            content: vec![Content::text(text)],
            native: None,
            stop: Stop::End,
            response_id: Some(format!("resp_{turn}")),
        })
    }

    pub(super) fn call(turn: u64, index: usize, tool: &str, arguments: &str) -> Canister {
        let turn = TurnId(turn);
        let (id, tool) = (InvocationId::of(turn, index), tool.to_owned());
        let arguments = Arguments::parse(arguments);
        Canister::Invocation(Invocation { turn, id, wire_id: None, tool, arguments, seal: None })
    }

    pub(super) fn result(turn: u64, index: usize, text: &str) -> Canister {
        answered(turn, index, Outcome::Success, text)
    }

    pub(super) fn answered(turn: u64, index: usize, outcome: Outcome, text: &str) -> Canister {
        Canister::Result(InvocationResult::new(InvocationId::of(TurnId(turn), index), outcome, text))
    }
}
