//! `converse ensembles check`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::Places;

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Also connect to each server and check its tools; exit 10 if a connection fails
    #[arg(long)]
    pub(crate) connect: bool,
    /// Report an unset environment variable as an error
    #[arg(long)]
    pub(crate) require_env: bool,
    /// Fail if a tool differs from the lockfile (connects to servers)
    #[arg(long)]
    pub(crate) locked: bool,
    /// Report what these providers would reject (comma-separated)
    #[arg(long, value_name = "NAME", value_enum, value_delimiter = ',')]
    pub(crate) provider: Vec<LintedProvider>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = ReportFormat::Text, conflicts_with = "json")]
    pub(crate) format: ReportFormat,
    /// Directories to check [default: those in use]; for a directory `ensembles`, the `converse.toml` next to it is
    /// checked too
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) directories: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) places: Places,
    /// Print JSON (the same as `--format json`)
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
    /// GitHub workflow commands, shown as annotations in a pull request
    Github,
}
