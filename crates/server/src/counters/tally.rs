//! How long calls took, in steps.

use std::time::Duration;

/// Upper ends in milliseconds; what took longer is in the last step, which has no end.
const ENDS: [u64; 14] = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 10_000, 60_000, 600_000];

#[derive(Debug, Default)]
pub(super) struct Tally {
    counts: [u64; ENDS.len()],
    count: u64,
    sum: Duration,
}

impl Tally {
    pub(super) fn add(&mut self, took: Duration) {
        let steps = ENDS.iter().zip(&mut self.counts);
        if let Some((_, count)) = steps.into_iter().find(|(end, _)| took <= Duration::from_millis(**end)) {
            *count += 1;
        }
        self.count += 1;
        self.sum = self.sum.saturating_add(took);
    }

    /// Each upper end in seconds and how many took at most that.
    pub(super) fn steps(&self) -> impl Iterator<Item = (f64, u64)> {
        let mut so_far = 0;
        ENDS.iter().zip(self.counts).map(move |(end, count)| {
            so_far += count;
            (Duration::from_millis(*end).as_secs_f64(), so_far)
        })
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn sum(&self) -> f64 {
        self.sum.as_secs_f64()
    }
}
