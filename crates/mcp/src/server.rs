//! [`Server`]: one server during a run, reconnected when its connection is lost.
//!
//! Calls share one connection. When it has ended, the next call opens a new one while others wait. Requests that may
//! have been sent are not repeated.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use converse_config::Protocol;
use converse_ensemble::InvokeError;
use parking_lot::Mutex;
use tokio::time::{Instant, timeout, timeout_at};

use crate::error::Failure;
use crate::handshake::Mode;
use crate::http::MAX_WAIT;
use crate::key::Keys;
use crate::link::{ConnectDiagnostics, Link, Way};
use crate::listing::{self, Entries, Listed};
use crate::server_requests::ServerRequestHandler;
use crate::{Era, Surroundings};

/// Restarts of a process.
const MAX_RESTARTS: u32 = 3;
pub(crate) const BACKOFF: Duration = Duration::from_millis(250);
/// Limit for listing the tools again before a model is called. Shorter than the limit of an ensemble's refresh, so that
/// the reason is reported.
pub(crate) const RELIST: Duration = Duration::from_secs(4);
/// Consecutive failed listings; after them the server must announce a change again.
const MAX_RELISTS: u32 = 3;

/// A server and its current connection.
pub(crate) struct Server {
    pub(crate) way: Way,
    pub(crate) protocol: Protocol,
    /// Limit from starting or contacting the server to its list of tools.
    pub(crate) connect_timeout: Duration,
    pub(crate) surroundings: Arc<Surroundings>,
    pub(crate) keys: Keys,
    /// Answers the requests of the server.
    server_requests: Arc<ServerRequestHandler>,
    link: Mutex<Option<Arc<Link>>>,
    /// Number of reconnections; `None` before the first connection. Locked while a connection is opened.
    openings: tokio::sync::Mutex<Option<u32>>,
    /// Whether the server was disconnected for good.
    closed: AtomicBool,
}

impl Server {
    pub(crate) fn new(
        way: Way,
        protocol: Protocol,
        connect_timeout: Duration,
        surroundings: Arc<Surroundings>,
        keys: Keys,
    ) -> Self {
        Self {
            way,
            protocol,
            connect_timeout,
            surroundings,
            keys,
            server_requests: Arc::default(),
            link: Mutex::default(),
            openings: tokio::sync::Mutex::default(),
            closed: AtomicBool::new(false),
        }
    }

    /// Sets the handler of the requests of the server.
    pub(crate) fn with_server_requests(self, server_requests: ServerRequestHandler) -> Self {
        Self { server_requests: Arc::new(server_requests), ..self }
    }

    /// Opens the first connection and lists the tools within the connect timeout.
    pub(crate) async fn connect(&self) -> Result<(Arc<Link>, Entries), Failure> {
        let diagnostics = ConnectDiagnostics::default();
        let limit = self.connect_timeout;
        let connected = timeout(limit, async {
            let link = retry_with_backoff(&diagnostics, || self.open(&diagnostics)).await?;
            match listing::list(&link).await {
                Ok(listed) => Ok((Arc::new(link), listed)),
                Err(failure) => Err(failure),
            }
        });
        let Ok(connected) = connected.await else {
            return Err(Failure::Slow { limit, words: diagnostics.summary() });
        };
        let (link, listed) = connected?;
        *self.openings.lock().await = Some(0);
        self.put(Some(Arc::clone(&link)));
        Ok((link, listed))
    }

    /// Opens a connection in the era of the server, which is detected and then stored.
    async fn open(&self, diagnostics: &ConnectDiagnostics) -> Result<Link, Failure> {
        let known = self.surroundings.eras.get(&self.keys.era);
        let link = match (self.protocol, &self.way) {
            (Protocol::Modern, _) => self.open_as(Mode::Only(Era::Modern), diagnostics).await?,
            (Protocol::Legacy, _) => self.open_as(Mode::Only(Era::Legacy), diagnostics).await?,
            (Protocol::Auto, Way::Http(_)) => self.detect_http(known, diagnostics).await?,
            (Protocol::Auto, _) => self.detect_process(known, diagnostics).await?,
        };
        if self.protocol == Protocol::Auto && known != Some(link.era) {
            self.surroundings.eras.put(&self.keys.era, link.era);
        }
        Ok(link)
    }

    async fn open_as(&self, mode: Mode, diagnostics: &ConnectDiagnostics) -> Result<Link, Failure> {
        Link::open(&self.way, &self.surroundings, &self.server_requests, mode, diagnostics).await
    }

