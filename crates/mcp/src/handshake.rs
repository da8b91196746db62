//! The handshake: detects the era of a server and checks its protocol version.

use std::time::Duration;

use rmcp::ClientHandler;
use rmcp::RoleClient;
use rmcp::model::{ErrorData, ProtocolVersion};
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt, RunningService};
use rmcp::transport::Transport;

use crate::Era;
use crate::detection::{Replay, Replaying, detect};
use crate::error::{ConnectionEnd, Failure};
use crate::guard::Guarded;
use crate::handler::Handler;
use crate::http;
use crate::sanitize;

/// The version of the modern era.
pub(crate) const MODERN: ProtocolVersion = ProtocolVersion::V_2026_07_28;

pub(crate) type Service = RunningService<RoleClient, Handler>;

/// The handshake to perform on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The server's answers decide; see [`detect`]. Only over pipes.
    Detect {
        first: Era,
        silence_limit: Option<Duration>,
    },
    Only(Era),
}

/// Why the handshake failed.
#[derive(Debug)]
pub(crate) enum HandshakeError {
    /// The server closed the connection; its process knows why.
    Closed,
    Failed(Failure),
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
    let mut inner = Guarded::new(transport, end, handler.roots_request.clone());
    let (era, replay) = match mode {
        Mode::Only(era) => (era, Replay::default()),
        Mode::Detect { first, silence_limit } => {
            detect(&mut inner, &handler.get_info(), first, silence_limit).await?
        }
    };
    let lifecycle = match era {
        Era::Modern => ClientLifecycleMode::Discover { preferred_versions: vec![MODERN] },
        Era::Legacy => ClientLifecycleMode::Initialize,
    };
    let service = handler.in_era(era).serve_with_lifecycle(Replaying { inner, replay }, lifecycle).await;
    let service = service.map_err(handshake_error)?;
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
        ClientInitializeError::TransportError { error, .. } => match http::handshake_failure(&error) {
            Some(failure) => failure,
            None => return HandshakeError::Closed,
        },
        ClientInitializeError::JsonRpcError(error) => refusal(&error),
        ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
            no_common_version(&server_supported)
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

/// Returns the failure for an error that answers the handshake.
pub(crate) fn refusal(error: &ErrorData) -> Failure {
    Failure::Refused(sanitize::clean(&error.message, sanitize::MAX_ERROR))
}

/// Returns the failure for a server that speaks only these versions.
pub(crate) fn no_common_version(theirs: &[ProtocolVersion]) -> Failure {
    let theirs: Vec<_> = theirs.iter().map(ProtocolVersion::as_str).collect();
    Failure::Versions(sanitize::clean(&theirs.join(", "), 200))
}
