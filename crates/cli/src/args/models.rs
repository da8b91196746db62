//! `converse models`.

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct ModelsListArgs {
    /// List the models of this provider (fetched from it, cached for a day)
    pub(crate) provider: Option<String>,

    /// Fetch the list again, ignoring the cache
    #[arg(long, requires = "provider")]
    pub(crate) refresh: bool,

    /// Use only the cache and the built-in table
    #[arg(long, conflicts_with = "refresh")]
    pub(crate) offline: bool,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ModelsShowArgs {
    /// The model, as provider/model
    pub(crate) model: String,

    /// Use only the cache and the built-in table
    #[arg(long)]
    pub(crate) offline: bool,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
