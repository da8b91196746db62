//! Connections: how many, how long, and how they end.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rmcp::ServerHandler;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::door::Door;
use super::lease::{Lease, Leased};
use super::listener::Bound;
use super::{Limits, body};
use crate::counters::Counters;

/// A request's line and headers, and what is read ahead of a body.
const MAX_BUFFER: usize = 64 * 1024;

/// How long those that ask nothing may still ask, once we are to end: a request may be on its way to us.
const LINGERING: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Connections {
    limits: Limits,
    counters: Arc<Counters>,
    slots: Arc<Semaphore>,
    tasks: TaskTracker,
    /// Those that are idle end, the others after their answer.
    close: CancellationToken,
    /// All end.
    abort: CancellationToken,
}

impl Connections {
    pub(super) fn new(limits: Limits, counters: Arc<Counters>) -> Self {
        let slots = Arc::new(Semaphore::new(limits.connections));
        let [close, abort] = [(); 2].map(|()| CancellationToken::new());
        Self { limits, counters, slots, tasks: TaskTracker::new(), close, abort }
    }

    /// Until `stop`, and then as long as it takes, `drain` at most.
    pub(super) async fn serve<H>(self, bound: Bound, door: Door<H>, stop: CancellationToken, drain: Duration)
    where
        H: ServerHandler + Send + Sync + 'static,
    {
        while let Some(Some((stream, slot))) = stop.run_until_cancelled(self.next(&bound)).await {
            self.answer(stream, slot, door.clone());
        }
        let end = Instant::now() + drain;
        // They have no slots: they were there before we stopped.
        bound.close(|stream| self.answer(stream, None, door.clone())).await;
        self.tasks.close();
        let _ = timeout(LINGERING.min(drain), self.tasks.wait()).await;
        self.close.cancel();
        if timeout_at(end, self.tasks.wait()).await.is_err() {
            tracing::warn!("{} connections are cut off: the time to drain is over", self.tasks.len());
            self.abort.cancel();
            self.tasks.wait().await;
        }
    }

    /// `None` never comes: the slots are not closed.
    async fn next(&self, bound: &Bound) -> Option<(TcpStream, Option<OwnedSemaphorePermit>)> {
        let slot = Arc::clone(&self.slots).acquire_owned().await.ok()?;
        Some((bound.accept().await, Some(slot)))
    }

    fn answer<H>(&self, stream: TcpStream, slot: Option<OwnedSemaphorePermit>, door: Door<H>)
    where
        H: ServerHandler + Send + Sync + 'static,
    {
        let counted = self.counters.connection();
        let (limits, close, abort) = (self.limits, self.close.clone(), self.abort.clone());
        self.tasks.spawn(async move {
            let _ = abort.run_until_cancelled(converse(stream, door, limits, close)).await;
            drop((slot, counted));
        });
    }
}

/// One request after another, until either side has enough.
async fn converse<H>(stream: TcpStream, door: Door<H>, limits: Limits, close: CancellationToken)
where
    H: ServerHandler + Send + Sync + 'static,
{
    // Small answers at once.
    let _ = stream.set_nodelay(true);
    let from = stream.peer_addr().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.ip());
    let lease = Lease::new(limits);
    let answering = Arc::clone(&lease);
    let service = service_fn(move |request| {
        let (door, lease) = (door.clone(), Arc::clone(&answering));
        lease.asked();
        async move {
            let answer = door.answer(request, from).await;
            Ok::<_, std::convert::Infallible>(answer.map(|inner| body::Watched::new(inner, lease)))
        }
    });
    let io = TokioIo::new(Leased { stream, lease: Arc::clone(&lease) });
    // The lease knows how long headers may take; hyper would count the time between requests in.
    let connection = http1::Builder::new()
        .header_read_timeout(None)
        .max_buf_size(MAX_BUFFER)
        .serve_connection(io, service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => return,
        () = lease.over() => return,
        () = close.cancelled() => {}
    }
    connection.as_mut().graceful_shutdown();
    tokio::select! {
        _ = connection => {}
        () = lease.over() => {}
    }
}
