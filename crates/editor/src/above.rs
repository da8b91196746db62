//! Lines for the person that come while an entry is read: they are written above it.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

/// Bytes that wait; more are lost.
const MOST: usize = 1024 * 1024;

type Redraw = Box<dyn Fn() + Send>;

/// Writes above the entry that is read, from any thread.
#[derive(Clone, Default)]
pub struct Above {
    waiting: Arc<Mutex<String>>,
    /// Draws the entry again, where it is drawn.
    redraw: Arc<Mutex<Option<Redraw>>>,
}

impl Above {
    /// Writes whole lines as they are, soon. The entry is drawn anew below them, and what is going on in it goes on.
    pub fn write(&self, lines: &str) {
        {
            let mut waiting = self.waiting.lock();
            if lines.is_empty() || waiting.len() + lines.len() > MOST {
                return;
            }
            waiting.push_str(lines);
        }
        if let Some(redraw) = &*self.redraw.lock() {
            redraw();
        }
    }

    /// Takes what is not written, because nothing was read since.
    pub fn take(&self) -> String {
        std::mem::take(&mut *self.waiting.lock())
    }

    /// Draws the entry that is read next again.
    pub(crate) fn is_drawn_by(&self, redraw: impl Fn() + Send + 'static) {
        *self.redraw.lock() = Some(Box::new(redraw));
    }
}

impl fmt::Debug for Above {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Above").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_has_a_bound() {
        let above = Above::default();
        above.write("");
        assert_eq!(above.take(), "");
        above.write("one\n");
        above.write(&"x".repeat(MOST));
        above.write("two\n");
        assert_eq!((above.take().as_str(), above.take().as_str()), ("one\ntwo\n", ""));
    }
}
