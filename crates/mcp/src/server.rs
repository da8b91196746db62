//! A server over a run: connected, lost, connected again, disconnected.
//!
//! Calls share one connection. When it is over, the first call that needs another one opens it while the others wait;
//! nothing that may have been sent is ever sent again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use converse_config::Protocol;
use converse_ensemble::InvokeError;
use tokio::time::{Instant, timeout, timeout_at};

use crate::error::Failure;
use crate::handshake::Mode;
use crate::link::{Link, Way, Witness};
use crate::listing::{self, Entries};
use crate::{Era, Surroundings};

/// New processes after the first one.
const MAX_RESTARTS: u32 = 3;
const BACKOFF: Duration = Duration::from_millis(250);
/// Listing the tools anew, while a model waits to be called.
const RELIST: Duration = Duration::from_secs(10);

/// One server.
pub(crate) struct Server {
    pub(crate) way: Way,
    pub(crate) protocol: Protocol,
    /// From starting or reaching it to its tools.
    pub(crate) connect_timeout: Duration,
    pub(crate) surroundings: Arc<Surroundings>,
    /// What its era is remembered by.
    pub(crate) key: String,
    link: Mutex<Option<Arc<Link>>>,
    /// Held by whoever opens a connection: how many have been opened after the first.
    restarts: tokio::sync::Mutex<u32>,
    /// Nothing is opened any more.
    closed: AtomicBool,
}

impl Server {
    pub(crate) fn new(
        way: Way,
        protocol: Protocol,
        connect_timeout: Duration,
        surroundings: Arc<Surroundings>,
        key: String,
    ) -> Self {
        Self {
            way,
            protocol,
            connect_timeout,
            surroundings,
            key,
            link: Mutex::default(),
            restarts: tokio::sync::Mutex::default(),
            closed: AtomicBool::new(false),
        }
    }

    /// The first connection, and what the server offers: all of it within the connect timeout.
    pub(crate) async fn connect(&self) -> Result<(Arc<Link>, Entries), Failure> {
        let witness = Witness::default();
        let limit = self.connect_timeout;
        let connected = timeout(limit, async {
            let link = self.open(&witness).await?;
            match listing::list(&link).await {
                Ok(listed) => Ok((Arc::new(link), listed)),
                Err(failure) => Err(failure),
            }
        });
        let Ok(connected) = connected.await else {
            return Err(Failure::Slow { limit, words: witness.last_words() });
        };
        let (link, listed) = connected?;
        self.put(Some(Arc::clone(&link)));
        Ok((link, listed))
    }

