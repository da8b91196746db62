//! A server over a run: connected, lost, connected again, disconnected.
//!
//! Calls share one connection. When it is over, the first call that needs another one opens it while the others wait;
//! nothing that may have been sent is ever sent again.

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

/// New processes after the first one.
const MAX_RESTARTS: u32 = 3;
pub(crate) const BACKOFF: Duration = Duration::from_millis(250);
/// Listing the tools anew, while a model waits to be called.
/// Less than what an ensemble is given to refresh itself, so that it can be said.
pub(crate) const RELIST: Duration = Duration::from_secs(4);
/// So often in a row it may fail; then the server must say anew that they have changed.
const MAX_RELISTS: u32 = 3;

/// One server.
pub(crate) struct Server {
    pub(crate) way: Way,
    pub(crate) protocol: Protocol,
    /// From starting or reaching it to its tools.
    pub(crate) connect_timeout: Duration,
    pub(crate) surroundings: Arc<Surroundings>,
    pub(crate) keys: Keys,
    /// Where its questions are answered.
    server_requests: Arc<ServerRequestHandler>,
    link: Mutex<Option<Arc<Link>>>,
    /// Held by whoever opens a connection: how often that was done after the first time. `None`: never yet.
    openings: tokio::sync::Mutex<Option<u32>>,
    /// Nothing is opened any more.
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

    /// One whose questions are answered there.
    pub(crate) fn with_server_requests(self, server_requests: ServerRequestHandler) -> Self {
        Self { server_requests: Arc::new(server_requests), ..self }
    }

    /// The first connection, and what the server offers: all of it within the connect timeout.
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

    /// Finds out the era, if need be by trying; remembers what worked.
    async fn open(&self, diagnostics: &ConnectDiagnostics) -> Result<Link, Failure> {
        let known = self.surroundings.eras.get(&self.keys.era);
        let mut modes = modes(self.protocol, known, self.way.probe(self.connect_timeout));
        modes.reverse();
        let mut slow = false;
        let mut failed = Failure::Nonsense("nothing was tried".to_owned());
        while let Some(mode) = modes.pop() {
            let opening = Link::open(&self.way, &self.surroundings, &self.server_requests, mode, diagnostics);
            // A first guess may be wrong: it must leave time for the second.
            let opened = if modes.is_empty() || matches!(mode, Mode::Probe(_)) {
                opening.await
            } else {
                let limit = self.connect_timeout / 2;
                let silent = Failure::Silent { request: mode.request(), limit };
                timeout(limit, opening).await.unwrap_or(Err(silent))
            };
            match opened {
                Ok(link) => {
                    if self.protocol == Protocol::Auto && known != Some(link.era) {
                        self.surroundings.eras.put(&self.keys.era, link.era);
                    }
                    return Ok(link);
                }
                Err(failure) if failure.is_final() => return Err(failure),
                Err(failure) => {
                    // It was only too slow for the first guess (a launcher that had to fetch it): it is there now.
                    if slow && matches!(failure, Failure::Refused(_)) {
                        modes.extend(mode.other());
                    }
                    slow = matches!(failure, Failure::Silent { .. });
                    tracing::debug!(?mode, %failure, "a server did not answer this way");
                    // That nothing of what it speaks is known says more than what the other era came to.
                    if !matches!(failed, Failure::Versions(_)) {
                        failed = failure;
                    }
                }
            }
        }
        Err(failed)
    }

    /// A connection that lives, opened anew if need be. Nothing has been sent when it fails.
    pub(crate) async fn link(&self, deadline: Instant) -> Result<Arc<Link>, InvokeError> {
        if let Some(link) = self.living() {
            return Ok(link);
        }
        let limit = deadline.min(Instant::now() + self.connect_timeout);
        let reopened = timeout_at(limit, self.reopen()).await;
        let reopened = reopened.unwrap_or_else(|_| Err("the server was not connected in time".to_owned()));
        reopened.map_err(|reason| InvokeError::Unreachable {
            message: format!("not sent: {reason}"),
            sent: false,
        })
    }

