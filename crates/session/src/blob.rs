//! Large content, kept beside the journal under the SHA-256 of its bytes.
//!
//! The same bytes are kept once. What is read is checked against its name, so a damaged file is missing content and
//! never wrong content.

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use converse_canister::{Blobs, Canister, Digest};
use sha2::{Digest as _, Sha256};

use crate::storage::{CONTENT, SessionDirectory, SessionStorage, is_missing};
use crate::{SessionError, digests};

/// Bytes of one piece of content; more is refused.
pub const MAX_BLOB_BYTES: usize = 64 * 1024 * 1024;

/// The SHA-256 of some bytes.
pub fn digest(bytes: &[u8]) -> Digest {
    Digest(Sha256::digest(bytes).into())
}

/// The content of one session. Cheap to share.
#[derive(Debug, Clone)]
pub struct Contents {
    at: Arc<dyn SessionStorage>,
}

/// Of the same session.
impl PartialEq for Contents {
    fn eq(&self, other: &Self) -> bool {
        self.at.dir() == other.at.dir()
    }
}

impl Eq for Contents {}

impl Contents {
    /// The content of a session in this directory. `content` in it is made when there is something to put into it.
    pub fn new(session: &Path) -> Self {
        Self::at(Arc::new(SessionDirectory::new(session)))
    }

    pub(crate) fn at(at: Arc<dyn SessionStorage>) -> Self {
        Self { at }
    }

    /// Takes over the content that these messages need, by hard links where possible. Content is never overwritten, so
    /// links are safe.
    ///
    /// # Errors
    /// The content cannot be read or written.
    pub fn adopt(&self, theirs: &Self, canisters: &[Canister]) -> Result<(), SessionError> {
        for digest in canisters.iter().flat_map(digests) {
            let adopted = self.at.adopt_content(&*theirs.at, &digest.to_string());
            if adopted.is_err()
                && let Some(bytes) = theirs.get(&digest)?
            {
                self.put(&bytes)?;
            }
        }
        self.at.sync_content().map_err(SessionError::io(self.at.dir()))
    }

    /// Keeps the bytes, durably.
    pub fn put(&self, bytes: &[u8]) -> Result<Digest, SessionError> {
        if bytes.len() > MAX_BLOB_BYTES {
            return Err(SessionError::TooLarge { bytes: bytes.len(), limit: MAX_BLOB_BYTES });
        }
        let digest = digest(bytes);
        if self.get(&digest).is_ok_and(|kept| kept.is_some()) {
            return Ok(digest);
        }
        let kept = self.at.put_content(&digest.to_string(), bytes);
        kept.map_err(SessionError::io(&self.at.path(CONTENT.trim_end_matches('/'))))?;
        Ok(digest)
    }

    /// `None` when it is not there or not what its name says.
    pub fn get(&self, wanted: &Digest) -> Result<Option<Arc<[u8]>>, SessionError> {
        let name = name(wanted);
        let mut bytes = Vec::new();
        let read =
            self.at.open(&name).and_then(|file| file.take(MAX_BLOB_BYTES as u64 + 1).read_to_end(&mut bytes));
        match read {
            Ok(_) if digest(&bytes) == *wanted => Ok(Some(bytes.into())),
            Ok(_) => Ok(None),
            Err(error) if is_missing(&error) => Ok(None),
            Err(source) => Err(SessionError::Io { path: self.at.path(&name), source }),
        }
    }

    /// Returns whether something is there, whatever it is.
    pub(crate) fn has(&self, digest: &Digest) -> bool {
        self.at.has(&name(digest)).unwrap_or(true)
    }
}

fn name(digest: &Digest) -> String {
    format!("{CONTENT}{digest}")
}

impl Blobs for Contents {
    fn bytes(&self, digest: &Digest) -> Option<Arc<[u8]>> {
        self.get(digest).ok().flatten()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn content_is_kept_once_and_checked() {
        let dir = tempfile::tempdir().unwrap();
        let contents = Contents::new(dir.path());
        // FIPS 180-2, appendix B.1.
        let abc = contents.put(b"abc").unwrap();
        assert_eq!(abc.to_string(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        let path = dir.path().join("content").join(abc.to_string());
        let first = fs::metadata(&path).unwrap().modified().unwrap();
        contents.put(b"abc").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), first);
        assert_eq!(contents.bytes(&abc).as_deref(), Some(b"abc".as_slice()));
        assert_eq!(contents.bytes(&digest(b"other")), None);
        fs::write(&path, b"abd").unwrap();
        assert_eq!(contents.bytes(&abc), None);
        contents.put(b"abc").unwrap();
        assert_eq!(contents.bytes(&abc).as_deref(), Some(b"abc".as_slice()));
        assert_eq!(fs::read_dir(dir.path().join("content")).unwrap().count(), 1);
    }

    #[test]
    fn too_much_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let error = Contents::new(dir.path()).put(&vec![0; MAX_BLOB_BYTES + 1]).unwrap_err();
        assert!(matches!(error, SessionError::TooLarge { .. }));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_a_killed_writer_left_is_swept() {
        let dir = tempfile::tempdir().unwrap();
        let contents = Contents::new(dir.path());
        let lock = contents.at.lock().unwrap();
        lock.sweep().unwrap();
        let kept = contents.put(b"abc").unwrap();
        fs::write(dir.path().join("content/.tmp-0-half"), b"x").unwrap();
        lock.sweep().unwrap();
        assert_eq!(fs::read_dir(dir.path().join("content")).unwrap().count(), 1);
        assert!(contents.bytes(&kept).is_some());
    }
}
