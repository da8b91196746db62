//! Usage, cost and stop reason of a reply.

use serde::{Deserialize, Serialize};

/// Tokens of one model call, as the provider counted them. `None` means "not reported", which is not zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// All input tokens, cached ones included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// All output tokens, reasoning included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// Of `input`: read from a prompt cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<u64>,
    /// Of `input`: written to a prompt cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<u64>,
    /// Of `output`: spent on reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        let add = |mine: &mut Option<u64>, theirs: Option<u64>| {
            if let Some(theirs) = theirs {
                *mine = Some(mine.unwrap_or(0).saturating_add(theirs));
            }
        };
        add(&mut self.input, other.input);
        add(&mut self.output, other.output);
        add(&mut self.cache_read, other.cache_read);
        add(&mut self.cache_write, other.cache_write);
        add(&mut self.reasoning, other.reasoning);
    }
}

/// Money, in millionths of a US dollar: integers add up exactly.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cost(pub u64);

impl Cost {
    /// Converts dollars to the nearest millionth; 0 for NaN and negative numbers.
    pub fn of_dollars(dollars: f64) -> Self {
        // The cast holds at the largest and at 0, also for NaN.
        Self((dollars * 1e6).round() as u64)
    }

    /// Returns the amount in US dollars.
    pub fn dollars(self) -> f64 {
        self.0 as f64 / 1e6
    }

    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

/// Why a reply ended. Whether it asks for invocations is read from its content, never from this
/// (finish reasons lie: `wire` trap table, "stop" although calls were streamed).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The model was done, or waits for results.
    End,
    /// A stop sequence was met.
    Sequence,
    /// The output limit or the context window cut it: no invocation of it may run.
    Truncated,
    /// The provider paused a long turn (`pause_turn`): send it back as it is and go on.
    Paused,
    /// The model or a filter declined; the turn is left out of later prompts.
    Refused { reason: Option<String> },
    /// The stream ended early and the text that had come was kept: not a complete turn.
    Cut,
    /// A reason this version does not know; treated as [`Stop::End`].
    Other(String),
}
