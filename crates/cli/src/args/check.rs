//! `converse ensembles check`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::Places;

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Then connect every server too, and report those that fail and the tools that cannot be used; exit 10 if one
    /// cannot be connected
    #[arg(long)]
    pub(crate) connect: bool,
    /// Count a variable that is not set as an error
    #[arg(long)]
    pub(crate) require_env: bool,
    /// Fail if a tool is not what the lockfile says; servers are connected for that
    #[arg(long)]
    pub(crate) locked: bool,
    /// Say of each tool what these providers reject
    #[arg(long, value_name = "NAME", value_enum, value_delimiter = ',')]
    pub(crate) provider: Vec<LintedProvider>,
    /// How the findings are written
    #[arg(short, long, value_enum, default_value_t = ReportFormat::Text, conflicts_with = "json")]
    pub(crate) format: ReportFormat,
    /// Directories to check instead of those that would be used; with `ensembles` goes the `converse.toml` beside it
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) directories: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) places: Places,
    /// The findings as a JSON array: the same as `--format json`
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LintedProvider {
    Anthropic,
    Openai,
    Gemini,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    Text,
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// JUnit XML, for test reports
    Junit,
    /// Workflow commands, which GitHub shows at the lines of a pull request
    Github,
}
