//! Routes requests by path, and checks host, origin and access.

use std::net::IpAddr;
use std::sync::Arc;

use converse_gateway::{
    Admitted, Counters, RefusalReason, Remote, Sessions, StreamEnd, TEXT_TYPE, accept_body,
};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, AUTHORIZATION,
    CONNECTION, COOKIE, RETRY_AFTER, VARY,
};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use hyper::body::Incoming;
use rmcp::ServerHandler;
use tokio_util::sync::CancellationToken;

use super::body::read_whole;
use super::browser;
use super::endpoints::{Endpoint, Endpoints};
use super::replies::{
    Reply, challenged, denied, health, not_allowed, plain, readiness, rejected, reply, with,
};
use super::{Handlers, Hosts, Limits, PATH};
use crate::access::{Access, Admission, Denied, Reach};
use crate::front::{Front, door};
use crate::shares::Shares;

const HEALTH: &str = "/healthz";
const READINESS: &str = "/readyz";
const METRICS: &str = "/metrics";

/// Bytes of the form of the door.
const MAX_FORM: usize = 16 * 1024;

const INCOMPLETE: &str = "the body is incomplete\n";

/// The state that all requests share.
#[derive(Debug)]
pub(super) struct HttpState {
    pub(super) access: Access,
    pub(super) hosts: Hosts,
    pub(super) front: Option<Arc<Front>>,
    /// Bytes of bodies that are read or worked on.
    pub(super) bodies: Arc<Shares>,
    pub(super) counters: Arc<Counters>,
    /// After this, every answer is the last of its connection.
    pub(super) stop: CancellationToken,
    pub(super) limits: Limits,
}

/// The end of streams of one request.
struct AdmissionEnd {
    stop: CancellationToken,
    admission: Admission,
}

impl StreamEnd for AdmissionEnd {
    fn reached(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            tokio::select! {
                () = self.stop.cancelled() => {}
                () = self.admission.expired() => {}
            }
        })
    }

    fn revoked(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.admission.revoked())
    }
}

/// Answers the requests of one listener.
pub(super) struct Router<H>(Arc<Routes<H>>);

#[allow(clippy::large_enum_variant, reason = "two of them in a program, each behind an `Arc`")]
enum Routes<H> {
    Tools { state: HttpState, tools: Endpoints<H>, serves_metrics: bool },
    Metrics { counters: Arc<Counters>, front: Option<Arc<Front>>, stop: CancellationToken },
}

impl<H> Clone for Router<H> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<H: ServerHandler + Send + Sync + 'static> Router<H> {
    pub(super) fn for_tools(
        state: HttpState,
        handlers: Handlers<H>,
        sessions: Option<&Arc<Sessions>>,
        serves_metrics: bool,
    ) -> Self {
        let tools = Endpoints::new(handlers, state.limits.body_bytes, sessions);
        Self(Arc::new(Routes::Tools { state, tools, serves_metrics }))
    }

    pub(super) fn counters(&self) -> Arc<Counters> {
        match &*self.0 {
            Routes::Tools { state: HttpState { counters, .. }, .. } | Routes::Metrics { counters, .. } => {
                Arc::clone(counters)
            }
        }
    }

    pub(super) async fn answer(&self, request: Request<Incoming>, from: IpAddr) -> Reply {
        let (answer, stop) = match &*self.0 {
            Routes::Metrics { counters, front, stop } => {
                (metrics_only(&request, counters, front.as_deref(), stop), stop)
            }
            Routes::Tools { state, tools, serves_metrics } => {
                (state.answer(request, from, tools, *serves_metrics).await, &state.stop)
            }
        };
        if stop.is_cancelled() { with(answer, CONNECTION, "close") } else { answer }
    }
}

impl<H> Router<H> {
    /// Serves metrics and health only, without access control.
    pub(super) fn for_metrics(
        counters: Arc<Counters>,
        front: Option<Arc<Front>>,
        stop: CancellationToken,
    ) -> Self {
        Self(Arc::new(Routes::Metrics { counters, front, stop }))
    }
}

fn metrics_only(
    request: &Request<Incoming>,
    counters: &Counters,
    front: Option<&Front>,
    stop: &CancellationToken,
) -> Reply {
    let is_ready = || !stop.is_cancelled() && counters.is_ready() && front.is_none_or(Front::is_ready);
    match (request.uri().path(), is_read(request.method())) {
        (HEALTH, true) => health(stop.is_cancelled()),
        (READINESS, true) => readiness(is_ready(), None),
        (METRICS, true) => metrics(counters),
        (HEALTH | READINESS | METRICS, false) => not_allowed("GET, HEAD"),
        _ => not_found(),
    }
}

fn metrics(counters: &Counters) -> Reply {
    reply(StatusCode::OK, TEXT_TYPE, counters.text())
}

fn not_found() -> Reply {
    plain(StatusCode::NOT_FOUND, "not found; the tools are at /mcp\n")
}