    /// Starts the server and detects its era. Only a server that exits is started again, in the other era: some legacy
    /// servers exit after a request that they do not know.
    async fn detect_process(
        &self,
        known: Option<Era>,
        diagnostics: &ConnectDiagnostics,
    ) -> Result<Link, Failure> {
        let first = known.unwrap_or(Era::Modern);
        let mode = Mode::Detect { first, silence_limit: self.silence_limit(first) };
        let failure = match self.open_as(mode, diagnostics).await {
            Err(failure @ Failure::Ended(_)) => failure,
            opened => return opened,
        };
        tracing::debug!(?mode, %failure, "a server ended during the handshake");
        let opened = self.open_as(Mode::Only(first.other()), diagnostics).await;
        opened.map_err(|later| failure.or_later(later))
    }

    /// Detects the era of a server over HTTP. While the first request is silent, the other era is tried on a second
    /// connection, and the first answer decides.
    async fn detect_http(
        &self,
        known: Option<Era>,
        diagnostics: &ConnectDiagnostics,
    ) -> Result<Link, Failure> {
        let first = known.unwrap_or(Era::Modern);
        let mut one = pin!(self.open_as(Mode::Only(first), diagnostics));
        let early = match self.silence_limit(first) {
            Some(silence_limit) => timeout(silence_limit, &mut one).await.ok(),
            None => Some((&mut one).await),
        };
        let mut other = pin!(self.open_as(Mode::Only(first.other()), diagnostics));
        let failure = match early {
            Some(Err(failure)) if !failure.is_final() => failure,
            Some(opened) => return opened,
            None => tokio::select! {
                biased;
                opened = &mut one => match opened {
                    Err(failure) if !failure.is_final() => failure,
                    opened => return opened,
                },
                opened = &mut other => return match opened {
                    Ok(link) => Ok(link),
                    Err(failure) => one.await.map_err(|later| failure.or_later(later)),
                },
            },
        };
        tracing::debug!(?first, %failure, "a server did not answer in this era");
        other.await.map_err(|later| failure.or_later(later))
    }

    /// Returns how long the request of `first` may be unanswered before the other one follows. A server that was legacy
    /// before is silent only while it starts, and may exit after a request of the other era.
    fn silence_limit(&self, first: Era) -> Option<Duration> {
        self.way.silence_limit(self.connect_timeout).filter(|_| first == Era::Modern)
    }

    /// Returns an open connection, and opens a new one if necessary. After an error, nothing was sent.
    pub(crate) async fn link(&self, deadline: Instant) -> Result<Arc<Link>, InvokeError> {
        if let Some(link) = self.living() {
            return Ok(link);
        }
        let limit = deadline.min(Instant::now() + self.connect_timeout);
        let reopened = timeout_at(limit, self.reopen()).await;
        reopened.unwrap_or_else(|_| Err(not_sent("the server was not connected in time")))
    }

    async fn reopen(&self) -> Result<Arc<Link>, InvokeError> {
        let mut openings = self.openings.lock().await;
        if let Some(link) = self.living() {
            return Ok(link);
        }
        if self.closed.load(Ordering::Relaxed) {
            return Err(not_sent("the server was disconnected"));
        }
        let dead = self.current();
        if let Some(done) = *openings {
            // Over HTTP a new connection starts no process, so the number is not limited.
            if done >= MAX_RESTARTS && !matches!(self.way, Way::Http(_)) {
                return Err(not_sent(&given_up(dead.as_deref()).await));
            }
            tokio::time::sleep(BACKOFF * 2_u32.pow(done)).await;
        }
        *openings = Some(openings.map_or(0, |done| MAX_RESTARTS.min(done + 1)));
        let Some(dead) = dead else {
            // A lazy server is started by its first call.
            return self.begin().await.map_err(|failure| failure.unsent(""));
        };
        let mode = Mode::Only(dead.era);
        let diagnostics = ConnectDiagnostics::default();
        let open = || Link::open(&self.way, &self.surroundings, &self.server_requests, mode, &diagnostics);
        let opened = retry_with_backoff(&diagnostics, open).await;
        let link = Arc::new(opened.map_err(|failure| failure.unsent("the connection was lost; "))?);
        // The server may have been updated.
        link.handler.changed.mark();
        self.put(Some(Arc::clone(&link)));
        Ok(link)
    }

    async fn begin(&self) -> Result<Arc<Link>, Failure> {
        let diagnostics = ConnectDiagnostics::default();
        let link = Arc::new(retry_with_backoff(&diagnostics, || self.open(&diagnostics)).await?);
        // The stored tools may be outdated.
        link.handler.changed.mark();
        self.put(Some(Arc::clone(&link)));
        Ok(link)
    }

    /// Lists the tools again if the server announced a change. After a failure or drop the next call tries again.
    pub(crate) async fn relist(&self) -> Result<Option<Entries>, Failure> {
        let Some(link) = self.living() else { return Ok(None) };
        let Some(due) = FlagGuard::take(&link.handler.changed.relist_due) else { return Ok(None) };
        let late = Failure::Silent { request: "tools/list", limit: RELIST };
        let listed = timeout(RELIST, listed_for_offer(&link)).await.unwrap_or(Err(late));
        let missed = if listed.is_ok() { 0 } else { link.missed.load(Ordering::Relaxed).saturating_add(1) };
        link.missed.store(missed, Ordering::Relaxed);
        if listed.is_ok() || missed >= MAX_RELISTS {
            due.done();
        }
        listed.map(Some)
    }

