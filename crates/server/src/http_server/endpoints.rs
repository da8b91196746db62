//! The endpoints of MCP: all tools, and each view. Requests are served within a session, or without one.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::sync::Arc;

use bytes::Bytes;
use converse_canister::ViewName;
use converse_gateway::{Admitted, ClientSessions, FoundSession, Sessions};
use http::request::Parts;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::Full;
use parking_lot::Mutex;
use rmcp::ServerHandler;
use rmcp::model::ProtocolVersion;
use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use super::replies::{PLAIN, Reply, plain, reply};
use super::{Handlers, MakeView, PATH};
use crate::access::Reach;

const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";

/// What makes the handler of a request, or of a session.
type Make<H> = Arc<dyn Fn() -> io::Result<H> + Send + Sync>;

/// The endpoints of MCP.
pub(super) struct Endpoints<H> {
    /// Of all tools.
    whole: Arc<Endpoint<H>>,
    view: MakeView<H>,
    /// Those that were asked for.
    views: Mutex<BTreeMap<ViewName, Arc<Endpoint<H>>>>,
    config: StreamableHttpServerConfig,
    sessions: Option<Arc<Sessions>>,
}

/// What answers at one path.
pub(super) struct Endpoint<H> {
    /// The name of the view; empty for all tools.
    name: Box<str>,
    make: Make<H>,
    config: StreamableHttpServerConfig,
    sessionless: StreamableHttpService<H, NeverSessionManager>,
    sessions: Option<Arc<Sessions>>,
}

impl<H: ServerHandler + Send + 'static> Endpoints<H> {
    /// `sessions`: those of clients of older revisions; `None` if they have none.
    pub(super) fn new(handlers: Handlers<H>, body_bytes: usize, sessions: Option<&Arc<Sessions>>) -> Self {
        // Hosts and origins are checked for all paths before.
        let config = StreamableHttpServerConfig::default()
            .with_max_request_body_bytes(body_bytes)
            // Events have no ids, so a stream that broke cannot be resumed.
            .with_sse_retry(None)
            .disable_allowed_hosts()
            .disable_allowed_origins();
        let (make, sessions) = (handlers.whole, sessions.map(Arc::clone));
        let make: Make<H> = Arc::new(move || -> io::Result<H> { Ok(make()) });
        let whole = Endpoint::new("", make, config.clone(), sessions.clone());
        Self { whole: Arc::new(whole), view: handlers.view, views: Mutex::default(), config, sessions }
    }

    /// Returns the endpoint for a client, or the answer to a client that has none at this path.
    pub(super) fn find(&self, asked: Option<&str>, reach: &Reach) -> Result<Arc<Endpoint<H>>, Box<Reply>> {
        let of = |name: &ViewName| self.of_view(name).ok_or_else(no_view);
        match (reach, asked) {
            (Reach::Everything, None) => Ok(Arc::clone(&self.whole)),
            (Reach::Everything, Some(asked)) => of(&ViewName::new(asked).map_err(|_| no_view())?),
            (Reach::Views(views), Some(asked)) => {
                of(views.iter().find(|name| name.as_str() == asked).ok_or_else(no_view)?)
            }
            (Reach::Views(views), None) => match &**views {
                [only] => of(only),
                several => {
                    let paths =
                        several.iter().map(|name| format!("{PATH}/{name}")).collect::<Vec<_>>().join(", ");
                    let text = format!("this token leads to several views: use one of {paths}\n");
                    Err(Box::new(reply(StatusCode::NOT_FOUND, PLAIN, text)))
                }
            },
        }
    }

    /// Returns the endpoint of a view that there is now.
    fn of_view(&self, name: &ViewName) -> Option<Arc<Endpoint<H>>> {
        (self.view)(name)?;
        let new = || {
            let (view, of) = (Arc::clone(&self.view), name.clone());
            let make: Make<H> = Arc::new(move || view(&of).ok_or_else(|| ErrorKind::NotFound.into()));
            Arc::new(Endpoint::new(name.as_str(), make, self.config.clone(), self.sessions.clone()))
        };
        Some(Arc::clone(self.views.lock().entry(name.clone()).or_insert_with(new)))
    }
}

