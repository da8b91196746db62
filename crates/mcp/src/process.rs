//! [`Process`]: the process of a stdio server, watched by a task that reaps it and its children.

use std::process::ExitStatus;
use std::time::Duration;

use converse_process::{Child, Stderr};
use tokio::sync::{Mutex, oneshot, watch};

use crate::error::{ConnectionEnd, EndCause};
use crate::sanitize;

/// Wait for the last answers in the pipe, and for a process that inherited it, after the process has ended.
const GRACE: Duration = Duration::from_secs(1);
/// Wait for the exit status after the process has closed its pipes.
const STATUS: Duration = Duration::from_millis(500);
/// Each step of the shutdown of a process that was given up.
const SHORT: Duration = Duration::from_millis(200);
/// Limit of a shutdown; longer than all its steps.
const LONGEST: Duration = Duration::from_secs(5);
const MAX_STDERR: usize = 4096;

/// The waits of a shutdown: after stdin was closed, and after SIGTERM.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ShutdownTimeouts {
    pub(crate) after_stdin_closed: Duration,
    pub(crate) after_sigterm: Duration,
}

impl ShutdownTimeouts {
    /// The waits for a process that was given up.
    pub(crate) const SHORT: Self = Self { after_stdin_closed: SHORT, after_sigterm: SHORT };
}

/// A supervised process. Dropping it kills the process and its group.
#[derive(Debug)]
pub(crate) struct Process {
    order: Mutex<Option<oneshot::Sender<ShutdownTimeouts>>>,
    status: watch::Receiver<Option<ExitStatus>>,
    gone: watch::Receiver<bool>,
    stderr: Stderr,
}

impl Process {
    pub(crate) fn supervise(child: Child, end: ConnectionEnd) -> Self {
        let (order, orders) = oneshot::channel();
        let (status, seen) = watch::channel(None);
        let (gone, is_gone) = watch::channel(false);
        let stderr = child.stderr();
        tokio::spawn(async move {
            supervise(child, end, orders, status).await;
            gone.send_replace(true);
        });
        Self { order: Mutex::new(Some(order)), status: seen, gone: is_gone, stderr }
    }

    /// Shuts the process down. Its stdin must be closed.
    pub(crate) async fn end(&self, timeouts: ShutdownTimeouts) {
        if let Some(order) = self.order.lock().await.take() {
            // Without a receiver the process has ended already.
            let _ = order.send(timeouts);
        }
        let mut gone = self.gone.clone();
        let _ = tokio::time::timeout(LONGEST, gone.wait_for(|gone| *gone)).await;
    }

    /// Describes how the process ended, with the end of its stderr. Waits briefly for the exit status.
    pub(crate) async fn exit_report(&self, cause: Option<EndCause>) -> String {
        let mut status = self.status.clone();
        let known = tokio::time::timeout(STATUS + SHORT, status.wait_for(Option::is_some)).await;
        let status = known.ok().and_then(|status| status.ok().and_then(|status| *status));
        let end = match (cause, status) {
            (Some(EndCause::GivenUp(reason)), _) => reason,
            (_, Some(status)) => format!("the server ended ({status})"),
            (Some(EndCause::NotReading), None) => "the server closed its input".to_owned(),
            (_, None) => "the server closed its output".to_owned(),
        };
        format!("{end}{}", stderr_suffix(&self.stderr))
    }

    /// Returns the last lines of stderr, cleaned.
    pub(crate) fn stderr_tail(&self) -> String {
        sanitize::clean(&self.stderr.last_words(), MAX_STDERR)
    }

    pub(crate) fn stderr(&self) -> Stderr {
        self.stderr.clone()
    }
}

/// Returns `; stderr: …`, or an empty text.
pub(crate) fn stderr_suffix(stderr: &Stderr) -> String {
    let words = sanitize::clean(&stderr.last_words(), MAX_STDERR);
    if words.is_empty() { words } else { format!("; stderr: {words}") }
}

async fn supervise(
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
                // An orderly shutdown does not wait for last answers.
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
        // The handle was dropped.
        None => drop(child),
    }
}
