//! Sessions in files, for servers that believe that they share a database. Its failures and the other servers are the test's.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use converse_session::storage::{
    Directory, News, RecordFiles, RecordKind, RecordUsage, Records, Replicas, SessionStorage, SharedTurn,
    Storage, WaitingSession, Wake,
};
use converse_session::{SessionError, Uuid};
use parking_lot::Mutex;

/// The process of the server that is tried.
const HERE: Uuid = Uuid::from_u128(1);
/// Another one.
pub(super) const ELSEWHERE: Uuid = Uuid::from_u128(2);

/// What the servers share. Clones are the same.
#[derive(Debug, Clone)]
pub(in crate::front) struct SharedFiles {
    sessions: Arc<Directory>,
    records: RecordFiles,
    pub(super) state: Arc<State>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    /// Whether small values cannot be read or written.
    pub(super) fails: AtomicBool,
    /// By session: the process that runs its turn, and the turn.
    pub(super) turns: Mutex<HashMap<Uuid, (Option<Uuid>, SharedTurn)>>,
    /// How often small values were to be read.
    pub(super) reads: Mutex<usize>,
}

impl SharedFiles {
    pub(in crate::front) fn new(dir: &Path) -> Self {
        let sessions = Arc::new(Directory::new(dir.join("data/sessions")));
        Self { sessions, records: RecordFiles::new(dir.join("data")), state: Arc::default() }
    }

    pub(in crate::front) fn fails(&self, fails: bool) {
        self.state.fails.store(fails, Ordering::SeqCst);
    }

    /// Begins a turn in this process.
    pub(super) fn runs(&self, session: Uuid, process: Option<Uuid>) {
        let run = "run".to_owned();
        let turn = SharedTurn { run, is_running: process.is_some(), began: None, ending: None };
        self.state.turns.lock().insert(session, (process, turn));
    }

    pub(super) fn process_of(&self, session: Uuid) -> Option<Uuid> {
        self.state.turns.lock().get(&session).and_then(|(process, _)| *process)
    }

    fn check(&self) -> io::Result<()> {
        match self.state.fails.load(Ordering::SeqCst) {
            true => Err(io::ErrorKind::ConnectionAborted.into()),
            false => Ok(()),
        }
    }

    /// Changes the turn of a session if this process runs it; returns whether it does.
    fn change(
        &self,
        session: Uuid,
        from: Uuid,
        change: impl FnOnce(&mut (Option<Uuid>, SharedTurn)),
    ) -> bool {
        let mut turns = self.state.turns.lock();
        let ours = turns.get_mut(&session).filter(|(process, _)| *process == Some(from));
        ours.map(|turn| {
            change(turn);
            turn.1.is_running = turn.0.is_some();
        })
        .is_some()
    }
}

impl Storage for SharedFiles {
    fn ids(&self) -> Result<Vec<Uuid>, SessionError> {
        self.sessions.ids()
    }

    fn session(&self, id: Uuid) -> Arc<dyn SessionStorage> {
        self.sessions.session(id)
    }

    fn begin(&self, id: Uuid, staged: bool) -> Result<Arc<dyn SessionStorage>, SessionError> {
        self.sessions.begin(id, staged)
    }

    fn litter(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    fn sweep(&self, _litter: &Path) -> Result<bool, SessionError> {
        Ok(false)
    }

    fn records(&self) -> Option<Arc<dyn Records>> {
        Some(Arc::new(self.clone()))
    }

    fn join(&self, _process: Uuid, _wake: Wake) -> io::Result<Option<Arc<dyn Replicas>>> {
        Ok(Some(Arc::new(self.clone())))
    }
}

impl Records for SharedFiles {
    fn get(&self, kind: RecordKind, key: &str) -> io::Result<Option<Vec<u8>>> {
        *self.state.reads.lock() += 1;
        self.check()?;
        self.records.get(kind, key)
    }

    fn insert(&self, kind: RecordKind, key: &str, value: &[u8]) -> io::Result<bool> {
        self.check()?;
        self.records.insert(kind, key, value)
    }

    fn put(&self, kind: RecordKind, key: &str, value: &[u8]) -> io::Result<()> {
        self.check()?;
        self.records.put(kind, key, value)
    }

    fn update(&self, kind: RecordKind, key: &str, old: &[u8], new: &[u8]) -> io::Result<bool> {
        self.check()?;
        self.records.update(kind, key, old, new)
    }

    fn remove(&self, kind: RecordKind, key: &str) -> io::Result<()> {
        self.check()?;
        self.records.remove(kind, key)
    }

    fn remove_known(&self, kind: RecordKind, key: &str, old: &[u8]) -> io::Result<bool> {
        self.check()?;
        self.records.remove_known(kind, key, old)
    }

    fn keys(&self, kind: RecordKind) -> io::Result<Vec<String>> {
        self.check()?;
        self.records.keys(kind)
    }

    fn sweep(&self, kind: RecordKind) -> io::Result<RecordUsage> {
        self.check()?;
        self.records.sweep(kind)
    }
}

impl Replicas for SharedFiles {
    fn process(&self) -> Uuid {
        HERE
    }

    fn is_connected(&self) -> bool {
        true
    }

    fn is_alive(&self, _process: Uuid) -> io::Result<bool> {
        Ok(true)
    }

    fn news(&self) -> Vec<News> {
        Vec::new()
    }

    fn announce(&self, _news: News) {}

    fn begin(&self, _owner: &str, session: Uuid, _run: &str) -> io::Result<bool> {
        let is_free = self.process_of(session).is_none();
        if is_free {
            self.runs(session, Some(HERE));
        }
        Ok(is_free)
    }

    fn began(&self, session: Uuid, messages: usize) -> io::Result<bool> {
        Ok(self.change(session, HERE, |turn| turn.1.began = Some(messages)))
    }

    fn end(&self, session: Uuid, ending: &str) -> io::Result<()> {
        self.change(session, HERE, |turn| (turn.0, turn.1.ending) = (None, Some(ending.to_owned())));
        Ok(())
    }

    fn turn(&self, _owner: &str, session: Uuid) -> io::Result<Option<SharedTurn>> {
        Ok(self.state.turns.lock().get(&session).map(|(_, turn)| turn.clone()))
    }

    fn running(&self, _owner: &str) -> io::Result<Vec<Uuid>> {
        Ok(Vec::new())
    }

    fn cancel(&self, _owner: &str, _session: Uuid) -> io::Result<bool> {
        Ok(false)
    }

    fn take_over(&self, session: Uuid, from: Uuid) -> io::Result<bool> {
        Ok(self.change(session, from, |turn| turn.0 = Some(HERE)))
    }

    fn give_back(&self, session: Uuid, to: Uuid) -> io::Result<()> {
        self.change(session, HERE, |turn| turn.0 = Some(to));
        Ok(())
    }

    fn waiting(&self) -> io::Result<Vec<WaitingSession>> {
        let keys = self.keys(RecordKind::Waiting)?;
        let sessions = keys.iter().filter_map(|key| key.parse().ok());
        let waiting = |session| WaitingSession { owner: String::new(), session, version: 1 };
        Ok(sessions.filter(|session| self.process_of(*session).is_none()).map(waiting).collect())
    }
}