    async fn reopen(&self) -> Result<Arc<Link>, String> {
        let mut openings = self.openings.lock().await;
        if let Some(link) = self.living() {
            return Ok(link);
        }
        if self.closed.load(Ordering::Relaxed) {
            return Err("it has been disconnected".to_owned());
        }
        let dead = self.current();
        if let Some(done) = *openings {
            // Over HTTP nothing is started by it, and a server that is slow today may answer tomorrow.
            if done >= MAX_RESTARTS && !matches!(self.way, Way::Http(_)) {
                return Err(given_up(dead.as_deref()).await);
            }
            tokio::time::sleep(BACKOFF * 2_u32.pow(done)).await;
        }
        *openings = Some(openings.map_or(0, |done| MAX_RESTARTS.min(done + 1)));
        let Some(dead) = dead else {
            // A lazy one is started by its first call.
            let begun = self.begin().await;
            return begun.map_err(|failure| format!("the server could not be connected: {failure}"));
        };
        let mode = Mode::Only(dead.era);
        let diagnostics = ConnectDiagnostics::default();
        let open = || Link::open(&self.way, &self.surroundings, &self.server_requests, mode, &diagnostics);
        let opened = retry_with_backoff(&diagnostics, open).await;
        let link = Arc::new(opened.map_err(|failure| format!("the server is gone; {failure}"))?);
        // It may be another version of itself by now.
        link.handler.changed.mark();
        self.put(Some(Arc::clone(&link)));
        Ok(link)
    }

    async fn begin(&self) -> Result<Arc<Link>, Failure> {
        let diagnostics = ConnectDiagnostics::default();
        let link = Arc::new(retry_with_backoff(&diagnostics, || self.open(&diagnostics)).await?);
        // What was remembered of it may be old.
        link.handler.changed.mark();
        self.put(Some(Arc::clone(&link)));
        Ok(link)
    }

    /// The tools anew, if the server said that they have changed. Whoever fails, or is dropped, leaves it to the next.
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

    /// A call was answered: over HTTP, where a new connection costs nothing, the next one is not waited for longer.
    pub(crate) fn answered(&self, link: &Link) {
        if link.remote
            && let Ok(mut openings) = self.openings.try_lock()
        {
            *openings = Some(0);
        }
    }

    /// A call was not answered in time. A lost HTTP session looks just like that, so the next call gets a new one.
    pub(crate) fn late(&self, link: &Arc<Link>) {
        if link.remote {
            self.retire(link);
        }
    }

    /// No more calls on this connection; those that run may go on.
    pub(crate) fn retire(&self, link: &Arc<Link>) {
        if link.remote {
            link.retired.store(true, Ordering::Relaxed);
        }
    }

    /// The tools that can be called as this server wants to be called.
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

/// A mark that was taken, and is set again unless it is done with.
pub(crate) struct FlagGuard<'a>(Option<&'a AtomicBool>);

impl<'a> FlagGuard<'a> {
    pub(crate) fn take(mark: &'a AtomicBool) -> Option<Self> {
        mark.swap(false, Ordering::Relaxed).then(|| Self(Some(mark)))
    }

    /// Taken, whether it was set or not.
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

/// Whoever offers them sees the list now, so that nobody who calls one has to look again.
async fn listed_for_offer(link: &Link) -> Result<Entries, Failure> {
    let mut seen = link.seen.lock().await;
    let unseen = FlagGuard::of(&link.handler.changed.unverified);
    let entries = listing::list(link).await?;
    unseen.done();
    *seen = None;
    Ok(entries)
}

async fn given_up(dead: Option<&Link>) -> String {
    let Some(dead) = dead else {
        return format!(
            "the server could not be connected {} times and is not tried once more",
            MAX_RESTARTS + 1
        );
    };
    let fate = dead.redacted(dead.exit_report().await);
    format!("the server is gone; it was connected again {MAX_RESTARTS} times and is not once more; {fate}")
}

/// What to try, in this order.
fn modes(protocol: Protocol, known: Option<Era>, probe: Duration) -> Vec<Mode> {
    match (protocol, known) {
        (Protocol::Modern, _) => vec![Mode::Only(Era::Modern)],
        (Protocol::Legacy, _) => vec![Mode::Only(Era::Legacy)],
        (Protocol::Auto, None) => vec![Mode::Probe(probe), Mode::Only(Era::Legacy)],
        (Protocol::Auto, Some(Era::Modern)) => vec![Mode::Only(Era::Modern), Mode::Only(Era::Legacy)],
        (Protocol::Auto, Some(Era::Legacy)) => vec![Mode::Only(Era::Legacy), Mode::Only(Era::Modern)],
    }
}

/// Times that it is tried once more, the pauses doubled.
const MAX_RETRIES: u32 = 3;

/// Opens it, if need be again. Bounded by whoever waits; the witness knows why it takes so long.
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
        tracing::debug!(%failure, "a server is tried once more");
        diagnostics.record_failure(&failure);
        tokio::time::sleep(wait).await;
        pause *= 2;
    }
    open().await
}
