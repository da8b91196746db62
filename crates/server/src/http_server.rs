//! The gateway over HTTP: access, limits and shutdown.
//!
//! Any replica can answer any request. Only what belongs to a session of a client of older revisions needs the replica that
//! has it. Requests are limited in size, number and time. At shutdown, accepted requests are answered within the time to
//! drain.

mod body;
mod browser;
mod connection;
mod endpoints;
mod hosts;
mod lease;
mod listener;
mod replies;
mod router;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use converse_canister::ViewName;
use converse_gateway::{Counters, SessionLimits, Sessions};
use rmcp::ServerHandler;
use rustix::process::{Resource, getrlimit};
use thiserror::Error;
use tokio_util::sync::CancellationToken;

use self::connection::Connections;
pub use self::hosts::Hosts;
pub use self::listener::HttpListener;
pub(crate) use self::replies::{Reply, reply};
use self::router::{HttpState, Router};
use crate::access::Access;
use crate::front::Front;
use crate::shares::Shares;

/// The path of the MCP endpoint.
pub const PATH: &str = "/mcp";

/// Maximum connections to the separate metrics address.
const METRICS_CONNECTIONS: usize = 16;

/// What makes the handler of each request outside of sessions, and of each session.
type MakeHandler<H> = Arc<dyn Fn() -> H + Send + Sync>;

/// What answers at [`PATH`], and below it for each view.
pub struct Handlers<H> {
    whole: MakeHandler<H>,
    view: MakeView<H>,
}

/// What makes the handler of each request to a view; `None` if there is no such view.
type MakeView<H> = Arc<dyn Fn(&ViewName) -> Option<H> + Send + Sync>;

impl<H> Handlers<H> {
    /// Handlers of all tools.
    pub fn new(make: impl Fn() -> H + Send + Sync + 'static) -> Self {
        Self { whole: Arc::new(make), view: Arc::new(|_| None) }
    }

    /// Adds the handlers of views, which may come and go.
    #[must_use]
    pub fn with_views(self, make: impl Fn(&ViewName) -> Option<H> + Send + Sync + 'static) -> Self {
        Self { view: Arc::new(make), ..self }
    }
}

impl<H> std::fmt::Debug for Handlers<H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handlers").finish_non_exhaustive()
    }
}

/// The options of [`listen`].
#[derive(Debug)]
pub struct HttpOptions {
    pub access: Access,
    pub hosts: Hosts,
    /// What is served beside MCP.
    pub front: Option<Arc<Front>>,
    /// A separate address of `/metrics`, without access control. If `None`, `/metrics` is at the address of the tools, with
    /// the same access control.
    pub metrics: Option<HttpListener>,
    /// The sessions of clients of older revisions; `None` if they have none.
    pub sessions: Option<SessionLimits>,
    /// How long running calls may continue at shutdown.
    pub drain: Duration,
    pub limits: Limits,
}

/// Limits for one client and for all clients together.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Maximum open connections. Further connections wait, and idle ones are closed. Each is an open file.
    pub connections: usize,
    /// Time limit for the headers, from the first byte of a request or from the start of the connection.
    pub headers: Duration,
    /// Time limit for the body.
    pub body: Duration,
    pub body_bytes: usize,
    /// Bytes of the bodies of one principal that are read or worked on at the same time, and of all bodies.
    pub bodies_of_principal: usize,
    pub bodies: usize,
    /// Time between two requests. Longer than that of load balancers, so that the balancer closes the connection.
    pub idle: Duration,
    /// Time in which a client must read some of its answer.
    pub stuck: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 4096,
            headers: Duration::from_secs(10),
            body: Duration::from_secs(30),
            body_bytes: 4 * 1024 * 1024,
            bodies_of_principal: 256 * 1024 * 1024,
            bodies: 512 * 1024 * 1024,
            idle: Duration::from_secs(90),
            stuck: Duration::from_secs(30),
        }
    }
}

/// Open files that are not connections: the audit log, servers, running commands.
const RESERVE: u64 = 256;
/// The minimum number of connections.
const FEWEST: u64 = 16;

impl Limits {
    /// Fewer connections than this process may open files: calls and the audit log need files too.
    pub fn of_this_process() -> Self {
        let limits = Self::default();
        let connections = match getrlimit(Resource::Nofile).current {
            None => limits.connections,
            Some(files) => limits.connections.min(usize::try_from(connections(files)).unwrap_or(usize::MAX)),
        };
        tracing::debug!("{connections} connections at once");
        Self { connections, ..limits }
    }
}

fn connections(files: u64) -> u64 {
    files.saturating_sub(RESERVE).max(files / 4).max(FEWEST)
}

/// Why the server cannot start.
#[derive(Debug, Error)]
pub enum HttpError {
    #[error("cannot listen at {address}: {reason}")]
    Bind { address: SocketAddr, reason: std::io::Error },
    #[error("`{0}` is not a host: expected HOST or HOST:PORT")]
    Host(String),
    #[error(
        "`{0}` is not an origin of a web page: expected SCHEME://HOST, SCHEME://HOST:PORT or SCHEME://HOST:*"
    )]
    Origin(String),
}

/// Serves at [`PATH`] until `stop`, then drains. `handlers` makes a handler for each request outside of sessions, and for
/// each session.
///
/// While draining, health checks fail, no connection is accepted, open connections end with their next answer, and
/// running calls have `drain` to end. Returns when no connection is left.
pub async fn listen<H>(
    listener: HttpListener,
    handlers: Handlers<H>,
    options: HttpOptions,
    counters: Arc<Counters>,
    stop: CancellationToken,
) where
    H: ServerHandler + Send + Sync + 'static,
{
    let HttpOptions { access, hosts, front, metrics, sessions, drain, limits } = options;
    let bodies = Shares::new(limits.bodies_of_principal, limits.bodies);
    let (stopping, counting, for_metrics) = (stop.clone(), Arc::clone(&counters), front.clone());
    let state = HttpState { access, hosts, front, bodies, counters: counting, stop: stopping, limits };
    let sessions = sessions.and_then(|limits| Sessions::new(limits, Arc::clone(&counters)));
    let router = Router::for_tools(state, handlers, sessions.as_ref(), metrics.is_none());
    let over = CancellationToken::new();
    let metrics_task = metrics.map(|listener| {
        let limits = Limits { connections: limits.connections.min(METRICS_CONNECTIONS), ..limits };
        let connections = Connections::new(limits, Arc::clone(&counters));
        let (router, over) = (Router::<H>::for_metrics(counters, for_metrics, stop.clone()), over.clone());
        // The health check must report the draining, so this listener stays until the end.
        tokio::spawn(async move { connections.serve(listener, router, over, Duration::ZERO).await })
    });
    let connections = Connections::new(limits, router.counters());
    tokio::select! {
        () = connections.serve(listener, router, stop, drain) => {}
        () = idle_ended(sessions.as_deref()) => {}
    }
    over.cancel();
    if let Some(metrics_task) = metrics_task {
        let _ = metrics_task.await;
    }
}

/// Ends idle sessions, until the future is dropped.
async fn idle_ended(sessions: Option<&Sessions>) {
    match sessions {
        Some(sessions) => sessions.end_idle().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_open_files_to_calls() {
        let files = [0, 20, 64, 256, 400, 1024, 1_048_576];
        assert_eq!(files.map(connections), [16, 16, 16, 64, 144, 768, 1_048_320]);
    }
}
