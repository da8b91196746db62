//! What one model call takes, its broken attempts included.
//!
//! A reply is billed from when it begins, however it ends. An attempt that broke off counts with the tokens that had
//! been told by then, and as unknown if none had. What was refused before anything of it had come is no reply, and
//! costs what a refusal by status does: nothing.

use converse_canister::{Cost, Usage};
use converse_provider::{Facts, Reply};

use crate::spending::Spending;
use crate::{Event, Limit, Ports, Route, SinkError};

#[derive(Debug)]
pub(crate) struct Bill {
    spending: Spending,
    most: Option<Cost>,
    /// Of the attempt that has begun, until it is counted.
    open: Option<Taken>,
    /// Why there was no other attempt.
    barred: Option<Limit>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Taken {
    pub(crate) usage: Usage,
    /// `None`: nobody knows.
    pub(crate) cost: Option<Cost>,
}

impl Bill {
    /// `spending` is what the turn has cost before this call.
    pub(crate) fn new(spending: Spending, most: Option<Cost>) -> Self {
        Self { spending, most, open: None, barred: None }
    }

    /// A response has begun. What it takes is not known yet, unless it is nothing.
    pub(crate) fn begin(&mut self, facts: &Facts) {
        self.open = Some(taken(Usage::default(), None, facts));
    }

    /// It broke off; so much of it had come.
    pub(crate) fn breaks_off(&mut self, partial: &Reply, facts: &Facts) {
        // What was never told of the output cannot be counted.
        let least = Usage { output: partial.usage.output.or(Some(0)), ..partial.usage };
        let Taken { cost, .. } = taken(least, partial.cost, facts);
        self.open = Some(Taken { usage: partial.usage, cost });
    }

    /// There is nothing to pay, or somebody else does.
    pub(crate) fn close(&mut self) {
        self.open = None;
    }

    /// The attempt that broke off, if there is one, is counted and told.
    pub(crate) fn pay(
        &mut self,
        ports: Ports<'_>,
        route: &Route<'_>,
        instead: Option<&str>,
    ) -> Result<(), SinkError> {
        let Some(Taken { usage, cost }) = self.settle() else { return Ok(()) };
        let (model, provider) = (&route.model, route.endpoint.provider.as_str());
        ports.emit(&Event::Used { usage, cost, model, provider, cut: true, instead })
    }

    fn settle(&mut self) -> Option<Taken> {
        let taken = self.open.take()?;
        self.spending.add(taken.cost);
        Some(taken)
    }

    /// Is there no money left for another attempt after this one?
    pub(crate) fn reaches(&self) -> Option<Limit> {
        let mut spending = self.spending;
        if let Some(taken) = self.open {
            spending.add(taken.cost);
        }
        spending.reaches(self.most)
    }

    /// Another attempt would be made; may it not?
    pub(crate) fn bars_another(&mut self) -> bool {
        self.barred = self.reaches();
        self.barred.is_some()
    }

    /// The limit for which there was no other attempt.
    pub(crate) fn barred(&self) -> Option<Limit> {
        self.barred
    }

    pub(crate) fn spending(&self) -> Spending {
        self.spending
    }
}

/// What the provider says it costs is what it costs.
pub(crate) fn taken(usage: Usage, told: Option<Cost>, facts: &Facts) -> Taken {
    Taken { usage, cost: told.or_else(|| facts.price.and_then(|price| price.cost(&usage))) }
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
