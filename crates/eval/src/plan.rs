//! What runs: each case with each model, so many times. Pure.

use std::path::{Path, PathBuf};

use crate::suite::Suite;

/// One conversation to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Planned {
    /// Index into the cases of the suite.
    pub case: usize,
    /// Index into the models.
    pub model: usize,
    /// From 1.
    pub run: u32,
}

/// Returns all runs, case by case. `filter` is a part of the names of the cases that run.
pub fn plan(suite: &Suite, models: usize, repeat: u32, filter: Option<&str>) -> Vec<Planned> {
    let is_chosen = |name: &str| filter.is_none_or(|part| name.contains(part));
    let cases = suite.cases.iter().enumerate().filter(|(_, case)| is_chosen(&case.name));
    let runs = |case: usize| {
        (0..models).flat_map(move |model| (1..=repeat).map(move |run| Planned { case, model, run }))
    };
    cases.flat_map(|(case, _)| runs(case)).collect()
}

/// Returns the path of the cassette of one run.
pub fn cassette(directory: &Path, case: &str, model: &str, run: u32) -> PathBuf {
    directory.join(file_name(case)).join(format!("{}.{run}.cassette", file_name(model)))
}

/// Returns a name of a file: a blank becomes `_`, a slash `+`, and what is not a letter, a digit, `-`, `_` or a dot inside
/// the name is percent-encoded.
pub(crate) fn file_name(text: &str) -> String {
    let mut name = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'.' if name.is_empty() => name.push_str("%2E"),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => name.push(char::from(byte)),
            b' ' => name.push('_'),
            b'/' => name.push('+'),
            byte => name.push_str(&format!("%{byte:02X}")),
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_stay_in_their_directory() {
        let directory = Path::new("c");
        for (case, model, path) in [
            ("two words", "openai/gpt-5.1", "c/two_words/openai+gpt-5.1.2.cassette"),
            ("../up", "m", "c/%2E.+up/m.2.cassette"),
            ("..", "é:x", "c/%2E./%C3%A9%3Ax.2.cassette"),
        ] {
            assert_eq!(cassette(directory, case, model, 2), Path::new(path));
        }
    }
}
