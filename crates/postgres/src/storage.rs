//! All sessions in the database.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use converse_session::storage::{
    AuditLines, JournalState, Listed, Records, Replicas, SessionStorage, Storage, Wake,
};
use converse_session::{SessionError, Uuid};

use tokio_postgres::Row;

use crate::Address;
use crate::audit::PostgresAudit;
use crate::connection::{Database, flag, int, optional_uuid, text, time, uuid};
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

    /// Returns the next page of sessions by id.
    fn after(&self, sql: &'static str, after: Option<Uuid>, size: i64) -> io::Result<Vec<Row>> {
        self.database.rows(sql, vec![text(&self.owner), optional_uuid(after), int(size)])
    }

    /// Returns the metadata of one session.
    fn metadata(&self, id: Uuid) -> io::Result<Option<Vec<u8>>> {
        let sql = "SELECT substring(bytes FROM 1 FOR 65537) FROM converse.documents
            WHERE session = $1 AND name = 'metadata.toml'";
        let rows = self.database.rows(sql, vec![uuid(id)])?;
        rows.first().map(|row| row.try_get(0).map_err(unreadable)).transpose()
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

const IDS: &str = "SELECT id FROM converse.sessions
    WHERE published AND owner = $1 AND ($2 IS NULL OR id > $2) ORDER BY id LIMIT $3";

/// When the journal was last written, if there is one. `infinity` is in the future: nothing is removed for its age.
macro_rules! modified {
    () => {
        "CASE WHEN has_journal THEN CASE WHEN isfinite(modified) THEN modified ELSE '9999-01-01' END END"
    };
}

/// Without the metadata, which is read with [`LISTED`] or one by one.
const STATES: &str = concat!(
    "SELECT id, length, ",
    modified!(),
    "
    FROM converse.sessions
    WHERE published AND owner = $1 AND ($2 IS NULL OR id > $2) ORDER BY id LIMIT $3"
);

/// More bytes are not metadata.
const LISTED: &str = concat!(
    "SELECT s.id, s.length, ",
    modified!(),
    ",
        substring(d.bytes FROM 1 FOR 65537)
    FROM (SELECT * FROM converse.sessions
        WHERE published AND owner = $1 AND ($2 IS NULL OR id > $2) ORDER BY id LIMIT $3) AS s
    LEFT JOIN converse.documents AS d ON d.session = s.id AND d.name = 'metadata.toml' ORDER BY s.id"
);

/// Larger ones are read by themselves: a page has a bound.
const INDEXED: &str = concat!(
    "SELECT s.id, s.length, ",
    modified!(),
    ",
        CASE WHEN octet_length(d.bytes) <= 65536 THEN d.bytes END
    FROM (SELECT * FROM converse.sessions
        WHERE published AND owner = $1 AND ($2 IS NULL OR id > $2) ORDER BY id LIMIT $3) AS s
    LEFT JOIN converse.documents AS d ON d.session = s.id AND d.name = 'index' ORDER BY s.id"
);

const RECENT: &str = "SELECT modified, id FROM converse.sessions
    WHERE published AND owner = $1 AND has_journal AND isfinite(modified)
        AND ($2 IS NULL OR (modified, id) < ($2, $3))
    ORDER BY modified DESC, id DESC LIMIT $4";

/// Sessions of one page of a list, with their metadata.
const PAGE: i64 = 500;
/// Ids of one page.
const PAGE_OF_IDS: i64 = 50_000;

impl Storage for Postgres {
    fn ids(&self) -> Result<Vec<Uuid>, SessionError> {
        let mut ids = Vec::new();
        loop {
            let rows = self.after(IDS, ids.last().copied(), PAGE_OF_IDS).map_err(self.failed())?;
            let read = rows.iter().map(|row| row.try_get(0));
            let page = read.collect::<Result<Vec<Uuid>, _>>().map_err(unreadable).map_err(self.failed())?;
            if page.is_empty() {
                return Ok(ids);
            }
            ids.extend(page);
        }
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

    fn listed(&self, after: Option<Uuid>) -> Result<Option<Vec<Listed>>, SessionError> {
        let whole: io::Result<Vec<_>> = self.after(LISTED, after, PAGE).and_then(|rows| {
            rows.iter().map(|row| listed(row, Ok(row.try_get(3).map_err(unreadable)?))).collect()
        });
        let page = whole.or_else(|error| {
            // One value that cannot be read is not an error of the others.
            let rows = self.after(STATES, after, PAGE)?;
            tracing::warn!(%error, "a page of sessions cannot be read as a whole");
            rows.iter().map(|row| listed(row, self.metadata(row.try_get(0).map_err(unreadable)?))).collect()
        });
        page.map(Some).map_err(self.failed())
    }

    fn indexed(&self, after: Option<Uuid>) -> Result<Option<Vec<Listed>>, SessionError> {
        let rows = self.after(INDEXED, after, PAGE).map_err(self.failed())?;
        let page = rows.iter().map(|row| listed(row, row.try_get(3).map_err(unreadable)));
        page.collect::<io::Result<_>>().map(Some).map_err(self.failed())
    }

    fn recent(
        &self,
        before: Option<(SystemTime, Uuid)>,
    ) -> Result<Option<Vec<(SystemTime, Uuid)>>, SessionError> {
        let (modified, id) = before.unzip();
        let params = vec![text(&self.owner), time(modified), uuid(id.unwrap_or_default()), int(PAGE)];
        let page = self.database.rows(RECENT, params).and_then(|rows| {
            let page = rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?)));
            page.collect::<Result<Vec<_>, tokio_postgres::Error>>().map_err(unreadable)
        });
        page.map(Some).map_err(self.failed())
    }

    fn of_owner(&self, owner: &str) -> Option<Arc<dyn Storage>> {
        Some(Arc::new(Self { database: self.database.clone(), owner: Arc::from(owner) }))
    }

    fn records(&self) -> Option<Arc<dyn Records>> {
        Some(Arc::new(PostgresRecords::new(self.database.clone(), Arc::clone(&self.owner))))
    }

    fn audit(&self) -> Option<Arc<dyn AuditLines>> {
        Some(Arc::new(PostgresAudit::new(self.database.clone(), Arc::clone(&self.owner))))
    }

    fn join(&self, process: Uuid, wake: Wake) -> io::Result<Option<Arc<dyn Replicas>>> {
        let joined = PostgresReplicas::join(self.database.clone(), process, LEASE, wake)?;
        Ok(Some(Arc::new(joined)))
    }
}

/// A session with its id, length and time in the first columns.
fn listed(row: &Row, document: io::Result<Option<Vec<u8>>>) -> io::Result<Listed> {
    let state = || -> Result<_, tokio_postgres::Error> {
        let length = row.try_get::<_, i64>(1)?.unsigned_abs();
        let modified = row.try_get::<_, Option<SystemTime>>(2)?;
        let journal = modified.map(|modified| JournalState { length, modified });
        Ok((row.try_get(0)?, journal))
    };
    let (id, journal) = state().map_err(unreadable)?;
    Ok(Listed { id, journal, document })
}

/// A column of another type: a table that was changed by others.
pub(crate) fn unreadable(error: tokio_postgres::Error) -> io::Error {
    io::Error::new(io::ErrorKind::NotConnected, error)
}
