//! `[repl]`: how the conversation at the terminal behaves.

use super::status::{self, StatusTemplate};
use crate::table::Table;

/// When the person at the terminal is called by a bell and a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Notify {
    /// While the terminal does not have the focus.
    #[default]
    Unfocused,
    Always,
    Never,
}

/// The background for which colours are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Theme {
    /// As the terminal says it is.
    #[default]
    Auto,
    Dark,
    Light,
}

/// The settings of `[repl]` that are there.
#[derive(Debug, Default)]
pub(super) struct ReplPlan {
    /// Whether lines are edited with the keys of vi.
    pub(super) vi: Option<bool>,
    /// When the person is called.
    pub(super) notify: Option<Notify>,
    /// The line above the prompt.
    pub(super) status: Option<StatusTemplate>,
    /// The background.
    pub(super) theme: Option<Theme>,
}

pub(super) fn repl(file: &Table<'_, '_>) -> ReplPlan {
    let Some(table) = file.table("repl") else { return ReplPlan::default() };
    let words = [("unfocused", Notify::Unfocused), ("always", Notify::Always), ("never", Notify::Never)];
    let vi = table.boolean("vi").map(|vi| vi.value);
    let notify = table.choice("notify", &words).map(|notify| notify.value);
    let themes = [("auto", Theme::Auto), ("dark", Theme::Dark), ("light", Theme::Light)];
    let theme = table.choice("theme", &themes).map(|theme| theme.value);
    let status = table.string("status").and_then(|text| {
        let refused = |why| table.problems.bad_value(text.span, why, status::hint());
        StatusTemplate::new(&text.value).map_err(refused).ok()
    });
    table.finish();
    ReplPlan { vi, notify, status, theme }
}