    /// Records an answered call. Over HTTP this resets the delay before reconnections.
    pub(crate) fn answered(&self, link: &Link) {
        if link.remote
            && let Ok(mut openings) = self.openings.try_lock()
        {
            *openings = Some(0);
        }
    }

    /// Records a call without an answer. Over HTTP the session may be lost, so the next call gets a new connection.
    pub(crate) fn late(&self, link: &Arc<Link>) {
        if link.remote {
            self.retire(link);
        }
    }

    /// Excludes an HTTP connection from new calls. Calls in flight continue.
    pub(crate) fn retire(&self, link: &Arc<Link>) {
        if link.remote {
            link.retired.store(true, Ordering::Relaxed);
        }
    }

    /// Skips tools whose header arguments are not valid, unless the server is legacy.
    pub(crate) fn fit(&self, listed: Listed) -> Listed {
        let era = self.current().map(|link| link.era).or_else(|| self.surroundings.eras.get(&self.keys.era));
        match &self.way {
            Way::Http(endpoint) if era != Some(Era::Legacy) && self.protocol != Protocol::Legacy => {
                endpoint.parameters.fit(listed)
            }
            _ => listed,
        }
    }

    pub(crate) async fn disconnect(&self) {
        self.closed.store(true, Ordering::Relaxed);
        let link = self.put(None);
        if let Some(link) = link {
            link.close().await;
        }
    }

    pub(crate) fn living(&self) -> Option<Arc<Link>> {
        self.current().filter(|link| link.is_alive())
    }

    pub(crate) fn current(&self) -> Option<Arc<Link>> {
        self.link.lock().clone()
    }

    fn put(&self, link: Option<Arc<Link>>) -> Option<Arc<Link>> {
        std::mem::replace(&mut *self.link.lock(), link)
    }
}

/// A cleared flag that is set again on drop unless [`FlagGuard::done`] was called.
pub(crate) struct FlagGuard<'a>(Option<&'a AtomicBool>);

impl<'a> FlagGuard<'a> {
    /// Clears the flag; `None` if it was not set.
    pub(crate) fn take(mark: &'a AtomicBool) -> Option<Self> {
        mark.swap(false, Ordering::Relaxed).then(|| Self(Some(mark)))
    }

    /// Clears the flag, whether it was set or not.
    pub(crate) fn of(mark: &'a AtomicBool) -> Self {
        mark.store(false, Ordering::Relaxed);
        Self(Some(mark))
    }

    pub(crate) fn done(mut self) {
        self.0 = None;
    }
}

impl Drop for FlagGuard<'_> {
    fn drop(&mut self) {
        if let Some(mark) = self.0 {
            mark.store(true, Ordering::Relaxed);
        }
    }
}

/// Lists the tools for the roster, so that calls need not verify them again.
async fn listed_for_offer(link: &Link) -> Result<Entries, Failure> {
    let mut seen = link.seen.lock().await;
    let unseen = FlagGuard::of(&link.handler.changed.unverified);
    let entries = listing::list(link).await?;
    unseen.done();
    *seen = None;
    Ok(entries)
}

fn not_sent(reason: &str) -> InvokeError {
    InvokeError::Unreachable { message: format!("not sent: {reason}"), sent: false }
}

async fn given_up(dead: Option<&Link>) -> String {
    let Some(dead) = dead else {
        return format!(
            "the server could not be connected {} times; there is no further attempt",
            MAX_RESTARTS + 1
        );
    };
    let reason = dead.redacted(dead.exit_report().await);
    format!("the connection was lost after {MAX_RESTARTS} restarts; there is no further attempt; {reason}")
}

/// Retries, with doubled delays.
const MAX_RETRIES: u32 = 3;

/// Calls `open` until it succeeds or a retry is useless. The caller sets the time limit; `diagnostics` records
/// failures.
pub(crate) async fn retry_with_backoff<T, F>(
    diagnostics: &ConnectDiagnostics,
    open: impl Fn() -> F,
) -> Result<T, Failure>
where
    F: Future<Output = Result<T, Failure>>,
{
    let mut pause = BACKOFF;
    for _ in 0..MAX_RETRIES {
        let failure = match open().await {
            Err(failure) => failure,
            opened => return opened,
        };
        let Some(wait) = failure.passes(pause).filter(|wait| *wait <= MAX_WAIT) else { return Err(failure) };
        tracing::debug!(%failure, "retrying a server");
        diagnostics.record_failure(&failure);
        tokio::time::sleep(wait).await;
        pause *= 2;
    }
    open().await
}
