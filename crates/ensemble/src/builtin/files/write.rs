//! `write_file`: a regular file, replaced as a whole or not at all.
//!
//! The directory is found first, without its symlinks, and walked to step by step, each step compared with what was
//! looked up; then the protected places are checked; then a new file is written beside the old one, synced, and renamed
//! over it. Appending is reading and replacing. So a symlink is never written through, a hard link's other names keep
//! their content, and a reader sees the old text or the new.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use cap_std::fs::{Dir, Metadata, OpenOptions, Permissions};
use converse_canister::Arguments;
use tokio_util::sync::CancellationToken;

use super::encoding::TextEncoding;
use super::jail::{Asked, Jail, Opened, must_be_regular, open_file};
use super::protected::{Protected, ProtectedNow, identity};
use super::read::contents;
use super::{Job, MAX_FILE_BYTES, Trouble, cancelled};
use crate::builtin::arguments::{flag, required_text, text};
use crate::{Answer, InvokeError};

const MAX_CONTENT_BYTES: usize = 16 * 1024 * 1024;

pub(super) struct Writing {
    jail: Arc<Jail>,
    protected: Arc<Protected>,
    path: Asked,
    bytes: Vec<u8>,
    append: bool,
    create_directories: bool,
}

/// Where the file goes: a directory that exists, directories to make below it, a name.
struct Place {
    /// Canonical, below the root.
    existing: PathBuf,
    missing: Vec<OsString>,
    name: OsString,
}

impl Writing {
    pub(super) fn new(
        jail: &Arc<Jail>,
        protected: &Arc<Protected>,
        arguments: &Arguments,
    ) -> Result<Self, InvokeError> {
        let path = Asked::new("path", required_text(arguments, "path")?)?;
        let content = required_text(arguments, "content")?;
        let bytes = TextEncoding::named(text(arguments, "encoding")?)?.encode(content);
        let bytes =
            bytes.map_err(|what| InvokeError::Invalid(format!("`content` cannot be written: {what}")))?;
        if bytes.len() > MAX_CONTENT_BYTES {
            let message =
                format!("`content` has {} bytes; at most {MAX_CONTENT_BYTES} are written", bytes.len());
            return Err(InvokeError::Invalid(message));
        }
        Ok(Self {
            jail: Arc::clone(jail),
            protected: Arc::clone(protected),
            path,
            bytes,
            append: flag(arguments, "append")?,
            create_directories: flag(arguments, "create_directories")?,
        })
    }

    pub(super) fn into_job(self) -> Job {
        Box::new(move |cancel| self.run(cancel))
    }

    fn run(&self, cancel: &CancellationToken) -> Result<Answer, Trouble> {
        let jail = self.jail.open()?;
        let place = self.place(jail)?;
        let protected = self.protected.now(&jail.canonical);
        let real = jail.canonical.join(&place.existing).join(place.missing.iter().collect::<PathBuf>());
        if let Some(what) = protected.forbids_path(&real.join(&place.name)) {
            return Err(self.forbidden(&what));
        }
        let dir = self.enter(jail, &place, &protected)?;
        let old = self.old(&dir, &place.name, &protected)?;
        if cancel.is_cancelled() {
            return Err(cancelled());
        }
        let before =
            if self.append && old.is_some() { self.content(&dir, &place.name, cancel)? } else { Vec::new() };
        self.replace(&dir, &place.name, &before, old.as_ref())
            .map_err(|error| self.path.trouble("write", &error))?;
        let verb = if self.append { "appended" } else { "wrote" };
        Ok(Answer::text(format!("{verb} {} bytes to {}", self.bytes.len(), self.path.shown())))
    }

    fn forbidden(&self, what: &str) -> Trouble {
        Trouble::Told(format!("`{}` is protected ({what}): tools may not write there", self.path.shown()))
    }

