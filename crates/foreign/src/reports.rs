//! Findings in the formats of other programs: GitHub, SARIF, JUnit. Equal findings give equal bytes.

mod github;

mod sarif;
mod xml;

use std::path::{Component, Path};

use serde_json::Value;

use converse_config::Finding;

pub use github::github;
pub use sarif::sarif;
pub use xml::junit;

/// The findings of a check.
#[derive(Debug, Clone, Copy)]
pub struct Report<'a> {
    /// In the order in which they are shown.
    pub findings: &'a [&'a Finding],
    /// All descriptors that were read, sorted, as they are named in findings.
    pub files: &'a [String],
    /// The working directory, to which names of files are relative.
    pub directory: &'a Path,
}

/// Formats the findings as a JSON array.
pub fn json(report: &Report<'_>) -> Value {
    report.findings.iter().map(|finding| finding.to_json()).collect()
}

/// Returns the message with the hint.
fn in_full(finding: &Finding) -> String {
    match &finding.hint {
        Some(hint) => format!("{}\nhint: {hint}", finding.message),
        None => finding.message.clone(),
    }
}

impl Report<'_> {
    /// Returns the path of a file from the directory, with forward slashes; a file elsewhere keeps its name.
    fn relative<'f>(&self, file: &'f str) -> Place<'f> {
        let path = Path::new(file);
        let below = path.strip_prefix(self.directory).unwrap_or(path);
        let plain = |part: &Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        if file.starts_with("builtin:") || !below.components().all(|part| plain(&part)) {
            return Place::Elsewhere(file);
        }
        let names = below.components().filter_map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        });
        Place::Below(names.collect::<Vec<_>>().join("/"))
    }
}

/// Where a file is.
#[derive(Debug, PartialEq, Eq)]
enum Place<'f> {
    Below(String),
    /// Outside, or in the program.
    Elsewhere(&'f str),
}

impl Place<'_> {
    fn name(&self) -> &str {
        match self {
            Self::Below(name) => name,
            Self::Elsewhere(name) => name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_from_the_directory_that_the_program_runs_in() {
        let directory = Path::new("/srv/repository");
        let report = Report { findings: &[], files: &[], directory };
        for (file, place) in [
            ("ensembles/a.toml", Place::Below("ensembles/a.toml".into())),
            ("./ensembles//a.toml", Place::Below("ensembles/a.toml".into())),
            ("/srv/repository/d/a.toml", Place::Below("d/a.toml".into())),
            ("/srv/other/a.toml", Place::Elsewhere("/srv/other/a.toml")),
            ("../a.toml", Place::Elsewhere("../a.toml")),
            ("d/../../a.toml", Place::Elsewhere("d/../../a.toml")),
            ("builtin:essentials.toml", Place::Elsewhere("builtin:essentials.toml")),
        ] {
            assert_eq!(report.relative(file), place, "{file}");
        }
    }
}

#[cfg(test)]
mod samples {
    //! Findings for the tests of all formats: with and without a place, and with all that an escape must see to.

    use std::path::Path;

    use super::Report;
    use converse_config::{Code, Finding, Severity};

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
}
