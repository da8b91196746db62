//! Accounting of sampling: the cost of each reply is added to the meter of the call, even if the reply was not awaited.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use converse_canister::{Cost, Usage};
use converse_ensemble::CostMeter;

use crate::{Event, Sink, SinkError};

/// The budget of the replies that a call requests.
#[derive(Debug)]
pub struct SamplingBudget {
    meter: CostMeter,
    /// The highest cost of one reply, if the prices are known.
    most: Option<Cost>,
    /// Set if a reply had an unknown cost.
    unknown: Arc<AtomicBool>,
    /// Whether a reply is in progress.
    open: AtomicBool,
}

/// Estimates the highest number of input tokens: a token has at least one byte.
pub fn most_usage(bytes: usize, tokens: Option<u32>) -> Usage {
    Usage { input: Some(bytes as u64), output: tokens.map(u64::from), ..Usage::default() }
}

impl SamplingBudget {
    pub fn new(meter: CostMeter, most: Option<Cost>, unknown: Arc<AtomicBool>) -> Self {
        Self { meter, most, unknown, open: AtomicBool::new(false) }
    }

    /// All costs are recorded.
    pub fn close(&self) {
        self.open.store(false, Ordering::Relaxed);
    }

    /// An interrupted reply counts with its highest possible cost.
    fn pay(&self, cost: Option<Cost>) {
        match cost.or(self.most) {
            Some(cost) => self.meter.add(cost),
            None => self.unknown.store(true, Ordering::Relaxed),
        }
    }
}

impl Sink for SamplingBudget {
    fn emit(&self, event: &Event<'_>) -> Result<(), SinkError> {
        match event {
            Event::Requested { .. } => self.open.store(true, Ordering::Relaxed),
            Event::Used { cost, .. } => {
                self.close();
                self.pay(*cost);
            }
            _ => {}
        }
        Ok(())
    }
}

impl Drop for SamplingBudget {
    fn drop(&mut self) {
        if self.open.load(Ordering::Relaxed) {
            self.pay(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use converse_canister::TurnId;

    use super::*;

    #[test]
    fn what_was_asked_for_is_paid_however_it_ends() {
        let asked = || Event::Requested { turn: TurnId(1), iteration: 1, model: "m", tools: &[] };
        let used = |cost| Event::Used {
            usage: Usage::default(),
            cost,
            model: "m",
            provider: "p",
            cut: true,
            instead: None,
        };
        for (events, closed, most, paid, unknown) in [
            (vec![], false, Some(Cost(9)), None, false),
            (vec![asked(), used(Some(Cost(2)))], false, Some(Cost(9)), Some(Cost(2)), false),
            (vec![asked(), used(Some(Cost(2))), used(Some(Cost(3)))], true, None, Some(Cost(5)), false),
            (vec![asked(), used(None)], true, Some(Cost(9)), Some(Cost(9)), false),
            (vec![asked(), used(None)], true, None, None, true),
            // Refused, and billed by nobody.
            (vec![asked()], true, Some(Cost(9)), None, false),
            // Dropped.
            (vec![asked()], false, Some(Cost(9)), Some(Cost(9)), false),
            (vec![asked()], false, None, None, true),
        ] {
            let (meter, unsaid) = (CostMeter::default(), Arc::new(AtomicBool::new(false)));
            let budget = SamplingBudget::new(meter.clone(), most, Arc::clone(&unsaid));
            events.iter().for_each(|event| budget.emit(event).unwrap());
            if closed {
                budget.close();
            }
            drop(budget);
            assert_eq!((meter.total(), unsaid.load(Ordering::Relaxed)), (paid, unknown), "{events:?}");
        }
    }
}
