//! The program. `main` takes a snapshot of the world, reads the command line, runs one command and turns whatever came
//! of it into an exit code; nothing else in the workspace knows that there is a process.

// What connects servers waits within what waits, deeper than the compiler looks by itself when it optimises.
#![recursion_limit = "256"]

mod adapters;
mod answer;
mod approvals;
mod args;
mod attach;
mod catalogue;
mod commands;
mod confined;
mod failure;
mod guardian;
mod lockfiles;
mod manners;
mod model;
mod patient;
mod render;
mod repl;
mod routes;
mod settings;
mod stdin;
mod this_program;
mod trust;
mod turn;
mod wiring;
mod world;

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::Duration;

use crate::args::{Audit, Command, Format, Mcp, Models};
use crate::failure::{Failure, Kind};
use crate::manners::Manners;
use crate::render::output::{write_stderr, write_stdout};
use crate::world::World;

/// Runs the program; the exit codes are in `docs/reference/exit-codes.md`. Never 101: a panic is a failure like others.
pub fn main() -> ExitCode {
    // A tool that panics is a failed result; the default hook would print into the middle of everything.
    std::panic::set_hook(Box::new(|panic| tracing::error!("{panic}")));
    let code = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
        let failure = Failure::new(Kind::Internal, "internal", "the program has a bug and stopped");
        let failure = failure.hint("run it again with -v to see where, and report it");
        refused(&World::command_line(), &failure)
    });
    ExitCode::from(code)
}

fn run() -> u8 {
    #[cfg(feature = "test-fakes")]
    if let Some(code) = converse_testkit::fakes::asked() {
        return code;
    }
    let words = World::command_line();
    if guardian::is_called(&words) {
        converse_process::guard();
        return 0;
    }
    if let Some(code) = confined::called(&words) {
        return code;
    }
    world::own_what_is_made();
    let (world, warning) = match World::snapshot() {
        Ok(world) => world,
        Err(failure) => return unusable(&words, &failure),
    };
    adapters::signals::outlive_limits_of_files();
    render::signs::settle(repl::stage::speaks_unicode(&world));
    let cli = match args::parsed(&world.words) {
        Ok(cli) => cli,
        Err(error) => return usage(&error, &world.words),
    };
    let manners = Manners::of(&cli, &world);
    adapters::log::init(cli.verbose, manners.redactor.clone());
    #[cfg(feature = "test-fakes")]
    watched_by_tests(&world, cli.verbose, &manners.redactor);
    manners.warn_all(warning.map(str::to_owned));
    if matches!(cli.command, Command::Ask(_) | Command::Repl(_)) {
        manners.telemetry.announce(&manners);
    }
    let code = match &cli.command {
        Command::Ask(args) => commands::ask::run(args, &manners, &world),
        command => {
            let failure = dispatch(command, &manners, &world).err();
            report(failure.map(|failure| failure.redacted(|text| manners.redactor.clean(text))).as_ref())
        }
    };
    manners.telemetry.settle(&manners);
    code
}

/// What a test wants of a run besides: a log of everything in the directory that `CONVERSE_TEST_LOG` names, and a bug,
/// which tells the variable that `CONVERSE_TEST_PANIC` names.
#[cfg(feature = "test-fakes")]
#[allow(clippy::panic, reason = "that is what it is for")]
fn watched_by_tests(world: &World, verbose: u8, redactor: &adapters::secrets::Redactor) {
    if let Some(directory) = world.var("CONVERSE_TEST_LOG").filter(|_| verbose == 0)
        && let Err(error) = adapters::log::keep(directory, redactor.clone())
    {
        panic!("no log of a test: {error}");
    }
    if let Some(name) = world.var("CONVERSE_TEST_PANIC") {
        panic!("a bug on purpose, with {:?}", world.var(name));
    }
}

