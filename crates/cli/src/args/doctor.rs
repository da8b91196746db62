//! `converse doctor`.

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Contact no server: check neither keys nor connections
    #[arg(long)]
    pub(crate) offline: bool,

    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
