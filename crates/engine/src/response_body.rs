//! Feeds the pieces of a response body to the decoder.

use std::task::Poll;

use bytes::Bytes;
use converse_provider::{Decoder, Delta};
use futures_util::stream::Fuse;
use futures_util::{FutureExt as _, StreamExt as _};

use crate::ports::ByteStream;
use crate::{AttemptError, WireError};

/// A response body, which may be polled again after its end.
pub(crate) type Body = Fuse<ByteStream>;

/// Maximum number of pieces that are shown together.
const MOST_AT_ONCE: usize = 256;

/// Feeds a piece and all further pieces that have already arrived: servers send each event as a piece of its own, and showing them
/// one by one would cost a system call each. A flood is cut into batches.
pub(crate) async fn feed_ready(
    decoder: &mut dyn Decoder,
    first: Bytes,
    body: &mut Body,
    deltas: &mut Vec<Delta>,
) -> Result<(), AttemptError> {
    decoder.feed(&first, deltas)?;
    for _ in 1..MOST_AT_ONCE {
        if decoder.is_complete() {
            break;
        }
        // No piece is ready, or the stream has ended, which the next poll reports again.
        let Some(Some(piece)) = ready(body).await else { break };
        decoder.feed(&piece?, deltas)?;
    }
    Ok(())
}

/// Returns the next piece if it has arrived. The connection passes on one piece at a time, so its task gets one turn; the
/// network is not waited for.
async fn ready(body: &mut Body) -> Option<Option<Result<Bytes, WireError>>> {
    if let Some(next) = body.next().now_or_never() {
        return Some(next);
    }
    let mut turned = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut turned, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
    body.next().now_or_never()
}
