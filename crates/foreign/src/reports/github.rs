//! Workflow commands, which GitHub shows at their lines of a pull request.
//! <https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands> (checked 2026-11)
//!
//! A command is one line, so nothing from a descriptor may end it: what is foreign is escaped as the runner undoes it.

use converse_text::safe;

use super::{Report, in_full};
use converse_config::{Finding, Severity};

/// Formats the findings as workflow commands.
pub fn github(report: &Report<'_>) -> String {
    report.findings.iter().map(|finding| command(report, finding)).collect()
}

fn command(report: &Report<'_>, finding: &Finding) -> String {
    let word = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let place = report.relative(&finding.file);
    let mut properties = vec![format!("file={}", property(place.name()))];
    properties.extend(finding.line.map(|line| format!("line={line}")));
    properties.extend(finding.column.map(|column| format!("col={column}")));
    properties.push(format!("title={}", property(finding.code.as_str())));
    format!("::{word} {}::{}\n", properties.join(","), data(&in_full(finding)))
}

fn data(text: &str) -> String {
    safe(text).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reports::samples;

    #[test]
    fn each_finding_is_one_command() {
        let text = samples::report(&samples::findings(), github);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 5);
        assert_eq!(
            lines[0],
            "::error file=ensembles/a b%25%2C%3A.toml,line=3,col=7,title=syntax::this is no TOML: `<&\"%25,:`%0A\
             hint: write `key = value` on one line, and texts in quotes"
        );
        assert!(
            lines[3].starts_with("::warning file=/elsewhere/é.toml,title=too-large::too"),
            "{}",
            lines[3]
        );
        assert!(lines.iter().all(|line| !line.contains(['\u{1b}', '\r'])), "{text:?}");
        assert!(lines[3].contains("%0Alarge"), "{}", lines[3]);
    }
}
