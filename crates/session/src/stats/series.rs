//! [`HistogramSeries`]: one histogram for each set of attributes, in a bounded number.

/// Maximum number of histograms; further sets of attributes are not measured.
const MAX_HISTOGRAMS: usize = 200;

/// Histograms with the same bounds, by their attributes.
#[derive(Debug)]
pub struct HistogramSeries<A, const N: usize> {
    bounds: [f64; N],
    histograms: Vec<(A, Histogram<N>)>,
}

/// The distribution of values.
#[derive(Debug)]
pub struct Histogram<const N: usize> {
    pub count: u64,
    pub sum: f64,
    pub least: f64,
    pub most: f64,
    counts: [u64; N],
    /// Values above the last bound.
    above: u64,
}

impl<const N: usize> Histogram<N> {
    /// Returns the number of values in each bucket: one for each bound, and one above the last.
    pub fn buckets(&self) -> impl Iterator<Item = u64> {
        self.counts.into_iter().chain([self.above])
    }
}

impl<A: PartialEq, const N: usize> HistogramSeries<A, N> {
    /// `bounds` are the upper bounds of the buckets, in order.
    pub fn new(bounds: [f64; N]) -> Self {
        Self { bounds, histograms: Vec::new() }
    }

    pub fn bounds(&self) -> &[f64] {
        &self.bounds
    }

    pub fn histograms(&self) -> impl Iterator<Item = &(A, Histogram<N>)> {
        self.histograms.iter()
    }

    pub fn observe(&mut self, attributes: A, value: f64) {
        let known = self.histograms.iter().position(|(known, _)| *known == attributes);
        let at = known.unwrap_or(self.histograms.len());
        if known.is_none() && at < MAX_HISTOGRAMS {
            let new = Histogram { count: 0, sum: 0.0, least: value, most: value, counts: [0; N], above: 0 };
            self.histograms.push((attributes, new));
        }
        let Some((_, histogram)) = self.histograms.get_mut(at) else { return };
        histogram.least = histogram.least.min(value);
        histogram.most = histogram.most.max(value);
        histogram.count += 1;
        histogram.sum += value;
        // A bucket holds what is over the bound before it, and its own bound.
        let bucket = histogram.counts.get_mut(self.bounds.partition_point(|bound| *bound < value));
        *bucket.unwrap_or(&mut histogram.above) += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_belongs_to_the_bucket_below_it() {
        let mut series = HistogramSeries::new([1.0, 4.0, 16.0]);
        for value in [0.0, 1.0, 1.5, 4.0, 5.0, 1e9] {
            series.observe(0, value);
        }
        let (_, histogram) = series.histograms().next().unwrap();
        assert_eq!(histogram.buckets().collect::<Vec<_>>(), [2, 2, 1, 1]);
        assert_eq!((histogram.count, histogram.least, histogram.most), (6, 0.0, 1e9));
        for n in 0..1000 {
            series.observe(n, 1.0);
        }
        assert_eq!(series.histograms().count(), MAX_HISTOGRAMS);
    }
}
