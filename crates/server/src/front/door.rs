//! What is at which path, and who gets there.

use std::net::IpAddr;
use std::sync::Arc;

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, AUTHORIZATION,
    CONNECTION, VARY,
};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{RoleServer, ServerHandler};
use tokio_util::sync::CancellationToken;

use super::letter::posted;
use super::replies::{Reply, denied, health, not_allowed, plain, reply, unread, with};
use super::{Hosts, Limits, PATH, body};
use crate::access::{Access, Admitted, Denied};
use crate::caller::Remote;
use crate::counters::{Counters, Reason, TEXT_TYPE};

const HEALTH: &str = "/healthz";
const METRICS: &str = "/metrics";

/// What every request is held against.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) access: Access,
    pub(super) hosts: Hosts,
    pub(super) counters: Arc<Counters>,
    /// From then on every answer is the last of its connection.
    pub(super) stop: CancellationToken,
    pub(super) limits: Limits,
}

/// Among the extensions of a request: what has no end of its own ends with this.
#[derive(Debug, Clone)]
pub(crate) struct Stopping {
    stop: CancellationToken,
    admitted: Admitted,
}

impl Stopping {
    /// When we are to end, or who asked would not be let in any more. Never, for a request that did not come over HTTP.
    pub(crate) async fn of(context: &RequestContext<RoleServer>) {
        let parts = context.extensions.get::<http::request::Parts>();
        match parts.and_then(|parts| parts.extensions.get::<Self>()) {
            Some(Self { stop, admitted }) => tokio::select! {
                () = stop.cancelled() => {}
                () = admitted.over() => {}
            },
            None => std::future::pending().await,
        }
    }
}

/// The way in of a listener.
pub(super) struct Door<H>(Arc<Inside<H>>);

#[allow(clippy::large_enum_variant, reason = "two of them in a program, each behind an `Arc`")]
enum Inside<H> {
    Tools { desk: Desk, tools: StreamableHttpService<H, NeverSessionManager>, shows_metrics: bool },
    Metrics { counters: Arc<Counters>, stop: CancellationToken },
}

impl<H> Clone for Door<H> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<H: ServerHandler + Send + Sync + 'static> Door<H> {
    pub(super) fn of_tools(
        desk: Desk,
        made: impl Fn() -> H + Send + Sync + 'static,
        shows_metrics: bool,
    ) -> Self {
        // No sessions: any replica answers any request. One JSON answer, or a stream if there is progress to tell.
        // Hosts and origins are judged here, for all paths alike.
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_max_request_body_bytes(desk.limits.body_bytes)
            .disable_allowed_hosts()
            .disable_allowed_origins();
        let tools =
            StreamableHttpService::new(move || Ok(made()), Arc::new(NeverSessionManager::default()), config);
        Self(Arc::new(Inside::Tools { desk, tools, shows_metrics }))
    }

    pub(super) fn counters(&self) -> Arc<Counters> {
        match &*self.0 {
            Inside::Tools { desk: Desk { counters, .. }, .. } | Inside::Metrics { counters, .. } => {
                Arc::clone(counters)
            }
        }
    }

    pub(super) async fn answer(&self, request: Request<Incoming>, from: IpAddr) -> Reply {
        let (answer, stop) = match &*self.0 {
            Inside::Metrics { counters, stop } => (aside(&request, counters, stop), stop),
            Inside::Tools { desk, tools, shows_metrics } => {
                (desk.answer(request, from, tools, *shows_metrics).await, &desk.stop)
            }
        };
        if stop.is_cancelled() { with(answer, CONNECTION, "close") } else { answer }
    }
}

impl<H> Door<H> {
    /// Of numbers only. Reached by whoever can reach its address.
    pub(super) fn of_metrics(counters: Arc<Counters>, stop: CancellationToken) -> Self {
        Self(Arc::new(Inside::Metrics { counters, stop }))
    }
}

fn aside(request: &Request<Incoming>, counters: &Counters, stop: &CancellationToken) -> Reply {
    match (request.uri().path(), is_read(request.method())) {
        (HEALTH, true) => health(stop.is_cancelled()),
        (METRICS, true) => metrics(counters),
        (HEALTH | METRICS, false) => not_allowed("GET, HEAD"),
        _ => nothing(),
    }
}

fn metrics(counters: &Counters) -> Reply {
    reply(StatusCode::OK, TEXT_TYPE, counters.text())
}

fn nothing() -> Reply {
    plain(StatusCode::NOT_FOUND, "there is nothing here; the tools are at /mcp\n")
}

