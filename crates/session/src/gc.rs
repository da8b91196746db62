//! What nobody needs any more, removed.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use converse_canister::Digest;
use jiff::Timestamp;
use uuid::Uuid;

use crate::check::{gone, is_in_use, is_litter, names};
use crate::lock::Lock;
use crate::{FORMAT, SessionError, Store, Summary, index, journal};

/// What is to go.
#[derive(Debug, Clone, Default)]
pub struct Clearing {
    /// Sessions that were not written to since.
    pub before: Option<Timestamp>,
    /// Sessions beyond so many, the latest first; with `before`, of those only the ones that are old as well.
    pub keep: Option<usize>,
    /// Sessions that hold no message.
    pub empty: bool,
}

/// Something that went, or would go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Removed {
    Session {
        id: Uuid,
        why: &'static str,
        bytes: u64,
    },
    /// Content that nothing in the session's files refers to.
    Content {
        path: PathBuf,
        bytes: u64,
    },
    /// What a process that was killed left behind.
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

/// What a clearing came to.
#[derive(Debug, Default)]
pub struct Cleared {
    pub removed: Vec<Removed>,
    /// What somebody uses, or has used since it was found: it stays.
    pub stayed: Vec<Removed>,
    /// What could not be removed.
    pub failed: Vec<(Removed, SessionError)>,
}

impl Store {
    /// What would go. Sessions in use are passed over.
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

    /// Removes what [`Store::clearable`] found, as far as it is still to go: each is looked at anew under its lock.
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

    /// False: it is not to go any more. `now`: the place of each session in the list, and when it was written to.
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
        // What cannot be read is for `check`, not for the bin: but for one that never held anything.
        let hollow = summary.hollow || (summary.canisters == 0 && summary.problem.is_none());
        if self.empty && hollow {
            return Some("empty");
        }
        if summary.problem.is_some() && !hollow {
            return None;
        }
        // Where both are asked for, each of them keeps.
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

/// What cannot be read is for `check`, and for a person to delete: but for what never held anything.
fn is_legible(dir: &Path) -> bool {
    matches!(journal::read(dir), Ok(_) | Err(SessionError::Empty { .. }))
}

/// Every reference to content stands in the journal as it was written: only sums tell that.
fn is_whole(dir: &Path) -> bool {
    journal::read(dir).is_ok_and(|loaded| loaded.header.format == FORMAT && loaded.repairs.is_empty())
}

/// In a session that stays. Nothing in one of a later version, and no content where a reference to it may be damaged.
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

/// Everything that looks like a digest in any file of a session, whether or not it can be read otherwise: what was gone
/// back from and what was set aside may still be wanted.
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
                    // Longer ones are none, however long they are.
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

/// Bytes of a file, or of all files below a directory.
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
