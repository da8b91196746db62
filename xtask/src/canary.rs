//! `cargo xtask canary`: runs the tests of the program with keys that can be recognised, at trace level and under strace,
//! and looks for the keys in everything that is left behind: homes, logs, what was said on stdout, stderr and terminals,
//! what the tests themselves printed; and in the environment and the words of every program that was started. The tests
//! keep it all below the directory that `CONVERSE_CANARY` names (`crates/cli/tests/it/canary.rs`).

mod environments;
mod needles;
mod search;
mod tokens;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use crate::{Result, built, debian};
use environments::Started;
use needles::needles;
use search::{Found, Leak};

/// A suite that is run in full has more, of runs and of programs that they start.
const FEWEST_RUNS: usize = 2_000;
const FEWEST_CHILDREN: usize = 1_000;
/// More leaks are not shown.
const SHOWN: usize = 50;
/// Of the tests; and of whatever is left when they have ended.
const PATIENCE: Duration = Duration::from_mins(40);
const LAST_WORK: Duration = Duration::from_secs(20);
const RESULT: &str = "test result: ";

#[derive(Debug, Default, PartialEq)]
struct Options {
    keep: bool,
    only: Option<String>,
    suite: Option<PathBuf>,
}

/// 0: no key was found. 1: one was, or too little was seen. An error: it could not be tried.
pub(crate) fn run(words: &[&str]) -> Result<ExitCode> {
    let options = Options::read(words)?;
    let suite = options.suite.clone().map_or_else(built::suite, Ok)?;
    // Tests look for the word `canary`, and paths are shown.
    let directory = built::root().join("target/leaks");
    if directory.exists() {
        fs::remove_dir_all(&directory)?;
    }
    fs::create_dir_all(&directory)?;
    let begun = Instant::now();
    let trace = directory.join("started");
    let (passed, failed) = test(&suite, &options, &directory, &trace)?;
    let seconds = begun.elapsed().as_secs();
    let needles = needles();
    let found = search::all(&directory, &needles, &trace)?;
    let started = environments::all(&trace, &needles)?;
    let leaks: Vec<&Leak> = found.leaks.iter().chain(&started.leaks).collect();
    tell(&leaks, &directory);
    println!(
        "{}; {passed} tests passed and {failed} did not, in {seconds} s",
        seen(&directory, &found, &started)
    );
    // A test that fails has not shown all that it would. Limits of time and memory are not for a log of everything, and
    // one program is not traced twice: some have to fail.
    let whole = count(&directory, "stdout") >= FEWEST_RUNS && started.children >= FEWEST_CHILDREN;
    let enough = options.only.is_some() || whole && failed * 10 <= passed;
    if !enough {
        println!(
            "too little: at least {FEWEST_RUNS} runs, {FEWEST_CHILDREN} environments and nine of ten tests are expected"
        );
    }
    let is_clean = leaks.is_empty() && enough;
    if !options.keep && is_clean {
        fs::remove_dir_all(&directory)?;
    }
    Ok(ExitCode::from(u8::from(!is_clean)))
}

fn count(directory: &Path, kind: &str) -> usize {
    fs::read_dir(directory.join(kind)).map_or(0, Iterator::count)
}

fn seen(directory: &Path, found: &Found, started: &Started) -> String {
    let Found { files, bytes, own, grants, .. } = found;
    let Started { programs, children, granted, .. } = started;
    let [runs, terminals, logs] = ["stdout", "screens", "logs"].map(|kind| count(directory, kind));
    let megabytes = bytes / 1_000_000;
    format!(
        "{runs} runs, {terminals} terminals, {logs} logs at trace level: {files} files of {megabytes} MB and {children} \
         environments of {programs} programs were searched; not {own} files that are as a test wrote them, the secret \
         fields of {grants} grants, {granted} environments with what a descriptor hands on"
    )
}

/// How many tests passed, and how many did not.
fn test(suite: &Path, options: &Options, directory: &Path, trace: &Path) -> Result<(usize, usize)> {
    let strace = debian::find(&["strace", "libunwind8"], "usr/bin/strace")?;
    let mut command = Command::new(&strace);
    if let Some(libraries) = debian::libraries(&strace) {
        command.env("LD_LIBRARY_PATH", libraries).args(["-E", "LD_LIBRARY_PATH"]);
    }
    // Only where a program is started does anything wait for strace; whole environments, however long they are.
    command.args(["-f", "--seccomp-bpf", "-qq", "-v", "--trace=execve", "--signal=none"]);
    command.arg("--string-limit=1000000");
    command.arg("-o").arg(trace).arg(suite).args(["--skip", "under_strace"]).args(&options.only);
    let said = fs::File::create(directory.join("suite"))?;
    command.env("CONVERSE_CANARY", directory).env("RUST_BACKTRACE", "full");
    command.current_dir(built::root().join("crates/cli"));
    command.stdin(Stdio::null()).stdout(said.try_clone()?).stderr(said);
    ended(command.spawn()?, &directory.join("suite"))?;
    let said = fs::read(directory.join("suite"))?;
    let said = String::from_utf8_lossy(&said);
    let result = said.lines().find_map(|line| line.strip_prefix(RESULT));
    let result =
        result.ok_or_else(|| format!("the tests were not run: see {}", directory.join("suite").display()))?;
    let count = |what: &str| {
        let before = result.split_once(what).and_then(|(before, _)| before.split_whitespace().next_back());
        before.and_then(|number| number.parse().ok()).ok_or("the tests do not say how they ended")
    };
    Ok((count(" passed")?, count(" failed")?))
}

/// strace stays for as long as anything does that it has seen begin, also what a test that failed has left behind.
fn ended(mut strace: Child, said: &Path) -> Result<()> {
    let mut until = Instant::now() + PATIENCE;
    let mut is_over = false;
    while strace.try_wait()?.is_none() {
        if Instant::now() > until {
            strace.kill()?;
            strace.wait()?;
            return if is_over { Ok(()) } else { Err("the tests do not end".into()) };
        }
        std::thread::sleep(Duration::from_millis(500));
        if !is_over && String::from_utf8_lossy(&fs::read(said)?).contains(RESULT) {
            (is_over, until) = (true, Instant::now() + LAST_WORK);
        }
    }
    Ok(())
}

fn tell(leaks: &[&Leak], directory: &Path) {
    for leak in leaks.iter().take(SHOWN) {
        let file: PathBuf = leak.file.strip_prefix(directory).unwrap_or(&leak.file).to_owned();
        println!("{}: a key {}: {:?}", file.display(), leak.how, leak.around);
    }
    println!("{} places with a key", leaks.len());
}

impl Options {
    fn read(words: &[&str]) -> Result<Self> {
        let mut options = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--keep" => options.keep = true,
                "--only" => options.only = Some((*words.next().ok_or("`--only` needs a value")?).to_owned()),
                "--suite" => {
                    options.suite = Some(std::path::absolute(words.next().ok_or("`--suite` needs a value")?)?)
                }
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
            read(&["--only", "audit", "--keep", "--suite", "/it"]),
            Some(Options { keep: true, only: Some("audit".to_owned()), suite: Some("/it".into()) })
        );
        assert_eq!((read(&["--only"]), read(&["x"])), (None, None));
    }
}
