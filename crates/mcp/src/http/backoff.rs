//! [`StreamBackoff`]: delays between requests for event streams that deliver nothing.
//!
//! A stream has no id, so it is identified by the event that it resumes from. A stream that delivers an event and a
//! `retry` belongs to a server that wants to be polled: the reader of the stream waits as long as `retry` says.

use std::collections::VecDeque;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

/// Consecutive empty responses before requests are delayed.
const FREE: u32 = 3;
const PAUSE: Duration = Duration::from_millis(500);
const MAX_PAUSE: Duration = Duration::from_secs(5);
const MAX_DOUBLINGS: u32 = 4;
/// Number of streams remembered; more than can be open at a time.
const MAX_STREAMS: usize = 128;

/// The last event of each stream and how often the stream was requested since without a new event.
#[derive(Debug, Default)]
pub(super) struct StreamBackoff(Mutex<VecDeque<(Option<String>, u32)>>);

impl StreamBackoff {
    /// Counts a request that resumes after `from`. Returns the number of earlier requests without a new event.
    pub(super) fn requested(&self, from: Option<&str>) -> u32 {
        let mut known = self.known();
        let times = known.iter().find(|(event, _)| event.as_deref() == from).map_or(0, |(_, times)| *times);
        put(&mut known, from.map(str::to_owned), times.saturating_add(1));
        times
    }

    /// Moves a stream with this count to the event that it has reached.
    pub(super) fn reached(&self, event: Option<String>, times: u32) {
        put(&mut self.known(), event, times);
    }

    fn known(&self) -> MutexGuard<'_, VecDeque<(Option<String>, u32)>> {
        self.0.lock()
    }
}

/// Returns the delay before the next request after `times` requests without a new event.
pub(super) fn pause(times: u32) -> Duration {
    let Some(doublings) = times.checked_sub(FREE) else { return Duration::ZERO };
    MAX_PAUSE.min(PAUSE * 2_u32.pow(doublings.min(MAX_DOUBLINGS)))
}

fn put(known: &mut VecDeque<(Option<String>, u32)>, event: Option<String>, times: u32) {
    known.retain(|(other, _)| *other != event);
    known.push_back((event, times));
    if known.len() > MAX_STREAMS {
        known.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stream_has_its_own_count() {
        let idle = StreamBackoff::default();
        let requested: Vec<u32> = (0..3).map(|_| idle.requested(Some("a"))).collect();
        assert_eq!(requested, [0, 1, 2]);
        assert_eq!((idle.requested(None), idle.requested(Some("b")), idle.requested(None)), (0, 0, 1));
        idle.reached(Some("a".to_owned()), 0);
        idle.reached(Some("c".to_owned()), 2);
        assert_eq!((idle.requested(Some("a")), idle.requested(Some("c"))), (0, 2));
        for number in 0..MAX_STREAMS * 2 {
            idle.reached(Some(number.to_string()), 9);
        }
        assert_eq!(idle.known().len(), MAX_STREAMS);
        assert_eq!(idle.requested(Some("a")), 0, "the oldest are forgotten");
    }

    #[test]
    fn pauses_grow_and_have_an_end() {
        let millis = |times| pause(times).as_millis();
        assert_eq!([0, 2, 3, 4, 5, 6, 7].map(millis), [0, 0, 500, 1000, 2000, 4000, 5000]);
        assert_eq!(pause(u32::MAX), MAX_PAUSE);
    }
}
