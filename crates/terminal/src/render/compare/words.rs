//! The part for each model, one below the other.

use std::time::Duration;

use super::Report;
use crate::render::json::Passed;

/// One section for each, as they were named; the very answers, for a pipe.
pub fn sections(reports: &[Report]) -> String {
    let section = |report: &Report| {
        let body = body(report);
        format!("## {}\n\n{}\n\n> {}\n> {}\n", report.model, body, took(report), path(report))
    };
    reports.iter().map(section).collect::<Vec<_>>().join("\n")
}

/// The answer, or a note that there is none. The reason is shown elsewhere, in full.
pub(super) fn body(report: &Report) -> String {
    let answer = report.gist.answer.trim_end();
    match &report.failure {
        None if answer.is_empty() => "(no words)".to_owned(),
        None => answer.to_owned(),
        Some(failure) if answer.is_empty() => format!("(no answer: {})", failure.code),
        Some(failure) if report.gist.whole => format!("{answer}\n\n({})", failure.code),
        Some(failure) => format!("{answer}\n\n(broken off: {})", failure.code),
    }
}

/// Time, tokens and costs. Unknown values are not shown as zero.
pub(super) fn took(report: &Report) -> String {
    let tokens = |count: Option<u64>| count.map_or("?".to_owned(), |count| count.to_string());
    let usage = &report.gist.usage;
    let cost = report.gist.cost.map_or("cost unknown".to_owned(), |cost| format!("{} USD", cost.dollars()));
    format!("{} · {} in, {} out · {cost}", short(report.elapsed), tokens(usage.input), tokens(usage.output))
}

/// `search → fetch (shared) → answer`.
pub(super) fn path(report: &Report) -> String {
    let end = if report.failure.is_some() {
        report.failure.as_ref().map_or("", |failure| failure.code)
    } else {
        "answer"
    };
    let steps = report.gist.path.iter().map(step).chain([end.to_owned()]);
    steps.collect::<Vec<_>>().join(" → ")
}

fn step(passed: &Passed) -> String {
    let tool = passed.tool.split_once("__").map_or(passed.tool.as_str(), |(_, tool)| tool);
    let remarks: Vec<&str> =
        [passed.shared.then_some("shared"), passed.outcome.filter(|outcome| *outcome != "success")]
            .into_iter()
            .flatten()
            .collect();
    if remarks.is_empty() { tool.to_owned() } else { format!("{tool} ({})", remarks.join(", ")) }
}

fn short(elapsed: Duration) -> String {
    match elapsed.as_millis() {
        ms if ms < 1000 => format!("{ms} ms"),
        _ => format!("{:.1} s", elapsed.as_secs_f64()),
    }
}
