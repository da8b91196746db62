//! `converse explain`.

use clap::Args;

use super::{Places, Rules};

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
    /// Assume that nobody can be asked, as in a script
    #[arg(long)]
    pub(crate) unattended: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
