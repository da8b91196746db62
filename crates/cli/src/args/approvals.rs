//! `converse approvals`.

use clap::Subcommand;

use super::examples;

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Approvals {
    /// List the saved approvals with their numbers
    #[command(after_help = examples::APPROVALS_LIST)]
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Revoke saved approvals
    #[command(after_help = examples::APPROVALS_REVOKE)]
    Revoke {
        /// Numbers as printed by `converse approvals list`
        #[arg(required = true, value_name = "N")]
        numbers: Vec<usize>,
    },
}
