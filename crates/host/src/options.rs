//! [`TurnOptions`]: the options of a turn before settings files and the environment are applied.

use std::path::PathBuf;

use converse_canister::Cost;
use converse_ensemble::Mode;
use converse_project::Instructions;
use converse_provider::Effort;

use crate::cassette::CassetteMode;

/// The options of a conversation. A missing option comes from the environment, the settings files or a default.
#[derive(Debug, Clone, Default)]
pub struct TurnOptions {
    /// `provider/model`. Several models are compared.
    pub model: Vec<String>,
    /// Fallback models in order.
    pub fallback: Vec<String>,
    /// Instructions for the model, or `@FILE`.
    pub system: Option<String>,
    /// Instructions of files, which follow the system text and are not kept in the session.
    pub instructions: Instructions,
    /// Whether they are left out.
    pub no_instructions: bool,
    pub preset: Option<String>,
    /// The ensembles to use; empty for all that are enabled.
    pub ensemble: Vec<String>,
    /// Directories of descriptors, trusted for this run.
    pub directories: Vec<PathBuf>,
    pub rules: RuleOptions,
    pub mode: Mode,
    /// Files, addresses and resources to attach.
    pub attach: Vec<String>,
    pub no_tools: bool,
    pub continue_last: bool,
    /// The last session of all projects, not of this one.
    pub of_all_projects: bool,
    /// The session to resume.
    pub session: Option<String>,
    pub ephemeral: bool,
    pub temperature: Option<f64>,
    pub max_output_tokens: Option<u32>,
    pub effort: Option<Effort>,
    pub max_iterations: Option<u32>,
    pub max_invocations: Option<u32>,
    pub max_cost: Option<Cost>,
    /// Timeout in seconds.
    pub deadline: Option<f64>,
    pub no_stream: bool,
    pub show_reasoning: bool,
    /// The cassette to write.
    pub record: Option<PathBuf>,
    /// The cassette to replay.
    pub replay: Option<PathBuf>,
    pub live_tools: bool,
    pub live_model: bool,
    /// The cassette of `record` or `replay`, once it is open.
    #[doc(hidden)]
    pub cassette: CassetteMode,
}

/// Patterns of tools that run without asking, only after asking, or never.
#[derive(Debug, Clone, Default)]
pub struct RuleOptions {
    pub allow: Vec<String>,
    pub ask: Vec<String>,
    pub deny: Vec<String>,
}
