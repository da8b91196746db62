//! Costs of an invocation in addition to its declared price, such as a model that its MCP server called.

use std::sync::Arc;
use std::time::Duration;

use converse_canister::Cost;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio::time::timeout;

/// The meter of one invocation, whose total goes into the result. A clone is the same meter.
#[derive(Debug, Clone, Default)]
pub struct CostMeter(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Signals that a pending cost is final.
    served: Notify,
}

#[derive(Debug, Default)]
struct State {
    sum: Option<Cost>,
    pending: usize,
    paid: bool,
}

/// A cost that is still unknown, until this is dropped.
#[derive(Debug)]
pub struct PendingCost(CostMeter);

impl CostMeter {
    pub fn add(&self, cost: Cost) {
        let mut state = self.lock();
        state.sum = Some(state.sum.unwrap_or_default().plus(cost));
    }

    /// Announces a cost. The result of the invocation waits for it.
    pub fn begin(&self) -> PendingCost {
        self.lock().pending += 1;
        PendingCost(self.clone())
    }

    /// Returns the total, or `None` if nothing was added.
    pub fn total(&self) -> Option<Cost> {
        self.lock().sum
    }

    /// Returns the total if it is not in a result yet.
    pub fn due(&self) -> Option<Cost> {
        let state = self.lock();
        state.sum.filter(|_| !state.paid)
    }

    /// Returns whether both are the same meter.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns the total once all pending costs are final, or after `within` the total by then.
    pub(crate) async fn settle(&self, within: Duration) -> Option<Cost> {
        let _ = timeout(within, self.served()).await;
        let mut state = self.lock();
        state.paid = true;
        state.sum
    }

    async fn served(&self) {
        loop {
            let served = self.0.served.notified();
            if self.lock().pending == 0 {
                return;
            }
            served.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock()
    }
}

impl Drop for PendingCost {
    fn drop(&mut self) {
        self.0.lock().pending -= 1;
        self.0.0.served.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[tokio::test(start_paused = true)]
    async fn it_is_paid_once_everything_that_was_ordered_is_on_it() {
        for (after, total) in [(30, Some(Cost(5))), (90, Some(Cost(2)))] {
            let meter = CostMeter::default();
            let pending = meter.begin();
            let served = meter.clone();
            meter.add(Cost(2));
            assert_eq!(meter.due(), Some(Cost(2)));
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_secs(after)).await;
                served.add(Cost(3));
                drop(pending);
            });
            assert_eq!(meter.settle(LONG).await, total, "{after}");
            assert_eq!(meter.due(), None, "it is in the result now");
        }
        assert_eq!(CostMeter::default().settle(LONG).await, None);
    }
}
