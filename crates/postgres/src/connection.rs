//! The connections to the database, and the thread that runs them.
//!
//! One connection for the statements of sessions, one after the other, one that renews leases, and one for what the audit log
//! is appended to: both must not wait for a long statement. A server has another one (`replicas.rs`).

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, SystemTime};

use converse_session::Uuid;
use parking_lot::Mutex;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{AsyncMessage, Client, Row};

use crate::address::Address;
use crate::audit::SeenEnd;
use crate::migrations::migrate;
use crate::storage::Clock;
use crate::tls;

/// Time to connect, with the first statements.
const CONNECT: Duration = Duration::from_secs(10);
/// Time of one statement, for the server. A statement carries at most a few hundred MiB.
const STATEMENT: Duration = Duration::from_secs(60);
/// The same, for us: the server ends it first if it is there.
const ANSWER: Duration = Duration::from_secs(65);
/// Time of a call, which may wait for those of other threads.
const CALL: Duration = Duration::from_secs(180);
/// Time of a statement about the end of the audit log, with a new connection if there is none.
const AUDIT: Duration = Duration::from_secs(10);
/// A lease is renewed so many times within its duration.
pub(crate) const RENEWALS: u32 = 3;

/// The work of one call, on the connection of the sessions.
pub(crate) type Work<'c, T> = Pin<Box<dyn Future<Output = Result<T, Failed>> + Send + 'c>>;

/// A parameter of a statement.
pub(crate) type Param = (Box<dyn ToSql + Sync + Send>, Type);

pub(crate) fn uuid(id: Uuid) -> Param {
    (Box::new(id), Type::UUID)
}

pub(crate) fn optional_uuid(id: Option<Uuid>) -> Param {
    (Box::new(id), Type::UUID)
}

pub(crate) fn int(number: i64) -> Param {
    (Box::new(number), Type::INT8)
}

pub(crate) fn text(text: &str) -> Param {
    (Box::new(text.to_owned()), Type::TEXT)
}

pub(crate) fn bytes(bytes: &[u8]) -> Param {
    (Box::new(bytes.to_owned()), Type::BYTEA)
}

pub(crate) fn flag(flag: bool) -> Param {
    (Box::new(flag), Type::BOOL)
}

pub(crate) fn seconds(seconds: f64) -> Param {
    (Box::new(seconds), Type::FLOAT8)
}

pub(crate) fn time(time: Option<SystemTime>) -> Param {
    (Box::new(time), Type::TIMESTAMPTZ)
}

/// Returns the form in which a statement takes its parameters.
pub(crate) fn borrowed(params: &[Param]) -> Vec<(&(dyn ToSql + Sync), Type)> {
    params.iter().map(|(value, kind)| (&**value as &(dyn ToSql + Sync), kind.clone())).collect()
}

/// Why a statement failed. It says nothing about the session.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failed {
    #[error("{}", explained(.0))]
    Database(#[from] tokio_postgres::Error),
    #[error(
        "the database has tables of version {found}, of a later version of converse; this one knows up to {known}"
    )]
    Newer { found: i32, known: i32 },
    #[error("no connection within {} s", CONNECT.as_secs())]
    NoConnection,
    #[error("no answer within {} s", .0.as_secs())]
    NoAnswer(Duration),
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl Failed {
    /// Every failure of the database counts as one of the connection: none says that a file is missing or damaged.
    pub(crate) fn into_io(self) -> io::Error {
        match self {
            Self::Io(error) => error,
            Self::NoConnection | Self::NoAnswer(_) => io::Error::new(io::ErrorKind::TimedOut, self),
            Self::Newer { .. } => io::Error::new(io::ErrorKind::NotConnected, self),
            Self::Database(_) => io::Error::new(io::ErrorKind::ConnectionAborted, self),
        }
    }
}

fn explained(error: &tokio_postgres::Error) -> String {
    if let Some(error) = error.as_db_error() {
        let code: &SqlState = error.code();
        return format!("the database reports: {} ({})", error.message(), code.code());
    }
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    format!("{error}{}", cause.unwrap_or_default())
}

/// The database, connected when it is first used.
#[derive(Debug)]
pub(crate) struct Database {
    shared: Arc<Shared>,
    worker: Mutex<Option<Worker>>,
}

/// What the thread of the connections uses.
#[derive(Debug)]
struct Shared {
    address: Address,
    sessions: Connection,
    leases: Connection,
    audit: Connection,
    /// The ends of the audit chains, by owner.
    seen_ends: Mutex<BTreeMap<Arc<str>, SeenEnd>>,
    /// The leases that this process holds, with their epochs.
    held: Mutex<BTreeMap<Uuid, i64>>,
    /// How long a lease lasts after it was taken or renewed.
    lease: Duration,
    clock: Option<Clock>,
}

