//! [`Link`]: one connection to a server, from its handshake to its end.

use std::collections::HashMap;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use converse_canister::{Digest, InvokerName};
use converse_process::Stderr;
use parking_lot::Mutex;
use rmcp::RoleClient;
use rmcp::model::{ClientRequest, ServerPeerInfo};
use rmcp::service::{Peer, PeerRequestOptions, ServiceError};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::error::{ConnectionEnd, EndCause, Failure};
use crate::handler::Handler;
use crate::handshake::{HandshakeError, Mode, Service, handshake};
use crate::http::{self, HttpEndpoint};
use crate::launch::Launch;
use crate::process::{self, Process, ShutdownTimeouts};
use crate::server_requests::ServerRequestHandler;
use crate::stdio::Stdio;
use crate::{Era, Surroundings, log, raw, sanitize};

/// Wait after each step of a shutdown: stdin closed, SIGTERM, SIGKILL.
const STEP_TIMEOUT: Duration = Duration::from_secs(2);
/// A server that ran for less than this has little to clean up, so its first step is shorter: the user waits for it.
const BRIEF_RUN: Duration = Duration::from_secs(30);
const BRIEF_STDIN_TIMEOUT: Duration = Duration::from_millis(500);
/// Limit for the protocol library to stop. Over HTTP it also ends the session.
const STOP_HTTP: Duration = Duration::from_secs(2);
const STOP_STDIO: Duration = Duration::from_millis(500);
/// Silence after which a server gets the request of the other era, too.
const SILENCE_LIMIT: Duration = Duration::from_secs(3);
const LAUNCHER_SILENCE_LIMIT: Duration = Duration::from_secs(10);

/// How a server is reached.
#[derive(Debug, Clone)]
pub(crate) enum Way {
    Stdio(Launch),
    Http(HttpEndpoint),
    /// A server inside the test.
    #[cfg(test)]
    Pipes(crate::testing::Fake),
}

/// Diagnostics of a server that is being connected, for the message of a timeout.
#[derive(Debug, Clone, Default)]
pub(crate) struct ConnectDiagnostics {
    stderr: Arc<Mutex<Option<Stderr>>>,
    /// Why the last attempt failed.
    reason: Arc<Mutex<Option<String>>>,
}

impl ConnectDiagnostics {
    fn watch_stderr(&self, stderr: Option<Stderr>) {
        *self.stderr.lock() = stderr;
    }

    pub(crate) fn record_failure(&self, failure: &Failure) {
        *self.reason.lock() = Some(failure.to_string());
    }

    pub(crate) fn summary(&self) -> String {
        let reason = self.reason.lock().clone();
        if let Some(reason) = reason {
            return format!("; {reason}");
        }
        let stderr = self.stderr.lock().clone();
        stderr.map_or_else(String::new, |stderr| process::stderr_suffix(&stderr))
    }
}

/// A connection to a server.
pub(crate) struct Link {
    pub(crate) peer: Peer<RoleClient>,
    pub(crate) era: Era,
    pub(crate) handler: Handler,
    pub(crate) end: ConnectionEnd,
    /// Definitions of the tools at the last verification; `None` after a listing for the roster.
    pub(crate) seen: tokio::sync::Mutex<Option<HashMap<InvokerName, Digest>>>,
    /// Set once the server has the roots, or does not ask for them.
    pub(crate) roots_known: tokio::sync::OnceCell<()>,
    /// When requests no longer wait for that, set by the first one.
    pub(crate) roots_until: OnceLock<Instant>,
    /// Consecutive failed listings after a change.
    pub(crate) missed: AtomicU32,
    /// Whether new calls need another connection. Calls in flight continue.
    pub(crate) retired: CancellationToken,
    pub(crate) begun: Instant,
    /// `None` once the connection is closed.
    service: tokio::sync::Mutex<Option<Service>>,
    process: Option<Process>,
    /// Whether the server is reached over HTTP, so that a new connection starts no process.
    pub(crate) remote: bool,
    secrets: Vec<String>,
}

/// Why a request has no result.
#[derive(Debug)]
pub(crate) enum NoAnswer {
    /// The error of the server.
    Error(rmcp::ErrorData),
    Failed(Failure),
}

