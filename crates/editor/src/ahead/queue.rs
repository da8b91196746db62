//! Messages that were sent while a turn runs and wait for its end.

use std::collections::VecDeque;

use super::Draft;

#[derive(Debug, Default)]
pub(super) struct Queue {
    drafts: VecDeque<Draft>,
    bytes: usize,
}

impl Queue {
    pub(super) fn len(&self) -> usize {
        self.drafts.len()
    }

    /// Bytes of all of them, a paste of several lines counting twice.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.drafts.iter().map(|draft| draft.text.as_str())
    }

    pub(super) fn text(&self, place: usize) -> Option<&str> {
        self.drafts.get(place).map(|draft| draft.text.as_str())
    }

    /// Puts a message to this place, at most behind the last.
    pub(super) fn put(&mut self, place: usize, draft: Draft) {
        self.bytes += draft.bytes();
        self.drafts.insert(place.min(self.drafts.len()), draft);
    }

    pub(super) fn take(&mut self, place: usize) -> Option<Draft> {
        let draft = self.drafts.remove(place)?;
        self.bytes -= draft.bytes();
        Some(draft)
    }

    /// Ctrl-D was pressed. One after another says nothing more.
    pub(super) fn ends(&mut self) {
        if !self.drafts.back().is_some_and(Draft::is_end) {
            self.drafts.push_back(Draft { is_sent: true, ..Draft::default() });
        }
    }
}
