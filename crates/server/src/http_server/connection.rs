//! Connections: their number, duration and end.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use converse_gateway::Counters;
use futures_util::FutureExt as _;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rmcp::ServerHandler;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::lease::{Lease, LeasedStream};
use super::listener::HttpListener;
use super::router::Router;
use super::{Limits, body};

/// Maximum bytes of request line and headers, and of read-ahead.
const MAX_BUFFER: usize = 64 * 1024;

/// Size of the send buffer in the kernel. The default grows to megabytes, and the kernel accepts more only after a third is
/// read, so a slow reader would look stuck.
const SEND_BUFFER: usize = 128 * 1024;

/// Time at shutdown in which idle connections may still send a request, which may be on its way.
const LAST_REQUEST_GRACE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Connections {
    limits: Limits,
    counters: Arc<Counters>,
    slots: Arc<Semaphore>,
    /// Connections are waiting for a slot.
    under_pressure: Arc<AtomicBool>,
    tasks: TaskTracker,
    /// Cancelled to close idle connections at once and the others after their answer.
    close: CancellationToken,
    /// Cancelled to close all connections.
    abort: CancellationToken,
}

impl Connections {
    pub(super) fn new(limits: Limits, counters: Arc<Counters>) -> Self {
        let slots = Arc::new(Semaphore::new(limits.connections));
        let [close, abort] = [(); 2].map(|()| CancellationToken::new());
        let under_pressure = Arc::default();
        Self { limits, counters, slots, under_pressure, tasks: TaskTracker::new(), close, abort }
    }

    /// Serves until `stop`, then drains for at most `drain`.
    pub(super) async fn serve<H>(
        self,
        listener: HttpListener,
        router: Router<H>,
        stop: CancellationToken,
        drain: Duration,
    ) where
        H: ServerHandler + Send + Sync + 'static,
    {
        while let Some(stream) = stop.run_until_cancelled(listener.accept()).await {
            // At shutdown, a waiting connection is served without a slot, as are connections that were not accepted yet.
            let slot = stop.run_until_cancelled(self.slot()).await.flatten();
            self.answer(stream, slot, router.clone());
        }
        let end = Instant::now() + drain;
        // These connections were made before the shutdown. They have no slots.
        listener.close(|stream| self.answer(stream, None, router.clone())).await;
        self.tasks.close();
        let _ = timeout(LAST_REQUEST_GRACE.min(drain), self.tasks.wait()).await;
        self.close.cancel();
        if timeout_at(end, self.tasks.wait()).await.is_err() {
            tracing::warn!("the time to drain is over: {} connections are closed", self.tasks.len());
            self.abort.cancel();
            self.tasks.wait().await;
        }
    }

    /// Waits for a slot. Never `None`, because the semaphore is not closed.
    async fn slot(&self) -> Option<OwnedSemaphorePermit> {
        let free = Arc::clone(&self.slots).try_acquire_owned().ok();
        self.under_pressure.store(free.is_none(), Ordering::Relaxed);
        match free {
            None => Arc::clone(&self.slots).acquire_owned().await.ok(),
            free => free,
        }
    }

    fn answer<H>(&self, stream: TcpStream, slot: Option<OwnedSemaphorePermit>, router: Router<H>)
    where
        H: ServerHandler + Send + Sync + 'static,
    {
        let counted = self.counters.connection();
        let lease = Lease::new(self.limits, Arc::clone(&self.under_pressure));
        let (close, abort) = (self.close.clone(), self.abort.clone());
        self.tasks.spawn(async move {
            tokio::select! {
                biased;
                () = abort.cancelled() => {}
                () = serve_connection(stream, router, lease, close) => {}
            }
            drop((slot, counted));
        });
    }
}

/// Serves the requests of one connection.
async fn serve_connection<H>(
    stream: TcpStream,
    router: Router<H>,
    lease: Arc<Lease>,
    close: CancellationToken,
) where
    H: ServerHandler + Send + Sync + 'static,
{
    // Sends small answers at once.
    let _ = stream.set_nodelay(true);
    let _ = SockRef::from(&stream).set_send_buffer_size(SEND_BUFFER);
    let from = stream.peer_addr().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.ip());
    serve_stream(stream, from, router, lease, close).await;
}

