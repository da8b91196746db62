//! Checks a session, and repairs what can be repaired.
//!
//! A session that another process writes may be incomplete; that is not a fault, and nothing in it is repaired.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use converse_canister::Digest;
use jiff::Timestamp;
use uuid::Uuid;

use crate::storage::{Area, CONTENT, SessionStorage};
use crate::{Contents, Loaded, Metadata, Repair, Salvaged, SessionError, Store, digests, files, metadata};

/// Metadata key of a damaged session: the id of the session with the saved lines.
pub(crate) const SAVED: &str = "saved_as";

const HOLLOW: &str = "it is empty, because its creation was interrupted; `gc --empty` removes it";

/// One fault of a session.
#[derive(Debug)]
pub enum Fault {
    /// The journal cannot be read, or has a newer format.
    Unreadable(SessionError),
    /// The next process that opens the session will repair this.
    Unmended(Repair),
    /// A message refers to content that does not exist.
    Missing(Digest),
    /// Content that does not match its name.
    Damaged(PathBuf),
    /// Other users can access the file.
    Mode { path: PathBuf, mode: u32 },
    /// A temporary file of a killed process.
    Litter(PathBuf),
    /// The metadata cannot be read.
    Metadata(PathBuf),
}

impl Fault {
    /// Returns whether something is lost or wrong. A session that was only interrupted is not damaged.
    pub fn is_damage(&self) -> bool {
        !matches!(self, Self::Unmended(repair) if repair.is_of_a_crash())
    }

    /// Returns the name in JSON.
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
            Self::Unmended(what) => write!(f, "not repaired yet: {what}"),
            Self::Missing(digest) => write!(f, "content {digest} is missing"),
            Self::Damaged(path) => write!(f, "`{}` does not match its name", path.display()),
            Self::Mode { path, mode } => write!(f, "`{}` has mode {mode:04o}", path.display()),
            Self::Litter(path) => write!(f, "`{}` was left by a process that was killed", path.display()),
            Self::Metadata(path) => write!(f, "`{}` cannot be read", path.display()),
        }
    }
}

/// The result of a check.
#[derive(Debug)]
pub struct Checked {
    pub id: Uuid,
    pub faults: Vec<Fault>,
    /// Faults that were repaired; `faults` are then the remaining ones.
    pub mended: Vec<String>,
    /// Known facts that need no action.
    pub notes: Vec<String>,
    /// Another process writes the session.
    pub in_use: bool,
    /// The session with the saved lines of a damaged one.
    pub saved_as: Option<Uuid>,
}

impl Store {
    /// Checks a session without changing it.
    pub fn check(&self, id: Uuid) -> Result<Checked, SessionError> {
        let at = self.existing(id)?;
        let in_use = at.is_in_use();
        let mut faults = at.faults(in_use);
        let mut notes = Vec::new();
        let saved_as = match self.saved(&*at) {
            Ok(saved_as) => saved_as,
            // Without it, a damaged session would be saved once more.
            Err(error) => {
                faults.push(Fault::Unreadable(error));
                return Ok(Checked { id, faults, mended: Vec::new(), notes, in_use, saved_as: None });
            }
        };
        if metadata::is_broken(&*at)? {
            faults.push(Fault::Metadata(at.path(metadata::FILE)));
        }
        match self.read(id) {
            Ok(loaded) => {
                let unmended = loaded.repairs.iter().filter(|_| !in_use);
                faults.extend(unmended.cloned().map(Fault::Unmended));
                faults.extend(content_faults(&at, &loaded));
            }
            // A process that has just created the session has not written yet.
            Err(SessionError::Empty { .. }) if in_use => {}
            // The session never contained anything.
            Err(SessionError::Empty { .. }) => notes.push(HOLLOW.to_owned()),
            Err(error @ SessionError::Corrupt { .. }) if saved_as.is_some() => notes.push(error.to_string()),
            Err(error) => faults.push(Fault::Unreadable(error)),
        }
        Ok(Checked { id, faults, mended: Vec::new(), notes, in_use, saved_as })
    }

