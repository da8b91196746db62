//! Bodies of streams: Server-Sent Events as they are made, with comments while nothing happens.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Response};
use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, Sleep};

use crate::http_server::Reply;

/// Time without an event after which a comment keeps the connection open. Proxies often close after 30 or 60 seconds.
const QUIET: Duration = Duration::from_secs(15);

const COMMENT: &[u8] = b": \n\n";

/// A stream of events. It ends when the sender is dropped.
#[derive(Debug)]
pub(super) struct EventBody {
    events: UnboundedReceiver<Bytes>,
    quiet: Pin<Box<Sleep>>,
}

impl EventBody {
    pub(super) fn new(events: UnboundedReceiver<Bytes>) -> Self {
        Self { events, quiet: Box::pin(tokio::time::sleep(QUIET)) }
    }
}

impl Body for EventBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Poll::Ready(event) = self.events.poll_recv(cx) {
            self.quiet.as_mut().reset(Instant::now() + QUIET);
            return Poll::Ready(event.map(|bytes| Ok(Frame::data(bytes))));
        }
        match self.quiet.as_mut().poll(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(()) => {
                self.quiet.as_mut().reset(Instant::now() + QUIET);
                Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(COMMENT)))))
            }
        }
    }
}

/// Returns the answer with this stream.
pub(super) fn event_stream(body: EventBody) -> Reply {
    let mut reply = Response::new(body.boxed());
    let headers = reply.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // nginx would collect the events otherwise.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    reply
}
