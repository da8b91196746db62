//! `[context]`: what is done when a conversation, or its tools, would fill a model's window.

use crate::table::Table;

/// Nearer to the whole window there is no room for what an estimate may be wrong by.
const MOST: f64 = 0.95;
const LEAST: f64 = 0.1;

/// `None` is "not said".
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ContextPlan {
    /// Is anything done at all?
    pub compact: Option<bool>,
    /// The share of the window at which old results are shortened and the beginning is summarised.
    pub compact_at: Option<f64>,
    /// The share of the window beyond which tools are offered by a search; 0 is never.
    pub lazy_tools: Option<f64>,
}

impl ContextPlan {
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            compact: self.compact.or(other.compact),
            compact_at: self.compact_at.or(other.compact_at),
            lazy_tools: self.lazy_tools.or(other.lazy_tools),
        }
    }
}

pub(super) fn context(file: &Table<'_, '_>) -> ContextPlan {
    let Some(table) = file.table("context") else { return ContextPlan::default() };
    let plan = ContextPlan {
        compact: table.boolean("compact").map(|said| said.value),
        compact_at: table.float("compact_at", LEAST..=MOST).map(|share| share.value),
        lazy_tools: table.float("lazy_tools", 0.0..=1.0).map(|share| share.value),
    };
    table.finish();
    plan
}
