//! One writer at a time.
//!
//! The kernel's lock decides and goes with the process, however that ends; what is written in the file is only there
//! to tell a second writer whom it waits for. Where the file system has no locks the session is refused: two writers
//! would ruin it.

use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use crate::{SessionError, files};

/// Who writes a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    pub pid: u32,
    pub since: Timestamp,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pid {} since {:.0}", self.pid, self.since)
    }
}

/// Held until dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Takes the lock of a session's directory, or says who has it.
    pub(crate) fn take(dir: &Path) -> Result<Self, SessionError> {
        let path = dir.join("lock");
        let mut options = OpenOptions::new();
        let mut file =
            files::private_file(&path, options.read(true).write(true).create(true).truncate(false))
                .map_err(SessionError::io(&path))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { file, path }),
            Err(TryLockError::WouldBlock) => Err(SessionError::InUse { holder: read(&mut file) }),
            Err(TryLockError::Error(source)) => Err(SessionError::Io { path, source }),
        }
    }

    /// Writes down who holds it.
    pub(crate) fn sign(&mut self, since: Timestamp) -> Result<(), SessionError> {
        let line = format!("{} {since}\n", std::process::id());
        let signed = self.clear().and_then(|()| self.file.write_all(line.as_bytes()));
        signed.map_err(SessionError::io(&self.path))
    }

    fn clear(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // So that nobody is told of a holder who is gone; the lock itself goes with the file.
        let _ = self.clear();
    }
}

/// For [`lock_within`]: others hold such a lock for a moment only.
pub const LOCK_PATIENCE: Duration = Duration::from_secs(10);
const BETWEEN_TRIES: Duration = Duration::from_millis(2);

/// Waits for a lock that others give back soon, on this thread; false if they do not. It goes with the file.
pub fn lock_within(file: &File, patience: Duration) -> io::Result<bool> {
    let began = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) if began.elapsed() < patience => std::thread::sleep(BETWEEN_TRIES),
            Err(TryLockError::WouldBlock) => return Ok(false),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// `None` if the holder has not signed yet.
fn read(file: &mut File) -> Option<Holder> {
    let mut text = String::new();
    file.take(200).read_to_string(&mut text).ok()?;
    let (pid, since) = text.trim_end().split_once(' ')?;
    Some(Holder { pid: pid.parse().ok()?, since: since.parse().ok()? })
}
