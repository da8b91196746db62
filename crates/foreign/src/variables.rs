//! The variables that replace secrets: one name for each value.

use std::collections::{BTreeMap, BTreeSet};

use crate::name::variable;

/// Variables that have a meaning already.
const RESERVED: [&str; 13] = [
    "HOME",
    "LANG",
    "LOGNAME",
    "PATH",
    "PWD",
    "SHELL",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "NODE_OPTIONS",
    "PYTHONPATH",
    "LD_PRELOAD",
];

/// Holds secrets while a file is read, so it does not implement `Debug`.
#[derive(Default)]
pub(crate) struct Variables {
    /// Name to value.
    given: BTreeMap<String, String>,
    /// The name of each value of a server, by preferred name and value.
    known: BTreeMap<(String, String), String>,
    /// The last number that was used after a name.
    numbers: BTreeMap<String, usize>,
    /// Names that the file refers to; their values are unknown.
    referred: BTreeSet<String>,
}

impl Variables {
    pub(crate) fn referring(referred: BTreeSet<String>) -> Self {
        Self { referred, ..Self::default() }
    }

    /// The variable for a value of a server: the preferred name if it is free or has the same value, else with the name of
    /// the server before it, else with a number after that.
    pub(crate) fn lift(&mut self, server: &str, wished: &str, value: &str) -> String {
        let plain = variable(&[wished]);
        let own = variable(&[server, wished]);
        let key = (own.clone(), value.to_owned());
        if let Some(name) = self.known.get(&key) {
            return name.clone();
        }
        let first = self.numbers.get(&own).map_or(2, |number| number + 1);
        let mut names = [(plain, 1), (own.clone(), 1)]
            .into_iter()
            .chain((first..).map(|number| (format!("{own}_{number}"), number)));
        let found = names.find(|(name, _)| self.is_free(name, value));
        let (name, number) = found.unwrap_or_else(|| (own.clone(), 1));
        if number > 1 {
            self.numbers.insert(own, number);
        }
        self.given.insert(name.clone(), value.to_owned());
        self.known.insert(key, name.clone());
        name
    }

    fn is_free(&self, name: &str, value: &str) -> bool {
        let held = self.given.get(name).is_none_or(|held| held == value);
        held && !self.referred.contains(name) && !RESERVED.contains(&name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_name_is_one_value() {
        let mut variables = Variables::referring(BTreeSet::from(["USED".to_owned()]));
        for (server, wished, value, name) in [
            ("a", "TOKEN", "1", "TOKEN"),
            ("b", "TOKEN", "1", "TOKEN"),
            ("b", "TOKEN", "2", "B_TOKEN"),
            ("b", "TOKEN", "3", "B_TOKEN_2"),
            ("a", "USED", "1", "A_USED"),
            ("a", "PATH", "1", "A_PATH"),
            ("a", "my-key", "1", "MY_KEY"),
        ] {
            assert_eq!(variables.lift(server, wished, value), name);
        }
    }
}
