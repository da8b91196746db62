//! [`DescriptorDir`]: writes new descriptors without losing existing files.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use converse_session::files::{self, Durability, Mode, Replace};

use crate::failure::{Failure, Kind};
use crate::settings::leads_out;
use crate::world::World;

/// A directory of ensembles to write to.
#[derive(Debug)]
pub struct DescriptorDir {
    dir: PathBuf,
    /// The project, or the directory itself if it is elsewhere. No link below may lead out of it.
    root: PathBuf,
    /// The directory as messages name it.
    shown: String,
    /// Descriptors there are used once the project is trusted.
    pub of_project: bool,
}

/// A file to write.
#[derive(Debug)]
pub struct NewFile {
    /// The path below the directory.
    pub path: String,
    pub text: String,
}

impl DescriptorDir {
    /// The named directory, else the `ensembles/` of the project if there is one, else that of the user.
    ///
    /// # Errors
    ///
    /// No directory is named, and there is no home.
    pub fn of(named: Option<&Path>, world: &World) -> Result<Self, Failure> {
        let project = world.cwd.join("ensembles");
        let own = project.is_dir() && !leads_out(&project, &world.cwd);
        match named {
            Some(dir) => {
                let dir_in_full = world.cwd.join(dir);
                let of_project = own && dir_in_full.canonicalize().ok() == project.canonicalize().ok();
                let climbs = dir.components().any(|part| part == Component::ParentDir);
                let inside = !climbs && dir_in_full.starts_with(&world.cwd);
                let root = if inside { world.cwd.clone() } else { dir_in_full.clone() };
                Ok(Self { dir: dir_in_full, root, shown: dir.display().to_string(), of_project })
            }
            None if own => {
                let root = world.cwd.clone();
                Ok(Self { dir: project, root, shown: "ensembles".to_owned(), of_project: true })
            }
            None => {
                let none = || {
                    let message =
                        "without `HOME` there is no directory for your ensembles; name one with `--into`";
                    Failure::usage("nowhere", message)
                };
                let dir = world.config_dir().ok_or_else(none)?.join("ensembles");
                Ok(Self { shown: dir.display().to_string(), root: dir.clone(), dir, of_project: false })
            }
        }
    }

    /// The path of a file in it, as messages name it.
    pub fn shown(&self, path: &str) -> String {
        format!("{}/{path}", self.shown.trim_end_matches('/'))
    }

    /// Writes all files. Fails before the first is written if one exists and `force` is not set. Each file is written as a
    /// whole or stays as it was.
    ///
    /// # Errors
    ///
    /// A file exists, cannot be written, or would be written through a link.
    pub fn write(&self, files: &[NewFile], force: bool) -> Result<(), Failure> {
        files.iter().try_for_each(|file| self.check_links(file))?;
        let there = |file: &&NewFile| self.dir.join(&file.path).symlink_metadata().is_ok();
        let there: Vec<String> =
            files.iter().filter(there).map(|file| format!("`{}`", self.shown(&file.path))).collect();
        if !there.is_empty() && !force {
            return Err(taken(&there.join(", ")));
        }
        files.iter().try_for_each(|file| {
            let path = self.dir.join(&file.path);
            put(&path, &file.text, force).map_err(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => taken(&format!("`{}`", self.shown(&file.path))),
                _ => {
                    let message = format!("`{}` cannot be written: {error}", self.shown(&file.path));
                    Failure::new(Kind::Output, "write-failed", message)
                }
            })
        })
    }

    /// A directory on the way may be a link that the project made.
    fn check_links(&self, file: &NewFile) -> Result<(), Failure> {
        let path = self.dir.join(&file.path);
        let root = self.root.canonicalize().unwrap_or_else(|_| self.root.clone());
        let mut way = path.ancestors().skip(1).take_while(|dir| *dir != self.root);
        let Some(link) = way.find(|dir| leads_out(dir, &root)) else { return Ok(()) };
        let below = link.strip_prefix(&self.dir).ok().filter(|below| !below.as_os_str().is_empty());
        let link =
            below.map_or_else(|| link.display().to_string(), |below| self.shown(&below.to_string_lossy()));
        let message = format!("`{link}` is a link to another place; nothing is written through it");
        Err(Failure::usage("leads-out", message)
            .hint("name the target with `--into DIR`, or remove the link"))
    }
}

fn taken(files: &str) -> Failure {
    Failure::usage("already-there", format!("{files}: the file exists and is not replaced"))
        .hint("`--force` replaces it; `--into DIR` writes to another directory; `--dry-run` shows what would be written")
}

/// Creates the directory of the file and writes the file. Without `force` nothing is replaced, not even a file that was
/// written a moment ago.
fn put(path: &Path, text: &str, force: bool) -> io::Result<()> {
    let dir = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    fs::create_dir_all(dir)?;
    let (mode, durability) = (Mode::Umasked(0o666), Durability::Content);
    files::replace(path, text.as_bytes(), Replace { mode, durability, only_new: !force, ..Replace::PRIVATE })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(dir: &Path) -> DescriptorDir {
        DescriptorDir { dir: dir.into(), root: dir.into(), shown: "e".into(), of_project: false }
    }

    fn new(path: &str, text: &str) -> NewFile {
        NewFile { path: path.into(), text: text.into() }
    }

    #[test]
    fn nothing_is_written_over_unless_it_is_meant() {
        let dir = tempfile::tempdir().unwrap();
        let place = at(&dir.path().join("e"));
        place.write(&[new("a.toml", "1"), new("a/b/c.toml", "2")], false).unwrap();
        let read = |path: &str| fs::read_to_string(dir.path().join("e").join(path)).unwrap();
        assert_eq!((read("a.toml"), read("a/b/c.toml")), ("1".into(), "2".into()));
        let failure = place.write(&[new("d.toml", "3"), new("a.toml", "4")], false).unwrap_err();
        assert!(failure.message.contains("`e/a.toml`") && !dir.path().join("e/d.toml").exists());
        assert_eq!(read("a.toml"), "1");
        assert_eq!(
            put(&dir.path().join("e/a.toml"), "5", false).unwrap_err().kind(),
            io::ErrorKind::AlreadyExists
        );
        place.write(&[new("a.toml", "6")], true).unwrap();
        assert_eq!(read("a.toml"), "6");
        assert_eq!(fs::read_dir(dir.path().join("e")).unwrap().count(), 2, "no temporary file is left");
    }

    #[test]
    fn a_link_is_replaced_and_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let outside = dir.path().join("outside");
        fs::write(&outside, "kept").unwrap();
        std::os::unix::fs::symlink(&outside, dir.path().join("a.toml")).unwrap();
        let place = at(dir.path());
        assert!(place.write(&[new("a.toml", "new")], false).is_err());
        place.write(&[new("a.toml", "new")], true).unwrap();
        assert_eq!(fs::read_to_string(&outside).unwrap(), "kept");
        assert_eq!(fs::read_to_string(dir.path().join("a.toml")).unwrap(), "new");
    }
}