    fn place(&self, jail: &Opened) -> Result<Place, Trouble> {
        let path = self.jail.relative(jail, &self.path)?;
        let no_name = || Trouble::Told(format!("`{}` names a directory, not a file", self.path.shown()));
        if self.path.ends_with_separator()
            || !matches!(path.components().next_back(), Some(Component::Normal(_)))
        {
            return Err(no_name());
        }
        let name = path.file_name().ok_or_else(no_name)?.to_owned();
        let parts: Vec<Component<'_>> = path.parent().unwrap_or(Path::new("")).components().collect();
        // The longest part of the way that is there already.
        for there in (0..=parts.len()).rev() {
            let (way, rest) = parts.split_at(there);
            let way: PathBuf = [Component::CurDir].iter().chain(way).collect();
            match jail.dir.canonicalize(&way) {
                Ok(existing) => return self.beyond(existing, rest, name),
                Err(error) if error.kind() == io::ErrorKind::NotFound && self.create_directories => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    let hint = "its directory does not exist (`create_directories` makes it)";
                    return Err(format!("`{}` cannot be written: {hint}", self.path.shown()).into());
                }
                Err(error) => return Err(self.path.trouble("write", &error)),
            }
        }
        Err(self.path.outside())
    }

    fn beyond(&self, existing: PathBuf, rest: &[Component<'_>], name: OsString) -> Result<Place, Trouble> {
        let mut missing = Vec::new();
        for part in rest {
            match part {
                Component::Normal(part) => missing.push((*part).to_owned()),
                Component::CurDir => {}
                _ => {
                    return Err(format!(
                        "`{}` goes up from a directory that does not exist",
                        self.path.shown()
                    )
                    .into());
                }
            }
        }
        Ok(Place { existing, missing, name })
    }

    /// Walks to the directory, making what is missing. No step may be a symlink or a protected directory.
    fn enter(&self, jail: &Opened, place: &Place, protected: &ProtectedNow) -> Result<Dir, Trouble> {
        let trouble = |error: io::Error| self.path.trouble("write", &error);
        let mut dir = jail.dir.try_clone().map_err(trouble)?;
        self.not_protected(&dir, protected)?;
        for part in place.existing.components() {
            let Component::Normal(part) = part else { continue };
            dir = self.step(&dir, part)?;
            self.not_protected(&dir, protected)?;
        }
        for part in &place.missing {
            match dir.create_dir(part) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(trouble(error)),
                _ => dir = self.step(&dir, part)?,
            }
            self.not_protected(&dir, protected)?;
        }
        Ok(dir)
    }

    fn step(&self, dir: &Dir, part: &OsStr) -> Result<Dir, Trouble> {
        let trouble = |error: io::Error| self.path.trouble("write", &error);
        let seen = dir.symlink_metadata(part).map_err(trouble)?;
        let inner = dir.open_dir(part).map_err(trouble)?;
        let opened = inner.dir_metadata().map_err(trouble)?;
        if !seen.is_dir() || identity(&seen) != identity(&opened) {
            return Err(format!("the way to `{}` changed while it was walked", self.path.shown()).into());
        }
        Ok(inner)
    }

    fn not_protected(&self, dir: &Dir, protected: &ProtectedNow) -> Result<(), Trouble> {
        let metadata = dir.dir_metadata().map_err(|error| self.path.trouble("write", &error))?;
        if protected.forbids(&metadata) { Err(self.forbidden("a place of converse's own")) } else { Ok(()) }
    }

    /// What is there under the name now, if it may be replaced.
    fn old(&self, dir: &Dir, name: &OsStr, protected: &ProtectedNow) -> Result<Option<Metadata>, Trouble> {
        let path = self.path.shown();
        let old = match dir.symlink_metadata(name) {
            Ok(old) => old,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.path.trouble("write", &error)),
        };
        if old.is_symlink() {
            return Err(format!("`{path}` is a symbolic link; name the file it points to").into());
        }
        must_be_regular(&old, &self.path)?;
        if protected.forbids(&old) {
            return Err(self.forbidden("a file of converse's own"));
        }
        if old.permissions().readonly() {
            return Err(format!("`{path}` is read-only").into());
        }
        Ok(Some(old))
    }

    fn content(&self, dir: &Dir, name: &OsStr, cancel: &CancellationToken) -> Result<Vec<u8>, Trouble> {
        let (file, _) = open_file(dir, Path::new(name), &self.path)?;
        let bytes = contents(file, &self.path, cancel)?;
        if (bytes.len() + self.bytes.len()) as u64 > MAX_FILE_BYTES {
            let path = self.path.shown();
            return Err(format!("`{path}` would become larger than {MAX_FILE_BYTES} bytes").into());
        }
        Ok(bytes)
    }

    fn replace(&self, dir: &Dir, name: &OsStr, before: &[u8], old: Option<&Metadata>) -> io::Result<()> {
        let (temporary, mut file) = temporary(dir)?;
        let written = (|| {
            file.write_all(before)?;
            file.write_all(&self.bytes)?;
            if let Some(old) = old {
                keep_owner(&file, old);
                file.set_permissions(permissions(old))?;
            }
            file.sync_all()?;
            dir.rename(&temporary, dir, name)
        })();
        if written.is_err() {
            // The first error is the one to tell.
            let _ = dir.remove_file(&temporary);
            return written;
        }
        sync_directory(dir);
        Ok(())
    }
}

