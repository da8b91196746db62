//! The lock of a session: a lease with an epoch. Each write names the epoch, and with an old one changes nothing.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use converse_session::files::Durability;
use converse_session::storage::{Appendable, JOURNAL, SessionLock};
use converse_session::{SessionError, Uuid};
use jiff::Timestamp;
use tokio_postgres::types::Type;

use crate::connection::{Database, Failed, Param, borrowed, bytes, flag, int, seconds, text, time, uuid};
use crate::session::{bounded, content_name};
use crate::storage::unreadable;

/// Bytes of the lines that one statement writes when a whole journal is replaced.
const BATCH: usize = 4 * 1024 * 1024;

/// Another process has taken the session over, so nothing was written.
#[derive(Debug)]
struct TakenOver {
    ours: i64,
    theirs: i64,
}

impl fmt::Display for TakenOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ours, theirs } = self;
        write!(
            f,
            "another process has taken the session over (its epoch is {theirs}, ours was {ours}); nothing was written"
        )
    }
}

impl std::error::Error for TakenOver {}

/// A lease that this process holds.
#[derive(Debug)]
pub(crate) struct Lease {
    owner: Owner,
    dir: PathBuf,
    is_deleted: AtomicBool,
}

/// Who writes: the session, and the epoch that each statement names.
#[derive(Debug, Clone)]
struct Owner {
    database: Arc<Database>,
    id: Uuid,
    epoch: i64,
}

/// The row of the session, if the epoch is ours, locked until the end of the statement.
macro_rules! as_owner {
    ($sql:literal) => {
        concat!(
            "WITH own AS (SELECT id FROM converse.sessions WHERE id = $1 AND epoch = $2 FOR UPDATE) ",
            $sql
        )
    };
}

const APPEND: &str = "WITH grown AS (
        UPDATE converse.sessions SET length = $3 + octet_length($4), modified = coalesce($5, clock_timestamp()),
            expires = coalesce($5, clock_timestamp()) + make_interval(secs => $6)
        WHERE id = $1 AND epoch = $2 AND length = $3 AND has_journal
            AND set_config('synchronous_commit', 'off', true) = 'off'
        RETURNING id)
    INSERT INTO converse.entries (session, start, epoch, line) SELECT id, $3, $2, $4 FROM grown";

const SYNC: &str =
    "UPDATE converse.sessions SET expires = coalesce($4, clock_timestamp()) + make_interval(secs => $5)
    WHERE id = $1 AND epoch = $2 AND length = $3";

const TRUNCATE: &str = "WITH own AS (
        UPDATE converse.sessions SET length = $3, generation = generation + 1,
            modified = coalesce($4, clock_timestamp())
        WHERE id = $1 AND epoch = $2 AND length >= $3 RETURNING id),
    gone AS (DELETE FROM converse.entries USING own WHERE session = own.id AND start >= $3)
    SELECT 1 FROM own";

const REPLACE: &str = as_owner!(
    "INSERT INTO converse.documents (session, name, bytes) SELECT id, $3, $4 FROM own
     WHERE $5 OR set_config('synchronous_commit', 'off', true) = 'off'
     ON CONFLICT (session, name) DO UPDATE SET bytes = excluded.bytes"
);

const EXTEND: &str = as_owner!(
    "INSERT INTO converse.documents AS d (session, name, bytes) SELECT id, $3, $4 FROM own
     ON CONFLICT (session, name) DO UPDATE SET bytes = d.bytes || excluded.bytes"
);

const RENAME: &str = as_owner!(
    "UPDATE converse.documents AS d SET name = $4 FROM own WHERE d.session = own.id AND d.name = $3"
);

const REMOVE_DOCUMENT: &str =
    as_owner!("DELETE FROM converse.documents AS d USING own WHERE d.session = own.id AND d.name = $3");

const REMOVE_CONTENT: &str =
    as_owner!("DELETE FROM converse.contents AS c USING own WHERE c.session = own.id AND c.name = $3");

const RELEASE: &str = "UPDATE converse.sessions SET expires = NULL, holder_pid = NULL, holder_since = NULL
    WHERE id = $1 AND epoch = $2 AND set_config('synchronous_commit', 'off', true) = 'off'";

const ADD_LINES: &str = "INSERT INTO converse.entries (session, start, epoch, line)
    SELECT $1, lines.start, $2, lines.line FROM unnest($3, $4) AS lines (start, line)";

impl Owner {
    fn params(&self, more: impl IntoIterator<Item = Param>) -> Vec<Param> {
        [uuid(self.id), int(self.epoch)].into_iter().chain(more).collect()
    }