/// The same answer whether or not a view of that name exists for others.
fn no_view() -> Box<Reply> {
    Box::new(plain(StatusCode::NOT_FOUND, "not found; there is no such view for this token\n"))
}

fn service<H, M>(
    make: &Make<H>,
    sessions: M,
    config: StreamableHttpServerConfig,
) -> StreamableHttpService<H, M>
where
    H: ServerHandler + Send + 'static,
    M: SessionManager,
{
    let make = Arc::clone(make);
    StreamableHttpService::new(move || make(), Arc::new(sessions), config)
}

impl<H: ServerHandler + Send + 'static> Endpoint<H> {
    fn new(
        name: &str,
        make: Make<H>,
        config: StreamableHttpServerConfig,
        sessions: Option<Arc<Sessions>>,
    ) -> Self {
        // The answer is JSON, or a stream if there are notifications.
        let sessionless = config.clone().with_legacy_session_mode(false).with_json_response(true);
        let sessionless = service(&make, NeverSessionManager::default(), sessionless);
        Self { name: name.into(), make, config, sessionless, sessions }
    }

    /// Returns the view; `None` for all tools.
    pub(super) fn view(&self) -> Option<ViewName> {
        ViewName::new(&*self.name).ok()
    }

    /// Answers an admitted request. `is_initialize`: whether its body begins a session.
    pub(super) async fn answer(
        &self,
        parts: Parts,
        body: Bytes,
        is_initialize: bool,
        admitted: Admitted,
    ) -> Reply {
        let session = match self.session(&parts, is_initialize, admitted) {
            Ok(session) => session,
            Err(refusal) => return *refusal,
        };
        let is_end = parts.method == Method::DELETE;
        let request = Request::from_parts(parts, Full::new(body));
        let Some(session) = session else { return self.sessionless.handle(request).await };
        // The library finds no other session than this one.
        let mut reply = service(&self.make, session, self.config.clone()).handle(request).await;
        if is_end && reply.status() == StatusCode::ACCEPTED {
            // The official client in Python takes the status of the library for a failure.
            *reply.status_mut() = StatusCode::NO_CONTENT;
        }
        reply
    }

    /// Returns the session of a request, `None` if it is served without one, or the answer to a client whose session is gone.
    fn session(
        &self,
        parts: &Parts,
        is_initialize: bool,
        admitted: Admitted,
    ) -> Result<Option<ClientSessions>, Box<Reply>> {
        let Some(sessions) = self.sessions.as_ref().filter(|_| is_legacy(&parts.headers)) else {
            return Ok(None);
        };
        let Some(id) = parts.headers.get(SESSION) else {
            return Ok(if is_initialize { sessions.begin(admitted, &self.name) } else { None });
        };
        match sessions.find(id.to_str().unwrap_or_default(), admitted, &self.name) {
            FoundSession::Open(session) => Ok(Some(session)),
            // A call needs no session, so it is not lost when the client is led to another replica, or after a restart.
            FoundSession::Elsewhere if parts.method == Method::POST => Ok(None),
            FoundSession::Elsewhere | FoundSession::Ended => Err(Box::new(plain(
                StatusCode::NOT_FOUND,
                "there is no such session here; send `initialize` without a session id\n",
            ))),
        }
    }
}

/// Returns whether a request is of a revision with sessions. Without the header it is of the oldest one.
fn is_legacy(headers: &HeaderMap) -> bool {
    let version = headers.get(VERSION).and_then(|version| version.to_str().ok());
    version.is_none_or(|version| version < ProtocolVersion::V_2026_07_28.as_str())
}
