//! Text that comes into the line without a key.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

/// Puts text into the entry that is read, from any thread.
#[derive(Clone, Default)]
pub struct Inserted {
    waiting: Arc<Mutex<Vec<String>>>,
    /// Ends the current read, which then goes on.
    stop: Arc<Mutex<Option<Arc<AtomicBool>>>>,
}

impl Inserted {
    /// Puts the text where the cursor is, soon; if no entry is being read, into the next one that was not sent before.
    pub fn put(&self, text: String) {
        self.waiting.lock().push(text);
        if let Some(stop) = &*self.stop.lock() {
            stop.store(true, Ordering::SeqCst);
        }
    }

    pub(crate) fn is_there(&self) -> bool {
        !self.waiting.lock().is_empty()
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.waiting.lock())
    }

    pub(crate) fn stops(&self, stop: &Arc<AtomicBool>) {
        *self.stop.lock() = Some(Arc::clone(stop));
    }
}

impl fmt::Debug for Inserted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inserted").finish_non_exhaustive()
    }
}
