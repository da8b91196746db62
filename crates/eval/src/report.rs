//! Reports of a run: text, Markdown, JUnit, JSON lines. Pure.

mod junit;
mod markdown;
mod text;

use converse_canister::Cost;

use crate::baseline::Comparison;
use crate::statistics::{Rate, mean_pass_hat};
use crate::tally::{RowStatus, Tally};

/// What reports are made of.
#[derive(Debug, Clone, Copy)]
pub struct Report<'a> {
    /// The name of the suite.
    pub name: &'a str,
    /// The file of the suite, as it was named.
    pub file: &'a str,
    pub tally: &'a Tally<'a>,
    /// `None` without a baseline.
    pub comparison: Option<&'a Comparison>,
}

impl Report<'_> {
    /// Returns the report for people.
    pub fn text(&self) -> String {
        text::text(self)
    }

    /// Returns the report as Markdown, for a comment or the summary of a job.
    pub fn markdown(&self) -> String {
        markdown::markdown(self)
    }

    /// Returns the report as JUnit XML.
    pub fn junit(&self) -> String {
        junit::document(self)
    }

    /// Returns the figures of each model.
    fn figures(&self) -> Vec<Figures<'_>> {
        let k = self.tally.most_runs();
        let of = |model| {
            let rows = || self.tally.of_model(model);
            Figures {
                model,
                passed: rows().filter(|row| row.status() == RowStatus::Passed).count(),
                cases: rows().count(),
                rate: rows().fold(Rate::default(), |sum, row| sum.plus(row.rate())),
                pass_hat: mean_pass_hat(rows().map(|row| row.rate()), k)
                    .filter(|_| k > 1)
                    .map(|mean| (k, mean)),
                cost: rows().fold(Cost(0), |sum, row| sum.plus(row.cost())),
                milliseconds: rows().map(|row| row.milliseconds()).sum(),
            }
        };
        self.tally.models.iter().map(String::as_str).map(of).collect()
    }
}

/// The figures of one model.
struct Figures<'a> {
    model: &'a str,
    /// Cases that passed.
    passed: usize,
    cases: usize,
    rate: Rate,
    /// `k` and the mean of pass^k over the cases, if cases ran more than once.
    pass_hat: Option<(u32, f64)>,
    cost: Cost,
    milliseconds: u64,
}

impl Figures<'_> {
    /// `67 % (35–88 %)`
    fn rate_text(&self) -> String {
        let (low, high) = self.rate.interval();
        let percent = |share: f64| (share * 100.0).round();
        if self.rate.runs == 0 {
            return "–".to_owned();
        }
        format!("{} % ({}–{} %)", percent(self.rate.share()), percent(low), percent(high))
    }

    fn cost_text(&self) -> String {
        format!("{} USD", self.cost.dollars())
    }

    fn time_text(&self) -> String {
        format!("{:.1} s", self.milliseconds as f64 / 1000.0)
    }
}

fn word(status: RowStatus) -> &'static str {
    match status {
        RowStatus::Passed => "ok",
        RowStatus::Failed => "FAILED",
        RowStatus::Error => "ERROR",
        RowStatus::NotRun => "not run",
    }
}

/// `run 2` or `runs 1, 3`; nothing if the case was planned to run once.
fn which(runs: &[u32], planned: u32) -> String {
    let numbers: Vec<String> = runs.iter().map(u32::to_string).collect();
    match numbers.as_slice() {
        _ if planned == 1 => String::new(),
        [one] => format!("run {one}: "),
        many => format!("runs {}: ", many.join(", ")),
    }
}

/// The rates of a change: `3 of 3, now 1 of 3`.
fn change_text(change: &crate::baseline::Change) -> String {
    let rate = |rate: Rate| format!("{} of {}", rate.passed, rate.runs);
    format!("{}, now {}", rate(change.before), rate(change.now))
}
