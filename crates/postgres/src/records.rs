//! Small values in the database.

use std::io;
use std::sync::Arc;

use converse_session::storage::{RecordKind, RecordUsage, Records};

use crate::connection::{Database, Param, bytes, seconds, text};
use crate::session::bounded;
use crate::storage::unreadable;

/// An age that no value has, in seconds.
const FOREVER: f64 = 1e9;

/// The values of one owner.
#[derive(Debug)]
pub(crate) struct PostgresRecords {
    database: Arc<Database>,
    owner: Arc<str>,
}

const GET: &str = "SELECT value FROM converse.records WHERE owner = $1 AND kind = $2 AND key = $3
    AND changed > clock_timestamp() - make_interval(secs => $4)";

const INSERT: &str = "INSERT INTO converse.records (owner, kind, key, value) VALUES ($1, $2, $3, $5)
    ON CONFLICT (owner, kind, key) DO UPDATE SET value = excluded.value, changed = excluded.changed
    WHERE records.changed <= clock_timestamp() - make_interval(secs => $4)";

const PUT: &str = "INSERT INTO converse.records (owner, kind, key, value) VALUES ($1, $2, $3, $4)
    ON CONFLICT (owner, kind, key) DO UPDATE SET value = excluded.value, changed = excluded.changed";

const UPDATE: &str = "UPDATE converse.records SET value = $5, changed = clock_timestamp()
    WHERE owner = $1 AND kind = $2 AND key = $3 AND value = $4";

const KEYS: &str = "SELECT key FROM converse.records WHERE owner = $1 AND kind = $2
    AND changed > clock_timestamp() - make_interval(secs => $3)";

/// Of all owners: one that never comes again leaves nothing.
const EXPIRE: &str = "DELETE FROM converse.records
    WHERE kind = $1 AND changed <= clock_timestamp() - make_interval(secs => $2)";

const USAGE: &str = "SELECT count(*), coalesce(sum(octet_length(value)), 0)::bigint
    FROM converse.records WHERE owner = $1 AND kind = $2";

fn age(kind: RecordKind) -> Param {
    seconds(kind.max_age().map_or(FOREVER, |age| age.as_secs_f64()))
}

impl PostgresRecords {
    pub(crate) fn new(database: Arc<Database>, owner: Arc<str>) -> Self {
        Self { database, owner }
    }

    fn params(&self, kind: RecordKind, more: impl IntoIterator<Item = Param>) -> Vec<Param> {
        [text(&self.owner), text(kind.as_str())].into_iter().chain(more).collect()
    }
}

impl Records for PostgresRecords {
    fn get(&self, kind: RecordKind, key: &str) -> io::Result<Option<Vec<u8>>> {
        let rows = self.database.rows(GET, self.params(kind, [text(key), age(kind)]))?;
        rows.first().map(|row| row.try_get(0).map_err(unreadable)).transpose()
    }

    fn insert(&self, kind: RecordKind, key: &str, value: &[u8]) -> io::Result<bool> {
        bounded(value)?;
        let params = self.params(kind, [text(key), age(kind), bytes(value)]);
        Ok(self.database.execute(INSERT, params)? > 0)
    }

    fn put(&self, kind: RecordKind, key: &str, value: &[u8]) -> io::Result<()> {
        bounded(value)?;
        self.database.execute(PUT, self.params(kind, [text(key), bytes(value)])).map(drop)
    }

    fn update(&self, kind: RecordKind, key: &str, old: &[u8], new: &[u8]) -> io::Result<bool> {
        bounded(new)?;
        let params = self.params(kind, [text(key), bytes(old), bytes(new)]);
        Ok(self.database.execute(UPDATE, params)? > 0)
    }

    fn remove(&self, kind: RecordKind, key: &str) -> io::Result<()> {
        let sql = "DELETE FROM converse.records WHERE owner = $1 AND kind = $2 AND key = $3";
        self.database.execute(sql, self.params(kind, [text(key)])).map(drop)
    }

    fn remove_known(&self, kind: RecordKind, key: &str, old: &[u8]) -> io::Result<bool> {
        let sql = "DELETE FROM converse.records WHERE owner = $1 AND kind = $2 AND key = $3 AND value = $4";
        Ok(self.database.execute(sql, self.params(kind, [text(key), bytes(old)]))? > 0)
    }

    fn keys(&self, kind: RecordKind) -> io::Result<Vec<String>> {
        let rows = self.database.rows(KEYS, self.params(kind, [age(kind)]))?;
        let keys = rows.iter().map(|row| row.try_get(0)).collect::<Result<Vec<String>, _>>();
        let mut keys = keys.map_err(unreadable)?;
        keys.sort_unstable();
        Ok(keys)
    }

    fn sweep(&self, kind: RecordKind) -> io::Result<RecordUsage> {
        if kind.max_age().is_some() {
            self.database.execute(EXPIRE, vec![text(kind.as_str()), age(kind)])?;
        }
        let rows = self.database.rows(USAGE, self.params(kind, []))?;
        let row = rows.first().ok_or(io::ErrorKind::UnexpectedEof)?;
        let number = |column| row.try_get::<_, i64>(column).map(i64::unsigned_abs).map_err(unreadable);
        Ok(RecordUsage { count: usize::try_from(number(0)?).unwrap_or(usize::MAX), bytes: number(1)? })
    }
}
