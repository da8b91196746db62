//! The number of tokens of a request.
//!
//! The provider counts if its wire has a request for it (which needs the key and is free). Otherwise, and for
//! compatible servers without that request, a quarter of the bytes is the estimate. It is accurate within about a third
//! for English text and much too high for images.

use bytes::Bytes;
use converse_provider::{Prompt, TranslateError, processor_of};

use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::provider_call::{ProviderCalls, WholeResponse, failure};
use crate::settings::Settings;

/// Bytes of a response, which holds one number; a longer one is an error page.
const MAX_BYTES: usize = 256 * 1024;
/// Bytes of a request for one token, by and large.
const BYTES_PER_TOKEN: usize = 4;

/// A request whose tokens are counted.
#[derive(Debug)]
pub enum CountRequest {
    /// The request to the token counter of the provider.
    Provider(Box<http::Request<Bytes>>),
    /// The provider has no token counter; the size of the whole request in bytes.
    Estimate(usize),
}

/// The number of tokens of a request.
#[derive(Debug)]
pub struct TokenCount {
    pub tokens: u64,
    /// Why the number is only an estimate.
    pub estimated: Option<&'static str>,
}

impl TokenCount {
    fn estimate(bytes: usize, why: &'static str) -> Self {
        let tokens = u64::try_from(bytes.div_ceil(BYTES_PER_TOKEN)).unwrap_or(u64::MAX);
        Self { tokens, estimated: Some(why) }
    }
}

impl CountRequest {
    /// Builds the request for a prompt.
    ///
    /// # Errors
    ///
    /// The prompt cannot be sent to this model.
    pub fn of(prompt: &Prompt<'_>, settings: &Settings) -> Result<Self, Failure> {
        let endpoint = &settings.model.endpoint;
        let processor = processor_of(endpoint);
        let failed = |error: TranslateError| failure(settings, error);
        match processor.count(prompt, endpoint) {
            Some(request) => Ok(Self::Provider(Box::new(request.map_err(failed)?))),
            None => {
                let request = processor.nativize(prompt, endpoint).map_err(failed)?;
                Ok(Self::Estimate(request.body().len()))
            }
        }
    }

    /// Asks the provider for the number, or estimates it.
    ///
    /// # Errors
    ///
    /// There is no key, the provider does not answer, or the run is interrupted.
    pub async fn send(self, settings: &Settings, interrupt: &Interrupt) -> Result<TokenCount, Failure> {
        match self {
            Self::Estimate(bytes) => Ok(TokenCount::estimate(bytes, "this provider has no token counter")),
            Self::Provider(request) => {
                settings.model.require_key()?;
                tokio::select! {
                    counted = counted(settings, *request) => counted,
                    () = interrupt.token.cancelled() => Err(interrupt.failure()),
                }
            }
        }
    }
}

async fn counted(settings: &Settings, request: http::Request<Bytes>) -> Result<TokenCount, Failure> {
    let bytes = request.body().len();
    let calls = ProviderCalls::new(settings);
    let response = calls.whole(request, MAX_BYTES, settings.timeouts.first_byte).await;
    let WholeResponse { head, body } = response.map_err(|error| calls.failure(error))?;
    if matches!(head.status.as_u16(), 404 | 405 | 501) {
        return Ok(TokenCount::estimate(bytes, "the server does not count"));
    }
    if !head.status.is_success() {
        return Err(calls.failure(calls.refusal(&head, &body)));
    }
    Ok(match processor_of(&settings.model.endpoint).counted(&body) {
        Some(tokens) => TokenCount { tokens, estimated: None },
        None => TokenCount::estimate(bytes, "the server's answer has no number"),
    })
}
