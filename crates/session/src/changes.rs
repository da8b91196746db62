//! Changes of files by the tools of a session, kept so that the files can be restored.
//!
//! The content of a file before a call is content of the session, under a digest that no other content has. So it may be
//! dropped when there is too much of it, whatever messages refer to.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, lchown};
use std::path::Path;

use converse_canister::{Digest, InvocationId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::files::{Durability, Mode, Replace, Writers, open_regular, replace};
use crate::storage::CONTENT;
use crate::{Body, Contents, Session, SessionError, digest};

/// Bytes of a file that is kept.
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;
/// Bytes of all files that a session keeps; the oldest are dropped.
const MAX_FILES_BYTES: u64 = 256 * 1024 * 1024;
/// Permission bits that are kept and restored: tools remove the others, and so does this.
const PERMISSIONS: u32 = 0o777;
/// In front of the content that is kept of a file.
const FILE: &[u8] = b"converse-file\0";

/// Returns whether content may be kept.
type MayKeep<'a> = &'a dyn Fn(&str) -> bool;

/// What is at the path of a file at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileState {
    Absent,
    File {
        /// SHA-256 of the content.
        sha256: Digest,
        /// The content of the session that has it, if it was kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kept: Option<Digest>,
        bytes: u64,
        /// Permission bits.
        mode: u32,
    },
    /// Too large, not a regular file, or it could not be read.
    Unknown,
}

impl FileState {
    /// Reads the file, and keeps its content if a place is given and `may_keep` it.
    fn of(path: &Path, keep_in: Option<(&Contents, MayKeep<'_>)>) -> Self {
        match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::Absent,
            Ok(metadata) if metadata.is_file() && metadata.len() <= MAX_FILE_BYTES => {
                Self::read(path, keep_in).unwrap_or(Self::Unknown)
            }
            _ => Self::Unknown,
        }
    }

    fn read(path: &Path, keep_in: Option<(&Contents, MayKeep<'_>)>) -> io::Result<Self> {
        let file = open_regular(path)?;
        let mode = file.metadata()?.permissions().mode() & PERMISSIONS;
        let mut content = FILE.to_vec();
        file.take(MAX_FILE_BYTES + 1).read_to_end(&mut content)?;
        let read = content.get(FILE.len()..).unwrap_or_default();
        let (sha256, bytes) = (digest(read), read.len() as u64);
        if bytes > MAX_FILE_BYTES {
            return Ok(Self::Unknown);
        }
        let kept = keep_in
            .filter(|(_, may_keep)| may_keep(&String::from_utf8_lossy(read)))
            .and_then(|(contents, _)| contents.put(&content).ok());
        Ok(Self::File { sha256, kept, bytes, mode })
    }

    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Absent, Self::Absent) => true,
            (Self::File { sha256, .. }, Self::File { sha256: other, .. }) => sha256 == other,
            _ => false,
        }
    }
}

/// A change of a file by a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    pub id: InvocationId,
    /// Absolute, without links.
    pub path: String,
    pub before: FileState,
    /// `None` before the call has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<FileState>,
}

impl FileChange {
    /// Returns whether the file is as it was: the call has failed, or it wrote what was there.
    pub fn left_as_it_was(&self) -> bool {
        self.after.is_some_and(|after| after.is_same(&self.before))
    }
}

/// The changes that belong to a conversation, each with its line in the journal.
#[derive(Debug, Clone, Default)]
pub struct FileChanges(Vec<(u64, FileChange)>);

impl FileChanges {
    /// Takes in a line: a new change, or the end of one.
    pub(crate) fn add(&mut self, line: u64, change: FileChange) {
        let is_same = |known: &FileChange| known.id == change.id && known.path == change.path;
        let open = self.0.iter_mut().rev().find(|(_, known)| is_same(known) && known.after.is_none());
        match open {
            Some((_, known)) if change.after.is_some() => known.after = change.after,
            _ => self.0.push((line, change)),
        }
    }

    /// Forgets those after this line.
    pub fn rewind(&mut self, line: u64) {
        self.0.retain(|(at, _)| *at <= line);
    }

    /// Returns those of the invocations that are wanted, the earliest first.
    pub fn of(&self, wanted: impl Fn(&InvocationId) -> bool) -> Vec<FileChange> {
        self.0.iter().map(|(_, change)| change).filter(|change| wanted(&change.id)).cloned().collect()
    }

