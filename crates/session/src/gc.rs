//! Garbage collection: removes old and empty sessions, unused content and temporary files.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use converse_canister::Digest;
use jiff::Timestamp;
use uuid::Uuid;

use crate::check::{gone, is_in_use, is_litter, names};
use crate::lock::Lock;
use crate::{FORMAT, SessionError, Store, Summary, index, journal};

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
            let dir = self.path(summary.id);
            if is_in_use(&dir) {
                continue;
            }
            match clearing.reason(place, &summary).filter(|_| is_legible(&dir)) {
                Some(why) => all.push(Removed::Session { id: summary.id, why, bytes: size(&dir) }),
                None => all.extend(leftovers(&dir)?),
            }
        }
        let litter = self.litter().into_iter().map(|path| Removed::Litter { bytes: size(&path), path });
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
                let (Ok(dir), Some((place, updated))) = (self.existing(*id), now.get(id)) else {
                    return Ok(false);
                };
                let lock = Lock::take(&dir)?;
                let summary = Summary::of(&dir, *id);
                let fits = summary.updated == *updated && clearing.reason(*place, &summary).is_some();
                if fits && is_legible(&dir) { self.discard(*id, &lock).map(|()| true) } else { Ok(false) }
            }
            Removed::Content { path, .. } => {
                let session = path.parent().and_then(Path::parent).unwrap_or(path);
                let _lock = Lock::take(session)?;
                match leftovers(session)?.contains(one) {
                    true => gone(fs::remove_file(path)).map(|()| true).map_err(SessionError::io(path)),
                    false => Ok(false),
                }
            }
            Removed::Litter { path, .. } if path.parent() == Some(self.dir()) => self.sweep_one(path),
            Removed::Litter { path, .. } => {
                let dir = path.parent().unwrap_or(path);
                let session = if dir.ends_with(CONTENT) { dir.parent().unwrap_or(dir) } else { dir };
                let _lock = Lock::take(session)?;
                gone(fs::remove_file(path)).map(|()| true).map_err(SessionError::io(path))
            }
        }
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

const CONTENT: &str = "content";

/// Returns whether a session can be read, or never contained anything. Others are for `check` and for people.
fn is_legible(dir: &Path) -> bool {
    matches!(journal::read(dir), Ok(_) | Err(SessionError::Empty { .. }))
}

/// Returns whether all references to content are known, which checksums prove.
fn is_whole(dir: &Path) -> bool {
    journal::read(dir).is_ok_and(|loaded| loaded.header.format == FORMAT && loaded.repairs.is_empty())
}

/// Finds unused files in a session that stays. Skips sessions of a later version, and content if a reference may be damaged.
fn leftovers(dir: &Path) -> Result<Vec<Removed>, SessionError> {
    if journal::refuse_newer(dir).is_err() {
        return Ok(Vec::new());
    }
    let content = dir.join(CONTENT);
    let mut found: Vec<_> = names(dir)
        .into_iter()
        .chain(names(&content))
        .filter(|path| is_litter(path))
        .map(|path| Removed::Litter { bytes: size(&path), path })
        .collect();
    let named = |path: &PathBuf| Digest::try_from(path.file_name()?.to_str()?.to_owned()).ok();
    let kept: Vec<_> = names(&content).into_iter().filter_map(|path| Some((named(&path)?, path))).collect();
    if !kept.is_empty() && is_whole(dir) {
        let needed = mentioned(dir)?;
        let unneeded = kept.into_iter().filter(|(digest, _)| !needed.contains(&digest.to_string()));
        found.extend(unneeded.map(|(_, path)| Removed::Content { bytes: size(&path), path }));
    }
    Ok(found)
}

/// Returns everything that looks like a digest in any file of a session: content of abandoned and set-aside lines may still
/// be needed.
fn mentioned(dir: &Path) -> Result<HashSet<String>, SessionError> {
    let mut all = HashSet::new();
    let files = names(dir).into_iter().filter(|path| path.is_file() && !path.ends_with(index::FILE));
    for path in files {
        let file = File::open(&path).map_err(SessionError::io(&path))?;
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

/// Returns the bytes of a file, or of all files below a directory.
fn size(path: &Path) -> u64 {
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
