//! A histogram of durations.

use std::time::Duration;

/// Upper bounds of the buckets in milliseconds. Longer durations are only in the total.
const BOUNDS: [u64; 14] = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 10_000, 60_000, 600_000];

#[derive(Debug, Default)]
pub(super) struct DurationHistogram {
    counts: [u64; BOUNDS.len()],
    count: u64,
    sum: Duration,
}

impl DurationHistogram {
    pub(super) fn add(&mut self, took: Duration) {
        let buckets = BOUNDS.iter().zip(&mut self.counts);
        if let Some((_, count)) =
            buckets.into_iter().find(|(bound, _)| took <= Duration::from_millis(**bound))
        {
            *count += 1;
        }
        self.count += 1;
        self.sum = self.sum.saturating_add(took);
    }

    /// Returns each upper bound in seconds, with the number of durations up to it.
    pub(super) fn buckets(&self) -> impl Iterator<Item = (f64, u64)> {
        let mut total = 0;
        BOUNDS.iter().zip(self.counts).map(move |(bound, count)| {
            total += count;
            (Duration::from_millis(*bound).as_secs_f64(), total)
        })
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn sum(&self) -> f64 {
        self.sum.as_secs_f64()
    }
}
