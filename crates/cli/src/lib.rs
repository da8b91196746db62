//! The program. `main` takes a snapshot of the environment, parses the command line, runs one command and returns its exit
//! code.

mod args;
mod commands;
mod log;
mod style;

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use clap::error::ErrorKind;

use crate::args::{Audit, Command, Ensembles, Format, Mcp, Models};
use converse_host::failure::{Failure, Kind};
use converse_host::turn::database;
use converse_host::world::World;
use converse_terminal::console::Console;
use converse_terminal::render::output::{write_stderr, write_stdout};

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

/// What clap prints for `--version`.
const VERSION: &str = concat!("converse ", env!("CARGO_PKG_VERSION"), "\n");

/// Returns whether the version is all that is wanted. Scripts ask for it often, and it needs neither the environment nor
/// the definition of the command line.
fn asks_for_the_version(words: &[OsString]) -> bool {
    matches!(words, [_, word] if word == "--version" || word == "-V")
}

fn run() -> u8 {
    #[cfg(feature = "test-fakes")]
    if let Some(code) = converse_testkit::fakes::run_requested() {
        return code;
    }
    let words = World::command_line();
    if let Some(code) = converse_host::child_process(&words) {
        return code;
    }
    if asks_for_the_version(&words) {
        converse_terminal::signals::outlive_limits_of_files();
        return report(write_stdout(VERSION).err().map(Failure::from).as_ref());
    }
    if let Err(failure) = converse_host::runtime::grow_stack() {
        return refused(&words, &failure);
    }
    converse_host::world::own_what_is_made();
    let (world, warning) = match World::snapshot() {
        Ok(world) => world,
        Err(failure) => return unusable(&words, &failure),
    };
    world.hide_secrets();
    converse_terminal::signals::outlive_limits_of_files();
    let cli = match args::parsed(&world.words) {
        Ok(cli) => cli,
        Err(error) => return usage(&error, &world.words),
    };
    let console = style::console(&cli, &world);
    log::init(cli.global.verbose, console.context.redactor.clone());
    #[cfg(feature = "test-fakes")]
    watched_by_tests(&world, cli.global.verbose, &console.context.redactor);
    console.warn_all(warning.map(str::to_owned));
    if matches!(cli.command, Command::Ask(_) | Command::Batch(_) | Command::Eval(_) | Command::Repl(_)) {
        console.warn_all(console.context.telemetry.warnings());
        let remarks = console.context.telemetry.remarks().filter(|_| console.context.verbose);
        remarks.for_each(|remark| console.note(&remark));
    }
    let world = match with_store(&cli, world) {
        Ok(world) => world,
        Err(failure) => {
            return refused(&words, &failure.redacted(|text| console.context.redactor.clean(text)));
        }
    };
    let code = match &cli.command {
        Command::Ask(args) => commands::ask::run(args, &console, &world),
        command => {
            let failure = dispatch(command, &console, &world).err();
            report(
                failure.map(|failure| failure.redacted(|text| console.context.redactor.clean(text))).as_ref(),
            )
        }
    };
    console.warn_all(console.context.telemetry.settle().filter(|_| console.context.verbose));
    code
}

/// Returns the world with the database of the sessions and of the audit log, if the command uses one of them and the user has
/// a database.
fn with_store(cli: &args::Cli, world: World) -> Result<World, Failure> {
    let flag = cli.global.store.as_deref();
    let uses_database = match &cli.command {
        Command::Ask(_)
        | Command::Repl(_)
        | Command::Sessions(_)
        | Command::Stats(_)
        | Command::Explain(_)
        | Command::Batch(_)
        | Command::Web(_)
        | Command::Eval(_)
        | Command::Mcp(_)
        | Command::Serve(_) => true,
        Command::Audit(Audit::Verify { file, .. }) => file.is_none(),
        Command::Ensembles(command) => matches!(command, Ensembles::Call { .. } | Ensembles::Test(_)),
        _ => false,
    };
    if uses_database {
        return Ok(World { database: database::configured(flag, &world)?, ..world });
    }
    if flag.is_some() {
        let message = "this command uses neither sessions nor the audit log, so it takes no `--store`";
        return Err(Failure::usage("store-unsupported", message).hint("leave out `--store`"));
    }
    Ok(world)
}

/// What a test wants of a run besides: a log of everything in the directory that `CONVERSE_TEST_LOG` names, and a bug,
/// which tells the variable that `CONVERSE_TEST_PANIC` names.
#[cfg(feature = "test-fakes")]
#[allow(clippy::panic, reason = "that is what it is for")]
fn watched_by_tests(world: &World, verbose: u8, redactor: &converse_host::secrets::Redactor) {
    if let Some(directory) = world.var("CONVERSE_TEST_LOG").filter(|_| verbose == 0)
        && let Err(error) = log::keep(directory, redactor.clone())
    {
        panic!("no log of a test: {error}");
    }
    if let Some(name) = world.var("CONVERSE_TEST_PANIC") {
        panic!("a bug on purpose, with {:?}", world.var(name));
    }
}

