//! What everything on a view is drawn with at one moment, and on which surface.

use std::time::{Duration, Instant};

use converse_engine::SinkError;
use converse_text::shorten::within_columns;
use converse_text::{safe, safe_line};

use super::style::{Signs, Style};
use crate::render::output::{write_stderr, write_stdout};
use converse_host::secrets::Redactor;
use converse_screen::{Look, Size};

/// How long a spinner shows one sign.
const PICTURE: Duration = Duration::from_millis(120);

#[derive(Clone, Copy)]
pub(super) struct Frame<'a> {
    pub(super) style: Style,
    /// As wide as the terminal is now, less a column that stays free.
    pub(super) look: Look,
    pub(super) now: Instant,
    pub(super) redactor: &'a Redactor,
    /// Thoughts of the model are shown as they come.
    pub(super) reasoning: bool,
}

impl Frame<'_> {
    pub(super) fn signs(&self) -> &'static Signs {
        self.style.signs()
    }

    /// Shortens a text to one line. It is redacted before it is cut: half a key is a secret too.
    pub(super) fn brief(&self, text: &str, most: usize) -> String {
        safe_line(&self.redactor.clean(text.trim()), most)
    }

    /// Redacts and escapes a text of several lines.
    pub(super) fn clean(&self, text: &str) -> String {
        safe(&self.redactor.clean(text)).into_owned()
    }

    pub(super) fn since(&self, then: Instant) -> Duration {
        self.now.saturating_duration_since(then)
    }

    /// Returns the spinner of something that began then and is still running.
    pub(super) fn spinner(&self, since: Instant) -> &'static str {
        let pictures = &self.signs().spinner;
        let index = self.since(since).as_millis() / PICTURE.as_millis();
        pictures.get(index as usize % pictures.len()).copied().unwrap_or_default()
    }

    /// Cuts a text to so many columns.
    pub(super) fn cut(&self, text: &str, columns: usize) -> String {
        within_columns(text, columns, self.signs().more).into_owned()
    }
}

/// Where a view writes: a terminal, or something else in a test.
pub(super) trait Surface: Send + Sync {
    fn write(&self, text: &str) -> Result<(), SinkError>;

    fn size(&self) -> Size;

    fn now(&self) -> Instant {
        Instant::now()
    }
}

pub(super) struct Stdout;

impl Surface for Stdout {
    fn write(&self, text: &str) -> Result<(), SinkError> {
        write_stdout(text)
    }

    fn size(&self) -> Size {
        size_of(std::io::stdout())
    }
}

pub(super) struct Stderr;

impl Surface for Stderr {
    fn write(&self, text: &str) -> Result<(), SinkError> {
        write_stderr(text);
        Ok(())
    }

    fn size(&self) -> Size {
        size_of(std::io::stderr())
    }
}

/// The size of a terminal that does not report one.
const USUAL: Size = Size { columns: 80, rows: 24 };
/// Nothing readable fits into fewer columns.
const NARROWEST: usize = 20;

fn size_of(terminal: impl std::os::fd::AsFd) -> Size {
    let size = rustix::termios::tcgetwinsize(terminal).ok();
    let cells = |cells: u16| Some(usize::from(cells)).filter(|cells| *cells > 0);
    Size {
        columns: size.and_then(|size| cells(size.ws_col)).unwrap_or(USUAL.columns).max(NARROWEST),
        rows: size.and_then(|size| cells(size.ws_row)).unwrap_or(USUAL.rows),
    }
}
