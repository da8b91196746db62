//! What is no longer known of a server's tools: they may have changed, or another version of it was started.

use std::sync::atomic::{AtomicBool, Ordering};

/// Two marks, as two have to do with them: who offers the tools lists them anew before a model is called, and who calls one
/// that was accepted makes sure first that it is still the same. A list that could not be had is given up for the one and
/// never for the other.
#[derive(Debug, Default)]
pub(crate) struct ToolListChanged {
    /// To be listed anew.
    pub(crate) relist_due: AtomicBool,
    /// Nobody has seen the list that holds now.
    pub(crate) unverified: AtomicBool,
}

impl ToolListChanged {
    pub(crate) fn mark(&self) {
        self.relist_due.store(true, Ordering::Relaxed);
        self.unverified.store(true, Ordering::Relaxed);
    }
}
