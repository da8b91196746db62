//! The time limits of a connection: long between requests, short for headers and for a client that does not read.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

use super::Limits;

/// Longest time between two checks of a connection.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);

/// Limit for idle connections while others wait for a slot.
const IDLE_UNDER_PRESSURE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Lease {
    limits: Limits,
    /// Whether other connections wait for a slot.
    under_pressure: Arc<AtomicBool>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    /// Since when the client does not read.
    stuck: Option<Instant>,
}

#[derive(Debug, Clone, Copy)]
enum Phase {
    /// Since the end of the last answer, or since the client last read some of it.
    Idle(Instant),
    /// Since the first byte of a request, or since the start of the connection.
    Heading(Instant),
    /// A request is being answered; it has its own limits.
    Busy,
}

impl Lease {
    pub(super) fn new(limits: Limits, under_pressure: Arc<AtomicBool>) -> Arc<Self> {
        let state = State { phase: Phase::Heading(Instant::now()), stuck: None };
        Arc::new(Self { limits, under_pressure, state: Mutex::new(state) })
    }

    /// Call when the headers of a request are complete.
    pub(super) fn request_started(&self) {
        self.state().phase = Phase::Busy;
    }

    /// Call when the answer is produced. Parts of it may not be sent yet.
    pub(super) fn response_done(&self) {
        self.state().phase = Phase::Idle(Instant::now());
    }

    fn bytes_read(&self) {
        let mut state = self.state();
        if matches!(state.phase, Phase::Idle(_)) {
            state.phase = Phase::Heading(Instant::now());
        }
    }

    fn write_polled(&self, is_stuck: bool) {
        let mut state = self.state();
        state.stuck = match (is_stuck, state.stuck) {
            (true, None) => Some(Instant::now()),
            (true, since) => since,
            (false, _) => None,
        };
        // To a slow reader, the end of an answer is sent long after the answer was produced.
        if let (false, Phase::Idle(_)) = (is_stuck, state.phase) {
            state.phase = Phase::Idle(Instant::now());
        }
    }

    /// Resolves when a limit is exceeded.
    pub(super) async fn expired(&self) {
        loop {
            let now = Instant::now();
            let end = self.end();
            if end.is_some_and(|end| end <= now) {
                return;
            }
            tokio::time::sleep_until(end.map_or(now + CHECK_INTERVAL, |end| end.min(now + CHECK_INTERVAL)))
                .await;
        }
    }

    fn end(&self) -> Option<Instant> {
        let state = self.state();
        let is_pressed = self.under_pressure.load(Ordering::Relaxed);
        let most = |limit: Duration| if is_pressed { limit.min(IDLE_UNDER_PRESSURE) } else { limit };
        let of_phase = match state.phase {
            // Not idle: the client has not read its answer yet.
            Phase::Idle(_) if state.stuck.is_some() => None,
            Phase::Idle(since) => Some(since + most(self.limits.idle)),
            Phase::Heading(since) => Some(since + most(self.limits.headers)),
            Phase::Busy => None,
        };
        let of_writing = state.stuck.map(|since| since + self.limits.stuck);
        of_phase.into_iter().chain(of_writing).min()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

/// A stream that reports reads and writes to the lease.
#[derive(Debug)]
pub(super) struct LeasedStream<S> {
    pub(super) stream: S,
    pub(super) lease: Arc<Lease>,
}

impl<S: AsyncRead + Unpin> AsyncRead for LeasedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if buffer.filled().len() > before {
            self.lease.bytes_read();
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for LeasedStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.lease.write_polled(written.is_pending());
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.lease.write_polled(written.is_pending());
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
