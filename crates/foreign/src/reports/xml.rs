//! Findings as a test report: one case for each descriptor, so that a sound one is seen to have been looked at.

use super::{Report, in_full};
use converse_config::{Finding, Severity};
use converse_text::junit::{self, Case, Fault, Sort, Suite};

const NAME: &str = "converse ensembles check";

/// Formats the findings as a JUnit report.
pub fn junit(report: &Report<'_>) -> String {
    let cases = report.files.iter().map(|file| case(report, file)).collect();
    junit::junit(NAME, &[Suite { name: NAME.to_owned(), cases }])
}

fn case(report: &Report<'_>, file: &str) -> Case {
    let of_file = || report.findings.iter().filter(|finding| finding.file == file);
    let is_error = |finding: &&&Finding| finding.severity == Severity::Error;
    let warnings: Vec<String> =
        of_file().filter(|finding| !is_error(finding)).map(|finding| line(finding)).collect();
    Case {
        class: "ensembles".to_owned(),
        name: report.relative(file).name().to_owned(),
        took: None,
        faults: of_file().filter(is_error).map(|finding| fault(finding)).collect(),
        output: warnings.join("\n"),
    }
}

fn fault(finding: &Finding) -> Fault {
    Fault {
        sort: Sort::Failure,
        kind: finding.code.to_string(),
        message: finding.message.clone(),
        text: line(finding),
    }
}

/// As people see it, with the place.
fn line(finding: &Finding) -> String {
    let place = [finding.line, finding.column].into_iter().flatten().map(|number| format!(":{number}"));
    let place: String = place.collect();
    format!("{}{place}: {}[{}]: {}", finding.file, finding.severity.as_str(), finding.code, in_full(finding))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reports::samples;

    #[test]
    fn a_descriptor_is_a_case_and_an_error_a_failure() {
        let xml = samples::report(&samples::findings(), junit);
        assert!(
            xml.contains(
                "<testsuite name=\"converse ensembles check\" tests=\"4\" failures=\"1\" errors=\"0\""
            ),
            "{xml}"
        );
        assert!(
            xml.contains("<testcase classname=\"ensembles\" name=\"ensembles/sound.toml\" time=\"0.000\"/>"),
            "{xml}"
        );
        assert_eq!(xml.matches("<failure ").count(), 1, "{xml}");
        assert_eq!(xml.matches("warning[unpinned-package]").count(), 2, "{xml}");
        assert!(!xml.contains('\u{1b}'), "{xml:?}");
        assert_eq!(samples::report(&[], junit).matches("<testcase ").count(), 1);
    }
}
