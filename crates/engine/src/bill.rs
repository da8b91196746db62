//! The cost of one model call, including its failed attempts.
//!
//! A reply is billed from its beginning, however it ends. An attempt that broke off counts with the tokens that had been
//! reported by then, and as unknown if none had. A refusal before any content costs nothing.

use converse_canister::{Cost, Usage};
use converse_provider::{Facts, Reply};

use crate::spending::Spending;
use crate::{Event, Limit, Ports, Route, SinkError};

#[derive(Debug)]
pub(crate) struct Bill {
    spending: Spending,
    most: Option<Cost>,
    /// Usage of the attempt that has begun, until it is counted.
    open: Option<AttemptUsage>,
    /// The limit that prevented another attempt.
    barred: Option<Limit>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct AttemptUsage {
    pub(crate) usage: Usage,
    /// `None` if it is unknown.
    pub(crate) cost: Option<Cost>,
}

impl Bill {
    /// `spending` is what the turn has cost before this call.
    pub(crate) fn new(spending: Spending, most: Option<Cost>) -> Self {
        Self { spending, most, open: None, barred: None }
    }

    /// Records that a response has begun. Its cost is unknown yet, unless the model is free.
    pub(crate) fn begin(&mut self, facts: &Facts) {
        self.open = Some(attempt_usage(Usage::default(), None, facts));
    }

    /// Records the part of a reply that came before it broke off.
    pub(crate) fn breaks_off(&mut self, partial: &Reply, facts: &Facts) {
        // Output that was never reported cannot be counted.
        let least = Usage { output: partial.usage.output.or(Some(0)), ..partial.usage };
        let AttemptUsage { cost, .. } = attempt_usage(least, partial.cost, facts);
        self.open = Some(AttemptUsage { usage: partial.usage, cost });
    }

    /// Records that there is nothing to pay here.
    pub(crate) fn close(&mut self) {
        self.open = None;
    }

    /// Counts and reports the attempt that broke off, if there is one.
    pub(crate) fn pay(
        &mut self,
        ports: Ports<'_>,
        route: &Route<'_>,
        instead: Option<&str>,
    ) -> Result<(), SinkError> {
        let Some(AttemptUsage { usage, cost }) = self.settle() else { return Ok(()) };
        let (model, provider) = (&route.model, route.endpoint.provider.as_str());
        ports.emit(&Event::Used { usage, cost, model, provider, cut: true, instead })
    }

    fn settle(&mut self) -> Option<AttemptUsage> {
        let taken = self.open.take()?;
        self.spending.add(taken.cost);
        Some(taken)
    }

    /// Returns the limit that this attempt reaches, which rules out another one.
    pub(crate) fn reaches(&self) -> Option<Limit> {
        let mut spending = self.spending;
        if let Some(taken) = self.open {
            spending.add(taken.cost);
        }
        spending.reaches(self.most)
    }

    /// Returns whether a limit prevents another attempt, and remembers that limit.
    pub(crate) fn bars_another(&mut self) -> bool {
        self.barred = self.reaches();
        self.barred.is_some()
    }

    /// Returns the limit that prevented another attempt.
    pub(crate) fn barred(&self) -> Option<Limit> {
        self.barred
    }

    pub(crate) fn spending(&self) -> Spending {
        self.spending
    }
}

/// Returns the usage with its cost: as the provider reports it, otherwise from the price list.
pub(crate) fn attempt_usage(usage: Usage, reported: Option<Cost>, facts: &Facts) -> AttemptUsage {
    AttemptUsage { usage, cost: reported.or_else(|| facts.price.and_then(|price| price.cost(&usage))) }
}

#[cfg(test)]
mod tests {
    use converse_canister::Stop;
    use converse_provider::Price;

    use super::*;

    fn partial(input: Option<u64>, output: Option<u64>, cost: Option<u64>) -> Reply {
        let usage = Usage { input, output, ..Usage::default() };
        let (canisters, cost) = (Vec::new(), cost.map(Cost));
        Reply { canisters, stop: Stop::Cut, usage, cost, model: None, request_id: None }
    }

    #[test]
    fn what_broke_off_counts_with_what_is_known_of_it() {
        let (dear, free) =
            (Some(Price { input: 1_000_000, output: 2_000_000, ..Price::NOTHING }), Some(Price::NOTHING));
        for (price, partial, cost) in [
            (dear, None, None),
            (dear, Some(partial(None, None, None)), None),
            (dear, Some(partial(None, Some(3), None)), None),
            (dear, Some(partial(Some(7), None, None)), Some(7)),
            (dear, Some(partial(Some(7), Some(3), None)), Some(13)),
            (dear, Some(partial(Some(7), Some(3), Some(1))), Some(1)),
            (None, Some(partial(Some(7), Some(3), None)), None),
            (free, None, Some(0)),
            (free, Some(partial(None, None, None)), Some(0)),
        ] {
            let facts = Facts { price, ..Facts::default() };
            let mut bill = Bill::new(Spending::default(), Some(Cost(13)));
            bill.begin(&facts);
            if let Some(partial) = &partial {
                bill.breaks_off(partial, &facts);
            }
            let reached = match cost {
                None => Some(Limit::UnknownCost),
                Some(13..) => Some(Limit::Cost(Cost(13))),
                Some(_) => None,
            };
            assert_eq!(bill.reaches(), reached, "before it is counted: {partial:?}");
            assert_eq!(bill.settle().map(|taken| taken.cost), Some(cost.map(Cost)), "{partial:?}");
            assert_eq!((bill.settle(), bill.reaches()), (None, reached), "once");
        }
        let mut bill = Bill::new(Spending::default(), Some(Cost(13)));
        bill.begin(&Facts::default());
        bill.close();
        assert_eq!((bill.reaches(), bill.settle()), (None, None));
    }
}
