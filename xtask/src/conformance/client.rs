//! The program as a client: `converse mcp probe` against the suite's servers, without a baseline.

use std::fs;
use std::path::{Path, PathBuf};

use super::outcome::Outcome;
use super::suite::Suite;
use super::{Options, contract};
use crate::interop::process::Ran;
use crate::{Result, built};

/// How many scenarios each revision requires of clients: a suite that asks for fewer proves less.
const REQUIRED: [(&str, usize); 2] = [("2025-11-25", 18), ("2026-07-28", 32)];

pub(super) fn run(options: &Options, suite: &Suite) -> Result<Vec<Outcome>> {
    let binary = options.binary.clone().map_or_else(|| built::program(&[]), Ok)?;
    let command = contract::command(&binary)?;
    let mut outcomes = Vec::new();
    for revision in options.revisions() {
        let required = suite.required("client", revision)?;
        let expected = REQUIRED.iter().find(|(known, _)| *known == revision).map(|(_, count)| *count);
        if expected != Some(required.len()) {
            let message = format!("the suite requires {} scenarios of {revision}", required.len());
            return Err(format!("{message}, and {expected:?} are known").into());
        }
        let named = options.scenarios();
        let meant = required.iter().filter(|one| named.is_empty() || named.contains(&one.as_str()));
        let meant: Vec<&str> = meant.map(String::as_str).collect();
        let tried = Trial {
            suite,
            command: &command,
            revision,
            results: suite.dir.join(format!("client-{revision}")),
        };
        outcomes.extend(tried.run(&meant, named.is_empty())?);
    }
    Ok(outcomes)
}

/// One revision.
struct Trial<'a> {
    suite: &'a Suite,
    command: &'a str,
    revision: &'static str,
    results: PathBuf,
}

impl Trial<'_> {
    fn run(&self, scenarios: &[&str], all: bool) -> Result<Vec<Outcome>> {
        if self.results.exists() {
            fs::remove_dir_all(&self.results)?;
        }
        fs::create_dir_all(&self.results)?;
        if all {
            self.start(&["--requirements", self.revision], &self.results)?;
        } else {
            for scenario in scenarios {
                self.start(&["--scenario", scenario, "--spec-version", self.revision], &self.results)?;
            }
        }
        let mut outcomes = Vec::new();
        for scenario in scenarios {
            let mut outcome = Outcome::read(&self.results, "client", self.revision, scenario)?;
            outcome.wrong.extend(self.ended_badly(scenario)?);
            outcomes.push(outcome);
        }
        Ok(outcomes)
    }

    fn start(&self, what: &[&str], results: &Path) -> Result<Ran> {
        let place = results.to_string_lossy();
        let words = [&["client", "--command", self.command][..], what, &["-o", &place]].concat();
        let exits = self.exits();
        self.suite.run_with(&words, &[(contract::EXITS, exits.as_os_str())])
    }

    fn exits(&self) -> PathBuf {
        self.results.join("exits")
    }

    /// The suite minds how its client ended only when it runs one scenario alone, and knows which of them a client may
    /// well fail in: those that failed are asked for again.
    fn ended_badly(&self, scenario: &str) -> Result<Option<String>> {
        let exits = fs::read_to_string(self.exits()).unwrap_or_default();
        let ended = exits.lines().filter_map(|line| line.split_once(' ')).find(|(name, _)| *name == scenario);
        let Some((_, code)) = ended else { return Ok(Some("the program was never started".to_owned())) };
        if code == "0" {
            return Ok(None);
        }
        let again = self
            .start(&["--scenario", scenario, "--spec-version", self.revision], &self.results.join("again"))?;
        Ok((again.code != Some(0)).then(|| format!("the program ended with exit {code}")))
    }
}
