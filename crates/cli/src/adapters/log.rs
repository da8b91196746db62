//! Logs: on stderr, only when asked for by `-v`, with every known secret taken out.

use std::io::{self, Write};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::adapters::secrets::Redactor;

/// `-v` informs, `-vv` debugs, `-vvv` traces.
pub(crate) fn init(verbose: u8, redactor: Redactor) {
    let level = match verbose {
        0 => return,
        1 => "converse=info,warn",
        2 => "debug",
        _ => "trace",
    };
    // A second initialisation (in tests) keeps the first one.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(level))
        .with_ansi(false)
        .with_writer(Redacting { redactor })
        .try_init();
}

struct Redacting {
    redactor: Redactor,
}

impl<'a> MakeWriter<'a> for Redacting {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line { redactor: &self.redactor }
    }
}

/// One event; the subscriber hands it over in one piece.
struct Line<'a> {
    redactor: &'a Redactor,
}

impl Write for Line<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(buffer);
        let clean = self.redactor.clean(&text);
        let clean = crate::render::safe::safe(&clean);
        io::stderr().write_all(clean.as_bytes())?;
        Ok(buffer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
