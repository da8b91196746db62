//! The protocol's own conformance suite: the program as a client, and as a server.
//!
//! The suite and a Node that is new enough for it come from npm at versions that are written down in
//! `xtask/conformance`. What a revision requires is the suite's word, frozen at its release; nothing is baselined away
//! on the client's side.

mod client;
mod contract;
mod exceptions;
mod outcome;
mod server;
mod suite;

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

pub(crate) use contract::{WRAPPER, run as wrapper};

use self::outcome::{Outcome, table};
use self::suite::Suite;
use crate::{Result, built};

/// What is asked of both sides, oldest first.
const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

#[derive(Debug, Default, PartialEq)]
struct Options {
    binary: Option<PathBuf>,
    /// `client`, `server`, a revision, or the name of a scenario. Nothing: all.
    only: Vec<String>,
}

impl Options {
    fn read(words: &[&str]) -> Result<Self> {
        let mut options = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("`{word}` needs a value"));
            match *word {
                "--binary" => options.binary = Some(std::path::absolute(value()?)?),
                "--only" => options.only.push((*value()?).to_owned()),
                other => return Err(format!("`{other}` is not an option of conformance").into()),
            }
        }
        Ok(options)
    }

    fn has(&self, word: &str) -> bool {
        self.only.iter().any(|only| only == word)
    }

    /// Of several of a kind the one is meant, if none of them is named or this one is.
    fn means(&self, one: &str, kind: &[&str]) -> bool {
        self.has(one) || !kind.iter().any(|other| self.has(other))
    }

    fn revisions(&self) -> impl Iterator<Item = &'static str> {
        REVISIONS.into_iter().filter(|revision| self.means(revision, &REVISIONS))
    }

    fn scenarios(&self) -> Vec<&str> {
        let kinds = ["client", "server", REVISIONS[0], REVISIONS[1]];
        self.only.iter().map(String::as_str).filter(|only| !kinds.contains(only)).collect()
    }
}

/// 0: all that is required is as it should be. 1: something is not. An error: it could not be found out.
pub(crate) fn run(words: &[&str]) -> Result<ExitCode> {
    let options = Options::read(words)?;
    let kits = built::root().join("target/conformance");
    fs::create_dir_all(&kits)?;
    let lock = File::create(kits.join("lock"))?;
    lock.try_lock().map_err(|_| "another `cargo xtask conformance` is running here")?;
    let suite = Suite::install(&kits)?;
    let began = Instant::now();
    let (sides, mut outcomes) = (["client", "server"], Vec::<Outcome>::new());
    if options.means("client", &sides) {
        outcomes.extend(client::run(&options, &suite)?);
    }
    if options.means("server", &sides) {
        outcomes.extend(server::run(&options, &suite)?);
    }
    if outcomes.is_empty() {
        return Err(format!("there is no scenario {:?}", options.scenarios()).into());
    }
    print!("{}", table(&outcomes));
    println!("{} scenario(s) in {} s", outcomes.len(), began.elapsed().as_secs());
    let failed: Vec<&Outcome> = outcomes.iter().filter(|outcome| outcome.is_failure()).collect();
    for outcome in &failed {
        eprintln!("\n{}", outcome.told());
    }
    Ok(if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_or_refused() {
        assert_eq!(Options::read(&[]).unwrap(), Options::default());
        let some = Options::read(&["--only", "client", "--binary", "/x", "--only", "tools_call"]).unwrap();
        assert_eq!(some.binary, Some("/x".into()));
        assert_eq!(some.scenarios(), ["tools_call"]);
        assert!(some.means("client", &["client", "server"]) && !some.means("server", &["client", "server"]));
        assert_eq!(some.revisions().count(), 2);
        let one = Options::read(&["--only", "2026-07-28"]).unwrap();
        assert_eq!(one.revisions().collect::<Vec<_>>(), ["2026-07-28"]);
        assert!(one.means("server", &["client", "server"]) && one.scenarios().is_empty());
        for bad in [&["--only"][..], &["--binary"], &["x"]] {
            assert!(Options::read(bad).is_err(), "{bad:?}");
        }
    }
}
