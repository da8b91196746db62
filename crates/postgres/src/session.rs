//! One session in the database.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use converse_session::storage::{
    Area, CONTENT, JOURNAL, JournalState, SessionLock, SessionStorage, StoredFile,
};
use converse_session::{Holder, SessionError, Uuid};

use crate::connection::{Database, bytes, flag, int, seconds, text, time, uuid};
use crate::file::{DatabaseFile, Source};
use crate::lease::Lease;
use crate::storage::{UNFINISHED, unreadable};

/// How long to wait for a holder that has not signed, and so holds the lock only briefly.
const UNSIGNED: Duration = Duration::from_secs(1);
/// How long to wait for a holder that has signed.
const SIGNED: Duration = Duration::from_millis(50);
const BETWEEN_TRIES: Duration = Duration::from_millis(25);

/// Limit on the bytes of a document. A journal of format 1 is kept as one.
const MAX_DOCUMENT_BYTES: usize = 256 * 1024 * 1024;

/// One session.
#[derive(Debug)]
pub(crate) struct PostgresSession {
    database: Arc<Database>,
    owner: Arc<str>,
    /// Whether the session was found to be the owner's.
    is_owned: AtomicBool,
    id: Uuid,
    /// Not yet published by this process.
    staged: bool,
    dir: PathBuf,
    /// This handle has inserted it.
    begun: bool,
    /// The epoch of the last lease that was taken here; 0 before.
    epoch: AtomicI64,
}

impl PostgresSession {
    pub(crate) fn new(database: Arc<Database>, owner: Arc<str>, id: Uuid, staged: bool) -> Self {
        let name = if staged { format!("{UNFINISHED}{id}") } else { id.to_string() };
        let dir = database.address().label().join(name);
        let (is_owned, epoch) = (AtomicBool::new(false), AtomicI64::new(0));
        Self { database, owner, is_owned, id, staged, dir, begun: false, epoch }
    }

    /// A session that the caller has just inserted.
    pub(crate) fn begun(self) -> Self {
        Self { begun: true, is_owned: AtomicBool::new(true), ..self }
    }

    /// Checks once that the session is the owner's. To another one it does not exist.
    fn owned(&self) -> io::Result<()> {
        match self.is_owned.load(Ordering::Relaxed) || self.exists()? {
            true => Ok(()),
            false => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn take(&self) -> Result<Lease, SessionError> {
        let failed = |source| SessionError::Io { path: self.dir.join("lock"), source };
        self.owned().map_err(failed)?;
        let (now, lease) = (self.database.now(), self.database.lease_seconds());
        let taken = self.database.rows(TAKE, vec![uuid(self.id), time(now), seconds(lease)]);
        if let Some(row) = taken.map_err(failed)?.first() {
            let epoch = row.try_get(0).map_err(unreadable).map_err(failed)?;
            self.epoch.store(epoch, Ordering::Relaxed);
            return Ok(Lease::new(self.database.clone(), self.id, epoch, self.dir.clone()));
        }
        match self.database.rows(HOLDER, vec![uuid(self.id)]).map_err(failed)?.first() {
            None => Err(failed(io::ErrorKind::NotFound.into())),
            Some(row) => {
                let pid = row.try_get::<_, Option<i64>>(0).map_err(unreadable).map_err(failed)?;
                let since = row.try_get::<_, Option<SystemTime>>(1).map_err(unreadable).map_err(failed)?;
                let holder = pid.zip(since).and_then(|(pid, since)| {
                    Some(Holder { pid: pid.try_into().ok()?, since: since.try_into().ok()? })
                });
                Err(SessionError::InUse { session: self.id.to_string(), holder })
            }
        }
    }
}

/// An epoch is never given twice, even if its row was deleted, copied back or lost: it grows with the server's clock.
const TAKE: &str = "UPDATE converse.sessions
    SET epoch = greatest(epoch + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint), holder_pid = NULL, holder_since = NULL,
        expires = coalesce($2, clock_timestamp()) + make_interval(secs => $3)
    WHERE id = $1 AND (expires IS NULL OR expires <= coalesce($2, clock_timestamp())) RETURNING epoch";

const HOLDER: &str = "SELECT holder_pid, holder_since FROM converse.sessions WHERE id = $1";

const ADOPT: &str = "INSERT INTO converse.contents (session, name, bytes)
    SELECT $1, name, bytes FROM converse.contents WHERE session = $2 AND name = $3
        AND EXISTS (SELECT 1 FROM converse.sessions WHERE id = $2 AND owner = $4) ON CONFLICT DO NOTHING";

const SIZE: &str = "SELECT (length
        + coalesce((SELECT sum(octet_length(bytes)) FROM converse.documents WHERE session = $1), 0)
        + coalesce((SELECT sum(octet_length(bytes)) FROM converse.contents WHERE session = $1), 0))::bigint
    FROM converse.sessions WHERE id = $1";

impl SessionStorage for PostgresSession {
    fn dir(&self) -> &Path {
        &self.dir
    }

