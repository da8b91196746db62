//! Why a cassette cannot be read or written.

use crate::cassette::{FORMAT, MAX_BYTES};

#[derive(Debug, thiserror::Error)]
pub(crate) enum CassetteError {
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
