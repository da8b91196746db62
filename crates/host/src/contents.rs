//! Content by digest: pictures, sounds, the full texts of results that were cut.
//!
//! A session keeps all of it. A run that keeps nothing still has to show the model the pictures of its tools, so those
//! are held until it ends; a text that was cut is not, since nobody could read it later.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use converse_canister::{Blobs, Digest};
use converse_ensemble::Artefacts;
use converse_session::{Contents, digest};
use parking_lot::{Mutex, RwLock};

/// Bytes that a run without a session holds at most.
const MOST_HELD: usize = 64 * 1024 * 1024;

/// Cheap to share; a clone is the same one.
#[derive(Debug, Clone)]
pub struct Kept {
    /// `None`: there are none yet.
    sessions: Arc<RwLock<Option<Arc<[Contents]>>>>,
    /// There will be sessions, if there are none yet.
    awaited: bool,
    held: Arc<Mutex<Held>>,
}

#[derive(Debug, Default)]
struct Held {
    contents: HashMap<Digest, Arc<[u8]>>,
    bytes: usize,
    /// What is held longest goes when there is no more room; else what comes then is not held.
    rolling: bool,
    /// From the one that is held longest.
    order: VecDeque<Digest>,
}

impl Held {
    fn make_room(&mut self, bytes: usize) {
        while self.rolling && self.bytes + bytes > MOST_HELD {
            let Some(oldest) = self.order.pop_front() else { return };
            self.bytes -= self.contents.remove(&oldest).map_or(0, |gone| gone.len());
        }
    }
}

impl Kept {
    /// None: of a run that keeps nothing. Several: of models that are compared; each session keeps all.
    pub fn new(sessions: impl IntoIterator<Item = Contents>) -> Self {
        let kept = Self::awaiting(false);
        kept.settle(sessions);
        kept
    }

    /// Of a run without an end: nothing is kept, and what is held is needed for a moment only.
    pub fn rolling() -> Self {
        let kept = Self::new(None);
        kept.held.lock().rolling = true;
        kept
    }

    /// Of a run whose sessions are begun later, if it is to have any: see [`Kept::settle`].
    pub fn awaiting(awaited: bool) -> Self {
        Self { sessions: Arc::default(), awaited, held: Arc::default() }
    }

    /// The sessions that are here from now on.
    pub fn settle(&self, sessions: impl IntoIterator<Item = Contents>) {
        let sessions = sessions.into_iter().collect();
        *self.sessions.write() = Some(sessions);
    }

    /// There are none again; they are awaited as they were.
    pub fn unsettle(&self) {
        *self.sessions.write() = None;
    }

    fn sessions(&self) -> Arc<[Contents]> {
        self.settled().unwrap_or_default()
    }

    fn settled(&self) -> Option<Arc<[Contents]>> {
        self.sessions.read().clone()
    }

    /// Does anything outlive the run?
    pub(crate) fn is_of_a_session(&self) -> bool {
        self.settled().map_or(self.awaited, |sessions| !sessions.is_empty())
    }

    /// For what the model is to be shown.
    pub fn shown(&self) -> Shown {
        Shown(self.clone())
    }

    /// For a run that sends nothing: no session gets it.
    pub fn held(&self) -> OnlyHeld {
        OnlyHeld(self.clone())
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

impl Artefacts for Kept {
    fn keep(&self, bytes: &[u8]) -> Option<Digest> {
        let put = |session: &Contents| {
            let kept = session.put(bytes);
            kept.inspect_err(|error| tracing::warn!(%error, "an artefact was not kept")).ok()
        };
        // All of them, also after one that could not.
        self.sessions().iter().map(put).fold(None, Option::or)
    }
}

/// [`Kept`], where what cannot be kept is at least held.
#[derive(Debug, Clone)]
pub struct Shown(Kept);

impl Artefacts for Shown {
    fn keep(&self, bytes: &[u8]) -> Option<Digest> {
        self.0.keep(bytes).or_else(|| self.0.hold(bytes))
    }
}

/// [`Kept`], where nothing is kept and all is held until the run ends.
#[derive(Debug, Clone)]
pub struct OnlyHeld(Kept);

impl Artefacts for OnlyHeld {
    fn keep(&self, bytes: &[u8]) -> Option<Digest> {
        self.0.hold(bytes)
    }
}

impl Blobs for Kept {
    fn bytes(&self, digest: &Digest) -> Option<Arc<[u8]>> {
        let kept = self.sessions().iter().find_map(|contents| contents.get(digest).ok().flatten());
        let held = || self.held.lock().contents.get(digest).cloned();
        kept.or_else(held)
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
