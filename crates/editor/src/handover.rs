//! Hands the terminal over: code that stops the program while a line is read needs the terminal in its original state.
//! [`Handover::ask`] makes the reader of lines restore the terminal until the returned guard is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use parking_lot::Mutex;

/// Interrupts the reader of lines, from any thread.
#[derive(Debug, Clone, Default)]
pub struct Handover {
    /// Ends the current read.
    stop: Arc<AtomicBool>,
    place: Arc<Mutex<Place>>,
}

/// Keeps the reader away. When the guard is dropped, the line continues with the text typed so far.
#[derive(Debug)]
pub struct HandoverGuard(#[expect(dead_code, reason = "dropping it wakes the reader")] Sender<()>);

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

    /// Waits until the reader has restored the terminal, at most `within`. A reader that was late continues too when the
    /// guard is dropped. Returns `None` if no line is being read.
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

    /// Returns whether the terminal was requested from the reader.
    pub(crate) fn is_asked(&self) -> bool {
        self.place.lock().asked.is_some()
    }

    /// Notes that a line is being read.
    pub(crate) fn begins(&self) {
        self.place.lock().reads = true;
    }

    /// Notes that no line is being read. If the terminal was requested, this waits until the guard is dropped.
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
