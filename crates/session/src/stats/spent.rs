//! What replies of models took.

use converse_canister::{Cost, Usage};

/// Sums over replies. A count that a provider did not tell adds nothing; how many told none is kept beside it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    pub replies: u64,
    /// All input tokens, those of a prompt cache included.
    pub input: u64,
    /// All output tokens, reasoning included.
    pub output: u64,
    /// Of `input`: read from a prompt cache.
    pub cache_read: u64,
    /// Of `input`: written to one.
    pub cache_write: u64,
    /// Of `output`.
    pub reasoning: u64,
    /// Replies of which neither the input nor the output is known.
    pub uncounted: u64,
    /// Of the replies whose price is known.
    pub cost: Cost,
    /// Replies whose price is not known: `cost` is then the least it was.
    pub unpriced: u64,
}

impl Spent {
    pub(crate) fn add(&mut self, usage: &Usage, cost: Option<Cost>) {
        let sum = |to: &mut u64, told: Option<u64>| *to = to.saturating_add(told.unwrap_or(0));
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

    /// Input and output.
    pub fn tokens(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}
