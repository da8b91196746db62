//! A server over HTTP that is not there yet, or busy, may be there in a moment: a restart takes its time. What we start
//! ourselves either runs or does not, and is not tried again here.

use crate::error::Failure;
use crate::http::MAX_WAIT;
use crate::link::ConnectDiagnostics;
use crate::server::BACKOFF;

/// Times that it is tried once more, the pauses doubled.
const MAX_RETRIES: u32 = 3;

/// Opens it, if need be again. Bounded by whoever waits; the witness knows why it takes so long.
pub(crate) async fn retry_with_backoff<T, F>(
    diagnostics: &ConnectDiagnostics,
    open: impl Fn() -> F,
) -> Result<T, Failure>
where
    F: Future<Output = Result<T, Failure>>,
{
    let mut pause = BACKOFF;
    for _ in 0..MAX_RETRIES {
        let failure = match open().await {
            Err(failure) => failure,
            opened => return opened,
        };
        let Some(wait) = failure.passes(pause).filter(|wait| *wait <= MAX_WAIT) else { return Err(failure) };
        tracing::debug!(%failure, "a server is tried once more");
        diagnostics.record_failure(&failure);
        tokio::time::sleep(wait).await;
        pause *= 2;
    }
    open().await
}
