//! `[repl]`: how the conversation at the terminal behaves.

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

/// Returns whether lines are edited with the keys of vi, and when the person is called.
pub(super) fn repl(file: &Table<'_, '_>) -> (Option<bool>, Option<Notify>) {
    let Some(table) = file.table("repl") else { return (None, None) };
    let words = [("unfocused", Notify::Unfocused), ("always", Notify::Always), ("never", Notify::Never)];
    let vi = table.boolean("vi").map(|vi| vi.value);
    let notify = table.choice("notify", &words).map(|notify| notify.value);
    table.finish();
    (vi, notify)
}
