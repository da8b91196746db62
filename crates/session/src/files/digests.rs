//! Digests of files and directories, within limits.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use converse_canister::Digest;
use sha2::{Digest as _, Sha256};

use super::open_regular;
use crate::digest;

/// Bytes of all files together; reading more at each start would be noticeable.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// Files, links and directories below all directories together.
const MAX_ENTRIES: usize = 2_000;

/// What may still be read: by default 64 MiB in 2,000 files, links and directories.
#[derive(Debug)]
pub struct DigestBudget {
    bytes: u64,
    entries: usize,
}

impl Default for DigestBudget {
    fn default() -> Self {
        Self { bytes: MAX_BYTES, entries: MAX_ENTRIES }
    }
}

/// Collects the digests of files below a root.
#[derive(Debug)]
pub struct FileDigests<'a> {
    root: &'a Path,
    /// Left out of directories.
    outputs: BTreeSet<&'a Path>,
    digests: BTreeMap<String, String>,
    budget: &'a mut DigestBudget,
}

impl<'a> FileDigests<'a> {
    /// Paths are relative to `root`. `outputs` are left out of directories.
    pub fn new(root: &'a Path, outputs: BTreeSet<&'a Path>, budget: &'a mut DigestBudget) -> Self {
        Self { root, outputs, digests: BTreeMap::new(), budget }
    }

    /// Returns paths and digests in hex. A link is `PATH -> TARGET`.
    pub fn into_digests(self) -> BTreeMap<String, String> {
        self.digests
    }

    /// Adds a link, which is hashed by its target's name; its target is not read.
    ///
    /// # Errors
    ///
    /// A name is not UTF-8.
    pub fn link(&mut self, link: &Path, target: &Path) -> Result<(), String> {
        let (link, target) = (text(link)?, text(target)?);
        let sha256 = digest(target.as_bytes()).to_string();
        self.digests.insert(format!("{link} -> {target}"), sha256);
        Ok(())
    }

    /// Adds a file.
    ///
    /// # Errors
    ///
    /// The file cannot be read, is not a regular file or exceeds the budget.
    pub fn file(&mut self, path: &Path) -> Result<(), String> {
        let shown = text(path)?;
        let sha256 = self.digest(path).map_err(|error| format!("`{shown}`: {error}"))?;
        self.digests.insert(shown, sha256);
        Ok(())
    }

    /// Adds every file below a directory; links are hashed and not followed.
    ///
    /// # Errors
    ///
    /// A file cannot be read, or there are too many.
    pub fn directory(&mut self, path: &Path) -> Result<(), String> {
        let named = text(path)?;
        let unread = |error: io::Error| format!("`{named}`: {error}");
        let mut waiting = vec![path.to_path_buf()];
        while let Some(dir) = waiting.pop() {
            for entry in fs::read_dir(self.root.join(&dir)).map_err(unread)? {
                let entry = entry.map_err(unread)?;
                self.budget.entries = self.budget.entries.checked_sub(1).ok_or_else(|| {
                    format!("`{named}`: a directory with more than {MAX_ENTRIES} files cannot be trusted; name the file instead")
                })?;
                let (kind, path) = (entry.file_type().map_err(unread)?, dir.join(entry.file_name()));
                if self.outputs.contains(path.as_path()) {
                    continue;
                }
                if kind.is_dir() {
                    waiting.push(path);
                } else if kind.is_symlink() {
                    self.link(&path, &fs::read_link(entry.path()).map_err(unread)?)?;
                } else if kind.is_file() && !self.is_cache(&path) {
                    self.file(&path)?;
                }
            }
        }
        Ok(())
    }

    fn digest(&mut self, path: &Path) -> io::Result<String> {
        let mut hash = Sha256::new();
        let mut file = open_regular(&self.root.join(path))?;
        let mut piece = vec![0; 64 * 1024];
        loop {
            let read = file.read(&mut piece)?;
            if read == 0 {
                return Ok(Digest(hash.finalize().into()).to_string());
            }
            self.budget.bytes = self.budget.bytes.checked_sub(read as u64).ok_or_else(too_much)?;
            hash.update(&piece[..read]);
        }
    }

