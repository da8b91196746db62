//! Logs: on stderr, only when asked for by `-v`, with every known secret taken out.

use std::io::{self, Write};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use converse_host::secrets::Redactor;

/// `-v` informs, `-vv` debugs, `-vvv` traces.
pub(crate) fn init(verbose: u8, redactor: Redactor) {
    let level = match verbose {
        0 => return,
        1 => "converse=info,warn",
        2 => "debug",
        _ => "trace",
    };
    begin(level, Redacting { redactor, to: io::stderr });
}

/// Everything into a file, for tests that look at stderr or have a screen of their own.
#[cfg(feature = "test-fakes")]
pub(crate) fn keep(directory: &str, redactor: Redactor) -> io::Result<()> {
    let file = std::path::Path::new(directory).join(std::process::id().to_string());
    let file = std::sync::Arc::new(std::fs::OpenOptions::new().create(true).append(true).open(file)?);
    begin("trace", Redacting { redactor, to: move || std::sync::Arc::clone(&file) });
    Ok(())
}

fn begin<W: Write, F: Fn() -> W + Send + Sync + 'static>(level: &str, writer: Redacting<F>) {
    // A second initialisation (in tests) keeps the first one.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(level))
        .with_ansi(false)
        .with_writer(writer)
        .try_init();
}

struct Redacting<F> {
    redactor: Redactor,
    to: F,
}

impl<'a, W: Write, F: Fn() -> W> MakeWriter<'a> for Redacting<F> {
    type Writer = Line<'a, W>;

    fn make_writer(&'a self) -> Line<'a, W> {
        Line { redactor: &self.redactor, to: (self.to)() }
    }
}

/// One event; the subscriber hands it over in one piece.
struct Line<'a, W> {
    redactor: &'a Redactor,
    to: W,
}

impl<W: Write> Write for Line<'_, W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(buffer);
        let clean = self.redactor.clean(&text);
        let clean = converse_text::safe(&clean);
        self.to.write_all(clean.as_bytes())?;
        Ok(buffer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
