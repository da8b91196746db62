//! Findings for the tests of all formats: with and without a place, and with all that an escape must see to.

use std::path::Path;

use super::Report;
use crate::{Code, Finding, Severity};

pub(super) fn finding(code: Code, message: &str, file: &str, line: Option<usize>) -> Finding {
    let severity = if code == Code::Syntax { Severity::Error } else { Severity::Warning };
    let (message, file) = (message.to_owned(), file.to_owned());
    let hint = Some(code.hint().to_owned());
    Finding { code, severity, message, file, line, column: line.map(|_| 7), hint }
}

pub(super) fn findings() -> Vec<Finding> {
    vec![
        finding(Code::Syntax, "this is no TOML: `<&\"%,:`", "ensembles/a b%,:.toml", Some(3)),
        finding(Code::UnpinnedPackage, "`npx` runs `pkg`", "ensembles/a b%,:.toml", Some(5)),
        finding(Code::UnpinnedPackage, "`npx` runs `pkg`", "ensembles/a b%,:.toml", Some(9)),
        finding(Code::TooLarge, "too\r\nlarge\u{1b}[31m", "/elsewhere/é.toml", None),
        finding(Code::MissingDescription, "no description", "builtin:x.toml", Some(1)),
    ]
}

pub(super) fn report<T>(findings: &[Finding], then: impl Fn(&Report<'_>) -> T) -> T {
    let findings: Vec<&Finding> = findings.iter().collect();
    let mut files: Vec<String> = findings.iter().map(|finding| finding.file.clone()).collect();
    files.push("ensembles/sound.toml".to_owned());
    files.sort();
    files.dedup();
    then(&Report { findings: &findings, files: &files, directory: Path::new("/work") })
}