/// The thread, which ends when this is dropped.
#[derive(Debug)]
struct Worker {
    handle: Handle,
    _stop: oneshot::Sender<()>,
}

impl Database {
    pub(crate) fn new(address: Address, lease: Duration, clock: Option<Clock>) -> Self {
        let [sessions, leases, audit] = std::array::from_fn(|_| Connection::default());
        let (held, seen_ends) = Default::default();
        let shared = Shared { address, sessions, leases, audit, seen_ends, held, lease, clock };
        let shared = Arc::new(shared);
        Self { shared, worker: Mutex::new(None) }
    }

    pub(crate) fn address(&self) -> &Address {
        &self.shared.address
    }

    /// Returns the time that decides about leases; `None` for the database's own.
    pub(crate) fn now(&self) -> Option<SystemTime> {
        self.shared.now()
    }

    /// Returns how long a lease lasts, in seconds.
    pub(crate) fn lease_seconds(&self) -> f64 {
        self.shared.lease.as_secs_f64()
    }

    /// Renews this lease from now on.
    pub(crate) fn hold(&self, id: Uuid, epoch: i64) {
        self.shared.held.lock().insert(id, epoch);
    }

    /// Renews this lease no longer.
    pub(crate) fn release(&self, id: Uuid, epoch: i64) {
        let mut held = self.shared.held.lock();
        if held.get(&id) == Some(&epoch) {
            held.remove(&id);
        }
    }

    /// Runs a statement and returns its rows.
    pub(crate) fn rows(&self, sql: &'static str, params: Vec<Param>) -> io::Result<Vec<Row>> {
        self.call(move |client| {
            Box::pin(async move { Ok(client.query_typed(sql, &borrowed(&params)).await?) })
        })
    }

    /// Runs a statement and returns how many rows it changed.
    pub(crate) fn execute(&self, sql: &'static str, params: Vec<Param>) -> io::Result<u64> {
        self.call(move |client| {
            Box::pin(async move { Ok(client.execute_typed(sql, &borrowed(&params)).await?) })
        })
    }

    /// Runs work on the connection, which is made first if there is none, and waits for the result on this thread.
    pub(crate) fn call<T: Send + 'static>(
        &self,
        work: impl for<'c> FnOnce(&'c mut Client) -> Work<'c, T> + Send + 'static,
    ) -> io::Result<T> {
        let shared = self.shared.clone();
        self.wait(async move { shared.sessions.run(&shared.address, work).await })
    }

    /// Runs a statement about the end of the audit log.
    pub(crate) fn audit_rows(&self, sql: &'static str, params: Vec<Param>) -> io::Result<Vec<Row>> {
        let shared = self.shared.clone();
        self.wait(async move {
            let done = shared.audit.run(&shared.address, move |client| {
                Box::pin(async move { Ok(client.query_typed(sql, &borrowed(&params)).await?) })
            });
            // One that hangs is given up with its connection.
            timeout(AUDIT, done).await.unwrap_or(Err(Failed::NoAnswer(AUDIT)))
        })
    }

    fn wait<T: Send + 'static>(
        &self,
        done: impl Future<Output = Result<T, Failed>> + Send + 'static,
    ) -> io::Result<T> {
        let (sender, receiver) = sync_channel(1);
        self.handle()?.spawn(async move {
            // The caller may have given up.
            let _ = sender.send(done.await.map_err(Failed::into_io));
        });
        receiver.recv_timeout(CALL).unwrap_or_else(|_| Err(Failed::NoAnswer(CALL).into_io()))
    }

    /// Returns the end of an owner's audit chain as this process last saw it.
    pub(crate) fn seen_end(&self, owner: &Arc<str>) -> SeenEnd {
        Arc::clone(self.shared.seen_ends.lock().entry(Arc::clone(owner)).or_default())
    }

    /// Returns the runtime of the connections, which is started first if it does not run.
    pub(crate) fn handle(&self) -> io::Result<Handle> {
        let mut worker = self.worker.lock();
        if let Some(worker) = &*worker {
            return Ok(worker.handle.clone());
        }
        let (stop, stopped) = oneshot::channel();
        let (sender, receiver) = sync_channel(1);
        let shared = self.shared.clone();
        // The runtime is made on its thread: dropped here, where another one may run, it would panic.
        std::thread::Builder::new().name("postgres".to_owned()).spawn(move || {
            let runtime = match Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => runtime,
                Err(error) => return drop(sender.send(Err(error))),
            };
            let _ = sender.send(Ok(runtime.handle().clone()));
            runtime.block_on(async {
                // With a clock of tests, writes alone renew.
                if shared.clock.is_none() {
                    tokio::spawn(shared.renew());
                }
                let _ = stopped.await;
            });
        })?;
        let handle = receiver.recv_timeout(CONNECT).map_err(io::Error::other)??;
        *worker = Some(Worker { handle: handle.clone(), _stop: stop });
        Ok(handle)
    }
}

