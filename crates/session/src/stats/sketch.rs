//! Quantiles of times without the times: a histogram whose buckets grow by a fixed ratio, after DDSketch
//! (<https://arxiv.org/abs/1908.10693>, checked 2026-11). Exact in its order, so the same lines give the same numbers.

use std::collections::BTreeMap;

/// From one bucket to the next.
const RATIO: f64 = 1.02;

/// Times in milliseconds. A quantile is off by at most 1 %, or by half a millisecond where that is more; the smallest and
/// the largest are exact. At most some 900 buckets for any times up to a year.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sketch {
    buckets: BTreeMap<u16, u64>,
    count: u64,
    least: u64,
    most: u64,
}

impl Sketch {
    pub fn add(&mut self, milliseconds: u64) {
        self.least = if self.count == 0 { milliseconds } else { self.least.min(milliseconds) };
        self.most = self.most.max(milliseconds);
        self.count += 1;
        *self.buckets.entry(bucket(milliseconds)).or_default() += 1;
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    /// The time that the given share (0 to 1) of all times does not exceed, in milliseconds; `None` if there are none.
    pub fn quantile(&self, share: f64) -> Option<u64> {
        let last = self.count.checked_sub(1)?;
        // The nearest rank, from 1.
        let rank = ((share * self.count as f64).ceil() as u64).clamp(1, last + 1);
        if rank == 1 || rank == self.count {
            return Some(if rank == 1 { self.least } else { self.most });
        }
        let mut seen = 0;
        let found = self.buckets.iter().find(|(_, count)| {
            seen += **count;
            seen >= rank
        });
        found.map(|(bucket, _)| middle(*bucket).clamp(self.least, self.most))
    }
}

/// 0 holds nothing but 0; `n` what is over `RATIO^(n-2)` and at most `RATIO^(n-1)`.
fn bucket(milliseconds: u64) -> u16 {
    if milliseconds == 0 {
        return 0;
    }
    // The cast holds at the largest; the largest `u64` is in bucket 2242.
    ((milliseconds as f64).ln() / RATIO.ln()).ceil() as u16 + 1
}

/// The time that is off by the same ratio from both ends.
fn middle(bucket: u16) -> u64 {
    match bucket.checked_sub(1) {
        None => 0,
        Some(power) => (2.0 * RATIO.powi(i32::from(power)) / (RATIO + 1.0)).round() as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_within_a_hundredth() {
        for times in [
            (1..=1000).collect::<Vec<u64>>(),
            (1..=1000).map(|n| n * n * 37 % 90_001).collect(),
            vec![0, 0, 0, 5, 5, 9],
            vec![86_400_000, 1, 250, 250, u64::MAX],
        ] {
            let mut sketch = Sketch::default();
            times.iter().for_each(|time| sketch.add(*time));
            let mut sorted = times.clone();
            sorted.sort_unstable();
            for share in [0.0, 0.01, 0.5, 0.9, 0.95, 0.99, 1.0] {
                let rank = ((share * sorted.len() as f64).ceil() as usize).max(1);
                let (exact, found) = (sorted[rank - 1] as f64, sketch.quantile(share).unwrap() as f64);
                assert!((found - exact).abs() <= (exact * 0.01).max(0.5), "{share}: {found}, not {exact}");
            }
        }
    }

    #[test]
    fn one_time_is_exact_and_none_has_no_quantile() {
        let mut sketch = Sketch::default();
        assert_eq!(sketch.quantile(0.5), None);
        sketch.add(1234);
        sketch.add(1235);
        assert_eq!((sketch.quantile(0.5), sketch.quantile(0.95)), (Some(1234), Some(1235)));
        let mut sketch = Sketch::default();
        sketch.add(1234);
        assert_eq!(
            (sketch.quantile(0.5), sketch.quantile(0.95), sketch.count()),
            (Some(1234), Some(1234), 1)
        );
    }

    #[test]
    fn it_does_not_grow_with_what_is_in_it() {
        let mut sketch = Sketch::default();
        for n in 0..200_000u64 {
            sketch.add(n.wrapping_mul(0x9e37_79b9_7f4a_7c15) % (365 * 86_400_000));
        }
        assert!(sketch.buckets.len() < 1300, "{}", sketch.buckets.len());
    }
}
