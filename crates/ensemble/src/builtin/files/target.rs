//! Where a file goes that is written: found first, without symlinks, and walked to step by step, each step compared
//! with what was looked up; then the protected places are checked. So a symlink is never written through.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::{Dir, Metadata};
use tokio_util::sync::CancellationToken;

use super::JobError;
use super::jail::{Jail, Opened, RequestedPath, must_be_regular, open_file, step};
use super::protected::{Protected, ProtectedNow};
use super::read::contents;
use super::replacing::replace;
use crate::{PathPolicy, PathUse};

/// A requested file to write.
pub(super) struct Target {
    pub(super) jail: Arc<Jail>,
    pub(super) protected: Arc<Protected>,
    pub(super) path: RequestedPath,
    pub(super) create_directories: bool,
}

/// An open directory and a name in it that may be written to.
pub(super) struct Spot<'t> {
    target: &'t Target,
    dir: Dir,
    name: OsString,
    /// The existing file.
    pub(super) old: Option<Metadata>,
}

/// Where the file goes: a directory that exists, directories to make below it, a name.
pub(super) struct Place {
    /// Canonical, below the root.
    existing: PathBuf,
    missing: Vec<OsString>,
    name: OsString,
}

impl Place {
    /// `path` is relative to the root of the jail; `asked` is what messages show.
    pub(super) fn of(
        jail: &Opened,
        path: &Path,
        asked: &RequestedPath,
        create_directories: bool,
    ) -> Result<Self, JobError> {
        let no_name = || JobError::Answer(format!("`{}` names a directory, not a file", asked.shown()));
        if asked.ends_with_separator() || !matches!(path.components().next_back(), Some(Component::Normal(_)))
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
                Ok(existing) => return Self::beyond(existing, rest, name, asked),
                Err(error) if error.kind() == io::ErrorKind::NotFound && create_directories => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    let hint = "its directory does not exist (`create_directories` makes it)";
                    return Err(format!("`{}` cannot be written: {hint}", asked.shown()).into());
                }
                Err(error) => return Err(asked.error("write", &error)),
            }
        }
        Err(asked.outside())
    }

    fn beyond(
        existing: PathBuf,
        rest: &[Component<'_>],
        name: OsString,
        asked: &RequestedPath,
    ) -> Result<Self, JobError> {
        let mut missing = Vec::new();
        for part in rest {
            match part {
                Component::Normal(part) => missing.push((*part).to_owned()),
                Component::CurDir => {}
                _ => {
                    return Err(
                        format!("`{}` goes up from a directory that does not exist", asked.shown()).into()
                    );
                }
            }
        }
        Ok(Self { existing, missing, name })
    }

    /// The whole path below the root, without symlinks unless the name itself is one.
    pub(super) fn path(&self) -> PathBuf {
        self.existing.join(self.missing.iter().collect::<PathBuf>()).join(&self.name)
    }
}

impl Target {
    /// Goes there, and makes the directories on the way that are missing, if it may.
    pub(super) fn spot(&self, paths: &PathPolicy) -> Result<Spot<'_>, JobError> {
        let jail = self.jail.open()?;
        let relative = self.jail.relative(jail, &self.path)?;
        let place = Place::of(jail, &relative, &self.path, self.create_directories)?;
        jail.permit(&place.path(), &self.path, PathUse::Write, paths)?;
        let protected = self.protected.now(&jail.canonical);
        if let Some(what) = protected.forbids_path(&jail.canonical.join(place.path())) {
            return Err(self.forbidden(&what));
        }
        let dir = self.enter(jail, &place, &protected)?;
        let old = self.old(&dir, &place.name, &protected)?;
        Ok(Spot { target: self, dir, name: place.name, old })
    }

    fn forbidden(&self, what: &str) -> JobError {
        JobError::Answer(format!("`{}` is protected ({what}): tools may not write there", self.path.shown()))
    }

    /// Walks to the directory, making what is missing. No step may be a symlink or a protected directory.
    fn enter(&self, jail: &Opened, place: &Place, protected: &ProtectedNow) -> Result<Dir, JobError> {
        let failed = |error: io::Error| self.path.error("write", &error);
        let mut dir = jail.dir.try_clone().map_err(failed)?;
        self.not_protected(&dir, protected)?;
        for part in place.existing.components() {
            let Component::Normal(part) = part else { continue };
            dir = step(&dir, part, &self.path, "write")?;
            self.not_protected(&dir, protected)?;
        }
        for part in &place.missing {
            match dir.create_dir(part) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
                _ => dir = step(&dir, part, &self.path, "write")?,
            }
            self.not_protected(&dir, protected)?;
        }
        Ok(dir)
    }

    fn not_protected(&self, dir: &Dir, protected: &ProtectedNow) -> Result<(), JobError> {
        let metadata = dir.dir_metadata().map_err(|error| self.path.error("write", &error))?;
        if protected.forbids(&metadata) { Err(self.forbidden("a place of converse's own")) } else { Ok(()) }
    }

    /// Returns the existing file of this name, if it may be replaced.
    fn old(&self, dir: &Dir, name: &OsStr, protected: &ProtectedNow) -> Result<Option<Metadata>, JobError> {
        let path = self.path.shown();
        let old = match dir.symlink_metadata(name) {
            Ok(old) => old,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.path.error("write", &error)),
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
}

impl Spot<'_> {
    /// Returns the whole current content.
    pub(super) fn content(&self, cancel: &CancellationToken) -> Result<Vec<u8>, JobError> {
        let (file, _) = open_file(&self.dir, Path::new(&self.name), &self.target.path)?;
        contents(file, &self.target.path, cancel)
    }

    pub(super) fn replace(&self, bytes: &[u8]) -> Result<(), JobError> {
        let replaced = replace(&self.dir, &self.name, bytes, self.old.as_ref());
        replaced.map_err(|error| self.target.path.error("write", &error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin::testing::{TempDir, settings};

    /// A bind mount gives a directory a second path that no symlink explains.
    #[cfg(unix)]
    #[test]
    fn a_protected_directory_is_not_entered_whatever_its_path() {
        let temp = TempDir::new();
        std::fs::create_dir_all(temp.path().join("state/inner")).unwrap();
        let configuration = serde_json::Map::new();
        let settings = settings(&configuration, temp.path());
        let (jail, nothing) = (Arc::new(Jail::new(&settings).unwrap()), Arc::new(Protected::new(&settings)));
        let target = |path: &str| Target {
            jail: Arc::clone(&jail),
            protected: Arc::clone(&nothing),
            path: RequestedPath::new("path", path).unwrap(),
            create_directories: false,
        };
        let enters = |path: &str, protected: &ProtectedNow| {
            let target = target(path);
            let opened = target.jail.open().unwrap();
            let place = Place::of(opened, Path::new(path), &target.path, false).unwrap();
            target.enter(opened, &place, protected).is_ok()
        };
        let protected = ProtectedNow::by_identity(&temp.path().join("state"));
        for (path, free) in [("state/x", false), ("state/inner/x", false), ("x", true)] {
            assert_eq!(enters(path, &protected), free, "{path}");
        }
        assert!(!enters("x", &ProtectedNow::by_identity(temp.path())));
    }
}