impl Shared {
    fn now(&self) -> Option<SystemTime> {
        self.clock.as_ref().map(|clock| clock.now())
    }

    /// Renews the leases that are held, with one statement for all. Without any, the database is not asked.
    async fn renew(self: Arc<Self>) {
        loop {
            tokio::time::sleep(self.lease / RENEWALS).await;
            let (ids, epochs): (Vec<Uuid>, Vec<i64>) =
                self.held.lock().iter().map(|(id, epoch)| (*id, *epoch)).unzip();
            if ids.is_empty() {
                continue;
            }
            let held: [Param; 2] = [(Box::new(ids), Type::UUID_ARRAY), (Box::new(epochs), Type::INT8_ARRAY)];
            let until = [time(self.now()), seconds(self.lease.as_secs_f64())];
            let params: Vec<Param> = held.into_iter().chain(until).collect();
            let renewed = self.leases.run(&self.address, move |client| {
                Box::pin(async move { Ok(client.execute_typed(RENEW, &borrowed(&params)).await?) })
            });
            // One that hangs is given up with its connection, while there is time for another.
            let renewed = timeout(self.lease / RENEWALS, renewed).await;
            if let Err(error) = renewed.unwrap_or(Err(Failed::NoAnswer(self.lease / RENEWALS))) {
                tracing::warn!(%error, "the leases of sessions were not renewed");
            }
        }
    }
}

const RENEW: &str = "UPDATE converse.sessions AS s
    SET expires = coalesce($3, clock_timestamp()) + make_interval(secs => $4)
    FROM unnest($1, $2) AS held (id, epoch) WHERE s.id = held.id AND s.epoch = held.epoch AND s.expires IS NOT NULL";

/// One connection, made when it is needed.
#[derive(Debug, Default)]
struct Connection {
    live: tokio::sync::Mutex<Option<Live>>,
}

/// An open connection, closed when dropped.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) client: Client,
    task: JoinHandle<()>,
}

impl Drop for Live {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Connection {
    async fn run<T>(
        &self,
        address: &Address,
        work: impl for<'c> FnOnce(&'c mut Client) -> Work<'c, T>,
    ) -> Result<T, Failed> {
        let mut slot = self.live.lock().await;
        let mut live = match slot.take().filter(|live| !live.client.is_closed()) {
            Some(live) => live,
            None => timeout(CONNECT, connect(address, |_| {})).await.map_err(|_| Failed::NoConnection)??,
        };
        // What is cut off in the middle is not used again.
        let done = timeout(ANSWER, work(&mut live.client)).await.map_err(|_| Failed::NoAnswer(ANSWER))?;
        *slot = Some(live);
        done
    }
}

/// Connects, and brings the tables to this version. `heard` gets the messages of a connection that listens.
pub(crate) async fn connect(
    address: &Address,
    heard: impl Fn(&str) + Send + 'static,
) -> Result<Live, Failed> {
    let (client, mut connection) = address.config.connect(tls::connector(address)?).await?;
    let task = tokio::spawn(async move {
        while let Some(message) = poll_fn(|cx| connection.poll_message(cx)).await {
            match message {
                Ok(AsyncMessage::Notification(message)) => heard(message.payload()),
                Ok(_) => {}
                Err(error) => {
                    tracing::debug!(error = explained(&error), "the connection to the database was lost");
                    break;
                }
            }
        }
    });
    let mut live = Live { client, task };
    let seconds = STATEMENT.as_secs();
    let set = format!(
        "SET statement_timeout = '{seconds}s'; SET lock_timeout = '{seconds}s';
         SET idle_in_transaction_session_timeout = '{seconds}s'; SET client_min_messages = warning"
    );
    live.client.batch_execute(&set).await?;
    // Transactions that must not wait for the disk say so themselves.
    let row = live.client.query_one("SELECT current_setting('synchronous_commit')", &[]).await?;
    if row.try_get::<_, &str>(0)? == "off" {
        live.client.batch_execute("SET synchronous_commit = on").await?;
    }
    migrate(&mut live.client).await?;
    Ok(live)
}
