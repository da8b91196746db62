//! Bodies of streams: Server-Sent Events as they are made, with comments while nothing happens.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Response};
use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame};
use parking_lot::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, Sleep};

use crate::http_server::Reply;
use crate::shares::Share;

/// Time without an event after which a comment keeps the connection open. Proxies often close after 30 or 60 seconds.
const QUIET: Duration = Duration::from_secs(15);

const COMMENT: &[u8] = b": \n\n";

/// Bytes of events that may wait until a client reads them. The stream of a client that reads more slowly ends.
const MAX_WAITING: usize = 4 * 1024 * 1024;

/// A place among the streams of a principal. An extension of the reply, so that another body can take it over.
pub(super) type StreamPlace = Arc<Share>;

/// Returns the two ends of a stream of events.
pub(super) fn event_channel(place: Option<StreamPlace>) -> (EventSender, EventBody) {
    let (sender, events) = unbounded_channel();
    let backlog = Arc::<Backlog>::default();
    let quiet = Box::pin(tokio::time::sleep(QUIET));
    let body = EventBody { events, backlog: Arc::clone(&backlog), quiet, expired: None, over: None, place };
    (EventSender { events: sender, backlog }, body)
}

/// Where the events of a stream are sent.
#[derive(Debug, Clone)]
pub(super) struct EventSender {
    events: UnboundedSender<Waiting>,
    backlog: Arc<Backlog>,
}

/// An event, and the bytes that it counts among those that wait.
#[derive(Debug)]
struct Waiting {
    event: Bytes,
    counts: usize,
}

/// What waits to be read.
#[derive(Debug, Default)]
struct Backlog {
    bytes: AtomicUsize,
    /// An event had no room. Nothing follows it: a client must not miss one without noticing.
    is_over: AtomicBool,
}

impl EventSender {
    /// Sends events; returns false if the client has left, or reads too slowly.
    pub(super) fn send(&self, bytes: Bytes) -> bool {
        if self.is_closed() {
            return false;
        }
        let waiting = self.backlog.bytes.fetch_add(bytes.len(), Ordering::Relaxed);
        // One that is larger than everything that may wait is sent alone.
        if waiting > 0 && waiting.saturating_add(bytes.len()) > MAX_WAITING {
            self.backlog.is_over.store(true, Ordering::Relaxed);
            return false;
        }
        self.events.send(Waiting { counts: bytes.len(), event: bytes }).is_ok()
    }

    /// Sends what happened before the client came, however much that is; returns false if the client has left.
    pub(super) fn send_earlier(&self, event: Bytes) -> bool {
        self.events.send(Waiting { event, counts: 0 }).is_ok()
    }

    /// Resolves when the client has left. The stream does not end before.
    pub(super) async fn closed(self) {
        self.events.closed().await;
    }

    pub(super) fn is_closed(&self) -> bool {
        self.backlog.is_over.load(Ordering::Relaxed) || self.events.is_closed()
    }
}

/// A stream of events. It ends when the sender is dropped.
pub(super) struct EventBody {
    events: UnboundedReceiver<Waiting>,
    backlog: Arc<Backlog>,
    quiet: Pin<Box<Sleep>>,
    expired: Option<Mutex<BoxFuture<'static, ()>>>,
    over: Option<Mutex<BoxFuture<'static, ()>>>,
    place: Option<StreamPlace>,
}

impl EventBody {
    /// Ends the stream at once when `expired` resolves, and after its last event when `over` resolves.
    pub(super) fn until(
        self,
        expired: impl Future<Output = ()> + Send + 'static,
        over: impl Future<Output = ()> + Send + 'static,
    ) -> Self {
        Self { expired: Some(Mutex::new(expired.boxed())), over: Some(Mutex::new(over.boxed())), ..self }
    }
}

fn is_due(end: &mut Option<Mutex<BoxFuture<'static, ()>>>, cx: &mut Context<'_>) -> bool {
    end.as_mut().is_some_and(|end| end.get_mut().as_mut().poll(cx).is_ready())
}

impl Body for EventBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if is_due(&mut self.expired, cx) {
            return Poll::Ready(None);
        }
        if let Poll::Ready(waiting) = self.events.poll_recv(cx) {
            self.quiet.as_mut().reset(Instant::now() + QUIET);
            let read = waiting.as_ref().map_or(0, |waiting| waiting.counts);
            self.backlog.bytes.fetch_sub(read, Ordering::Relaxed);
            return Poll::Ready(waiting.map(|waiting| Ok(Frame::data(waiting.event))));
        }
        if self.backlog.is_over.load(Ordering::Relaxed) || is_due(&mut self.over, cx) {
            return Poll::Ready(None);
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
    let place = body.place.clone();
    let mut reply = Response::new(body.boxed());
    place.and_then(|place| reply.extensions_mut().insert(place));
    let headers = reply.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // nginx would collect the events otherwise.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    reply
}

#[cfg(test)]
mod tests {
    use tokio_util::sync::CancellationToken;

    use super::*;

    fn channel() -> (EventSender, EventBody) {
        event_channel(None)
    }

    async fn next(body: &mut EventBody) -> Option<Bytes> {
        body.frame().await.map(|frame| frame.unwrap().into_data().unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_keeps_a_bounded_number_of_bytes() {
        let (sender, mut body) = channel();
        let event = Bytes::from(vec![b'x'; MAX_WAITING / 8]);
        let sent = (0..100).take_while(|_| sender.send(event.clone())).count();
        assert_eq!(sent, 8);
        // What comes later would follow a gap.
        assert!(
            next(&mut body).await.is_some() && !sender.send(Bytes::from_static(b"x")) && sender.is_closed()
        );
        for _ in 1..sent {
            assert_eq!(next(&mut body).await.as_ref(), Some(&event));
        }
        assert_eq!(next(&mut body).await, None, "the stream ends, although its sender is there");
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_gets_events_of_any_size_and_number() {
        let (sender, mut body) = channel();
        let event = Bytes::from(vec![b'x'; 2 * MAX_WAITING]);
        for _ in 0..10 {
            assert!(sender.send(event.clone()));
            assert_eq!(next(&mut body).await.as_ref(), Some(&event));
        }
        drop(sender);
        assert_eq!(next(&mut body).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn what_happened_before_is_sent_whole() {
        let (sender, mut body) = channel();
        let event = Bytes::from(vec![b'x'; MAX_WAITING / 2]);
        assert!((0..10).all(|_| sender.send_earlier(event.clone())) && sender.send(event.clone()));
        for _ in 0..11 {
            assert_eq!(next(&mut body).await.as_ref(), Some(&event));
        }
        drop(sender);
        assert_eq!(next(&mut body).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_ends_with_its_token_at_once_and_at_shutdown_after_its_events() {
        let ends = || [(); 2].map(|()| CancellationToken::new());
        let until = |body: EventBody, [expired, over]: &[CancellationToken; 2]| {
            body.until(expired.clone().cancelled_owned(), over.clone().cancelled_owned())
        };
        let tokens = ends();
        let (sender, body) = channel();
        let mut body = until(body, &tokens);
        assert!(sender.send(Bytes::from_static(b"a")));
        tokens[1].cancel();
        assert_eq!(next(&mut body).await.as_deref(), Some(&b"a"[..]));
        assert_eq!(next(&mut body).await, None);

        let tokens = ends();
        let (sender, body) = channel();
        let mut body = until(body, &tokens);
        assert!(sender.send(Bytes::from_static(b"a")));
        tokens[0].cancel();
        assert_eq!(next(&mut body).await, None, "nothing is sent after the token has ended");
    }
}