fn dispatch(command: &Command, console: &Console, world: &World) -> Result<(), Failure> {
    match command {
        Command::Ask(_) => Ok(()),
        Command::Batch(args) => converse_batch::run(&args.options(), console, world, exit_code),
        Command::Eval(args) => converse_eval::run(&args.options(), console, world, exit_code),
        Command::Repl(talk) => converse_terminal::repl::run(talk.options(), console, world),
        Command::Sessions(command) => commands::sessions::run(command, console, world),
        Command::Stats(args) => commands::stats::run(args, console, world),
        Command::Ensembles(command) => commands::ensembles::run(command, console, world),
        Command::Explain(args) => commands::explain::run(args, console, world),
        Command::Approvals(command) => commands::approvals::run(command, console, world),
        Command::Mcp(Mcp::Probe(args)) => commands::mcp::probe(args, console, world),
        Command::Web(args) => commands::serve::web(args, console, world),
        Command::Serve(args) => commands::serve::run(args, console, world),
        Command::Doctor(args) => commands::doctor::run(args, console, world),
        Command::Models(Models::List(args)) => commands::models::list(args, console, world),
        Command::Models(Models::Show(args)) => commands::models::show(args, console, world),
        Command::Audit(Audit::Verify { file, head, json }) => {
            commands::audit::run(file.as_deref(), head.as_ref(), *json, console, world)
        }
        Command::Completions { shell } => commands::completions(*shell),
        Command::Man { directory } => commands::man(directory.as_deref()),
    }
}

/// Prints help and version; any other error of the parser is a usage error.
fn usage(error: &clap::Error, words: &[OsString]) -> u8 {
    let mut text = error.render().to_string();
    if error.kind() == ErrorKind::DisplayHelp {
        text = args::help(words, &text);
    }
    if !error.use_stderr() {
        return report(write_stdout(&text).err().map(Failure::from).as_ref());
    }
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let message = lines.next().unwrap_or("this is not a command").trim_start_matches("error: ").to_owned();
    let hints = lines.map(|line| line.trim_start_matches("tip: ").to_owned()).collect();
    refused(words, &Failure { hints, ..Failure::usage("usage", message) })
}

/// The environment cannot be used. Help and version do not need it.
fn unusable(words: &[OsString], failure: &Failure) -> u8 {
    match args::parsed(words) {
        Ok(_) => refused(words, failure),
        Err(error) => usage(&error, words),
    }
}

/// Reports a failure before a command ran: on stderr, and as JSON on stdout if that was requested.
fn refused(words: &[OsString], failure: &Failure) -> u8 {
    commands::ask::refuse(wanted_format(words), failure);
    report(Some(failure))
}

/// The output format, as far as an invalid command line shows it.
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

/// The exit code of each kind of failure: `docs/reference/exit-codes.md`.
pub(crate) fn exit_code(kind: Kind) -> u8 {
    match kind {
        Kind::Closed => 0,
        Kind::Internal => 1,
        Kind::Usage => 2,
        Kind::Configuration => 3,
        Kind::ProviderRefused => 4,
        Kind::ProviderUnreachable => 5,
        Kind::ProviderNonsense => 6,
        Kind::Limit => 7,
        Kind::Unapproved => 8,
        Kind::Output => 9,
        Kind::Ensemble => 10,
        Kind::Signal(number) => 128 + number,
    }
}

/// Prints a failure, except for closed output, and returns its exit code.
pub(crate) fn report(failure: Option<&Failure>) -> u8 {
    let Some(failure) = failure else { return 0 };
    if failure.kind != Kind::Closed {
        write_stderr(&failure.lines());
    }
    exit_code(failure.kind)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_version_is_the_one_of_the_parser() {
        assert_eq!(VERSION, args::Cli::command().render_version());
    }

    #[test]
    fn only_a_lone_flag_asks_for_the_version() {
        let asks =
            |words: &[&str]| asks_for_the_version(&words.iter().map(OsString::from).collect::<Vec<_>>());
        assert!(asks(&["converse", "--version"]) && asks(&["converse", "-V"]));
        let others: [&[&str]; 4] = [
            &["converse"],
            &["--version"],
            &["converse", "ask", "-V"],
            &["converse", "--version", "--quiet"],
        ];
        others.iter().for_each(|words| assert!(!asks(words), "{words:?}"));
    }
}
