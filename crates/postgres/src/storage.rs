//! All sessions in the database.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use converse_session::storage::{JournalState, Listed, Records, Replicas, SessionStorage, Storage, Wake};
use converse_session::{SessionError, Uuid};

use crate::Address;
use crate::connection::{Database, flag, text, time, uuid};
use crate::records::PostgresRecords;
use crate::replicas::PostgresReplicas;
use crate::session::PostgresSession;

/// How long the lease of a writer lasts after its process was suspended or lost the database.
const LEASE: Duration = Duration::from_secs(10);

/// Prefix of the name of a session under construction.
pub(crate) const UNFINISHED: &str = ".new-";

/// A clock for leases, for tests. Without one, the database's clock decides, which all machines share.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> SystemTime + Send + Sync>);

impl Clock {
    /// `now` returns the time.
    pub fn new(now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    pub(crate) fn now(&self) -> SystemTime {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

/// The sessions of one owner in a database. Creating a value accesses nothing.
#[derive(Debug, Clone)]
pub struct Postgres {
    database: Arc<Database>,
    owner: Arc<str>,
}

impl Postgres {
    /// The sessions at this address, of the owner that the command line has.
    pub fn new(address: Address) -> Self {
        Self::on(Database::new(address, LEASE, None))
    }

    /// The same, with leases by another clock, which only writes renew.
    pub fn with_clock(address: Address, clock: Clock) -> Self {
        Self::on(Database::new(address, LEASE, Some(clock)))
    }

    fn on(database: Database) -> Self {
        Self { database: Arc::new(database), owner: Arc::from("") }
    }

    fn at(&self, id: Uuid, staged: bool) -> PostgresSession {
        PostgresSession::new(self.database.clone(), Arc::clone(&self.owner), id, staged)
    }

    fn failed(&self) -> impl FnOnce(io::Error) -> SessionError + '_ {
        let path = self.database.address().label().to_owned();
        move |source| SessionError::Io { path, source }
    }
}

const LITTER: &str = "SELECT id FROM converse.sessions
    WHERE NOT published AND (expires IS NULL OR expires <= coalesce($1, clock_timestamp())) ORDER BY id";

const SWEEP: &str = "DELETE FROM converse.sessions
    WHERE id = $2 AND NOT published AND (expires IS NULL OR expires <= coalesce($1, clock_timestamp()))";

const LISTED: &str = "SELECT s.id, s.length, s.modified, d.bytes
    FROM converse.sessions AS s
    LEFT JOIN converse.documents AS d ON d.session = s.id AND d.name = 'metadata.toml'
    WHERE s.published AND s.owner = $1 ORDER BY s.id";

impl Storage for Postgres {
    fn ids(&self) -> Result<Vec<Uuid>, SessionError> {
        let sql = "SELECT id FROM converse.sessions WHERE published AND owner = $1 ORDER BY id";
        let rows = self.database.rows(sql, vec![text(&self.owner)]);
        let ids = rows.and_then(|rows| rows.iter().map(|row| row.try_get(0).map_err(unreadable)).collect());
        ids.map_err(self.failed())
    }

    fn session(&self, id: Uuid) -> Arc<dyn SessionStorage> {
        Arc::new(self.at(id, false))
    }

    fn begin(&self, id: Uuid, staged: bool) -> Result<Arc<dyn SessionStorage>, SessionError> {
        let sql =
            "INSERT INTO converse.sessions (id, published, owner) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
        let at = self.at(id, staged);
        let begun = self.database.execute(sql, vec![uuid(id), flag(!staged), text(&self.owner)]);
        match begun.map_err(|source| SessionError::Io { path: at.dir().to_owned(), source })? {
            0 => {
                let (path, source) = (at.dir().to_owned(), io::ErrorKind::AlreadyExists.into());
                Err(SessionError::Io { path, source })
            }
            _ => Ok(Arc::new(at.begun())),
        }
    }

    fn litter(&self) -> Vec<PathBuf> {
        let rows = self.database.rows(LITTER, vec![time(self.database.now())]).unwrap_or_default();
        let ids = rows.iter().filter_map(|row| row.try_get::<_, Uuid>(0).ok());
        ids.map(|id| self.database.address().label().join(format!("{UNFINISHED}{id}"))).collect()
    }

    fn sweep(&self, litter: &Path) -> Result<bool, SessionError> {
        let name = litter.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let Some(id) = name.strip_prefix(UNFINISHED).and_then(|id| id.parse().ok()) else { return Ok(false) };
        let swept = self.database.execute(SWEEP, vec![time(self.database.now()), uuid(id)]);
        swept.map(|rows| rows > 0).map_err(self.failed())
    }

    fn listed(&self) -> Result<Option<Vec<Listed>>, SessionError> {
        let rows = self.database.rows(LISTED, vec![text(&self.owner)]);
        let listed = rows.and_then(|rows| {
            let listed = rows.iter().map(|row| {
                let length = row.try_get::<_, i64>(1)?.unsigned_abs();
                let journal = JournalState { length, modified: row.try_get(2)? };
                Ok(Listed { id: row.try_get(0)?, journal, metadata: row.try_get(3)? })
            });
            listed.collect::<Result<Vec<_>, tokio_postgres::Error>>().map_err(unreadable)
        });
        listed.map(Some).map_err(self.failed())
    }

    fn of_owner(&self, owner: &str) -> Option<Arc<dyn Storage>> {
        Some(Arc::new(Self { database: self.database.clone(), owner: Arc::from(owner) }))
    }

    fn records(&self) -> Option<Arc<dyn Records>> {
        Some(Arc::new(PostgresRecords::new(self.database.clone(), Arc::clone(&self.owner))))
    }

    fn join(&self, process: Uuid, wake: Wake) -> io::Result<Option<Arc<dyn Replicas>>> {
        let joined = PostgresReplicas::join(self.database.clone(), process, LEASE, wake)?;
        Ok(Some(Arc::new(joined)))
    }
}

/// A column of another type: a table that was changed by others.
pub(crate) fn unreadable(error: tokio_postgres::Error) -> io::Error {
    io::Error::new(io::ErrorKind::NotConnected, error)
}
