//! The port to an audit log that is kept as rows: each line under its number, in a chain of its owner.

use std::fmt;
use std::io;
use std::path::Path;

use parking_lot::Mutex;

/// The end of a chain: the number of the last line, and its SHA-256. Zeros are before the first line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChainEnd {
    pub seq: u64,
    pub head: [u8; 32],
}

/// A line with its number.
pub type NumberedLine = (u64, Vec<u8>);

/// The audit log of one owner. Lines are appended only behind the end that the writer names, so that no process has to hold
/// a lock, which would outlast its suspension.
pub trait AuditLines: fmt::Debug + Send + Sync {
    /// Returns a name for messages.
    fn label(&self) -> &Path;

    /// Returns the end as this process last saw it. Held during an append, so that the threads of a process do not compete.
    fn seen(&self) -> &Mutex<Option<ChainEnd>>;

    /// Returns the end.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    fn end(&self) -> io::Result<ChainEnd>;

    /// Appends lines behind `after`, all or none, durably. `end` is the end after that. Returns false, and appends nothing,
    /// if the chain has another end.
    ///
    /// # Errors
    ///
    /// Nobody knows whether they were appended.
    fn append(&self, after: ChainEnd, lines: Vec<Vec<u8>>, end: ChainEnd) -> io::Result<bool>;

    /// Returns the line with this number. Waits as little as an append.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    fn line(&self, seq: u64) -> io::Result<Option<Vec<u8>>>;

    /// Returns the next lines after this number, in a page of some MiB. An empty page is behind the last. Of a line that is
    /// too long, it has at least one byte more than is allowed.
    ///
    /// # Errors
    ///
    /// They cannot be read.
    fn after(&self, seq: u64) -> io::Result<Vec<NumberedLine>>;

    /// Returns the lines before this number, the last first, as [`AuditLines::after`] does.
    ///
    /// # Errors
    ///
    /// They cannot be read.
    fn before(&self, seq: u64) -> io::Result<Vec<NumberedLine>>;

    /// Returns all owners that have lines at this place, sorted.
    ///
    /// # Errors
    ///
    /// They cannot be listed.
    fn owners(&self) -> io::Result<Vec<String>>;
}
