//! What a view stands on: the terminal, or something else in a test.

use std::time::Instant;

use crate::screen::Size;
use converse_engine::SinkError;

use crate::render::output::write_stdout;

pub(super) trait Surface: Send + Sync {
    fn write(&self, text: &str) -> Result<(), SinkError>;

    fn size(&self) -> Size;

    fn now(&self) -> Instant {
        Instant::now()
    }
}

/// Standard output.
pub(super) struct Terminal;

/// A terminal that does not say how large it is.
const USUAL: Size = Size { columns: 80, rows: 24 };
/// Nothing readable fits into fewer columns.
const NARROWEST: usize = 20;

impl Surface for Terminal {
    fn write(&self, text: &str) -> Result<(), SinkError> {
        if text.is_empty() { Ok(()) } else { write_stdout(text) }
    }

    fn size(&self) -> Size {
        let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok();
        let said = |cells: u16| Some(usize::from(cells)).filter(|cells| *cells > 0);
        Size {
            columns: size.and_then(|size| said(size.ws_col)).unwrap_or(USUAL.columns).max(NARROWEST),
            rows: size.and_then(|size| said(size.ws_row)).unwrap_or(USUAL.rows),
        }
    }
}
