//! Garbage collection: removes old and empty sessions, unused content and temporary files.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use converse_canister::Digest;
use jiff::Timestamp;
use uuid::Uuid;

use crate::storage::{Area, CONTENT, SessionStorage, directory_size, is_missing};
use crate::{FORMAT, SessionError, Store, Summary, files, index, journal};

/// Which sessions to remove.
#[derive(Debug, Clone, Default)]
pub struct Clearing {
    /// Sessions that were last written before this time.
    pub before: Option<Timestamp>,
    /// Sessions after this many of the latest ones; together with `before`, a session must meet both.
    pub keep: Option<usize>,
    /// Sessions without messages.
    pub empty: bool,
}

/// Something that is or would be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Removed {
    Session {
        id: Uuid,
        why: &'static str,
        bytes: u64,
    },
    /// Content that no file of the session refers to.
    Content {
        path: PathBuf,
        bytes: u64,
    },
    /// A temporary file of a killed process.
    Litter {
        path: PathBuf,
        bytes: u64,
    },
}

impl Removed {
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Session { bytes, .. } | Self::Content { bytes, .. } | Self::Litter { bytes, .. } => *bytes,
        }
    }
}

impl fmt::Display for Removed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Session { id, why, .. } => write!(f, "session {id} ({why})"),
            Self::Content { path, .. } => write!(f, "unused content {}", path.display()),
            Self::Litter { path, .. } => write!(f, "leftover {}", path.display()),
        }
    }
}

/// The result of a garbage collection.
#[derive(Debug, Default)]
pub struct Cleared {
    pub removed: Vec<Removed>,
    /// Items that are in use, or were used since they were found.
    pub stayed: Vec<Removed>,
    /// Items that could not be removed.
    pub failed: Vec<(Removed, SessionError)>,
}

impl Store {
    /// Returns what would be removed. Sessions in use are skipped.
    pub fn clearable(&self, clearing: &Clearing) -> Result<Vec<Removed>, SessionError> {
        let mut all = Vec::new();
        for (place, summary) in self.list()?.into_iter().enumerate() {
            let at = self.at(summary.id);
            if at.is_in_use() {
                continue;
            }
            match clearing.reason(place, &summary).filter(|_| is_legible(&*at)) {
                Some(why) => all.push(Removed::Session { id: summary.id, why, bytes: at.size() }),
                None => all.extend(leftovers(&*at)?),
            }
        }
        let litter =
            self.litter().into_iter().map(|path| Removed::Litter { bytes: directory_size(&path), path });
        all.extend(litter);
        Ok(all)
    }

    /// Removes what [`Store::clearable`] found. Each item is checked again under its lock.
    pub fn clear(&self, clearing: &Clearing, found: Vec<Removed>) -> Cleared {
        let mut cleared = Cleared::default();
        let now = self.list().unwrap_or_default();
        let now: HashMap<_, _> =
            now.into_iter().enumerate().map(|(at, one)| (one.id, (at, one.updated))).collect();
        for one in found {
            match self.remove(clearing, &now, &one) {
                Ok(true) => cleared.removed.push(one),
                Ok(false) | Err(SessionError::InUse { .. }) => cleared.stayed.push(one),
                Err(error) => cleared.failed.push((one, error)),
            }
        }
        cleared
    }

    /// Returns false if the item must stay. `now`: the position of each session in the list, and its last write.
    fn remove(
        &self,
        clearing: &Clearing,
        now: &HashMap<Uuid, (usize, Timestamp)>,
        one: &Removed,
    ) -> Result<bool, SessionError> {
        match one {
            Removed::Session { id, .. } => {
                let (Ok(at), Some((place, updated))) = (self.existing(*id), now.get(id)) else {
                    return Ok(false);
                };
                let lock = at.lock()?;
                let summary = Summary::of(&*at, *id);
                let fits = summary.updated == *updated && clearing.reason(*place, &summary).is_some();
                if !fits || !is_legible(&*at) {
                    return Ok(false);
                }
                lock.delete()?;
                self.storage().forget(*id).map(|()| true)
            }
            Removed::Content { path, .. } => {
                let Some((at, name)) = self.file(path) else { return Ok(false) };
                let lock = at.lock()?;
                match leftovers(&*at)?.contains(one) {
                    true => lock.remove(&name).map(|()| true).map_err(SessionError::io(path)),
                    false => Ok(false),
                }
            }
            Removed::Litter { path, .. } => {
                let Some((at, name)) = self.file(path) else { return self.storage().sweep(path) };
                at.lock()?.remove(&name).map(|()| true).map_err(SessionError::io(path))
            }
        }
    }

