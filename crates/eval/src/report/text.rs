//! The report for people: a line for each case and model, then a table of the models.

use std::fmt::Write as _;

use converse_text::{safe, safe_line, width};

use super::{Report, change_text, which, word};
use crate::baseline::Change;
use crate::tally::{Row, RowStatus};

/// Columns of a name.
const SHOWN: usize = 60;

pub(super) fn text(report: &Report<'_>) -> String {
    let mut text = String::new();
    let shown: Vec<(String, String)> = report.tally.rows.iter().map(names).collect();
    let widest = |of: fn(&(String, String)) -> &String| shown.iter().map(|names| width(of(names))).max();
    let widths = (widest(|names| &names.0).unwrap_or(0), widest(|names| &names.1).unwrap_or(0));
    for (row, (case, model)) in report.tally.rows.iter().zip(&shown) {
        let (status, rate) = (row.status(), row.rate());
        let passed = match status {
            RowStatus::NotRun => String::new(),
            _ => format!("{} of {}", rate.passed, rate.runs),
        };
        let (case, model) = (padded(case, widths.0), padded(model, widths.1));
        let line = format!("{:<7} {case}  {model}  {passed}", word(status));
        let _ = writeln!(text, "{}", line.trim_end());
        if status == RowStatus::Failed || status == RowStatus::Error {
            for (miss, runs) in row.misses() {
                let message = safe(&miss.message).replace('\n', "\n          ");
                let _ = writeln!(
                    text,
                    "        {}{}: {message}",
                    which(&runs, row.planned),
                    safe_line(&miss.key, SHOWN)
                );
            }
            let _ = writeln!(text, "        --> {}:{}", safe_line(report.file, 400), row.case.line);
        }
    }
    text.push_str(&models(report));
    text.push_str(&comparison(report));
    text
}

fn names(row: &Row<'_>) -> (String, String) {
    (safe_line(&row.case.name, SHOWN), safe_line(row.model, SHOWN))
}

fn padded(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

fn models(report: &Report<'_>) -> String {
    let figures = report.figures();
    let k = figures.iter().find_map(|figures| figures.pass_hat).map(|(k, _)| format!("pass^{k}"));
    let head = ["model", "cases", "runs", "pass rate (95 %)"].map(str::to_owned).to_vec();
    let tail = ["cost", "time"].map(str::to_owned);
    let mut table = vec![head.into_iter().chain(k.clone()).chain(tail).collect::<Vec<_>>()];
    for one in &figures {
        let cells = [
            safe_line(one.model, SHOWN),
            format!("{} of {}", one.passed, one.cases),
            one.rate.runs.to_string(),
            one.rate_text(),
        ];
        let pass_hat = one.pass_hat.map_or_else(|| "–".to_owned(), |(_, mean)| format!("{mean:.2}"));
        let pass_hat = k.as_ref().map(|_| pass_hat);
        table.push(cells.into_iter().chain(pass_hat).chain([one.cost_text(), one.time_text()]).collect());
    }
    let columns = table.first().map_or(0, Vec::len);
    let widest = |column: usize| table.iter().filter_map(|row| row.get(column)).map(|cell| width(cell)).max();
    let widths: Vec<usize> = (0..columns).map(|column| widest(column).unwrap_or(0)).collect();
    let mut text = "\n".to_owned();
    for row in &table {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, columns)| padded(cell, *columns)).collect();
        let _ = writeln!(text, "{}", cells.join("  ").trim_end());
    }
    text
}

fn comparison(report: &Report<'_>) -> String {
    let Some(comparison) = report.comparison else { return String::new() };
    let mut text = "\n".to_owned();
    let mut list = |what: &str, changes: &[Change]| {
        for change in changes {
            if let Some(row) = report.tally.rows.get(change.row) {
                let (case, model) = names(row);
                let _ = writeln!(text, "{what:<7} {case}  {model}  {}", change_text(change));
            }
        }
    };
    list("WORSE", &comparison.worse);
    list("better", &comparison.better);
    if comparison.worse.is_empty() && comparison.better.is_empty() {
        text.push_str("no pass rate differs from the baseline\n");
    }
    if !comparison.new.is_empty() {
        let _ = writeln!(text, "{} not in the baseline", comparison.new.len());
    }
    text
}

#[cfg(test)]
mod tests {
    use crate::baseline::{Baseline, Entry};
    use crate::report::Report;
    use crate::tally::tests::{suite, tally};

    #[test]
    fn a_report_is_written_like_this() {
        let suite = suite(&["percentage", "weather"]);
        let tally = tally(&suite, &["PPP", "FPF"]);
        let report = Report { name: "s", file: "suite.toml", tally: &tally, comparison: None };
        assert_eq!(
            report.text(),
            "ok      percentage  m/x  3 of 3\n\
             FAILED  weather     m/x  1 of 3\n        \
             runs 1, 3: tools.must: `a.b` was not called; calls: none\n        \
             --> suite.toml:2\n\
             \n\
             model  cases   runs  pass rate (95 %)  pass^3  cost        time\n\
             m/x    1 of 2  6     67 % (30–90 %)    0.50    0.0006 USD  0.1 s\n"
        );
    }

    #[test]
    fn foreign_text_does_not_reach_the_terminal_as_it_is() {
        let suite = suite(&["a\u{1b}[31m"]);
        let tally = tally(&suite, &["F"]);
        let report = Report { name: "s", file: "x\u{1b}.toml", tally: &tally, comparison: None };
        assert!(!report.text().contains('\u{1b}'));
    }

    #[test]
    fn a_comparison_is_listed_by_what_changed() {
        let suite = suite(&["a", "b"]);
        let tally = tally(&suite, &["F", "P"]);
        let entry = |case: &str, passed| Entry { case: case.into(), model: "m/x".into(), passed, runs: 1 };
        let baseline = Baseline { suite: "s".into(), results: vec![entry("a", 1), entry("b", 0)] };
        let comparison = baseline.compare(&tally, 0.0);
        let report = Report { name: "s", file: "f", tally: &tally, comparison: Some(&comparison) };
        let text = report.text();
        assert!(
            text.ends_with("\n\nWORSE   a  m/x  1 of 1, now 0 of 1\nbetter  b  m/x  0 of 1, now 1 of 1\n"),
            "{text}"
        );
    }
}
