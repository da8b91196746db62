//! What `ask` and the REPL are both told: which model, with which tools, within which limits, kept where.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use converse_canister::Cost;
use converse_provider::Effort;

use super::{Places, Rules};
use converse_host::options::TurnOptions;

/// Flags of a conversation, however it is led.
#[derive(Debug, Clone, Args)]
pub(crate) struct Talk {
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

    /// A picture, document or recording for the model to read, or a resource of an MCP server (repeatable)
    #[arg(short, long, value_name = "FILE|URL|mcp:ENSEMBLE:URI")]
    pub(crate) attach: Vec<String>,

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

    /// Write what the model and the tools say to this file, without secrets, to be replayed
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "replay")]
    pub(crate) record: Option<PathBuf>,

    /// Take what the model and the tools say from a recorded file: no key, no network
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) replay: Option<PathBuf>,

    /// While replaying, run the tools
    #[arg(long, requires = "replay")]
    pub(crate) live_tools: bool,

    /// While replaying, ask the model
    #[arg(long, requires = "replay")]
    pub(crate) live_model: bool,
}

impl Talk {
    pub(crate) fn options(&self) -> TurnOptions {
        let talk = self.clone();
        TurnOptions {
            model: talk.model,
            fallback: talk.fallback,
            system: talk.system,
            preset: talk.preset,
            ensemble: talk.ensemble,
            directories: talk.places.ensembles,
            rules: talk.rules.options(),
            attach: talk.attach,
            no_tools: talk.no_tools,
            continue_last: talk.continue_last,
            session: talk.session,
            ephemeral: talk.ephemeral,
            temperature: talk.temperature,
            max_output_tokens: talk.max_output_tokens,
            effort: talk.effort.map(EffortArg::effort),
            max_iterations: talk.max_iterations,
            max_invocations: talk.max_invocations,
            max_cost: talk.max_cost,
            deadline: talk.deadline,
            no_stream: talk.no_stream,
            show_reasoning: talk.show_reasoning,
            record: talk.record,
            replay: talk.replay,
            live_tools: talk.live_tools,
            live_model: talk.live_model,
            ..TurnOptions::default()
        }
    }
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

impl EffortArg {
    fn effort(self) -> Effort {
        match self {
            Self::None => Effort::None,
            Self::Minimal => Effort::Minimal,
            Self::Low => Effort::Low,
            Self::Medium => Effort::Medium,
            Self::High => Effort::High,
            Self::XHigh => Effort::XHigh,
            Self::Max => Effort::Max,
        }
    }
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

pub(super) fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value <= 86_400.0 => Ok(value),
        _ => Err("a number of seconds above 0, at most 86400, is needed".to_owned()),
    }
}
