//! Guards against tests that hang. They are not measurements: [`LIMIT`] is far beyond what anything takes on a loaded
//! machine, so a test whose subject could wait needlessly gives it an hour to wait for.

// A test fails by a panic.
#![allow(clippy::panic)]

use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// The time after which a test counts as hanging.
pub const LIMIT: Duration = Duration::from_secs(240);

/// A guard for a loop that looks again and again.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(Instant);

impl Deadline {
    /// A deadline [`LIMIT`] from now.
    #[must_use]
    pub fn begin() -> Self {
        Self(Instant::now() + LIMIT)
    }

    /// Returns whether the time is over.
    #[must_use]
    pub fn is_over(self) -> bool {
        Instant::now() > self.0
    }

    /// Fails the test with `what` when the time is over.
    ///
    /// # Panics
    /// When the time is over.
    #[track_caller]
    pub fn check<T: std::fmt::Display>(self, what: impl FnOnce() -> T) {
        if self.is_over() {
            panic!("hangs: {}", what());
        }
    }
}

/// Looks every few milliseconds until there is a value.
///
/// # Panics
/// When there is none within [`LIMIT`]; the message names `what`.
#[track_caller]
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Deadline::begin();
    loop {
        if let Some(value) = look() {
            return value;
        }
        deadline.check(|| what);
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Looks every few milliseconds until it is so.
///
/// # Panics
/// When it is not so within [`LIMIT`]; the message names `what`.
#[track_caller]
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    wait_for(what, || is_so().then_some(()));
}

/// Runs work on a thread of its own and returns its result. Work that hangs is left behind.
///
/// # Panics
/// When the work panics, or does not end within [`LIMIT`]; the message names `what`.
#[track_caller]
pub fn run<T: Send + 'static>(what: &str, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, result) = channel();
    let thread = std::thread::spawn(move || drop(sender.send(work())));
    match result.recv_timeout(LIMIT) {
        Ok(result) => result,
        Err(RecvTimeoutError::Timeout) => panic!("hangs: {what}"),
        Err(RecvTimeoutError::Disconnected) => match thread.join() {
            Err(panic) => resume_unwind(panic),
            Ok(()) => panic!("no result: {what}"),
        },
    }
}

/// Awaits a future, by tokio's clock.
///
/// # Panics
/// When it does not end within [`LIMIT`]; the message names `what`.
pub async fn ends<F: Future>(what: &str, future: F) -> F::Output {
    match tokio::time::timeout(LIMIT, future).await {
        Ok(output) => output,
        Err(_) => panic!("hangs: {what}"),
    }
}
