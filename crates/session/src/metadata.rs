//! Metadata of a session: names and tags by people, and totals for lists. Every key and the file itself may be missing.

use std::io::{self, Read as _};
use std::path::Path;

use converse_canister::{Cost, InvocationId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::SessionError;
use crate::files::Durability;
use crate::storage::{JournalState, SessionDirectory, SessionLock, SessionStorage, is_missing};

pub(crate) const FILE: &str = "metadata.toml";
const MAX_BYTES: u64 = 64 * 1024;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Metadata {
    /// Made from the user's first words, or given by a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A person removed the name, so none is made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nameless: bool,
    /// The model that was used last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The model is the one that an imported document names, and nobody has used it here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub model_imported: bool,
    /// The directory of the project in which the session began: the root of its repository, else the working directory.
    /// `None` also for sessions of versions that did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The models of a comparison, including this session's, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compared: Vec<String>,
    /// Invocations that another session's run of a comparison answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<InvocationId>,
    /// Totals for lists. Valid only if [`Metadata::current`] returns them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub totals: Option<Totals>,
    /// Keys of later versions, which are written back.
    #[serde(flatten)]
    pub other: toml::Table,
}

/// Totals of a session, from when its writer closed it. Derived from the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Messages of the user in the current conversation.
    pub turns: u64,
    /// Messages of the current conversation.
    pub canisters: u64,
    /// Input and output tokens of all replies.
    pub tokens: u64,
    /// Cost of all replies with a known price.
    pub cost: Cost,
    /// The user's first words, in one line of at most 80 characters.
    pub words: String,
    /// Bytes of the journal that the totals describe.
    pub journal: u64,
    /// Time of its last write, from the file system.
    pub updated: Timestamp,
}

impl Metadata {
    /// Returns the model that was used here last: not one that only an imported document names.
    pub fn used_model(&self) -> Option<&str> {
        self.model.as_deref().filter(|_| !self.model_imported)
    }

    /// Returns the model that an imported document names and nobody has used here.
    pub fn imported_model(&self) -> Option<&str> {
        self.model.as_deref().filter(|_| self.model_imported)
    }

    /// Returns the totals, if the journal in this directory has the same length and time of the last write.
    pub fn current(&self, dir: &Path) -> Option<&Totals> {
        self.current_of(&SessionDirectory::new(dir).journal().ok()?)
    }

    /// The same, for a journal with this state.
    pub(crate) fn current_of(&self, journal: &JournalState) -> Option<&Totals> {
        let (length, modified) = (journal.length, journal.updated()?);
        self.totals.as_ref().filter(|totals| totals.journal == length && totals.updated == modified)
    }

    /// Reads the metadata for display; empty if missing, broken, or not to be read now.
    pub(crate) fn read(at: &dyn SessionStorage) -> Self {
        Self::load(at).unwrap_or_default()
    }

    /// Reads the metadata; empty if missing or broken.
    pub(crate) fn load(at: &dyn SessionStorage) -> Result<Self, SessionError> {
        Ok(found(at)?.unwrap_or_default())
    }

    /// Returns the metadata in the bytes of its file; empty if broken.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Self {
        parsed(bytes).unwrap_or_default()
    }

    /// Writes the metadata. Broken metadata is kept: see [`set_aside`].
    pub(crate) fn write(
        &self,
        at: &dyn SessionStorage,
        lock: &dyn SessionLock,
        durability: Durability,
    ) -> Result<(), SessionError> {
        let path = at.path(FILE);
        let text = toml::to_string(self).map_err(io::Error::other).map_err(SessionError::io(&path))?;
        if text.len() as u64 > MAX_BYTES {
            let source = io::Error::other("name, tags and model have more than 64 KiB");
            return Err(SessionError::Io { path, source });
        }
        set_aside(at, lock)?;
        lock.replace(FILE, text.as_bytes(), durability).map_err(SessionError::io(&path))
    }
}

/// Reads the metadata; `None` if it is broken: its bytes were read, and are not metadata. That they cannot be read says
/// nothing about them, and is an error.
fn found(at: &dyn SessionStorage) -> Result<Option<Metadata>, SessionError> {
    let mut bytes = Vec::new();
    match at.open(FILE).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes)) {
        Ok(_) => Ok(parsed(&bytes)),
        Err(error) if is_missing(&error) => Ok(Some(Metadata::default())),
        Err(source) => Err(SessionError::Io { path: at.path(FILE), source }),
    }
}

/// Returns `None` if the bytes are too many, not UTF-8, or not TOML with these keys.
fn parsed(bytes: &[u8]) -> Option<Metadata> {
    let text = str::from_utf8(bytes).ok().filter(|text| text.len() as u64 <= MAX_BYTES);
    text.and_then(|text| toml::from_str(text).ok())
}