impl Way {
    /// Returns how long a server may be silent before it gets the request of the other era, too. `None` waits for an
    /// answer.
    pub(crate) fn silence_limit(&self, connect_timeout: Duration) -> Option<Duration> {
        let is_launcher = match self {
            Self::Stdio(launch) => launch.is_launcher(),
            // The user may have to log in first.
            Self::Http(endpoint) if endpoint.bearer.is_some() => return None,
            Self::Http(_) => false,
            #[cfg(test)]
            Self::Pipes(fake) => fake.is_launcher,
        };
        // A launcher may download the server first.
        Some(if is_launcher {
            (connect_timeout / 2).clamp(SILENCE_LIMIT, LAUNCHER_SILENCE_LIMIT)
        } else {
            SILENCE_LIMIT
        })
    }
}

impl Link {
    /// Connects to the server, without a time limit. Dropping the future kills a started process.
    pub(crate) async fn open(
        way: &Way,
        surroundings: &Arc<Surroundings>,
        server_requests: &Arc<ServerRequestHandler>,
        mode: Mode,
        diagnostics: &ConnectDiagnostics,
    ) -> Result<Self, Failure> {
        match way {
            Way::Stdio(launch) => {
                Self::open_stdio(launch, surroundings, server_requests, mode, diagnostics).await
            }
            Way::Http(endpoint) => {
                let (endpoint, server_requests) = (endpoint.clone(), Arc::clone(server_requests));
                let (runtime, surroundings) = (surroundings.http_runtime.clone(), Arc::clone(surroundings));
                let open =
                    async move { Self::open_http(&endpoint, &surroundings, &server_requests, mode).await };
                let Some(runtime) = runtime else { return open.await };
                // Its tasks are started where it is opened.
                let opened = AbortOnDropHandle::new(runtime.spawn(open)).await;
                opened.unwrap_or_else(|_| Err(Failure::Unusable("its task has ended".to_owned())))
            }
            #[cfg(test)]
            Way::Pipes(fake) => {
                let (stdin, stdout) = fake.start();
                Self::open_pipes(stdin, stdout, ConnectionEnd::default(), None, server_requests, mode).await
            }
        }
    }

