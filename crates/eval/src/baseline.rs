//! A baseline: the pass rates of an earlier run, and what is worse now. Pure.

use std::collections::BTreeMap;

use converse_text::safe_line;
use converse_text::wording::counted;
use serde::{Deserialize, Serialize};

use crate::statistics::Rate;
use crate::tally::Tally;

/// Rows that a warning lists.
const LISTED: usize = 12;
/// Characters of a name.
const SHOWN: usize = 60;

/// The pass rates of a run, as they are in a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baseline {
    pub suite: String,
    pub results: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub case: String,
    /// `provider/model`.
    pub model: String,
    pub passed: u32,
    pub runs: u32,
}

/// A case of a model whose pass rate has changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Index into the rows of the tally.
    pub row: usize,
    pub before: Rate,
    pub now: Rate,
}

/// What a comparison with a baseline has found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Comparison {
    /// Pass rates that fell by more than the threshold.
    pub worse: Vec<Change>,
    /// Pass rates that rose by more than the threshold.
    pub better: Vec<Change>,
    /// Rows that the baseline does not have.
    pub new: Vec<usize>,
}

impl Baseline {
    /// Returns the pass rates of a run. What could not be judged is left out.
    pub fn of(suite: &str, tally: &Tally<'_>) -> Self {
        let rows = tally.rows.iter().filter(|row| row.rate().runs > 0);
        let entry = |row: &crate::tally::Row<'_>| {
            let Rate { passed, runs } = row.rate();
            Entry { case: row.case.name.clone(), model: row.model.to_owned(), passed, runs }
        };
        Self { suite: suite.to_owned(), results: rows.map(entry).collect() }
    }

    /// Returns a warning of the rows that a baseline of this run does not have; `None` if it has all.
    pub fn left_out(tally: &Tally<'_>) -> Option<String> {
        let rows: Vec<String> = tally
            .rows
            .iter()
            .filter(|row| row.rate().runs == 0)
            .map(|row| format!("`{}` with {}", safe_line(&row.case.name, SHOWN), safe_line(row.model, SHOWN)))
            .collect();
        let more = if rows.len() > LISTED { ", …" } else { "" };
        let listed = rows.iter().take(LISTED).map(String::as_str).collect::<Vec<_>>().join(", ");
        (!rows.is_empty()).then(|| {
            format!(
                "warning: not in the baseline, because no run could be judged: {}: {listed}{more}",
                counted(rows.len(), "case")
            )
        })
    }

    /// Compares a run with this baseline. `threshold` is the change of a pass rate that does not count, from 0 to 1.
    pub fn compare(&self, tally: &Tally<'_>, threshold: f64) -> Comparison {
        let known: BTreeMap<(&str, &str), Rate> = self
            .results
            .iter()
            .map(|entry| ((entry.case.as_str(), entry.model.as_str()), entry.rate()))
            .collect();
        let mut comparison = Comparison::default();
        for (number, row) in tally.rows.iter().enumerate() {
            let now = row.rate();
            match known.get(&(row.case.name.as_str(), row.model)) {
                None => comparison.new.push(number),
                Some(_) if now.runs == 0 => {}
                Some(before) => {
                    let change = Change { row: number, before: *before, now };
                    // The tolerance is for rates such as 2/3, which are not exact.
                    match now.share() - before.share() {
                        rise if rise > threshold + 1e-9 => comparison.better.push(change),
                        rise if rise < -threshold - 1e-9 => comparison.worse.push(change),
                        _ => {}
                    }
                }
            }
        }
        comparison
    }
}

impl Entry {
    fn rate(&self) -> Rate {
        Rate { passed: self.passed.min(self.runs), runs: self.runs }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::tests::{suite, tally};

    fn entry(case: &str, passed: u32, runs: u32) -> Entry {
        Entry { case: case.into(), model: "m/x".into(), passed, runs }
    }

    #[test]
    fn only_what_changed_by_more_than_the_threshold_counts() {
        let suite = suite(&["fell", "rose", "same", "new"]);
        let tally = tally(&suite, &["PPF", "PPP", "PPF", "FFF"]);
        let baseline = Baseline {
            suite: "s".into(),
            results: vec![entry("fell", 3, 3), entry("rose", 1, 3), entry("same", 4, 6), entry("gone", 1, 1)],
        };
        let rows = |changes: &[Change]| changes.iter().map(|change| change.row).collect::<Vec<_>>();
        let strict = baseline.compare(&tally, 0.0);
        assert_eq!((rows(&strict.worse), rows(&strict.better), strict.new), (vec![0], vec![1], vec![3]));
        let lax = baseline.compare(&tally, 0.34);
        assert_eq!((rows(&lax.worse), rows(&lax.better)), (vec![], vec![1]));
        assert_eq!(Baseline::of("s", &tally).results[0], entry("fell", 2, 3));
    }

    #[test]
    fn what_could_not_be_judged_is_named() {
        let suite = suite(&["good", "partly", "odd", "worse"]);
        let warned = |runs: &[&str]| Baseline::left_out(&tally(&suite, runs));
        assert_eq!(warned(&["PP", "PE", "FF", "PF"]), None);
        assert_eq!(
            warned(&["PP", "PE", "EE", "EE"]).unwrap(),
            "warning: not in the baseline, because no run could be judged: 2 cases: `odd` with m/x, `worse` with m/x"
        );
    }
}
