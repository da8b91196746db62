//! Names of ensembles for the names in a file: cleaned and unique.

use std::collections::BTreeSet;

use converse_canister::EnsembleName;

/// Bytes of an ensemble's name.
const MAX_NAME: usize = 64;

/// Gives each server a unique name. Valid names are kept, in whatever order they come.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// In lower case: two files whose names differ in capitals only are one file on some disks.
    taken: BTreeSet<String>,
}

impl Names {
    /// Reserves the valid names.
    pub(crate) fn of<'n>(names: impl Iterator<Item = &'n str>) -> Self {
        let good = names.filter(|name| EnsembleName::new(*name).is_ok());
        Self { taken: good.map(str::to_ascii_lowercase).collect() }
    }

    /// `first`: this name is given for the first time.
    pub(crate) fn give(&mut self, wished: &str, first: bool) -> String {
        if first && EnsembleName::new(wished).is_ok() {
            return wished.to_owned();
        }
        let stem = cleaned(wished);
        if self.taken.insert(stem.to_ascii_lowercase()) {
            return stem;
        }
        let mut number = 2_usize;
        loop {
            let suffix = format!("-{number}");
            let short = stem.get(..stem.len().min(MAX_NAME - suffix.len())).unwrap_or_default();
            let name = format!("{short}{suffix}");
            if self.taken.insert(name.to_ascii_lowercase()) {
                return name;
            }
            number += 1;
        }
    }
}

/// ASCII letters, digits, `_` and `-`; a run of anything else becomes one `-`.
pub(crate) fn cleaned(name: &str) -> String {
    let mut clean = String::new();
    for c in name.chars() {
        match c {
            c if c.is_ascii_alphanumeric() => clean.push(c),
            '_' if !clean.is_empty() => clean.push('_'),
            _ if clean.is_empty() || clean.ends_with('-') => {}
            _ => clean.push('-'),
        }
        if clean.len() >= MAX_NAME {
            break;
        }
    }
    let clean = clean.trim_end_matches('-');
    if clean.is_empty() { "server".to_owned() } else { clean.to_owned() }
}

/// The name of an environment variable, made of these words.
pub(crate) fn variable(words: &[&str]) -> String {
    let mut name = String::new();
    for word in words.iter().filter(|word| !word.is_empty()) {
        if !name.is_empty() {
            name.push('_');
        }
        name.extend(
            word.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }),
        );
    }
    let short = name.get(..name.len().min(128)).unwrap_or_default().trim_matches('_');
    match short.chars().next() {
        None => "VALUE".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("V_{short}"),
        Some(_) => short.to_owned(),
    }
}

/// Whether this is a valid name of an environment variable.
pub(crate) fn is_variable(name: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.len() <= 256 && name.starts_with(|c| word(c) && !c.is_ascii_digit()) && name.chars().all(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cleaned() {
        for (name, clean) in [
            ("github", "github"),
            ("My Server", "My-Server"),
            ("io.github.user/weather", "io-github-user-weather"),
            ("../../etc/passwd", "etc-passwd"),
            ("погода", "server"),
            ("--x--", "x"),
            ("_a_b_", "a_b_"),
            ("", "server"),
        ] {
            assert_eq!(cleaned(name), clean, "{name}");
            assert!(EnsembleName::new(cleaned(name)).is_ok());
        }
        assert_eq!(cleaned(&"x/".repeat(500)).len(), 63);
    }

    #[test]
    fn no_two_are_the_same() {
        let wished = ["a b", "a-b", "A/B", "a.b", "погода", "сервер", "server"];
        let mut names = Names::of(wished.iter().copied());
        let given: Vec<String> = wished.iter().map(|name| names.give(name, true)).collect();
        assert_eq!(given, ["a-b-2", "a-b", "A-B-3", "a-b-4", "server-2", "server-3", "server"]);
        assert_eq!(names.give("a-b", false), "a-b-5");
    }

    #[test]
    fn variables_are_named() {
        assert_eq!(variable(&["git hub", "X-Api-Key"]), "GIT_HUB_X_API_KEY");
        assert_eq!(variable(&["9x"]), "V_9X");
        assert_eq!(variable(&["", "é"]), "VALUE");
        assert!(is_variable("A_1") && !is_variable("1A") && !is_variable("A-B") && !is_variable(""));
    }
}
