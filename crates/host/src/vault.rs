//! Tokens of servers: one file each in `<data>/tokens`, readable only by the user.
//!
//! A file that others can read is refused and not repaired, because others may have read it.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use converse_mcp::Vault;
use converse_session::files::{self, Durability, Replace};
use rustix::fs::OFlags;

use crate::secrets::{Redactor, Secret};

const MAX_BYTES: u64 = 256 * 1024;
/// Limit for another process that renews the same token and waits for a server.
const TIMEOUT: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub(crate) struct FileVault {
    dir: PathBuf,
    redactor: Redactor,
}

impl FileVault {
    pub(crate) fn new(dir: PathBuf, redactor: Redactor) -> Self {
        Self { dir, redactor }
    }

    /// Keys are digests; any other key has no file.
    fn path(&self, key: &str, ending: &str) -> Result<PathBuf, String> {
        let plain = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if plain {
            Ok(self.dir.join(format!("{key}.{ending}")))
        } else {
            Err("not a valid token name".to_owned())
        }
    }

    fn create_dir(&self) -> Result<(), String> {
        let created = DirBuilder::new().recursive(true).mode(0o700).create(&self.dir);
        created.map_err(|error| failed("make", &self.dir, &error))?;
        let metadata = self.dir.metadata().map_err(|error| failed("look at", &self.dir, &error))?;
        own(&self.dir, &metadata, 0o077, "700")
    }
}

impl Vault for FileVault {
    fn get(&self, key: &str) -> Result<Option<String>, String> {
        let path = self.path(key, "json")?;
        let opened = OpenOptions::new().read(true).custom_flags(flags()).open(&path);
        let mut file = match opened {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed("read", &path, &error)),
        };
        let metadata = file.metadata().map_err(|error| failed("read", &path, &error))?;
        own(&path, &metadata, 0o077, "600")?;
        let mut text = String::new();
        let read = std::io::Read::by_ref(&mut file).take(MAX_BYTES).read_to_string(&mut text);
        read.map_err(|error| failed("read", &path, &error))?;
        Ok(Some(text))
    }

    fn put(&self, key: &str, value: &str) -> Result<(), String> {
        let path = self.path(key, "json")?;
        self.create_dir()?;
        let how = Replace { durability: Durability::Content, ..Replace::PRIVATE };
        files::replace(&path, value.as_bytes(), how).map_err(|error| failed("write", &path, &error))
    }

    fn remove(&self, key: &str) -> Result<(), String> {
        let path = self.path(key, "json")?;
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(failed("remove", &path, &error)),
            _ => Ok(()),
        }
    }

    fn lock(&self, key: &str) -> Result<Box<dyn Send>, String> {
        let path = self.path(key, "lock")?;
        self.create_dir()?;
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600).custom_flags(flags());
        let file = options.open(&path).map_err(|error| failed("lock", &path, &error))?;
        locked(&file, &path)?;
        Ok(Box::new(file))
    }

    fn hide(&self, secret: &str) {
        self.redactor.learn([Secret::new(secret)]);
    }
}

/// Does not follow links and does not block on pipes.
fn flags() -> i32 {
    (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed()
}

fn own(path: &Path, metadata: &std::fs::Metadata, others: u32, mode: &str) -> Result<(), String> {
    let is_ours = metadata.uid() == rustix::process::geteuid().as_raw();
    if !is_ours || metadata.mode() & others != 0 {
        let path = path.display();
        return Err(format!(
            "other users can read {path}, which contains tokens: run `chmod {mode}` on it, or remove it and log in again"
        ));
    }
    Ok(())
}

/// Locks the file, and waits a limited time for other holders. The lock ends with its holder, even in a crash.
fn locked(file: &File, path: &Path) -> Result<(), String> {
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(failed("lock", path, &error)),
            Err(TryLockError::WouldBlock) if begun.elapsed() >= TIMEOUT => {
                return Err("another run is renewing the same token and does not finish".to_owned());
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOOK),
        }
    }
}

fn failed(verb: &str, path: &Path, error: &std::io::Error) -> String {
    format!("cannot {verb} {}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().mode() & 0o777
    }

    #[test]
    fn a_token_is_for_its_owner_alone() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path().join("data/tokens");
        let vault = FileVault::new(dir.clone(), Redactor::default());
        assert_eq!(vault.get("a1"), Ok(None));
        vault.remove("a1").unwrap();
        vault.put("a1", "first").unwrap();
        vault.put("a1", "second").unwrap();
        assert_eq!(vault.get("a1"), Ok(Some("second".to_owned())));
        let file = dir.join("a1.json");
        assert_eq!((mode(&dir), mode(&file)), (0o700, 0o600));
        assert_eq!(dir.read_dir().unwrap().count(), 1, "no draft is left");
        for loose in [0o640, 0o604] {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(loose)).unwrap();
            assert!(vault.get("a1").unwrap_err().contains("chmod 600"));
        }
        vault.remove("a1").unwrap();
        assert_eq!(vault.get("a1"), Ok(None));
        std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert!(vault.put("a1", "third").unwrap_err().contains("chmod 700"));
    }

    #[test]
    fn a_link_is_not_followed_and_a_key_is_no_path() {
        let place = tempfile::tempdir().unwrap();
        let vault = FileVault::new(place.path().join("tokens"), Redactor::default());
        vault.put("a", "x").unwrap();
        std::fs::write(place.path().join("other"), "foreign").unwrap();
        std::os::unix::fs::symlink(place.path().join("other"), place.path().join("tokens/b.json")).unwrap();
        assert!(vault.get("b").is_err());
        for key in ["", "../other", "a/b", "a.b"] {
            assert!(
                vault.get(key).is_err() && vault.put(key, "x").is_err() && vault.lock(key).is_err(),
                "{key}"
            );
        }
    }

    #[test]
    fn one_at_a_time_renews() {
        let place = tempfile::tempdir().unwrap();
        let vault = || FileVault::new(place.path().join("tokens"), Redactor::default());
        let held = vault().lock("a").unwrap();
        let (sender, receiver) = std::sync::mpsc::channel();
        let other = vault();
        let waiting = std::thread::spawn(move || {
            sender.send(()).unwrap();
            other.lock("a").map(|_| Instant::now())
        });
        receiver.recv().unwrap();
        let other_key = vault().lock("b").expect("another key is another lock");
        let released = Instant::now();
        drop((held, other_key));
        assert!(waiting.join().unwrap().unwrap() >= released);
    }

    #[test]
    fn what_is_hidden_is_shown_by_nobody() {
        let redactor = Redactor::default();
        let vault = FileVault::new("/nowhere".into(), redactor.clone());
        vault.hide("canary-0123456789");
        assert_eq!(redactor.clean("it is canary-0123456789"), "it is [redacted]");
    }
}