/// A new file beside the old one: a rename must not cross file systems.
fn temporary(dir: &Dir) -> io::Result<(String, cap_std::fs::File)> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    let mut tries = 0;
    loop {
        let name = format!(".converse-{}-{}.tmp", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        match dir.open_with(&name, &options) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tries < 100 => tries += 1,
            Err(error) => return Err(error),
            Ok(file) => return Ok((name, file)),
        }
    }
}

/// Only root can give a file away; for anybody else the file is their own already.
#[cfg(unix)]
fn keep_owner(file: &cap_std::fs::File, old: &Metadata) {
    use cap_std::fs::MetadataExt;
    use rustix::fs::{Gid, Uid, fchown};
    let _ = fchown(file, Some(Uid::from_raw(old.uid())), Some(Gid::from_raw(old.gid())));
}

/// The permission bits, but not "run as its owner": the content is somebody else's now.
#[cfg(unix)]
fn permissions(old: &Metadata) -> Permissions {
    use cap_std::fs::PermissionsExt;
    Permissions::from_mode(old.permissions().mode() & 0o777)
}

#[cfg(not(unix))]
fn permissions(old: &Metadata) -> Permissions {
    old.permissions()
}

#[cfg(not(unix))]
fn keep_owner(_: &cap_std::fs::File, _: &Metadata) {}

/// Makes the rename itself durable. Not every file system can; the content is safe either way.
fn sync_directory(dir: &Dir) {
    if let Ok(directory) = dir.try_clone() {
        let _ = directory.into_std_file().sync_all();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::builtin::Settings;
    use crate::builtin::testing::{TempDir, fixed};

    /// Something to write to `path` below `root`, with nothing protected.
    fn writing(root: &Path, path: &str) -> Writing {
        let configuration = serde_json::Map::new();
        let clock = fixed("2026-11-20T12:00:00Z");
        let settings = Settings { configuration: &configuration, workspace: root, protected: &[], clock };
        let (jail, protected) = (Jail::new(&settings).unwrap(), Protected::new(&settings));
        let arguments = json!({ "path": path, "content": "x" });
        let arguments = Arguments::from_object(arguments.as_object().unwrap().clone());
        Writing::new(&Arc::new(jail), &Arc::new(protected), &arguments).unwrap()
    }

    #[test]
    fn a_rename_that_fails_leaves_no_temporary_file() {
        let temp = TempDir::new();
        std::fs::create_dir(temp.path().join("taken")).unwrap();
        let writing = writing(temp.path(), "taken");
        let dir = &writing.jail.open().unwrap().dir;
        assert!(writing.replace(dir, OsStr::new("taken"), b"", None).is_err());
        assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 1);
    }

    /// A bind mount gives a directory a second path that no symlink explains.
    #[cfg(unix)]
    #[test]
    fn a_protected_directory_is_not_entered_whatever_its_path() {
        let temp = TempDir::new();
        std::fs::create_dir_all(temp.path().join("state/inner")).unwrap();
        let protected = ProtectedNow::by_identity(&temp.path().join("state"));
        for (path, free) in [("state/x", false), ("state/inner/x", false), ("x", true)] {
            let writing = writing(temp.path(), path);
            let opened = writing.jail.open().unwrap();
            let place = writing.place(opened).unwrap();
            assert_eq!(writing.enter(opened, &place, &protected).is_ok(), free, "{path}");
        }
        let root = ProtectedNow::by_identity(temp.path());
        let writing = writing(temp.path(), "x");
        let opened = writing.jail.open().unwrap();
        assert!(writing.enter(opened, &writing.place(opened).unwrap(), &root).is_err());
    }
}
