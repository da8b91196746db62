//! The trusted texts, stored beside the record under the SHA-256 of their bytes, so that a change can be shown as a
//! diff. Losing them loses the diff, never the decision.
//!
//! Only files inside the project are stored: a link in a repository must not copy files from elsewhere. Texts that no
//! record refers to are deleted.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use converse_session::digest;
use converse_session::files::{self, Replace};
use converse_text::difference::Difference;

use super::FileDigest;
use crate::world::World;
use converse_session::files::open_regular;

/// Bytes of a text; longer files are only named.
const MAX_BYTES: u64 = 1024 * 1024;

pub struct Texts {
    dir: PathBuf,
}

crate::opaque_debug!(Texts);

impl Texts {
    /// `None` without a home.
    pub fn of(world: &World) -> Option<Self> {
        world.state_dir().map(|dir| Self { dir: dir.join("trusted") })
    }

    /// Stores those files of the project that still have their trusted content.
    pub fn keep(&self, root: &Path, files: &[FileDigest]) {
        for file in files {
            let kept = read_below(root, file).map(|text| self.put(&file.sha256, &text));
            if let Some(Err(error)) = kept {
                tracing::debug!(%error, "a trusted text was not saved");
            }
        }
    }

    /// Stores a text that was read, such as the used part of a file.
    pub fn keep_text(&self, text: &str) {
        if let Err(error) = self.put(&digest(text.as_bytes()).to_string(), text) {
            tracing::debug!(%error, "a trusted text was not saved");
        }
    }

    /// Returns the change of a file as a unified diff; `None` if its trusted text is not available.
    pub fn diff(&self, root: &Path, before: &FileDigest, now: &FileDigest) -> Option<String> {
        self.diff_to(before, now, &read_below(root, now)?)
    }

    /// The same for a text that was read already.
    pub fn diff_to(&self, before: &FileDigest, now: &FileDigest, new: &str) -> Option<String> {
        let old = read(&self.dir.join(&before.sha256), &before.sha256)?;
        let (before, now) = (format!("{} (trusted)", before.path), format!("{} (now)", now.path));
        Some(Difference::between(&old, new).unified(2, Some((&before, &now))))
    }

    /// Deletes texts that no record refers to.
    pub fn keep_only(&self, named: &BTreeSet<String>) {
        let is_text = |name: &str| name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        for entry in fs::read_dir(&self.dir).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if is_text(&name) && !named.contains(&name) {
                drop(fs::remove_file(entry.path()));
            }
        }
    }

    fn put(&self, sha256: &str, text: &str) -> io::Result<()> {
        files::private_dir(&self.dir)?;
        files::replace(&self.dir.join(sha256), text.as_bytes(), Replace::CACHE)
    }
}

/// Opens a file of the project; refuses files elsewhere, even through links.
fn read_below(root: &Path, file: &FileDigest) -> Option<String> {
    let path = root.join(&file.path).canonicalize().ok()?;
    if path.starts_with(root.canonicalize().ok()?) { read(&path, &file.sha256) } else { None }
}

/// Returns the text with this digest.
fn read(path: &Path, sha256: &str) -> Option<String> {
    let mut text = String::new();
    open_regular(path).ok()?.take(MAX_BYTES + 1).read_to_string(&mut text).ok()?;
    (text.len() as u64 <= MAX_BYTES && digest(text.as_bytes()).to_string() == sha256).then_some(text)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn file(path: &str, text: &str) -> FileDigest {
        FileDigest { path: path.to_owned(), sha256: digest(text.as_bytes()).to_string() }
    }

    #[test]
    fn a_change_is_shown_line_by_line() {
        let dir = tempfile::tempdir().unwrap();
        let texts = Texts { dir: dir.path().join("state/trusted") };
        let (old, new) = ("a = 1\nb = 2\n", "a = 1\nb = 3\n");
        fs::write(dir.path().join("x.toml"), old).unwrap();
        texts.keep(dir.path(), &[file("x.toml", old), file("gone.toml", "?")]);
        fs::write(dir.path().join("x.toml"), new).unwrap();
        let diff = texts.diff(dir.path(), &file("x.toml", old), &file("x.toml", new)).unwrap();
        assert!(diff.contains("--- x.toml (trusted)") && diff.contains("\n-b = 2\n+b = 3\n"), "{diff}");
    }

    #[test]
    fn what_is_not_what_its_name_says_is_not_shown() {
        let dir = tempfile::tempdir().unwrap();
        let texts = Texts { dir: dir.path().join("trusted") };
        fs::write(dir.path().join("x.toml"), "old").unwrap();
        texts.keep(dir.path(), &[file("x.toml", "old")]);
        fs::write(texts.dir.join(file("x.toml", "old").sha256), "other").unwrap();
        assert_eq!(texts.diff(dir.path(), &file("x.toml", "old"), &file("x.toml", "old")), None);
        assert_eq!(fs::read_dir(&texts.dir).unwrap().count(), 1, "no temporary file is left");
    }

    #[test]
    fn what_lies_elsewhere_is_not_kept_and_what_nobody_names_is_removed() {
        let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let texts = Texts { dir: dir.path().join("state/trusted") };
        fs::write(outside.path().join("secret"), "secret").unwrap();
        std::os::unix::fs::symlink(outside.path(), dir.path().join("away")).unwrap();
        for text in ["one", "two"] {
            fs::write(dir.path().join(text), text).unwrap();
        }
        texts.keep(dir.path(), &[file("away/secret", "secret"), file("one", "one"), file("two", "two")]);
        let kept =
            || fs::read_dir(&texts.dir).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
        assert_eq!(kept().len(), 2);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        assert_eq!((mode(&kept()[0]), mode(&texts.dir)), (0o600, 0o700));
        texts.keep_only(&BTreeSet::from([file("two", "two").sha256]));
        assert_eq!(kept(), [texts.dir.join(file("two", "two").sha256)]);
    }
}