    /// Runs a statement that names our epoch, and returns how many rows it changed.
    fn execute(&self, sql: &'static str, more: impl IntoIterator<Item = Param>) -> io::Result<u64> {
        self.database.execute(sql, self.params(more))
    }

    /// The same, for a statement that changes a row unless the epoch is another one.
    fn write(&self, sql: &'static str, more: impl IntoIterator<Item = Param>) -> io::Result<()> {
        match self.execute(sql, more)? {
            0 => Err(self.refused()),
            _ => Ok(()),
        }
    }

    /// Returns why a statement changed nothing.
    fn refused(&self) -> io::Error {
        let sql = "SELECT epoch, length FROM converse.sessions WHERE id = $1";
        let row = match self.database.rows(sql, vec![uuid(self.id)]) {
            Ok(rows) => rows.into_iter().next(),
            Err(error) => return error,
        };
        match row.map(|row| row.try_get::<_, i64>(0)) {
            None => io::Error::other("the session was deleted"),
            Some(Err(error)) => unreadable(error),
            Some(Ok(theirs)) if theirs != self.epoch => {
                io::Error::other(TakenOver { ours: self.epoch, theirs })
            }
            Some(Ok(_)) => io::Error::other(
                "the journal in the database does not have the length that was written, as after a crash of the database",
            ),
        }
    }

    /// Returns an error if the epoch is not ours any more.
    fn check(&self) -> io::Result<()> {
        let sql = "SELECT 1 FROM converse.sessions WHERE id = $1 AND epoch = $2";
        match self.database.rows(sql, self.params([]))?.is_empty() {
            true => Err(self.refused()),
            false => Ok(()),
        }
    }

    /// Replaces the journal in one transaction.
    fn replace_journal(&self, whole: &[u8]) -> io::Result<()> {
        let (id, epoch, lines) = (self.id, self.epoch, lines(whole));
        let length = int(i64::try_from(whole.len()).unwrap_or(i64::MAX));
        let is_ours = self.database.call(move |client| {
            Box::pin(async move {
                let transaction = client.transaction().await?;
                let sql = "UPDATE converse.sessions SET length = $3, has_journal = true,
                        generation = generation + 1, modified = clock_timestamp()
                    WHERE id = $1 AND epoch = $2";
                let params: [Param; 3] = [uuid(id), int(epoch), length];
                if transaction.execute_typed(sql, &borrowed(&params)).await? == 0 {
                    return Ok::<_, Failed>(false);
                }
                let sql = "DELETE FROM converse.entries WHERE session = $1";
                transaction.execute_typed(sql, &borrowed(&[uuid(id)])).await?;
                for (starts, lines) in lines {
                    let params: [Param; 4] = [
                        uuid(id),
                        int(epoch),
                        (Box::new(starts), Type::INT8_ARRAY),
                        (Box::new(lines), Type::BYTEA_ARRAY),
                    ];
                    transaction.execute_typed(ADD_LINES, &borrowed(&params)).await?;
                }
                transaction.commit().await?;
                Ok(true)
            })
        })?;
        if is_ours { Ok(()) } else { Err(self.refused()) }
    }
}

/// Splits a journal at its lines, in batches: where each line starts, and its bytes.
fn lines(whole: &[u8]) -> Vec<(Vec<i64>, Vec<Vec<u8>>)> {
    let (mut batches, mut batch, mut size, mut start) = (Vec::new(), (Vec::new(), Vec::new()), 0, 0_i64);
    for line in whole.split_inclusive(|byte| *byte == b'\n') {
        if size > 0 && size + line.len() > BATCH {
            batches.push(std::mem::take(&mut batch));
            size = 0;
        }
        batch.0.push(start);
        batch.1.push(line.to_owned());
        size += line.len();
        start += i64::try_from(line.len()).unwrap_or(i64::MAX);
    }
    if !batch.0.is_empty() {
        batches.push(batch);
    }
    batches
}

impl Lease {
    pub(crate) fn new(database: Arc<Database>, id: Uuid, epoch: i64, dir: PathBuf) -> Self {
        database.hold(id, epoch);
        Self { owner: Owner { database, id, epoch }, dir, is_deleted: AtomicBool::new(false) }
    }

    fn failed(&self) -> impl FnOnce(io::Error) -> SessionError + '_ {
        |source| SessionError::Io { path: self.dir.clone(), source }
    }

    fn journal_of(&self, length: i64) -> Box<dyn Appendable> {
        Box::new(PostgresJournal { owner: self.owner.clone(), length })
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Owner { database, id, epoch } = &self.owner;
        database.release(*id, *epoch);
        if !self.is_deleted.load(Ordering::Relaxed) {
            // Otherwise it expires.
            let _ = self.owner.execute(RELEASE, []);
        }
    }
}

