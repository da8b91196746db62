//! What became of calls of tools.

use std::collections::BTreeMap;

use converse_canister::{Cost, InvocationResult, Outcome};

/// Sums over calls that were answered, by whomever.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Calls {
    pub calls: u64,
    /// How many ended how, by [`Outcome::label`].
    pub outcomes: BTreeMap<&'static str, u64>,
    /// Of those that said what they cost.
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

    /// Nothing ran: the arguments were not what the schema asks for.
    pub fn invalid(&self) -> u64 {
        self.of(Outcome::Invalid)
    }

    /// Nothing ran: a rule or a person said no.
    pub fn refused(&self) -> u64 {
        self.of(Outcome::Refused)
    }

    /// It ran, or was to run, and came to nothing: not the model's fault, and nobody's wish.
    pub fn failed(&self) -> u64 {
        [Outcome::Failed, Outcome::Timeout, Outcome::Unreachable, Outcome::Interrupted]
            .map(|outcome| self.of(outcome))
            .iter()
            .sum()
    }
}