    /// Checks a session, repairs what can be repaired, and checks it again.
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
        let mut after = self.check(id)?;
        let is_unreadable = before.faults.iter().any(|fault| matches!(fault, Fault::Unreadable(_)));
        if let Some(saved) = after.saved_as.filter(|_| is_unreadable) {
            after.faults.extend(self.mend_saved(saved, now)?);
        }
        Ok(Checked { mended, ..after })
    }

    /// Repairs a session of saved lines. Returns what is still wrong with it, such as missing content.
    fn mend_saved(&self, saved: Uuid, now: Timestamp) -> Result<Vec<Fault>, SessionError> {
        for fault in &self.check(saved)?.faults {
            self.mend_one(saved, fault, now)?;
        }
        Ok(self.check(saved)?.faults)
    }

    /// Repairs one fault. Returns what was done, if anything.
    fn mend_one(&self, id: Uuid, fault: &Fault, now: Timestamp) -> Result<Option<String>, SessionError> {
        let at = self.at(id);
        match fault {
            Fault::Unreadable(SessionError::Corrupt { line, .. }) => return self.save(id, *line, now),
            Fault::Unmended(_) => {
                let modified = at.journal().map_err(SessionError::io(at.dir()))?.modified;
                let session = self.open(id, now)?;
                session.journal.lock().date_journal(modified).map_err(SessionError::io(at.dir()))?;
                // Dropping the session writes its totals for the journal with this date.
                drop(session);
            }
            Fault::Litter(path) => {
                let name = path.strip_prefix(at.dir()).unwrap_or(path).to_string_lossy();
                at.lock()?.remove(&name).map_err(SessionError::io(path))?;
            }
            Fault::Mode { path, .. } => {
                let mode = if path.is_dir() { 0o700 } else { 0o600 };
                fs::set_permissions(path, Permissions::from_mode(mode)).map_err(SessionError::io(path))?;
            }
            Fault::Metadata(path) => {
                let kept = metadata::set_aside(&*at, &*at.lock()?)?;
                return Ok(
                    kept.map(|kept| format!("`{}` cannot be read, and is kept as `{kept}`", path.display()))
                );
            }
            Fault::Unreadable(_) | Fault::Missing(_) | Fault::Damaged(_) => return Ok(None),
        }
        Ok(Some(fault.to_string()))
    }

    /// Saves the readable lines as another session, and notes its id.
    fn save(&self, id: Uuid, line: u64, now: Timestamp) -> Result<Option<String>, SessionError> {
        let Salvaged { id: saved, lost, may_restore } = match self.salvage(id, now) {
            // No line is readable.
            Err(SessionError::Empty { .. }) => return Ok(None),
            salvaged => salvaged?,
        };
        let note = saved.to_string();
        self.describe(id, |metadata| drop(metadata.other.insert(SAVED.to_owned(), note.into())))?;
        let said = match lost {
            1 => format!("line {line} is lost; all others are now session {saved}"),
            _ => format!("{lost} lines, from line {line} on, are lost; the others are now session {saved}"),
        };
        Ok(Some(if may_restore {
            format!("{said}; turns that were taken back may have returned")
        } else {
            said
        }))
    }

    /// Returns the session with the saved lines, if it exists.
    fn saved(&self, at: &dyn SessionStorage) -> Result<Option<Uuid>, SessionError> {
        let metadata = Metadata::load(at)?;
        let saved = metadata.other.get(SAVED).and_then(|saved| saved.as_str()?.parse().ok());
        match saved.map(|saved| self.existing(saved)) {
            None | Some(Err(SessionError::NotFound(_))) => Ok(None),
            Some(Err(error)) => Err(error),
            Some(Ok(_)) => Ok(saved),
        }
    }
}

fn content_faults(at: &Arc<dyn SessionStorage>, loaded: &Loaded) -> Vec<Fault> {
    let contents = Contents::at(at.clone());
    let needed = loaded.transcript.as_slice().iter().flat_map(digests).collect::<BTreeSet<_>>();
    let missing = needed.into_iter().filter(|digest| !contents.has(digest)).map(Fault::Missing);
    let names = match at.names(Area::Content) {
        Ok(names) => names,
        Err(source) => return vec![Fault::Unreadable(SessionError::Io { path: at.path(CONTENT), source })],
    };
    let there = names.into_iter().filter(|name| !name.starts_with(files::TEMPORARY)).filter_map(|name| {
        let path = at.path(&format!("{CONTENT}{name}"));
        match Digest::try_from(name).map(|digest| contents.get(&digest)) {
            Ok(Ok(Some(_))) => None,
            Ok(Err(error)) => Some(Fault::Unreadable(error)),
            Ok(Ok(None)) | Err(_) => Some(Fault::Damaged(path)),
        }
    });
    missing.chain(there).collect()
}
