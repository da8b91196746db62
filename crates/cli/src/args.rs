//! The command line: clap types only, no decisions.
//!
//! The flags of a command are defined when it is named (`defer`). A doc comment on a struct of flags would then replace
//! the description of the command, so these structs have plain comments.

mod batch;
mod check;
mod ensembles;
mod eval;
mod examples;
mod foreign;
mod mcp;
mod serve;
mod sessions;
mod stats;
mod talk;

use std::ffi::{OsStr, OsString};
use std::mem::ManuallyDrop;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum, ValueHint};
use converse_canister::Digest;
use converse_ensemble::Mode;
use converse_host::options::RuleOptions;

/// Titles of the groups of options in `--help`.
mod headings {
    pub(super) const MODEL: &str = "Model";
    pub(super) const INPUT: &str = "Input";
    pub(super) const TOOLS: &str = "Tools and permissions";
    pub(super) const SESSION: &str = "Session";
    pub(super) const LIMITS: &str = "Limits";
    pub(super) const CASSETTE: &str = "Record and replay";
    pub(super) const BASELINE: &str = "Baseline";
    pub(super) const OUTPUT: &str = "Output";
    pub(super) const BATCH: &str = "Provider batch";
    pub(super) const RUNNER: &str = "Durable runs";
    pub(super) const GLOBAL: &str = "Global options";
}

pub(crate) use batch::Batch;
pub(crate) use check::{CheckArgs, LintedProvider, ReportFormat};
pub(crate) use ensembles::{Ensembles, InitArgs, LockArgs, SchemaOf, TestArgs, TestFormat};
pub(crate) use eval::Eval;
pub(crate) use foreign::{Destination, ExportArgs, ImportArgs, ImportOf, OpenapiArgs};
pub(crate) use mcp::{Elicit, Mcp, OauthFlow, ProbeArgs};
pub(crate) use serve::{FrontArgs, ServeArgs, WebArgs};
pub(crate) use sessions::{
    ForkArgs, GcArgs, MigrateArgs, SearchArgs, SearchIn, Sessions, SessionsCheckArgs, SessionsExportArgs,
    SessionsImportArgs, SessionsListArgs, SessionsShowArgs, TagArgs, TranscriptFormat,
};
pub(crate) use stats::{StatsArgs, StatsBy};
pub(crate) use talk::Talk;

/// Connect declared tools to any language model.
#[derive(Debug, Parser)]
#[command(name = "converse", version, max_term_width = 100, disable_help_subcommand = true, after_help = examples::CONVERSE)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,

    #[command(flatten)]
    pub(crate) global: Global,
}