    fn exists(&self) -> io::Result<bool> {
        let sql = "SELECT 1 FROM converse.sessions WHERE id = $1 AND (published OR $2) AND owner = $3";
        let params = vec![uuid(self.id), flag(self.staged), text(&self.owner)];
        let exists = !self.database.rows(sql, params)?.is_empty();
        self.is_owned.fetch_or(exists, Ordering::Relaxed);
        Ok(exists)
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn StoredFile>> {
        self.owned()?;
        Ok(Box::new(DatabaseFile::open(self.database.clone(), self.id, Source::of(name))?))
    }

    fn has(&self, name: &str) -> io::Result<bool> {
        Ok((self.is_owned.load(Ordering::Relaxed) || self.exists()?)
            && DatabaseFile::exists(&self.database, self.id, &Source::of(name))?)
    }

    fn journal(&self) -> io::Result<JournalState> {
        let sql = "SELECT length, modified FROM converse.sessions
            WHERE id = $1 AND has_journal AND ($2 OR owner = $3)";
        let is_owned = flag(self.is_owned.load(Ordering::Relaxed));
        let rows = self.database.rows(sql, vec![uuid(self.id), is_owned, text(&self.owner)])?;
        let row = rows.first().ok_or(io::ErrorKind::NotFound)?;
        let length = row.try_get::<_, i64>(0).map_err(unreadable)?.unsigned_abs();
        Ok(JournalState { length, modified: row.try_get(1).map_err(unreadable)? })
    }

    fn names(&self, area: Area) -> io::Result<Vec<String>> {
        if !self.is_owned.load(Ordering::Relaxed) && !self.exists()? {
            return Ok(Vec::new());
        }
        let sql = match area {
            Area::Session => {
                "SELECT name FROM converse.documents WHERE session = $1
                 UNION ALL SELECT $2 FROM converse.sessions WHERE id = $1 AND has_journal ORDER BY 1"
            }
            Area::Content => "SELECT name FROM converse.contents WHERE session = $1 AND $2 <> '' ORDER BY 1",
        };
        let rows = self.database.rows(sql, vec![uuid(self.id), text(JOURNAL)])?;
        let mut names =
            rows.iter().map(|row| row.try_get(0)).collect::<Result<Vec<String>, _>>().map_err(unreadable)?;
        // The database may sort by the rules of a language.
        names.sort_unstable();
        Ok(names)
    }

    fn size(&self) -> u64 {
        let rows = self.database.rows(SIZE, vec![uuid(self.id)]).unwrap_or_default();
        rows.first().and_then(|row| row.try_get::<_, i64>(0).ok()).unwrap_or_default().unsigned_abs()
    }

    fn put_content(&self, name: &str, content: &[u8]) -> io::Result<()> {
        self.owned()?;
        let sql = "INSERT INTO converse.contents (session, name, bytes) VALUES ($1, $2, $3)
            ON CONFLICT (session, name) DO UPDATE SET bytes = excluded.bytes";
        self.database.execute(sql, vec![uuid(self.id), text(name), bytes(content)]).map(drop)
    }

    fn adopt_content(&self, from: &dyn SessionStorage, name: &str) -> io::Result<()> {
        self.owned()?;
        let is_here = from.dir().parent() == Some(self.database.address().label());
        let theirs = from.dir().file_name().and_then(|name| name.to_str()).filter(|_| is_here);
        let theirs: Uuid = theirs.and_then(|name| name.parse().ok()).ok_or(io::ErrorKind::Unsupported)?;
        match self
            .database
            .execute(ADOPT, vec![uuid(self.id), uuid(theirs), text(name), text(&self.owner)])?
        {
            0 => Err(io::ErrorKind::NotFound.into()),
            _ => Ok(()),
        }
    }

    fn sync_content(&self) -> io::Result<()> {
        Ok(())
    }

    fn put_derived(&self, name: &str, content: &[u8]) -> io::Result<()> {
        self.owned()?;
        bounded(content)?;
        let sql = "INSERT INTO converse.documents (session, name, bytes) VALUES ($1, $2, $3)
            ON CONFLICT (session, name) DO UPDATE SET bytes = excluded.bytes";
        self.database.execute(sql, vec![uuid(self.id), text(name), bytes(content)]).map(drop)
    }

    fn lock(&self) -> Result<Box<dyn SessionLock>, SessionError> {
        let began = Instant::now();
        loop {
            let taken = self.take();
            let Err(SessionError::InUse { holder, .. }) = &taken else {
                return taken.map(|lease| Box::new(lease) as Box<dyn SessionLock>);
            };
            if began.elapsed() >= if holder.is_some() { SIGNED } else { UNSIGNED } {
                return taken.map(|lease| Box::new(lease) as Box<dyn SessionLock>);
            }
            std::thread::sleep(BETWEEN_TRIES);
        }
    }

    fn is_in_use(&self) -> bool {
        let sql = "SELECT 1 FROM converse.sessions
            WHERE id = $1 AND expires > coalesce($2, clock_timestamp())";
        let rows = self.database.rows(sql, vec![uuid(self.id), time(self.database.now())]);
        rows.is_ok_and(|rows| !rows.is_empty())
    }

    fn abandon(&self) {
        if !self.begun {
            return;
        }
        // Nobody has taken the lease since: that would have raised the epoch.
        let sql = "DELETE FROM converse.sessions
            WHERE id = $1 AND epoch = $2 AND (NOT published OR ($3 AND length = 0))";
        let params = vec![uuid(self.id), int(self.epoch.load(Ordering::Relaxed)), flag(!self.staged)];
        let _ = self.database.execute(sql, params);
    }
}

/// Refuses a document that is too large.
pub(crate) fn bounded(content: &[u8]) -> io::Result<()> {
    if content.len() > MAX_DOCUMENT_BYTES {
        return Err(io::Error::other(format!("more than {} MiB", MAX_DOCUMENT_BYTES >> 20)));
    }
    Ok(())
}

/// Returns the name of content without the area that it is in.
pub(crate) fn content_name(name: &str) -> Option<&str> {
    name.strip_prefix(CONTENT)
}
