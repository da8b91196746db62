//! Era detection over pipes: finds out on one process which generation of the protocol a server speaks.
//!
//! A modern server gets `server/discover`, a legacy one `initialize`
//! (<https://modelcontextprotocol.io/specification/draft/basic/lifecycle>, checked 2026-11). Only an answer decides: a
//! silent server may still be starting. After some time without an answer the second request follows the first on the
//! same connection, because some legacy servers ignore unknown methods. The server finds both in its input.

use std::collections::VecDeque;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{
    ClientConfig, ClientJsonRpcMessage, ClientRequest, ClientResult, DiscoverRequest, DiscoverRequestParams,
    ErrorCode, ErrorData, InitializeRequest, ProtocolVersion, RequestId, RequestMetaObject,
    ServerJsonRpcMessage, ServerRequest, ServerResult,
};
use rmcp::transport::Transport;
use tokio::time::{Instant, sleep_until};

use crate::Era;
use crate::error::Failure;
use crate::handshake::{HandshakeError, MODERN, no_common_version, refusal};
use crate::task;

/// Ids of the two requests. The protocol library counts from 0 and never reaches them.
const DISCOVER_ID: i64 = 1_000_000_001;
const INITIALIZE_ID: i64 = 1_000_000_002;
/// Messages before the answer that are kept for the library; further ones are dropped.
const MAX_EARLY: usize = 64;

/// Asks the server for its era, with the request of `first` before the other one. The other request follows when the
/// first is refused, or after `silence_limit` without an answer; `None` waits for the refusal. Has no time limit.
pub(crate) async fn detect<T: Transport<RoleClient>>(
    transport: &mut T,
    client: &ClientConfig,
    first: Era,
    silence_limit: Option<Duration>,
) -> Result<(Era, Replay), HandshakeError> {
    let eras = [first, first.other()];
    let mut refused: [Option<Failure>; 2] = [None, None];
    let mut early = VecDeque::new();
    let mut sent = 0;
    let silence = silence_limit.map(|silence_limit| Instant::now() + silence_limit);
    loop {
        let is_open = refused.iter().take(sent).any(Option::is_none);
        let is_silent = silence.is_some_and(|end| end <= Instant::now());
        if let Some(era) = eras.get(sent).filter(|_| !is_open || is_silent) {
            transport.send(request(*era, client)).await.map_err(|_| HandshakeError::Closed)?;
            sent += 1;
            continue;
        }
        if !is_open {
            return Err(HandshakeError::Failed(reason(first, refused)));
        }
        let due = silence.filter(|_| sent < eras.len());
        let received = tokio::select! {
            biased;
            received = transport.receive() => received,
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => continue,
        };
        let message = received.ok_or(HandshakeError::Closed)?;
        let Some(place) = eras.iter().position(|era| answers(&message, *era)) else {
            if let Some(ping) = ping(&message) {
                let pong = ClientJsonRpcMessage::response(ClientResult::empty(()), ping);
                transport.send(pong).await.map_err(|_| HandshakeError::Closed)?;
            } else if early.len() < MAX_EARLY {
                early.push_back(message);
            }
            continue;
        };
        let (Some(era), Some(refusal)) = (eras.get(place), refused.get_mut(place)) else { continue };
        match judge(*era, &message) {
            Ok(()) => {
                early.push_back(message);
                return Ok((*era, Replay { messages: early, answered: false }));
            }
            Err(failure) => *refusal = Some(failure),
        }
    }
}

/// Returns why a server that refused both requests cannot be used.
fn reason(first: Era, refused: [Option<Failure>; 2]) -> Failure {
    let [one, other] = refused.map(|refusal| refusal.unwrap_or(Failure::Nonsense(String::new())));
    let (modern, legacy) = if first == Era::Modern { (one, other) } else { (other, one) };
    // The lack of a common version says more than the error of the other era, and that more than an unknown method.
    if matches!(modern, Failure::Versions(_)) { modern } else { legacy }
}

