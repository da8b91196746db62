//! The transport to an OpenTelemetry collector: a thread that sends. What it cannot send it forgets.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use converse_telemetry::{Endpoint, Telemetry, Transport};
use parking_lot::Mutex;

use crate::client::{ClientPlan, Clients, Redirects, Reuse, cause_of};
use crate::secrets::{Redactor, Secret};
use crate::world::World;

/// Requests that wait for a slow collector; more are dropped.
const MOST_WAITING: usize = 16;
const CONNECT: Duration = Duration::from_secs(2);

/// Reads the environment. Keys of the collector are added to the redactor.
pub(crate) fn of(world: &World, redactor: &Redactor) -> Telemetry {
    let transport = Collector { redactor: redactor.clone(), sender: OnceLock::new() };
    let telemetry = Telemetry::of(&|name| world.var(name), transport);
    redactor.learn(telemetry.secrets().map(Secret::new));
    telemetry
}

#[derive(Debug)]
struct Collector {
    redactor: Redactor,
    /// Started by the first turn.
    sender: OnceLock<Sender>,
}

impl Transport for Collector {
    fn redacted(&self, text: &str) -> String {
        self.redactor.clean(text)
    }

    fn send(&self, endpoint: &Endpoint, body: String) {
        let parcel = Parcel { endpoint: endpoint.clone(), body };
        self.sender.get_or_init(Sender::begin).send(parcel);
    }

    fn settle(&self, timeout: Duration) -> Option<String> {
        self.sender.get()?.settle(timeout)
    }
}

#[derive(Debug)]
struct Sender {
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
    body: String,
}

impl Sender {
    fn begin() -> Self {
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
    fn send(&self, parcel: Parcel) {
        let queue = self.queue.lock();
        if queue.as_ref().is_none_or(|queue| queue.try_send(parcel).is_err()) {
            let _ = self.problem.set("the collector is too slow, so data was dropped".to_owned());
        }
    }

    fn settle(&self, timeout: Duration) -> Option<String> {
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
