//! Recordings of what a model and tools answered in a run, to replay later.
//!
//! A cassette is text: a [`Header`], then one [`Entry`] per line. A [`Recorder`] writes a cassette, a
//! [`Cassette`] is a parsed one, and a [`Player`] answers from it: identical requests replay in the order they were
//! recorded. A request that was not recorded is a [`Miss`]; after it nothing is answered.
//!
//! Recorder and player have no sockets, servers or environment; the host connects them to the engine.

mod body;
mod entry;
mod file;
mod given;
mod miss;
mod player;
mod question;
mod recorder;
#[cfg(test)]
mod tests;

pub use body::Kept;
pub use entry::{
    Blob, Broken, Call, Entry, Exchange, Header, Offer, Offered, Reply, Request, Response,
    ServerInstructions, Tool,
};
pub use file::Cassette;
pub use given::{ErrorKind, Given};
pub use miss::Miss;
pub use player::Player;
pub use question::Question;
pub use recorder::Recorder;

/// The format that is written, and the newest that is read.
pub const FORMAT: u32 = 1;
/// Maximum bytes of a cassette, when written and when read.
pub const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// Why a cassette cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum CassetteError {
    #[error("{file}: {source}")]
    Io { file: String, source: std::io::Error },
    #[error("{0} is not a regular file")]
    NoFile(String),
    #[error("{0} belongs to another user")]
    NotOurs(String),
    #[error("{0} is not a cassette")]
    NoCassette(String),
    #[error("{file} was written by a newer converse (format {format}; this one reads {FORMAT})")]
    Newer { file: String, format: u64 },
    #[error("{file}:{line}: {reason}")]
    Damaged { file: String, line: usize, reason: String },
    #[error("{file} is larger than {most} MiB", most = MAX_BYTES / 1024 / 1024)]
    TooLarge { file: String },
    #[error("{0} is being recorded by another run")]
    Busy(String),
    #[error("{0}")]
    Unrecordable(String),
}

impl CassetteError {
    pub(crate) fn io(file: &std::path::Path, source: std::io::Error) -> Self {
        Self::Io { file: file.display().to_string(), source }
    }

    /// Returns an error with the same text, to report it again or later.
    pub(crate) fn again(&self) -> Self {
        Self::Unrecordable(self.to_string())
    }
}