fn request(era: Era, client: &ClientConfig) -> ClientJsonRpcMessage {
    match era {
        Era::Modern => {
            let mut capabilities = client.capabilities.clone();
            task::declare(&mut capabilities);
            let mut discover = DiscoverRequest::new(DiscoverRequestParams {});
            discover.extensions.insert(RequestMetaObject::with_client_context(
                MODERN,
                client.client_info.clone(),
                capabilities,
            ));
            ClientJsonRpcMessage::request(
                ClientRequest::DiscoverRequest(discover),
                RequestId::Number(DISCOVER_ID),
            )
        }
        Era::Legacy => ClientJsonRpcMessage::request(
            ClientRequest::InitializeRequest(InitializeRequest::new(client.clone())),
            RequestId::Number(INITIALIZE_ID),
        ),
    }
}

/// Returns whether the message answers the request of an era.
fn answers(message: &ServerJsonRpcMessage, era: Era) -> bool {
    let id = match message {
        ServerJsonRpcMessage::Response(response) => Some(&response.id),
        ServerJsonRpcMessage::Error(error) => error.id.as_ref(),
        _ => None,
    };
    let wanted = match era {
        Era::Modern => DISCOVER_ID,
        Era::Legacy => INITIALIZE_ID,
    };
    matches!(id, Some(RequestId::Number(number)) if *number == wanted)
}

fn ping(message: &ServerJsonRpcMessage) -> Option<RequestId> {
    match message {
        ServerJsonRpcMessage::Request(request)
            if matches!(request.request, ServerRequest::PingRequest(_)) =>
        {
            Some(request.id.clone())
        }
        _ => None,
    }
}

/// Returns an error unless the answer shows that the server speaks this era.
fn judge(era: Era, message: &ServerJsonRpcMessage) -> Result<(), Failure> {
    let odd =
        || Failure::Nonsense("the server answered the handshake with a message of another kind".to_owned());
    match message {
        ServerJsonRpcMessage::Error(error) => match supported(&error.error) {
            // The library asks again with this version.
            Some(supported) if era == Era::Modern && supported.contains(&MODERN) => Ok(()),
            Some(supported) if era == Era::Modern => Err(no_common_version(&supported)),
            _ => Err(refusal(&error.error)),
        },
        ServerJsonRpcMessage::Response(response) => match (&response.result, era) {
            (ServerResult::DiscoverResult(discovered), Era::Modern)
                if discovered.supported_versions.contains(&MODERN) =>
            {
                Ok(())
            }
            (ServerResult::DiscoverResult(discovered), Era::Modern) => {
                Err(no_common_version(&discovered.supported_versions))
            }
            (ServerResult::InitializeResult(_), Era::Legacy) => Ok(()),
            _ => Err(odd()),
        },
        _ => Err(odd()),
    }
}

/// Returns the versions that an "unsupported version" error names.
fn supported(error: &ErrorData) -> Option<Vec<ProtocolVersion>> {
    if error.code != ErrorCode::UNSUPPORTED_PROTOCOL_VERSION {
        return None;
    }
    let named = error.data.as_ref().and_then(|data| data.get("supported")).cloned();
    Some(named.and_then(|named| serde_json::from_value(named).ok()).unwrap_or_default())
}

/// What the server sent during the detection, for the library: its first request is not sent but answered from here.
#[derive(Debug, Default)]
pub(crate) struct Replay {
    /// Early messages; the last is the answer.
    messages: VecDeque<ServerJsonRpcMessage>,
    /// Whether the library has sent its first request.
    answered: bool,
}

/// A transport whose server may have answered the handshake already.
pub(crate) struct Replaying<T> {
    pub(crate) inner: T,
    pub(crate) replay: Replay,
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Replaying<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let mut sending = None;
        match (&message, self.replay.messages.back_mut().filter(|_| !self.replay.answered)) {
            (ClientJsonRpcMessage::Request(request), Some(answer)) => {
                match answer {
                    ServerJsonRpcMessage::Response(response) => response.id = request.id.clone(),
                    ServerJsonRpcMessage::Error(error) => error.id = Some(request.id.clone()),
                    _ => {}
                }
                self.replay.answered = true;
            }
            _ => sending = Some(self.inner.send(message)),
        }
        async move {
            match sending {
                Some(sending) => sending.await,
                None => Ok(()),
            }
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        if let Some(message) = self.replay.messages.pop_front() {
            return Some(message);
        }
        loop {
            let message = self.inner.receive().await?;
            // The answer to the other request may come late.
            if ![Era::Modern, Era::Legacy].iter().any(|era| answers(&message, *era)) {
                return Some(message);
            }
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}