    /// Returns whether a file is Python bytecode that is only used while its source is unchanged; the first run creates
    /// it. Bytecode that is used without checking the source counts as code.
    fn is_cache(&self, path: &Path) -> bool {
        let in_cache = path.parent().is_some_and(|dir| dir.ends_with("__pycache__"));
        if !in_cache || path.extension().is_none_or(|extension| extension != "pyc") {
            return false;
        }
        let mut head = [0; 8];
        let read = open_regular(&self.root.join(path)).and_then(|mut file| file.read_exact(&mut head));
        // The flags after the magic number are zero if the time of the source is compared (PEP 552).
        read.is_ok() && head.ends_with(&[0; 4])
    }
}

/// Returns a name as text, so that two names stay distinct.
fn text(path: &Path) -> Result<String, String> {
    let named = path.to_str().map(str::to_owned);
    named.ok_or_else(|| format!("`{}`: the name is not UTF-8", path.to_string_lossy()))
}

fn too_much() -> io::Error {
    io::Error::other(format!("scripts of more than {} MiB cannot be trusted", MAX_BYTES / 1024 / 1024))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn below<'a>(root: &'a Path, budget: &'a mut DigestBudget) -> FileDigests<'a> {
        FileDigests::new(root, BTreeSet::new(), budget)
    }

    #[test]
    fn a_directory_is_every_file_below_it() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        fs::create_dir_all(root.join("lib/__pycache__")).unwrap();
        for (name, bytes) in [
            ("lib/a.py", &b"a"[..]),
            ("lib/.hidden", b"h"),
            ("lib/__pycache__/a.pyc", b"\xcb\r\r\n\0\0\0\0rest"),
            ("lib/__pycache__/b.pyc", b"\xcb\r\r\n\x01\0\0\0rest"),
            ("lib/__pycache__/c.pyc", b""),
            ("lib/d.pyc", b"\xcb\r\r\n\0\0\0\0rest"),
            ("beside.py", b"b"),
        ] {
            fs::write(root.join(name), bytes).unwrap();
        }
        symlink("/etc", root.join("lib/etc")).unwrap();
        symlink("/proc/kmsg", root.join("lib/kmsg")).unwrap();
        let mut budget = DigestBudget::default();
        let mut digests = below(root, &mut budget);
        digests.directory(Path::new("lib")).unwrap();
        let found = digests.into_digests();
        let names: Vec<&str> = found.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                "lib/.hidden",
                "lib/__pycache__/b.pyc",
                "lib/__pycache__/c.pyc",
                "lib/a.py",
                "lib/d.pyc",
                "lib/etc -> /etc",
                "lib/kmsg -> /proc/kmsg"
            ]
        );
        assert_eq!(found["lib/a.py"], digest(b"a").to_string());
        assert_eq!(found["lib/etc -> /etc"], digest(b"/etc").to_string());
    }

    #[test]
    fn more_than_can_be_read_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a", "b", "c"] {
            fs::write(dir.path().join(name), [0; 11]).unwrap();
        }
        let read = |bytes, entries| {
            let mut budget = DigestBudget { bytes, entries };
            below(dir.path(), &mut budget).directory(Path::new(""))
        };
        assert!(read(32, 3).unwrap_err().contains("64 MiB"));
        assert!(read(33, 2).unwrap_err().contains("2000 files"));
        read(33, 3).unwrap();
    }

    #[test]
    fn what_is_no_regular_file_is_not_opened() {
        let dir = tempfile::tempdir().unwrap();
        symlink("/etc/passwd", dir.path().join("link")).unwrap();
        let mut budget = DigestBudget::default();
        let mut digests = below(dir.path(), &mut budget);
        assert!(digests.file(Path::new("link")).is_err());
        assert!(digests.file(Path::new("")).is_err());
    }
}
