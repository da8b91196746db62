//! Outcomes of tool calls.

use std::collections::BTreeMap;

use converse_canister::{Cost, InvocationResult, Outcome};

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
