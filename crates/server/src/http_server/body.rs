//! Bodies of requests and answers.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use converse_gateway::RefusalReason;
use http_body_util::BodyExt as _;
use http_body_util::combinators::BoxBody;
use hyper::body::{Body, Frame, Incoming, SizeHint};

use super::Limits;
use super::lease::Lease;
use crate::shares::Share;

/// Reads the whole body within the limits. Its bytes are added to the share of its principal. `Err(None)`: the connection broke.
pub(super) async fn read_whole(
    body: Incoming,
    limits: &Limits,
    share: Option<&mut Share>,
) -> Result<Bytes, Option<RefusalReason>> {
    if body.size_hint().lower() > limits.body_bytes as u64 {
        return Err(Some(RefusalReason::TooLarge));
    }
    let collected = tokio::time::timeout(limits.body, collected(body, limits.body_bytes, share));
    collected.await.unwrap_or(Err(Some(RefusalReason::TooSlow)))
}

async fn collected(
    mut body: Incoming,
    most: usize,
    mut share: Option<&mut Share>,
) -> Result<Bytes, Option<RefusalReason>> {
    let mut whole = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| None)?.into_data() else { continue };
        if whole.len() + data.len() > most {
            return Err(Some(RefusalReason::TooLarge));
        }
        if share.as_mut().is_some_and(|share| !share.grow(data.len())) {
            return Err(Some(RefusalReason::Busy));
        }
        whole.extend_from_slice(&data);
    }
    Ok(whole.freeze())
}

/// An answer that reports to the lease of the connection when it is sent or dropped.
pub(super) struct LeasedBody {
    inner: BoxBody<Bytes, Infallible>,
    lease: Arc<Lease>,
}

impl LeasedBody {
    pub(super) fn new(inner: BoxBody<Bytes, Infallible>, lease: Arc<Lease>) -> Self {
        Self { inner, lease }
    }
}

impl Drop for LeasedBody {
    fn drop(&mut self) {
        self.lease.response_done();
    }
}

impl Body for LeasedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.inner).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
