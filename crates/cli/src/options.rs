//! What a turn is asked to be, before settings files and the environment are added.

use std::path::PathBuf;

use converse_canister::Cost;
use converse_provider::Effort;

use crate::adapters::tape::Tape;

/// The choices for one conversation. An absent one is made by the environment, the settings files, or a default.
#[derive(Debug, Clone, Default)]
pub(crate) struct TurnOptions {
    /// As `provider/model`. Several are compared.
    pub(crate) model: Vec<String>,
    /// Models that answer instead, in order.
    pub(crate) fallback: Vec<String>,
    /// Instructions to the model, or `@FILE`.
    pub(crate) system: Option<String>,
    pub(crate) preset: Option<String>,
    /// The only ensembles to use; empty: all that are enabled.
    pub(crate) ensemble: Vec<String>,
    /// Directories of descriptors, trusted for this run.
    pub(crate) directories: Vec<PathBuf>,
    pub(crate) rules: RuleOptions,
    /// Files, addresses and resources for the model to read.
    pub(crate) attach: Vec<String>,
    pub(crate) no_tools: bool,
    pub(crate) continue_last: bool,
    /// The session to go on with.
    pub(crate) session: Option<String>,
    pub(crate) ephemeral: bool,
    pub(crate) temperature: Option<f64>,
    pub(crate) max_output_tokens: Option<u32>,
    pub(crate) effort: Option<Effort>,
    pub(crate) max_iterations: Option<u32>,
    pub(crate) max_invocations: Option<u32>,
    pub(crate) max_cost: Option<Cost>,
    /// Seconds.
    pub(crate) deadline: Option<f64>,
    pub(crate) no_stream: bool,
    pub(crate) show_reasoning: bool,
    /// The cassette to write.
    pub(crate) record: Option<PathBuf>,
    /// The cassette to replay.
    pub(crate) replay: Option<PathBuf>,
    pub(crate) live_tools: bool,
    pub(crate) live_model: bool,
    /// What `record` or `replay` names, once it is open.
    pub(crate) tape: Tape,
}

/// Patterns of tools that may run without asking, only after asking, or never.
#[derive(Debug, Clone, Default)]
pub(crate) struct RuleOptions {
    pub(crate) allow: Vec<String>,
    pub(crate) ask: Vec<String>,
    pub(crate) deny: Vec<String>,
}
