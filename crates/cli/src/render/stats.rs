//! What was used, for people and for programs.

mod cells;
mod chart;
mod html;
mod json;
mod number;
mod style;
mod svg;
mod text;

use jiff::civil::Date;

pub(crate) use html::html;
pub(crate) use json::json;
pub(crate) use text::{Look, text};

/// The tables of the figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Table {
    Day,
    Model,
    Tool,
}

/// What the figures are of.
#[derive(Debug, Clone)]
pub(crate) struct Period {
    /// The first day that counts; `None`: from the beginning.
    pub(crate) since: Option<Date>,
    /// Today.
    pub(crate) until: Date,
    /// The zone that days begin in.
    pub(crate) zone: String,
}