// Options of all commands.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// Print more on stderr (-vv: debug log, -vvv: trace log)
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = headings::GLOBAL)]
    pub(crate) verbose: u8,

    /// Print only errors on stderr
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = headings::GLOBAL)]
    pub(crate) quiet: bool,

    /// When to use colours and styles
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, help_heading = headings::GLOBAL)]
    pub(crate) color: Color,

    /// Print no spinners and no styles, for screen readers and logs
    #[arg(long, global = true, help_heading = headings::GLOBAL)]
    pub(crate) plain: bool,

    /// Keep sessions and the audit log in this PostgreSQL database instead of files, as postgres://USER@HOST/DATABASE
    #[arg(long, global = true, value_name = "URL", help_heading = headings::GLOBAL)]
    pub(crate) store: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Contact no server: check neither keys nor connections
    #[arg(long)]
    pub(crate) offline: bool,

    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The tool, as ensemble.invoker
    #[arg(value_name = "ENSEMBLE.INVOKER")]
    pub(crate) tool: String,
    /// Arguments as key=value, or one JSON object
    pub(crate) arguments: Vec<String>,
    #[command(flatten)]
    pub(crate) places: Places,
    #[command(flatten)]
    pub(crate) rules: Rules,
    #[command(flatten)]
    pub(crate) mode: ModeArgs,
    /// Judge the call after what this session has seen (id, name or `last`)
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// Assume that nobody can be asked, as in a script
    #[arg(long)]
    pub(crate) unattended: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Ask one question and print the answer
    #[command(after_help = examples::ASK)]
    Ask(Box<Ask>),
    /// Run many conversations from a file
    #[command(after_help = examples::BATCH)]
    Batch(Box<Batch>),
    /// Run prompts with expectations, and judge tools, prompts and models by them
    #[command(after_help = examples::EVAL)]
    Eval(Box<Eval>),
    /// Start a conversation in the terminal (the same as `converse` without a command)
    #[command(after_help = examples::REPL)]
    Repl(Box<Talk>),
    /// List, search, export and repair saved conversations
    #[command(subcommand)]
    Sessions(Sessions),
    /// Report usage: tokens, cost, durations and errors
    #[command(after_help = examples::STATS)]
    Stats(StatsArgs),
    /// Declare, check, lock, test and trust tools
    #[command(subcommand)]
    Ensembles(Ensembles),
    /// Explain which permission rule applies to a tool call, without running it
    #[command(after_help = examples::EXPLAIN)]
    Explain(ExplainArgs),
    /// List and revoke the approvals you gave with "always"
    #[command(subcommand)]
    Approvals(Approvals),
    /// Inspect an MCP server
    #[command(subcommand)]
    Mcp(Mcp),
    /// Open the web panel in your browser
    #[command(after_help = examples::WEB)]
    Web(Box<WebArgs>),
    /// Serve your tools over MCP, and models and sessions over HTTP
    #[command(after_help = examples::SERVE)]
    Serve(Box<ServeArgs>),
    /// Check the installation: keys, directories, servers and sandbox
    #[command(after_help = examples::DOCTOR)]
    Doctor(DoctorArgs),
    /// List models and show their limits and prices
    #[command(subcommand)]
    Models(Models),
    /// Verify the audit log
    #[command(subcommand)]
    Audit(Audit),
    /// Print a completion script for a shell
    #[command(after_help = examples::COMPLETIONS)]
    Completions {
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write the pages of all commands
    #[command(after_help = examples::MAN)]
    Man {
        /// Write a page for each command to this directory, such as ~/.local/share/man/man1
        #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
        directory: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Ask {
    /// The question. Without words, or with `-`, it is read from stdin; a file or pipe on stdin is appended to the
    /// words
    pub(crate) prompt: Vec<String>,

    #[command(flatten)]
    pub(crate) talk: Talk,

    /// Use a prompt of an MCP server; the words are its arguments, as key=value
    #[arg(long = "prompt", value_name = "ENSEMBLE.NAME", help_heading = headings::INPUT)]
    pub(crate) mcp_prompt: Option<String>,

    /// Require an answer that is JSON and valid against this JSON Schema; exit 6 if it is not
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = headings::OUTPUT)]
    pub(crate) schema: Option<PathBuf>,

    /// What to print on stdout: the answer, one JSON object, or one JSON record per event
    #[arg(short, long, value_enum, default_value_t = Format::Text, help_heading = headings::OUTPUT)]
    pub(crate) output: Format,

    /// Print the request without its key, and send nothing
    #[arg(long, help_heading = headings::OUTPUT)]
    pub(crate) dry_run: bool,

    /// Print the number of input tokens, and send nothing to a model
    #[arg(long, conflicts_with = "dry_run", help_heading = headings::OUTPUT)]
    pub(crate) count_tokens: bool,
}

// Directories of ensembles.
#[derive(Debug, Clone, Args)]
pub(crate) struct Places {
    /// Read ensembles from this directory and trust them for this run (repeatable)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = headings::TOOLS)]
    pub(crate) ensembles: Vec<PathBuf>,
}

// Permission rules of this run.
#[derive(Debug, Clone, Args)]
pub(crate) struct Rules {
    /// Run matching tools without asking, e.g. 'weather.*' (repeatable)
    #[arg(long, value_name = "PATTERN", help_heading = headings::TOOLS)]
    pub(crate) allow: Vec<String>,

