//! Is everything about a session as it should be?
//!
//! A session that another process writes is in the middle of something: what is open in it is no fault, and nothing of
//! it is mended.

use std::collections::BTreeSet;
use std::fs::{self, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use converse_canister::Digest;
use jiff::Timestamp;
use uuid::Uuid;

use crate::lock::Lock;
use crate::{Loaded, Metadata, SessionError, Store, digests, files, journal, metadata};

/// In the metadata of a damaged session: the one that what could be read of it is in.
pub(crate) const SAVED: &str = "saved_as";

const HOLLOW: &str = "it holds nothing: it was interrupted when it was created; `gc --empty` removes it";

/// One thing that is not as it should be.
#[derive(Debug)]
pub enum Fault {
    /// It cannot be read, or not by this version.
    Unreadable(SessionError),
    /// What the next one to open it will mend.
    Unmended(String),
    /// A message refers to content that is not there.
    Missing(Digest),
    /// Content that is not what its name says.
    Damaged(PathBuf),
    /// Others than the owner may look at it.
    Mode { path: PathBuf, mode: u32 },
    /// Left by a process that was killed.
    Litter(PathBuf),
    /// What people added to it cannot be read.
    Metadata(PathBuf),
}

impl Fault {
    /// A word for it in JSON.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Unreadable(SessionError::Newer { .. }) => "newer",
            Self::Unreadable(_) => "unreadable",
            Self::Unmended(_) => "unmended",
            Self::Missing(_) => "missing_content",
            Self::Damaged(_) => "damaged_content",
            Self::Mode { .. } => "mode",
            Self::Litter(_) => "litter",
            Self::Metadata(_) => "metadata",
        }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unreadable(error) => write!(f, "{error}"),
            Self::Unmended(what) => write!(f, "not mended yet: {what}"),
            Self::Missing(digest) => write!(f, "content {digest} is missing"),
            Self::Damaged(path) => write!(f, "`{}` is not what its name says", path.display()),
            Self::Mode { path, mode } => write!(f, "`{}` has mode {mode:04o}", path.display()),
            Self::Litter(path) => write!(f, "`{}` was left by a process that was killed", path.display()),
            Self::Metadata(path) => write!(f, "`{}` cannot be read", path.display()),
        }
    }
}

/// What a check came to.
#[derive(Debug)]
pub struct Checked {
    pub id: Uuid,
    pub faults: Vec<Fault>,
    /// What was mended of what had been found. `faults` is then what is left.
    pub mended: Vec<String>,
    /// What is known and needs nothing more.
    pub notes: Vec<String>,
    /// Another process writes it.
    pub in_use: bool,
    /// The session that what could be read of a damaged one is in now.
    pub saved_as: Option<Uuid>,
}

impl Store {
    /// Looks at one session and changes nothing.
    pub fn check(&self, id: Uuid) -> Result<Checked, SessionError> {
        let dir = self.existing(id)?;
        let in_use = is_in_use(&dir);
        let mut faults = modes(&dir);
        if !in_use {
            faults.extend([dir.clone(), dir.join("content")].iter().flat_map(|dir| litter(dir)));
        }
        if metadata::is_broken(&dir) {
            faults.push(Fault::Metadata(dir.join(metadata::FILE)));
        }
        let (saved_as, mut notes) = (self.saved(&dir), Vec::new());
        match self.read(id) {
            Ok(loaded) => {
                let unmended = loaded.repairs.iter().filter(|_| !in_use);
                faults.extend(unmended.map(|repair| Fault::Unmended(repair.to_string())));
                faults.extend(self.content_faults(id, &loaded));
            }
            // Whoever has just begun it has not written yet.
            Err(SessionError::Empty { .. }) if in_use => {}
            // It never held anything: nothing is lost, and nothing to be mended.
            Err(SessionError::Empty { .. }) => notes.push(HOLLOW.to_owned()),
            Err(error @ SessionError::Corrupt { .. }) if saved_as.is_some() => notes.push(error.to_string()),
            Err(error) => faults.push(Fault::Unreadable(error)),
        }
        Ok(Checked { id, faults, mended: Vec::new(), notes, in_use, saved_as })
    }

    /// Looks, mends what can be mended, and looks again.
    pub fn mend(&self, id: Uuid, now: Timestamp) -> Result<Checked, SessionError> {
        let before = self.check(id)?;
        let newer = |fault: &Fault| matches!(fault, Fault::Unreadable(SessionError::Newer { .. }));
        if before.in_use || before.faults.is_empty() || before.faults.iter().any(newer) {
            return Ok(before);
        }
        let mut mended = Vec::new();
        for fault in &before.faults {
            mended.extend(self.mend_one(id, fault, now)?);
        }
        Ok(Checked { mended, ..self.check(id)? })
    }

