//! `cargo xtask canary`: runs the whole test suite with keys that can be recognised, at trace level, and looks for them in
//! everything that it left behind: homes, what was said on stdout, stderr and terminals, environments of servers, what
//! the tests themselves printed. The tests keep it all below the directory that `CONVERSE_CANARY` names
//! (`crates/cli/tests/it/canary.rs`).

mod needles;
mod search;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use crate::{Result, built};
use search::Found;

/// A suite that is run in full has more.
const FEWEST_RUNS: usize = 500;
/// More of them are not shown.
const SHOWN: usize = 50;

#[derive(Debug, Default, PartialEq)]
struct Options {
    keep: bool,
    only: Option<String>,
}

/// 0: no key was found. 1: one was, or too few runs were seen. An error: it could not be tried.
pub(crate) fn run(words: &[&str]) -> Result<ExitCode> {
    let options = Options::read(words)?;
    let directory = built::root().join("target/canary");
    if directory.exists() {
        fs::remove_dir_all(&directory)?;
    }
    fs::create_dir_all(&directory)?;
    let passed = test(&options, &directory)?;
    let found = search::all(&directory)?;
    let runs = fs::read_dir(directory.join("stdout")).map_or(0, Iterator::count);
    let screens = fs::read_dir(directory.join("screens")).map_or(0, Iterator::count);
    let servers = fs::read_dir(directory.join("environments")).map_or(0, Iterator::count);
    tell(&found, &directory);
    let Found { files, bytes, own, .. } = &found;
    println!(
        "{runs} runs, {screens} terminals, {servers} environments of servers; {files} files of {} MB searched, {own} of them \
         written by the tests with a key; the suite {}",
        bytes / 1_000_000,
        if passed { "passed" } else { "did not pass in full" }
    );
    let enough = runs >= FEWEST_RUNS || options.only.is_some();
    if !enough {
        println!("too few runs: at least {FEWEST_RUNS} are expected");
    }
    if !options.keep && found.leaks.is_empty() {
        fs::remove_dir_all(&directory)?;
    }
    Ok(ExitCode::from(u8::from(!found.leaks.is_empty() || !enough)))
}

/// True if all tests passed: some look for exact words that a run at trace level does not have.
fn test(options: &Options, directory: &Path) -> Result<bool> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.arg("test");
    match &options.only {
        Some(only) => command.args(["--package", "converse", "--test", "it", only]),
        None => command.args(["--workspace", "--no-fail-fast"]),
    };
    let said = fs::File::create(directory.join("suite"))?;
    command.current_dir(built::root()).env("CONVERSE_CANARY", directory).env("RUST_BACKTRACE", "full");
    command.stdin(Stdio::null()).stdout(said.try_clone()?).stderr(said);
    let passed = command.status()?.success();
    let said = fs::read(directory.join("suite"))?;
    if !String::from_utf8_lossy(&said).contains("test result:") {
        return Err(format!("the suite was not run: see {}", directory.join("suite").display()).into());
    }
    Ok(passed)
}

fn tell(found: &Found, directory: &Path) {
    for leak in found.leaks.iter().take(SHOWN) {
        let file: PathBuf = leak.file.strip_prefix(directory).unwrap_or(&leak.file).to_owned();
        println!("{}: a key {}: {:?}", file.display(), leak.how, leak.around);
    }
    println!("{} places with a key", found.leaks.len());
}

impl Options {
    fn read(words: &[&str]) -> Result<Self> {
        let mut options = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--keep" => options.keep = true,
                "--only" => options.only = Some((*words.next().ok_or("`--only` needs a value")?).to_owned()),
                other => return Err(format!("`{other}` is not an option of canary").into()),
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
        let read = |words: &[&str]| Options::read(words).ok();
        assert_eq!(read(&[]), Some(Options::default()));
        assert_eq!(
            read(&["--only", "audit", "--keep"]),
            Some(Options { keep: true, only: Some("audit".to_owned()) })
        );
        assert_eq!((read(&["--only"]), read(&["x"])), (None, None));
    }
}
