//! The gateway over HTTP: who may come in, how many at once, and how it ends.
//!
//! Nothing of a client is kept between two requests, so that any replica can answer any of them. What comes in is
//! bounded in size, number and time. At the end nothing that was accepted is left without its answer, as far as the
//! time for that goes.

mod body;
mod connection;
mod door;
mod hosts;
mod lease;
mod letter;
mod listener;
mod replies;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rmcp::ServerHandler;
use thiserror::Error;
use tokio_util::sync::CancellationToken;

use self::connection::Connections;
pub(crate) use self::door::Stopping;
use self::door::{Desk, Door};
pub use self::hosts::Hosts;
pub use self::listener::Bound;
use crate::access::Access;
use crate::counters::Counters;

/// Where the tools are.
pub const PATH: &str = "/mcp";

/// Connections of those who read numbers.
const READERS: usize = 16;

/// How a gateway stands in the network.
#[derive(Debug)]
pub struct Front {
    pub access: Access,
    pub hosts: Hosts,
    /// Where `/metrics` is, open to whoever reaches it; without it among the tools, under their access.
    pub metrics: Option<Bound>,
    /// How long calls that run may go on once it is to end.
    pub drain: Duration,
    pub limits: Limits,
}

/// What one client may take, and all of them together.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Open at once; others wait, and those that ask nothing make room. Each is an open file.
    pub connections: usize,
    /// From the first byte of a request, or from the start, to the end of its headers.
    pub headers: Duration,
    /// A whole body.
    pub body: Duration,
    pub body_bytes: usize,
    /// Between two requests. Longer than balancers keep theirs, so that it is they who close.
    pub idle: Duration,
    /// A client that takes nothing of what it is sent.
    pub stuck: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 4096,
            headers: Duration::from_secs(10),
            body: Duration::from_secs(30),
            body_bytes: 4 * 1024 * 1024,
            idle: Duration::from_secs(90),
            stuck: Duration::from_secs(30),
        }
    }
}

/// Why a front does not stand.
#[derive(Debug, Error)]
pub enum FrontError {
    #[error("cannot listen at {address}: {reason}")]
    Bind { address: SocketAddr, reason: std::io::Error },
    #[error("`{0}` is no host: HOST or HOST:PORT")]
    Host(String),
    #[error("`{0}` is no origin of a web page: SCHEME://HOST, SCHEME://HOST:PORT or SCHEME://HOST:*")]
    Origin(String),
}

/// Serves at [`PATH`] until `stop`, then drains. `made` gives a handler for each request.
///
/// Then: health checks fail at once, no connection is accepted any more, those there are end with their next answer,
/// and what runs has `drain` to end. Returns when no connection is left.
pub async fn listen<H>(
    bound: Bound,
    made: impl Fn() -> H + Send + Sync + 'static,
    front: Front,
    counters: Arc<Counters>,
    stop: CancellationToken,
) where
    H: ServerHandler + Send + Sync + 'static,
{
    let Front { access, hosts, metrics, drain, limits } = front;
    let desk = Desk { access, hosts, counters: Arc::clone(&counters), stop: stop.clone(), limits };
    let door = Door::of_tools(desk, made, metrics.is_none());
    let over = CancellationToken::new();
    let aside = metrics.map(|bound| {
        let limits = Limits { connections: limits.connections.min(READERS), ..limits };
        let connections = Connections::new(limits, Arc::clone(&counters));
        let (door, over) = (Door::<H>::of_metrics(counters, stop.clone()), over.clone());
        // It tells that we are draining, so it stays until that is done.
        tokio::spawn(async move { connections.serve(bound, door, over, Duration::ZERO).await })
    });
    let connections = Connections::new(limits, door.counters());
    connections.serve(bound, door, stop, drain).await;
    over.cancel();
    if let Some(aside) = aside {
        let _ = aside.await;
    }
}