    /// Returns the content to drop so that no more than `most` bytes are kept, the oldest first.
    fn surplus(&self, most: u64) -> Vec<Digest> {
        let mut kept: Vec<(Digest, u64)> = Vec::new();
        for (_, change) in self.0.iter().rev() {
            if let FileState::File { kept: Some(digest), bytes, .. } = change.before
                && kept.iter().all(|(known, _)| *known != digest)
            {
                kept.push((digest, bytes));
            }
        }
        let mut sum = 0;
        kept.retain(|(_, bytes)| {
            sum += bytes;
            sum > most
        });
        kept.into_iter().map(|(digest, _)| digest).collect()
    }
}

impl Session {
    /// Keeps a file that a call is about to change, if `may_keep` its content. Durable after a commit of the journal.
    pub fn keep_file(
        &mut self,
        id: &InvocationId,
        path: &str,
        may_keep: MayKeep<'_>,
        now: Timestamp,
    ) -> Result<(), SessionError> {
        let before = FileState::of(Path::new(path), Some((&self.contents, may_keep)));
        let change = FileChange { id: id.clone(), path: path.to_owned(), before, after: None };
        self.note_change(change, now)?;
        for digest in self.changes.surplus(MAX_FILES_BYTES) {
            // What cannot be removed is dropped the next time.
            let _ = self.journal.lock().remove(&format!("{CONTENT}{digest}"));
        }
        Ok(())
    }

    /// Notes what a call that has ended made of its files.
    pub fn note_files(&mut self, id: &InvocationId, now: Timestamp) -> Result<(), SessionError> {
        let open = |change: &FileChange| change.after.is_none();
        for change in self.changes.of(|changed| changed == id).into_iter().filter(open) {
            let after = Some(FileState::of(Path::new(&change.path), None));
            self.note_change(FileChange { after, ..change }, now)?;
        }
        Ok(())
    }

    fn note_change(&mut self, change: FileChange, now: Timestamp) -> Result<(), SessionError> {
        let line = self.append(Body::Changed { change: change.clone() }, now)?;
        self.changes.add(line, change);
        Ok(())
    }
}

/// A file to be restored to its state before some calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restore {
    pub path: String,
    pub to: FileState,
    /// As the last of the calls left it; `None` if that is not known.
    left: Option<FileState>,
    /// Whether somebody else changed the file between two of the calls.
    interfered: bool,
}

/// What would become of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It is as it was before the calls.
    Same,
    Ready,
    /// Somebody else has changed it since, or between the calls.
    ChangedSince,
    /// Its content was not kept.
    Lost,
}

/// Returns what takes back these changes, the earliest first: one for each file, sorted by path.
pub fn restores(changes: &[FileChange]) -> Vec<Restore> {
    let mut all: BTreeMap<&str, Restore> = BTreeMap::new();
    for changed in changes {
        let FileChange { path, before, after, .. } = changed;
        match all.get_mut(path.as_str()) {
            Some(known) => {
                known.interfered |= known.left.is_none_or(|left| !left.is_same(before));
                known.left = *after;
            }
            None => {
                let (path, to) = (path.clone(), *before);
                all.insert(&changed.path, Restore { path, to, left: *after, interfered: false });
            }
        }
    }
    all.into_values().filter(|restore| restore.left.is_none_or(|left| !left.is_same(&restore.to))).collect()
}

impl Restore {
    /// Compares the file as it is now with what the calls left.
    pub fn standing(&self, contents: &Contents) -> Standing {
        let now = FileState::of(Path::new(&self.path), None);
        if now.is_same(&self.to) {
            Standing::Same
        } else if self.content(contents).is_none() {
            Standing::Lost
        } else if !self.interfered && self.left.is_some_and(|left| left.is_same(&now)) {
            Standing::Ready
        } else {
            Standing::ChangedSince
        }
    }

    /// What the file is to be: `None` if that is not known, `Some(None)` if it is to be no more.
    fn content(&self, contents: &Contents) -> Option<Option<(Vec<u8>, u32)>> {
        match self.to {
            FileState::Absent => Some(None),
            FileState::File { kept, mode, .. } => {
                let kept = contents.get(&kept?).ok()??;
                Some(Some((kept.strip_prefix(FILE)?.to_vec(), mode)))
            }
            FileState::Unknown => None,
        }
    }