fn is_read(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

impl HttpState {
    async fn answer<H>(
        &self,
        request: Request<Incoming>,
        from: IpAddr,
        tools: &Endpoints<H>,
        serves_metrics: bool,
    ) -> Reply
    where
        H: ServerHandler + Send + Sync + 'static,
    {
        // Load balancers check the health by IP address and without a token.
        if request.uri().path() == HEALTH {
            return if is_read(request.method()) {
                health(self.stop.is_cancelled())
            } else {
                not_allowed("GET, HEAD")
            };
        }
        if request.uri().path() == READINESS {
            return if is_read(request.method()) {
                self.readiness(request.headers()).await
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
            _ => self.route(request, from, tools, serves_metrics).await,
        };
        match origin {
            Some(origin) => with_cors(answer, origin),
            None => answer,
        }
    }

    /// Says whether every required server is connected, calls can be recorded and the database of the sessions answers, and
    /// to clients with access the state of each server.
    async fn readiness(&self, headers: &HeaderMap) -> Reply {
        let upstreams = self.counters.upstreams();
        let has_store = self.front.as_ref().is_none_or(|front| front.is_ready());
        let is_ready = !self.stop.is_cancelled() && self.counters.is_ready() && has_store;
        let sees_all = |admission: Admission| admission.reach == Reach::Everything;
        let has_access =
            self.hosts.judge(headers).is_ok() && self.access.admit(headers).await.is_ok_and(sees_all);
        readiness(is_ready, has_access.then(|| upstreams.to_json()))
    }

    async fn route<H>(
        &self,
        request: Request<Incoming>,
        from: IpAddr,
        tools: &Endpoints<H>,
        serves_metrics: bool,
    ) -> Reply
    where
        H: ServerHandler + Send + 'static,
    {
        let path = request.uri().path();
        if let Some(issuer) = self.access.issuer().filter(|issuer| issuer.is_metadata(path)) {
            return reply(StatusCode::OK, "application/json", issuer.metadata().to_string());
        }
        if let Some(front) = self.front.as_ref().filter(|front| front.serves(path)) {
            // Boxed, so that a call of a tool does not pay for its size.
            return self.answer_front(request, front).boxed().await;
        }
        let is_metrics = path == METRICS && serves_metrics;
        let view = path.strip_prefix(PATH).and_then(|rest| rest.strip_prefix('/')).map(str::to_owned);
        if path != PATH && view.is_none() && !is_metrics {
            return not_found();
        }
        // The body is not read before the access is checked.
        let admission = match self.access.admit(request.headers()).await {
            Ok(admission) => admission,
            Err(why) => return self.denied(why),
        };
        if is_metrics && admission.reach != Reach::Everything {
            return self.denied(Denied::View);
        }
        match (is_metrics, is_read(request.method())) {
            (false, _) => match tools.find(view.as_deref(), &admission.reach) {
                Ok(endpoint) => self.call_tool(request, from, admission, &endpoint).await,
                Err(answer) => *answer,
            },
            (true, true) => metrics(&self.counters),
            (true, false) => not_allowed("GET, HEAD"),
        }
    }

    async fn answer_front(&self, request: Request<Incoming>, front: &Arc<Front>) -> Reply {
        let (mut parts, body) = request.into_parts();
        if let Some(file) = front.public_file(&parts) {
            return file;
        }
        if let Some(token) = browser::offered_token(&parts) {
            // Another page could sign the browser in with a token of its own.
            return match browser::is_from_elsewhere(&parts) {
                true => door(),
                false => self.let_in(&parts, &token).await,
            };
        }
        if browser::is_sign_in(&parts) {
            return self.sign_in(&parts, body).await;
        }
        let cookie = browser::cookie(&parts).filter(|_| !parts.headers.contains_key(AUTHORIZATION));
        let admitted = match cookie {
            // Another page can make a browser send the cookie, but not its own origin with it.
            Some(_) if browser::is_forged(&parts) => return self.refused(RefusalReason::Origin),
            Some(_) if browser::is_simple_body(&parts) => {
                return plain(
                    StatusCode::UNSUPPORTED_MEDIA_TYPE,
                    "the content type is not application/json\n",
                );
            }
            Some(token) => self.access.admit_token(&token).await,
            None => self.access.admit(&parts.headers).await,
        };
        let admission = match admitted {
            Ok(admission) if admission.reach == Reach::Everything => Ok(admission),
            // Turns and sessions have all tools.
            Ok(_) => Err(Denied::View),
            Err(why) => Err(why),
        };
        let admission = match admission {
            Ok(admission) => admission,
            Err(why) => {
                self.count_denied(why);
                return challenged(Front::denied(parts.uri.path(), why), &self.access.challenge(why));
            }
        };
        let limits = Limits { body_bytes: front.body_limit(&parts, self.limits.body_bytes), ..self.limits };
        let Some(mut share) = self.bodies.take(&admission.principal, 0) else {
            return self.refused(RefusalReason::Busy);
        };
        // The share is given back when the request is answered.
        let body = match read_whole(body, &limits, Some(&mut share)).await {
            Ok(body) => body,
            Err(Some(reason)) => return self.refused(reason),
            Err(None) => return plain(StatusCode::BAD_REQUEST, INCOMPLETE),
        };
        // Later code must not see the token.
        parts.headers.remove(AUTHORIZATION);
        parts.headers.remove(COOKIE);
        // Turns and the list of tools need the servers, at the start for a bounded time.
        self.counters.upstreams().settled().await;
        front.answer(&parts, body, &admission).await
    }

    /// Answers the form of the door.
    async fn sign_in(&self, parts: &Parts, body: Incoming) -> Reply {
        if browser::is_forged(parts) {
            return self.refused(RefusalReason::Origin);
        }
        let limits = Limits { body_bytes: MAX_FORM, ..self.limits };
        match read_whole(body, &limits, None).await {
            Ok(form) => self.let_in(parts, &browser::signed_in(&form).unwrap_or_default()).await,
            Err(Some(reason)) => self.refused(reason),
            Err(None) => plain(StatusCode::BAD_REQUEST, INCOMPLETE),
        }
    }

    async fn let_in(&self, parts: &Parts, token: &str) -> Reply {
        match self.access.admit_token(token).await {
            Ok(_) => browser::let_in(parts, token),
            Err(why) => {
                self.count_denied(why);
                door()
            }
        }
    }

    async fn call_tool<H>(
        &self,
        request: Request<Incoming>,
        from: IpAddr,
        admission: Admission,
        tools: &Endpoint<H>,
    ) -> Reply
    where
        H: ServerHandler + Send + 'static,
    {
        let (mut parts, body) = request.into_parts();
        let Some(mut share) = self.bodies.take(&admission.principal, 0) else {
            return self.refused(RefusalReason::Busy);
        };
        let body = match read_whole(body, &self.limits, Some(&mut share)).await {
            Ok(body) => body,
            Err(Some(reason)) => return self.refused(reason),
            Err(None) => return plain(StatusCode::BAD_REQUEST, INCOMPLETE),
        };
        // The library answers invalid messages in its own format, and accepts some that are ambiguous.
        let body = match accept_body(&mut parts, body) {
            Ok(body) => body,
            Err(refused) => return rejected(refused),
        };
        // Later code must not see the token.
        parts.headers.remove(AUTHORIZATION);
        parts.extensions.insert(Remote { who: admission.who.clone(), from });
        let admission = admission.at(tools.view());
        let (principal, stop) = (admission.principal.clone(), self.stop.clone());
        let admitted = Admitted { principal, end: Arc::new(AdmissionEnd { stop, admission }) };
        parts.extensions.insert(admitted.clone());
        tools.answer(parts, body.bytes, body.is_initialize, admitted).await
    }

    fn denied(&self, why: Denied) -> Reply {
        self.count_denied(why);
        denied(&self.access, why)
    }

    fn count_denied(&self, why: Denied) {
        self.counters.refused(match why {
            Denied::Missing | Denied::Invalid => RefusalReason::Token,
            Denied::Scope => RefusalReason::Scope,
            Denied::View => RefusalReason::View,
            Denied::KeysUnavailable => RefusalReason::Issuer,
        });
    }

    fn refused(&self, reason: RefusalReason) -> Reply {
        self.counters.refused(reason);
        match reason {
            RefusalReason::Host => {
                plain(StatusCode::FORBIDDEN, "this host is not allowed; see --allowed-host\n")
            }
            RefusalReason::Origin => {
                plain(StatusCode::FORBIDDEN, "this origin is not allowed; see --allowed-origin\n")
            }
            RefusalReason::TooLarge => plain(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large\n"),
            RefusalReason::Busy => {
                let text = "other requests take all the room for bodies; try again\n";
                with(plain(StatusCode::TOO_MANY_REQUESTS, text), RETRY_AFTER, "1")
            }
            RefusalReason::TooSlow => plain(StatusCode::REQUEST_TIMEOUT, "the body took too long\n"),
            RefusalReason::Token | RefusalReason::Scope | RefusalReason::View | RefusalReason::Issuer => {
                plain(StatusCode::FORBIDDEN, "access denied\n")
            }
        }
    }
}

/// Answers a CORS preflight request. <https://fetch.spec.whatwg.org/#cors-preflight-fetch> (checked 2026-11)
fn preflight(headers: &HeaderMap) -> Reply {
    let answer = plain(StatusCode::NO_CONTENT, "");
    let answer = with(answer, ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, DELETE");
    let mut answer = with(answer, ACCESS_CONTROL_MAX_AGE, "600");
    // An allowed page may send any header: arguments have headers with their own names.
    if let Some(asked) = headers.get(ACCESS_CONTROL_REQUEST_HEADERS) {
        answer.headers_mut().insert(ACCESS_CONTROL_ALLOW_HEADERS, asked.clone());
    }
    answer
}

fn with_cors(answer: Reply, origin: HeaderValue) -> Reply {
    let mut answer = with(answer, ACCESS_CONTROL_EXPOSE_HEADERS, "Mcp-Session-Id, WWW-Authenticate");
    answer.headers_mut().append(VARY, HeaderValue::from_static("origin"));
    answer.headers_mut().insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    answer
}
