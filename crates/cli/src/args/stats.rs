//! `converse stats`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use jiff::civil::Date;

use converse_terminal::render::stats::Table;

#[derive(Debug, Args)]
pub(crate) struct StatsArgs {
    /// Only the last N days, today included
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=36_525), conflicts_with = "since")]
    pub(crate) days: Option<u32>,
    /// Only from this day on, such as 2026-11-01
    #[arg(long, value_name = "DATE")]
    pub(crate) since: Option<Date>,
    /// Only this table
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) by: Option<StatsBy>,
    /// Only models with such a name: `gpt-*`
    #[arg(long, value_name = "GLOB")]
    pub(crate) model: Option<String>,
    /// Only calls of such tools: `github.*`
    #[arg(long, value_name = "GLOB")]
    pub(crate) tool: Option<String>,
    /// Only this session: its id, the beginning of it, its name, or `last`
    #[arg(long)]
    pub(crate) session: Option<String>,
    /// As a JSON object
    #[arg(long, conflicts_with = "html")]
    pub(crate) json: bool,
    /// As one page of HTML with plots
    #[arg(long)]
    pub(crate) html: bool,
    /// The file to write the page to; stdout, if none is named
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "html")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the file if it is there
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StatsBy {
    Day,
    Model,
    Tool,
}

impl StatsBy {
    pub(crate) fn table(self) -> Table {
        match self {
            Self::Day => Table::Day,
            Self::Model => Table::Model,
            Self::Tool => Table::Tool,
        }
    }
}
