//! The texts that were trusted, kept beside the record under the SHA-256 of their bytes, so that a change can be shown
//! line by line and not only named. Losing them loses the picture, never the verdict.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use converse_session::digest;
use similar::TextDiff;

use super::FileDigest;
use crate::world::World;

/// Longer files are named only.
const MAX_BYTES: u64 = 1024 * 1024;
/// Two files that have nothing in common are not compared for ever.
const PATIENCE: Duration = Duration::from_secs(1);

pub(crate) struct Texts {
    dir: PathBuf,
}

impl Texts {
    /// `None` without a home.
    pub(crate) fn of(world: &World) -> Option<Self> {
        world.state_dir().map(|dir| Self { dir: dir.join("trusted") })
    }

    /// Keeps those of the project's files that still are what was trusted.
    pub(crate) fn keep(&self, root: &Path, files: &[FileDigest]) {
        for file in files {
            let kept = read(&root.join(&file.path), &file.sha256).map(|text| self.put(&file.sha256, &text));
            if let Some(Err(error)) = kept {
                tracing::debug!(%error, "a trusted text was not kept");
            }
        }
    }

    /// What has become of a file, as a unified diff; `None` if that cannot be told any more.
    pub(crate) fn diff(&self, root: &Path, before: &FileDigest, now: &FileDigest) -> Option<String> {
        let old = read(&self.dir.join(&before.sha256), &before.sha256)?;
        let new = read(&root.join(&now.path), &now.sha256)?;
        let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(&old, &new);
        let (before, now) = (format!("{} (trusted)", before.path), format!("{} (now)", now.path));
        Some(diff.unified_diff().context_radius(2).header(&before, &now).to_string())
    }

    fn put(&self, sha256: &str, text: &str) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)?;
        let temporary = self.dir.join(format!(".tmp-{}-{sha256}", std::process::id()));
        let written = fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&temporary)
            .and_then(|mut file| io::Write::write_all(&mut file, text.as_bytes()))
            .and_then(|()| fs::rename(&temporary, self.dir.join(sha256)));
        written.inspect_err(|_| drop(fs::remove_file(&temporary)))
    }
}

/// The text of a file that has this digest.
fn read(path: &Path, sha256: &str) -> Option<String> {
    let metadata = fs::metadata(path).ok().filter(|metadata| metadata.is_file())?;
    let text = if metadata.len() <= MAX_BYTES { fs::read_to_string(path).ok()? } else { return None };
    (digest(text.as_bytes()).to_string() == sha256).then_some(text)
}

#[cfg(test)]
mod tests {
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
}
