//! What everything on a view is drawn with at one moment.

use std::time::{Duration, Instant};

use crate::screen::Look;
use converse_text::shorten::within_columns;
use converse_text::{safe, safe_line};

use super::style::{Signs, Style};
use converse_host::secrets::Redactor;

/// A picture of what moves lasts so long.
const PICTURE: Duration = Duration::from_millis(120);

#[derive(Clone, Copy)]
pub(super) struct Frame<'a> {
    pub(super) style: Style,
    /// As wide as the terminal is now, less a column that stays free.
    pub(super) look: Look,
    pub(super) now: Instant,
    pub(super) redactor: &'a Redactor,
    /// The model's thinking is told as it comes.
    pub(super) reasoning: bool,
}

impl Frame<'_> {
    pub(super) fn signs(&self) -> &'static Signs {
        self.style.signs()
    }

    /// Short enough for a line. Cleaned before it is cut: half a key is no less a secret.
    pub(super) fn brief(&self, text: &str, most: usize) -> String {
        safe_line(&self.redactor.clean(text.trim()), most)
    }

    /// All of it, over several lines.
    pub(super) fn clean(&self, text: &str) -> String {
        safe(&self.redactor.clean(text)).into_owned()
    }

    pub(super) fn since(&self, then: Instant) -> Duration {
        self.now.saturating_duration_since(then)
    }

    /// The picture of something that goes on since then.
    pub(super) fn spinner(&self, since: Instant) -> &'static str {
        let pictures = &self.signs().spinner;
        let index = self.since(since).as_millis() / PICTURE.as_millis();
        pictures.get(index as usize % pictures.len()).copied().unwrap_or_default()
    }

    /// A text's beginning that fits.
    pub(super) fn cut(&self, text: &str, columns: usize) -> String {
        within_columns(text, columns, self.signs().more).into_owned()
    }
}
