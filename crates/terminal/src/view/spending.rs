//! What a turn takes: tokens, money and time, in one line at its end.

use std::time::{Duration, Instant};

use converse_canister::{Cost, Usage};
use converse_screen::{Line, Tone};

use super::frame::Frame;
use super::words::{money, took};
use converse_text::wording::grouped;

#[derive(Debug, Default)]
pub(super) struct Spending {
    began: Option<Instant>,
    usage: Usage,
    cost: Cost,
    /// A reply broke off, so the sums are lower bounds.
    at_least: bool,
    unknown_cost: bool,
    model: String,
}

impl Spending {
    pub(super) fn begin(now: Instant) -> Self {
        Self { began: Some(now), ..Self::default() }
    }

    pub(super) fn add(&mut self, usage: Usage, cost: Option<Cost>, model: &str, cut: bool) {
        self.usage += usage;
        self.cost = self.cost.plus(cost.unwrap_or_default());
        self.unknown_cost |= cost.is_none();
        self.at_least |= cut;
        model.clone_into(&mut self.model);
    }

    /// Adds the cost of a tool.
    pub(super) fn add_cost(&mut self, cost: Cost) {
        self.cost = self.cost.plus(cost);
    }

    /// `model · 1,234 in (1,000 cached) · 56 out · $0.0012 · 4.2 s`; nothing if no model has answered.
    pub(super) fn line(&self, frame: &Frame<'_>) -> Option<Line> {
        if self.model.is_empty() {
            return None;
        }
        let mut parts = vec![frame.brief(&self.model, 60)];
        let least = if !self.at_least {
            ""
        } else if frame.look.unicode {
            "≥ "
        } else {
            ">= "
        };
        if let Some(input) = self.usage.input {
            let cached = self.usage.cache_read.filter(|cached| *cached > 0);
            let cached = cached.map(|cached| format!(" ({} cached)", grouped(cached))).unwrap_or_default();
            parts.push(format!("{least}{} in{cached}", grouped(input)));
        }
        if let Some(output) = self.usage.output {
            parts.push(format!("{least}{} out", grouped(output)));
        }
        if self.cost > Cost(0) {
            let least = if self.unknown_cost && frame.look.unicode { "≥ " } else { least };
            parts.push(format!("{least}{}", money(self.cost)));
        }
        let time = self.began.map_or(Duration::ZERO, |began| frame.since(began));
        parts.push(took(time));
        Some(Line::toned(Tone::Dim, &parts.join(&format!(" {} ", frame.signs().dot))))
    }
}
