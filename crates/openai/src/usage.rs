//! Tokens and cost of a turn: the sums over its replies.

use converse_canister::{Cost, Usage};
use serde::Serialize;

/// Sums over the replies of a turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    pub usage: Usage,
    /// `None` before the first reply, and if the price of a reply is unknown.
    cost: Option<Cost>,
    replies: u32,
}

impl Spent {
    pub fn add(&mut self, usage: Usage, cost: Option<Cost>) {
        self.usage += usage;
        self.cost = match self.replies {
            0 => cost,
            _ => self.cost.zip(cost).map(|(before, now)| before.plus(now)),
        };
        self.replies = self.replies.saturating_add(1);
    }

    /// Returns the cost in US dollars, if all prices are known.
    pub(super) fn dollars(&self) -> Option<f64> {
        self.cost.map(Cost::dollars)
    }

    /// Returns the usage of a chat completion; `None` if the provider reported no tokens.
    pub(super) fn chat(&self) -> Option<ChatUsage> {
        let Counts { input, output } = self.counts()?;
        Some(ChatUsage {
            prompt_tokens: input,
            completion_tokens: output,
            total_tokens: input.saturating_add(output),
            prompt_tokens_details: PromptDetails { cached_tokens: self.usage.cache_read.unwrap_or(0) },
            completion_tokens_details: CompletionDetails {
                reasoning_tokens: self.usage.reasoning.unwrap_or(0),
            },
            cost: self.dollars(),
        })
    }

    /// Returns the usage of a response; `None` if the provider reported no tokens.
    pub(super) fn responses(&self) -> Option<ResponsesUsage> {
        let Counts { input, output } = self.counts()?;
        Some(ResponsesUsage {
            input_tokens: input,
            input_tokens_details: InputDetails {
                cache_write_tokens: self.usage.cache_write.unwrap_or(0),
                cached_tokens: self.usage.cache_read.unwrap_or(0),
            },
            output_tokens: output,
            output_tokens_details: CompletionDetails { reasoning_tokens: self.usage.reasoning.unwrap_or(0) },
            total_tokens: input.saturating_add(output),
            cost: self.dollars(),
        })
    }

    fn counts(&self) -> Option<Counts> {
        let Usage { input, output, .. } = self.usage;
        let known = input.is_some() || output.is_some();
        known.then(|| Counts { input: input.unwrap_or(0), output: output.unwrap_or(0) })
    }
}

struct Counts {
    input: u64,
    output: u64,
}

/// `usage` of a chat completion, with `cost` in US dollars as an extension (the key that OpenRouter uses).
#[derive(Debug, Serialize)]
pub(super) struct ChatUsage {
    prompt_tokens: u64,
    completion_tokens: u64,
    total_tokens: u64,
    prompt_tokens_details: PromptDetails,
    completion_tokens_details: CompletionDetails,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<f64>,
}

/// `usage` of a response, with `cost` in US dollars as an extension.
#[derive(Debug, Serialize)]
pub(super) struct ResponsesUsage {
    input_tokens: u64,
    input_tokens_details: InputDetails,
    output_tokens: u64,
    output_tokens_details: CompletionDetails,
    total_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<f64>,
}

#[derive(Debug, Serialize)]
struct InputDetails {
    cache_write_tokens: u64,
    cached_tokens: u64,
}

#[derive(Debug, Serialize)]
struct PromptDetails {
    cached_tokens: u64,
}

#[derive(Debug, Serialize)]
struct CompletionDetails {
    reasoning_tokens: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_price_makes_the_sum_unknown() {
        let tokens = |input| Usage { input: Some(input), ..Usage::default() };
        let mut spent = Spent::default();
        assert!(spent.chat().is_none());
        spent.add(tokens(3), Some(Cost(5)));
        assert_eq!(spent.dollars(), Some(0.000005));
        spent.add(tokens(4), Some(Cost(6)));
        assert_eq!(spent.dollars(), Some(0.000011));
        spent.add(tokens(1), None);
        spent.add(tokens(1), Some(Cost(1)));
        assert_eq!(spent.dollars(), None);
        assert_eq!(spent.usage, tokens(9));
    }
}
