//! The verdict over all outcomes.

use converse_ensemble::tool_tests::{TestKind, TestOutcome, TestStatus};

use crate::failure::{Failure, Kind};
use crate::secrets::Redactor;
use converse_text::wording::counted;

/// How tests come to be, for people.
pub const HOW_TO_ADD_TESTS: &str =
    "add `[[tests]]` to the file of an invoker, or generate calls from the schemas with `--synth`";

/// Succeeds if no test failed and every name was tested. A name of which everything was skipped was not tested.
pub fn verdict(names: &[String], outcomes: &[TestOutcome], redactor: &Redactor) -> Result<(), Failure> {
    let count = |wanted: fn(&TestStatus) -> bool| outcomes.iter().filter(|one| wanted(&one.status)).count();
    let failed = count(|status| matches!(status, TestStatus::Failed(_)));
    let lost = count(|status| matches!(status, TestStatus::Error(_)));
    let untested: Vec<&str> =
        names.iter().map(String::as_str).filter(|name| !is_tested(&redactor.clean(name), outcomes)).collect();
    let mut also = String::new();
    if !untested.is_empty() {
        also.push_str(&format!("; no test of {} ran", untested.join(", ")));
    }
    match (failed, lost) {
        (0, 0) if !untested.is_empty() => Err(nothing_of(&untested, outcomes)),
        (0, 0) if outcomes.is_empty() || outcomes.iter().any(|one| one.status == TestStatus::Passed) => {
            Ok(())
        }
        (0, 0) => Err(no_tests("no test ran: all were skipped".to_owned())),
        (0, lost) => {
            let lost = counted(lost, "ensemble");
            let message = format!("{lost} could not be connected, and not tested{also}");
            Err(Failure::new(Kind::Ensemble, "ensemble", message))
        }
        (failed, lost) => {
            if lost > 0 {
                also.push_str(&format!("; {} with connecting", counted(lost, "problem")));
            }
            let message = format!("{failed} of {} tests failed{also}", outcomes.len());
            Err(Failure::new(Kind::Configuration, "tests-failed", message))
        }
    }
}

/// Whether something with this name was tested, and not only skipped.
fn is_tested(name: &str, outcomes: &[TestOutcome]) -> bool {
    let ensemble = name.split_once('.').map_or(name, |(ensemble, _)| ensemble);
    outcomes.iter().any(|one| match &one.status {
        TestStatus::Skipped(_) => false,
        _ if one.kind == TestKind::Connecting => one.ensemble == ensemble,
        _ => is_of(name, one),
    })
}

fn is_of(name: &str, outcome: &TestOutcome) -> bool {
    outcome.ensemble == name || outcome.subject() == name
}

fn nothing_of(names: &[&str], outcomes: &[TestOutcome]) -> Failure {
    let all = names.join(", ");
    let skipped = names.iter().any(|name| outcomes.iter().any(|one| is_of(name, one)));
    no_tests(match skipped {
        true => format!("no test of {all} ran: all were skipped"),
        false => format!("there are no tests of {all}"),
    })
}

fn no_tests(message: String) -> Failure {
    Failure::usage("no-tests", message).hint(HOW_TO_ADD_TESTS)
}