async fn serve_stream<S, H>(
    stream: S,
    from: IpAddr,
    router: Router<H>,
    lease: Arc<Lease>,
    close: CancellationToken,
) where
    S: AsyncRead + AsyncWrite + Unpin,
    H: ServerHandler + Send + Sync + 'static,
{
    let answering = Arc::clone(&lease);
    let service = service_fn(move |request| {
        let (router, lease) = (router.clone(), Arc::clone(&answering));
        lease.request_started();
        // Boxed, since hyper keeps the room of this future as long as the connection, also while a stream is open.
        let answered = async move {
            let answer = router.answer(request, from).await;
            Ok::<_, std::convert::Infallible>(answer.map(|inner| body::LeasedBody::new(inner, lease)))
        };
        answered.boxed()
    });
    let io = TokioIo::new(LeasedStream { stream, lease: Arc::clone(&lease) });
    // The lease limits the time for headers; the limit of hyper would include the time between requests.
    let connection = http1::Builder::new()
        .header_read_timeout(None)
        .max_buf_size(MAX_BUFFER)
        .serve_connection(io, service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => return,
        () = lease.expired() => return,
        () = close.cancelled() => {}
    }
    connection.as_mut().graceful_shutdown();
    tokio::select! {
        _ = connection => {}
        () = lease.expired() => {}
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};

    use super::*;
    use converse_gateway::Gateway;

    /// A connection that takes 64 bytes at a time, for one request of numbers.
    async fn open_connection(limits: Limits) -> (DuplexStream, Arc<AtomicBool>) {
        let (mut client, server) = duplex(64);
        let (stop, under_pressure) = (CancellationToken::new(), Arc::<AtomicBool>::default());
        let lease = Lease::new(limits, Arc::clone(&under_pressure));
        let router = Router::<Gateway>::for_metrics(Arc::new(Counters::default()), None, stop.clone());
        tokio::spawn(serve_stream(server, IpAddr::V4(Ipv4Addr::LOCALHOST), router, lease, stop));
        client.write_all(b"GET /metrics HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
        (client, under_pressure)
    }

    /// What is read until the other side hangs up, a few bytes each `pause`, and how long that took.
    async fn read(client: &mut DuplexStream, pause: Duration) -> (String, Duration) {
        let (mut text, mut bytes, began) = (String::new(), [0; 64], Instant::now());
        loop {
            tokio::time::sleep(pause).await;
            match client.read(&mut bytes).await {
                Ok(0) | Err(_) => return (text, began.elapsed()),
                Ok(count) => text.push_str(std::str::from_utf8(&bytes[..count]).unwrap()),
            }
        }
    }

    fn is_whole(answer: &str) -> bool {
        let parts = answer.split_once("\r\n\r\n");
        parts.is_some_and(|(head, body)| head.contains(&format!("content-length: {}", body.len())))
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_and_steady_reader_gets_the_whole_answer_and_is_idle_only_then() {
        let pause = Duration::from_secs(20);
        for idle in [10, 30, 300].map(Duration::from_secs) {
            let (mut client, _) = open_connection(Limits { idle, ..Limits::default() }).await;
            let (answer, took) = read(&mut client, pause).await;
            // Each pause takes 64 bytes; the last of them were sent two pauses before they are read.
            let reading = pause * u32::try_from(answer.len().div_ceil(64)).unwrap();
            assert!(is_whole(&answer) && reading > pause * 10, "{idle:?}: {answer}");
            assert!(took >= reading + idle - pause * 2, "{idle:?}: {took:?} of {reading:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_reads_nothing_any_more_is_cut_off_and_who_has_read_all_is_idle() {
        let (mut client, _) = open_connection(Limits::default()).await;
        let (answer, _) = read(&mut client, Duration::from_secs(31)).await;
        assert!(!is_whole(&answer), "{answer}");
        let (mut client, _) = open_connection(Limits::default()).await;
        let (answer, took) = read(&mut client, Duration::ZERO).await;
        let idle = Limits::default().idle;
        assert!(is_whole(&answer) && took >= idle && took < idle + Duration::from_secs(3), "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn who_asks_nothing_makes_room_for_those_that_wait() {
        let (mut client, under_pressure) = open_connection(Limits::default()).await;
        under_pressure.store(true, Ordering::Relaxed);
        let (answer, took) = read(&mut client, Duration::ZERO).await;
        assert!(is_whole(&answer) && took < Duration::from_secs(5), "{took:?}");
    }
}
