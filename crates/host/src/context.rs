//! The settings of a run for the library: whether a user can be asked, what must never be shown, and the receiver of
//! notices.

use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use converse_ensemble::{ConnectError, Connection, Ensemble, Instructions, Mode, ModeSwitch, Relay, Tool};
use converse_telemetry::Telemetry;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;

use crate::cassette::CassetteMode;
use crate::catalogue::Catalogue;
use crate::secrets::{Redactor, keys_of};
use crate::telemetry;
use crate::world::World;

/// Where warnings and notes for people go. All text is redacted; it may hold control characters of others.
pub trait Notices: Send + Sync {
    /// Shows one notice.
    fn show(&self, text: &str);

    /// Reports that an ensemble is connected, with the number of its tools.
    fn connected(&self, _ensemble: &str, _tools: usize) {}

    /// Removes what is drawn and not final, such as a spinner.
    fn hush(&self) {}

    /// Shows that the run waits for `what` (`starting NAME`), until the future is dropped.
    fn waiting<'a>(&'a self, _what: &'a str) -> BoxFuture<'a, Infallible> {
        std::future::pending().boxed()
    }
}

/// Waits for the future; notices say meanwhile that `what` is waited for.
pub async fn while_waiting<T>(notices: &dyn Notices, what: &str, future: impl Future<Output = T>) -> T {
    tokio::select! {
        biased;
        output = future => output,
        never = notices.waiting(what) => match never {},
    }
}

/// Drops every notice.
#[derive(Debug)]
pub struct NoNotices;

impl Notices for NoNotices {
    fn show(&self, _text: &str) {}
}

/// The parts of a run that every layer shares. A clone is of the same run.
#[derive(Clone)]
pub struct RunContext {
    /// Whether a user can answer questions.
    pub can_ask: bool,
    /// Remarks are shown too.
    pub verbose: bool,
    pub redactor: Redactor,
    /// This program, where it may be started again: as the guardian of child processes, and to enter a sandbox.
    pub program: Option<PathBuf>,
    /// The cassette of this run, if it has one.
    pub cassette: CassetteMode,
    /// The permission mode of this run.
    pub mode: ModeSwitch,
    /// The receiver of durations, if any.
    pub telemetry: Telemetry,
    pub notices: Arc<dyn Notices>,
    /// What was warned of, for output that has a record of it.
    warnings: Arc<Mutex<Vec<String>>>,
}

impl fmt::Debug for RunContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunContext").field("can_ask", &self.can_ask).finish_non_exhaustive()
    }
}

impl RunContext {
    /// Returns the context of a run without questions and output. Learns every secret of the environment.
    pub fn new(world: &World) -> Self {
        let redactor = Redactor::default();
        redactor.learn(keys_of(world));
        let telemetry = telemetry::of(world, &redactor);
        let (cassette, notices) = (CassetteMode::default(), Arc::new(NoNotices));
        Self {
            can_ask: false,
            verbose: false,
            redactor,
            program: None,
            cassette,
            mode: ModeSwitch::default(),
            telemetry,
            notices,
            warnings: Arc::default(),
        }
    }

    /// Returns the context of one of many runs: the same secrets and the same telemetry, with a cassette of its own.
    #[must_use]
    pub fn of_one_run(&self, notices: Arc<dyn Notices>) -> Self {
        Self {
            can_ask: self.can_ask,
            verbose: self.verbose,
            redactor: self.redactor.clone(),
            program: self.program.clone(),
            cassette: CassetteMode::default(),
            mode: ModeSwitch::default(),
            telemetry: self.telemetry.clone(),
            notices,
            warnings: Arc::default(),
        }
    }

    /// Sets the permission mode of a run in this directory. Warns if it has no effect.
    pub fn set_mode(&self, mode: Mode, catalogue: &Catalogue, world: &World) {
        self.mode.accept_in(catalogue.edited_project(world));
        self.mode.set(mode);
        if let Some(why) = self.mode.without_effect() {
            self.warn(&format!("warning: the mode `{}` accepts no edits here: {why}", mode.as_str()));
        }
    }

    /// Shows a warning and keeps it for [`RunContext::take_warnings`].
    pub fn warn(&self, text: &str) {
        self.warner()(text);
    }

    /// Warns as this context does, without a borrow of it.
    pub fn warner(&self) -> impl Fn(&str) + Send + Sync + 'static {
        let (redactor, notices) = (self.redactor.clone(), Arc::clone(&self.notices));
        let warnings = Arc::clone(&self.warnings);
        move |text| {
            let text = redactor.clean(text.trim_end());
            notices.show(&text);
            warnings.lock().push(text);
        }
    }

    pub fn warn_all(&self, texts: impl IntoIterator<Item = String>) {
        texts.into_iter().for_each(|text| self.warn(&text));
    }

    /// Shows something that is for people only. The text must hold no secret.
    pub fn note(&self, text: &str) {
        self.notices.show(text);
    }

    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut self.warnings.lock())
    }
}

/// A connection that shows a progress message while a slow connection is opened.
pub(crate) struct ProgressConnection<C> {
    pub inner: C,
    pub notices: Arc<dyn Notices>,
    /// The message, such as `starting NAME`.
    pub what: String,
}

impl<C: Connection> Connection for ProgressConnection<C> {
    fn connect<'a>(&'a self, ensemble: &'a Ensemble) -> BoxFuture<'a, Result<Vec<Tool>, ConnectError>> {
        async move {
            let tools =
                while_waiting(self.notices.as_ref(), &self.what, self.inner.connect(ensemble)).await?;
            self.notices.connected(ensemble.name.as_str(), tools.len());
            Ok(tools)
        }
        .boxed()
    }

    fn refresh<'a>(&'a self, ensemble: &'a Ensemble) -> BoxFuture<'a, Option<Vec<Tool>>> {
        self.inner.refresh(ensemble)
    }

    fn instructions(&self) -> Option<Instructions> {
        self.inner.instructions()
    }

    fn relay(&self) -> Option<&dyn Relay> {
        self.inner.relay()
    }

    fn disconnect(&self) -> BoxFuture<'_, ()> {
        self.inner.disconnect()
    }
}
