//! `converse stats`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use jiff::civil::Date;

use converse_terminal::render::stats::Table;

#[derive(Debug, Args)]
pub(crate) struct StatsArgs {
    /// Count only the last N days, including today
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=36_525), conflicts_with = "since")]
    pub(crate) days: Option<u32>,
    /// Count only from this day on, such as 2026-11-01
    #[arg(long, value_name = "DATE")]
    pub(crate) since: Option<Date>,
    /// Print only this table
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) by: Option<StatsBy>,
    /// Count only models whose name matches, e.g. 'gpt-*'
    #[arg(long, value_name = "GLOB")]
    pub(crate) model: Option<String>,
    /// Count only tools that match, e.g. 'github.*'
    #[arg(long, value_name = "GLOB")]
    pub(crate) tool: Option<String>,
    /// Count only this session: its id, a prefix of the id, its name, or `last`
    #[arg(long)]
    pub(crate) session: Option<String>,
    /// Print a JSON object
    #[arg(long, conflicts_with = "html")]
    pub(crate) json: bool,
    /// Print an HTML page with plots
    #[arg(long)]
    pub(crate) html: bool,
    /// Write the page to this file [default: stdout]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "html")]
    pub(crate) output: Option<PathBuf>,
    /// Replace an existing file
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
