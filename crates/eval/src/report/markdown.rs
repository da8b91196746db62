//! The report as GitHub's Markdown. Foreign text is in code spans, in which nothing is a link, a mention or an image.

use std::fmt::Write as _;

use converse_text::safe_line;

use super::{Report, change_text, which, word};
use crate::baseline::Change;
use crate::tally::{Row, RowStatus};

/// Characters of one text.
const SHOWN: usize = 400;

pub(super) fn markdown(report: &Report<'_>) -> String {
    let tally = report.tally;
    let mut text = format!("## Evaluation: {}\n\n", code(report.name));
    let figures = report.figures();
    let k = figures.iter().find_map(|figures| figures.pass_hat).map(|(k, _)| k);
    let pass_hat = |text: &str| k.map_or_else(String::new, |_| format!(" {text} |"));
    let title = k.map_or_else(String::new, |k| format!("pass^{k}"));
    let _ = writeln!(text, "| model | cases | runs | pass rate (95 %) |{} cost | time |", pass_hat(&title));
    let _ = writeln!(text, "| --- | --- | --- | --- |{} --- | --- |", pass_hat("---"));
    for one in &figures {
        let mean = one.pass_hat.map_or_else(|| "–".to_owned(), |(_, mean)| format!("{mean:.2}"));
        let (rate, cost, time) = (one.rate_text(), one.cost_text(), one.time_text());
        let (model, runs) = (code(one.model), one.rate.runs);
        let cases = format!("{} of {}", one.passed, one.cases);
        let _ =
            writeln!(text, "| {model} | {cases} | {runs} | {rate} |{} {cost} | {time} |", pass_hat(&mean));
    }
    if let Some(comparison) = report.comparison {
        text.push('\n');
        let mut list = |what: &str, changes: &[Change]| {
            for change in changes {
                let Some(row) = tally.rows.get(change.row) else { continue };
                let _ = writeln!(text, "- {what}: {}: {}", subject(row), change_text(change));
            }
        };
        list("worse", &comparison.worse);
        list("better", &comparison.better);
    }
    let shown = tally.rows.iter().filter(|row| matches!(row.status(), RowStatus::Failed | RowStatus::Error));
    for row in shown {
        let rate = row.rate();
        let _ = write!(
            text,
            "\n**{}** {}, {} of {} ({}:{})\n\n",
            word(row.status()),
            subject(row),
            rate.passed,
            rate.runs,
            code(report.file),
            row.case.line
        );
        for (miss, runs) in row.misses() {
            let _ =
                writeln!(text, "- {}{}: {}", which(&runs, row.planned), code(&miss.key), code(&miss.message));
        }
    }
    text
}

fn subject(row: &Row<'_>) -> String {
    format!("{} with {}", code(&row.case.name), code(row.model))
}

/// Returns a code span of one line that also fits a cell of a table.
fn code(text: &str) -> String {
    let text = safe_line(&text.replace('\n', " "), SHOWN).replace('`', "'").replace('|', "\\|");
    if text.trim().is_empty() { "` `".to_owned() } else { format!("`{}`", text.trim()) }
}

#[cfg(test)]
mod tests {
    use super::code;
    use crate::report::Report;
    use crate::tally::tests::{suite, tally};

    #[test]
    fn a_report_is_written_like_this() {
        let suite = suite(&["percentage", "weather"]);
        let tally = tally(&suite, &["P", "F"]);
        let report = Report { name: "invoices", file: "suite.toml", tally: &tally, comparison: None };
        assert_eq!(
            report.markdown(),
            "## Evaluation: `invoices`\n\n\
             | model | cases | runs | pass rate (95 %) | cost | time |\n\
             | --- | --- | --- | --- | --- | --- |\n\
             | `m/x` | 1 of 2 | 2 | 50 % (9–91 %) | 0.0002 USD | 0.0 s |\n\n\
             **FAILED** `weather` with `m/x`, 0 of 1 (`suite.toml`:2)\n\n\
             - `tools.must`: `'a.b' was not called; calls: none`\n"
        );
    }

    #[test]
    fn foreign_text_stays_in_its_code_span() {
        for (text, expected) in
            [("a`![x](http://e)`", "`a'![x](http://e)'`"), ("a|b\nc", "`a\\|b c`"), (" ", "` `")]
        {
            assert_eq!(code(text), expected);
        }
    }
}
