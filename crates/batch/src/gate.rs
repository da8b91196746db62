//! What every request passes: the pace of its provider, the budget, and the stop of the batch.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use converse_canister::Cost;
use converse_engine::{Admitted, ByteStream, Wire, WireError, WireErrorKind};
use converse_host::interrupt::Interrupt;
use converse_provider::AuthScheme;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::pace::{Admission, Ended, Pace, Ticket};

/// Where all requests to one provider pass. Clones share it.
#[derive(Debug, Clone)]
pub struct Gate(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    pace: Mutex<Pace>,
    changed: Notify,
    began: Instant,
}

impl Gate {
    /// At most `most` requests at once.
    pub fn new(most: usize, began: Instant) -> Self {
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
pub struct PacedWire {
    pub inner: Arc<dyn Wire>,
    pub gate: Gate,
}

converse_host::opaque_debug!(PacedWire);

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

/// What ends conversations before their next request.
#[derive(Debug, Default)]
pub struct Stops {
    budget: Option<Cost>,
    spent: Mutex<Cost>,
    closed: Interrupt,
}

/// Why a conversation may send no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Barred {
    /// All conversations together have spent the budget.
    Budget,
    /// The batch was stopped.
    Stopped,
}

impl Stops {
    /// With a budget for all conversations.
    pub fn new(budget: Option<Cost>) -> Self {
        Self { budget, ..Self::default() }
    }

    /// Counts what a conversation has spent.
    pub(crate) fn spend(&self, cost: Cost) {
        let mut spent = self.spent.lock();
        *spent = spent.plus(cost);
    }

    /// Lets no more requests pass. Those that wait fail at once.
    pub fn close(&self) {
        self.closed.token.cancel();
    }

    fn barred(&self) -> Option<Barred> {
        if self.closed.token.is_cancelled() {
            return Some(Barred::Stopped);
        }
        self.budget.filter(|budget| *self.spent.lock() >= *budget).map(|_| Barred::Budget)
    }
}

/// What one conversation met on the way to its requests.
#[derive(Debug)]
pub(crate) struct Passage {
    stops: Arc<Stops>,
    barred: Mutex<Option<Barred>>,
    waited: Mutex<Duration>,
}

impl Passage {
    pub(crate) fn new(stops: Arc<Stops>) -> Self {
        Self { stops, barred: Mutex::default(), waited: Mutex::default() }
    }

    /// Why its last request was not sent.
    pub(crate) fn barred(&self) -> Option<Barred> {
        *self.barred.lock()
    }

    /// The time that it has waited before its requests.
    pub(crate) fn waited(&self) -> Duration {
        *self.waited.lock()
    }
}

/// Counts a wait, also one that is given up.
struct Waiting<'p>(&'p Passage, Instant);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        *self.0.waited.lock() += self.1.elapsed();
    }
}

/// The wire of one conversation.
pub(crate) struct OwnWire {
    pub(crate) inner: Arc<dyn Wire>,
    pub(crate) passage: Arc<Passage>,
}

impl Wire for OwnWire {
    fn admit(&self) -> BoxFuture<'_, Box<dyn Admitted>> {
        let Passage { stops, barred, .. } = &*self.passage;
        async move {
            let waiting = Waiting(&self.passage, Instant::now());
            let admitted = tokio::select! {
                biased;
                () = stops.closed.token.cancelled() => None,
                admitted = self.inner.admit() => Some(admitted),
            };
            drop(waiting);
            let why = stops.barred();
            *barred.lock() = why;
            // What is barred takes no place of the provider: `send` fails at once.
            admitted.filter(|_| why.is_none()).unwrap_or_else(|| Box::new(()))
        }
        .boxed()
    }

    fn send<'a>(
        &'a self,
        request: http::Request<Bytes>,
        auth: &'a AuthScheme,
    ) -> BoxFuture<'a, Result<http::Response<ByteStream>, WireError>> {
        if self.passage.barred().is_none() {
            return self.inner.send(request, auth);
        }
        // A kind that is not tried again.
        let message = "the batch sends no more requests".to_owned();
        std::future::ready(Err(WireError { kind: WireErrorKind::Request, message })).boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sent;

    impl Wire for Sent {
        fn send<'a>(
            &'a self,
            _: http::Request<Bytes>,
            _: &'a AuthScheme,
        ) -> BoxFuture<'a, Result<http::Response<ByteStream>, WireError>> {
            let empty: ByteStream = Box::pin(futures_util::stream::empty());
            std::future::ready(Ok(http::Response::new(empty))).boxed()
        }
    }

    fn own(stops: &Arc<Stops>, gate: &Gate) -> OwnWire {
        let inner = Arc::new(PacedWire { inner: Arc::new(Sent), gate: gate.clone() });
        OwnWire { inner, passage: Arc::new(Passage::new(stops.clone())) }
    }

    async fn is_sent(wire: &OwnWire) -> bool {
        drop(wire.admit().await);
        wire.send(http::Request::new(Bytes::new()), &AuthScheme::None).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn what_one_spends_is_seen_by_the_others_before_their_next_request() {
        let stops = Arc::new(Stops::new(Some(Cost(10))));
        let gate = Gate::new(4, Instant::now());
        let (first, second) = (own(&stops, &gate), own(&stops, &gate));
        assert!(is_sent(&first).await && is_sent(&second).await);
        stops.spend(Cost(9));
        assert!(is_sent(&second).await);
        stops.spend(Cost(1));
        assert!(!is_sent(&first).await && !is_sent(&second).await);
        assert_eq!(first.passage.barred(), Some(Barred::Budget));
    }

    #[tokio::test(start_paused = true)]
    async fn a_stop_frees_those_that_wait_for_the_provider() {
        let (began, stops) = (Instant::now(), Arc::new(Stops::new(None)));
        let gate = Gate::new(4, began);
        let mut refused = gate.pass().await;
        refused.refused(Some(Duration::from_secs(3600)));
        drop(refused);
        let (wire, late) = (own(&stops, &gate), own(&stops, &gate));
        let stop = async {
            tokio::time::sleep(Duration::from_secs(2)).await;
            stops.close();
        };
        let (sent, ()) = tokio::join!(is_sent(&wire), stop);
        assert!(!sent && !is_sent(&late).await);
        assert_eq!((began.elapsed().as_secs(), wire.passage.waited().as_secs()), (2, 2));
        assert_eq!(wire.passage.barred(), Some(Barred::Stopped));
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_that_is_given_up_counts() {
        let gate = Gate::new(1, Instant::now());
        let _first = gate.pass().await;
        let wire = own(&Arc::default(), &gate);
        assert!(tokio::time::timeout(Duration::from_secs(3), wire.admit()).await.is_err());
        assert_eq!(wire.passage.waited().as_secs(), 3);
    }

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
