//! Where something else draws on the terminal, as the REPL does: progress says there what it has to say, and draws nothing.

use std::sync::Arc;

use super::Progress;

/// Who draws instead.
pub trait House: Send + Sync {
    /// A line, or several.
    fn say(&self, text: &str);

    /// Somebody is about to talk on the terminal; nothing is drawn until they have.
    fn leave(&self);

    /// `mid_line`: they broke off where the line did not end.
    fn come_back(&self, mid_line: bool);

    /// Something keeps the user waiting; the number is for [`House::waited`].
    fn wait_for(&self, what: &str) -> u64;

    fn waited(&self, number: u64);
}

impl Progress {
    /// From now on. The first one stays.
    pub fn host(&self, house: Arc<dyn House>) {
        let _ = self.house.set(house);
    }

    pub(super) fn house(&self) -> Option<&Arc<dyn House>> {
        self.house.get()
    }

    /// Says it there; `false`: nobody draws instead.
    pub(crate) fn told_house(&self, text: &str) -> bool {
        self.house().map(|house| house.say(text)).is_some()
    }
}

/// As long as it lives, somebody talks on the terminal.
pub(super) struct Away<'a> {
    house: &'a Arc<dyn House>,
    /// They came to their end.
    pub(super) ended: bool,
}

impl<'a> Away<'a> {
    pub(super) fn from(house: &'a Arc<dyn House>) -> Self {
        house.leave();
        Self { house, ended: false }
    }
}

impl Drop for Away<'_> {
    fn drop(&mut self) {
        self.house.come_back(!self.ended);
    }
}
