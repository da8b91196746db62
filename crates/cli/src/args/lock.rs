//! `converse ensembles lock`.

use clap::Args;

use super::Places;

#[derive(Debug, Args)]
pub(crate) struct LockArgs {
    /// Lock only these ensembles, even if they are disabled
    #[arg(value_name = "ENSEMBLE")]
    pub(crate) names: Vec<String>,
    /// Accept all changes, not only new ensembles
    #[arg(long)]
    pub(crate) accept: bool,
    #[command(flatten)]
    pub(crate) places: Places,
    /// Print a JSON object and do not ask
    #[arg(long)]
    pub(crate) json: bool,
}