    /// Restores the file, whatever it is now.
    ///
    /// # Errors
    ///
    /// Its content was not kept, its directory is somewhere else now, or it cannot be written.
    pub fn run(&self, contents: &Contents) -> io::Result<()> {
        let path = Path::new(&self.path);
        let content = self.content(contents).ok_or_else(|| io::Error::other("its content was not kept"))?;
        let directory = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
        // The first directory that exists: a link in its place may lead out of the project.
        let existing = directory.ancestors().find(|one| one.symlink_metadata().is_ok());
        let existing = existing.ok_or(io::ErrorKind::NotFound)?;
        if existing.canonicalize()? != existing {
            return Err(io::Error::other("a directory of its path is a link now"));
        }
        if path.symlink_metadata().is_ok_and(|metadata| !metadata.is_file()) {
            return Err(io::Error::other("it is not a regular file any more"));
        }
        match content {
            None => match fs::remove_file(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                removed => removed,
            },
            Some((bytes, mode)) => {
                fs::create_dir_all(directory)?;
                let (writers, durability) = (Writers::Several, Durability::Content);
                let how =
                    Replace { writers, mode: Mode::Exact(mode & PERMISSIONS), durability, only_new: false };
                let before = path.symlink_metadata().ok();
                replace(path, &bytes, how)?;
                // The superuser leaves the file to its owner, as the tools do.
                let now = path.symlink_metadata()?;
                match before.filter(|before| (before.uid(), before.gid()) != (now.uid(), now.gid())) {
                    Some(before) => lchown(path, Some(before.uid()), Some(before.gid())),
                    None => Ok(()),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use converse_canister::TurnId;

    use super::*;
    use crate::{Store, new_id};

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    struct Desk {
        dir: tempfile::TempDir,
        session: Session,
    }

    impl Desk {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let store = Store::new(dir.path().join("sessions"));
            let session = store.create(new_id(NOW, &[7; 10]), "p", NOW).unwrap();
            Self { dir, session }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.dir.path().canonicalize().unwrap().join(name)
        }

        /// The nth call writes a file; `None` removes it.
        fn writes(&mut self, call: usize, name: &str, text: Option<&str>) {
            let (id, path) = (InvocationId::of(TurnId(1), call), self.path(name));
            let may_keep = |text: &str| !text.contains("secret");
            self.session.keep_file(&id, path.to_str().unwrap(), &may_keep, NOW).unwrap();
            match text {
                Some(text) => fs::write(&path, text).unwrap(),
                None => fs::remove_file(&path).unwrap(),
            }
            self.session.note_files(&id, NOW).unwrap();
        }

        fn restores(&self) -> Vec<Restore> {
            restores(&self.session.changes.of(|_| true))
        }

        fn standings(&self) -> Vec<Standing> {
            self.restores().iter().map(|restore| restore.standing(&self.session.contents)).collect()
        }

        fn text(&self, name: &str) -> Option<String> {
            fs::read_to_string(self.path(name)).ok()
        }
    }

    #[test]
    fn files_are_as_they_were_before_the_calls() {
        let mut desk = Desk::new();
        fs::write(desk.path("a"), "old").unwrap();
        fs::set_permissions(desk.path("a"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(desk.path("gone"), "was there").unwrap();
        desk.writes(0, "a", Some("new"));
        desk.writes(1, "a", Some("newer"));
        desk.writes(2, "b", Some("made"));
        desk.writes(3, "gone", None);
        desk.writes(4, "back", Some("x"));
        desk.writes(5, "back", None);
        assert_eq!(desk.standings(), [Standing::Ready; 3], "what came and went is nothing");
        // In another process.
        let (id, contents) = (desk.session.id, desk.session.contents.clone());
        let store = Store::new(desk.dir.path().join("sessions"));
        let again = restores(&store.read(id).unwrap().changes.of(|_| true));
        assert_eq!(again, desk.restores());
        again.iter().for_each(|restore| restore.run(&contents).unwrap());
        let texts = ["a", "b", "gone"].map(|name| desk.text(name));
        assert_eq!(texts, [Some("old".to_owned()), None, Some("was there".to_owned())]);
        let mode = fs::metadata(desk.path("a")).unwrap().permissions().mode();
        assert_eq!((mode & 0o777, desk.standings()), (0o755, vec![Standing::Same; 3]));
    }

    #[test]
    fn a_change_of_others_between_two_calls_is_not_overwritten_unasked() {
        let mut desk = Desk::new();
        fs::write(desk.path("a"), "old").unwrap();
        desk.writes(0, "a", Some("new"));
        fs::write(desk.path("a"), "by hand").unwrap();
        desk.writes(1, "a", Some("newer"));
        assert_eq!(desk.standings(), [Standing::ChangedSince]);
    }

    #[test]
    fn what_others_changed_or_nobody_kept_is_known() {
        let mut desk = Desk::new();
        for (name, text) in [("a", "a"), ("b", "b"), ("c", "c"), ("e", "a secret")] {
            fs::write(desk.path(name), text).unwrap();
        }
        desk.writes(4, "e", Some("new"));
        desk.writes(0, "a", Some("new"));
        fs::write(desk.path("a"), "by hand").unwrap();
        desk.writes(1, "b", Some("new"));
        fs::remove_file(desk.path("b")).unwrap();
        fs::write(desk.path("c"), vec![b'x'; MAX_FILE_BYTES as usize + 1]).unwrap();
        desk.writes(2, "c", Some("new"));
        let id = InvocationId::of(TurnId(1), 3);
        let path = desk.path("d");
        desk.session.keep_file(&id, path.to_str().unwrap(), &|_| true, NOW).unwrap();
        fs::write(desk.path("d"), "the program was killed").unwrap();
        use Standing::{ChangedSince, Lost};
        assert_eq!(desk.standings(), [ChangedSince, ChangedSince, Lost, ChangedSince, Lost]);
        assert!(desk.restores()[2].run(&desk.session.contents).is_err());
        assert_eq!(desk.text("c").as_deref(), Some("new"));
    }

    #[test]
    fn nothing_is_restored_through_a_link() {
        let mut desk = Desk::new();
        for dir in ["real", "other"] {
            fs::create_dir(desk.path(dir)).unwrap();
        }
        desk.writes(0, "real/a", Some("new"));
        let restore = desk.restores().remove(0);
        fs::remove_dir_all(desk.path("real")).unwrap();
        std::os::unix::fs::symlink(desk.path("other"), desk.path("real")).unwrap();
        fs::write(desk.path("other/a"), "another's").unwrap();
        assert!(restore.run(&desk.session.contents).is_err());
        assert_eq!(desk.text("other/a").as_deref(), Some("another's"));
    }

    #[test]
    fn the_oldest_content_is_dropped_first() {
        let mut desk = Desk::new();
        for (call, name) in (0..).zip(["a", "b", "c"]) {
            fs::write(desk.path(name), format!("{name}23456789")).unwrap();
            desk.writes(call, name, Some("new"));
        }
        let kept = |change: &FileChange| match change.before {
            FileState::File { kept, .. } => kept.unwrap(),
            _ => panic!("nothing is kept"),
        };
        let all: Vec<Digest> = desk.session.changes.of(|_| true).iter().map(kept).collect();
        assert_eq!(desk.session.changes.surplus(27), []);
        assert_eq!(desk.session.changes.surplus(20), [all[0]]);
        assert_eq!(desk.session.changes.surplus(0).len(), 3);
        desk.session.journal.lock().remove(&format!("{CONTENT}{}", all[0])).unwrap();
        assert_eq!(desk.standings(), [Standing::Lost, Standing::Ready, Standing::Ready]);
    }

    #[test]
    fn a_call_that_failed_has_changed_nothing() {
        let file = |byte: u8| FileState::File { sha256: digest(&[byte]), kept: None, bytes: 1, mode: 0o600 };
        for (before, after, same) in [
            (file(1), Some(file(1)), true),
            (FileState::Absent, Some(FileState::Absent), true),
            (file(1), Some(file(2)), false),
            (FileState::Absent, Some(file(1)), false),
            (FileState::Unknown, Some(FileState::Unknown), false),
            (file(1), None, false),
        ] {
            let change =
                FileChange { id: InvocationId::of(TurnId(1), 0), path: "/a".to_owned(), before, after };
            assert_eq!(change.left_as_it_was(), same, "{change:?}");
        }
    }

    #[test]
    fn changes_behind_a_step_back_are_forgotten() {
        let mut changes = FileChanges::default();
        let change = |call| FileChange {
            id: InvocationId::of(TurnId(1), call),
            path: "/a".to_owned(),
            before: FileState::Absent,
            after: None,
        };
        (10..13).zip(0..3).for_each(|(line, call)| changes.add(line, change(call)));
        changes.rewind(11);
        assert_eq!(changes.of(|_| true), [change(0), change(1)]);
    }
}