fn is_read(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

impl Desk {
    async fn answer<H>(
        &self,
        request: Request<Incoming>,
        from: IpAddr,
        tools: &StreamableHttpService<H, NeverSessionManager>,
        shows_metrics: bool,
    ) -> Reply
    where
        H: ServerHandler + Send + 'static,
    {
        // Asked by balancers, by address and without a token; it says nothing else.
        if request.uri().path() == HEALTH {
            return if is_read(request.method()) {
                health(self.stop.is_cancelled())
            } else {
                not_allowed("GET, HEAD")
            };
        }
        let origin = match self.hosts.judge(request.headers()) {
            Ok(origin) => origin.cloned(),
            Err(reason) => return self.refused(reason),
        };
        let answer = match &origin {
            Some(_) if request.method() == Method::OPTIONS => preflight(request.headers()),
            _ => self.inside(request, from, tools, shows_metrics).await,
        };
        match origin {
            Some(origin) => readable(answer, origin),
            None => answer,
        }
    }

    async fn inside<H>(
        &self,
        request: Request<Incoming>,
        from: IpAddr,
        tools: &StreamableHttpService<H, NeverSessionManager>,
        shows_metrics: bool,
    ) -> Reply
    where
        H: ServerHandler + Send + 'static,
    {
        let path = request.uri().path();
        if let Some(issuer) = self.access.issuer().filter(|issuer| issuer.is_metadata(path)) {
            return reply(StatusCode::OK, "application/json", issuer.metadata().to_string());
        }
        let is_metrics = path == METRICS && shows_metrics;
        if path != PATH && !is_metrics {
            return nothing();
        }
        // Before a byte of the body is read.
        let admitted = match self.access.admit(request.headers()).await {
            Ok(admitted) => admitted,
            Err(why) => return self.denied(why),
        };
        match (is_metrics, is_read(request.method())) {
            (false, _) => self.called(request, from, admitted, tools).await,
            (true, true) => metrics(&self.counters),
            (true, false) => not_allowed("GET, HEAD"),
        }
    }

    async fn called<H>(
        &self,
        request: Request<Incoming>,
        from: IpAddr,
        admitted: Admitted,
        tools: &StreamableHttpService<H, NeverSessionManager>,
    ) -> Reply
    where
        H: ServerHandler + Send + 'static,
    {
        let (mut parts, body) = request.into_parts();
        let body = match body::whole(body, &self.limits).await {
            Ok(body) => body,
            Err(Some(reason)) => return self.refused(reason),
            Err(None) => return plain(StatusCode::BAD_REQUEST, "the body broke off\n"),
        };
        // The library answers what it cannot read in a way of its own, and reads what it should not.
        let body = match posted(&mut parts, body) {
            Ok(body) => body,
            Err(refused) => return unread(refused),
        };
        // It has done its work: nobody after us is to see it.
        parts.headers.remove(AUTHORIZATION);
        parts.extensions.insert(Remote { who: admitted.who.clone(), from });
        parts.extensions.insert(Stopping { stop: self.stop.clone(), admitted });
        tools.handle(Request::from_parts(parts, Full::new(body))).await
    }

    fn denied(&self, why: Denied) -> Reply {
        self.counters.refused(match why {
            Denied::Missing | Denied::Invalid => Reason::Token,
            Denied::Scope => Reason::Scope,
            Denied::Unknowable => Reason::Issuer,
        });
        denied(&self.access, why)
    }

    fn refused(&self, reason: Reason) -> Reply {
        self.counters.refused(reason);
        match reason {
            Reason::Host => plain(StatusCode::FORBIDDEN, "this host is not served; see --allowed-host\n"),
            Reason::Origin => {
                plain(StatusCode::FORBIDDEN, "this origin may not call; see --allowed-origin\n")
            }
            Reason::TooLarge => plain(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large\n"),
            Reason::TooSlow => plain(StatusCode::REQUEST_TIMEOUT, "the body took too long\n"),
            Reason::Token | Reason::Scope | Reason::Issuer => plain(StatusCode::FORBIDDEN, "not let in\n"),
        }
    }
}

/// What a browser asks before it lets a page call. <https://fetch.spec.whatwg.org/#cors-preflight-fetch> (checked 2026-11)
fn preflight(headers: &HeaderMap) -> Reply {
    let answer = plain(StatusCode::NO_CONTENT, "");
    let answer = with(answer, ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, DELETE");
    let mut answer = with(answer, ACCESS_CONTROL_MAX_AGE, "600");
    // A page that may call may send what it likes: parameters have headers of their own names.
    if let Some(asked) = headers.get(ACCESS_CONTROL_REQUEST_HEADERS) {
        answer.headers_mut().insert(ACCESS_CONTROL_ALLOW_HEADERS, asked.clone());
    }
    answer
}

fn readable(answer: Reply, origin: HeaderValue) -> Reply {
    let mut answer = with(answer, ACCESS_CONTROL_EXPOSE_HEADERS, "Mcp-Session-Id, WWW-Authenticate");
    answer.headers_mut().append(VARY, HeaderValue::from_static("origin"));
    answer.headers_mut().insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    answer
}
