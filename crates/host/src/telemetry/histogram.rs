//! The two metrics of the conventions, kept along the run.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::names::{self, SECOND_BOUNDS, TOKEN_BOUNDS};
use super::spans::{Finished, Kind};

/// Sets of attributes; what comes after is not measured.
const MOST_SERIES: usize = 200;

/// Attributes of one series, in their order.
pub(super) type Attributes = Vec<(&'static str, String)>;

#[derive(Debug)]
pub(super) struct Histograms {
    began: u64,
    delta: bool,
    tokens: BTreeMap<Attributes, Histogram>,
    seconds: BTreeMap<Attributes, Histogram>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Histogram {
    pub(super) count: u64,
    pub(super) sum: f64,
    pub(super) least: f64,
    pub(super) most: f64,
    /// One more than there are bounds.
    pub(super) buckets: Vec<u64>,
}

/// What is told at one time.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) began: u64,
    pub(super) now: u64,
    pub(super) delta: bool,
    pub(super) tokens: BTreeMap<Attributes, Histogram>,
    pub(super) seconds: BTreeMap<Attributes, Histogram>,
}

impl Histograms {
    pub(super) fn new(now: Timestamp, delta: bool) -> Self {
        Self { began: nanoseconds(now), delta, tokens: BTreeMap::new(), seconds: BTreeMap::new() }
    }

    pub(super) fn take(&mut self, turn: &Finished) {
        for span in &turn.spans {
            let Kind::Chat(chat) = &span.kind else { continue };
            let mut attributes = vec![
                (names::OPERATION, names::CHAT.to_owned()),
                (names::PROVIDER, chat.provider.clone()),
                (names::REQUEST_MODEL, chat.asked.clone()),
            ];
            attributes.extend(chat.answered.clone().map(|model| (names::RESPONSE_MODEL, model)));
            for (kind, count) in [("input", chat.usage.input), ("output", chat.usage.output)] {
                let Some(count) = count else { continue };
                let with = |kind: &str| [&attributes[..], &[(names::TOKEN_TYPE, kind.to_owned())]].concat();
                observe(&mut self.tokens, with(kind), count as f64, &TOKEN_BOUNDS);
            }
            attributes.extend(span.error.map(|error| (names::ERROR_TYPE, error.to_owned())));
            let took = span.ended.saturating_sub(span.began) as f64 / 1e9;
            observe(&mut self.seconds, attributes, took, &SECOND_BOUNDS);
        }
    }

    pub(super) fn told(&mut self, now: Timestamp) -> Measured {
        let (began, now) = (self.began, nanoseconds(now));
        let (tokens, seconds) = (self.tokens.clone(), self.seconds.clone());
        if self.delta {
            *self = Self { began: now, delta: true, tokens: BTreeMap::new(), seconds: BTreeMap::new() };
        }
        Measured { began, now, delta: self.delta, tokens, seconds }
    }
}

fn nanoseconds(at: Timestamp) -> u64 {
    u64::try_from(at.as_nanosecond()).unwrap_or_default()
}

fn observe(series: &mut BTreeMap<Attributes, Histogram>, attributes: Attributes, value: f64, bounds: &[f64]) {
    if series.len() >= MOST_SERIES && !series.contains_key(&attributes) {
        return;
    }
    let histogram = series.entry(attributes).or_default();
    histogram.buckets.resize(bounds.len() + 1, 0);
    histogram.least = if histogram.count == 0 { value } else { histogram.least.min(value) };
    histogram.most = histogram.most.max(value);
    histogram.count += 1;
    histogram.sum += value;
    // A bucket holds what is over the bound before it, and its own bound.
    let place = bounds.iter().position(|bound| value <= *bound).unwrap_or(bounds.len());
    histogram.buckets.iter_mut().skip(place).take(1).for_each(|bucket| *bucket += 1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_belongs_to_the_bucket_below_it() {
        let mut series = BTreeMap::new();
        for value in [0.0, 1.0, 1.5, 4.0, 5.0, 1e9] {
            observe(&mut series, vec![], value, &TOKEN_BOUNDS);
        }
        let histogram = &series[&vec![]];
        assert_eq!(histogram.buckets, [2, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!((histogram.count, histogram.least, histogram.most), (6, 0.0, 1e9));
        for n in 0..1000 {
            observe(&mut series, vec![(names::PROVIDER, n.to_string())], 1.0, &TOKEN_BOUNDS);
        }
        assert_eq!(series.len(), MOST_SERIES);
    }
}