/// Returns whether there is a file whose bytes are not metadata.
pub(crate) fn is_broken(at: &dyn SessionStorage) -> Result<bool, SessionError> {
    Ok(found(at)?.is_none())
}

/// Limit on the files that are kept.
const ASIDE: u32 = 100;

/// Renames broken metadata, so that it is not overwritten, and returns the new name.
pub(crate) fn set_aside(
    at: &dyn SessionStorage,
    lock: &dyn SessionLock,
) -> Result<Option<String>, SessionError> {
    if !is_broken(at)? {
        return Ok(None);
    }
    let numbered = |number| match number {
        1 => "metadata.broken".to_owned(),
        more => format!("metadata.broken-{more}"),
    };
    let free = (1..=ASIDE).map(numbered).find(|name| matches!(at.has(name), Ok(false)));
    let kept = free.ok_or_else(|| io::Error::other("too many unreadable copies are kept already"));
    kept.and_then(|name| lock.rename(FILE, &name).map(|()| Some(name)))
        .map_err(SessionError::io(&at.path(FILE)))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::journal;

    #[test]
    fn it_reads_back_with_what_others_wrote() {
        let dir = tempfile::tempdir().unwrap();
        let at = SessionDirectory::new(dir.path());
        assert_eq!(Metadata::read(&at), Metadata::default());
        fs::write(dir.path().join(FILE), "name = \"tax\"\nstars = 5\n[later]\nx = 1\n").unwrap();
        let mut metadata = Metadata::read(&at);
        assert_eq!(metadata.name.as_deref(), Some("tax"));
        metadata.tags = vec!["a".into()];
        metadata.totals = Some(totals());
        metadata.write(&at, &*at.lock().unwrap(), Durability::Name).unwrap();
        assert_eq!(Metadata::read(&at), metadata);
        let text = fs::read_to_string(dir.path().join(FILE)).unwrap();
        assert!(text.contains("stars = 5") && text.contains("[later]") && text.contains("tags"), "{text}");
        assert_eq!(at.names(crate::storage::Area::Session).unwrap(), ["lock", FILE]);
    }

    fn totals() -> Totals {
        let (tokens, words, updated) = (3, "hello".to_owned(), Timestamp::UNIX_EPOCH);
        Totals { turns: 1, canisters: 2, tokens, cost: Cost(4), words, journal: 5, updated }
    }

    #[test]
    fn totals_hold_for_the_journal_they_were_made_of() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(journal::FILE);
        let metadata = Metadata { totals: Some(totals()), ..Metadata::default() };
        assert_eq!(metadata.current(dir.path()), None, "there is no journal");
        for (bytes, nanos, holds) in [("12345", 0, true), ("123456", 0, false), ("12345", 1, false)] {
            fs::write(&file, bytes).unwrap();
            let time = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_nanos(nanos);
            fs::File::options().append(true).open(&file).unwrap().set_modified(time).unwrap();
            assert_eq!(metadata.current(dir.path()).is_some(), holds, "{bytes} {nanos}");
        }
    }

    #[test]
    fn unreadable_metadata_counts_as_missing() {
        let dir = tempfile::tempdir().unwrap();
        let long = format!("name = \"{}\"", "x".repeat(MAX_BYTES as usize));
        for broken in ["name = ", "name = 5", "\u{feff}\0", &long] {
            fs::write(dir.path().join(FILE), broken).unwrap();
            assert_eq!(Metadata::read(&SessionDirectory::new(dir.path())), Metadata::default());
        }
    }

    #[test]
    fn metadata_that_cannot_be_read_now_is_neither_broken_nor_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let at = SessionDirectory::new(dir.path());
        let lock = at.lock().unwrap();
        // Also for a user who may read everything.
        fs::create_dir(dir.path().join(FILE)).unwrap();
        assert!(Metadata::load(&at).is_err() && is_broken(&at).is_err());
        assert!(set_aside(&at, &*lock).is_err());
        assert!(Metadata::default().write(&at, &*lock, Durability::Name).is_err());
        assert_eq!(Metadata::read(&at), Metadata::default());
        assert!(dir.path().join(FILE).is_dir() && !dir.path().join("metadata.broken").exists());
        fs::remove_dir(dir.path().join(FILE)).unwrap();
        fs::write(dir.path().join(FILE), b"name = \"\xff\"").unwrap();
        assert!(is_broken(&at).unwrap());
        assert_eq!(set_aside(&at, &*lock).unwrap().as_deref(), Some("metadata.broken"));
    }
}
