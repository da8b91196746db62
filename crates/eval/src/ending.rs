//! How runs end: what becomes of each, and what the whole amounts to.

use std::time::Duration;

use converse_batch::{Fate, Ingress, Schedule};
use converse_canister::Cost;
use converse_host::failure::{Failure, Kind};
use converse_text::wording::counted;

use crate::baseline::Comparison;
use crate::conversation::Ran;
use crate::tally::{RowStatus, Tally};

/// What came of all runs.
pub(crate) struct Ended<'a> {
    pub(crate) tally: Tally<'a>,
    /// Why the run ended early.
    pub(crate) stopped: Option<Failure>,
    pub(crate) spent: Cost,
    pub(crate) is_cost_unknown: bool,
    /// Runs without a verdict, because the run ended early.
    pub(crate) left: usize,
    pub(crate) elapsed: Duration,
}

/// What becomes of a run that has ended.
pub(crate) fn fate(ran: &Ran, schedule: &Schedule) -> Fate {
    let Some(failure) = &ran.failure else { return Fate::Done };
    let is_busy = ran.is_held_up || matches!(failure.code, "rate-limit" | "overloaded");
    match failure.kind {
        Kind::Signal(_) => Fate::Left,
        _ if ran.is_stopped || ran.is_over_budget || is_common(failure) => Fate::Left,
        _ if is_busy && ran.may_repeat && schedule.may_repeat(ran.number) => Fate::Again,
        _ => Fate::Done,
    }
}

/// Whether all other runs would fail in the same way.
fn is_common(failure: &Failure) -> bool {
    matches!(failure.code, "auth" | "no-key" | "quota" | "audit-failed") || Ingress::is_common(failure.code)
}

/// Why no more runs start after this one.
pub(crate) fn stops_all(ran: Ran) -> Option<Failure> {
    let is_over_budget = ran.is_over_budget;
    let failure = ran.failure.filter(|_| !ran.is_stopped)?;
    if is_over_budget {
        let message = format!("the budget allows no more: {}", failure.message);
        return Some(Failure::new(Kind::Limit, "budget", message));
    }
    is_common(&failure).then_some(failure)
}

impl Ended<'_> {
    /// Keeps why no more runs start.
    pub(crate) fn stop(&mut self, failure: Failure) {
        converse_batch::stop(&mut self.stopped, failure);
    }

    pub(crate) fn spend(&mut self, ran: &Ran) {
        self.spent = self.spent.plus(ran.cost);
        self.is_cost_unknown |= ran.is_cost_unknown;
    }

    fn counts(&self) -> [usize; 3] {
        let runs = || self.tally.rows.iter().flat_map(|row| &row.runs);
        let count = |word: &str| runs().filter(|run| run.status.as_str() == word).count();
        ["passed", "failed", "error"].map(count)
    }

    fn cost(&self) -> String {
        let about = if self.is_cost_unknown { "at least " } else { "" };
        format!("{about}{} USD", self.spent.dollars())
    }

    pub(crate) fn progress(&self) -> String {
        let [_, failed, errors] = self.counts();
        let mut parts = Vec::new();
        if failed + errors > 0 {
            parts.push(format!("{} failed", failed + errors));
        }
        if self.spent > Cost(0) {
            parts.push(self.cost());
        }
        parts.join(", ")
    }

    pub(crate) fn summary(&self) -> String {
        let [passed, failed, errors] = self.counts();
        let mut text = format!("{}: {passed} passed", counted(passed + failed + errors + self.left, "run"));
        for (count, what) in [(failed, "failed"), (errors, "not judged"), (self.left, "not run")] {
            if count > 0 {
                text.push_str(&format!(", {count} {what}"));
            }
        }
        format!("{text}; {}, {:.1} s", self.cost(), self.elapsed.as_secs_f64())
    }

    /// Returns why the run is not a success. With a baseline, a case fails if it is worse than there, or new and failed.
    pub(crate) fn conclusion(&self, comparison: Option<&Comparison>) -> Result<(), Failure> {
        if let Some(failure) = &self.stopped {
            return Err(failure.clone());
        }
        if self.left > 0 {
            let message = format!("the budget is used up; {} were not run", counted(self.left, "run"));
            return Err(Failure::new(Kind::Limit, "budget", message));
        }
        let rows = self.tally.rows.len();
        let errors = self.tally.count(RowStatus::Error);
        if let Some(comparison) = comparison {
            let is_failed = |row: &&usize| {
                self.tally.rows.get(**row).is_some_and(|row| row.status() == RowStatus::Failed)
            };
            let (worse, new) = (comparison.worse.len(), comparison.new.iter().filter(is_failed).count());
            if worse + new > 0 {
                let message = format!(
                    "{worse} of {} worse than the baseline, {new} new and failed",
                    counted(rows, "case")
                );
                return Err(Failure::new(Kind::Configuration, "eval-regressed", message)
                    .hint("if this is intended, write the baseline again: `--save-baseline FILE`"));
            }
        } else {
            let failed = self.tally.count(RowStatus::Failed);
            if failed > 0 {
                let message = format!("{failed} of {} failed", counted(rows, "case"));
                return Err(Failure::new(Kind::Configuration, "eval-failed", message));
            }
        }
        if errors > 0 {
            let message = format!("{errors} of {} could not be judged", counted(rows, "case"));
            return Err(Failure::new(Kind::Ensemble, "eval-incomplete", message));
        }
        Ok(())
    }
}
