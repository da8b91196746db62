//! What a run has done, counted.

use std::collections::BTreeMap;
use std::time::Duration;

use converse_canister::Cost;
use converse_text::wording::{counted, grouped};

/// Counts of a run.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Conversations in the input.
    pub(crate) all: usize,
    /// Those with a result of an earlier run, and those of them that had failed.
    pub(crate) before: usize,
    pub(crate) failed_before: usize,
    pub(crate) answered: usize,
    /// Failures by code.
    failed: BTreeMap<String, usize>,
    pub(crate) spent: Cost,
    /// The cost of a reply is unknown.
    pub(crate) more: bool,
    pub(crate) elapsed: Duration,
}

impl Tally {
    pub(crate) fn new(all: usize, before: usize, failed_before: usize) -> Self {
        Self { all, before, failed_before, ..Self::default() }
    }

    pub(crate) fn fail(&mut self, code: &str) {
        *self.failed.entry(code.to_owned()).or_default() += 1;
    }

    /// Failures of this run.
    pub(crate) fn failed(&self) -> usize {
        self.failed.values().sum()
    }

    /// Conversations with a result.
    pub(crate) fn done(&self) -> usize {
        self.before + self.answered + self.failed()
    }

    pub(crate) fn left(&self) -> usize {
        self.all.saturating_sub(self.done())
    }

    fn cost(&self) -> String {
        let about = if self.more { "at least " } else { "" };
        format!("{about}{} USD", self.spent.dollars())
    }

    /// What stands beside the bar.
    pub(crate) fn progress(&self) -> String {
        let mut parts = Vec::new();
        if self.failed() > 0 {
            parts.push(format!("{} failed", grouped(self.failed() as u64)));
        }
        if self.spent > Cost(0) {
            parts.push(self.cost());
        }
        parts.extend(self.remaining().map(|left| format!("about {} left", span(left))));
        parts.join(", ")
    }

    /// The time that the rest will take, if it goes on as before.
    fn remaining(&self) -> Option<Duration> {
        let ended = u32::try_from(self.answered + self.failed()).ok().filter(|ended| *ended > 0)?;
        let left = u32::try_from(self.left()).ok().filter(|left| *left > 0)?;
        self.elapsed.checked_mul(left).map(|time| time / ended)
    }

    /// The last words, with a line for each kind of failure, the most frequent first.
    pub(crate) fn summary(&self) -> String {
        let mut text =
            format!("{}: {} answered", counted(self.all, "conversation"), grouped(self.answered as u64));
        let mut part = |count: usize, what: &str| {
            if count > 0 {
                text.push_str(&format!(", {} {what}", grouped(count as u64)));
            }
        };
        part(self.failed(), "failed");
        part(self.before, "already in the file");
        part(self.left(), "not run");
        text.push_str(&format!("; {}, {}", self.cost(), span(self.elapsed)));
        let mut kinds: Vec<_> = self.failed.iter().collect();
        kinds.sort_by_key(|(code, count)| (std::cmp::Reverse(**count), *code));
        for (code, count) in kinds {
            text.push_str(&format!("\n  {} {code}", grouped(*count as u64)));
        }
        text
    }
}

fn span(time: Duration) -> String {
    match time.as_secs() {
        s if s >= 7200 => format!("{} h {} min", s / 3600, s % 3600 / 60),
        s if s >= 120 => format!("{} min", s / 60),
        s => format!("{s} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_said_once_and_in_order() {
        let mut tally = Tally { all: 1200, before: 3, answered: 1000, ..Tally::default() };
        (tally.spent, tally.elapsed) = (Cost(1_250_000), Duration::from_secs(130));
        ["rate-limit", "unfit-answer", "rate-limit"].into_iter().for_each(|code| tally.fail(code));
        let text = "1,200 conversations: 1,000 answered, 3 failed, 3 already in the file, 194 not run; 1.25 USD, 2 min\n  \
                    2 rate-limit\n  1 unfit-answer";
        assert_eq!(tally.summary(), text);
        assert_eq!(tally.progress(), "3 failed, 1.25 USD, about 25 s left");
        let whole = Tally { all: 1, answered: 1, more: true, ..Tally::default() };
        assert_eq!(whole.summary(), "1 conversation: 1 answered; at least 0 USD, 0 s");
        assert_eq!(whole.progress(), "");
    }
}
