//! Where something else draws on the terminal, as the REPL does: progress says there what it has to say, and draws nothing.

use std::sync::Arc;

use super::Progress;

/// Who draws instead.
pub trait TerminalHost: Send + Sync {
    /// A line, or several.
    fn say(&self, text: &str);

    /// Somebody is about to talk on the terminal; nothing is drawn until they have.
    fn leave(&self);

    /// `mid_line`: they broke off where the line did not end.
    fn come_back(&self, mid_line: bool);

    /// Something keeps the user waiting; the number is for [`TerminalHost::waited`].
    fn wait_for(&self, what: &str) -> u64;

    fn waited(&self, number: u64);
}

impl Progress {
    /// From now on. The first one stays.
    pub fn draw_on(&self, terminal_host: Arc<dyn TerminalHost>) {
        let _ = self.terminal_host.set(terminal_host);
    }

    pub(super) fn terminal_host(&self) -> Option<&Arc<dyn TerminalHost>> {
        self.terminal_host.get()
    }

    /// Says it there; `false`: nobody draws instead.
    pub(crate) fn told_to_host(&self, text: &str) -> bool {
        self.terminal_host().map(|terminal_host| terminal_host.say(text)).is_some()
    }
}

/// As long as it lives, somebody talks on the terminal.
pub(super) struct Away<'a> {
    terminal_host: &'a Arc<dyn TerminalHost>,
    /// They came to their end.
    pub(super) ended: bool,
}

impl<'a> Away<'a> {
    pub(super) fn from(terminal_host: &'a Arc<dyn TerminalHost>) -> Self {
        terminal_host.leave();
        Self { terminal_host, ended: false }
    }
}

impl Drop for Away<'_> {
    fn drop(&mut self) {
        self.terminal_host.come_back(!self.ended);
    }
}