fn dispatch(command: &Command, manners: &Manners, world: &World) -> Result<(), Failure> {
    match command {
        Command::Ask(_) => Ok(()),
        Command::Repl(args) => commands::repl::run(args, manners, world),
        Command::Sessions(command) => commands::sessions::run(command, manners, world),
        Command::Stats(args) => commands::stats::run(args, manners, world),
        Command::Ensembles(command) => commands::ensembles::run(command, manners, world),
        Command::Explain(args) => commands::explain::run(args, manners, world),
        Command::Approvals(command) => commands::approvals::run(command, manners, world),
        Command::Mcp(Mcp::Probe(args)) => commands::mcp::probe(args, manners, world),
        Command::Serve(args) => commands::serve::run(args, manners, world),
        Command::Doctor(args) => commands::doctor::run(args, manners, world),
        Command::Models(Models::List(args)) => commands::models::list(args, manners, world),
        Command::Models(Models::Show(args)) => commands::models::show(args, manners, world),
        Command::Audit(Audit::Verify { file, head, json }) => {
            let (file, head) = (file.as_deref(), head.as_ref());
            commands::audit::Verify { file, head, as_json: *json }.run(manners, world)
        }
        Command::Completions { shell } => commands::completions::run(*shell),
    }
}

/// Help and version are answers; the rest is a usage error like any other.
fn usage(error: &clap::Error, words: &[OsString]) -> u8 {
    let text = error.render().to_string();
    if !error.use_stderr() {
        return report(write_stdout(&text).err().map(Failure::from).as_ref());
    }
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let message = lines.next().unwrap_or("this is no command").trim_start_matches("error: ").to_owned();
    let hints = lines.map(|line| line.trim_start_matches("tip: ").to_owned()).collect();
    refused(words, &Failure { hints, ..Failure::usage("usage", message) })
}

/// The world is not one to run in. Help and version ask nothing of it.
fn unusable(words: &[OsString], failure: &Failure) -> u8 {
    match args::parsed(words) {
        Ok(_) => refused(words, failure),
        Err(error) => usage(&error, words),
    }
}

/// Nothing was run to its end: told on stderr, and on stdout to those who read JSON.
fn refused(words: &[OsString], failure: &Failure) -> u8 {
    commands::ask::refuse(wanted_format(words), failure);
    report(Some(failure))
}

/// What stdout was to carry, as far as it can be told from a command line that was not understood.
fn wanted_format(words: &[OsString]) -> Format {
    let words: Vec<&str> = words.iter().map(|word| word.to_str().unwrap_or_default()).collect();
    let value = words.iter().zip(words.iter().skip(1)).find(|(flag, _)| matches!(**flag, "-o" | "--output"));
    let joined =
        words.iter().find_map(|word| word.strip_prefix("--output=").or_else(|| word.strip_prefix("-o")));
    match value.map(|(_, value)| *value).or(joined) {
        Some("json") => Format::Json,
        Some("jsonl") => Format::Jsonl,
        _ => Format::Text,
    }
}

/// Tells a failure, unless it is one to be quiet about, and gives its exit code.
pub(crate) fn report(failure: Option<&Failure>) -> u8 {
    let Some(failure) = failure else { return 0 };
    if failure.kind != Kind::Closed {
        write_stderr(&failure.lines());
    }
    failure.kind.exit_code()
}

/// How long what is still done on threads of its own (a file that is written, a name that is resolved) may take to end.
const LAST_WORK: Duration = Duration::from_secs(1);

/// Runs it to its end. A thread that is stuck is left behind: it never keeps the program.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = runtime()?;
    let output = runtime.block_on(future);
    runtime.shutdown_timeout(LAST_WORK);
    Ok(output)
}

/// One thread: cheaper everywhere that was measured; what is heavy has threads of its own.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let build = || tokio::runtime::Builder::new_current_thread().enable_all().build();
    // It panics where the files that it hears signals by are not to be had, and for nothing else.
    let built =
        catch_unwind(build).unwrap_or_else(|_| Err(std::io::Error::other("too few files may be open")));
    built.map_err(|error| denied("runtime", &error))
}

/// What no run can be without (a thread, an open file) is not to be had.
pub(crate) fn denied(code: &'static str, error: &std::io::Error) -> Failure {
    Failure::new(Kind::Output, code, format!("the system does not give what a run needs: {error}")).hint(
        "`ulimit -n` is how many files may be open, `ulimit -u` how many processes and threads there may be",
    )
}

#[cfg(test)]
mod tests {
    use converse_testkit::hang_guard;

    use super::*;

    #[test]
    fn a_thread_that_is_stuck_does_not_keep_the_program() {
        let (release, stuck) = std::sync::mpsc::channel::<()>();
        let answer = hang_guard::run("a run with a thread that is stuck", || {
            block_on(async {
                tokio::task::spawn_blocking(move || stuck.recv());
                "answer"
            })
        });
        assert_eq!(answer.ok(), Some("answer"));
        drop(release);
    }
}
