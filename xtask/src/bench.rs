//! Measures the program against what does the least that can be done: curl for one request, the floor (`xtask/floor`)
//! for servers of tools; on demand another library, for reading streams.
//!
//! Machines are shared and noisy, so only ratios within one run mean something: the two programs run in turn, A B A B,
//! and medians are compared. CPU is the kernel's account of the finished process and of the descendants it waited for;
//! peak memory is that of the largest of them.

mod checking;
mod curl;
mod decoding;
mod descriptors;
mod instructions;
mod options;
pub(crate) mod order;
mod samples;
mod search;
mod serve;
mod servers;
mod sessions;
mod soak;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use serde_json::json;
use tempfile::TempDir;

use self::options::{Options, Part};
use self::samples::{Pair, Samples};
use crate::Result;
use crate::child::{self, Program, Run};
use crate::figures::{Figure, Verdict, table};
use crate::stub::Stub;

/// 0: all gates passed. 1: one failed. 2 (or an error): something could not be judged.
pub(crate) fn run(words: &[&str]) -> Result<ExitCode> {
    let options = Options::read(words)?;
    let binary = match &options.binary {
        // What people install. `--binary` measures another build.
        None if options.runs_program() => order::program()?,
        binary => binary.clone().unwrap_or_default(),
    };
    let bench = Bench { stub: Stub::start()?, dir: TempDir::new()?, binary, rounds: options.rounds };
    let before = load();
    let mut figures = Vec::new();
    if options.wants(Part::Curl) {
        figures.extend(curl::figures(&bench)?);
    }
    if options.wants(Part::Instructions) {
        figures.extend(instructions::figures(&bench, options.is_only(Part::Instructions))?);
    }
    if options.wants(Part::Servers) {
        figures.extend(servers::figures(&bench)?);
    }
    if options.wants(Part::Check) {
        figures.extend(checking::figures(&bench)?);
    }
    if options.wants(Part::Decode) {
        figures.extend(decoding::figures()?);
    }
    if options.wants(Part::Sessions) {
        figures.extend(sessions::figures(bench.rounds)?);
    }
    if options.wants(Part::Search) {
        figures.extend(search::figures(&bench)?);
    }
    if options.wants(Part::Soak) {
        figures.extend(soak::figures(&bench)?);
    }
    if options.wants(Part::Serve) {
        figures.extend(serve::figures(&bench)?);
    }
    if options.wants(Part::Genai) {
        figures.extend(decoding::against_genai(bench.rounds)?);
    }
    let load = [before, load()];
    if options.json {
        let rows: Vec<_> = figures.iter().map(Figure::json).collect();
        println!("{}", json!({ "v": 2, "rounds": bench.rounds, "load": load, "figures": rows }));
    } else {
        print!("{}", table(&figures));
        println!("medians of {} rounds, load {}", bench.rounds, load.join(" to "));
    }
    Ok(ended(&figures))
}

fn ended(figures: &[Figure]) -> ExitCode {
    let verdicts: Vec<_> = figures.iter().map(Figure::verdict).collect();
    if verdicts.contains(&Verdict::Unjudged) {
        eprintln!("error: there is no curl here to measure against: ratios to it were not judged");
    }
    match verdicts {
        v if v.contains(&Verdict::Failed) => ExitCode::from(1),
        v if v.contains(&Verdict::Unjudged) => ExitCode::from(2),
        _ => ExitCode::SUCCESS,
    }
}

fn load() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().unwrap_or_default().to_owned()
}

struct Bench {
    stub: Stub,
    dir: TempDir,
    binary: PathBuf,
    rounds: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    Ours,
    Theirs,
}

impl Bench {
    /// One round that does not count, then the others: A B A B. What a program sets up once in its home, the first
    /// one pays. `check` looks whether a run did its work and says when the server began to answer, if that counts.
    fn in_turn(
        &self,
        rounds: usize,
        ours: &Program,
        theirs: Option<&Program>,
        check: impl Fn(Who, &Run) -> Result<Option<Instant>>,
    ) -> Result<Pair> {
        let mut pair = Pair { ours: Samples::default(), theirs: theirs.map(|_| Samples::default()) };
        for round in 0..=rounds {
            let run = self.once(ours)?;
            let first = check(Who::Ours, &run)?;
            if round > 0 {
                pair.ours.take(&run, first)?;
            }
            let (Some(program), Some(samples)) = (theirs, &mut pair.theirs) else { continue };
            let run = self.once(program)?;
            let first = check(Who::Theirs, &run)?;
            if round > 0 {
                samples.take(&run, first)?;
            }
        }
        Ok(pair)
    }

    fn once(&self, program: &Program) -> Result<Run> {
        child::run(program, self.dir.path())
    }

    /// In a bare environment. The home is kept from run to run.
    fn program(&self, program: &Path, arguments: &[&str], base_url: Option<&str>) -> Program {
        let command =
            std::iter::once(program.as_os_str()).chain(arguments.iter().map(|word| (*word).as_ref()));
        let mut environment: Vec<(&'static str, OsString)> =
            vec![("HOME", self.dir.path().into()), ("PATH", std::env::var_os("PATH").unwrap_or_default())];
        if let Some(url) = base_url {
            environment.push(("OPENAI_BASE_URL", url.into()));
            environment.push(("OPENAI_API_KEY", "x".into()));
        }
        Program { command: command.map(OsString::from).collect(), environment }
    }
}

/// A figure of a run that did not do its work is worth nothing.
fn check_answer(run: &Run, words: usize) -> Result<()> {
    let count = String::from_utf8_lossy(&run.stdout).split_whitespace().count();
    if count == words { Ok(()) } else { Err(format!("the program said {count} words of {words}").into()) }
}
