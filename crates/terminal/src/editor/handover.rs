//! Hands the terminal over: code that stops the program while a line is read needs the terminal in its original state.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use parking_lot::Mutex;

/// Asks the reader of lines to step aside, from any thread.
#[derive(Debug, Clone, Default)]
pub struct Handover {
    /// Breaks off what is read.
    stop: Arc<AtomicBool>,
    place: Arc<Mutex<Place>>,
}

/// While this value lives, nothing is read. Afterwards the line continues with the text typed so far.
#[derive(Debug)]
pub struct HandoverGuard(#[expect(dead_code, reason = "its end is what is heard")] Sender<()>);

#[derive(Debug, Default)]
struct Place {
    reads: bool,
    asked: Option<HandoverRequest>,
}

#[derive(Debug)]
struct HandoverRequest {
    left: Sender<()>,
    until: Receiver<()>,
}

impl Handover {
    pub(crate) fn new(stop: Arc<AtomicBool>) -> Self {
        Self { stop, place: Arc::default() }
    }

    /// The reader has gone, or did not within that time (it comes back all the same when the value is dropped). `None`:
    /// nothing is read.
    pub fn ask(&self, within: Duration) -> Option<HandoverGuard> {
        let (left, has_left) = channel();
        let (held, until) = channel();
        {
            let mut place = self.place.lock();
            if !place.reads {
                return None;
            }
            place.asked = Some(HandoverRequest { left, until });
        }
        self.stop.store(true, Ordering::SeqCst);
        let _ = has_left.recv_timeout(within);
        Some(HandoverGuard(held))
    }

    /// From now on there is a line editor to ask.
    pub(crate) fn begins(&self) {
        self.place.lock().reads = true;
    }

    /// Nothing is read any more. If it was asked to step aside, this waits until it may come back.
    pub(crate) fn leaves(&self) {
        let asked = {
            let mut place = self.place.lock();
            place.reads = false;
            place.asked.take()
        };
        let Some(HandoverRequest { left, until }) = asked else { return };
        let _ = left.send(());
        // Only ever ends by an error: the other end is gone.
        let _: Result<(), _> = until.recv();
    }
}

#[cfg(test)]
mod tests {
    use converse_testkit::hang_guard::LIMIT as PATIENCE;

    use super::*;

    #[test]
    fn nobody_is_asked_where_nothing_is_read() {
        let handover = Handover::default();
        assert!(handover.ask(PATIENCE).is_none() && !handover.stop.load(Ordering::SeqCst));
        handover.begins();
        handover.leaves();
        assert!(handover.ask(PATIENCE).is_none());
    }

    #[test]
    fn who_reads_has_gone_and_comes_back_when_it_may() {
        let handover = Handover::default();
        handover.begins();
        let reader = handover.clone();
        let (back, is_back) = channel();
        let thread = std::thread::spawn(move || {
            while !reader.stop.swap(false, Ordering::SeqCst) {
                std::thread::yield_now();
            }
            reader.leaves();
            back.send(()).unwrap();
        });
        let held = handover.ask(PATIENCE).unwrap();
        assert!(handover.ask(PATIENCE).is_none(), "it is away");
        assert!(is_back.try_recv().is_err());
        drop(held);
        assert_eq!(is_back.recv_timeout(PATIENCE), Ok(()));
        thread.join().unwrap();
    }

    #[test]
    fn who_does_not_go_is_not_waited_for_and_does_not_wait_later() {
        let handover = Handover::default();
        handover.begins();
        drop(handover.ask(Duration::ZERO).unwrap());
        handover.leaves();
    }
}
