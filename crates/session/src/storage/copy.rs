//! Copies sessions to another place, byte by byte.

use std::io::{self, ErrorKind};

use uuid::Uuid;

use super::{Area, CONTENT, JOURNAL, SessionStorage, read_all};
use crate::files::{self, Durability};
use crate::{Metadata, SessionError, Store, index, metadata};

/// What became of a session that should be copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copied {
    /// It is at the other place now.
    New,
    /// It was there before, with the same journal and metadata.
    Same,
    /// It was there before, with the same journal, but with other metadata or files, which stay as they are.
    OtherMetadata,
    /// Another state of the session is there, which stays as it is.
    Differs,
}

impl Store {
    /// Copies a session with all that belongs to it, completely or not at all. Damaged sessions are copied as they are.
    /// The session stays here. Nobody may write it meanwhile.
    ///
    /// # Errors
    ///
    /// The session is in use, or cannot be read or written.
    pub fn copy_to(&self, other: &Self, id: Uuid) -> Result<Copied, SessionError> {
        let from = self.existing(id)?;
        let _lock = from.lock()?;
        let there = other.at(id);
        if there.exists().map_err(SessionError::io(there.dir()))? {
            return Ok(match journal(&*from)? == journal(&*there)? {
                false => Copied::Differs,
                true if described(&*from)? != described(&*there)? => Copied::OtherMetadata,
                true => Copied::Same,
            });
        }
        let to = match other.storage().begin(id, true) {
            // What an interrupted copy has left.
            Err(SessionError::Io { source, .. }) if source.kind() == ErrorKind::AlreadyExists => {
                other.sweep()?;
                other.storage().begin(id, true)?
            }
            begun => begun?,
        };
        let copied = fill(&*from, &*to);
        if copied.is_err() {
            to.abandon();
        }
        copied.map(|()| Copied::New)
    }
}

fn fill(from: &dyn SessionStorage, to: &dyn SessionStorage) -> Result<(), SessionError> {
    let lock = to.lock()?;
    for name in from.names(Area::Content).map_err(SessionError::io(from.dir()))? {
        let bytes = read(from, &format!("{CONTENT}{name}"))?;
        to.put_content(&name, &bytes).map_err(SessionError::io(to.dir()))?;
    }
    let names = from.names(Area::Session).map_err(SessionError::io(from.dir()))?;
    for name in names.iter().filter(|name| !is_of_the_place(name)) {
        let bytes = read(from, name)?;
        lock.replace(name, &bytes, Durability::Name).map_err(SessionError::io(&to.path(name)))?;
    }
    if names.iter().any(|name| name == JOURNAL) {
        let failed = || SessionError::io(to.dir());
        let state = from.journal().map_err(SessionError::io(from.dir()))?;
        lock.date_journal(state.modified).map_err(failed())?;
        // The other place may keep a coarser time; the totals name the journal by its time.
        let (metadata, dated) = (Metadata::load(from)?, to.journal().map_err(failed())?.updated());
        if let Some(totals) = metadata.current_of(&state).cloned()
            && let Some(updated) = dated.filter(|updated| *updated != totals.updated)
        {
            let totals = Some(crate::Totals { updated, ..totals });
            Metadata { totals, ..metadata }.write(to, &*lock, Durability::Name)?;
        }
    }
    lock.publish()
}

/// Returns whether a file means nothing at another place: the lock, what a killed writer left, and the search index.
fn is_of_the_place(name: &str) -> bool {
    name == "lock" || name == index::FILE || name.starts_with(files::TEMPORARY)
}

fn read(from: &dyn SessionStorage, name: &str) -> Result<Vec<u8>, SessionError> {
    read_all(from, name).map_err(SessionError::io(&from.path(name)))
}

/// The metadata, and the names and bytes of the other files.
type Described = (Metadata, Vec<(String, Vec<u8>)>);

/// Returns the metadata and the other files beside the journal. Totals are derived, and name the journal by its time at
/// its place.
fn described(at: &dyn SessionStorage) -> Result<Described, SessionError> {
    let metadata = Metadata { totals: None, ..Metadata::load(at)? };
    let names = at.names(Area::Session).map_err(SessionError::io(at.dir()))?;
    let is_kept = |name: &String| !is_of_the_place(name) && ![JOURNAL, metadata::FILE].contains(&&**name);
    let files = names.into_iter().filter(is_kept).map(|name| Ok((name.clone(), read(at, &name)?)));
    Ok((metadata, files.collect::<Result<_, SessionError>>()?))
}

/// Returns the bytes of the journal; `None` if there is none.
fn journal(at: &dyn SessionStorage) -> Result<Option<Vec<u8>>, SessionError> {
    match read_all(at, JOURNAL) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some).map_err(SessionError::io(&at.path(JOURNAL))),
    }
}
