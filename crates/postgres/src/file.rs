//! Reads what is in the database in bounded pieces.

use std::io::{self, Read};
use std::sync::Arc;

use converse_session::Uuid;
use converse_session::storage::{JOURNAL, StoredFile};

use crate::connection::{Database, int, text, uuid};
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

/// The bytes of a journal, a document or content, as long as it was when it was opened.
#[derive(Debug)]
pub(crate) struct DatabaseFile {
    database: Arc<Database>,
    id: Uuid,
    source: Source,
    length: u64,
    /// Where the next read begins.
    position: u64,
    /// The last piece, and where it begins.
    piece: (u64, Vec<u8>),
}

const JOURNAL_LENGTH: &str =
    "SELECT length FROM converse.sessions WHERE id = $1 AND has_journal AND $2 <> ''";
const DOCUMENT_LENGTH: &str =
    "SELECT octet_length(bytes)::bigint FROM converse.documents WHERE session = $1 AND name = $2";
const CONTENT_LENGTH: &str =
    "SELECT octet_length(bytes)::bigint FROM converse.contents WHERE session = $1 AND name = $2";

/// The lines that have some of the bytes from $3 on, $4 of them, and of each line what is among them.
const JOURNAL_PIECE: &str = "SELECT substring(line
        FROM (greatest($3 - start, 0) + 1)::integer
        FOR (least($3 + $4, start + octet_length(line)) - greatest($3, start))::integer)
    FROM converse.entries
    WHERE session = $1 AND $2 <> '' AND start < $3 + $4 AND start + octet_length(line) > $3
        AND start >= (SELECT coalesce(max(start), 0) FROM converse.entries WHERE session = $1 AND start <= $3)
    ORDER BY start";
const DOCUMENT_PIECE: &str = "SELECT substring(bytes FROM ($3 + 1)::integer FOR $4::integer)
    FROM converse.documents WHERE session = $1 AND name = $2";
const CONTENT_PIECE: &str = "SELECT substring(bytes FROM ($3 + 1)::integer FOR $4::integer)
    FROM converse.contents WHERE session = $1 AND name = $2";

impl DatabaseFile {
    pub(crate) fn open(database: Arc<Database>, id: Uuid, source: Source) -> io::Result<Self> {
        let length = Self::length(&database, id, &source)?;
        Ok(Self { database, id, source, length, position: 0, piece: (0, Vec::new()) })
    }

    /// Returns how many bytes there are.
    pub(crate) fn length(database: &Database, id: Uuid, source: &Source) -> io::Result<u64> {
        let sql = match source {
            Source::Journal => JOURNAL_LENGTH,
            Source::Document(_) => DOCUMENT_LENGTH,
            Source::Content(_) => CONTENT_LENGTH,
        };
        let rows = database.rows(sql, vec![uuid(id), text(source.name())])?;
        let row = rows.first().ok_or(io::ErrorKind::NotFound)?;
        Ok(row.try_get::<_, i64>(0).map_err(unreadable)?.unsigned_abs())
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
        let number = |number: u64| int(i64::try_from(number).unwrap_or(i64::MAX));
        let params = vec![uuid(self.id), text(self.source.name()), number(offset), number(wanted)];
        let mut bytes = Vec::new();
        for row in self.database.rows(sql, params)? {
            bytes.extend_from_slice(row.try_get::<_, &[u8]>(0).map_err(unreadable)?);
        }
        Ok(bytes)
    }
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
