//! Bodies of requests and answers.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http::Method;
use http::request::Parts;
use http_body_util::BodyExt as _;
use http_body_util::combinators::BoxBody;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use rmcp::model::ErrorData;

use super::Limits;
use super::lease::Lease;
use crate::counters::RefusalReason;
use crate::message::{Message, RejectedMessage, not_json};
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

/// Returns the body for the protocol library, and stores the raw arguments of a call as an extension of `parts`.
pub(super) fn rpc_body(parts: &mut Parts, body: Bytes) -> Result<Bytes, RejectedMessage> {
    if parts.method != Method::POST {
        return Ok(body);
    }
    let text = std::str::from_utf8(&body).map_err(|_| not_json("the body is not UTF-8"))?;
    if text.trim_ascii_start().starts_with('[') {
        let text = "batches are not supported over HTTP; send the messages one by one";
        return Err(ErrorData::invalid_request(text, None).into());
    }
    let message = Message::parse(text.trim_ascii())?;
    message.to_rmcp()?;
    let Some(arguments) = message.raw_arguments() else { return Ok(body) };
    parts.extensions.insert(arguments);
    // The library compares arguments in headers with the body. Inexact arguments are removed here and rejected later.
    match message.without_arguments().filter(|_| !message.is_exact()) {
        Some(text) => Ok(text.into()),
        None => Ok(body),
    }
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
