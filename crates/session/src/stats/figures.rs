//! The collected statistics.

use std::collections::BTreeMap;

use converse_canister::Cost;
use jiff::civil::Date;

use crate::stats::{Calls, Sketch, Spent};

/// Limit on the names of models, tools and pairs; further names are counted as [`OTHERS`].
pub(crate) const MOST_NAMES: usize = 1000;
/// Limit on days, about eleven years; further days are only in the totals.
pub(crate) const MOST_DAYS: usize = 4000;
/// Limit on the named damaged sessions.
const MOST_NAMED: usize = 100;
/// Limit on the characters of a name, because models invent tools.
const NAME: usize = 200;
pub(crate) const OTHERS: &str = "(others)";

#[derive(Debug, Clone, Default)]
pub struct Figures {
    /// Sessions with counted lines.
    pub sessions: u64,
    /// Damaged sessions, counted as far as they could be read.
    pub unreadable: u64,
    /// The first hundred of the damaged sessions.
    pub named: Vec<Unreadable>,
    /// Messages of the user.
    pub turns: u64,
    pub spent: Spent,
    pub calls: Calls,
    /// Milliseconds to each reply.
    pub time: Sketch,
    pub days: BTreeMap<Date, Day>,
    /// By `provider/model`, or by the model alone if the journal does not name the provider.
    pub models: BTreeMap<String, Model>,
    /// By `ensemble.invoker`; a tool that a model invented by the name it wrote.
    pub tools: BTreeMap<String, Tool>,
    /// By model and tool.
    pub pairs: BTreeMap<(String, String), Pair>,
}

/// A session that could not be read, or only in part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    pub session: String,
    pub problem: String,
}

#[derive(Debug, Clone, Default)]
pub struct Day {
    /// Sessions with counted lines on this day.
    pub sessions: u64,
    pub turns: u64,
    pub spent: Spent,
    pub calls: Calls,
    /// Milliseconds to each reply.
    pub time: Sketch,
    pub models: BTreeMap<String, Share>,
}

/// The share of one model in a day.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Share {
    pub tokens: u64,
    pub cost: Cost,
}

#[derive(Debug, Clone, Default)]
pub struct Model {
    /// Messages of the user that it answered first.
    pub turns: u64,
    pub spent: Spent,
    /// Milliseconds to each reply.
    pub time: Sketch,
    /// Attempts that broke off, and summaries that failed.
    pub broken: u64,
    /// Replies that were cut at a length limit.
    pub truncated: u64,
    /// Replies that the model or its provider refused.
    pub refused: u64,
    /// Calls that its replies requested.
    pub calls: Calls,
}

#[derive(Debug, Clone, Default)]
pub struct Tool {
    pub calls: Calls,
    /// Milliseconds of each run.
    pub time: Sketch,
}

/// How well a model uses the schema of a tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pair {
    pub calls: u64,
    pub invalid: u64,
}

impl Figures {
    pub(crate) fn unreadable(&mut self, session: String, problem: String) {
        self.unreadable += 1;
        if self.named.len() < MOST_NAMED {
            self.named.push(Unreadable { session, problem });
        }
    }

    /// Returns whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.sessions == 0
    }
}

/// Shortens a name to its limit.
pub(crate) fn name(text: &str) -> String {
    converse_text::shorten::chars(text, NAME).into_owned()
}

/// Returns the value of a key, or of `others` if the map is full.
pub(crate) fn place<K: Ord, V: Default>(map: &mut BTreeMap<K, V>, key: K, others: K) -> &mut V {
    let full = map.len() >= MOST_NAMES && !map.contains_key(&key);
    map.entry(if full { others } else { key }).or_default()
}
