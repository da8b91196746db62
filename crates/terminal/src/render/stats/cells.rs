//! What the tables of models and of tools say, on a terminal and on a page: which rows, in which order, and their cells.

use std::cmp::Reverse;

use converse_session::stats::{Figures, Model, Tool};

use super::number::{fee, percent, price, short, time};

/// Over the cells of a model.
pub(super) const OF_MODELS: [&str; 9] =
    ["replies", "in", "out", "cached", "cost", "p50", "p95", "failed", "bad args"];
/// Over the cells of a tool.
pub(super) const OF_TOOLS: [&str; 7] = ["calls", "failed", "refused", "bad args", "cost", "p50", "p95"];

/// Those that took most first.
pub(super) fn models(figures: &Figures) -> Vec<(&str, &Model)> {
    let mut models: Vec<_> = figures.models.iter().map(|(name, model)| (name.as_str(), model)).collect();
    models.sort_by_key(|(_, model)| Reverse(model.spent.tokens()));
    models
}

/// Those that were called most first.
pub(super) fn tools(figures: &Figures) -> Vec<(&str, &Tool)> {
    let mut tools: Vec<_> = figures.tools.iter().map(|(name, tool)| (name.as_str(), tool)).collect();
    tools.sort_by_key(|(_, tool)| Reverse(tool.calls.calls));
    tools
}

pub(super) fn of_model(model: &Model) -> [String; 9] {
    let Model { spent, time: times, broken, truncated, refused, calls, .. } = model;
    [
        short(spent.replies),
        short(spent.input),
        short(spent.output),
        percent(spent.cache_read, spent.input),
        price(spent),
        time(times.quantile(0.5)),
        time(times.quantile(0.95)),
        percent(broken + truncated + refused, spent.replies),
        percent(calls.invalid(), calls.calls),
    ]
}

pub(super) fn of_tool(Tool { calls, time: times }: &Tool) -> [String; 7] {
    [
        short(calls.calls),
        percent(calls.failed(), calls.calls),
        percent(calls.refused(), calls.calls),
        percent(calls.invalid(), calls.calls),
        fee(calls),
        time(times.quantile(0.5)),
        time(times.quantile(0.95)),
    ]
}
