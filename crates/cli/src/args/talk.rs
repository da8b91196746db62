//! Flags shared by `ask` and the REPL.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueHint};
use converse_canister::Cost;
use converse_provider::Effort;

use super::{ModeArgs, Places, Rules, headings};
use converse_host::options::TurnOptions;

// Flags of a conversation.
#[derive(Debug, Clone, Args)]
pub(crate) struct Talk {
    /// Model to use, as provider/model; `understudy` needs no key and no network (repeatable with `ask`: compare the
    /// answers of several models)
    #[arg(short, long, value_name = "PROVIDER/MODEL", help_heading = headings::MODEL)]
    pub(crate) model: Vec<String>,

    /// Model to use if the provider is unreachable, overloaded, out of quota or does not have the model (repeatable,
    /// in order)
    #[arg(long, value_name = "PROVIDER/MODEL", help_heading = headings::MODEL)]
    pub(crate) fallback: Vec<String>,

    #[command(flatten)]
    pub(crate) asking: Asking,

    #[command(flatten)]
    pub(crate) mode: ModeArgs,

    /// Leave out the instructions of AGENTS.md and similar files
    #[arg(long, help_heading = headings::MODEL)]
    pub(crate) no_instructions: bool,

    /// Attach an image, document, recording or MCP resource (repeatable)
    #[arg(short, long, value_name = "FILE|URL|mcp:ENSEMBLE:URI", help_heading = headings::INPUT)]
    pub(crate) attach: Vec<String>,

    /// Continue the last session of this project
    #[arg(short, long = "continue", conflicts_with_all = ["session", "ephemeral"], help_heading = headings::SESSION)]
    pub(crate) continue_last: bool,

    /// With -c: continue the last session of all projects
    #[arg(long, requires = "continue_last", help_heading = headings::SESSION)]
    pub(crate) all: bool,

    /// Continue this session: its id, a prefix of the id, or its name
    #[arg(long, value_name = "ID", conflicts_with = "ephemeral", help_heading = headings::SESSION)]
    pub(crate) session: Option<String>,

    /// Do not save the session (the audit log is still written)
    #[arg(long, help_heading = headings::SESSION)]
    pub(crate) ephemeral: bool,

    #[command(flatten)]
    pub(crate) bounds: Bounds,

    /// Maximum cost of this turn in US dollars, models and tools together
    #[arg(long, value_name = "USD", value_parser = dollars, help_heading = headings::LIMITS)]
    pub(crate) max_cost: Option<Cost>,

    /// Stop the turn after this time
    #[arg(long, value_name = "SECONDS", value_parser = seconds, help_heading = headings::LIMITS)]
    pub(crate) deadline: Option<f64>,

    /// Print the model's reasoning on stderr
    #[arg(long, help_heading = headings::MODEL)]
    pub(crate) show_reasoning: bool,

    /// Record the replies of the model and the tools in this file, with secrets redacted
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "replay", help_heading = headings::CASSETTE)]
    pub(crate) record: Option<PathBuf>,

    /// Replay a recorded file; needs no key and no network
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = headings::CASSETTE)]
    pub(crate) replay: Option<PathBuf>,

    /// Run the tools while replaying
    #[arg(long, requires = "replay", help_heading = headings::CASSETTE)]
    pub(crate) live_tools: bool,

    /// Call the model while replaying
    #[arg(long, requires = "replay", help_heading = headings::CASSETTE)]
    pub(crate) live_model: bool,
}

// How a model is asked, and with which tools.
#[derive(Debug, Clone, Args)]
pub(crate) struct Asking {
    /// Instructions for the model; @FILE reads them from a file
    #[arg(short, long, value_name = "TEXT|@FILE", help_heading = headings::MODEL)]
    pub(crate) system: Option<String>,

    /// Use a preset from the settings: model, instructions, ensembles and parameters
    #[arg(long, value_name = "NAME", help_heading = headings::MODEL)]
    pub(crate) preset: Option<String>,

    /// Use only this ensemble (repeatable)
    #[arg(short, long, value_name = "NAME", help_heading = headings::TOOLS)]
    pub(crate) ensemble: Vec<String>,

    #[command(flatten)]
    pub(crate) places: Places,

    #[command(flatten)]
    pub(crate) rules: Rules,

    /// Offer no tools to the model
    #[arg(long, conflicts_with = "ensemble", help_heading = headings::TOOLS)]
    pub(crate) no_tools: bool,

    /// Sampling temperature, from 0 to 2, for models that accept it
    #[arg(long, value_name = "T", value_parser = temperature, help_heading = headings::MODEL)]
    pub(crate) temperature: Option<f64>,

    /// Maximum number of tokens in one reply
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = headings::MODEL)]
    pub(crate) max_output_tokens: Option<u32>,

    /// Reasoning effort, for models that support it
    #[arg(long, value_parser = effort(), help_heading = headings::MODEL)]
    pub(crate) effort: Option<Effort>,

    /// Request complete replies instead of streams
    #[arg(long, help_heading = headings::MODEL)]
    pub(crate) no_stream: bool,
}

// Limits of one turn.
#[derive(Debug, Clone, Args)]
pub(crate) struct Bounds {
    /// Maximum number of model calls in this turn [default: 25]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = headings::LIMITS)]
    pub(crate) max_iterations: Option<u32>,

    /// Maximum number of tool calls in this turn [default: 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..), help_heading = headings::LIMITS)]
    pub(crate) max_invocations: Option<u32>,
}

impl Asking {
    pub(super) fn options(self, bounds: &Bounds) -> TurnOptions {
        TurnOptions {
            system: self.system,
            preset: self.preset,
            ensemble: self.ensemble,
            directories: self.places.ensembles,
            rules: self.rules.options(),
            no_tools: self.no_tools,
            temperature: self.temperature,
            max_output_tokens: self.max_output_tokens,
            effort: self.effort,
            no_stream: self.no_stream,
            max_iterations: bounds.max_iterations,
            max_invocations: bounds.max_invocations,
            ..TurnOptions::default()
        }
    }
}

impl Talk {
    pub(crate) fn options(&self) -> TurnOptions {
        let talk = self.clone();
        TurnOptions {
            model: talk.model,
            fallback: talk.fallback,
            no_instructions: talk.no_instructions,
            attach: talk.attach,
            mode: talk.mode.mode,
            continue_last: talk.continue_last,
            of_all_projects: talk.all,
            session: talk.session,
            ephemeral: talk.ephemeral,
            max_cost: talk.max_cost,
            deadline: talk.deadline,
            show_reasoning: talk.show_reasoning,
            record: talk.record,
            replay: talk.replay,
            live_tools: talk.live_tools,
            live_model: talk.live_model,
            ..talk.asking.options(&talk.bounds)
        }
    }
}

fn effort() -> impl TypedValueParser<Value = Effort> {
    let words = PossibleValuesParser::new(Effort::WORDS.map(|(word, _)| word));
    words.try_map(|word| Effort::named(&word).ok_or("not a reasoning effort"))
}

fn temperature(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.0..=2.0).contains(&value) => Ok(value),
        _ => Err("a number from 0 to 2 is needed".to_owned()),
    }
}

pub(super) fn dollars(text: &str) -> Result<Cost, String> {
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
