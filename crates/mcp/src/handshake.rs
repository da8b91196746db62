//! The first words with a server: which era it is of, and whether we speak one of its versions.
//!
//! A modern server is asked `server/discover`, a legacy one `initialize`. Who does not know what it faces asks the first
//! and goes on with the second on the same connection if that is answered with an error
//! (<https://modelcontextprotocol.io/specification/draft/basic/lifecycle>, checked 2026-11); servers that end, fall
//! silent or answer nonsense are asked anew on another connection, by whoever opened this one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ProtocolVersion, RequestId, ServerJsonRpcMessage};
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt, RunningService};
use rmcp::transport::Transport;
use tokio_util::sync::CancellationToken;

use crate::Era;
use crate::end::ConnectionEnd;
use crate::error::Failure;
use crate::guard::Guarded;
use crate::handler::Handler;
use crate::http;
use crate::sanitize;

/// After so long the library goes on with `initialize` on the same connection by itself.
const LIBRARY_FALLBACK: Duration = Duration::from_secs(10);
/// How long a server may think about `server/discover` before it is taken for one that ignores it.
pub(crate) const PROBE: Duration = Duration::from_secs(3);

pub(crate) type Service = RunningService<RoleClient, Handler>;

/// What is tried on one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Modern if it answers that in so much time, else legacy.
    Probe(Duration),
    Only(Era),
}

/// Why there is no service.
#[derive(Debug)]
pub(crate) enum HandshakeError {
    /// The other side is gone: its process knows more.
    Closed,
    Failed(Failure),
}

impl Mode {
    /// The other era, where one is sure of this one.
    pub(crate) fn other(self) -> Option<Self> {
        match self {
            Self::Probe(_) => None,
            Self::Only(Era::Modern) => Some(Self::Only(Era::Legacy)),
            Self::Only(Era::Legacy) => Some(Self::Only(Era::Modern)),
        }
    }

    /// What the server is asked first.
    pub(crate) fn request(self) -> &'static str {
        match self {
            Self::Probe(_) | Self::Only(Era::Modern) => "server/discover",
            Self::Only(Era::Legacy) => "initialize",
        }
    }
}

/// `end` is told if the server has to be given up, now or later.
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
        // Asked for the other era because it was slow: that it refuses that one says nothing of this one.
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
        // What the legacy handshake came to says more than that the modern one was refused.
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => return handshake_error(*fallback),
        ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
            let theirs: Vec<_> = server_supported.iter().map(ProtocolVersion::as_str).collect();
            Failure::Versions(sanitize::clean(&theirs.join(", "), 200))
        }
        ClientInitializeError::ExpectedInitResult(_) | ClientInitializeError::ExpectedInitResponse(_) => {
            Failure::Nonsense("it answered the handshake with something else".to_owned())
        }
        ClientInitializeError::ConflictInitResponseId(..)
        | ClientInitializeError::UncorrelatedErrorResponse { .. } => {
            Failure::Nonsense("it answered a request that was never sent".to_owned())
        }
        other => Failure::Nonsense(sanitize::clean(&other.to_string(), sanitize::MAX_ERROR)),
    })
}

/// What passed through a transport during the handshake.
#[derive(Debug, Clone, Default)]
struct HandshakeState {
    answered: CancellationToken,
    initialized: Arc<AtomicBool>,
    /// `initialize` was sent although this had no answer yet.
    unanswered_discover: Arc<OnceLock<RequestId>>,
}

impl HandshakeState {
    /// Resolves when so much time has passed without any answer.
    async fn silent_for(&self, limit: Duration) {
        if tokio::time::timeout(limit, self.answered.cancelled()).await.is_ok() {
            std::future::pending::<()>().await;
        }
    }

    fn fell_back(&self) -> bool {
        self.unanswered_discover.get().is_some()
    }

    /// An answer to `server/discover` after `initialize` was sent: the library would take it for nonsense.
    fn is_late(&self, message: &ServerJsonRpcMessage) -> bool {
        let id = match message {
            ServerJsonRpcMessage::Response(response) => Some(&response.id),
            ServerJsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        id.is_some() && id == self.unanswered_discover.get()
    }
}

/// A transport that tells what it sees.
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
