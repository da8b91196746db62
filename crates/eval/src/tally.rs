//! The verdicts of a run, by case and model. Pure.

use converse_canister::Cost;

use crate::plan::Planned;
use crate::statistics::Rate;
use crate::suite::{Case, Suite};
use crate::verdict::{Miss, Status};

/// What is kept of one run.
#[derive(Debug, Clone)]
pub struct Judged {
    /// From 1.
    pub run: u32,
    pub status: Status,
    pub cost: Cost,
    pub milliseconds: u64,
}

/// The runs of one case with one model.
#[derive(Debug)]
pub struct Row<'s> {
    pub case: &'s Case,
    pub model: &'s str,
    pub runs: Vec<Judged>,
    /// Runs that were planned.
    pub planned: u32,
}

/// All runs.
#[derive(Debug)]
pub struct Tally<'s> {
    pub models: &'s [String],
    /// In the order of the suite, the models of a case one after the other.
    pub rows: Vec<Row<'s>>,
}

/// How a row is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowStatus {
    Passed,
    Failed,
    /// Runs could not be judged.
    Error,
    /// Nothing ran.
    NotRun,
}

impl<'s> Tally<'s> {
    /// Returns a tally without runs.
    pub fn new(suite: &'s Suite, models: &'s [String], plan: &[Planned]) -> Self {
        let mut rows: Vec<Row<'s>> = Vec::new();
        let mut last = None;
        for Planned { case, model, .. } in plan {
            if last != Some((case, model)) {
                last = Some((case, model));
                let found = suite.cases.get(*case).zip(models.get(*model));
                rows.extend(found.map(|(case, model)| Row { case, model, runs: Vec::new(), planned: 0 }));
            }
            if let Some(row) = rows.last_mut() {
                row.planned += 1;
            }
        }
        Self { models, rows }
    }

    /// Adds a run of this case and model.
    pub fn add(&mut self, case: &str, model: &str, judged: Judged) {
        let row = self.rows.iter_mut().find(|row| row.case.name == case && row.model == model);
        if let Some(row) = row {
            let place = row.runs.partition_point(|known| known.run < judged.run);
            row.runs.insert(place, judged);
        }
    }

    /// Returns the rows of a model.
    pub fn of_model<'t>(&'t self, model: &'t str) -> impl Iterator<Item = &'t Row<'s>> + Clone {
        self.rows.iter().filter(move |row| row.model == model)
    }

    /// Returns the number of rows that are judged like this.
    pub fn count(&self, status: RowStatus) -> usize {
        self.rows.iter().filter(|row| row.status() == status).count()
    }

    /// Returns the most runs that a row has: the largest `k` of pass^k.
    pub fn most_runs(&self) -> u32 {
        self.rows.iter().map(|row| row.rate().runs).max().unwrap_or_default()
    }
}

impl Row<'_> {
    /// Counts the runs that were judged.
    pub fn rate(&self) -> Rate {
        let count = |word: &str| self.runs.iter().filter(|run| run.status.as_str() == word).count();
        let passed = u32::try_from(count("passed")).unwrap_or(u32::MAX);
        Rate { passed, runs: passed.saturating_add(u32::try_from(count("failed")).unwrap_or(u32::MAX)) }
    }

    pub fn errors(&self) -> usize {
        self.runs.iter().filter(|run| matches!(run.status, Status::Error(_))).count()
    }

    /// A row whose runs could partly not be judged is an error, unless those that were judged fail it anyway.
    pub fn status(&self) -> RowStatus {
        let rate = self.rate();
        let is_met = rate.share() + 1e-9 >= self.case.pass_rate;
        match rate.runs {
            0 if self.errors() == 0 => RowStatus::NotRun,
            1.. if !is_met => RowStatus::Failed,
            _ if self.errors() > 0 => RowStatus::Error,
            _ => RowStatus::Passed,
        }
    }

    pub fn cost(&self) -> Cost {
        self.runs.iter().fold(Cost(0), |sum, run| sum.plus(run.cost))
    }

    pub fn milliseconds(&self) -> u64 {
        self.runs.iter().map(|run| run.milliseconds).sum()
    }

    /// Returns each distinct miss with the runs that have it.
    pub fn misses(&self) -> Vec<(&Miss, Vec<u32>)> {
        let mut misses: Vec<(&Miss, Vec<u32>)> = Vec::new();
        for run in &self.runs {
            for miss in run.status.misses() {
                match misses.iter_mut().find(|(known, _)| *known == miss) {
                    Some((_, runs)) => runs.push(run.run),
                    None => misses.push((miss, vec![run.run])),
                }
            }
        }
        misses
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::plan::plan;
    use crate::verdict::Miss;

    /// A suite of one model whose cases have these names.
    pub(crate) fn suite(cases: &[&str]) -> Suite {
        let case = |(number, name): (usize, &&str)| Case {
            name: (*name).to_owned(),
            line: number + 1,
            conversation: converse_batch::Line::parse(r#"{"id":"1","prompt":"x"}"#, None).unwrap(),
            ensembles: Vec::new(),
            schema: None,
            pass_rate: 1.0,
            limits: crate::suite::CaseLimits::default(),
            expect: crate::suite::Expect::default(),
        };
        Suite {
            models: vec!["m/x".into()],
            cases: cases.iter().enumerate().map(case).collect(),
            ..Suite::default()
        }
    }

    /// The runs of each case: `P` passed, `F` failed, `E` an error.
    pub(crate) fn tally<'s>(suite: &'s Suite, runs: &[&str]) -> Tally<'s> {
        let repeat = runs.iter().map(|runs| runs.len()).max().unwrap();
        let planned = plan(suite, 1, u32::try_from(repeat).unwrap(), None);
        let mut tally = Tally::new(suite, &suite.models, &planned);
        for (case, runs) in suite.cases.iter().zip(runs) {
            for (number, run) in (1..).zip(runs.chars()) {
                let status = match run {
                    'P' => Status::Passed,
                    'F' => Status::Failed(vec![Miss::new("tools.must", "`a.b` was not called; calls: none")]),
                    _ => Status::Error(Miss::new("unreachable", "no answer")),
                };
                let judged = Judged { run: number, status, cost: Cost(100), milliseconds: 10 };
                tally.add(&case.name, "m/x", judged);
            }
        }
        tally
    }

    #[test]
    fn rows_are_judged_by_their_rate() {
        let mut suite = suite(&["a", "b", "c", "d", "e"]);
        suite.cases[1].pass_rate = 2.0 / 3.0;
        let tally = tally(&suite, &["PPF", "PPF", "PPE", "", "FEE"]);
        let found: Vec<RowStatus> = tally.rows.iter().map(Row::status).collect();
        use RowStatus::{Error, Failed, NotRun, Passed};
        assert_eq!(found, [Failed, Passed, Error, NotRun, Failed]);
        assert_eq!(tally.rows[0].misses()[0].1, [3]);
        assert_eq!((tally.rows[2].rate(), tally.most_runs()), (Rate { passed: 2, runs: 2 }, 3));
    }
}
