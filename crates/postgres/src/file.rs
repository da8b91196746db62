//! Reads what is in the database in bounded pieces.

use std::io::{self, Read};
use std::sync::Arc;

use converse_session::Uuid;
use converse_session::storage::{JOURNAL, StoredFile};
use tokio_postgres::Row;

use crate::connection::{Database, Param, int, text, uuid};
use crate::session::content_name;
use crate::storage::unreadable;

/// Bytes of one piece.
const PIECE: u64 = 256 * 1024;

/// The rows that have the bytes.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    Journal,
    Document(String),
    Content(String),
}

impl Source {
    /// Returns the source for a name of the port.
    pub(crate) fn of(name: &str) -> Self {
        match content_name(name) {
            Some(content) => Self::Content(content.to_owned()),
            None if name == JOURNAL => Self::Journal,
            None => Self::Document(name.to_owned()),
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Journal => JOURNAL,
            Self::Document(name) | Self::Content(name) => name,
        }
    }
}

/// The bytes of a journal, a document or content, as they were when it was opened. If they are others by now, reading on is
/// an error.
#[derive(Debug)]
pub(crate) struct DatabaseFile {
    database: Arc<Database>,
    id: Uuid,
    source: Source,
    length: u64,
    /// What was open, of all that has had this name.
    version: String,
    /// Where the next read begins.
    position: u64,
    /// The last piece, and where it begins.
    piece: (u64, Vec<u8>),
}

/// The length, the version, and the first piece of at most $3 bytes, so that what fits into one piece is read at once. The
/// version of a row is the transaction that wrote it.
const JOURNAL_START: &str = "SELECT length, generation::text, ''::bytea
    FROM converse.sessions WHERE id = $1 AND has_journal AND $2 <> '' AND $3 >= 0";
const DOCUMENT_START: &str =
    "SELECT octet_length(bytes)::bigint, xmin::text, substring(bytes FROM 1 FOR $3::integer)
    FROM converse.documents WHERE session = $1 AND name = $2";
const CONTENT_START: &str =
    "SELECT octet_length(bytes)::bigint, xmin::text, substring(bytes FROM 1 FOR $3::integer)
    FROM converse.contents WHERE session = $1 AND name = $2";

/// The lines that have some of the bytes from $3 on, $4 of them, and of each line what is among them.
const JOURNAL_PIECE: &str = "SELECT substring(line
        FROM (greatest($3 - start, 0) + 1)::integer
        FOR (least($3 + $4, start + octet_length(line)) - greatest($3, start))::integer)
    FROM converse.entries
    WHERE session = $1 AND $2 <> '' AND start < $3 + $4 AND start + octet_length(line) > $3
        AND start >= (SELECT coalesce(max(start), 0) FROM converse.entries WHERE session = $1 AND start <= $3)
        AND (SELECT generation::text FROM converse.sessions WHERE id = $1) = $5
    ORDER BY start";
const DOCUMENT_PIECE: &str = "SELECT substring(bytes FROM ($3 + 1)::integer FOR $4::integer)
    FROM converse.documents WHERE session = $1 AND name = $2 AND xmin::text = $5";
const CONTENT_PIECE: &str = "SELECT substring(bytes FROM ($3 + 1)::integer FOR $4::integer)
    FROM converse.contents WHERE session = $1 AND name = $2 AND xmin::text = $5";

impl DatabaseFile {
    pub(crate) fn open(database: Arc<Database>, id: Uuid, source: Source) -> io::Result<Self> {
        let row = Self::start(&database, id, &source, PIECE)?;
        let length = row.try_get::<_, i64>(0).map_err(unreadable)?.unsigned_abs();
        let version = row.try_get(1).map_err(unreadable)?;
        let piece = (0, row.try_get(2).map_err(unreadable)?);
        Ok(Self { database, id, source, length, version, position: 0, piece })
    }

    /// Returns whether it exists.
    pub(crate) fn exists(database: &Database, id: Uuid, source: &Source) -> io::Result<bool> {
        match Self::start(database, id, source, 0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            start => start.map(|_| true),
        }
    }

    fn start(database: &Database, id: Uuid, source: &Source, piece: u64) -> io::Result<Row> {
        let sql = match source {
            Source::Journal => JOURNAL_START,
            Source::Document(_) => DOCUMENT_START,
            Source::Content(_) => CONTENT_START,
        };
        let rows = database.rows(sql, vec![uuid(id), text(source.name()), number(piece)])?;
        rows.into_iter().next().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Returns the bytes from an offset on, at most [`PIECE`].
    fn piece(&self, offset: u64) -> io::Result<Vec<u8>> {
        let wanted = self.length.saturating_sub(offset).min(PIECE);
        if wanted == 0 {
            return Ok(Vec::new());
        }
        let sql = match self.source {
            Source::Journal => JOURNAL_PIECE,
            Source::Document(_) => DOCUMENT_PIECE,
            Source::Content(_) => CONTENT_PIECE,
        };
        let which = [uuid(self.id), text(self.source.name())];
        let params = which.into_iter().chain([number(offset), number(wanted), text(&self.version)]);
        let mut bytes = Vec::new();
        for row in self.database.rows(sql, params.collect())? {
            bytes.extend_from_slice(row.try_get::<_, &[u8]>(0).map_err(unreadable)?);
        }
        if bytes.len() as u64 != wanted {
            let name = self.source.name();
            return Err(io::Error::other(format!(
                "`{name}` was replaced, cut off or removed while it was read"
            )));
        }
        Ok(bytes)
    }
}

fn number(number: u64) -> Param {
    int(i64::try_from(number).unwrap_or(i64::MAX))
}

impl Read for DatabaseFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let is_read = |(start, bytes): &(u64, Vec<u8>), position: u64| {
            position < *start || position >= start + bytes.len() as u64
        };
        if is_read(&self.piece, self.position) {
            self.piece = (self.position, self.piece(self.position)?);
        }
        let (start, bytes) = &self.piece;
        let from = usize::try_from(self.position - start).unwrap_or(usize::MAX);
        let rest = bytes.get(from..).unwrap_or_default();
        let taken = rest.len().min(buffer.len());
        for (to, byte) in buffer.iter_mut().zip(rest) {
            *to = *byte;
        }
        self.position += taken as u64;
        Ok(taken)
    }
}

impl StoredFile for DatabaseFile {
    fn length(&self) -> io::Result<u64> {
        Ok(self.length)
    }

    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        let mut filled = 0;
        while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            let piece = self.piece(offset + filled as u64)?;
            if piece.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let taken = piece.len().min(rest.len());
            for (to, byte) in rest.iter_mut().zip(&piece) {
                *to = *byte;
            }
            filled += taken;
        }
        Ok(())
    }
}
