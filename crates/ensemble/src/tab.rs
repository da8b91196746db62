//! What an invocation runs up beside its own price: a model that its server asked.

use std::sync::{Arc, Mutex, PoisonError};

use converse_canister::Cost;

/// The tab of one invocation, paid with its result. Clone = the same one.
#[derive(Debug, Clone, Default)]
pub struct Tab(Arc<Mutex<Option<Cost>>>);

impl Tab {
    pub fn add(&self, cost: Cost) {
        let mut sum = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *sum = Some(sum.unwrap_or_default().plus(cost));
    }

    /// `None`: nothing was added.
    pub fn total(&self) -> Option<Cost> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
