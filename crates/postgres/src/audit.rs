//! The audit log in the database.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use converse_session::storage::{AuditLines, ChainEnd, MAX_AUDIT_LINE_BYTES, NumberedLine};
use parking_lot::Mutex;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::connection::{Database, Param, bytes, int, text};
use crate::storage::unreadable;

/// The end of a chain as this process last saw it.
pub(crate) type SeenEnd = Arc<Mutex<Option<ChainEnd>>>;

/// The log of one owner.
#[derive(Debug)]
pub(crate) struct PostgresAudit {
    database: Arc<Database>,
    owner: Arc<str>,
    label: PathBuf,
    seen: SeenEnd,
}

const END: &str = "SELECT seq, head FROM converse.audit_heads WHERE owner = $1";

const LINE: &str = "SELECT line FROM converse.audit WHERE owner = $1 AND seq = $2";

/// The first line begins a chain. Other lines follow the end that is named, or there are none.
const APPEND: &str = "WITH grown AS (
        INSERT INTO converse.audit_heads AS h (owner, seq, head) SELECT $1, $4, $5
        WHERE $2 = 0 OR EXISTS (SELECT 1 FROM converse.audit_heads WHERE owner = $1)
        ON CONFLICT (owner) DO UPDATE SET seq = excluded.seq, head = excluded.head
            WHERE h.seq = $2 AND h.head = $3
        RETURNING owner)
    INSERT INTO converse.audit (owner, seq, line)
    SELECT grown.owner, $2 + lines.number, lines.line
    FROM grown, unnest($6) WITH ORDINALITY AS lines (line, number)
    RETURNING seq";

/// At most so many lines of a page, and the first ones of them with so many bytes together. Of a longer line than is allowed,
/// the beginning.
macro_rules! page {
    ($side:literal, $order:literal) => {
        concat!(
            "SELECT seq, substring(line FROM 1 FOR $3::integer) FROM (
                SELECT seq, line, sum(octet_length(line)) OVER (ORDER BY seq ",
            $order,
            ") - octet_length(line) AS earlier FROM (
                    SELECT seq, line FROM converse.audit WHERE owner = $1 AND seq > 0 AND seq ",
            $side,
            " $2 ORDER BY seq ",
            $order,
            " LIMIT 1000) AS lines) AS page
            WHERE earlier < 4194304 ORDER BY seq ",
            $order
        )
    };
}

const AFTER: &str = page!(">", "ASC");
const BEFORE: &str = page!("<", "DESC");

/// A number of a line; no chain has a larger one.
fn number(number: u64) -> Param {
    int(i64::try_from(number).unwrap_or(i64::MAX))
}

impl PostgresAudit {
    pub(crate) fn new(database: Arc<Database>, owner: Arc<str>) -> Self {
        let label = match &*owner {
            "" => database.address().label().to_owned(),
            owner => database.address().label().join("principals").join(owner),
        };
        let seen = database.seen_end(&owner);
        Self { database, owner, label, seen }
    }

    fn page(&self, sql: &'static str, seq: u64) -> io::Result<Vec<NumberedLine>> {
        let most = int(i64::try_from(MAX_AUDIT_LINE_BYTES + 1).unwrap_or(i64::MAX));
        let rows = self.database.rows(sql, vec![text(&self.owner), number(seq), most])?;
        let read = |row: &Row| Ok((row.try_get::<_, i64>(0)?.unsigned_abs(), row.try_get(1)?));
        rows.iter().map(read).collect::<Result<_, _>>().map_err(unreadable)
    }
}

impl AuditLines for PostgresAudit {
    fn label(&self) -> &Path {
        &self.label
    }

    fn seen(&self) -> &Mutex<Option<ChainEnd>> {
        &self.seen
    }

    fn end(&self) -> io::Result<ChainEnd> {
        let rows = self.database.audit_rows(END, vec![text(&self.owner)])?;
        let Some(row) = rows.first() else { return Ok(ChainEnd::default()) };
        let seq = row.try_get::<_, i64>(0).map_err(unreadable)?.unsigned_abs();
        let head: &[u8] = row.try_get(1).map_err(unreadable)?;
        let head = head.try_into().map_err(|_| io::Error::other("the hash of the last line is damaged"))?;
        Ok(ChainEnd { seq, head })
    }

    fn append(&self, after: ChainEnd, lines: Vec<Vec<u8>>, end: ChainEnd) -> io::Result<bool> {
        let ends = [number(after.seq), bytes(&after.head), number(end.seq), bytes(&end.head)];
        let lines: Param = (Box::new(lines), Type::BYTEA_ARRAY);
        let params = [text(&self.owner)].into_iter().chain(ends).chain([lines]).collect();
        Ok(!self.database.audit_rows(APPEND, params)?.is_empty())
    }

    fn line(&self, seq: u64) -> io::Result<Option<Vec<u8>>> {
        let rows = self.database.audit_rows(LINE, vec![text(&self.owner), number(seq)])?;
        rows.first().map(|row| row.try_get(0)).transpose().map_err(unreadable)
    }

    fn after(&self, seq: u64) -> io::Result<Vec<NumberedLine>> {
        self.page(AFTER, seq)
    }

    fn before(&self, seq: u64) -> io::Result<Vec<NumberedLine>> {
        self.page(BEFORE, seq)
    }

    fn owners(&self) -> io::Result<Vec<String>> {
        let sql = "SELECT owner FROM converse.audit_heads UNION SELECT DISTINCT owner FROM converse.audit";
        let rows = self.database.rows(sql, Vec::new())?;
        let owners = rows.iter().map(|row| row.try_get(0)).collect::<Result<Vec<String>, _>>();
        let mut owners = owners.map_err(unreadable)?;
        owners.sort_unstable();
        Ok(owners)
    }
}
