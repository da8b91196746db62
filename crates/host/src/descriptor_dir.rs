//! [`DescriptorDir`]: writes new descriptors without losing existing files.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use converse_session::files::{self, Durability, Mode, Replace};

use crate::failure::{Failure, Kind};
use crate::settings::leads_out;
use crate::world::World;

/// The entries of a directory that are looked at for files that are left behind.
const MAX_ENTRIES: usize = 10_000;

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

    /// Returns the files in a directory below this one that begin with `first` and that `files` does not replace.
    ///
    /// # Errors
    ///
    /// The directory cannot be read, or a link leads out.
    pub fn left_behind(&self, below: &str, first: &str, files: &[NewFile]) -> Result<Vec<String>, Failure> {
        let dir = self.dir.join(below);
        self.check_links(&NewFile { path: format!("{below}/x"), text: String::new() })?;
        let failed = |error: io::Error| {
            let message = format!("`{}` cannot be read: {error}", self.shown(below));
            Failure::new(Kind::Output, "write-failed", message)
        };
        let entries = match fs::read_dir(&dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(failed)?,
        };
        let mut left = Vec::new();
        for entry in entries.take(MAX_ENTRIES) {
            let entry = entry.map_err(failed)?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let path = format!("{below}/{name}");
            // A disk may not tell upper and lower case apart.
            let is_replaced = files.iter().any(|file| file.path.eq_ignore_ascii_case(&path));
            let is_file = entry.file_type().is_ok_and(|of| of.is_file());
            if is_file && !is_replaced && begins_with(&entry.path(), first) {
                left.push(path);
            }
        }
        left.sort();
        Ok(left)
    }

    /// Removes files that [`left_behind`](Self::left_behind) returned.
    ///
    /// # Errors
    ///
    /// A file cannot be removed.
    pub fn remove(&self, files: &[String]) -> Result<(), Failure> {
        files.iter().try_for_each(|file| {
            fs::remove_file(self.dir.join(file)).map_err(|error| {
                let message = format!("`{}` cannot be removed: {error}", self.shown(file));
                Failure::new(Kind::Output, "write-failed", message)
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

fn begins_with(path: &Path, first: &str) -> bool {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(first.len() as u64).read_to_end(&mut head));
    read.is_ok() && head == first.as_bytes()
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
    fn only_files_of_the_same_kind_are_left_behind() {
        let dir = tempfile::tempdir().unwrap();
        let place = at(dir.path());
        assert_eq!(place.left_behind("a/b", "# x", &[]).unwrap(), [""; 0]);
        let files = [
            new("a/b/old.toml", "# x\n"),
            new("a/b/new.toml", "# x\n"),
            new("a/b/own.toml", "# y\n"),
            new("a/c.toml", "# x\n"),
            new("a/b/d/e.toml", "# x\n"),
        ];
        place.write(&files, false).unwrap();
        std::os::unix::fs::symlink(dir.path().join("a/c.toml"), dir.path().join("a/b/link.toml")).unwrap();
        let left = place.left_behind("a/b", "# x", &[new("a/b/NEW.toml", "")]).unwrap();
        assert_eq!(left, ["a/b/old.toml"]);
        place.remove(&left).unwrap();
        assert!(!dir.path().join("a/b/old.toml").exists() && dir.path().join("a/b/own.toml").exists());

        let outside = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(outside.path(), dir.path().join("f")).unwrap();
        assert!(place.left_behind("f", "# x", &[]).is_err());
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
