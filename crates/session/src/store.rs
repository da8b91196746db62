//! The store: a directory with one directory per session.

use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, io};

use jiff::Timestamp;
use uuid::Uuid;

use crate::check::gone;
use crate::files::Replace;
use crate::list_index::ListIndex;
use crate::lock::Lock;
use crate::summary::updated;
use crate::{
    Contents, Header, Loaded, Metadata, Repair, Session, SessionError, Summary, files, journal, list_index,
    loss, metadata,
};

/// Name of the session that was written last.
const LAST: &str = "last";

/// Prefix of the directory of a session that is being deleted.
const DELETED: &str = ".deleted-";

/// Prefix of the directory of a session that is being created from another.
const UNFINISHED: &str = ".new-";

/// Limit on attempts to create such a directory, because another process may remove it each time.
const BEGINNINGS: u32 = 100;

/// The sessions of one user. Creating a value accesses no files.
#[derive(Debug, Clone)]
pub struct Store {
    dir: PathBuf,
    pub(crate) clean: Clean,
}

impl Store {
    /// `dir` is the directory `sessions` itself. It is created with the first session.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), clean: Clean::default() }
    }

    /// Sets the function that removes secrets from names, first words and search results.
    pub fn cleaned(self, clean: Clean) -> Self {
        Self { clean, ..self }
    }

    /// Creates a session durably, or leaves nothing. `program` is the writer, such as `converse 0.1.0`.
    pub fn create(&self, id: Uuid, program: &str, now: Timestamp) -> Result<Session, SessionError> {
        self.begin(&self.path(id), id, Header::new(program, now))
    }

    /// Creates a session with its content completely or not at all: it gets its name last.
    pub(crate) fn place(
        &self,
        id: Uuid,
        header: Header,
        fill: impl FnOnce(&mut Session) -> Result<(), SessionError>,
    ) -> Result<(), SessionError> {
        let (unfinished, dir) = (self.dir.join(format!("{UNFINISHED}{id}")), self.path(id));
        // The lock is held until the session has its name; without the lock, others would remove it.
        let mut session = self.begin(&unfinished, id, header)?;
        let placed = fill(&mut session)
            .and_then(|()| session.journal.commit())
            .and_then(|()| session.save_metadata())
            .and_then(|()| {
                let named = fs::rename(&unfinished, &dir).and_then(|()| files::sync_dir(&self.dir));
                named.map_err(SessionError::io(&dir))
            });
        if placed.is_err() {
            let _ = remove(&unfinished);
        }
        placed
    }

    /// Creates the directory and takes its lock. If another process takes the directory for a leftover and removes it first,
    /// it is created again.
    fn begin(&self, unfinished: &Path, id: Uuid, header: Header) -> Result<Session, SessionError> {
        let mut left = BEGINNINGS;
        loop {
            left -= 1;
            match self.make(unfinished) {
                Err(SessionError::Io { source, .. })
                    if left > 0 && source.kind() == io::ErrorKind::NotFound =>
                {
                    continue;
                }
                made => made?,
            }
            match Session::create(unfinished, id, header.clone(), &self.clean) {
                Ok(session) => return Ok(session),
                Err(_) if left > 0 && !unfinished.exists() => {}
                Err(error) => {
                    let _ = remove(unfinished);
                    return Err(error);
                }
            }
        }
    }

    fn make(&self, dir: &Path) -> Result<(), SessionError> {
        let begun = files::private_dir(&self.dir).and_then(|()| files::new_dir(dir));
        begun.map_err(SessionError::io(dir))?;
        let made = files::private_dir(dir).and_then(|()| files::sync_dir(&self.dir));
        made.inspect_err(|_| drop(fs::remove_dir(dir))).map_err(SessionError::io(dir))
    }

    /// Locks, reads and repairs a session, and returns it for writing.
    pub fn open(&self, id: Uuid, now: Timestamp) -> Result<Session, SessionError> {
        Session::open(&self.existing(id)?, id, now, false, &self.clean)
    }

    /// The same, for a turn that may continue with invocations that wait for a decision: they stay open.
    pub fn resume(&self, id: Uuid, now: Timestamp) -> Result<Session, SessionError> {
        Session::open(&self.existing(id)?, id, now, true, &self.clean)
    }

    /// Reads a session without locking or writing. Invocations that wait for a decision are open.
    pub fn read_waiting(&self, id: Uuid) -> Result<Loaded, SessionError> {
        let loaded = journal::read_open(&self.existing(id)?)?;
        Ok(if loaded.is_waiting() { loaded } else { loaded.answered() })
    }

    /// Reads a session in which a turn runs, without locking or writing. Invocations without a result are open.
    pub fn read_running(&self, id: Uuid) -> Result<Loaded, SessionError> {
        journal::read_open(&self.existing(id)?)
    }

    /// Reads a session as it would be after repairs, without locking or writing.
    pub fn read(&self, id: Uuid) -> Result<Loaded, SessionError> {
        journal::read(&self.existing(id)?)
    }

    /// Returns the content of a session for reading.
    pub fn contents(&self, id: Uuid) -> Contents {
        Contents::new(&self.path(id))
    }

    /// Returns the session that was written last. Sessions without messages are skipped.
    pub fn latest(&self) -> Result<Uuid, SessionError> {
        let ids = self.ids()?.into_iter();
        let mut dated: Vec<_> = ids.filter_map(|id| Some((updated(&self.path(id))?, id))).collect();
        dated.sort_unstable();
        let last = dated.into_iter().rev().map(|(_, id)| id).find(|id| self.has_begun(*id));
        last.ok_or_else(|| SessionError::NotFound("latest".to_owned()))
    }

    /// Returns the metadata of a session, without locking it.
    pub fn metadata(&self, id: Uuid) -> Result<Metadata, SessionError> {
        Ok(Metadata::read(&self.existing(id)?))
    }

    /// Returns the sessions with this tag, by id. Sessions without messages are skipped.
    pub fn tagged(&self, tag: &str) -> Result<Vec<Uuid>, SessionError> {
        let has = |id: &Uuid| Metadata::read(&self.path(*id)).tags.iter().any(|one| one == tag);
        Ok(self.ids()?.into_iter().filter(|id| has(id) && self.has_begun(*id)).collect())
    }

    /// Returns whether a session has or had messages. A session that lost them counts, so that the damage is reported.
    fn has_begun(&self, id: Uuid) -> bool {
        let dir = self.path(id);
        !matches!(journal::begun(&dir), Ok(false)) || loss::is_certain(&dir)
    }

    /// Returns the ids of all sessions, sorted.
    pub fn all(&self) -> Result<Vec<Uuid>, SessionError> {
        self.ids()
    }

    /// Returns when the journal of a session was last written; `None` if there is none.
    pub fn written(&self, id: Uuid) -> Option<Timestamp> {
        journal::state(&self.path(id)).map(|(_, written)| written)
    }

    /// Removes what killed processes left next to the sessions: see [`Store::litter`].
    pub fn sweep(&self) -> Result<(), SessionError> {
        self.litter().iter().try_for_each(|path| self.sweep_one(path).map(drop))
    }

    /// Removes one leftover. Returns false if it is in use or already removed.
    pub(crate) fn sweep_one(&self, path: &Path) -> Result<bool, SessionError> {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if name.starts_with(files::TEMPORARY) {
            return gone(fs::remove_file(path)).map(|()| true).map_err(SessionError::io(path));
        }
        // A directory that is being deleted has no owner; one that is being created is in use while it is locked.
        let _lock = match name.starts_with(UNFINISHED).then(|| Lock::take_at_once(path)).transpose() {
            Err(SessionError::InUse { .. }) => return Ok(false),
            Err(SessionError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                return Ok(false);
            }
            lock => lock?,
        };
        let Some(id) = name.strip_prefix(UNFINISHED) else { return remove(path).map(|()| true) };
        // Renamed first, so that a process that has just created it finds nothing rather than a part.
        let doomed = self.dir.join(format!("{DELETED}{id}"));
        remove(&doomed)?;
        fs::rename(path, &doomed).map_err(SessionError::io(path))?;
        remove(&doomed).map(|()| true)
    }

    /// Returns all sessions, the last written first. An index is written beside them, so that the next list reads only
    /// what has changed.
    pub fn list(&self) -> Result<Vec<Summary>, SessionError> {
        let ids = self.ids()?.into_iter();
        let mut index = ListIndex::read(&self.dir);
        let mut all: Vec<_> = ids.map(|id| index.summary(&self.path(id), id)).collect();
        index.store(&self.dir);
        all.sort_by_key(|summary| std::cmp::Reverse((summary.updated, summary.id)));
        Ok(all)
    }

    /// Returns one session as [`list`](Self::list) does.
    pub fn summary(&self, id: Uuid) -> Result<Summary, SessionError> {
        Ok(Summary::of(&self.existing(id)?, id))
    }

    /// Finds a session by its id, its name, the beginning of its id, or `last`.
    pub fn resolve(&self, text: &str) -> Result<Uuid, SessionError> {
        if text == LAST {
            return self.latest();
        }
        let ids = self.ids()?;
        if let Some(id) = ids.iter().find(|id| id.to_string() == text) {
            return Ok(*id);
        }
        let named = |id: &&Uuid| Metadata::read(&self.path(**id)).name.as_deref() == Some(text);
        let mut fitting: Vec<_> = ids.iter().filter(named).collect();
        if fitting.is_empty() && !text.is_empty() {
            fitting = ids.iter().filter(|id| id.to_string().starts_with(text)).collect();
        }
        match fitting.as_slice() {
            [] => Err(SessionError::NotFound(text.to_owned())),
            [id] => Ok(**id),
            several => Err(SessionError::Ambiguous { text: text.to_owned(), count: several.len() }),
        }
    }

    /// Changes the metadata of a session that no other process writes. Unreadable metadata is kept; this is returned as a
    /// repair.
    pub fn describe(
        &self,
        id: Uuid,
        change: impl FnOnce(&mut Metadata),
    ) -> Result<Option<Repair>, SessionError> {
        let dir = self.existing(id)?;
        let _lock = Lock::take(&dir)?;
        journal::refuse_newer(&dir)?;
        let kept = metadata::set_aside(&dir)?;
        let mut metadata = Metadata::read(&dir);
        change(&mut metadata);
        metadata.write(&dir, Replace::LOCKED)?;
        Ok(kept.map(|kept| Repair::Metadata { kept }))
    }

    /// Deletes a session that no other process writes. After a kill in between, the next deletion removes the rest.
    pub fn delete(&self, id: Uuid) -> Result<(), SessionError> {
        let dir = self.existing(id)?;
        let lock = Lock::take(&dir)?;
        self.discard(id, &lock)
    }

    /// Deletes a session whose lock the caller holds.
    pub(crate) fn discard(&self, id: Uuid, _lock: &Lock) -> Result<(), SessionError> {
        doom(&self.path(id))?;
        list_index::forget(&self.dir, id);
        for entry in self.entries()? {
            if entry.file_name().to_string_lossy().starts_with(DELETED) {
                remove(&entry.path())?;
            }
        }
        Ok(())
    }

    /// Returns whether a name in the directory of sessions belongs to an unfinished creation, deletion or index.
    pub(crate) fn is_unfinished(name: &str) -> bool {
        [DELETED, UNFINISHED, files::TEMPORARY].iter().any(|start| name.starts_with(start))
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn path(&self, id: Uuid) -> PathBuf {
        self.dir.join(id.to_string())
    }

    pub(crate) fn existing(&self, id: Uuid) -> Result<PathBuf, SessionError> {
        let dir = self.path(id);
        if dir.is_dir() { Ok(dir) } else { Err(SessionError::NotFound(id.to_string())) }
    }

    pub(crate) fn ids(&self) -> Result<Vec<Uuid>, SessionError> {
        let mut ids: Vec<_> = self.entries()?.iter().filter_map(id_of).collect();
        ids.sort_unstable();
        Ok(ids)
    }

    fn entries(&self) -> Result<Vec<DirEntry>, SessionError> {
        let read = match fs::read_dir(&self.dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            read => read,
        };
        read.and_then(Iterator::collect).map_err(SessionError::io(&self.dir))
    }
}

