//! Known properties of a model. `None` means "not known", which is neither yes nor no, and never zero.

use converse_canister::{Cost, Usage};
use serde::{Deserialize, Serialize};

/// Facts about a model, from the table, the provider's own list or the user's settings.
///
/// In JSON an unknown fact is `null`. What only settings and the table know ([`Facts::wanted_window`],
/// [`Facts::needs_responses`]) is not in it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Context window: tokens of input and output together.
    pub window: Option<u64>,
    /// Context window that the user set, in tokens, for a server that allocates what the request asks for. Never taken from
    /// a list, since a larger window costs memory and reloads the model.
    #[serde(skip)]
    pub wanted_window: Option<u64>,
    /// Longest reply, in tokens.
    pub max_output: Option<u64>,
    #[serde(flatten)]
    pub takes: AcceptedMedia,
    /// Whether it calls tools.
    pub tools: Option<bool>,
    /// Whether it accepts a temperature.
    pub sampling: Option<bool>,
    /// Whether the wire can enforce a JSON Schema for its answer.
    pub structured: Option<bool>,
    pub thinking: Option<Thinking>,
    /// OpenAI: only the Responses API serves it (with tools).
    #[serde(skip)]
    pub needs_responses: bool,
    pub price: Option<Price>,
}

impl Facts {
    /// Returns these facts, with unknown ones taken from `those`.
    #[must_use]
    pub fn or(self, those: &Self) -> Self {
        Self {
            window: self.window.or(those.window),
            wanted_window: self.wanted_window.or(those.wanted_window),
            max_output: self.max_output.or(those.max_output),
            takes: AcceptedMedia {
                images: self.takes.images.or(those.takes.images),
                documents: self.takes.documents.or(those.takes.documents),
                audio: self.takes.audio.or(those.takes.audio),
            },
            tools: self.tools.or(those.tools),
            sampling: self.sampling.or(those.sampling),
            structured: self.structured.or(those.structured),
            thinking: self.thinking.or(those.thinking),
            needs_responses: self.needs_responses || those.needs_responses,
            price: self.price.or(those.price),
        }
    }
}

/// Media that a model accepts as input.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcceptedMedia {
    pub images: Option<bool>,
    /// PDF files.
    pub documents: Option<bool>,
    pub audio: Option<bool>,
}

/// How a model's reasoning is controlled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Thinking {
    /// The model does not reason.
    None,
    /// By a budget of tokens (Anthropic `enabled`, Gemini `thinkingBudget`).
    Budget,
    /// By an effort level (Anthropic `adaptive` with `output_config.effort`, OpenAI `reasoning_effort`, Gemini
    /// `thinkingLevel`).
    Effort,
}

/// Prices in millionths of a US dollar per million tokens: one unit is 1e-12 dollars per token.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    pub input: u64,
    pub output: u64,
    /// `None` means the same as `input`.
    pub cache_read: Option<u64>,
    pub cache_write: Option<u64>,
    /// Higher prices of long prompts.
    pub above: Option<LongPromptPrice>,
}

/// The rates of a whole request whose input, cached parts included, is longer than `tokens`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LongPromptPrice {
    pub tokens: u64,
    pub input: u64,
    pub output: u64,
    pub cache_read: Option<u64>,
    pub cache_write: Option<u64>,
}

impl Price {
    /// Free: the price of a local server.
    pub const NOTHING: Self = Self { input: 0, output: 0, cache_read: None, cache_write: None, above: None };

    /// Returns half of each rate, rounded up.
    #[must_use]
    pub(crate) fn halved(self) -> Self {
        let half = |rate: u64| rate.div_ceil(2);
        let halves = |rate: Option<u64>| rate.map(half);
        Self {
            input: half(self.input),
            output: half(self.output),
            cache_read: halves(self.cache_read),
            cache_write: halves(self.cache_write),
            above: self.above.map(|above| LongPromptPrice {
                tokens: above.tokens,
                input: half(above.input),
                output: half(above.output),
                cache_read: halves(above.cache_read),
                cache_write: halves(above.cache_write),
            }),
        }
    }

    fn is_nothing(&self) -> bool {
        let free = |input, output, read: Option<u64>, written: Option<u64>| {
            [input, output, read.unwrap_or(0), written.unwrap_or(0)] == [0; 4]
        };
        free(self.input, self.output, self.cache_read, self.cache_write)
            && self.above.is_none_or(|long| free(long.input, long.output, long.cache_read, long.cache_write))
    }

