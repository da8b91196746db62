//! [`Server`]: one server during a run, reconnected when its connection is lost.
//!
//! Calls share one connection. When it has ended, the next call opens a new one while others wait, or the keeper does
//! (see [`crate::keeper`]). There is no last attempt, only a growing delay. Requests that may have been sent are not
//! repeated.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use converse_config::Protocol;
use converse_ensemble::{InvokeError, Upstream};
use futures_util::FutureExt as _;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use crate::accepted::definitions;
use crate::error::Failure;
use crate::handshake::Mode;
use crate::http::MAX_WAIT;
use crate::key::Keys;
use crate::link::{ConnectDiagnostics, Link, Way};
use crate::listing::{self, Entries, Listed};
use crate::offer_pins::OfferGuard;
use crate::pacing::Pacing;
use crate::server_requests::ServerRequestHandler;
use crate::{Era, Surroundings};

pub(crate) const BACKOFF: Duration = Duration::from_millis(250);
/// Limit for listing the tools again before a model is called. Shorter than the limit of an ensemble's refresh, so that
/// the reason is reported.
pub(crate) const RELIST: Duration = Duration::from_secs(4);
/// Connections of one request that are lost before their server has the roots.
const MAX_LINKS: u32 = 2;
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
    pub(crate) server_requests: Arc<ServerRequestHandler>,
    link: Mutex<Option<Arc<Link>>>,
    pub(crate) pacing: Mutex<Pacing>,
    /// Locked while a call opens a connection.
    opening: tokio::sync::Mutex<()>,
    /// Number of attempts of calls that failed. Calls that waited for one share its failure.
    failures: AtomicU64,
    last_failure: Mutex<Option<InvokeError>>,
    /// With a keeper: the state of the connection.
    pub(crate) kept: Option<Arc<Upstream>>,
    /// Tools that the keeper listed and the roster does not have yet.
    pub(crate) fresh: Mutex<Option<Entries>>,
    /// What is accepted beside tools.
    pub(crate) offers: OfferGuard,
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
            keys,
            server_requests: Arc::default(),
            link: Mutex::default(),
            pacing: Mutex::new(Pacing::new(surroundings.jitter)),
            surroundings,
            opening: tokio::sync::Mutex::default(),
            failures: AtomicU64::new(0),
            last_failure: Mutex::default(),
            kept: None,
            fresh: Mutex::default(),
            offers: OfferGuard::default(),
            closed: AtomicBool::new(false),
        }
    }

    pub(crate) fn warn(&self, line: &str) {
        (self.surroundings.warn)(format!("ensemble `{}`: {line}", self.server_requests.ensemble));
    }

    /// Sets the handler of the requests of the server.
    pub(crate) fn with_server_requests(self, server_requests: ServerRequestHandler) -> Self {
        Self { server_requests: Arc::new(server_requests), ..self }
    }

    /// Opens the first connection and lists the tools within the connect timeout.
    pub(crate) async fn connect(&self) -> Result<(Arc<Link>, Entries), Failure> {
        self.connect_as(None).await
    }

    /// The same; `era` is the era of the connection before.
    pub(crate) async fn connect_as(&self, era: Option<Era>) -> Result<(Arc<Link>, Entries), Failure> {
        let diagnostics = ConnectDiagnostics::default();
        let limit = self.connect_timeout;
        self.pacing.lock().begin();
        let connected = timeout(limit, async {
            let link = retry_with_backoff(&diagnostics, || self.open_again(era, &diagnostics)).await?;
            match listing::list(&link).boxed().await {
                Ok(listed) => Ok((Arc::new(link), listed)),
                Err(failure) => Err(failure),
            }
        });
        let Ok(connected) = connected.await else {
            return Err(Failure::Slow { limit, words: diagnostics.summary() });
        };
        let (link, listed) = connected?;
        if self.kept.is_some() {
            // The roster takes the list at its next refresh. Until then, calls of accepted tools are compared with it, so
            // it is there before the first call.
            *link.seen.lock().await = Some(definitions(listed.clone()));
            *self.fresh.lock() = Some(listed.clone());
        }
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

    /// Opens a connection in the era of the one before, if any.
    async fn open_again(&self, era: Option<Era>, diagnostics: &ConnectDiagnostics) -> Result<Link, Failure> {
        match era {
            Some(era) => self.open_as(Mode::Only(era), diagnostics).await,
            None => self.open(diagnostics).await,
        }
    }

    async fn open_as(&self, mode: Mode, diagnostics: &ConnectDiagnostics) -> Result<Link, Failure> {
        // Boxed, because it is large and the futures around it are moved.
        Link::open(&self.way, &self.surroundings, &self.server_requests, mode, diagnostics).boxed().await
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

    /// Returns an open connection whose server has the roots, and opens a new one if necessary. After an error, nothing was
    /// sent.
    pub(crate) async fn link(&self, deadline: Instant) -> Result<Arc<Link>, InvokeError> {
        for _ in 0..MAX_LINKS {
            let link = self.open_link(deadline).await?;
            if !link.roots_known.initialized() {
                link.roots_known(deadline).boxed().await;
            }
            // Meanwhile its server may have ended.
            if link.is_alive() {
                return Ok(link);
            }
        }
        Err(not_sent("the connection was lost before the server had the roots"))
    }

    async fn open_link(&self, deadline: Instant) -> Result<Arc<Link>, InvokeError> {
        if let Some(link) = self.living() {
            return Ok(link);
        }
        if let Some(upstream) = &self.kept {
            return self.kept_link(upstream, deadline).boxed().await;
        }
        let limit = deadline.min(Instant::now() + self.connect_timeout);
        let reopened = timeout_at(limit, self.reopen().boxed()).await;
        reopened.unwrap_or_else(|_| Err(not_sent("the server was not connected in time")))
    }

    /// Opens a new connection for a call. Calls that waited for an attempt share its result.
    async fn reopen(&self) -> Result<Arc<Link>, InvokeError> {
        let failures = self.failures.load(Ordering::Relaxed);
        let _opening = self.opening.lock().await;
        if let Some(link) = self.living() {
            return Ok(link);
        }
        if self.is_closed() {
            return Err(not_sent("the server was disconnected"));
        }
        if self.failures.load(Ordering::Relaxed) != failures
            && let Some(failure) = self.last_failure.lock().clone()
        {
            return Err(failure);
        }
        let due = self.pacing.lock().due_for_call();
        sleep_until(due).await;
        self.pacing.lock().begin();
        let opened = match self.current() {
            Some(dead) => {
                self.replace(&dead).await.map_err(|failure| failure.unsent("the connection was lost; "))
            }
            // A lazy server is started by its first call.
            None => self.begin().await.map_err(|failure| failure.unsent("")),
        };
        if let Err(failure) = &opened {
            *self.last_failure.lock() = Some(failure.clone());
            self.failures.fetch_add(1, Ordering::Relaxed);
        }
        opened
    }

    async fn replace(&self, dead: &Link) -> Result<Arc<Link>, Failure> {
        // Once that failed: the new server may be of the other era.
        let era = self.last_failure.lock().is_none().then_some(dead.era);
        let diagnostics = ConnectDiagnostics::default();
        let open = || self.open_again(era, &diagnostics);
        let link = Arc::new(retry_with_backoff(&diagnostics, open).await?);
        *self.last_failure.lock() = None;
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
        if let Some(entries) = self.fresh.lock().take() {
            return Ok(Some(entries));
        }
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

    /// Records an answered call, which resets the delay before reconnections.
    pub(crate) fn answered(&self) {
        self.pacing.lock().answered();
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
            link.retired.cancel();
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

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
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

pub(crate) fn not_sent(reason: &str) -> InvokeError {
    InvokeError::Unreachable { message: format!("not sent: {reason}"), sent: false }
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
