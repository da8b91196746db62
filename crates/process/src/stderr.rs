//! The end of a child's stderr: everything is read, the last few lines are kept.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;

/// Bytes that are kept.
const KEPT: usize = 4096;
/// Bytes that are read at once.
const READ: usize = 16 * 1024;
/// How long to read the rest of the pipe after the child exited: another process may hold it open.
const REST: Duration = Duration::from_millis(200);

/// Shared handle to the end of a child's stderr.
#[derive(Debug, Clone)]
pub struct Stderr {
    tail: Arc<Mutex<Vec<u8>>>,
    open: watch::Receiver<()>,
}

impl Stderr {
    /// Spawns a task that reads `pipe` to its end; once the sender of `child` is dropped, only what is left.
    pub(crate) fn drain(
        pipe: impl AsyncRead + Unpin + Send + 'static,
        child: oneshot::Receiver<Infallible>,
    ) -> Self {
        let (closed, open) = watch::channel(());
        let tail = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&tail);
        tokio::spawn(async move {
            read(pipe, child, &kept).await;
            drop(closed);
        });
        Self { tail, open }
    }

    /// The last it said on stderr (at most 4 KiB, whole lines, lossy UTF-8, NOT cleaned for a terminal).
    ///
    /// A last line without a newline is included; a longer line lacks its beginning.
    pub fn last_words(&self) -> String {
        last_lines(&self.tail.lock())
    }

    /// Returns the kept bytes as they were written.
    pub fn end(&self) -> Vec<u8> {
        self.tail.lock().clone()
    }

    /// Waits at most `limit` until everything was read.
    pub(crate) async fn closed(&self, limit: Duration) {
        let mut open = self.open.clone();
        let _ = timeout(limit, async { while open.changed().await.is_ok() {} }).await;
    }
}

async fn read(
    mut pipe: impl AsyncRead + Unpin,
    mut child: oneshot::Receiver<Infallible>,
    tail: &Mutex<Vec<u8>>,
) {
    let mut buffer = vec![0; READ];
    tokio::select! {
        () = read_on(&mut pipe, &mut buffer, tail) => return,
        _ = &mut child => {}
    }
    let _ = timeout(REST, read_on(&mut pipe, &mut buffer, tail)).await;
}

/// Reads until the end; a broken pipe is an end, too.
async fn read_on(pipe: &mut (impl AsyncRead + Unpin), buffer: &mut [u8], tail: &Mutex<Vec<u8>>) {
    while let Ok(count @ 1..) = pipe.read(buffer).await {
        if let Some(bytes) = buffer.get(..count) {
            keep(&mut tail.lock(), bytes);
        }
    }
}

/// Keeps one byte more than is shown, to know whether the shown part begins with a line.
fn keep(tail: &mut Vec<u8>, bytes: &[u8]) {
    let bytes = bytes.get(bytes.len().saturating_sub(KEPT + 1)..).unwrap_or(bytes);
    let surplus = (tail.len() + bytes.len()).saturating_sub(KEPT + 1);
    tail.drain(..surplus.min(tail.len()));
    tail.extend_from_slice(bytes);
}

fn last_lines(tail: &[u8]) -> String {
    let text = String::from_utf8_lossy(tail);
    let text = text.trim_end_matches(['\n', '\r']);
    // Nothing was cut, and replacing invalid UTF-8 did not make the text too long.
    if tail.len() <= KEPT && text.len() <= KEPT {
        return text.to_owned();
    }
    let mut from = text.len().saturating_sub(KEPT).max(1);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let (before, shown) = text.split_at(from);
    let shown = match shown.split_once('\n') {
        Some((_, lines)) if !before.ends_with('\n') => lines,
        _ => shown,
    };
    shown.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(pieces: &[&[u8]]) -> String {
        let mut tail = Vec::new();
        for piece in pieces {
            keep(&mut tail, piece);
            assert!(tail.len() <= KEPT + 1);
        }
        last_lines(&tail)
    }

    #[test]
    fn short_words_are_kept_whole() {
        for (said, kept) in
            [("", ""), ("a\n", "a"), ("a\nb", "a\nb"), ("a\r\n\n", "a"), ("\nindented\n", "\nindented")]
        {
            assert_eq!(after(&[said.as_bytes()]), kept, "{said:?}");
        }
        assert_eq!(after(&[b"caf\xff\n"]), "caf\u{fffd}");
        let full = "x".repeat(KEPT);
        assert_eq!(after(&[full.as_bytes()]), full);
    }

    #[test]
    fn long_words_begin_with_a_line() {
        let lines = (0..2000).map(|number| format!("line {number}\n")).collect::<String>();
        for size in [1, 7, 4096, 4097, lines.len()] {
            let kept = after(&lines.as_bytes().chunks(size).collect::<Vec<_>>());
            assert!(kept.len() <= KEPT && kept.len() > KEPT - 20, "{}", kept.len());
            assert!(kept.starts_with("line ") && kept.ends_with("line 1999"), "{size}: {kept:.20}");
        }
    }

    #[test]
    fn a_line_that_just_fits_is_not_lost() {
        let line = "y".repeat(KEPT);
        assert_eq!(after(&[b"gone\n", line.as_bytes()]), line);
        let lines = format!("{}\nlast", "y".repeat(KEPT - 5));
        assert_eq!(after(&[b"gone\n", lines.as_bytes()]), lines);
        assert_eq!(
            after(&[b"gone", line.as_bytes()]),
            line,
            "one line: its beginning is missing, not all of it"
        );
    }

    #[test]
    fn what_is_no_text_takes_no_more() {
        let kept = after(&[&[0xff; 3 * KEPT]]);
        assert!(kept.len() <= KEPT && !kept.is_empty());
        let kept = after(&["ü".repeat(KEPT).as_bytes(), b"\n"]);
        assert!(kept.len() <= KEPT && kept.chars().skip(1).all(|c| c == 'ü'), "{kept:.9}");
    }
}
