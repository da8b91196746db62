//! The report as JUnit XML: a suite for each model, a test for each case.

use std::time::Duration;

use converse_text::junit::{Case, Fault, Sort, Suite, junit};
use converse_text::safe;

use super::{Report, which};
use crate::tally::{Row, RowStatus};

pub(super) fn document(report: &Report<'_>) -> String {
    let suite = |model: &String| {
        let cases = report.tally.of_model(model).map(|row| case(report, row)).collect();
        Suite { name: format!("{} {model}", report.name).trim().to_owned(), cases }
    };
    let suites: Vec<Suite> = report.tally.models.iter().map(suite).collect();
    junit("converse eval", &suites)
}

fn case(report: &Report<'_>, row: &Row<'_>) -> Case {
    let status = row.status();
    let sort = match status {
        RowStatus::Passed => None,
        RowStatus::Failed => Some(Sort::Failure),
        RowStatus::Error => Some(Sort::Error),
        RowStatus::NotRun => Some(Sort::Skipped),
    };
    let place = format!("{}:{}", report.file, row.case.line);
    let fault = |key: &str, message: String| {
        let text = format!("{message}\n--> {place}");
        sort.map(|sort| Fault { sort, kind: key.to_owned(), message, text })
    };
    let mut faults: Vec<Fault> = Vec::new();
    if status == RowStatus::NotRun {
        faults.extend(fault("not-run", "the case was not run".to_owned()));
    }
    if status != RowStatus::Passed {
        faults.extend(row.misses().into_iter().filter_map(|(miss, runs)| {
            let message = format!("{}{}: {}", which(&runs, row.planned), miss.key, safe(&miss.message));
            fault(&miss.key, message)
        }));
    }
    Case {
        class: report.name.to_owned(),
        name: row.case.name.clone(),
        took: Some(Duration::from_millis(row.milliseconds())),
        faults,
        output: format!("{} of {} runs passed", row.rate().passed, row.rate().runs),
    }
}
