//! Calls a person who looks elsewhere, by a bell and a notification, and names the terminal.

use std::time::Instant;

use converse_config::Notify;
use converse_editor::{FOCUS_REPORTED, FOCUS_UNREPORTED, TITLE_RESTORED, notification, titled};

use super::modes::{BRACKET_PASTES, PASTES_AS_KEYS};
use super::{Output, TerminalView};

impl TerminalView {
    /// From now on the person is called when a turn ends and when a question is asked.
    pub(crate) fn notifies(&self, notify: Notify) {
        let _ = self.notify.set(notify);
        self.acted();
    }

    /// The turn has ended. Nobody is called who has sent the next message already.
    pub(crate) fn call_after_turn(&self, failed: bool) {
        self.hear_keys();
        if !self.modes.typed().sends_next() {
            self.call(if failed { "converse: the turn failed" } else { "converse: the answer is ready" });
        }
    }

    pub(super) fn call_to_question(&self) {
        self.call("converse: a question waits for your answer");
    }

    /// The person did something else than press a key in a turn.
    pub(super) fn acted(&self) {
        self.modes.typed().focus().acts(Instant::now());
    }

    /// Not with words of others: some terminals act on what is in a notification.
    fn call(&self, text: &str) {
        let Output { surface, style, .. } = self.output();
        let is_called = match self.notify.get() {
            Some(Notify::Always) => true,
            Some(Notify::Unfocused) => self.modes.typed().focus().is_elsewhere(Instant::now()),
            Some(Notify::Never) | None => false,
        };
        if style.live && is_called {
            let _ = surface.write(&notification(text));
        }
    }

    /// Sets the title of the terminal until the end.
    pub(crate) fn name(&self, directory: &str) {
        let between = if self.style().unicode { "·" } else { "-" };
        let _ = self.title.set(format!("converse {between} {directory}"));
        self.set_title();
    }

    /// Sets the title again, if there is one.
    pub(crate) fn set_title(&self) {
        let Output { surface, style, .. } = self.output();
        if let Some(title) = self.title.get()
            && style.live
            && !self.modes.titled(true)
        {
            let _ = surface.write(&titled(title));
        }
    }

    pub(crate) fn restore_title(&self) {
        if self.modes.titled(false) {
            let _ = self.output().surface.write(TITLE_RESTORED);
        }
    }

    /// Keys are heard from now on: pastes are marked, and the focus is reported if it counts.
    pub(super) fn begin_reports(&self) {
        let focus = if self.notify.get() == Some(&Notify::Unfocused) { FOCUS_REPORTED } else { "" };
        let _ = self.output().surface.write(&format!("{BRACKET_PASTES}{focus}"));
    }

    pub(super) fn end_reports(&self) {
        let focus = if self.notify.get() == Some(&Notify::Unfocused) { FOCUS_UNREPORTED } else { "" };
        let _ = self.output().surface.write(&format!("{PASTES_AS_KEYS}{focus}"));
    }
}