    /// Returns the cost of a usage, rounded up to a millionth of a dollar; `None` if the usage lacks input or output. The
    /// usage must be of one request, since rates depend on its length. A free model costs 0 for any usage.
    pub fn cost(&self, usage: &Usage) -> Option<Cost> {
        if self.is_nothing() {
            return Some(Cost(0));
        }
        let (input, output) = (usage.input?, usage.output?);
        if let Some(long) = self.above.filter(|above| input > above.tokens) {
            let LongPromptPrice { input, output, cache_read, cache_write, .. } = long;
            return Self { input, output, cache_read, cache_write, above: None }.cost(usage);
        }
        let read = usage.cache_read.unwrap_or(0).min(input);
        let written = usage.cache_write.unwrap_or(0).min(input - read);
        let plain = input - read - written;
        let parts = [
            (plain, self.input),
            (read, self.cache_read.unwrap_or(self.input)),
            (written, self.cache_write.unwrap_or(self.input)),
            (output, self.output),
        ];
        let sum = parts.iter().map(|(tokens, price)| u128::from(*tokens) * u128::from(*price)).sum::<u128>();
        Some(Cost(u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_costs_what_its_parts_cost() {
        let above =
            LongPromptPrice { tokens: 100, input: 20, output: 60, cache_read: Some(2), cache_write: None };
        let price =
            Price { input: 10, output: 50, cache_read: Some(1), cache_write: Some(12), above: Some(above) };
        let price = |million: u64| Price {
            input: price.input * million,
            output: price.output * million,
            cache_read: price.cache_read.map(|rate| rate * million),
            cache_write: price.cache_write.map(|rate| rate * million),
            above: price.above.map(|above| LongPromptPrice {
                input: above.input * million,
                output: above.output * million,
                cache_read: above.cache_read.map(|rate| rate * million),
                ..above
            }),
        };
        let usage = |input, output, cache_read, cache_write| Usage {
            input: Some(input),
            output: Some(output),
            cache_read,
            cache_write,
            reasoning: None,
        };
        let price = price(1_000_000);
        for (usage, cost) in [
            (usage(0, 0, None, None), 0),
            (usage(10, 2, None, None), 10 * 10 + 2 * 50),
            (usage(10, 0, Some(4), Some(3)), 3 * 10 + 4 + 3 * 12),
            // More cached than there is: servers have been seen to count so.
            (usage(10, 0, Some(40), Some(3)), 10),
            (usage(100, 1, None, None), 1050),
            // A write of a long prompt costs as its input does.
            (usage(101, 1, Some(1), Some(10)), 90 * 20 + 2 + 10 * 20 + 60),
        ] {
            assert_eq!(price.cost(&usage), Some(Cost(cost)), "{usage:?}");
        }
        assert_eq!(price.halved().cost(&usage(10, 2, None, None)), Some(Cost(10 * 5 + 2 * 25)));
        assert_eq!(price.halved().cost(&usage(101, 0, Some(1), None)), Some(Cost(100 * 10 + 1)));
        let at = |provider, usage: &Usage| crate::row(provider).unwrap().batch_price(price).cost(usage);
        for (usage, half, with_cache) in [
            (usage(10, 2, Some(4), None), 6 * 5 + 2 + 2 * 25, 6 * 5 + 4 + 2 * 25),
            (usage(101, 0, Some(1), None), 100 * 10 + 1, 100 * 10 + 2),
        ] {
            assert_eq!(at("openai", &usage), Some(Cost(half)), "{usage:?}");
            assert_eq!(
                at("gemini", &usage),
                Some(Cost(with_cache)),
                "Gemini reads its cache at the full price"
            );
        }
        assert_eq!(price.cost(&Usage { input: Some(1), ..Usage::default() }), None, "no output is said");
        let tiny = Price { input: 1, output: 0, ..Price::default() };
        assert_eq!(tiny.cost(&usage(1, 0, None, None)), Some(Cost(1)), "rounded up");
        assert_eq!(Price::NOTHING.cost(&usage(9, 9, None, None)), Some(Cost(0)));
        assert_eq!(Price::NOTHING.cost(&Usage::default()), Some(Cost(0)), "what is free is never unknown");
        let long = LongPromptPrice { tokens: 5, output: 1, ..LongPromptPrice::default() };
        for nearly in [
            Price { output: 1, ..Price::NOTHING },
            Price { cache_write: Some(1), ..Price::NOTHING },
            Price { above: Some(long), ..Price::NOTHING },
        ] {
            assert_eq!(nearly.cost(&Usage::default()), None, "{nearly:?}");
        }
    }
}
