//! The handshake: finds out the era of a server and checks its protocol version.
//!
//! A modern server gets `server/discover`, a legacy one `initialize`. If the era is unknown, the second follows the
//! first on the same connection when the first is answered with an error
//! (<https://modelcontextprotocol.io/specification/draft/basic/lifecycle>, checked 2026-11). Servers that exit, do not
//! answer or send something else are tried again by [`crate::server`] on a new connection.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ProtocolVersion, RequestId, ServerJsonRpcMessage};
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt, RunningService};
use rmcp::transport::Transport;
use tokio_util::sync::CancellationToken;

use crate::Era;
use crate::error::{ConnectionEnd, Failure};
use crate::guard::Guarded;
use crate::handler::Handler;
use crate::http;
use crate::sanitize;

/// The time after which the library itself sends `initialize` on the same connection.
const LIBRARY_FALLBACK: Duration = Duration::from_secs(10);
/// Limit for the answer to `server/discover`, after which the server counts as legacy.
pub(crate) const PROBE: Duration = Duration::from_secs(3);

pub(crate) type Service = RunningService<RoleClient, Handler>;

/// The handshake to try on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Modern if the server answers `server/discover` within this time, else legacy.
    Probe(Duration),
    Only(Era),
}

/// Why the handshake failed.
#[derive(Debug)]
pub(crate) enum HandshakeError {
    /// The server closed the connection; its process knows why.
    Closed,
    Failed(Failure),
}

impl Mode {
    /// Returns the handshake of the other era; `None` for a probe, which tries both.
    pub(crate) fn other(self) -> Option<Self> {
        match self {
            Self::Probe(_) => None,
            Self::Only(Era::Modern) => Some(Self::Only(Era::Legacy)),
            Self::Only(Era::Legacy) => Some(Self::Only(Era::Modern)),
        }
    }

    /// Returns the first request.
    pub(crate) fn request(self) -> &'static str {
        match self {
            Self::Probe(_) | Self::Only(Era::Modern) => "server/discover",
            Self::Only(Era::Legacy) => "initialize",
        }
    }
}

/// Performs the handshake. `end` is set if the server is given up, now or later.
pub(crate) async fn handshake<T>(
    transport: T,
    handler: Handler,
    mode: Mode,
    end: ConnectionEnd,
) -> Result<(Service, Era), HandshakeError>
where
    T: Transport<RoleClient> + 'static,
{
    let state = HandshakeState::default();
    let transport =
        ObservedTransport { inner: Guarded::new(transport, end), state: state.clone(), discover: None };
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    let lifecycle = match mode {
        Mode::Probe(_) => ClientLifecycleMode::Auto {
            preferred_versions,
            legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
        },
        Mode::Only(Era::Modern) => ClientLifecycleMode::Discover { preferred_versions },
        Mode::Only(Era::Legacy) => ClientLifecycleMode::Initialize,
    };
    let handshaking = handler.serve_with_lifecycle(transport, lifecycle);
    let service = if let Mode::Probe(limit) = mode {
        let mut handshaking = std::pin::pin!(handshaking);
        tokio::select! {
            biased;
            done = &mut handshaking => done,
            () = state.silent_for(limit) => {
                let silent = Failure::Silent { request: mode.request(), limit };
                return Err(HandshakeError::Failed(silent));
            }
        }
    } else {
        handshaking.await
    };
    let service = service.map_err(|error| match handshake_error(error) {
        // The library fell back because the server was slow, so the refusal of `initialize` says nothing about its era.
        HandshakeError::Failed(Failure::Refused(_)) if state.fell_back() => {
            HandshakeError::Failed(Failure::Silent { request: "server/discover", limit: LIBRARY_FALLBACK })
        }
        handshake_error => handshake_error,
    })?;
    let era = if state.initialized.load(Ordering::Relaxed) { Era::Legacy } else { Era::Modern };
    let version = service.peer_info().map(|info| info.protocol_version.clone()).unwrap_or_default();
    if ProtocolVersion::KNOWN_VERSIONS.contains(&version) {
        Ok((service, era))
    } else {
        let version = sanitize::clean(version.as_str(), 40);
        Err(HandshakeError::Failed(Failure::Version(version)))
    }
}

fn handshake_error(error: ClientInitializeError) -> HandshakeError {
    HandshakeError::Failed(match error {
        ClientInitializeError::ConnectionClosed(_) => return HandshakeError::Closed,
        ClientInitializeError::TransportError { error, .. } => match http::delivery_error(&error) {
            Some(fault) => fault.into(),
            None => return HandshakeError::Closed,
        },
        ClientInitializeError::JsonRpcError(error) => {
            Failure::Refused(sanitize::clean(&error.message, sanitize::MAX_ERROR))
        }
        // The error of the legacy handshake says more than the refusal of the modern one.
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => return handshake_error(*fallback),
        ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
            let theirs: Vec<_> = server_supported.iter().map(ProtocolVersion::as_str).collect();
            Failure::Versions(sanitize::clean(&theirs.join(", "), 200))
        }
        ClientInitializeError::ExpectedInitResult(_) | ClientInitializeError::ExpectedInitResponse(_) => {
            Failure::Nonsense("the server answered the handshake with a message of another kind".to_owned())
        }
        ClientInitializeError::ConflictInitResponseId(..)
        | ClientInitializeError::UncorrelatedErrorResponse { .. } => {
            Failure::Nonsense("the server answered a request that was never sent".to_owned())
        }
        other => Failure::Nonsense(sanitize::clean(&other.to_string(), sanitize::MAX_ERROR)),
    })
}

/// What the transport observed during the handshake.
#[derive(Debug, Clone, Default)]
struct HandshakeState {
    answered: CancellationToken,
    initialized: Arc<AtomicBool>,
    /// The id of a `server/discover` that was unanswered when `initialize` was sent.
    unanswered_discover: Arc<OnceLock<RequestId>>,
}

impl HandshakeState {
    /// Resolves when `limit` has passed without any answer.
    async fn silent_for(&self, limit: Duration) {
        if tokio::time::timeout(limit, self.answered.cancelled()).await.is_ok() {
            std::future::pending::<()>().await;
        }
    }

    fn fell_back(&self) -> bool {
        self.unanswered_discover.get().is_some()
    }

    /// Returns whether a message answers `server/discover` after `initialize` was sent, which the library does not
    /// expect.
    fn is_late(&self, message: &ServerJsonRpcMessage) -> bool {
        let id = match message {
            ServerJsonRpcMessage::Response(response) => Some(&response.id),
            ServerJsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        id.is_some() && id == self.unanswered_discover.get()
    }
}

/// A transport that records the progress of the handshake.
struct ObservedTransport<T> {
    inner: T,
    state: HandshakeState,
    discover: Option<RequestId>,
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for ObservedTransport<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        if let ClientJsonRpcMessage::Request(request) = &message {
            match request.request {
                ClientRequest::DiscoverRequest(_) => self.discover = Some(request.id.clone()),
                ClientRequest::InitializeRequest(_) => {
                    self.state.initialized.store(true, Ordering::Relaxed);
                    if let Some(id) = self.discover.take().filter(|_| !self.state.answered.is_cancelled()) {
                        let _ = self.state.unanswered_discover.set(id);
                    }
                }
                _ => {}
            }
        }
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        let mut message = self.inner.receive().await?;
        while self.state.is_late(&message) {
            message = self.inner.receive().await?;
        }
        if matches!(message, ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_)) {
            self.state.answered.cancel();
        }
        Some(message)
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}
