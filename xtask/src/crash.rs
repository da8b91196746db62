//! `cargo xtask crash`: the program is killed at every system call that writes, and nothing that it had promised to
//! keep may be lost. The loop itself is a test target of the program's package (`crates/cli/tests/crash`), because it
//! shares the strict providers of the tests; here it is built, and given strace and a program.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use crate::{Result, built, debian};

#[derive(Debug, Default, PartialEq)]
struct Options<'a> {
    binary: Option<PathBuf>,
    /// For the loop: it knows what they mean.
    others: Vec<&'a str>,
}

/// 0: nothing was lost. 1: something was. 2 (or an error): it could not be tried.
pub(crate) fn run(words: &[&str]) -> Result<ExitCode> {
    let options = Options::read(words)?;
    let strace = debian::find(&["strace", "libunwind8"], "usr/bin/strace")?;
    let mut command = Command::new(built::crash()?);
    command.arg("--strace").arg(&strace).args(&options.others);
    if let Some(libraries) = debian::libraries(&strace) {
        command.arg("--libraries").arg(libraries);
    }
    if let Some(binary) = &options.binary {
        command.env("CONVERSE_BINARY", binary);
    }
    let code = command.status()?.code().and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.unwrap_or(2)))
}

impl<'a> Options<'a> {
    fn read(words: &[&'a str]) -> Result<Self> {
        let mut options = Self::default();
        for pair in words.chunks(2) {
            match pair {
                ["--binary", path] => options.binary = Some(std::path::absolute(path)?),
                ["--seconds" | "--points" | "--seed" | "--scenario", _] => options.others.extend(pair),
                other => return Err(format!("{other:?} is not an option of crash").into()),
            }
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_or_refused() {
        let options = Options::read(&["--seconds", "5", "--binary", "/bin/x", "--seed", "2"]).unwrap();
        let others = vec!["--seconds", "5", "--seed", "2"];
        assert_eq!(options, Options { binary: Some("/bin/x".into()), others });
        for bad in [&["--seconds"][..], &["--binary"], &["x", "y"]] {
            assert!(Options::read(bad).is_err(), "{bad:?}");
        }
    }
}
