//! [`Stdio`]: the stdio transport, one JSON message per line.
//!
//! Replaces the library's transport, which drops overlong lines (the call then hangs), waits forever for a server that
//! does not read, and does not report why a connection ended.
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports> (checked 2026-11).

mod decode;
#[cfg(test)]
mod tests;
mod writer;

use std::collections::VecDeque;

use converse_text::lines::{Lines, Next};
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::sync::mpsc;

use crate::error::{ConnectionEnd, EndCause};
pub(crate) use decode::Decoder;

/// Bytes of one line; MCP itself sets no limit.
const MAX_LINE: usize = 16 * 1024 * 1024;
/// Limits for lines that are not messages, such as banners and logs. Beyond them the server is given up.
const MAX_STRAY_LINES: usize = 1000;
const MAX_STRAY_BYTES: usize = 1024 * 1024;
const CHUNK: usize = 64 * 1024;

/// The transport of one connection. `end` is set when the connection is over.
pub(crate) struct Stdio<R> {
    reader: R,
    /// Never grows, and is not cleared with zeros.
    chunk: Vec<u8>,
    lines: Lines,
    decoder: Decoder,
    ready: VecDeque<ServerJsonRpcMessage>,
    stray_lines: usize,
    stray_bytes: usize,
    /// `None` once closed, which also closes the server's stdin.
    writer: Option<mpsc::Sender<Vec<u8>>>,
    end: ConnectionEnd,
}

/// The message was not sent because the connection is over.
#[derive(Debug, thiserror::Error)]
#[error("the connection is over")]
pub(crate) struct NotSent;

impl<R: AsyncRead + Send + Unpin + 'static> Stdio<R> {
    pub(crate) fn new(reader: R, pipe: impl AsyncWrite + Send + Unpin + 'static, end: ConnectionEnd) -> Self {
        let (writer, queue) = mpsc::channel(writer::QUEUE);
        tokio::spawn(writer::write(queue, pipe, end.clone()));
        Self {
            reader,
            chunk: Vec::with_capacity(CHUNK),
            lines: Lines::new(MAX_LINE),
            decoder: Decoder::default(),
            ready: VecDeque::new(),
            stray_lines: 0,
            stray_bytes: 0,
            writer: Some(writer),
            end,
        }
    }

    /// Returns the next message that was already read; `Err` ends the connection.
    fn decoded(&mut self) -> Result<Option<ServerJsonRpcMessage>, EndCause> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                return Ok(Some(message));
            }
            let line = match self.lines.next() {
                Next::Line(line) => line,
                Next::More => return Ok(None),
                Next::TooLong => {
                    let limit = MAX_LINE / 1024 / 1024;
                    return Err(EndCause::GivenUp(format!(
                        "the server sent a line of more than {limit} MiB"
                    )));
                }
            };
            let blank = line.iter().all(u8::is_ascii_whitespace);
            if !blank && !self.decoder.decode(line, &mut self.ready) {
                self.stray_lines += 1;
                self.stray_bytes += line.len();
                if self.stray_lines > MAX_STRAY_LINES || self.stray_bytes > MAX_STRAY_BYTES {
                    let cause = "the server keeps writing text that is not MCP to its standard output";
                    return Err(EndCause::GivenUp(cause.to_owned()));
                }
            }
        }
    }

    /// Reads more bytes; `Err` ends the connection. Cancel-safe.
    async fn read(&mut self) -> Result<(), EndCause> {
        self.chunk.clear();
        let read = tokio::select! {
            biased;
            () = self.end.over() => return Err(EndCause::Closed),
            read = self.reader.read_buf(&mut self.chunk) => read,
        };
        match read {
            Ok(0) | Err(_) => Err(EndCause::Closed),
            Ok(_) => {
                self.lines.push(&self.chunk);
                Ok(())
            }
        }
    }

    /// Returns a last message without a line break.
    fn last(&mut self) -> Option<ServerJsonRpcMessage> {
        self.decoder.decode(self.lines.rest(), &mut self.ready);
        self.ready.pop_front()
    }
}

impl<R: AsyncRead + Send + Unpin + 'static> Transport<RoleClient> for Stdio<R> {
    type Error = NotSent;

    fn name() -> std::borrow::Cow<'static, str> {
        "stdio".into()
    }

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), NotSent>> + Send + 'static {
        self.decoder.sent(&message);
        let writer = self.writer.clone();
        let end = self.end.clone();
        async move {
            let mut line = serde_json::to_vec(&message).map_err(|_| NotSent)?;
            line.push(b'\n');
            let writer = writer.ok_or(NotSent)?;
            tokio::select! {
                biased;
                () = end.over() => Err(NotSent),
                sent = writer.send(line) => sent.map_err(|_| NotSent),
            }
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let cause = match self.decoded() {
                Ok(Some(message)) => return Some(message),
                Ok(None) => match self.read().await {
                    Ok(()) => continue,
                    Err(cause) => cause,
                },
                Err(cause) => cause,
            };
            let last = if cause == EndCause::Closed { self.last() } else { None };
            if last.is_none() {
                self.end.set_cause(cause);
            }
            return last;
        }
    }

    async fn close(&mut self) -> Result<(), NotSent> {
        self.writer = None;
        Ok(())
    }
}
