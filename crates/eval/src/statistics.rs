//! Pass rates, and how far they can be relied on. Pure.

/// The 97.5 % quantile of the normal distribution: intervals are of 95 %.
const Z: f64 = 1.959_963_984_540_054;

/// Runs of one case, or of many, that were judged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rate {
    pub passed: u32,
    pub runs: u32,
}

impl Rate {
    /// Returns the share that passed, from 0 to 1; 0 without runs.
    pub fn share(self) -> f64 {
        if self.runs == 0 { 0.0 } else { f64::from(self.passed) / f64::from(self.runs) }
    }

    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { passed: self.passed + other.passed, runs: self.runs + other.runs }
    }

    /// Returns the Wilson interval of the share, at 95 %.
    /// <https://en.wikipedia.org/wiki/Binomial_proportion_confidence_interval#Wilson_score_interval>
    pub fn interval(self) -> (f64, f64) {
        if self.runs == 0 {
            return (0.0, 1.0);
        }
        let (n, share) = (f64::from(self.runs), self.share());
        let denominator = 1.0 + Z * Z / n;
        let centre = (share + Z * Z / (2.0 * n)) / denominator;
        let half = Z / denominator * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
        ((centre - half).max(0.0), (centre + half).min(1.0))
    }

    /// Returns pass^k: the chance that `k` runs, drawn from these without putting any back, all passed; `None` with fewer
    /// than `k` runs. <https://arxiv.org/abs/2406.12045>, section 3.
    pub fn pass_hat(self, k: u32) -> Option<f64> {
        if k == 0 || k > self.runs {
            return None;
        }
        let factor = |i: u32| f64::from(self.passed.saturating_sub(i)) / f64::from(self.runs - i);
        Some((0..k).map(factor).product())
    }
}

/// Returns the mean of pass^k over cases that have at least `k` runs.
pub fn mean_pass_hat(rates: impl Iterator<Item = Rate>, k: u32) -> Option<f64> {
    let values: Vec<f64> = rates.filter_map(|rate| rate.pass_hat(k)).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(passed: u32, runs: u32) -> Rate {
        Rate { passed, runs }
    }

    #[test]
    fn intervals_are_those_of_wilson() {
        // Reference values: R, binom::binom.confint(x, n, methods = "wilson").
        for (passed, runs, low, high) in
            [(0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (10, 10, 0.7225, 1.0), (81, 263, 0.2553, 0.3662)]
        {
            let (found_low, found_high) = rate(passed, runs).interval();
            assert!((found_low - low).abs() < 5e-5, "{passed}/{runs}: {found_low}");
            assert!((found_high - high).abs() < 5e-5, "{passed}/{runs}: {found_high}");
        }
        assert_eq!(rate(0, 0).interval(), (0.0, 1.0));
    }

    #[test]
    fn pass_hat_counts_the_ways_to_draw() {
        // C(3, 2) / C(4, 2).
        assert_eq!(rate(3, 4).pass_hat(2), Some(0.5));
        assert_eq!(rate(3, 4).pass_hat(1), Some(0.75));
        assert_eq!((rate(3, 4).pass_hat(4), rate(4, 4).pass_hat(4)), (Some(0.0), Some(1.0)));
        assert_eq!((rate(1, 1).pass_hat(2), rate(1, 1).pass_hat(0)), (None, None));
        assert_eq!(mean_pass_hat([rate(4, 4), rate(3, 4), rate(1, 1)].into_iter(), 2), Some(0.75));
        assert_eq!(mean_pass_hat([rate(1, 1)].into_iter(), 2), None);
    }
}
