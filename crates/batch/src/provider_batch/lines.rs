//! The lines of a file of results while it arrives.

use std::time::Duration;

use converse_engine::{AttemptError, ByteStream};
use converse_provider::DecodeError;
use futures_util::StreamExt as _;
use tokio::time::timeout;

/// Bytes of one result.
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// The body of a response, in lines.
pub(super) struct Lines {
    body: ByteStream,
    rest: Vec<u8>,
    idle: Duration,
    /// Lines that may come.
    most: usize,
    left: usize,
}

impl Lines {
    /// `idle` is the longest time without a byte, `most` the number of lines, blank ones too.
    pub(super) fn new(body: ByteStream, idle: Duration, most: usize) -> Self {
        Self { body, rest: Vec::new(), idle, most, left: most }
    }

    /// Returns the next line that is not blank, and whether the body ended with it instead of an end of the line.
    ///
    /// # Errors
    ///
    /// The body breaks off or pauses for too long, the line is too long, or there are too many.
    pub(super) async fn next(&mut self) -> Result<Option<(Vec<u8>, bool)>, AttemptError> {
        let mut searched = 0;
        loop {
            if let Some(end) = self.rest.iter().skip(searched).position(|byte| *byte == b'\n') {
                let after = self.rest.split_off(searched + end + 1);
                let line = std::mem::replace(&mut self.rest, after);
                searched = 0;
                let Some(left) = self.left.checked_sub(1) else {
                    let message = format!("more than {} lines of results", self.most);
                    return Err(DecodeError::Malformed(message).into());
                };
                self.left = left;
                if line.trim_ascii().is_empty() {
                    continue;
                }
                return Ok(Some((line, false)));
            }
            searched = self.rest.len();
            if searched > MOST_BYTES {
                return Err(DecodeError::EventTooLarge { limit: MOST_BYTES }.into());
            }
            let late = |_| AttemptError::Timeout { what: "byte of the results", after: self.idle };
            match timeout(self.idle, self.body.next()).await.map_err(late)? {
                Some(piece) => self.rest.extend_from_slice(&piece?),
                None if self.rest.trim_ascii().is_empty() => return Ok(None),
                None => return Ok(Some((std::mem::take(&mut self.rest), true))),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use converse_engine::{WireError, WireErrorKind};
    use futures_util::stream;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn lines_come_whole_however_the_body_is_cut() {
        let text = b"one\r\n\n \ntwo\nlast";
        for size in 1..=text.len() {
            let pieces: Vec<_> = text.chunks(size).map(|piece| Ok(Bytes::from_static(piece))).collect();
            let mut lines = Lines::new(stream::iter(pieces).boxed(), Duration::from_secs(1), 4);
            for (line, is_last) in [(&b"one\r\n"[..], false), (b"two\n", false), (b"last", true)] {
                assert_eq!(lines.next().await.unwrap(), Some((line.to_vec(), is_last)), "{size}");
            }
            assert_eq!(lines.next().await.unwrap(), None);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_breaks_or_pauses_is_an_error() {
        let broken = WireError { kind: WireErrorKind::Broken, message: String::new() };
        let body = stream::iter([Ok(Bytes::from_static(b"a\nb")), Err(broken)]).boxed();
        let mut lines = Lines::new(body, Duration::from_secs(1), 9);
        assert!(lines.next().await.unwrap().is_some());
        assert!(lines.next().await.is_err());
        let mut lines = Lines::new(stream::pending().boxed(), Duration::from_secs(1), 9);
        assert!(matches!(lines.next().await, Err(AttemptError::Timeout { .. })));
    }

    /// A server that never ends sends few bytes for many lines.
    #[tokio::test(start_paused = true)]
    async fn lines_without_an_end_are_refused() {
        for endless in [&b"\n"[..], b"{}\n"] {
            let body = stream::iter(std::iter::repeat_n(Ok(Bytes::from_static(endless)), 1000)).boxed();
            let mut lines = Lines::new(body, Duration::from_secs(1), 100);
            let mut read = 0;
            let error = loop {
                match lines.next().await {
                    Ok(line) => assert!(line.is_some() && read < 100, "the end"),
                    Err(error) => break error,
                }
                read += 1;
            };
            assert!(error.to_string().contains("more than 100 lines of results"), "{error}");
        }
    }
}
