//! The process of a stdio server: somebody must wait for it, and see to it that nothing of it is left.

use std::process::ExitStatus;
use std::time::Duration;

use converse_process::{Child, Stderr};
use tokio::sync::{Mutex, oneshot, watch};

use crate::end::{ConnectionEnd, EndCause};
use crate::sanitize;

/// A process that has ended may have left its last answers, or a heir, in the pipe: so long they are waited for.
const GRACE: Duration = Duration::from_secs(1);
/// How long a process may take to end after it has closed its pipes, for the sake of its exit status.
const STATUS: Duration = Duration::from_millis(500);
/// Each rung of the ladder for one that was given up.
const SHORT: Duration = Duration::from_millis(200);
/// Longer than any ladder: `end` returns then, whatever happened.
const LONGEST: Duration = Duration::from_secs(5);
const MAX_STDERR: usize = 4096;

/// How long each rung of the ladder holds: after its stdin was closed, and after a SIGTERM.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ShutdownTimeouts {
    pub(crate) after_stdin_closed: Duration,
    pub(crate) after_sigterm: Duration,
}

impl ShutdownTimeouts {
    /// For one that was given up.
    pub(crate) const SHORT: Self = Self { after_stdin_closed: SHORT, after_sigterm: SHORT };
}

/// A process that is being looked after. Dropping it kills the process and its whole group.
#[derive(Debug)]
pub(crate) struct Process {
    order: Mutex<Option<oneshot::Sender<ShutdownTimeouts>>>,
    status: watch::Receiver<Option<ExitStatus>>,
    gone: watch::Receiver<bool>,
    stderr: Stderr,
}

impl Process {
    pub(crate) fn keep(child: Child, end: ConnectionEnd) -> Self {
        let (order, orders) = oneshot::channel();
        let (status, seen) = watch::channel(None);
        let (gone, is_gone) = watch::channel(false);
        let stderr = child.stderr();
        tokio::spawn(async move {
            keep(child, end, orders, status).await;
            gone.send_replace(true);
        });
        Self { order: Mutex::new(Some(order)), status: seen, gone: is_gone, stderr }
    }

    /// Ends it: stdin must be closed already.
    pub(crate) async fn end(&self, timeouts: ShutdownTimeouts) {
        if let Some(order) = self.order.lock().await.take() {
            // It is gone already if nobody listens.
            let _ = order.send(timeouts);
        }
        let mut gone = self.gone.clone();
        let _ = tokio::time::timeout(LONGEST, gone.wait_for(|gone| *gone)).await;
    }

    /// How it ended and what it said last, for a message. Waits a little for its exit status.
    pub(crate) async fn exit_report(&self, cause: Option<EndCause>) -> String {
        let mut status = self.status.clone();
        let known = tokio::time::timeout(STATUS + SHORT, status.wait_for(Option::is_some)).await;
        let status = known.ok().and_then(|status| status.ok().and_then(|status| *status));
        let fate = match (cause, status) {
            (Some(EndCause::GivenUp(reason)), _) => reason,
            (_, Some(status)) => format!("the server ended ({status})"),
            (Some(EndCause::NotReading), None) => "the server closed its input".to_owned(),
            (_, None) => "the server closed its output".to_owned(),
        };
        format!("{fate}{}", stderr_suffix(&self.stderr))
    }

    /// The end of what it has said on stderr, cleaned.
    pub(crate) fn stderr_tail(&self) -> String {
        sanitize::clean(&self.stderr.last_words(), MAX_STDERR)
    }

    pub(crate) fn stderr(&self) -> Stderr {
        self.stderr.clone()
    }
}

/// `; its last words: …`, or nothing.
pub(crate) fn stderr_suffix(stderr: &Stderr) -> String {
    let words = sanitize::clean(&stderr.last_words(), MAX_STDERR);
    if words.is_empty() { words } else { format!("; its last words: {words}") }
}

async fn keep(
    mut child: Child,
    end: ConnectionEnd,
    mut orders: oneshot::Receiver<ShutdownTimeouts>,
    status: watch::Sender<Option<ExitStatus>>,
) {
    let timeouts = tokio::select! {
        ended = child.wait() => {
            status.send_replace(ended.ok());
            tokio::select! {
                _ = tokio::time::timeout(GRACE, end.over()) => end.set_cause(EndCause::Closed),
                // Whoever says goodbye waits for no last answers.
                _ = &mut orders => {}
            }
            Some(ShutdownTimeouts::SHORT)
        }
        () = end.over() => {
            if let Ok(ended) = tokio::time::timeout(STATUS, child.wait()).await {
                status.send_replace(ended.ok());
            }
            Some(ShutdownTimeouts::SHORT)
        }
        order = &mut orders => order.ok(),
    };
    match timeouts {
        Some(ShutdownTimeouts { after_stdin_closed, after_sigterm }) => {
            child.end_after(after_stdin_closed, after_sigterm).await
        }
        // Nobody is left who could want an answer of it.
        None => drop(child),
    }
}