    /// What was done, if anything was.
    fn mend_one(&self, id: Uuid, fault: &Fault, now: Timestamp) -> Result<Option<String>, SessionError> {
        let dir = self.path(id);
        match fault {
            Fault::Unreadable(SessionError::Corrupt { line, .. }) => return self.save(id, *line, now),
            Fault::Unmended(_) => {
                let modified = journal::modified(&dir).map_err(SessionError::io(&dir))?;
                let session = self.open(id, now)?;
                journal::date(&dir, modified).map_err(SessionError::io(&dir))?;
                // The totals are of the journal with this date.
                drop(session);
            }
            Fault::Litter(path) => {
                let _lock = Lock::take(&dir)?;
                gone(fs::remove_file(path)).map_err(SessionError::io(path))?;
            }
            Fault::Mode { path, .. } => {
                let mode = if path.is_dir() { 0o700 } else { 0o600 };
                fs::set_permissions(path, Permissions::from_mode(mode)).map_err(SessionError::io(path))?;
            }
            Fault::Metadata(path) => {
                let _lock = Lock::take(&dir)?;
                let kept = metadata::set_aside(&dir)?;
                return Ok(
                    kept.map(|kept| format!("`{}` cannot be read, and is kept as `{kept}`", path.display()))
                );
            }
            Fault::Unreadable(_) | Fault::Missing(_) | Fault::Damaged(_) => return Ok(None),
        }
        Ok(Some(fault.to_string()))
    }

    /// What can be read of it becomes another session, which it names from then on.
    fn save(&self, id: Uuid, line: u64, now: Timestamp) -> Result<Option<String>, SessionError> {
        let (saved, lost) = match self.salvage(id, now) {
            // There is nothing to make one of.
            Err(SessionError::Empty { .. }) => return Ok(None),
            salvaged => salvaged?,
        };
        let note = saved.to_string();
        self.describe(id, |metadata| drop(metadata.other.insert(SAVED.to_owned(), note.into())))?;
        Ok(Some(match (line, lost) {
            (_, 1) => format!("line {line} is lost; all others are now session {saved}"),
            (1, _) => format!("{lost} lines are lost, line 1 among them; the others are now session {saved}"),
            _ => {
                format!("{lost} lines from line {line} on are lost; those before it are now session {saved}")
            }
        }))
    }

    /// The session that what could be read of a damaged one is in.
    fn saved(&self, dir: &Path) -> Option<Uuid> {
        let saved = Metadata::read(dir).other.get(SAVED)?.as_str()?.parse().ok()?;
        self.path(saved).is_dir().then_some(saved)
    }

    fn content_faults(&self, id: Uuid, loaded: &Loaded) -> Vec<Fault> {
        let contents = self.contents(id);
        let needed = loaded.transcript.as_slice().iter().flat_map(digests).collect::<BTreeSet<_>>();
        let missing = needed.into_iter().filter(|digest| !contents.path(digest).exists()).map(Fault::Missing);
        let there = names(&self.path(id).join("content")).into_iter().filter_map(|path| {
            let name = path.file_name()?.to_str()?.to_owned();
            let good =
                Digest::try_from(name).is_ok_and(|digest| matches!(contents.get(&digest), Ok(Some(_))));
            (!good && !is_litter(&path)).then_some(Fault::Damaged(path))
        });
        missing.chain(there).collect()
    }

    /// What lies about in the directory of all sessions, left by processes that were killed.
    pub fn litter(&self) -> Vec<PathBuf> {
        let unfinished = |path: &PathBuf| {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            Self::is_unfinished(&name) && !is_in_use(path)
        };
        names(self.dir()).into_iter().filter(unfinished).collect()
    }
}

/// Somebody holds its lock now.
pub(crate) fn is_in_use(dir: &Path) -> bool {
    let shared = files::regular(&dir.join("lock")).map(|lock| lock.try_lock_shared());
    matches!(shared, Ok(Err(TryLockError::WouldBlock)))
}

pub(crate) fn names(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.path()).collect();
    names.sort_unstable();
    names
}

pub(crate) fn is_litter(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(files::TEMPORARY))
}

fn litter(dir: &Path) -> Vec<Fault> {
    names(dir).into_iter().filter(|path| is_litter(path)).map(Fault::Litter).collect()
}

fn modes(dir: &Path) -> Vec<Fault> {
    let content = dir.join("content");
    let inside = names(dir).into_iter().chain(names(&content)).filter(|path| *path != content);
    let fault = |path: PathBuf, wanted| {
        let mode = fs::symlink_metadata(&path).ok()?.permissions().mode() & 0o7777;
        (mode != wanted).then_some(Fault::Mode { path, mode })
    };
    let dirs = [dir.to_owned(), content.clone()].into_iter().filter_map(|path| fault(path, 0o700));
    dirs.chain(inside.filter(|path| path.is_file()).filter_map(|path| fault(path, 0o600))).collect()
}

/// It was to go; if it is gone, that is as good.
pub(crate) fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
