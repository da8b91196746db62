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
mod schema;
mod serve;
mod test;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use converse_canister::{Cost, Digest};

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
pub(crate) use schema::{SchemaArgs, SchemaOf};
pub(crate) use serve::{FrontArgs, ServeArgs};
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

    /// The model, as provider/model; `understudy` needs no key and no network. Several are compared: the same
    /// question, the same results of tools (repeatable)
    #[arg(short, long, value_name = "PROVIDER/MODEL")]
    pub(crate) model: Vec<String>,

    /// Who answers instead when the model's server cannot: unreachable, overloaded, out of quota, without such a
    /// model (repeatable, in order)
    #[arg(long, value_name = "PROVIDER/MODEL")]
    pub(crate) fallback: Vec<String>,

    /// Instructions to the model, or @FILE
    #[arg(short, long, value_name = "TEXT|@FILE")]
    pub(crate) system: Option<String>,

    /// A set of model, system text, ensembles and parameters kept in the configuration
    #[arg(long, value_name = "NAME")]
    pub(crate) preset: Option<String>,

    /// Use only this ensemble (repeatable)
    #[arg(short, long, value_name = "NAME")]
    pub(crate) ensemble: Vec<String>,

    #[command(flatten)]
    pub(crate) places: Places,

    #[command(flatten)]
    pub(crate) rules: Rules,

    /// A prompt of an MCP server: its arguments are the key=value words after it
    #[arg(long = "prompt", value_name = "ENSEMBLE.NAME")]
    pub(crate) mcp_prompt: Option<String>,

    /// A picture, document or recording for the model to read, or a resource of an MCP server (repeatable)
    #[arg(short, long, value_name = "FILE|URL|mcp:ENSEMBLE:URI")]
    pub(crate) attach: Vec<String>,

    /// The answer must be JSON of this schema; exit 6 if it never is
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) schema: Option<PathBuf>,

    /// Offer no tools at all
    #[arg(long, conflicts_with = "ensemble")]
    pub(crate) no_tools: bool,

    /// Go on with the last session
    #[arg(short, long = "continue", conflicts_with_all = ["session", "ephemeral"])]
    pub(crate) continue_last: bool,

    /// Go on with this session: its id, the beginning of it, or its name
    #[arg(long, value_name = "ID", conflicts_with = "ephemeral")]
    pub(crate) session: Option<String>,

    /// Keep no session; the audit log is written all the same
    #[arg(long)]
    pub(crate) ephemeral: bool,

    /// What stdout carries: the answer, one JSON object, or JSON records as things happen
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    pub(crate) output: Format,

    /// Sampling temperature, if the model takes one
    #[arg(long, value_name = "T", value_parser = temperature)]
    pub(crate) temperature: Option<f64>,

    /// Tokens the model may write in one reply
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_output_tokens: Option<u32>,

    /// How hard a reasoning model shall think
    #[arg(long, value_enum)]
    pub(crate) effort: Option<EffortArg>,

    /// Model calls in this turn [default: 25]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_iterations: Option<u32>,

    /// Invocations in this turn [default: 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..))]
    pub(crate) max_invocations: Option<u32>,

    /// US dollars that this turn may cost, models and tools together
    #[arg(long, value_name = "USD", value_parser = dollars)]
    pub(crate) max_cost: Option<Cost>,

    /// End after so many seconds, whatever is going on
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) deadline: Option<f64>,

    /// Ask for whole replies instead of streams
    #[arg(long)]
    pub(crate) no_stream: bool,

    /// Show on stderr what the model thinks
    #[arg(long)]
    pub(crate) show_reasoning: bool,

    /// Print the request that would be sent, without the key, and end
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Print how many tokens the request would have, and end
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) count_tokens: bool,
}

/// Where ensembles are looked for.
#[derive(Debug, Args)]
pub(crate) struct Places {
    /// A directory of descriptors, trusted for this run (repeatable)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) ensembles: Vec<PathBuf>,
}

/// What tools may do in this run.
#[derive(Debug, Args)]
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
    Jsonl,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EffortArg {
    None,
    Minimal,
    Low,
    Medium,
    High,
    #[value(name = "xhigh")]
    XHigh,
    Max,
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

fn digest(text: &str) -> Result<Digest, &'static str> {
    Digest::try_from(text.to_owned())
}

fn temperature(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.0..=2.0).contains(&value) => Ok(value),
        _ => Err("a number from 0 to 2 is needed".to_owned()),
    }
}

fn dollars(text: &str) -> Result<Cost, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value <= 1e6 => Ok(Cost::of_dollars(value)),
        _ => Err("an amount of US dollars above 0 is needed".to_owned()),
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value <= 86_400.0 => Ok(value),
        _ => Err("a number of seconds above 0, at most 86400, is needed".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn clap_finds_no_contradiction() {
        Cli::command().debug_assert();
    }
}
