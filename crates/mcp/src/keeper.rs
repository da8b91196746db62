//! Keeps a server connected, for programs that serve its tools for a long time.
//!
//! The keeper opens the connection, lists the tools, waits until the connection is lost and opens it again, without end.
//! Calls open no connection: they ask the keeper for an attempt and wait for it a bounded time. So a call that is
//! cancelled or has little time does not end a server that is being started.

use std::sync::Arc;
use std::time::Duration;

use converse_ensemble::{InvokeError, Phase, Upstream, UpstreamState};
use rmcp::model::{ClientRequest, ListToolsRequest, PingRequest};
use rmcp::service::ServiceError;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use crate::error::Failure;
use crate::in_flight::InFlightRequest;
use crate::link::Link;
use crate::rounds::RequestError;
use crate::server::{RELIST, Server, not_sent};
use crate::{Era, McpConnection, http};

/// Longest wait of a call for a connection.
const CALL_WAIT: Duration = Duration::from_secs(10);
/// Time between two looks at a connection. Over HTTP, nothing else tells that an idle server is gone.
const LOOK: Duration = Duration::from_secs(10);

impl McpConnection {
    /// Leaves the connection to [`McpConnection::keep_open`]. Connecting then returns at once, with the tools of an
    /// earlier run if there was one.
    #[must_use]
    pub fn kept(self) -> Self {
        let (kept, mut connection) = (Some(Arc::default()), self);
        // Nobody else has the server yet.
        if let Some(server) = Arc::get_mut(&mut connection.server) {
            server.kept = kept;
        }
        connection
    }

    /// Returns the state of the connection, if it is kept.
    pub fn upstream(&self) -> Option<&Arc<Upstream>> {
        self.server.kept.as_ref()
    }

    /// Keeps the connection open until the future is dropped or the connection is disconnected. Does nothing for a
    /// connection that is not [`McpConnection::kept`].
    pub async fn keep_open(&self) {
        let Some(upstream) = self.upstream() else { return };
        let keeper = Keeper { server: &self.server, upstream, name: self.name(), is_lazy: self.is_lazy() };
        keeper.run().await;
    }
}

struct Keeper<'a> {
    server: &'a Server,
    upstream: &'a Upstream,
    name: &'a str,
    is_lazy: bool,
}

impl Keeper<'_> {
    async fn run(&self) {
        // The era of the connection that was lost. After a failed attempt it is detected: the server may be a new one.
        let mut era = None;
        loop {
            if let Some(link) = self.server.living() {
                self.until_lost(&link).await;
                era = Some(link.era);
            }
            self.until_due().await;
            if self.server.is_closed() {
                return;
            }
            if self.server.living().is_none() {
                self.attempt(era.take()).await;
            }
        }
    }

    /// Waits for the end of a connection and records it.
    async fn until_lost(&self, link: &Arc<Link>) {
        while link.is_alive() {
            tokio::select! {
                () = link.end.over() => {}
                () = link.retired.cancelled() => {}
                () = self.upstream.wanted() => {}
                () = self.look(link) => {}
            }
        }
        self.server.pacing.lock().lost(link.begun.elapsed());
        // Over HTTP a call without an answer retires the connection. Whether the server is down, the next attempt says.
        if self.server.is_closed() || link.retired.is_cancelled() {
            return;
        }
        let reason = link.redacted(link.exit_report().await);
        if self.upstream.lost(reason.clone(), self.is_lazy) && !self.is_lazy {
            self.warn(&format!("the connection was lost: {reason}; it is opened again"));
        }
    }

    /// Gives up a connection over HTTP whose server cannot be reached.
    async fn look(&self, link: &Arc<Link>) {
        sleep(LOOK).await;
        let is_idle = !link.handler.in_flight_requests.is_any_running();
        if link.remote && is_idle && link.is_unreachable().await {
            self.server.retire(link);
        }
    }

    /// Waits for the time of the next attempt, which a call can bring forward. A lazy server waits for a call.
    async fn until_due(&self) {
        let (due, due_for_call) = {
            let pacing = self.server.pacing.lock();
            (pacing.due(), pacing.due_for_call())
        };
        if self.upstream.state().phase == Phase::Idle {
            self.upstream.wanted().await;
        } else {
            tokio::select! {
                () = sleep_until(due) => return,
                () = self.upstream.wanted() => {}
            }
        }
        sleep_until(due_for_call).await;
    }

    async fn attempt(&self, era: Option<Era>) {
        match self.server.connect_as(era).await {
            Ok(_) => {
                let before = self.upstream.connected();
                if before.phase == Phase::Down {
                    let after = before.lasted().as_secs_f64();
                    let note = format!("ensemble `{}` is connected after {after:.1} s", self.name);
                    (self.server.surroundings.note)(note);
                }
            }
            Err(failure) => {
                if self.upstream.failed(failure.to_string()) {
                    self.warn(&format!(
                        "it could not be connected: {failure}; it is tried again until it can"
                    ));
                }
            }
        }
    }

    fn warn(&self, text: &str) {
        (self.server.surroundings.warn)(format!("ensemble `{}`: {text}", self.name));
    }
}

impl Link {
    /// Returns whether a request shows that the server cannot be reached. Silence and errors show nothing. The newer era has
    /// no ping, and the library sends nothing beside a discovery.
    async fn is_unreachable(&self) -> bool {
        let request = match self.era {
            Era::Legacy => ClientRequest::PingRequest(PingRequest::default()),
            Era::Modern => ClientRequest::ListToolsRequest(ListToolsRequest::default()),
        };
        match self.round(request, &InFlightRequest::within(RELIST)).await {
            Err(RequestError::Failed(ServiceError::TransportSend(error))) => {
                let fault = http::delivery_error(&error).map(Failure::from);
                matches!(fault, Some(Failure::Unreachable(_)))
            }
            _ => false,
        }
    }
}

impl Server {
    /// Returns the connection after the attempt that the call asks for, or that is under way.
    pub(crate) async fn kept_link(
        &self,
        upstream: &Upstream,
        deadline: Instant,
    ) -> Result<Arc<Link>, InvokeError> {
        let mut states = upstream.watch();
        let before = states.borrow_and_update().attempts;
        upstream.want();
        let limit = deadline.min(Instant::now() + CALL_WAIT.min(self.connect_timeout));
        let _ = timeout_at(limit, states.wait_for(|state| state.attempts != before)).await;
        match self.living() {
            Some(link) => Ok(link),
            None if self.is_closed() => Err(not_sent("the server was disconnected")),
            None => Err(not_sent(&why_down(&upstream.state()))),
        }
    }
}

fn why_down(state: &UpstreamState) -> String {
    let lasted = state.lasted().as_secs_f64();
    match state.phase {
        Phase::Down if state.attempts > 0 => {
            format!("the server has been down for {lasted:.1} s: {}", state.reason)
        }
        Phase::Connected | Phase::Idle | Phase::Down | Phase::Connecting => {
            format!("the server was not connected in time; it has been starting for {lasted:.1} s")
        }
    }
}
