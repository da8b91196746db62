//! The environments of all programs that were started while the tests ran, as strace saw them.
//!
//! A test hands its secrets to the program, and tells each run from all others by a variable. Whoever else has a secret
//! was handed it by the program, also one that was handed the variable too. What a descriptor hands on begins with
//! `granted-`, and programs between the test and the program (a shell, `setsid`) hand on everything, as they have to.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use super::needles::Needle;
use super::search::Leak;
use crate::Result;

/// For a child, by a descriptor: the mark behind it is none.
const GRANTED: &str = "granted-canary-0123456789";
const RUN: &str = "\"CONVERSE_TEST_RUN=";
/// What may stand between a test and the program.
const BETWEEN: [&str; 4] = ["bash", "sh", "setsid", "without-landlock"];

#[derive(Debug, Default)]
pub(super) struct Started {
    pub(super) programs: usize,
    /// Whose environments were looked at: not started by a test.
    pub(super) children: usize,
    /// Secrets that a descriptor hands on.
    pub(super) granted: usize,
    pub(super) leaks: Vec<Leak>,
}

pub(super) fn all(trace: &Path, needles: &[Needle]) -> Result<Started> {
    let (mut started, mut runs) = (Started::default(), HashMap::new());
    for line in BufReader::new(File::open(trace)?).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        let Some(call) = line.split_once(" execve(").map(|(_, call)| call) else { continue };
        started.programs += 1;
        if is_of_a_test(call, &mut runs) {
            continue;
        }
        started.children += 1;
        // What it was called with is seen by everybody as well.
        let text = call.replace(GRANTED, "granted");
        started.granted += usize::from(text != call);
        let told = |needle: &&Needle| text.contains(&needle.text);
        if let Some(needle) = needles.iter().find(told) {
            let around = call.chars().take(200).collect();
            started.leaks.push(Leak { file: trace.to_owned(), how: needle.how, around });
        }
    }
    Ok(started)
}

/// The first one with the variable of a run, and what is behind a shell.
fn is_of_a_test(call: &str, runs: &mut HashMap<String, bool>) -> bool {
    let run = call.split_once(RUN).and_then(|(_, rest)| rest.split_once('"')).map(|(run, _)| run);
    let Some(run) = run else { return false };
    if let Some(is_between) = runs.get(run) {
        return *is_between;
    }
    let words = call.split_once("], [").map_or(call, |(words, _)| words);
    let program = words.split('"').nth(1).and_then(|path| path.rsplit('/').next()).unwrap_or_default();
    let is_between = |name: &str| program == name || words.contains(&format!("\"{name}\""));
    runs.insert(run.to_owned(), BETWEEN.iter().any(|name| is_between(name)));
    true
}

#[cfg(test)]
mod tests {
    use super::super::needles::needles;
    use super::*;

    #[test]
    fn who_was_handed_a_key_by_the_program_is_told_from_who_has_it_from_a_test() {
        let directory = tempfile::tempdir().unwrap();
        let trace = directory.path().join("trace");
        let key = "\"A_KEY=sk-canary-0123456789abcdef\"";
        let lines = [
            format!("1 execve(\"/b/converse\", [\"converse\"], [{key}, \"CONVERSE_TEST_RUN=1-0\"]) = 0"),
            "2 execve(\"/bin/cat\", [\"cat\"], [\"A=b\"] <unfinished ...>".to_owned(),
            format!("1 execve(\"/bin/bash\", [\"bash\"], [{key}, \"CONVERSE_TEST_RUN=1-1\"]) = 0"),
            format!("1 execve(\"/b/converse\", [\"converse\"], [{key}, \"CONVERSE_TEST_RUN=1-1\"]) = 0"),
            "3 execve(\"/bin/cat\", [\"cat\"], [\"A=granted-canary-0123456789\"]) = 0".to_owned(),
            "3 execve(\"/bin/vi\", [\"vi\"], [\"CONVERSE_TEST_RUN=1-0\"]) = 0".to_owned(),
            "3 +++ exited with 0 +++".to_owned(),
        ];
        let leaks = [
            format!("4 execve(\"/bin/one\", [\"one\"], [\"X=1\", {key}] <unfinished ...>"),
            "5 execve(\"/bin/two\", [\"two\", \"canary-0123456789\"], []) = -1 ENOENT".to_owned(),
            format!("6 execve(\"/bin/three\", [\"three\"], [{key}, \"CONVERSE_TEST_RUN=1-0\"]) = 0"),
        ];
        std::fs::write(&trace, [&lines[..], &leaks].concat().join("\n")).unwrap();
        let started = all(&trace, &needles()).unwrap();
        assert_eq!((started.programs, started.children, started.granted), (9, 6, 1));
        let told: Vec<_> = started.leaks.iter().map(|leak| leak.around.get(..9)).collect();
        assert_eq!(told, [Some("\"/bin/one"), Some("\"/bin/two"), Some("\"/bin/thr")]);
    }
}
