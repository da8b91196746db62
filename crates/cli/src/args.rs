//! The command line: clap types only, no decisions.

mod approvals;
mod check;
mod doctor;
mod ensembles;
mod explain;
mod foreign;
mod init;
mod lock;
mod mcp;
mod models;
mod repl;
mod schema;
mod serve;
mod sessions;
mod stats;
mod talk;
mod test;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue};
use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum, ValueHint};
use converse_canister::Digest;

use converse_host::options::RuleOptions;

pub(crate) use approvals::Approvals;
pub(crate) use check::{CheckArgs, LintedProvider, ReportFormat};
pub(crate) use doctor::DoctorArgs;
pub(crate) use ensembles::Ensembles;
pub(crate) use explain::ExplainArgs;
pub(crate) use foreign::{Destination, ExportArgs, ForeignFormat, ImportArgs};
pub(crate) use init::InitArgs;
pub(crate) use lock::LockArgs;
pub(crate) use mcp::{Elicit, Mcp, OauthFlow, ProbeArgs};
pub(crate) use models::{ModelsListArgs, ModelsShowArgs};
pub(crate) use repl::ReplArgs;
pub(crate) use schema::{SchemaArgs, SchemaOf};
pub(crate) use serve::{FrontArgs, ServeArgs};
pub(crate) use sessions::{
    ForkArgs, GcArgs, SearchArgs, SearchIn, Sessions, SessionsCheckArgs, SessionsExportArgs,
    SessionsImportArgs, SessionsListArgs, SessionsShowArgs, TagArgs, TranscriptFormat,
};
pub(crate) use stats::{StatsArgs, StatsBy};
pub(crate) use talk::Talk;
pub(crate) use test::{TestArgs, TestFormat};

/// Declared tools plus any model: conversations that can be scripted, audited, tested and trusted.
#[derive(Debug, Parser)]
#[command(name = "converse", version, max_term_width = 100, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Say more on stderr (repeat for debug and trace logs)
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,

    /// Say nothing on stderr but errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,

    /// Colour and styling
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto)]
    pub(crate) color: Color,

    /// No spinners, no styling: for screen readers and logs
    #[arg(long, global = true)]
    pub(crate) plain: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Ask one question; the answer streams to stdout
    Ask(Box<Ask>),
    /// A conversation at the terminal; what `converse` alone begins
    Repl(Box<ReplArgs>),
    /// The conversations that are kept
    #[command(subcommand)]
    Sessions(Sessions),
    /// What was used, what it cost, how long it took, how often it failed
    Stats(StatsArgs),
    /// The tools there are: is what is declared right, pinned, tested, trusted?
    #[command(subcommand)]
    Ensembles(Ensembles),
    /// Which permission rule decides about a call, from which file and line; calls nothing
    Explain(ExplainArgs),
    /// The "always" answers that are remembered: list, revoke
    #[command(subcommand)]
    Approvals(Approvals),
    /// One MCP server, looked at from the outside
    #[command(subcommand)]
    Mcp(Mcp),
    /// The ensembles as an MCP server: checked, judged, limited and audited for whoever calls
    Serve(Box<ServeArgs>),
    /// What of this machine converse can use
    Doctor(DoctorArgs),
    /// The models there are
    #[command(subcommand)]
    Models(Models),
    /// The audit log: is it whole?
    #[command(subcommand)]
    Audit(Audit),
    /// Print a completion script for a shell
    Completions {
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Ask {
    /// The question; `-` alone reads it from stdin. Words and a file or pipe on stdin are joined by a blank line
    pub(crate) prompt: Vec<String>,

    #[command(flatten)]
    pub(crate) talk: Talk,

    /// A prompt of an MCP server: its arguments are the key=value words after it
    #[arg(long = "prompt", value_name = "ENSEMBLE.NAME")]
    pub(crate) mcp_prompt: Option<String>,

    /// The answer must be JSON of this schema; exit 6 if it never is
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) schema: Option<PathBuf>,

    /// What stdout carries: the answer, one JSON object, or JSON records as things happen
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    pub(crate) output: Format,

    /// Print the request that would be sent, without the key, and end
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Print how many tokens the request would have, and end
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) count_tokens: bool,
}

/// Where ensembles are looked for.
#[derive(Debug, Clone, Args)]
pub(crate) struct Places {
    /// A directory of descriptors, trusted for this run (repeatable)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) ensembles: Vec<PathBuf>,
}

/// What tools may do in this run.
#[derive(Debug, Clone, Args)]
pub(crate) struct Rules {
    /// Run these tools without asking, e.g. 'weather.*' (repeatable)
    #[arg(long, value_name = "PATTERN")]
    pub(crate) allow: Vec<String>,

    /// Ask before these tools run (repeatable)
    #[arg(long, value_name = "PATTERN")]
    pub(crate) ask: Vec<String>,

    /// Never run these tools (repeatable)
    #[arg(long, value_name = "PATTERN")]
    pub(crate) deny: Vec<String>,
}

impl Rules {
    pub(crate) fn options(&self) -> RuleOptions {
        let Self { allow, ask, deny } = self.clone();
        RuleOptions { allow, ask, deny }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
    Jsonl,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Audit {
    /// Check that no line was changed, removed or put in between; exit 9 if one was
    Verify {
        /// Another file than the log itself
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: Option<PathBuf>,
        /// A head that was noted earlier: its line must still be there
        #[arg(long, value_name = "SHA256", value_parser = digest)]
        head: Option<Digest>,
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Models {
    /// Every provider that is known, whether its key is set, and how its models are named
    List(ModelsListArgs),
    /// What is known of one model: window, prices, what it takes, and from where that is known
    Show(ModelsShowArgs),
}

/// The command line. Flags alone, or nothing at all, begin a conversation: `converse -c` is `converse repl -c`.
pub(crate) fn parsed(words: &[OsString]) -> Result<Cli, clap::Error> {
    let error = match Cli::try_parse_from(words) {
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
    let repl = OsString::from("repl");
    let parsed = Cli::try_parse_from(program.iter().chain([&repl]).chain(flags));
    // Nobody wrote `repl`: what is wrong is told of the flags, and how it is used of `converse`.
    parsed.map_err(|mut error| {
        let usage = ContextValue::StyledStr(Cli::command().render_usage());
        error.insert(ContextKind::Usage, usage);
        error
    })
}

fn digest(text: &str) -> Result<Digest, &'static str> {
    Digest::try_from(text.to_owned())
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
    }

    #[test]
    fn clap_finds_no_contradiction() {
        Cli::command().debug_assert();
    }
}
