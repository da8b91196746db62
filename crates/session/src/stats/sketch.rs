//! Quantiles of times without keeping the times: a DDSketch (<https://arxiv.org/abs/1908.10693>, checked 2026-11).

use std::fmt;

use sketches_ddsketch::{Config, DDSketch};

/// Largest relative error of a bucket. Rounding to whole milliseconds adds to it, so it is half of what is promised.
const BUCKET_ERROR: f64 = 0.005;
/// Buckets for every `u64`; times between a millisecond and a year need about 2,400.
const MAX_BUCKETS: u32 = 4_608;

/// A bounded summary of times in milliseconds. A quantile is off by at most 1 %; the smallest and the largest time are
/// exact. The order of the times makes no difference.
#[derive(Clone)]
pub struct Sketch(DDSketch);

impl Default for Sketch {
    fn default() -> Self {
        Self(DDSketch::new(Config::new(BUCKET_ERROR, MAX_BUCKETS, 0.5)))
    }
}

impl fmt::Debug for Sketch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sketch({} times from {:?} to {:?} ms)", self.count(), self.0.min(), self.0.max())
    }
}

impl Sketch {
    pub fn add(&mut self, milliseconds: u64) {
        self.0.add(milliseconds as f64);
    }

    pub fn count(&self) -> u64 {
        self.0.count() as u64
    }

    /// Returns the time in milliseconds that the given share (0 to 1) of all times does not exceed, by the nearest rank;
    /// `None` if there are no times.
    pub fn quantile(&self, share: f64) -> Option<u64> {
        let (least, most, count) = (self.0.min()?, self.0.max()?, self.0.count() as f64);
        let rank = (share * count).ceil();
        let time = if rank <= 1.0 {
            least
        } else if rank >= count {
            most
        } else {
            // The crate rounds `share * (count - 1)` down to a rank that starts at 0.
            self.0.quantile((rank - 0.5) / (count - 1.0)).ok()??.clamp(least, most)
        };
        Some(time.round() as u64)
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
                assert!((found - exact).abs() <= exact * 0.01, "{share}: {found}, not {exact}");
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
        assert!(sketch.0.length() < 2_600, "{}", sketch.0.length());
    }
}
