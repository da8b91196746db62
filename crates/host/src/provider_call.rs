//! Requests to the provider of a model outside of conversations.

use std::time::Duration;

use bytes::Bytes;
use converse_canister::TurnId;
use converse_engine::{AttemptError, ByteStream, EngineError, ExchangeError, Wire, WireError};
use converse_provider::{ReplyError, ReplyOrigin, processor_of};
use futures_util::StreamExt as _;
use http::response::Parts;
use tokio::time::timeout;

use crate::failure::Failure;
use crate::routes::wire;
use crate::settings::Settings;

/// Bytes of an error page that are read.
const MAX_ERROR: usize = 256 * 1024;

/// The connection to the provider of the first model of these settings.
pub struct ProviderCalls<'s> {
    settings: &'s Settings,
    wire: Box<dyn Wire>,
}

crate::opaque_debug!(ProviderCalls<'_>);

/// A whole response.
#[derive(Debug)]
pub struct WholeResponse {
    pub head: Parts,
    /// At most as many bytes as wanted, and the piece that exceeded them.
    pub body: Vec<u8>,
}

impl<'s> ProviderCalls<'s> {
    pub fn new(settings: &'s Settings) -> Self {
        let wire = wire(&settings.model, settings.connect_timeout, &settings.cassette);
        Self { settings, wire }
    }

    /// Sends a request and reads the response, whatever its status is, within this time.
    ///
    /// # Errors
    ///
    /// The response did not come, or not completely.
    pub async fn whole(
        &self,
        request: http::Request<Bytes>,
        most: usize,
        limit: Duration,
    ) -> Result<WholeResponse, AttemptError> {
        let answered = timeout(limit, async {
            let (head, mut body) = self.wire.send(request, self.auth()).await?.into_parts();
            let body = up_to(&mut body, most).await?;
            Ok::<_, WireError>(WholeResponse { head, body })
        });
        let answered =
            answered.await.map_err(|_| AttemptError::Timeout { what: "response", after: limit })?;
        Ok(answered?)
    }

    /// Sends a request, and returns the body of a success while it arrives. The caller limits the wait for each piece.
    ///
    /// # Errors
    ///
    /// The response did not come within the time of the settings, or the provider refused.
    pub async fn stream(&self, request: http::Request<Bytes>) -> Result<ByteStream, AttemptError> {
        let limit = self.settings.timeouts.first_byte;
        let late = || AttemptError::Timeout { what: "response", after: limit };
        let sent = self.wire.send(request, self.auth());
        let (head, mut body) = timeout(limit, sent).await.map_err(|_| late())??.into_parts();
        if head.status.is_success() {
            return Ok(body);
        }
        let page = timeout(limit, up_to(&mut body, MAX_ERROR)).await.map_err(|_| late())??;
        Err(self.refusal(&head, &page))
    }

    /// Reads the message of a response that is not a success.
    pub fn refusal(&self, head: &Parts, body: &[u8]) -> AttemptError {
        let model = &self.settings.model;
        let origin =
            ReplyOrigin { turn: TurnId(1), model: model.name.clone(), endpoint: model.endpoint.clone() };
        let mut decoder = processor_of(&model.endpoint).normalize(head, origin);
        let fed = decoder.feed(body, &mut Vec::new());
        match decoder.finish() {
            Err(ReplyError::Refusal(refusal)) => AttemptError::Refusal(refusal),
            Err(ReplyError::Decode(error)) => AttemptError::Decode(error),
            Ok(_) | Err(ReplyError::CutShort { .. } | ReplyError::Empty { .. }) => {
                fed.err().map_or(AttemptError::CutShort, AttemptError::Decode)
            }
        }
    }

    /// Describes what went wrong.
    pub fn failure(&self, cause: impl Into<AttemptError>) -> Failure {
        failure(self.settings, cause)
    }

    fn auth(&self) -> &converse_provider::AuthScheme {
        &self.settings.model.endpoint.auth
    }
}

async fn up_to(body: &mut ByteStream, most: usize) -> Result<Vec<u8>, WireError> {
    let mut read = Vec::new();
    while let Some(piece) = body.next().await {
        read.extend_from_slice(&piece?);
        if read.len() > most {
            break;
        }
    }
    Ok(read)
}

/// Describes what went wrong in a request to the provider of these settings.
pub(crate) fn failure(settings: &Settings, cause: impl Into<AttemptError>) -> Failure {
    Failure::from(EngineError::Exchange(Box::new(ExchangeError {
        cause: cause.into(),
        route: settings.model.id.clone(),
        routes_before: 0,
        attempts: 1,
        waited: Duration::ZERO,
        asked_to_wait: None,
        kept: false,
        request_id: None,
    })))
}
