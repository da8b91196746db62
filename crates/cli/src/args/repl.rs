//! `converse repl`.

use clap::Args;

use super::Talk;

#[derive(Debug, Args)]
pub(crate) struct ReplArgs {
    #[command(flatten)]
    pub(crate) talk: Talk,
}
