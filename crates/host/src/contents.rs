//! Blobs by digest: images, audio, and the full texts of truncated results.
//!
//! A session stores all of them. A run without a session keeps the media of its tools in memory, because the model
//! still has to see them. Truncated texts are not kept then, because they could not be read later.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use converse_canister::{Blobs, Digest};
use converse_ensemble::Artefacts;
use converse_session::{Contents, digest};
use parking_lot::{Mutex, RwLock};

/// Bytes kept in memory by a run without a session.
const MOST_HELD: usize = 64 * 1024 * 1024;

/// A cheaply clonable handle; clones share the blobs.
#[derive(Debug, Clone)]
pub struct Kept {
    /// `None` if there are no sessions.
    sessions: Arc<RwLock<Option<Arc<[Contents]>>>>,
    /// Whether sessions will be added later.
    awaited: bool,
    held: Arc<Mutex<StoredContents>>,
    /// Where blobs are looked for that are not here.
    shared: Option<Arc<Kept>>,
}

#[derive(Debug, Default)]
struct StoredContents {
    contents: HashMap<Digest, Arc<[u8]>>,
    bytes: usize,
    /// Evicts the oldest blobs if there is no room; a blob that is still too large is not kept.
    rolling: bool,
    /// The oldest blob first.
    order: VecDeque<Digest>,
}

impl StoredContents {
    fn make_room(&mut self, bytes: usize) {
        while self.rolling && self.bytes + bytes > MOST_HELD {
            let Some(oldest) = self.order.pop_front() else { return };
            self.bytes -= self.contents.remove(&oldest).map_or(0, |gone| gone.len());
        }
    }
}

impl Kept {
    /// The sessions that store the blobs: none for a run without a session, several if models are compared.
    pub fn new(sessions: impl IntoIterator<Item = Contents>) -> Self {
        let kept = Self::awaiting(false);
        kept.settle(sessions);
        kept
    }

    /// Creates a store for a run without an end, which keeps blobs only briefly.
    pub fn rolling() -> Self {
        let kept = Self::new(None);
        kept.held.lock().rolling = true;
        kept
    }

    /// Creates a store for a run whose sessions may begin later: see [`Kept::settle`].
    pub fn awaiting(awaited: bool) -> Self {
        Self { sessions: Arc::default(), awaited, held: Arc::default(), shared: None }
    }

    /// Creates a store for one of several turns at once: it stores for itself, and also finds the blobs of `shared`.
    pub fn over(shared: &Self) -> Self {
        Self { shared: Some(Arc::new(shared.clone())), ..Self::new(None) }
    }

    /// Sets the sessions.
    pub fn settle(&self, sessions: impl IntoIterator<Item = Contents>) {
        let sessions = sessions.into_iter().collect();
        *self.sessions.write() = Some(sessions);
    }

    /// Removes the sessions and awaits new ones.
    pub fn unsettle(&self) {
        *self.sessions.write() = None;
    }

    /// Keeps in this session too, until the guard is dropped: for a turn of one of several conversations over the same
    /// tools.
    pub(crate) fn also(&self, session: Option<Contents>) -> Also<'_> {
        let new = session.filter(|session| !self.sessions().contains(session));
        if let Some(new) = &new {
            self.settle(self.sessions().iter().chain([new]).cloned());
        }
        Also(self, new)
    }

    fn sessions(&self) -> Arc<[Contents]> {
        self.settled().unwrap_or_default()
    }

    fn settled(&self) -> Option<Arc<[Contents]>> {
        self.sessions.read().clone()
    }

    /// Returns whether blobs outlive the run.
    pub(crate) fn is_of_a_session(&self) -> bool {
        self.settled().map_or(self.awaited, |sessions| !sessions.is_empty())
    }

    /// Returns the blobs for the prompts of a model.
    pub fn shown(&self) -> Shown {
        Shown(self.clone())
    }

    /// Returns a store for a run that sends nothing and writes to no session.
    pub fn in_memory(&self) -> InMemory {
        InMemory(self.clone())
    }

    fn hold(&self, bytes: &[u8]) -> Option<Digest> {
        let digest = digest(bytes);
        let mut held = self.held.lock();
        if held.contents.contains_key(&digest) {
            return Some(digest);
        }
        held.make_room(bytes.len());
        if held.bytes + bytes.len() > MOST_HELD {
            return None;
        }
        held.bytes += bytes.len();
        held.order.push_back(digest);
        held.contents.insert(digest, bytes.into());
        Some(digest)
    }
}

/// See [`Kept::also`].
#[derive(Debug)]
pub(crate) struct Also<'a>(&'a Kept, Option<Contents>);

impl Drop for Also<'_> {
    fn drop(&mut self) {
        if let Some(session) = &self.1 {
            self.0.settle(self.0.sessions().iter().filter(|one| *one != session).cloned());
        }
    }
}

impl Artefacts for Kept {
    fn keep(&self, bytes: &[u8]) -> Option<Digest> {
        let put = |session: &Contents| {
            let kept = session.put(bytes);
            kept.inspect_err(|error| tracing::warn!(%error, "an artefact was not kept")).ok()
        };
        // Stores in all sessions, even if one fails.
        self.sessions().iter().map(put).fold(None, Option::or)
    }
}

/// [`Kept`], with blobs that cannot be stored kept in memory.
#[derive(Debug, Clone)]
pub struct Shown(Kept);

impl Artefacts for Shown {
    fn keep(&self, bytes: &[u8]) -> Option<Digest> {
        self.0.keep(bytes).or_else(|| self.0.hold(bytes))
    }
}

/// [`Kept`], with all blobs kept in memory until the run ends.
#[derive(Debug, Clone)]
pub struct InMemory(Kept);

impl Artefacts for InMemory {
    fn keep(&self, bytes: &[u8]) -> Option<Digest> {
        self.0.hold(bytes)
    }
}

impl Blobs for Kept {
    fn bytes(&self, digest: &Digest) -> Option<Arc<[u8]>> {
        let kept = self.sessions().iter().find_map(|contents| contents.get(digest).ok().flatten());
        let held = || self.held.lock().contents.get(digest).cloned();
        kept.or_else(held).or_else(|| self.shared.as_ref()?.bytes(digest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_session_pictures_are_held_and_texts_are_not() {
        let kept = Kept::new(None);
        assert_eq!(kept.keep(b"text"), None);
        let picture = kept.shown().keep(b"picture").unwrap();
        assert_eq!(kept.bytes(&picture).as_deref(), Some(&b"picture"[..]));
        assert_eq!(kept.bytes(&digest(b"text")), None);
    }

    #[test]
    fn what_is_held_is_bounded() {
        let shown = Kept::new(None).shown();
        assert!(shown.keep(&vec![1; MOST_HELD]).is_some());
        assert_eq!(shown.keep(b"x"), None);
        assert!(shown.keep(&vec![1; MOST_HELD]).is_some(), "it is held already");
    }

    #[test]
    fn without_an_end_the_oldest_makes_room() {
        let kept = Kept::rolling();
        let hold = |byte: u8| kept.shown().keep(&vec![byte; MOST_HELD / 3]).unwrap();
        let pictures: Vec<Digest> = (0..5).map(hold).collect();
        let there: Vec<bool> = pictures.iter().map(|picture| kept.bytes(picture).is_some()).collect();
        assert_eq!(there, [false, false, true, true, true]);
        assert_eq!(kept.shown().keep(&vec![9; MOST_HELD + 1]), None, "never so much");
        assert_eq!(kept.held.lock().bytes, 0);
    }
}
