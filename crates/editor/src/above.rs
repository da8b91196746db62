//! Lines for the person that come while an entry is read: they are written above it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

/// Bytes that wait; more are lost.
const MOST: usize = 1024 * 1024;

/// Writes above the entry that is read, from any thread.
#[derive(Debug, Clone, Default)]
pub struct Above {
    waiting: Arc<Mutex<String>>,
    /// Ends the current read, where the entry is drawn.
    stop: Option<Arc<AtomicBool>>,
}

impl Above {
    pub(crate) fn new(stop: Option<Arc<AtomicBool>>) -> Self {
        Self { waiting: Arc::default(), stop }
    }

    /// Writes whole lines as they are, soon. The entry is drawn anew below them.
    pub fn write(&self, lines: &str) {
        {
            let mut waiting = self.waiting.lock();
            if lines.is_empty() || waiting.len() + lines.len() > MOST {
                return;
            }
            waiting.push_str(lines);
        }
        if let Some(stop) = &self.stop {
            stop.store(true, Ordering::SeqCst);
        }
    }

    /// Takes what is not written, because nothing was read since.
    pub fn take(&self) -> String {
        std::mem::take(&mut *self.waiting.lock())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.lock().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_has_a_bound_and_ends_the_read() {
        let stop = Arc::<AtomicBool>::default();
        let above = Above::new(Some(Arc::clone(&stop)));
        above.write("");
        assert!(above.is_empty() && !stop.load(Ordering::SeqCst));
        above.write("one\n");
        above.write(&"x".repeat(MOST));
        above.write("two\n");
        assert!(stop.load(Ordering::SeqCst));
        assert_eq!((above.take().as_str(), above.take().as_str()), ("one\ntwo\n", ""));
    }
}
