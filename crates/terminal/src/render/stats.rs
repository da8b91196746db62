//! What was used, for people and for programs.

mod cells;
mod chart;
mod html;
mod json;
pub(crate) mod number;
mod svg;
mod text;

use jiff::civil::Date;

pub use html::html;
pub use json::json;
pub use text::{Look, text};

/// The tables of the figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    Day,
    Model,
    Tool,
}

/// What the figures are of.
#[derive(Debug, Clone)]
pub struct Period {
    /// The first day that counts; `None`: from the beginning.
    pub since: Option<Date>,
    /// Today.
    pub until: Date,
    /// The zone that days begin in.
    pub zone: String,
}