    /// Finds out the era, if need be by trying; remembers what worked.
    async fn open(&self, witness: &Witness) -> Result<Link, Failure> {
        let known = self.surroundings.eras.get(&self.key);
        let mut modes = modes(self.protocol, known);
        modes.reverse();
        let mut silent = false;
        let mut failed = Failure::Nonsense("nothing was tried".to_owned());
        while let Some(mode) = modes.pop() {
            let opening = Link::open(&self.way, &self.surroundings, mode, witness);
            // A first guess may be wrong: it must leave time for the second.
            let opened = if modes.is_empty() || mode == Mode::Probe {
                opening.await
            } else {
                let limit = self.connect_timeout / 2;
                timeout(limit, opening).await.unwrap_or(Err(Failure::Silent { request: "initialize", limit }))
            };
            match opened {
                Ok(link) => {
                    if self.protocol == Protocol::Auto && known != Some(link.era) {
                        self.surroundings.eras.put(&self.key, link.era);
                    }
                    return Ok(link);
                }
                Err(failure) if failure.is_final() => return Err(failure),
                Err(failure) => {
                    // Modern only, and too slow for the probe (a launcher that had to fetch it): it is there now.
                    if silent && matches!(failure, Failure::Refused(_)) {
                        modes.push(Mode::Only(Era::Modern));
                    }
                    silent = matches!(failure, Failure::Silent { .. });
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
        let mut restarts = self.restarts.lock().await;
        if let Some(link) = self.living() {
            return Ok(link);
        }
        if self.closed.load(Ordering::Relaxed) {
            return Err("it has been disconnected".to_owned());
        }
        let Some(dead) = self.current() else {
            // A lazy one is started by its first call.
            let begun = self.begin().await;
            return begun.map_err(|failure| format!("the server could not be connected: {failure}"));
        };
        let remote = matches!(self.way, Way::Http(_));
        // Over HTTP nothing is started by it, and a server that is slow today may answer tomorrow.
        if *restarts >= MAX_RESTARTS && !remote {
            let fate = dead.discreet(dead.obituary().await);
            return Err(format!(
                "the server is gone; it was connected again {MAX_RESTARTS} times and is not once more; {fate}"
            ));
        }
        tokio::time::sleep(BACKOFF * 2_u32.pow(*restarts)).await;
        *restarts = MAX_RESTARTS.min(*restarts + 1);
        let mode = Mode::Only(dead.era);
        let opened = Link::open(&self.way, &self.surroundings, mode, &Witness::default()).await;
        let link = Arc::new(opened.map_err(|failure| format!("the server is gone; {failure}"))?);
        // It may be another version of itself by now.
        link.handler.changed.store(true, Ordering::Relaxed);
        self.put(Some(Arc::clone(&link)));
        Ok(link)
    }

    async fn begin(&self) -> Result<Arc<Link>, Failure> {
        let link = Arc::new(self.open(&Witness::default()).await?);
        // What was remembered of it may be old.
        link.handler.changed.store(true, Ordering::Relaxed);
        self.put(Some(Arc::clone(&link)));
        Ok(link)
    }

    /// The tools anew, if the server said that they have changed. `None`: they have not, or could not be had.
    pub(crate) async fn relist(&self) -> Option<Entries> {
        let link = self.living()?;
        if !link.handler.changed.swap(false, Ordering::Relaxed) {
            return None;
        }
        match timeout(RELIST, listing::list(&link)).await {
            Ok(Ok(listed)) => Some(listed),
            Ok(Err(failure)) => {
                tracing::warn!(%failure, "the tools of a server could not be listed again");
                None
            }
            Err(_) => {
                tracing::warn!("the tools of a server could not be listed again in time");
                None
            }
        }
    }

    /// A call was answered: over HTTP, where a new connection costs nothing, the next one is not waited for longer.
    pub(crate) fn answered(&self, link: &Link) {
        if link.remote
            && let Ok(mut restarts) = self.restarts.try_lock()
        {
            *restarts = 0;
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

    pub(crate) async fn disconnect(&self) {
        self.closed.store(true, Ordering::Relaxed);
        let link = self.put(None);
        if let Some(link) = link {
            link.close().await;
        }
    }

    fn living(&self) -> Option<Arc<Link>> {
        self.current().filter(|link| link.is_alive())
    }

    fn current(&self) -> Option<Arc<Link>> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn put(&self, link: Option<Arc<Link>>) -> Option<Arc<Link>> {
        std::mem::replace(&mut *self.link.lock().unwrap_or_else(PoisonError::into_inner), link)
    }
}

/// What to try, in this order.
fn modes(protocol: Protocol, known: Option<Era>) -> Vec<Mode> {
    match (protocol, known) {
        (Protocol::Modern, _) => vec![Mode::Only(Era::Modern)],
        (Protocol::Legacy, _) => vec![Mode::Only(Era::Legacy)],
        (Protocol::Auto, None) => vec![Mode::Probe, Mode::Only(Era::Legacy)],
        (Protocol::Auto, Some(Era::Modern)) => vec![Mode::Only(Era::Modern), Mode::Only(Era::Legacy)],
        (Protocol::Auto, Some(Era::Legacy)) => vec![Mode::Only(Era::Legacy), Mode::Only(Era::Modern)],
    }
}
