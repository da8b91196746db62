//! What it all comes to.

use std::collections::BTreeMap;

use converse_canister::Cost;
use jiff::civil::Date;

use crate::stats::{Calls, Sketch, Spent};

/// Names of models, of tools and of pairs of both that are told apart; what comes after goes under [`OTHERS`].
pub(crate) const MOST_NAMES: usize = 1000;
/// Days that are told apart, some eleven years; what comes after is in the totals only.
pub(crate) const MOST_DAYS: usize = 4000;
/// Damaged sessions that are named; the rest is counted.
const MOST_NAMED: usize = 100;
/// Characters of a name: models invent tools.
const NAME: usize = 200;
pub(crate) const OTHERS: &str = "(others)";

#[derive(Debug, Clone, Default)]
pub struct Figures {
    /// In which something was counted.
    pub sessions: u64,
    /// Damaged ones: counted as far as they could be read.
    pub unreadable: u64,
    /// The first hundred of those.
    pub named: Vec<Unreadable>,
    /// How often the user spoke.
    pub turns: u64,
    pub spent: Spent,
    pub calls: Calls,
    pub days: BTreeMap<Date, Day>,
    /// By `provider/model`; by the model's name alone where the journal does not say who served it.
    pub models: BTreeMap<String, Model>,
    /// By `ensemble.invoker`; a tool that a model invented by what it wrote.
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
    /// That something was counted of on this day.
    pub sessions: u64,
    pub turns: u64,
    pub spent: Spent,
    pub calls: Calls,
    pub models: BTreeMap<String, Share>,
}

/// Of a day, what one model took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Share {
    pub tokens: u64,
    pub cost: Cost,
}

#[derive(Debug, Clone, Default)]
pub struct Model {
    pub spent: Spent,
    /// Milliseconds to each reply.
    pub time: Sketch,
    /// Attempts that broke off, and summaries that came to nothing.
    pub broken: u64,
    /// Replies that were cut at a limit of their length.
    pub truncated: u64,
    /// The model or its provider declined.
    pub refused: u64,
    /// What its replies asked for.
    pub calls: Calls,
}

#[derive(Debug, Clone, Default)]
pub struct Tool {
    pub calls: Calls,
    /// Milliseconds of each run.
    pub time: Sketch,
}

/// How well a model gets on with the schema of a tool.
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

    /// Nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.sessions == 0
    }
}

/// As long as a name may be.
pub(crate) fn name(text: &str) -> String {
    converse_text::shorten::chars(text, NAME).into_owned()
}

/// The place of a key. `others` takes what there is no place for.
pub(crate) fn place<K: Ord, V: Default>(map: &mut BTreeMap<K, V>, key: K, others: K) -> &mut V {
    let full = map.len() >= MOST_NAMES && !map.contains_key(&key);
    map.entry(if full { others } else { key }).or_default()
}
