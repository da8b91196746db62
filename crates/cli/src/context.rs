//! What a run of the library is told once: whether somebody can be asked, what must never be shown, where notices go.

use std::convert::Infallible;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use crate::adapters::secrets::{Redactor, keys_of};
use crate::adapters::tape::Tape;
use crate::adapters::telemetry::Telemetry;
use crate::world::World;

/// Where warnings and notes for people go. All text is redacted; it may hold control characters of others.
pub(crate) trait Notices: Send + Sync {
    /// Shows one notice.
    fn show(&self, text: &str);

    /// Removes what is drawn and not final, such as a spinner.
    fn hush(&self) {}

    /// Shows that the run waits for `what` (`starting NAME`), until the future is dropped.
    fn waiting<'a>(&'a self, _what: &'a str) -> BoxFuture<'a, Infallible> {
        std::future::pending().boxed()
    }
}

/// Waits for the future; notices say meanwhile that `what` is waited for.
pub(crate) async fn while_waiting<T>(
    notices: &dyn Notices,
    what: &str,
    future: impl Future<Output = T>,
) -> T {
    tokio::select! {
        biased;
        output = future => output,
        never = notices.waiting(what) => match never {},
    }
}

/// Drops every notice.
#[derive(Debug)]
pub(crate) struct NoNotices;

impl Notices for NoNotices {
    fn show(&self, _text: &str) {}
}

/// The parts of a run that every layer shares.
pub(crate) struct RunContext {
    /// Somebody is there who can answer a question.
    pub(crate) can_ask: bool,
    /// Remarks are shown too.
    pub(crate) verbose: bool,
    pub(crate) redactor: Redactor,
    /// The cassette of this run, if it has one.
    pub(crate) tape: Tape,
    /// Who is told how long everything took, if somebody is.
    pub(crate) telemetry: Telemetry,
    pub(crate) notices: Arc<dyn Notices>,
    /// What was warned of, for output that has a record of it.
    warnings: Mutex<Vec<String>>,
}

impl fmt::Debug for RunContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunContext").field("can_ask", &self.can_ask).finish_non_exhaustive()
    }
}

impl RunContext {
    /// A run that asks nobody and shows nothing. Learns every secret of the environment.
    pub(crate) fn new(world: &World) -> Self {
        let redactor = Redactor::default();
        redactor.learn(keys_of(world));
        let telemetry = Telemetry::of(world, &redactor);
        let (tape, notices) = (Tape::default(), Arc::new(NoNotices));
        Self {
            can_ask: false,
            verbose: false,
            redactor,
            tape,
            telemetry,
            notices,
            warnings: Mutex::default(),
        }
    }

    /// Shows a warning and keeps it for [`RunContext::take_warnings`].
    pub(crate) fn warn(&self, text: &str) {
        let text = self.redactor.clean(text.trim_end());
        self.note(&text);
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }

    pub(crate) fn warn_all(&self, texts: impl IntoIterator<Item = String>) {
        texts.into_iter().for_each(|text| self.warn(&text));
    }

    /// Shows something that is for people only. The text must hold no secret.
    pub(crate) fn note(&self, text: &str) {
        self.notices.show(text);
    }

    pub(crate) fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut self.warnings.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