impl SessionLock for Lease {
    fn sign(&mut self, since: Timestamp) -> Result<(), SessionError> {
        let sql =
            "UPDATE converse.sessions SET holder_pid = $3, holder_since = $4 WHERE id = $1 AND epoch = $2";
        let holder = [int(std::process::id().into()), time(Some(SystemTime::from(since)))];
        self.owner.write(sql, holder).map_err(self.failed())
    }

    fn create_journal(&self) -> io::Result<Box<dyn Appendable>> {
        let sql =
            "UPDATE converse.sessions SET has_journal = true, modified = coalesce($3, clock_timestamp())
            WHERE id = $1 AND epoch = $2 AND NOT has_journal";
        match self.owner.execute(sql, [time(self.owner.database.now())])? {
            0 => {
                self.owner.check()?;
                Err(io::ErrorKind::AlreadyExists.into())
            }
            _ => Ok(self.journal_of(0)),
        }
    }

    fn append_journal(&self) -> io::Result<Box<dyn Appendable>> {
        let sql = "SELECT length FROM converse.sessions WHERE id = $1 AND epoch = $2 AND has_journal";
        match self.owner.database.rows(sql, self.owner.params([]))?.first() {
            Some(row) => Ok(self.journal_of(row.try_get(0).map_err(unreadable)?)),
            None => {
                self.owner.check()?;
                Err(io::ErrorKind::NotFound.into())
            }
        }
    }

    fn date_journal(&self, modified: SystemTime) -> io::Result<()> {
        let sql = "UPDATE converse.sessions SET modified = $3 WHERE id = $1 AND epoch = $2";
        self.owner.write(sql, [time(Some(modified))])
    }

    fn replace(&self, name: &str, content: &[u8], durability: Durability) -> io::Result<()> {
        if name == JOURNAL {
            return self.owner.replace_journal(content);
        }
        bounded(content)?;
        let waits = durability == Durability::Name;
        self.owner.write(REPLACE, [text(name), bytes(content), flag(waits)])
    }

    fn extend(&self, name: &str, content: &[u8]) -> io::Result<()> {
        bounded(content)?;
        self.owner.write(EXTEND, [text(name), bytes(content)])
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        match self.owner.execute(RENAME, [text(from), text(to)])? {
            0 => {
                self.owner.check()?;
                Err(io::ErrorKind::NotFound.into())
            }
            _ => Ok(()),
        }
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let removed = match content_name(name) {
            Some(content) => self.owner.execute(REMOVE_CONTENT, [text(content)]),
            None => self.owner.execute(REMOVE_DOCUMENT, [text(name)]),
        };
        if removed? == 0 { self.owner.check() } else { Ok(()) }
    }

    fn sync_names(&self) -> io::Result<()> {
        Ok(())
    }

    fn sweep(&self) -> io::Result<()> {
        Ok(())
    }

    fn publish(&self) -> Result<(), SessionError> {
        let sql = "UPDATE converse.sessions SET published = true WHERE id = $1 AND epoch = $2";
        self.owner.write(sql, []).map_err(self.failed())
    }

    fn delete(&self) -> Result<(), SessionError> {
        let sql = "WITH gone AS (DELETE FROM converse.sessions WHERE id = $1 AND epoch = $2 RETURNING id),
            idle AS (DELETE FROM converse.turns USING gone WHERE session = gone.id AND process IS NULL),
            asked AS (DELETE FROM converse.records USING gone WHERE kind = 'waiting' AND key = gone.id::text)
            SELECT 1 FROM gone";
        self.owner.write(sql, []).map_err(self.failed())?;
        self.is_deleted.store(true, Ordering::Relaxed);
        Ok(())
    }
}

/// The journal, open for appending.
struct PostgresJournal {
    owner: Owner,
    /// Bytes that were written.
    length: i64,
}

impl PostgresJournal {
    fn until(&self) -> [Param; 2] {
        [time(self.owner.database.now()), seconds(self.owner.database.lease_seconds())]
    }
}

impl Appendable for PostgresJournal {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let params = [int(self.length), bytes(line)].into_iter().chain(self.until());
        self.owner.write(APPEND, params)?;
        self.length += i64::try_from(line.len()).unwrap_or(i64::MAX);
        Ok(line.len())
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        let length = i64::try_from(length).unwrap_or(i64::MAX);
        let params = self.owner.params([int(length), time(self.owner.database.now())]);
        if self.owner.database.rows(TRUNCATE, params)?.is_empty() {
            return Err(self.owner.refused());
        }
        self.length = length;
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        let params = [int(self.length)].into_iter().chain(self.until());
        self.owner.write(SYNC, params)
    }
}
