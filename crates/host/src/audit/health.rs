//! [`Health`]: whether the audit log of a server can be written.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use converse_engine::SinkError;

use super::Warn;

/// The state of a log, for those who ask and for the user. Each change is reported once.
pub(super) struct Health {
    is_failing: AtomicBool,
    failures: AtomicU64,
    warn: Warn,
}

impl Health {
    pub(super) fn new(warn: Warn) -> Self {
        Self { is_failing: AtomicBool::new(false), failures: AtomicU64::new(0), warn }
    }

    pub(super) fn is_writable(&self) -> bool {
        !self.is_failing.load(Ordering::Relaxed)
    }

    /// Number of times that the log failed.
    pub(super) fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    pub(super) fn failed(&self, why: &SinkError) {
        if !self.is_failing.swap(true, Ordering::Relaxed) {
            self.failures.fetch_add(1, Ordering::Relaxed);
            (self.warn)(&format!("warning: {why}; calls are refused until the audit log can be written"));
        }
    }

    /// `why` is the last failure.
    pub(super) fn resumed(&self, why: &SinkError) {
        if self.is_failing.swap(false, Ordering::Relaxed) {
            (self.warn)("note: the audit log can be written again, and calls are accepted");
        } else {
            self.failures.fetch_add(1, Ordering::Relaxed);
            (self.warn)(&format!("warning: {why}; the audit log was resumed"));
        }
    }
}