    /// Ask before matching tools run (repeatable)
    #[arg(long, value_name = "PATTERN", help_heading = headings::TOOLS)]
    pub(crate) ask: Vec<String>,

    /// Never run matching tools (repeatable)
    #[arg(long, value_name = "PATTERN", help_heading = headings::TOOLS)]
    pub(crate) deny: Vec<String>,
}

impl Rules {
    pub(crate) fn options(&self) -> RuleOptions {
        let Self { allow, ask, deny } = self.clone();
        RuleOptions { allow, ask, deny }
    }
}

// The permission mode of this run.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct ModeArgs {
    /// Permission mode: `read-only` refuses tools that do more than read, `accept-edits` runs edits of files inside a
    /// trusted project without asking
    #[arg(long, value_name = "MODE", value_parser = mode(), default_value = "ask", help_heading = headings::TOOLS)]
    pub(crate) mode: Mode,
}

fn mode() -> impl TypedValueParser<Value = Mode> {
    let words = PossibleValuesParser::new(Mode::WORDS.map(|(word, _)| word));
    words.try_map(|word| Mode::named(&word).ok_or("not a permission mode"))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
    Jsonl,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Audit {
    /// Verify that no entry was changed, removed or inserted; exit 9 if one was
    #[command(after_help = examples::VERIFY)]
    Verify {
        /// The file to verify [default: the audit log]
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: Option<PathBuf>,
        /// Also require that the entry with this hash still exists
        #[arg(long, value_name = "SHA256", value_parser = digest)]
        head: Option<Digest>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Models {
    /// List the providers and whether their keys are set, or the models of one provider
    #[command(after_help = examples::MODELS_LIST)]
    List(ModelsListArgs),
    /// Show a model's context window, prices, inputs and the source of each figure
    #[command(after_help = examples::MODELS_SHOW)]
    Show(ModelsShowArgs),
}

/// Parses the command line. Without a command it is `ask` if there is a question, one word with a blank in it, else `repl`:
/// `converse "and now?"` is `converse ask "and now?"`, `converse -c` is `converse repl -c`.
pub(crate) fn parsed(words: &[OsString]) -> Result<Cli, clap::Error> {
    if let [program, question, more @ ..] = words
        && is_question(question)
    {
        return parsed_once(&[&[program.clone(), "ask".into(), question.clone()], more].concat());
    }
    let error = match parsed_once(words) {
        Err(error) if error.use_stderr() => error,
        parsed => return parsed,
    };
    let is_flag = |word: &OsString| word.to_string_lossy().starts_with('-');
    let commands = Cli::command();
    let is_command =
        |word: &&OsString| word.to_str().is_some_and(|word| commands.find_subcommand(word).is_some());
    if !words.get(1).is_none_or(is_flag) || words.iter().skip(1).any(|word| is_command(&word)) {
        return Err(error);
    }
    let (program, flags) = words.split_at(words.len().min(1));
    let question = asked(&[program, &["ask".into()], flags].concat());
    if let Some(cli) = question
        && let Command::Ask(ask) = &cli.command
        && ask.prompt.iter().any(|word| is_question(word.as_ref()))
    {
        return Ok(cli);
    }
    let repl = OsString::from("repl");
    let parsed = Cli::try_parse_from(program.iter().chain([&repl]).chain(flags));
    // The user did not type `repl`: the error shows the flags, and the usage of `converse`.
    parsed.map_err(|mut error| {
        let usage = ContextValue::StyledStr(Cli::command().render_usage());
        error.insert(ContextKind::Usage, usage);
        error
    })
}

/// No command has a blank in its name.
fn is_question(word: &OsStr) -> bool {
    let word = word.to_string_lossy();
    word.contains(char::is_whitespace) && !word.starts_with('-')
}

/// As `try_parse_from`, but the definitions are not freed: the end of the process does that.
fn parsed_once(words: &[OsString]) -> Result<Cli, clap::Error> {
    match asked(words) {
        Some(cli) => Ok(cli),
        None => parsed_among_all(words),
    }
}

/// `ask` and the options of all commands, without the other commands. Not for help, which would lack them.
#[derive(Debug, Parser)]
struct AskAlone {
    #[command(flatten)]
    ask: Box<Ask>,
    #[command(flatten)]
    global: Global,
}

/// Parses `converse ask …` without the definitions of the other commands, which take longer than the rest of parsing. Returns
/// `None` for any other line, and for one that [`parsed_among_all`] must explain.
fn asked(words: &[OsString]) -> Option<Cli> {
    let [program, ask, flags @ ..] = words else { return None };
    if ask != "ask" {
        return None;
    }
    let mut command = ManuallyDrop::new(AskAlone::command());
    let mut matches = command.try_get_matches_from_mut(std::iter::once(program).chain(flags)).ok()?;
    let AskAlone { ask, global } = AskAlone::from_arg_matches_mut(&mut matches).ok()?;
    Some(Cli { command: Command::Ask(ask), global })
}

fn parsed_among_all(words: &[OsString]) -> Result<Cli, clap::Error> {
    let mut command = ManuallyDrop::new(Cli::command());
    let mut matches = command.try_get_matches_from_mut(words)?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

/// Returns the whole definition of the command line, built, for help, manual pages and completions.
///
/// The derives define the flags of a command only when it is named (`defer`), after the global options. Here those are
/// moved behind the others again.
pub(crate) fn command() -> clap::Command {
    let mut command = Cli::command();
    command.build();
    global_options_last(command)
}

fn global_options_last(mut command: clap::Command) -> clap::Command {
    for below in command.get_subcommands_mut() {
        *below = global_options_last(std::mem::take(below));
    }
    let is_global = |arg: &&clap::Arg| arg.is_global_set();
    let global: Vec<_> = command.get_arguments().filter(is_global).map(|arg| arg.get_id().clone()).collect();
    global.into_iter().fold(command, |command, id| command.mut_arg(id, |arg| arg))
}

/// Returns the help of the command that the words name, which is `repl` where [`parsed`] understands them so. It is as
/// long as the parser's own text, which names `-h` where there is a shorter one.
pub(crate) fn help(words: &[OsString], parsers_own: &str) -> String {
    let asks_for_help = |error: clap::Error| error.kind() == ErrorKind::DisplayHelp;
    let repl = (!Cli::try_parse_from(words).is_err_and(asks_for_help)).then_some("repl");
    let mut named = command();
    for word in repl.into_iter().chain(words.iter().skip(1).filter_map(|word| word.to_str())) {
        if let Some(below) = named.find_subcommand_mut(word) {
            named = std::mem::take(below);
        }
    }
    let is_long = parsers_own.contains("(see a summary with '-h')");
    let help = if is_long { named.render_long_help() } else { named.render_help() };
    help.to_string()
}

fn digest(text: &str) -> Result<Digest, &'static str> {
    Digest::try_from(text.to_owned())
}

#[derive(Debug, Args)]
pub(crate) struct ModelsListArgs {
    /// List the models of this provider (fetched from it, cached for a day)
    pub(crate) provider: Option<String>,

    /// Fetch the list again, ignoring the cache
    #[arg(long, requires = "provider")]
    pub(crate) refresh: bool,

    /// Use only the cache and the built-in table
    #[arg(long, conflicts_with = "refresh")]
    pub(crate) offline: bool,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ModelsShowArgs {
    /// The model, as provider/model
    pub(crate) model: String,

    /// Use only the cache and the built-in table
    #[arg(long)]
    pub(crate) offline: bool,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Approvals {
    /// List the saved approvals with their numbers
    #[command(after_help = examples::APPROVALS_LIST)]
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Revoke saved approvals
    #[command(after_help = examples::APPROVALS_REVOKE)]
    Revoke {
        /// Numbers as printed by `converse approvals list`
        #[arg(required = true, value_name = "N")]
        numbers: Vec<usize>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_alone_begin_a_conversation() {
        let parse = |line: &str| {
            let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            parsed(&words)
        };
        for line in
            ["converse", "converse -c", "converse -m understudy", "converse -q --plain", "converse repl -c"]
        {
            assert!(matches!(parse(line).map(|cli| cli.command), Ok(Command::Repl(_))), "{line}");
        }
        assert!(matches!(parse("converse ask hello").map(|cli| cli.command), Ok(Command::Ask(_))));
        for (line, told) in [
            ("converse ask --bogus", "--bogus"),
            ("converse -v ask --bogus", "--bogus"),
            ("converse --bogus", "--bogus"),
            ("converse askk", "askk"),
        ] {
            assert!(parse(line).is_err_and(|error| error.to_string().contains(told)), "{line}");
        }
        for (line, usage) in [
            ("converse --bogus", "Usage: converse [OPTIONS] <COMMAND>"),
            ("converse -c --bogus", "Usage: converse [OPTIONS] <COMMAND>"),
            ("converse repl --bogus", "Usage: converse repl "),
        ] {
            let told = parse(line).map(drop).unwrap_err().render().to_string();
            assert!(told.contains(usage) && told.contains("'--bogus'"), "{line}: {told}");
        }
        assert!(parse("converse --help").is_err_and(|error| !error.use_stderr()));
        for (line, usage) in [
            ("converse -v --help", "Usage: converse [OPTIONS] <COMMAND>"),
            ("converse -c --help", "Usage: converse repl [OPTIONS]"),
            ("converse --color always sessions list -h", "Usage: converse sessions list [OPTIONS]"),
        ] {
            let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            let help = help(&words, "");
            assert!(help.contains(usage), "{line}: {help}");
        }
    }

    #[test]
    fn a_question_needs_no_command() {
        let words = |line: &str| line.split('|').map(OsString::from).collect::<Vec<OsString>>();
        for (line, same) in [
            ("converse|and now?", "converse|ask|and now?"),
            ("converse|list the tools|-m|a/b|-q", "converse|ask|list the tools|-m|a/b|-q"),
            ("converse|-m|a/b|-c|and now?|more", "converse|ask|-m|a/b|-c|and now?|more"),
            ("converse|-m|a b|-c", "converse|repl|-m|a b|-c"),
        ] {
            let parsed = |line| parsed(&words(line)).map(|cli| format!("{cli:?}")).unwrap();
            assert_eq!(parsed(line), parsed(same), "{line}");
        }
        for (line, told) in [("converse|and now?|--bogus", "--bogus"), ("converse|now", "'now'")] {
            assert!(parsed(&words(line)).is_err_and(|error| error.to_string().contains(told)), "{line}");
        }
    }

    #[test]
    fn a_question_is_parsed_as_among_all_commands() {
        for line in [
            "converse ask hello",
            "converse ask",
            "converse ask -vv -m a/b one two --color never -- --not -a -flag",
            "converse ask -q --plain --store postgres://u@h/d -e git --allow git.* --mode read-only -o json ask",
        ] {
            let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            let alone = asked(&words).map(|cli| format!("{cli:?}"));
            assert_eq!(alone, parsed_among_all(&words).map(|cli| format!("{cli:?}")).ok(), "{line}");
            assert!(alone.is_some(), "{line}");
        }
        for line in [
            "converse ask --help",
            "converse ask -V",
            "converse ask -q -v",
            "converse ask --bogus",
            "converse -v ask hello",
            "converse asks hello",
            "converse repl",
            "converse",
        ] {
            let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            assert!(asked(&words).is_none(), "{line}");
        }
    }

    #[test]
    fn clap_finds_no_contradiction() {
        Cli::command().debug_assert();
        AskAlone::command().debug_assert();
    }
}
