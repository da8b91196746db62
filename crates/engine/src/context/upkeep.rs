//! What has been found out and decided about the window in this run of a session.

use std::collections::HashSet;

use converse_canister::{Digest, TurnId};

use super::ledger::Scale;
use super::trimming::Trims;

/// Goes with a conversation from turn to turn of one run: what was shortened stays so, and what the provider has told of
/// its counting stays known. A resumed session begins with an empty one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Upkeep {
    pub(crate) trims: Trims,
    pub(crate) scale: Scale,
    /// A request of this route and this size, by estimate, was too long.
    pub(crate) refused: Option<(String, u64)>,
    /// What was answered before this is not as it was when it was answered.
    pub(crate) stale: Option<TurnId>,
    /// The user knows that tools are offered by a search.
    pub(crate) told_of_search: bool,
    /// The user knows that this route is not shown these as they are: its name, the bytes and their name.
    pub(crate) told_of: HashSet<(String, Digest, Option<String>)>,
}

impl Upkeep {
    pub(crate) fn refused(&self, route: &str) -> Option<u64> {
        self.refused.as_ref().filter(|(whose, _)| whose == route).map(|(_, tokens)| *tokens)
    }
}