/// Renames a session's directory, so that it is no longer a session, and returns the new path.
fn doom(dir: &Path) -> Result<PathBuf, SessionError> {
    let (all, id) = (dir.parent().unwrap_or(dir), dir.file_name().unwrap_or_default());
    let doomed = all.join(format!("{DELETED}{}", id.to_string_lossy()));
    let renamed = fs::rename(dir, &doomed).and_then(|()| files::sync_dir(all));
    renamed.map(|()| doomed).map_err(SessionError::io(dir))
}

/// Removes a session without messages. The caller must hold the lock.
pub(crate) fn vanish(dir: &Path) -> Result<(), SessionError> {
    remove(&doom(dir)?)
}

/// Returns the id of a directory; `None` if the name is not in our form.
fn id_of(entry: &DirEntry) -> Option<Uuid> {
    let name = entry.file_name();
    let name = name.to_str()?;
    Uuid::parse_str(name).ok().filter(|id| id.to_string() == name)
}

/// Removes a directory. Another process may remove it at the same time.
fn remove(dir: &Path) -> Result<(), SessionError> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(SessionError::Io { path: dir.to_owned(), source: error })
        }
        _ => Ok(()),
    }
}

/// A function that removes secrets from a text; by default it changes nothing.
#[derive(Clone)]
pub struct Clean(Arc<dyn Fn(&str) -> String + Send + Sync>);

impl Clean {
    pub fn new(clean: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        Self(Arc::new(clean))
    }

    pub(crate) fn text(&self, text: &str) -> String {
        (self.0)(text)
    }
}

impl Default for Clean {
    fn default() -> Self {
        Self::new(str::to_owned)
    }
}

impl fmt::Debug for Clean {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clean")
    }
}
