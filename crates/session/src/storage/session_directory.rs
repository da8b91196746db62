//! A session in a directory of its own.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jiff::Timestamp;

use super::directory::{doom, doomed, gone, names, publish, remove};
use super::{
    Appendable, Area, CONTENT, JOURNAL, JournalState, SessionLock, SessionStorage, StoredFile, is_missing,
};
use crate::files::{self, Durability, Replace};
use crate::lock::{Lock, is_in_use};
use crate::{Fault, SessionError, journal, witness};

/// The directory of one session.
#[derive(Debug, Clone)]
pub(crate) struct SessionDirectory {
    dir: PathBuf,
    begun: Option<Begun>,
}

/// How this handle has begun the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Begun {
    /// Under a name that only its creator uses.
    Staged,
    Published,
}

impl SessionDirectory {
    pub(crate) fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), begun: None }
    }

    /// A session that the caller has just made.
    pub(super) fn begun(dir: PathBuf, begun: Begun) -> Self {
        Self { dir, begun: Some(begun) }
    }

    /// Returns whether the journal is readable and has a message, or may have one.
    fn may_have_messages(&self) -> bool {
        match self.has(JOURNAL) {
            Ok(true) => !matches!(journal::begun(self), Ok(false)),
            Ok(false) => false,
            Err(_) => true,
        }
    }

    fn content(&self) -> PathBuf {
        self.dir.join(CONTENT.trim_end_matches('/'))
    }

    fn files(&self, area: Area) -> io::Result<Vec<OsString>> {
        let dir = match area {
            Area::Session => self.dir.clone(),
            Area::Content => self.content(),
        };
        let entries = match fs::read_dir(&dir) {
            Err(error) if is_missing(&error) => return Ok(Vec::new()),
            entries => entries?.collect::<io::Result<Vec<_>>>()?,
        };
        let files = entries.into_iter().filter(|entry| area == Area::Content || entry.path().is_file());
        Ok(files.map(|entry| entry.file_name()).collect())
    }
}

impl SessionStorage for SessionDirectory {
    fn dir(&self) -> &Path {
        &self.dir
    }

    fn exists(&self) -> io::Result<bool> {
        Ok(self.dir.is_dir())
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn StoredFile>> {
        Ok(Box::new(files::regular(&self.path(name))?))
    }

    fn has(&self, name: &str) -> io::Result<bool> {
        // Also a link that leads nowhere takes the name of a file; content behind such a link is missing.
        let path = self.path(name);
        Ok(if name.starts_with(CONTENT) { path.exists() } else { fs::symlink_metadata(path).is_ok() })
    }

    fn journal(&self) -> io::Result<JournalState> {
        let file = fs::metadata(self.path(JOURNAL))?;
        Ok(JournalState { length: file.len(), modified: file.modified()? })
    }

    fn names(&self, area: Area) -> io::Result<Vec<String>> {
        let all = self.files(area)?.into_iter();
        let mut names: Vec<_> = all.filter_map(|name| name.into_string().ok()).collect();
        names.sort_unstable();
        Ok(names)
    }

    fn has_unnamed(&self) -> io::Result<bool> {
        Ok(self.files(Area::Session)?.iter().any(|name| name.to_str().is_none()))
    }

    fn size(&self) -> u64 {
        size(&self.dir)
    }

    fn put_content(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let dir = self.content();
        files::private_dir(&dir).and_then(|()| files::replace(&dir.join(name), bytes, Replace::PRIVATE))
    }

    fn adopt_content(&self, from: &dyn SessionStorage, name: &str) -> io::Result<()> {
        let dir = self.content();
        files::private_dir(&dir)?;
        fs::hard_link(from.path(&format!("{CONTENT}{name}")), dir.join(name))
    }

    fn sync_content(&self) -> io::Result<()> {
        match files::sync_dir(&self.content()) {
            // Nothing was put there.
            Err(error) if is_missing(&error) => Ok(()),
            synced => synced,
        }
    }

    fn put_derived(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        files::replace(&self.path(name), bytes, Replace::CACHE)
    }

    fn lock(&self) -> Result<Box<dyn SessionLock>, SessionError> {
        Ok(Box::new(Lock::take(&self.dir)?))
    }

    fn is_in_use(&self) -> bool {
        is_in_use(&self.dir)
    }

    fn abandon(&self) {
        let Some(begun) = self.begun else { return };
        let lock = match Lock::take_at_once(&self.dir) {
            Ok(lock) => Some(lock),
            // Nobody can hold it.
            Err(SessionError::NoLocks { .. }) => None,
            Err(SessionError::InUse { .. }) => return,
            // There is no lock file, and it cannot be made.
            Err(_) => return drop(fs::remove_dir(&self.dir)),
        };
        if begun == Begun::Staged || !self.may_have_messages() {
            let doomed = doomed(&self.dir);
            let _ = fs::rename(&self.dir, &doomed).map(|()| remove(&doomed));
        }
        drop(lock);
    }

    fn faults(&self, in_use: bool) -> Vec<Fault> {
        let mut faults = self.modes();
        let unnamed = names(&self.content()).into_iter().filter(|path| path.to_str().is_none());
        faults.extend(unnamed.map(Fault::Damaged));
        if !in_use {
            let litter = [self.dir.clone(), self.content()].into_iter().flat_map(|dir| names(&dir));
            faults.extend(litter.filter(|path| is_litter(path)).map(Fault::Litter));
        }
        faults
    }
}

impl SessionDirectory {
    fn modes(&self) -> Vec<Fault> {
        let content = self.content();
        let inside = names(&self.dir).into_iter().chain(names(&content)).filter(|path| *path != content);
        let fault = |path: PathBuf, wanted| {
            let mode = fs::symlink_metadata(&path).ok()?.permissions().mode() & 0o7777;
            (mode != wanted).then_some(Fault::Mode { path, mode })
        };
        let dirs = [self.dir.clone(), content.clone()].into_iter().filter_map(|path| fault(path, 0o700));
        dirs.chain(inside.filter(|path| path.is_file()).filter_map(|path| fault(path, 0o600))).collect()
    }
}

/// The lock file is in the session's directory.
impl SessionLock for Lock {
    fn sign(&mut self, since: Timestamp) -> Result<(), SessionError> {
        Lock::sign(self, since)
    }

