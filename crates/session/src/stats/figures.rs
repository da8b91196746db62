//! The collected statistics.

use std::collections::BTreeMap;

use converse_canister::{Cost, InvocationResult, Outcome, Usage};
use jiff::civil::Date;

use crate::stats::Sketch;

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

/// Sums over answered calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Calls {
    pub calls: u64,
    /// Number of calls by [`Outcome::label`].
    pub outcomes: BTreeMap<&'static str, u64>,
    /// Sum of the known costs.
    pub cost: Cost,
}

impl Calls {
    pub(crate) fn add(&mut self, result: &InvocationResult) {
        self.calls += 1;
        *self.outcomes.entry(result.outcome.label()).or_default() += 1;
        self.cost = self.cost.plus(result.cost.unwrap_or_default());
    }

    pub fn of(&self, outcome: Outcome) -> u64 {
        self.outcomes.get(outcome.label()).copied().unwrap_or(0)
    }

    /// Returns the calls that did not run because their arguments did not match the schema.
    pub fn invalid(&self) -> u64 {
        self.of(Outcome::Invalid)
    }

    /// Returns the calls that did not run because a rule or a person denied them.
    pub fn refused(&self) -> u64 {
        self.of(Outcome::Refused)
    }

    /// Returns the calls that ran or should have run, and failed.
    pub fn failed(&self) -> u64 {
        [Outcome::Failed, Outcome::Timeout, Outcome::Unreachable, Outcome::Interrupted]
            .map(|outcome| self.of(outcome))
            .iter()
            .sum()
    }
}

/// Sums over replies. Unknown counts add nothing; the number of replies without counts is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    pub replies: u64,
    /// All input tokens, including those of a prompt cache.
    pub input: u64,
    /// All output tokens, including reasoning.
    pub output: u64,
    /// Part of `input` that was read from a prompt cache.
    pub cache_read: u64,
    /// Part of `input` that was written to a prompt cache.
    pub cache_write: u64,
    /// Part of `output`.
    pub reasoning: u64,
    /// Replies with neither input nor output tokens known.
    pub uncounted: u64,
    /// Cost of the replies with a known price.
    pub cost: Cost,
    /// Replies without a known price; `cost` is then a lower bound.
    pub unpriced: u64,
}

impl Spent {
    pub(crate) fn add(&mut self, usage: &Usage, cost: Option<Cost>) {
        let sum = |to: &mut u64, count: Option<u64>| *to = to.saturating_add(count.unwrap_or(0));
        sum(&mut self.replies, Some(1));
        sum(&mut self.input, usage.input);
        sum(&mut self.output, usage.output);
        sum(&mut self.cache_read, usage.cache_read);
        sum(&mut self.cache_write, usage.cache_write);
        sum(&mut self.reasoning, usage.reasoning);
        sum(&mut self.uncounted, Some(u64::from(usage.input.is_none() && usage.output.is_none())));
        sum(&mut self.unpriced, Some(u64::from(cost.is_none())));
        self.cost = self.cost.plus(cost.unwrap_or_default());
    }

    /// Returns input and output tokens together.
    pub fn tokens(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}
