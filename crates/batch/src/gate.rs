//! The pace of a provider, applied to its requests.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use converse_engine::{Admitted, ByteStream, Wire, WireError};
use converse_provider::AuthScheme;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::pace::{Admission, Ended, Pace, Ticket};

/// Where all requests to one provider pass. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Gate(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    pace: Mutex<Pace>,
    changed: Notify,
    began: Instant,
}

impl Gate {
    pub(crate) fn new(most: usize, began: Instant) -> Self {
        Self(Arc::new(Inner { pace: Mutex::new(Pace::new(most)), changed: Notify::new(), began }))
    }

    /// Requests that may be in flight, and the time before which nothing is sent.
    pub(crate) fn limits(&self) -> (usize, Duration) {
        let pace = self.0.pace.lock();
        (pace.limit(), pace.until())
    }

    /// Resolves after a request has ended.
    pub(crate) async fn changed(&self) {
        self.0.changed.notified().await;
    }

    async fn pass(&self) -> Box<dyn Admitted> {
        let Inner { pace, changed, began } = &*self.0;
        loop {
            let mut change = std::pin::pin!(changed.notified());
            change.as_mut().enable();
            let admission = pace.lock().admit(began.elapsed());
            match admission {
                Admission::Now(ticket) => {
                    return Box::new(Pass { gate: self.clone(), ticket, ended: Ended::Otherwise });
                }
                Admission::At(time) => {
                    tokio::select! {
                        () = sleep_until(*began + time) => {}
                        () = change => {}
                    }
                }
                Admission::WhenFree => change.await,
            }
        }
    }
}

/// A request in flight.
struct Pass {
    gate: Gate,
    ticket: Ticket,
    ended: Ended,
}

impl Admitted for Pass {
    fn refused(&mut self, asked: Option<Duration>) {
        self.ended = Ended::Refused(asked);
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let Inner { pace, changed, began } = &*self.gate.0;
        pace.lock().ended(self.ticket, self.ended, began.elapsed());
        changed.notify_waiters();
    }
}

/// A wire whose requests pass a gate.
pub(crate) struct PacedWire {
    pub(crate) inner: Arc<dyn Wire>,
    pub(crate) gate: Gate,
}

impl Wire for PacedWire {
    fn admit(&self) -> BoxFuture<'_, Box<dyn Admitted>> {
        self.gate.pass().boxed()
    }

    fn send<'a>(
        &'a self,
        request: http::Request<Bytes>,
        auth: &'a AuthScheme,
    ) -> BoxFuture<'a, Result<http::Response<ByteStream>, WireError>> {
        self.inner.send(request, auth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_that_is_told_to_wait_makes_all_wait() {
        let began = Instant::now();
        let gate = Gate::new(4, began);
        let (mut first, second) = (gate.pass().await, gate.pass().await);
        first.refused(Some(Duration::from_secs(7)));
        drop(first);
        let third = gate.pass();
        drop(second);
        let third = third.await;
        assert_eq!((began.elapsed().as_secs(), gate.limits().0), (7, 2));
        drop(third);
        assert_eq!(gate.limits().0, 3);
    }

    #[tokio::test(start_paused = true)]
    async fn a_place_that_is_free_is_given_to_one_that_waits() {
        let gate = Gate::new(1, Instant::now());
        let first = gate.pass().await;
        let mut second = gate.pass().boxed();
        assert!((&mut second).now_or_never().is_none());
        drop(first);
        drop(second.await);
    }
}
