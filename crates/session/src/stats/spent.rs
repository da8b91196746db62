//! Usage of model replies.

use converse_canister::{Cost, Usage};

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
