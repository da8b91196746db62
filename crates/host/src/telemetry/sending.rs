//! The thread that sends. What it cannot send it forgets.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::Value;

use super::target::Endpoint;
use crate::client::{ClientPlan, Clients, Redirects, Reuse, cause_of};

/// Requests that wait for a slow collector; more are dropped.
const MOST_WAITING: usize = 16;
const CONNECT: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct Sender {
    /// `None` once all is said.
    queue: Mutex<Option<SyncSender<Parcel>>>,
    /// Hears when the thread has ended.
    ended: Mutex<Receiver<()>>,
    /// The first one.
    problem: Arc<OnceLock<String>>,
}

#[derive(Debug)]
struct Parcel {
    endpoint: Endpoint,
    body: Bytes,
}

impl Sender {
    pub(super) fn begin() -> Self {
        let (queue, parcels) = sync_channel(MOST_WAITING);
        let (end, ended) = sync_channel(1);
        let problem = Arc::new(OnceLock::new());
        let heard = Arc::clone(&problem);
        let begun = std::thread::Builder::new().name("otlp".to_owned()).spawn(move || {
            run(&parcels, &heard);
            let _ = end.send(());
        });
        if let Err(error) = begun {
            let _ = problem.set(error.to_string());
        }
        Self { queue: Mutex::new(Some(queue)), ended: Mutex::new(ended), problem }
    }

    /// Never waits.
    pub(super) fn send(&self, endpoint: &Endpoint, body: Value) {
        let parcel = Parcel { endpoint: endpoint.clone(), body: body.to_string().into() };
        let queue = self.queue.lock();
        if queue.as_ref().is_none_or(|queue| queue.try_send(parcel).is_err()) {
            let _ = self.problem.set("the collector is too slow, so data was dropped".to_owned());
        }
    }

    /// Waits until all is sent, but no longer than that; what went wrong, if anything did.
    pub(super) fn settle(&self, timeout: Duration) -> Option<String> {
        let until = Instant::now() + timeout;
        drop(self.queue.lock().take());
        let ended = self.ended.lock();
        if ended.recv_timeout(until.saturating_duration_since(Instant::now())).is_err() {
            let _ = self.problem.set(format!("the collector did not answer within {} s", timeout.as_secs()));
        }
        self.problem.get().cloned()
    }
}

fn run(parcels: &Receiver<Parcel>, problem: &OnceLock<String>) {
    let plan = ClientPlan { connect_timeout: CONNECT, redirects: Redirects::Never, reuse: Reuse::Kept };
    let clients = Clients::new(plan);
    let runtime = match crate::runtime::runtime() {
        Ok(runtime) => runtime,
        Err(failure) => return drop(problem.set(failure.message)),
    };
    for parcel in parcels {
        if let Err(error) = runtime.block_on(post(&clients, parcel)) {
            tracing::debug!(%error, "no data was sent to the collector");
            let _ = problem.set(error);
        }
    }
    runtime.shutdown_background();
}

async fn post(clients: &Clients, parcel: Parcel) -> Result<(), String> {
    let Parcel { endpoint: Endpoint { url, headers, timeout }, body } = parcel;
    let client = clients.get(url.scheme() == "https").map_err(|cause| cause.message)?;
    let request = client.post(url).headers(headers).timeout(timeout).body(body);
    let response = request.send().await.map_err(|error| match error.is_timeout() && !error.is_connect() {
        true => format!("the collector did not answer within {} s", timeout.as_secs_f64()),
        false => cause_of(&error).message,
    })?;
    match response.status() {
        status if status.is_success() => Ok(()),
        status => Err(format!("the collector answered {status}")),
    }
}
