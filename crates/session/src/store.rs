//! The store: all sessions of one user, wherever they are kept.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use converse_canister::Invocation;
use jiff::Timestamp;
use uuid::Uuid;

use crate::files::Durability;
use crate::journal::Opening;
use crate::list_index::ListIndex;
use crate::storage::{Directory, Listed, SessionStorage, Storage, is_missing};
use crate::{
    Contents, Header, Loaded, Metadata, Repair, Session, SessionError, Summary, journal, loss, metadata,
};

/// Name of the session that was written last.
const LAST: &str = "last";

/// Limit on attempts to create a session, because another process may remove it each time.
const BEGINNINGS: u32 = 100;

/// The sessions of one user. Creating a value accesses nothing.
#[derive(Debug, Clone)]
pub struct Store {
    storage: Arc<dyn Storage>,
    pub(crate) clean: Clean,
}

impl Store {
    /// `dir` is the directory `sessions` itself. It is created with the first session.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self::on(Arc::new(Directory::new(dir.into())))
    }

    /// The sessions that are kept elsewhere.
    pub fn on(storage: Arc<dyn Storage>) -> Self {
        Self { storage, clean: Clean::default() }
    }

    /// Sets the function that removes secrets from names, first words and search results.
    pub fn cleaned(self, clean: Clean) -> Self {
        Self { clean, ..self }
    }

    /// Creates a session durably, or leaves nothing. `program` is the writer, such as `converse 0.1.0`.
    pub fn create(&self, id: Uuid, program: &str, now: Timestamp) -> Result<Session, SessionError> {
        self.begin(id, false, Header::new(program, now))
    }

    /// Creates a session with its content completely or not at all: it gets its name last.
    pub(crate) fn place(
        &self,
        id: Uuid,
        header: Header,
        fill: impl FnOnce(&mut Session) -> Result<(), SessionError>,
    ) -> Result<(), SessionError> {
        // The lock is held until the session has its name; without the lock, others would remove it.
        let mut session = self.begin(id, true, header)?;
        let placed = fill(&mut session)
            .and_then(|()| session.journal.commit())
            .and_then(|()| session.save_metadata())
            .and_then(|()| session.journal.lock().publish());
        if placed.is_err() {
            session.abandon();
        }
        placed
    }

    /// Begins a session and takes its lock. If another process takes it for a leftover and removes it first, it is begun
    /// again.
    fn begin(&self, id: Uuid, staged: bool, header: Header) -> Result<Session, SessionError> {
        let mut left = BEGINNINGS;
        loop {
            left -= 1;
            let at = self.storage.begin(id, staged)?;
            match Session::create(at.clone(), id, header.clone(), &self.clean) {
                Ok(session) => return Ok(session),
                Err(_) if left > 0 && matches!(at.exists(), Ok(false)) => {}
                Err(error) => {
                    at.abandon();
                    return Err(error);
                }
            }
        }
    }

    /// Locks, reads and repairs a session, and returns it for writing.
    pub fn open(&self, id: Uuid, now: Timestamp) -> Result<Session, SessionError> {
        Session::open(self.existing(id)?, id, now, Opening::Anew, &self.clean)
    }

    /// The same, for a turn that may continue with invocations that wait for a decision: they stay open.
    pub fn resume(&self, id: Uuid, now: Timestamp) -> Result<Session, SessionError> {
        Session::open(self.existing(id)?, id, now, Opening::Waiting, &self.clean)
    }

    /// The same, for a turn that goes on where another process was lost. Invocations that were not started stay open, and
    /// those that may run again. The others get the result that their outcome is unknown: whoever has the session's lock is
    /// the only one who may start one, and this is written before anything runs.
    pub fn take_up(
        &self,
        id: Uuid,
        now: Timestamp,
        may_repeat: &dyn Fn(&Invocation) -> bool,
    ) -> Result<Session, SessionError> {
        let opened = Session::open(self.existing(id)?, id, now, Opening::TakenUp(may_repeat), &self.clean);
        if matches!(opened, Err(SessionError::Empty { .. })) {
            // Its creation was interrupted, so nothing was said: it begins anew.
            self.delete(id)?;
            return Err(SessionError::NotFound(id.to_string()));
        }
        opened
    }

    /// Reads a session without locking or writing. Invocations that wait for a decision are open.
    pub fn read_waiting(&self, id: Uuid) -> Result<Loaded, SessionError> {
        let loaded = journal::read_open(&*self.existing(id)?)?;
        Ok(if loaded.is_waiting() { loaded } else { loaded.answered() })
    }

    /// Reads a session in which a turn runs, without locking or writing. Invocations without a result are open.
    pub fn read_running(&self, id: Uuid) -> Result<Loaded, SessionError> {
        journal::read_open(&*self.existing(id)?)
    }

    /// Reads a session as it would be after repairs, without locking or writing.
    pub fn read(&self, id: Uuid) -> Result<Loaded, SessionError> {
        journal::read(&*self.existing(id)?)
    }

    /// Returns the content of a session for reading.
    pub fn contents(&self, id: Uuid) -> Contents {
        Contents::at(self.at(id))
    }

    /// Returns the session that was written last. Sessions without messages are skipped.
    pub fn latest(&self) -> Result<Uuid, SessionError> {
        let last = self.latest_with(|_| true)?;
        last.ok_or_else(|| SessionError::NotFound("latest".to_owned()))
    }

    /// The same, of the sessions that began in this project; `None`: outside of any project.
    ///
    /// # Errors
    ///
    /// [`SessionError::NoneOfProject`] if all sessions are of other projects.
    pub fn latest_of(&self, project: Option<&str>) -> Result<Uuid, SessionError> {
        match self.latest_with(|metadata| metadata.project.as_deref() == project)? {
            Some(last) => Ok(last),
            None => {
                self.latest()?;
                Err(SessionError::NoneOfProject { project: project.map(str::to_owned) })
            }
        }
    }

    /// Metadata that is broken, or cannot be read now, counts as empty.
    fn latest_with(&self, fits: impl Fn(&Metadata) -> bool) -> Result<Option<Uuid>, SessionError> {
        let is_meant = |id: &Uuid| fits(&Metadata::read(&*self.at(*id))) && self.has_begun(*id);
        let mut before = None;
        while let Some(page) = self.storage.recent(before)? {
            let Some(earliest) = page.last() else { return Ok(None) };
            before = Some(*earliest);
            if let Some(last) = page.iter().map(|(_, id)| *id).find(is_meant) {
                return Ok(Some(last));
            }
        }
        let ids = self.ids()?.into_iter();
        let mut dated = ids.filter_map(|id| Some((self.written(id)?, id))).collect::<Vec<_>>();
        dated.sort_unstable();
        Ok(dated.into_iter().rev().map(|(_, id)| id).find(is_meant))
    }

    /// Returns the metadata of a session, without locking it.
    pub fn metadata(&self, id: Uuid) -> Result<Metadata, SessionError> {
        Metadata::load(&*self.existing(id)?)
    }

    /// Returns the sessions with this tag, by id. Sessions without messages are skipped.
    pub fn tagged(&self, tag: &str) -> Result<Vec<Uuid>, SessionError> {
        let (tagged, unread) = self.labelled(|metadata| metadata.tags.iter().any(|one| one == tag))?;
        match unread {
            Some(error) => Err(error),
            None => Ok(tagged.into_iter().filter(|id| self.has_begun(*id)).collect()),
        }
    }

    /// Returns the sessions whose metadata fits, by id, and why the metadata of one of the others cannot be read.
    fn labelled(
        &self,
        fits: impl Fn(&Metadata) -> bool,
    ) -> Result<(Vec<Uuid>, Option<SessionError>), SessionError> {
        let (mut fitting, mut unread) = (Vec::new(), None);
        let mut read = |id: Uuid, metadata: Result<Metadata, SessionError>| match metadata {
            Ok(metadata) if fits(&metadata) => fitting.push(id),
            Ok(_) => {}
            Err(error) => unread = unread.take().or(Some(error)),
        };
        let is_in_pages = self.each_listed(|mut one| {
            let metadata = one.take_metadata();
            read(one.id, metadata.map_err(SessionError::io(&self.at(one.id).path(metadata::FILE))));
        })?;
        if !is_in_pages {
            self.ids()?.into_iter().for_each(|id| read(id, Metadata::load(&*self.at(id))));
        }
        Ok((fitting, unread))
    }

    /// Reads the sessions in pages, by id. Returns false if each is read by itself.
    fn each_listed(&self, mut read: impl FnMut(Listed)) -> Result<bool, SessionError> {
        let mut after = None;
        while let Some(page) = self.storage.listed(after)? {
            let Some(last) = page.last() else { return Ok(true) };
            after = Some(last.id);
            page.into_iter().for_each(&mut read);
        }
        Ok(false)
    }

    /// Returns whether a session has or had messages. A session that lost them counts, so that the damage is reported, and
    /// so does one of which that cannot be found out.
    fn has_begun(&self, id: Uuid) -> bool {
        let at = self.at(id);
        let is_empty = match journal::begun(&*at) {
            Ok(begun) => !begun,
            // Its creator was killed.
            Err(SessionError::Io { source, .. }) => is_missing(&source),
            Err(_) => false,
        };
        !is_empty || loss::is_certain(&*at).unwrap_or(true)
    }

    /// Returns the ids of all sessions, sorted.
    pub fn all(&self) -> Result<Vec<Uuid>, SessionError> {
        self.ids()
    }

    /// Returns when the journal of a session was last written; `None` if there is none.
    pub fn written(&self, id: Uuid) -> Option<Timestamp> {
        journal::state(&*self.at(id)).map(|(_, written)| written)
    }

    /// Removes what killed processes left next to the sessions: see [`Store::litter`].
    pub fn sweep(&self) -> Result<(), SessionError> {
        self.litter().iter().try_for_each(|path| self.storage.sweep(path).map(drop))
    }

    /// Returns all sessions, the last written first. An index is written beside them, so that the next list reads only
    /// what has changed.
    pub fn list(&self) -> Result<Vec<Summary>, SessionError> {
        let mut all = Vec::new();
        let is_in_pages = self.each_listed(|mut one| {
            // What cannot be read is a problem of this session alone, and found again when its journal is read.
            let metadata = one.take_metadata().unwrap_or_default();
            all.push(Summary::with(&*self.at(one.id), one.id, one.journal, metadata));
        })?;
        if !is_in_pages {
            let ids = self.ids()?.into_iter();
            all = match self.storage.directory() {
                Some(dir) => {
                    let mut index = ListIndex::read(dir);
                    let all = ids.map(|id| index.summary(&*self.at(id), id)).collect();
                    index.store(dir);
                    all
                }
                None => ids.map(|id| Summary::of(&*self.at(id), id)).collect(),
            };
        }
        all.sort_by_key(|summary| std::cmp::Reverse((summary.updated, summary.id)));
        Ok(all)
    }

    /// Returns one session as [`list`](Self::list) does.
    pub fn summary(&self, id: Uuid) -> Result<Summary, SessionError> {
        Ok(Summary::of(&*self.existing(id)?, id))
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
        let (mut fitting, unread) = self.labelled(|metadata| metadata.name.as_deref() == Some(text))?;
        if fitting.is_empty() && !text.is_empty() {
            fitting = ids.into_iter().filter(|id| id.to_string().starts_with(text)).collect();
        }
        match fitting.as_slice() {
            // What cannot be read may have the name.
            [] => Err(unread.unwrap_or_else(|| SessionError::NotFound(text.to_owned()))),
            [id] => Ok(*id),
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
        let at = self.existing(id)?;
        let lock = at.lock()?;
        journal::refuse_newer(&*at)?;
        let kept = metadata::set_aside(&*at, &*lock)?;
        let mut metadata = Metadata::load(&*at)?;
        change(&mut metadata);
        metadata.write(&*at, &*lock, Durability::Name)?;
        Ok(kept.map(|kept| Repair::Metadata { kept }))
    }

    /// Deletes a session that no other process writes. After a kill in between, the next deletion removes the rest.
    pub fn delete(&self, id: Uuid) -> Result<(), SessionError> {
        self.existing(id)?.lock()?.delete()?;
        self.storage.forget(id)
    }

    /// Returns what killed processes left next to the sessions.
    pub fn litter(&self) -> Vec<PathBuf> {
        self.storage.litter()
    }

    /// Checks that the place of the sessions can be reached.
    ///
    /// # Errors
    ///
    /// It cannot.
    pub fn reach(&self) -> Result<(), SessionError> {
        let at = self.at(Uuid::nil());
        at.exists().map(drop).map_err(SessionError::io(at.dir()))
    }

    /// Returns whether both are the sessions of the same place.
    pub fn is_at(&self, other: &Self) -> bool {
        let place = |store: &Self| store.at(Uuid::nil()).dir().to_owned();
        place(self) == place(other)
    }

    pub(crate) fn storage(&self) -> &dyn Storage {
        &*self.storage
    }

    pub(crate) fn at(&self, id: Uuid) -> Arc<dyn SessionStorage> {
        self.storage.session(id)
    }

    pub(crate) fn existing(&self, id: Uuid) -> Result<Arc<dyn SessionStorage>, SessionError> {
        let at = self.at(id);
        let exists = at.exists().map_err(SessionError::io(at.dir()))?;
        if exists { Ok(at) } else { Err(SessionError::NotFound(id.to_string())) }
    }

    pub(crate) fn ids(&self) -> Result<Vec<Uuid>, SessionError> {
        self.storage.ids()
    }

    #[cfg(test)]
    pub(crate) fn dir(&self) -> &std::path::Path {
        self.storage.directory().unwrap()
    }

    #[cfg(test)]
    pub(crate) fn path(&self, id: Uuid) -> PathBuf {
        self.at(id).dir().to_owned()
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