    /// Returns the session that a file belongs to, and the name of the file in it.
    fn file(&self, path: &Path) -> Option<(Arc<dyn SessionStorage>, String)> {
        path.ancestors().skip(1).take(2).find_map(|dir| {
            let at = self.at(dir.file_name()?.to_str()?.parse().ok()?);
            let name = path.strip_prefix(at.dir()).ok()?.to_str()?.to_owned();
            Some((at, name))
        })
    }
}

impl Clearing {
    fn reason(&self, place: usize, summary: &Summary) -> Option<&'static str> {
        // An unreadable session is for `check`, unless it never contained anything.
        let hollow = summary.hollow || (summary.canisters == 0 && summary.problem.is_none());
        if self.empty && hollow {
            return Some("empty");
        }
        if summary.problem.is_some() && !hollow {
            return None;
        }
        // If both are given, both must be met.
        let is_old = self.before.map(|before| summary.updated < before);
        let is_beyond = self.keep.map(|keep| place >= keep);
        match (is_old, is_beyond) {
            (Some(true), None | Some(true)) => Some("old"),
            (None, Some(true)) => Some("beyond those to keep"),
            _ => None,
        }
    }
}

/// Returns whether a session can be read, or never contained anything. Others are for `check` and for people.
fn is_legible(at: &dyn SessionStorage) -> bool {
    matches!(journal::read(at), Ok(_) | Err(SessionError::Empty { .. }))
}

/// Returns whether all references to content are known, which checksums prove.
fn is_whole(at: &dyn SessionStorage) -> bool {
    journal::read(at).is_ok_and(|loaded| loaded.header.format == FORMAT && loaded.repairs.is_empty())
}

/// Finds unused files in a session that stays. Skips sessions of a later version, and content if a reference may be damaged.
fn leftovers(at: &dyn SessionStorage) -> Result<Vec<Removed>, SessionError> {
    if journal::refuse_newer(at).is_err() {
        return Ok(Vec::new());
    }
    let content = at.names(Area::Content).unwrap_or_default();
    let all = at.names(Area::Session).unwrap_or_default().into_iter();
    let all = all.chain(content.iter().map(|name| format!("{CONTENT}{name}")));
    let is_litter = |name: &String| name.strip_prefix(CONTENT).unwrap_or(name).starts_with(files::TEMPORARY);
    let bytes = |name: &str| at.open(name).and_then(|file| file.length()).unwrap_or_default();
    let litter =
        all.filter(is_litter).map(|name| Removed::Litter { bytes: bytes(&name), path: at.path(&name) });
    let mut found: Vec<_> = litter.collect();
    let kept: Vec<_> = content.into_iter().filter(|name| Digest::try_from(name.clone()).is_ok()).collect();
    // A file without a name of the port is not read, and may refer to any content.
    if !kept.is_empty() && matches!(at.has_unnamed(), Ok(false)) && is_whole(at) {
        let needed = mentioned(at)?;
        let unneeded = kept.into_iter().filter(|name| !needed.contains(name));
        found.extend(unneeded.map(|name| {
            let name = format!("{CONTENT}{name}");
            Removed::Content { bytes: bytes(&name), path: at.path(&name) }
        }));
    }
    Ok(found)
}

/// Returns everything that looks like a digest in any file of a session: content of abandoned and set-aside lines may still
/// be needed.
fn mentioned(at: &dyn SessionStorage) -> Result<HashSet<String>, SessionError> {
    let mut all = HashSet::new();
    let names = at.names(Area::Session).map_err(SessionError::io(at.dir()))?;
    for name in names.into_iter().filter(|name| name != index::FILE) {
        let path = at.path(&name);
        let file = match at.open(&name) {
            // Renamed or removed since. Whoever removes content holds the lock, and so sees all names again.
            Err(error) if is_missing(&error) => continue,
            file => file.map_err(SessionError::io(&path))?,
        };
        let mut reader = BufReader::new(file);
        let mut word = Vec::new();
        loop {
            let bytes = reader.fill_buf().map_err(SessionError::io(&path))?;
            if bytes.is_empty() {
                break;
            }
            for byte in bytes {
                match byte {
                    // Longer words are not digests.
                    b'0'..=b'9' | b'a'..=b'f' if word.len() <= DIGITS => word.push(*byte),
                    b'0'..=b'9' | b'a'..=b'f' => {}
                    _ => take(&mut word, &mut all),
                }
            }
            let read = bytes.len();
            reader.consume(read);
        }
        take(&mut word, &mut all);
    }
    Ok(all)
}

const DIGITS: usize = 64;

fn take(word: &mut Vec<u8>, all: &mut HashSet<String>) {
    if word.len() == DIGITS {
        all.insert(String::from_utf8_lossy(word).into_owned());
    }
    word.clear();
}
