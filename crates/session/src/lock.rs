//! The lock of a session: one writer at a time.
//!
//! The kernel's lock decides, and ends with the process. The content of the file only names the writer for others. On a
//! file system without locks the session is refused, because two writers would damage it.

use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use crate::{SessionError, files};

/// The process that writes a session.
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

/// A lock, held until dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Takes the lock of a session's directory, or returns its holder. Waits on this thread for short operations of other
    /// processes.
    pub(crate) fn take(dir: &Path) -> Result<Self, SessionError> {
        let began = Instant::now();
        loop {
            let taken = Self::take_at_once(dir);
            let Err(SessionError::InUse { holder, .. }) = &taken else { return taken };
            if began.elapsed() >= if holder.is_some() { SIGNED } else { UNSIGNED } {
                return taken;
            }
            std::thread::sleep(BETWEEN_TRIES);
        }
    }

    /// Takes the lock without waiting.
    pub(crate) fn take_at_once(dir: &Path) -> Result<Self, SessionError> {
        let path = dir.join("lock");
        // A symbolic link is refused: what it leads to would be emptied.
        if fs::symlink_metadata(&path).is_ok_and(|file| !file.is_file()) {
            let source = io::Error::other("not a regular file");
            return Err(SessionError::Io { path, source });
        }
        let mut options = OpenOptions::new();
        let mut file =
            files::private_file(&path, options.read(true).write(true).create(true).truncate(false))
                .map_err(SessionError::io(&path))?;
        match at_once(&file) {
            Ok(()) => {
                still_there(&file, &path).map_err(SessionError::io(&path))?;
                let mut lock = Self { file, path };
                // Remove the name of a killed holder.
                lock.clear().map_err(SessionError::io(&lock.path))?;
                Ok(lock)
            }
            Err(TryLockError::WouldBlock) => {
                let session = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
                Err(SessionError::InUse { session, holder: read(&mut file) })
            }
            Err(TryLockError::Error(source)) => Err(SessionError::NoLocks { path, source }),
        }
    }

    /// Returns the session's directory.
    pub(crate) fn dir(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    /// Returns the path of a file in the session's directory.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.path.with_file_name(name)
    }

    /// Writes the name of the holder.
    pub(crate) fn sign(&mut self, since: Timestamp) -> Result<(), SessionError> {
        let line = format!("{} {since}\n", std::process::id());
        let signed = self.clear().and_then(|()| self.file.write_all(line.as_bytes()));
        signed.map_err(SessionError::io(&self.path))
    }

    /// Empties the file, which is usually empty already.
    fn clear(&mut self) -> io::Result<()> {
        if self.file.metadata()?.len() > 0 {
            self.file.set_len(0)?;
        }
        self.file.rewind()
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // So that nobody is shown a former holder; the lock itself ends with the file.
        let _ = self.clear();
    }
}

/// Returns whether a process holds the lock of a session's directory.
pub(crate) fn is_in_use(dir: &Path) -> bool {
    let shared = files::regular(&dir.join("lock")).map(|lock| lock.try_lock_shared());
    matches!(shared, Ok(Err(TryLockError::WouldBlock)))
}

/// How long to wait for a holder that has not signed, and so holds the lock only briefly.
const UNSIGNED: Duration = Duration::from_secs(1);
/// How long to wait for a holder that has signed. The name may be outdated, and the lock that of a reader.
const SIGNED: Duration = Duration::from_millis(50);

/// Checks that the path still names this file: while waiting, the directory may have been moved or removed.
fn still_there(file: &File, path: &Path) -> io::Result<()> {
    let (ours, there) = (file.metadata()?, fs::symlink_metadata(path)?);
    let same = (ours.dev(), ours.ino()) == (there.dev(), there.ino());
    same.then_some(()).ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Tries to lock. An interruption by a signal, possible on network file systems, is retried.
fn at_once(file: &File) -> Result<(), TryLockError> {
    let is_answer = |taken: &Result<(), TryLockError>| match taken {
        Err(TryLockError::Error(error)) => error.kind() != io::ErrorKind::Interrupted,
        _ => true,
    };
    let mut tries = std::iter::repeat_with(|| file.try_lock()).take(MOST_SIGNALS);
    tries.find(is_answer).unwrap_or_else(|| Err(TryLockError::Error(io::ErrorKind::Interrupted.into())))
}

/// Limit on consecutive interruptions.
const MOST_SIGNALS: usize = 100;

/// Default time to wait in [`lock_within`].
pub const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
const BETWEEN_TRIES: Duration = Duration::from_millis(2);

/// Waits on this thread for a lock that others hold briefly; returns false on timeout. The lock ends with the file.
pub fn lock_within(file: &File, timeout: Duration) -> io::Result<bool> {
    let began = Instant::now();
    loop {
        match at_once(file) {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) if began.elapsed() < timeout => std::thread::sleep(BETWEEN_TRIES),
            Err(TryLockError::WouldBlock) => return Ok(false),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// Reads the holder; `None` if it has not signed yet.
fn read(file: &mut File) -> Option<Holder> {
    let mut text = String::new();
    file.take(200).read_to_string(&mut text).ok()?;
    let (pid, since) = text.trim_end().split_once(' ')?;
    Some(Holder { pid: pid.parse().ok()?, since: since.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn who_only_looks_keeps_nobody_from_writing() {
        let dir = tempfile::tempdir().unwrap();
        drop(Lock::take(dir.path()).unwrap());
        // Left by one who was killed: it is not whom a writer is told of.
        std::fs::write(dir.path().join("lock"), "4194305 2026-11-20T10:11:12Z\n").unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    is_in_use(dir.path());
                }
            });
            let taken: Vec<_> = (0..300).map(|_| Lock::take(dir.path()).is_ok()).collect();
            done.store(true, Ordering::Relaxed);
            assert_eq!(taken, [true; 300]);
        });
    }

    #[test]
    fn a_link_in_place_of_the_lock_is_refused_and_its_target_kept() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("target");
        fs::write(&target, "kept").unwrap();
        std::os::unix::fs::symlink(&target, dir.path().join("lock")).unwrap();
        assert!(matches!(Lock::take(dir.path()), Err(SessionError::Io { .. })));
        assert_eq!(fs::read_to_string(&target).unwrap(), "kept");
        // Also if the link comes between the check and the lock.
        assert!(still_there(&File::open(&target).unwrap(), &dir.path().join("lock")).is_err());
    }

    #[test]
    fn the_lock_of_what_was_moved_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let file = File::create(&path).unwrap();
        assert!(still_there(&file, &path).is_ok());
        fs::rename(&path, dir.path().join("elsewhere")).unwrap();
        assert!(still_there(&file, &path).is_err());
        File::create(&path).unwrap();
        assert!(still_there(&file, &path).is_err());
    }
}
