//! `converse ensembles test`.

use clap::{Args, ValueEnum};

use super::{Places, Rules};

#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    /// Test only these, as ensemble or ensemble.invoker [default: all your own]
    pub(crate) names: Vec<String>,
    /// Also call each read-only tool with valid and invalid arguments generated from its schema
    #[arg(long)]
    pub(crate) synth: bool,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = TestFormat::Text, conflicts_with = "json")]
    pub(crate) format: TestFormat,
    #[command(flatten)]
    pub(crate) places: Places,
    #[command(flatten)]
    pub(crate) rules: Rules,
    /// Print JSON (the same as `--format json`)
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TestFormat {
    Text,
    Json,
    /// JUnit XML, for test reports
    Junit,
}
