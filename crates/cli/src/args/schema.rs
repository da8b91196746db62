//! `converse ensembles schema`.

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// Which files the schema describes
    #[arg(value_enum, default_value_t = SchemaOf::Ensemble)]
    pub(crate) of: SchemaOf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaOf {
    /// `ensembles/*.toml`
    Ensemble,
    /// Files named by `source`
    Invoker,
}
