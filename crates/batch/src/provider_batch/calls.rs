//! Requests to the batch API of a provider, with retries.

use std::time::Duration;

use bytes::Bytes;
use converse_engine::{AttemptError, RetryPolicy, WireErrorKind};
use converse_host::failure::{Failure, Kind};
use converse_host::interrupt::Interrupt;
use converse_host::provider_call::ProviderCalls;
use converse_host::settings::Settings;
use converse_provider::{BatchApi, BatchError, BatchStatus, RefusalClass, TranslateError};
use http::Request;
use tokio::time::sleep;

use super::lines::Lines;
use crate::pace::LONGEST_PAUSE;

/// Time for one request, which may carry all parts of a batch.
const LIMIT: Duration = Duration::from_secs(600);
/// Bytes of a status or a list.
const MOST_BYTES: usize = 8 * 1024 * 1024;
/// Failures of one request before it is given up.
pub(super) const MOST_FAILURES: u32 = 10;

/// The connection to a batch API.
pub(super) struct Calls<'s> {
    pub(super) api: BatchApi<'s>,
    calls: ProviderCalls<'s>,
    retry: RetryPolicy,
    /// Time without a byte of a response.
    idle: Duration,
    interrupt: &'s Interrupt,
}

/// Why a batch was not created.
pub(super) enum Uncreated {
    /// The provider does not have it.
    Refused(Failure),
    /// The provider may have it.
    Unknown(Failure),
}

impl<'s> Calls<'s> {
    pub(super) fn new(api: BatchApi<'s>, settings: &'s Settings, interrupt: &'s Interrupt) -> Self {
        let (calls, retry) = (ProviderCalls::new(settings), settings.retry);
        Self { api, calls, retry, idle: settings.timeouts.stream_idle, interrupt }
    }