    fn create_journal(&self) -> io::Result<Box<dyn Appendable>> {
        let mut options = OpenOptions::new();
        Ok(Box::new(files::private_file(&self.beside(JOURNAL), options.append(true).create_new(true))?))
    }

    fn append_journal(&self) -> io::Result<Box<dyn Appendable>> {
        Ok(Box::new(files::private_file(&self.beside(JOURNAL), OpenOptions::new().append(true))?))
    }

    fn date_journal(&self, modified: SystemTime) -> io::Result<()> {
        OpenOptions::new().append(true).open(self.beside(JOURNAL))?.set_modified(modified)
    }

    fn replace(&self, name: &str, bytes: &[u8], durability: Durability) -> io::Result<()> {
        files::replace(&self.beside(name), bytes, Replace { durability, ..Replace::LOCKED })
    }

    fn extend(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        files::private_file(&self.beside(name), OpenOptions::new().append(true).create(true))
            .and_then(|mut file| files::write_durably(&mut file, bytes))
            .and_then(|()| self.sync_names())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.beside(from), self.beside(to))?;
        self.sync_names()
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        gone(fs::remove_file(self.beside(name)))
    }

    fn sync_names(&self) -> io::Result<()> {
        files::sync_dir(self.dir())
    }

    fn sweep(&self) -> io::Result<()> {
        files::sweep(self.dir())?;
        files::sweep(&self.beside(CONTENT.trim_end_matches('/')))
    }

    fn publish(&self) -> Result<(), SessionError> {
        publish(self.dir())
    }

    fn delete(&self) -> Result<(), SessionError> {
        remove(&doom(self.dir())?)
    }
}

impl StoredFile for File {
    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(self, bytes, offset)
    }
}

impl Appendable for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = io::Write::write(self, bytes)?;
        witness::wrote(self, bytes.get(..taken).unwrap_or(bytes));
        Ok(taken)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)?;
        witness::cut(self, length);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()?;
        witness::synced(self);
        Ok(())
    }
}

/// Returns whether a name is that of a temporary file.
fn is_litter(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(files::TEMPORARY))
}

/// Returns the bytes of a file, or of all files below a directory.
pub(crate) fn size(path: &Path) -> u64 {
    let mut waiting = vec![path.to_owned()];
    let mut bytes = 0;
    while let Some(path) = waiting.pop() {
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_dir() => waiting.extend(names(&path)),
            Ok(metadata) => bytes += metadata.len(),
            Err(_) => {}
        }
    }
    bytes
}
