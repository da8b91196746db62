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
use crate::end::End;
use crate::error::Failure;
use crate::guard::Guarded;
use crate::handler::Handler;
use crate::http;
use crate::words;

/// After so long the library goes on with `initialize` on the same connection by itself.
const IMPATIENCE: Duration = Duration::from_secs(10);
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
pub(crate) enum Broken {
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
pub(crate) async fn shake<T>(
    transport: T,
    handler: Handler,
    mode: Mode,
    end: End,
) -> Result<(Service, Era), Broken>
where
    T: Transport<RoleClient> + 'static,
{
    let seen = Seen::default();
    let transport = Observed { inner: Guarded::new(transport, end), seen: seen.clone(), discover: None };
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    let lifecycle = match mode {
        Mode::Probe(_) => ClientLifecycleMode::Auto {
            preferred_versions,
            legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
        },
        Mode::Only(Era::Modern) => ClientLifecycleMode::Discover { preferred_versions },
        Mode::Only(Era::Legacy) => ClientLifecycleMode::Initialize,
    };
    let shaking = handler.serve_with_lifecycle(transport, lifecycle);
    let service = if let Mode::Probe(limit) = mode {
        let mut shaking = std::pin::pin!(shaking);
        tokio::select! {
            biased;
            shaken = &mut shaking => shaken,
            () = seen.silent_for(limit) => {
                let silent = Failure::Silent { request: mode.request(), limit };
                return Err(Broken::Failed(silent));
            }
        }
    } else {
        shaking.await
    };
    let service = service.map_err(|error| match broken(error) {
        // Asked for the other era because it was slow: that it refuses that one says nothing of this one.
        Broken::Failed(Failure::Refused(_)) if seen.is_impatient() => {
            Broken::Failed(Failure::Silent { request: "server/discover", limit: IMPATIENCE })
        }
        broken => broken,
    })?;
    let era = if seen.initialized.load(Ordering::Relaxed) { Era::Legacy } else { Era::Modern };
    let version = service.peer_info().map(|info| info.protocol_version.clone()).unwrap_or_default();
    if ProtocolVersion::KNOWN_VERSIONS.contains(&version) {
        Ok((service, era))
    } else {
        let version = words::cleaned(version.as_str(), 40);
        Err(Broken::Failed(Failure::Version(version)))
    }
}

fn broken(error: ClientInitializeError) -> Broken {
    Broken::Failed(match error {
        ClientInitializeError::ConnectionClosed(_) => return Broken::Closed,
        ClientInitializeError::TransportError { error, .. } => match http::fault(&error) {
            Some(fault) => fault.into(),
            None => return Broken::Closed,
        },
        ClientInitializeError::JsonRpcError(error) => {
            Failure::Refused(words::cleaned(&error.message, words::ERROR))
        }
        // What the legacy handshake came to says more than that the modern one was refused.
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => return broken(*fallback),
        ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
            let theirs: Vec<_> = server_supported.iter().map(ProtocolVersion::as_str).collect();
            Failure::Versions(words::cleaned(&theirs.join(", "), 200))
        }
        ClientInitializeError::ExpectedInitResult(_) | ClientInitializeError::ExpectedInitResponse(_) => {
            Failure::Nonsense("it answered the handshake with something else".to_owned())
        }
        ClientInitializeError::ConflictInitResponseId(..)
        | ClientInitializeError::UncorrelatedErrorResponse { .. } => {
            Failure::Nonsense("it answered a request that was never sent".to_owned())
        }
        other => Failure::Nonsense(words::cleaned(&other.to_string(), words::ERROR)),
    })
}

/// What passed through a transport during the handshake.
#[derive(Debug, Clone, Default)]
struct Seen {
    answered: CancellationToken,
    initialized: Arc<AtomicBool>,
    /// `initialize` was sent although this had no answer yet.
    passed_over: Arc<OnceLock<RequestId>>,
}

impl Seen {
    /// Resolves when so much time has passed without any answer.
    async fn silent_for(&self, limit: Duration) {
        if tokio::time::timeout(limit, self.answered.cancelled()).await.is_ok() {
            std::future::pending::<()>().await;
        }
    }

    fn is_impatient(&self) -> bool {
        self.passed_over.get().is_some()
    }

    /// An answer to `server/discover` after `initialize` was sent: the library would take it for nonsense.
    fn is_late(&self, message: &ServerJsonRpcMessage) -> bool {
        let id = match message {
            ServerJsonRpcMessage::Response(response) => Some(&response.id),
            ServerJsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        id.is_some() && id == self.passed_over.get()
    }
}

/// A transport that tells what it sees.
struct Observed<T> {
    inner: T,
    seen: Seen,
    discover: Option<RequestId>,
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Observed<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        if let ClientJsonRpcMessage::Request(request) = &message {
            match request.request {
                ClientRequest::DiscoverRequest(_) => self.discover = Some(request.id.clone()),
                ClientRequest::InitializeRequest(_) => {
                    self.seen.initialized.store(true, Ordering::Relaxed);
                    if let Some(id) = self.discover.take().filter(|_| !self.seen.answered.is_cancelled()) {
                        let _ = self.seen.passed_over.set(id);
                    }
                }
                _ => {}
            }
        }
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        let mut message = self.inner.receive().await?;
        while self.seen.is_late(&message) {
            message = self.inner.receive().await?;
        }
        if matches!(message, ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_)) {
            self.seen.answered.cancel();
        }
        Some(message)
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}
