//! Bodies: read whole before they are looked at, and watched until the last byte is sent.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::{Body, Frame, Incoming, SizeHint};

use super::Limits;
use super::lease::Lease;
use crate::counters::Reason;

/// The whole body, if it is small enough and comes soon enough. `None`: it broke, nobody is there to be told.
pub(super) async fn whole(body: Incoming, limits: &Limits) -> Result<Bytes, Option<Reason>> {
    if body.size_hint().lower() > limits.body_bytes as u64 {
        return Err(Some(Reason::TooLarge));
    }
    let collected = tokio::time::timeout(limits.body, Limited::new(body, limits.body_bytes).collect());
    match collected.await {
        Err(_) => Err(Some(Reason::TooSlow)),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(Some(Reason::TooLarge)),
        Ok(Err(_)) => Err(None),
        Ok(Ok(whole)) => Ok(whole.to_bytes()),
    }
}

/// A body that gives the connection's lease back when it is sent, or dropped.
pub(super) struct Watched {
    inner: BoxBody<Bytes, Infallible>,
    lease: Arc<Lease>,
}

impl Watched {
    pub(super) fn new(inner: BoxBody<Bytes, Infallible>, lease: Arc<Lease>) -> Self {
        Self { inner, lease }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.lease.answered();
    }
}

impl Body for Watched {
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
