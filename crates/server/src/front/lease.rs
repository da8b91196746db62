//! How long a connection may go on: between requests long, with half a request or a full buffer that nobody reads not.

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

/// How often a connection is looked at.
const ROUND: Duration = Duration::from_secs(2);

/// While others wait for a place: one that asks nothing for so long gives up its own.
const SPARE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Lease {
    limits: Limits,
    /// Do others wait for a place?
    pressed: Arc<AtomicBool>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    /// Since when nothing of what we send is taken.
    stuck: Option<Instant>,
}

#[derive(Debug, Clone, Copy)]
enum Phase {
    /// Since the last answer, or since some of it was last taken.
    Idle(Instant),
    /// Since the first byte of a request, or since the start.
    Heading(Instant),
    /// A request is answered; it has limits of its own.
    Busy,
}

impl Lease {
    pub(super) fn new(limits: Limits, pressed: Arc<AtomicBool>) -> Arc<Self> {
        let state = State { phase: Phase::Heading(Instant::now()), stuck: None };
        Arc::new(Self { limits, pressed, state: Mutex::new(state) })
    }

    /// A request has come in whole, its body aside.
    pub(super) fn asked(&self) {
        self.state().phase = Phase::Busy;
    }

    /// Its answer is made. Much of it may not be sent yet.
    pub(super) fn answered(&self) {
        self.state().phase = Phase::Idle(Instant::now());
    }

    fn heard(&self) {
        let mut state = self.state();
        if matches!(state.phase, Phase::Idle(_)) {
            state.phase = Phase::Heading(Instant::now());
        }
    }

    fn wrote(&self, is_stuck: bool) {
        let mut state = self.state();
        state.stuck = match (is_stuck, state.stuck) {
            (true, None) => Some(Instant::now()),
            (true, since) => since,
            (false, _) => None,
        };
        // The end of an answer is on its way long after it was made, if its reader is slow.
        if let (false, Phase::Idle(_)) = (is_stuck, state.phase) {
            state.phase = Phase::Idle(Instant::now());
        }
    }

    /// When it has run out.
    pub(super) async fn over(&self) {
        loop {
            let now = Instant::now();
            let end = self.end();
            if end.is_some_and(|end| end <= now) {
                return;
            }
            tokio::time::sleep_until(end.map_or(now + ROUND, |end| end.min(now + ROUND))).await;
        }
    }

    fn end(&self) -> Option<Instant> {
        let state = self.state();
        let is_pressed = self.pressed.load(Ordering::Relaxed);
        let most = |limit: Duration| if is_pressed { limit.min(SPARE) } else { limit };
        let of_phase = match state.phase {
            // It is not idle: it has not taken its answer yet.
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

/// A stream that tells the lease what goes on.
#[derive(Debug)]
pub(super) struct Leased<S> {
    pub(super) stream: S,
    pub(super) lease: Arc<Lease>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Leased<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if buffer.filled().len() > before {
            self.lease.heard();
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Leased<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.lease.wrote(written.is_pending());
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.lease.wrote(written.is_pending());
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