    async fn open_stdio(
        launch: &Launch,
        surroundings: &Surroundings,
        server_requests: &Arc<ServerRequestHandler>,
        mode: Mode,
        diagnostics: &ConnectDiagnostics,
    ) -> Result<Self, Failure> {
        let mut child = launch.start(surroundings)?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Failure::Unusable("the pipes of its process are missing".to_owned()));
        };
        let end = ConnectionEnd::default();
        let process = Process::supervise(child, end.clone());
        diagnostics.watch_stderr(Some(process.stderr()));
        Self::open_pipes(stdin, stdout, end, Some(process), server_requests, mode).await
    }

    async fn open_pipes(
        stdin: impl AsyncWrite + Send + Unpin + 'static,
        stdout: impl AsyncRead + Send + Unpin + 'static,
        end: ConnectionEnd,
        process: Option<Process>,
        server_requests: &Arc<ServerRequestHandler>,
        mode: Mode,
    ) -> Result<Self, Failure> {
        let transport = Stdio::new(stdout, stdin, end.clone());
        let handler = Handler::new(server_requests, &end);
        match handshake(transport, handler.clone(), mode, end.clone()).await {
            Ok((service, era)) => Ok(Self::new(service, era, handler, end, process, None)),
            Err(error) => {
                let failure = match error {
                    HandshakeError::Closed => Failure::Ended(exit_report(process.as_ref(), &end).await),
                    HandshakeError::Failed(failure) => failure,
                };
                if let Some(process) = process {
                    process.end(ShutdownTimeouts::SHORT).await;
                }
                Err(failure)
            }
        }
    }

    async fn open_http(
        endpoint: &HttpEndpoint,
        surroundings: &Surroundings,
        server_requests: &Arc<ServerRequestHandler>,
        mode: Mode,
    ) -> Result<Self, Failure> {
        let end = ConnectionEnd::default();
        let handler = Handler::new(server_requests, &end);
        let route = endpoint.route(surroundings, Arc::clone(&handler.changed))?;
        let failure = match Self::open_remote(route.transport, handler, end, mode, &route.secrets).await {
            Err(failure @ Failure::NoHandshake(_)) if mode == Mode::Only(Era::Legacy) => failure,
            opened => return opened,
        };
        let end = ConnectionEnd::default();
        match route.old.open(end.clone()).await {
            Ok(Some(transport)) => {
                let handler = Handler::new(server_requests, &end);
                Self::open_remote(transport, handler, end, mode, &route.secrets).await
            }
            Ok(None) => Err(failure),
            Err(failure) => Err(failure.without(&route.secrets)),
        }
    }

    async fn open_remote(
        transport: impl Transport<RoleClient> + 'static,
        handler: Handler,
        end: ConnectionEnd,
        mode: Mode,
        secrets: &[String],
    ) -> Result<Self, Failure> {
        match handshake(transport, handler.clone(), mode, end.clone()).await {
            Ok((service, era)) => Ok(Self::new(service, era, handler, end, None, Some(secrets.to_vec()))),
            Err(HandshakeError::Closed) => match end.cause() {
                Some(EndCause::GivenUp(reason)) => Err(Failure::Ended(reason)),
                _ => Err(Failure::Nonsense(
                    "the server's answer to the handshake could not be read".to_owned(),
                )),
            },
            Err(HandshakeError::Failed(failure)) => Err(failure.without(secrets)),
        }
    }

    /// `secrets`: secrets that messages must not contain; `Some` over HTTP.
    fn new(
        service: Service,
        era: Era,
        handler: Handler,
        end: ConnectionEnd,
        process: Option<Process>,
        secrets: Option<Vec<String>>,
    ) -> Self {
        let peer = service.peer().clone();
        handler.subscribe(&peer, era);
        handler.server_requests.subscriptions.resume(&handler, &peer, era);
        log::set_level(&peer, era, handler.server_requests.log_level());
        Self {
            peer,
            era,
            handler,
            end,
            seen: tokio::sync::Mutex::default(),
            roots_known: tokio::sync::OnceCell::new(),
            roots_until: OnceLock::new(),
            missed: AtomicU32::new(0),
            retired: CancellationToken::new(),
            begun: Instant::now(),
            service: tokio::sync::Mutex::new(Some(service)),
            process,
            remote: secrets.is_some(),
            secrets: secrets.unwrap_or_default(),
        }
    }

    pub(crate) fn is_alive(&self) -> bool {
        !self.retired.is_cancelled() && !self.end.is_over() && !self.peer.is_transport_closed()
    }

    pub(crate) fn info(&self) -> Option<Arc<ServerPeerInfo>> {
        self.peer.peer_info()
    }

    /// Sends a request and returns its result as text. The caller sets the time limit.
    pub(crate) async fn ask(&self, request: ClientRequest) -> Result<String, NoAnswer> {
        let exchange = async {
            let handle =
                self.peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await?;
            handle.await_response().await
        };
        let answer = tokio::select! {
            biased;
            answer = exchange => answer,
            () = self.end.over() => Err(ServiceError::TransportClosed),
        };
        match answer {
            Ok(result) => Ok(raw::text(result)),
            Err(ServiceError::McpError(error)) => Err(NoAnswer::Error(error)),
            Err(ServiceError::TransportSend(error)) => match http::delivery_error(&error) {
                Some(fault) => Err(NoAnswer::Failed(Failure::from(fault).without(&self.secrets))),
                None => Err(NoAnswer::Failed(Failure::Ended(self.exit_report().await))),
            },
            Err(_) => Err(NoAnswer::Failed(Failure::Ended(self.exit_report().await))),
        }
    }

    /// Returns the last lines of the process's stderr, cleaned.
    pub(crate) fn stderr_tail(&self) -> String {
        self.process.as_ref().map_or_else(String::new, Process::stderr_tail)
    }

    /// Describes how the connection ended.
    pub(crate) async fn exit_report(&self) -> String {
        exit_report(self.process.as_ref(), &self.end).await
    }

    pub(crate) fn secrets(&self) -> &[String] {
        &self.secrets
    }

    /// Redacts the secrets of the connection.
    pub(crate) fn redacted(&self, text: String) -> String {
        sanitize::redact(&self.secrets, text)
    }

    /// Closes the connection within 5 s. Has no effect if it is closed.
    pub(crate) async fn close(&self) {
        if let Some(mut service) = self.service.lock().await.take() {
            let limit = if self.process.is_some() { STOP_STDIO } else { STOP_HTTP };
            let _ = service.close_with_timeout(limit).await;
        }
        if let Some(process) = &self.process {
            let after_stdin_closed =
                if self.begun.elapsed() < BRIEF_RUN { BRIEF_STDIN_TIMEOUT } else { STEP_TIMEOUT };
            process.end(ShutdownTimeouts { after_stdin_closed, after_sigterm: STEP_TIMEOUT }).await;
        }
    }
}

async fn exit_report(process: Option<&Process>, end: &ConnectionEnd) -> String {
    match (process, end.cause()) {
        (Some(process), cause) => process.exit_report(cause).await,
        (None, Some(EndCause::GivenUp(reason))) => reason,
        (None, _) => "the server closed the connection".to_owned(),
    }
}
