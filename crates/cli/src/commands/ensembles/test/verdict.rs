//! What all the tests come to: the exit code.
//!
//! Well is only what has passed. Whoever names something expects that it is tested, so what is named and was neither
//! well nor amiss is a failure too.

use super::done::{Done, End, Sort};
use converse_host::failure::{Failure, Kind};
use converse_host::wording::counted;
use converse_terminal::console::Console;

const HOW: &str =
    "`[[tests]]` in the file of an invoker makes one; `--synth` makes calls from the schemas of tools";

pub(super) fn of(names: &[String], done: &[Done], console: &Console) -> Result<(), Failure> {
    let count = |wanted: fn(&End) -> bool| done.iter().filter(|done| wanted(&done.end)).count();
    let failed = count(|end| matches!(end, End::Failed(_)));
    let lost = count(|end| matches!(end, End::Error(_)));
    let untested: Vec<&str> = names
        .iter()
        .map(String::as_str)
        .filter(|name| !is_told(&console.context.redactor.clean(name), done))
        .collect();
    let mut also = String::new();
    if !untested.is_empty() {
        also.push_str(&format!("; nothing was tested of {}", untested.join(", ")));
    }
    match (failed, lost) {
        (0, 0) if !untested.is_empty() => Err(nothing_of(&untested, done)),
        (0, 0) if done.iter().any(|done| done.end == End::Passed) => Ok(()),
        (0, 0) if done.is_empty() => {
            console.note(&format!("note: you have no tests; {HOW}; `converse ensembles test io` runs those of an ensemble in the binary"));
            Ok(())
        }
        (0, 0) => Err(no_tests("nothing could be tested: all was skipped".to_owned())),
        (0, lost) => {
            let lost = counted(lost, "ensemble");
            let message = format!("{lost} could not be connected, and not tested{also}");
            Err(Failure::new(Kind::Ensemble, "ensemble", message))
        }
        (failed, lost) => {
            if lost > 0 {
                also.push_str(&format!("; {} with connecting", counted(lost, "problem")));
            }
            let message = format!("{failed} of {} tests failed{also}", done.len());
            Err(Failure::new(Kind::Configuration, "tests-failed", message))
        }
    }
}

/// Is there anything to know about what has this name? That it was skipped is nothing.
fn is_told(name: &str, done: &[Done]) -> bool {
    let ensemble = name.split_once('.').map_or(name, |(ensemble, _)| ensemble);
    done.iter().any(|done| match &done.end {
        End::Skipped(_) => false,
        _ if done.sort == Sort::Connecting => done.ensemble == ensemble,
        _ => is_of(name, done),
    })
}

fn is_of(name: &str, done: &Done) -> bool {
    done.ensemble == name || done.subject() == name
}

fn nothing_of(names: &[&str], done: &[Done]) -> Failure {
    let all = names.join(", ");
    let skipped = names.iter().any(|name| done.iter().any(|done| is_of(name, done)));
    no_tests(match skipped {
        true => format!("nothing could be tested of {all}: all was skipped"),
        false => format!("there are no tests of {all}"),
    })
}

fn no_tests(message: String) -> Failure {
    Failure::usage("no-tests", message).hint(HOW)
}
