//! All sessions: a directory with one directory each.

use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use uuid::Uuid;

use crate::lock::Lock;
use crate::summary::updated;
use crate::{
    Clean, Contents, Header, Loaded, Metadata, Repair, Session, SessionError, Summary, files, journal, loss,
    metadata,
};

/// What the session that was written to last is called, wherever one is named.
const LAST: &str = "last";

/// What stands before the name of a session that is being deleted.
const DELETED: &str = ".deleted-";

/// And before one that is being made of another.
const UNFINISHED: &str = ".new-";

/// How often a session that is made of another is begun: each time somebody else may sweep it away.
const BEGINNINGS: u32 = 100;

/// The sessions of one user. Making a value of it touches no file.
#[derive(Debug, Clone)]
pub struct Store {
    dir: PathBuf,
    pub(crate) clean: Clean,
}

impl Store {
    /// `dir`: the directory `sessions` itself. It is made when the first session is.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), clean: Clean::default() }
    }

    /// What lists show of sessions that are begun or gone on with from now on is made of cleaned words, and so is what a
    /// search shows.
    pub fn cleaned(self, clean: Clean) -> Self {
        Self { clean, ..self }
    }

    /// Begins a session, durably, or leaves nothing of it. `program`: what writes it, e.g. `converse 0.1.0`.
    pub fn create(&self, id: Uuid, program: &str, now: Timestamp) -> Result<Session, SessionError> {
        let dir = self.path(id);
        self.make(&dir)?;
        let created = Session::create(&dir, id, Header::new(program, now), &self.clean);
        created.inspect_err(|_| drop(remove(&dir)))
    }

    /// Makes a session that is there with everything in it, or not at all: it gets its name last.
    pub(crate) fn place(
        &self,
        id: Uuid,
        header: Header,
        fill: impl FnOnce(&mut Session) -> Result<(), SessionError>,
    ) -> Result<(), SessionError> {
        let (unfinished, dir) = (self.dir.join(format!("{UNFINISHED}{id}")), self.path(id));
        // Its lock is held until it has its name: without, it is litter to others.
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

    /// Somebody who sweeps may take the directory before its lock is taken: then it is made again.
    fn begin(&self, unfinished: &Path, id: Uuid, header: Header) -> Result<Session, SessionError> {
        let mut left = BEGINNINGS;
        loop {
            self.make(unfinished)?;
            left -= 1;
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

    /// Takes a session's lock, reads it, mends it, and is ready to go on.
    pub fn open(&self, id: Uuid, now: Timestamp) -> Result<Session, SessionError> {
        Session::open(&self.existing(id)?, id, now, &self.clean)
    }

    /// Reads a session as it would be after repairs, without its lock and without writing anything.
    pub fn read(&self, id: Uuid) -> Result<Loaded, SessionError> {
        journal::read(&self.existing(id)?)
    }

    /// The content of a session, for reading.
    pub fn contents(&self, id: Uuid) -> Contents {
        Contents::new(&self.path(id))
    }

    /// The session that was written to last. Those that never came to hold anything are passed over.
    pub fn latest(&self) -> Result<Uuid, SessionError> {
        let ids = self.ids()?.into_iter();
        let mut dated: Vec<_> = ids.filter_map(|id| Some((updated(&self.path(id))?, id))).collect();
        dated.sort_unstable();
        let last = dated.into_iter().rev().map(|(_, id)| id).find(|id| self.has_begun(*id));
        last.ok_or_else(|| SessionError::NotFound("latest".to_owned()))
    }

    /// What people added to a session, without its lock.
    pub fn metadata(&self, id: Uuid) -> Result<Metadata, SessionError> {
        Ok(Metadata::read(&self.existing(id)?))
    }

    /// The sessions with this tag, in the order of their ids. Those that never came to hold anything are passed over.
    pub fn tagged(&self, tag: &str) -> Result<Vec<Uuid>, SessionError> {
        let has = |id: &Uuid| Metadata::read(&self.path(*id)).tags.iter().any(|one| one == tag);
        Ok(self.ids()?.into_iter().filter(|id| has(id) && self.has_begun(*id)).collect())
    }

    /// One that lost what it held counts: whoever names it is to hear of the damage.
    fn has_begun(&self, id: Uuid) -> bool {
        let dir = self.path(id);
        !matches!(journal::begun(&dir), Ok(false)) || loss::is_certain(&dir)
    }

    /// The ids of all sessions, in their order.
    pub fn all(&self) -> Result<Vec<Uuid>, SessionError> {
        self.ids()
    }

    /// Removes what killed processes left beside the sessions: see [`Store::litter`].
    pub fn sweep(&self) -> Result<(), SessionError> {
        self.litter().iter().try_for_each(|path| self.sweep_one(path).map(drop))
    }

    /// False: it was not litter after all, or is gone already.
    pub(crate) fn sweep_one(&self, path: &Path) -> Result<bool, SessionError> {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        // What is being deleted is nobody's; what is being made is its maker's until the lock is free.
        let _lock = match name.starts_with(UNFINISHED).then(|| Lock::take_at_once(path)).transpose() {
            Err(SessionError::InUse { .. }) => return Ok(false),
            Err(SessionError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                return Ok(false);
            }
            lock => lock?,
        };
        let Some(id) = name.strip_prefix(UNFINISHED) else { return remove(path).map(|()| true) };
        // At once, so that whoever began it in this moment finds nothing, and not a part.
        let doomed = self.dir.join(format!("{DELETED}{id}"));
        remove(&doomed)?;
        fs::rename(path, &doomed).map_err(SessionError::io(path))?;
        remove(&doomed).map(|()| true)
    }

    /// All sessions, the one that was written to last first.
    pub fn list(&self) -> Result<Vec<Summary>, SessionError> {
        let ids = self.ids()?.into_iter();
        let mut all: Vec<_> = ids.map(|id| Summary::of(&self.path(id), id)).collect();
        all.sort_by_key(|summary| std::cmp::Reverse((summary.updated, summary.id)));
        Ok(all)
    }

    /// Finds the one session that is meant: by its id, its name, a beginning of its id, or `last`.
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

    /// Changes what people added to a session, if nobody writes it. What was there and could not be read is kept: says
    /// so, to be told.
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
        metadata.write(&dir)?;
        Ok(kept.map(|kept| Repair::Metadata { kept }))
    }

    /// Removes a session, if nobody writes it. It is gone at once; what a kill in between leaves, the next one takes.
    pub fn delete(&self, id: Uuid) -> Result<(), SessionError> {
        let dir = self.existing(id)?;
        let lock = Lock::take(&dir)?;
        self.discard(id, &lock)
    }

    /// For who holds its lock.
    pub(crate) fn discard(&self, id: Uuid, _lock: &Lock) -> Result<(), SessionError> {
        doom(&self.path(id))?;
        for entry in self.entries()? {
            if entry.file_name().to_string_lossy().starts_with(DELETED) {
                remove(&entry.path())?;
            }
        }
        Ok(())
    }

    /// Is a file of this name in the directory of all sessions one that a killed process left?
    pub(crate) fn is_unfinished(name: &str) -> bool {
        name.starts_with(DELETED) || name.starts_with(UNFINISHED)
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

/// At once it is no session any more; where its directory is now. What is left of that, the next one who deletes takes.
fn doom(dir: &Path) -> Result<PathBuf, SessionError> {
    let (all, id) = (dir.parent().unwrap_or(dir), dir.file_name().unwrap_or_default());
    let doomed = all.join(format!("{DELETED}{}", id.to_string_lossy()));
    let renamed = fs::rename(dir, &doomed).and_then(|()| files::sync_dir(all));
    renamed.map(|()| doomed).map_err(SessionError::io(dir))
}

/// A session that nothing was said in, for who holds its lock.
pub(crate) fn vanish(dir: &Path) -> Result<(), SessionError> {
    remove(&doom(dir)?)
}

/// Anything that is not named as we would name it is none of ours.
fn id_of(entry: &DirEntry) -> Option<Uuid> {
    let name = entry.file_name();
    let name = name.to_str()?;
    Uuid::parse_str(name).ok().filter(|id| id.to_string() == name)
}

/// Two deletions at once may meet here; whoever comes second finds less.
fn remove(dir: &Path) -> Result<(), SessionError> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(SessionError::Io { path: dir.to_owned(), source: error })
        }
        _ => Ok(()),
    }
}
