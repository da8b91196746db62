//! What a turn is asked to be, before settings files and the environment are added.

use std::path::PathBuf;

use converse_canister::Cost;
use converse_provider::Effort;

use crate::cassette::mode::CassetteMode;

/// The choices for one conversation. An absent one is made by the environment, the settings files, or a default.
#[derive(Debug, Clone, Default)]
pub struct TurnOptions {
    /// As `provider/model`. Several are compared.
    pub model: Vec<String>,
    /// Models that answer instead, in order.
    pub fallback: Vec<String>,
    /// Instructions to the model, or `@FILE`.
    pub system: Option<String>,
    pub preset: Option<String>,
    /// The only ensembles to use; empty: all that are enabled.
    pub ensemble: Vec<String>,
    /// Directories of descriptors, trusted for this run.
    pub directories: Vec<PathBuf>,
    pub rules: RuleOptions,
    /// Files, addresses and resources for the model to read.
    pub attach: Vec<String>,
    pub no_tools: bool,
    pub continue_last: bool,
    /// The session to go on with.
    pub session: Option<String>,
    pub ephemeral: bool,
    pub temperature: Option<f64>,
    pub max_output_tokens: Option<u32>,
    pub effort: Option<Effort>,
    pub max_iterations: Option<u32>,
    pub max_invocations: Option<u32>,
    pub max_cost: Option<Cost>,
    /// Seconds.
    pub deadline: Option<f64>,
    pub no_stream: bool,
    pub show_reasoning: bool,
    /// The cassette to write.
    pub record: Option<PathBuf>,
    /// The cassette to replay.
    pub replay: Option<PathBuf>,
    pub live_tools: bool,
    pub live_model: bool,
    /// What `record` or `replay` names, once it is open.
    pub cassette: CassetteMode,
}

/// Patterns of tools that may run without asking, only after asking, or never.
#[derive(Debug, Clone, Default)]
pub struct RuleOptions {
    pub allow: Vec<String>,
    pub ask: Vec<String>,
    pub deny: Vec<String>,
}
