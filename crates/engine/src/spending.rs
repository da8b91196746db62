//! The known cost of a turn so far.

use converse_canister::Cost;

use crate::Limit;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Spending {
    /// Millionths of a dollar.
    known: u64,
    /// Whether the cost of a reply is unknown.
    unknown: bool,
}

impl Spending {
    pub(crate) fn add(&mut self, cost: Option<Cost>) {
        match cost {
            Some(cost) => self.known = self.known.saturating_add(cost.0),
            None => self.unknown = true,
        }
    }

    /// Returns the limit if nothing of `most` is left for a call whose cost is known only afterwards.
    pub(crate) fn reaches(self, most: Option<Cost>) -> Option<Limit> {
        let most = most?;
        if self.known >= most.0 {
            return Some(Limit::Cost(most));
        }
        self.unknown.then_some(Limit::UnknownCost)
    }

    /// Returns the limit if `more` would go over it.
    pub(crate) fn would_pass(self, more: Cost, most: Option<Cost>) -> Option<Limit> {
        let most = most?;
        (more.0 > 0 && self.known.saturating_add(more.0) > most.0).then_some(Limit::Cost(most))
    }

    /// Returns a warning if a finished turn did not keep its limit.
    pub(crate) fn cost_limit_warning(self, most: Option<Cost>) -> Option<String> {
        let most = most?;
        if self.unknown {
            let limit = most.dollars();
            return Some(format!(
                "the limit of {limit} USD could not be enforced, because the cost of a reply is unknown"
            ));
        }
        let (spent, limit) = (Cost(self.known).dollars(), most.dollars());
        (self.known > most.0)
            .then(|| format!("this turn cost {spent} USD, more than the limit of {limit} USD"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(costs: &[Option<u64>]) -> Spending {
        let mut spending = Spending::default();
        costs.iter().for_each(|cost| spending.add(cost.map(Cost)));
        spending
    }

    #[test]
    fn the_limit_is_met_exactly_and_unknown_is_never_zero() {
        let (ten, reached) = (Some(Cost(10)), Some(Limit::Cost(Cost(10))));
        for (costs, reaches, passes) in [
            (&[][..], None, None),
            (&[Some(4), Some(5)], None, Some(Limit::Cost(Cost(10)))),
            (&[Some(8)], None, None),
            (&[Some(4), Some(6)], reached, reached),
            (&[Some(0)], None, None),
            (&[Some(1), None], Some(Limit::UnknownCost), None),
            (&[None, Some(10)], reached, reached),
            (&[Some(u64::MAX), Some(1)], reached, reached),
        ] {
            assert_eq!(of(costs).reaches(ten), reaches, "{costs:?}");
            assert_eq!(of(costs).would_pass(Cost(2), ten), passes, "{costs:?}");
            assert_eq!(of(costs).would_pass(Cost(0), ten), None, "what is free is free");
            assert_eq!(of(costs).reaches(None).or(of(costs).would_pass(Cost(2), None)), None);
        }
    }

    #[test]
    fn a_limit_that_was_not_held_is_a_warning() {
        let limit = Some(Cost(1_000_000));
        assert_eq!(of(&[Some(1_000_000)]).cost_limit_warning(limit), None);
        assert!(of(&[Some(1_500_000)]).cost_limit_warning(limit).unwrap().contains("cost 1.5 USD"));
        assert!(of(&[Some(1), None]).cost_limit_warning(limit).unwrap().contains("unknown"));
        assert_eq!(of(&[None]).cost_limit_warning(None), None);
    }
}