    /// Sends a request that may be repeated, until it is answered.
    pub(super) async fn repeat<T>(
        &self,
        request: impl Fn(&BatchApi<'_>) -> Result<Request<Bytes>, TranslateError>,
        read: impl Fn(&BatchApi<'_>, &[u8]) -> Result<T, BatchError>,
    ) -> Result<T, Failure> {
        self.ask(request, read).await?.map_err(|cause| self.failure(cause))
    }

    /// The same for something that the provider may not have: `None` then.
    pub(super) async fn find<T>(
        &self,
        request: impl Fn(&BatchApi<'_>) -> Result<Request<Bytes>, TranslateError>,
        read: impl Fn(&BatchApi<'_>, &[u8]) -> Result<T, BatchError>,
    ) -> Result<Option<T>, Failure> {
        match self.ask(request, read).await? {
            Ok(found) => Ok(Some(found)),
            Err(cause) if is_absent(&cause) => Ok(None),
            Err(cause) => Err(self.failure(cause)),
        }
    }

    /// Returns why the last attempt has failed, if another one would not help.
    async fn ask<T>(
        &self,
        request: impl Fn(&BatchApi<'_>) -> Result<Request<Bytes>, TranslateError>,
        read: impl Fn(&BatchApi<'_>, &[u8]) -> Result<T, BatchError>,
    ) -> Result<Result<T, AttemptError>, Failure> {
        for failures in 1.. {
            let request = request(&self.api).map_err(|error| self.failure(error))?;
            let answered = tokio::select! {
                biased;
                () = self.interrupt.token.cancelled() => return Err(self.interrupt.failure()),
                answered = self.once(request) => answered,
            };
            let cause = match answered {
                Ok(body) => return read(&self.api, &body).map(Ok).map_err(|error| unread(&error)),
                Err(cause) => cause,
            };
            let Some(delay) = self.delay(&cause, failures) else { return Ok(Err(cause)) };
            self.sleep(delay).await?;
        }
        Err(Failure::new(Kind::Internal, "internal", "a request was never answered"))
    }

    /// Creates a batch. Nothing is sent again that the provider may have got.
    pub(super) async fn create(&self, request: Request<Bytes>) -> Result<BatchStatus, Uncreated> {
        for failures in 1.. {
            let cause = match self.once(request.clone()).await {
                Ok(body) => {
                    let read = self.api.read_status(&body);
                    return read.map_err(|error| Uncreated::Unknown(unread(&error)));
                }
                Err(cause) if is_certain(&cause) => cause,
                Err(cause) => return Err(Uncreated::Unknown(self.failure(cause))),
            };
            self.pause(cause, failures).await.map_err(Uncreated::Refused)?;
        }
        let failure = Failure::new(Kind::Internal, "internal", "a request was never answered");
        Err(Uncreated::Unknown(failure))
    }

    /// Opens a file of results, which may have so many lines.
    pub(super) async fn open(&self, file: &str, most: usize) -> Result<Lines, AttemptError> {
        Ok(Lines::new(self.calls.stream(self.api.results(file)?).await?, self.idle, most))
    }

    /// Waits after a failure.
    ///
    /// # Errors
    ///
    /// Another attempt would not help, there were too many, or the run is interrupted.
    pub(super) async fn pause(&self, cause: AttemptError, failures: u32) -> Result<(), Failure> {
        match self.delay(&cause, failures) {
            Some(delay) => self.sleep(delay).await,
            None => Err(self.failure(cause)),
        }
    }

    /// Returns the time before another attempt, if one may help.
    fn delay(&self, cause: &AttemptError, failures: u32) -> Option<Duration> {
        let asked = cause.advice().after;
        let is_long = asked.is_some_and(|asked| asked > LONGEST_PAUSE);
        let retries = cause.advice().should.unwrap_or(cause.retryable());
        let doubled = self.retry.first.saturating_mul(2u32.saturating_pow(failures - 1));
        (retries && !is_long && failures < MOST_FAILURES)
            .then(|| asked.unwrap_or(doubled.min(self.retry.cap)))
    }

    /// # Errors
    ///
    /// The run is interrupted.
    pub(super) async fn sleep(&self, time: Duration) -> Result<(), Failure> {
        tokio::select! {
            biased;
            () = self.interrupt.token.cancelled() => Err(self.interrupt.failure()),
            () = sleep(time) => Ok(()),
        }
    }

    pub(super) fn failure(&self, cause: impl Into<AttemptError>) -> Failure {
        self.calls.failure(cause)
    }

    async fn once(&self, request: Request<Bytes>) -> Result<Vec<u8>, AttemptError> {
        let response = self.calls.whole(request, MOST_BYTES, LIMIT).await?;
        match response.head.status.is_success() {
            true => Ok(response.body),
            false => Err(self.calls.refusal(&response.head, &response.body)),
        }
    }
}

fn unread(error: &BatchError) -> Failure {
    Failure::new(Kind::ProviderNonsense, "bad-response", error.to_string())
}

/// Whether the provider does not have what a request names.
pub(super) fn is_absent(cause: &AttemptError) -> bool {
    matches!(cause, AttemptError::Refusal(refusal) if matches!(refusal.status, 404 | 410))
}

/// Whether the provider has certainly not accepted what was sent.
fn is_certain(cause: &AttemptError) -> bool {
    match cause {
        AttemptError::Translate(_) => true,
        AttemptError::Wire(error) => error.kind != WireErrorKind::Broken,
        AttemptError::Refusal(refusal) => {
            // A timeout and a conflict may come after the work.
            let is_own = (400..500).contains(&refusal.status) && !matches!(refusal.status, 408 | 409);
            is_own || refusal.status == 529 || refusal.class == RefusalClass::RateLimit
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use converse_engine::WireError;
    use converse_provider::{Refusal, RetryAdvice};

    use super::*;

    #[test]
    fn only_a_clear_refusal_says_that_nothing_was_accepted() {
        let refusal = |status, class| {
            let retry = RetryAdvice::default();
            let (message, code, request_id) = (String::new(), None, None);
            AttemptError::Refusal(Refusal { class, status, message, code, request_id, retry })
        };
        let wire = |kind| AttemptError::Wire(WireError { kind, message: String::new() });
        for (cause, certain) in [
            (refusal(429, RefusalClass::RateLimit), true),
            (refusal(400, RefusalClass::BadRequest), true),
            (refusal(401, RefusalClass::Auth), true),
            (refusal(529, RefusalClass::Overload), true),
            (refusal(408, RefusalClass::Overload), false),
            (refusal(409, RefusalClass::Overload), false),
            (refusal(500, RefusalClass::Overload), false),
            (refusal(502, RefusalClass::Nonsense), false),
            (refusal(200, RefusalClass::Nonsense), false),
            (wire(WireErrorKind::Connection), true),
            (wire(WireErrorKind::Broken), false),
            (AttemptError::Timeout { what: "response", after: LIMIT }, false),
        ] {
            assert_eq!(is_certain(&cause), certain, "{cause:?}");
        }
    }
}
