//! Large content, kept beside the journal under the SHA-256 of its bytes.
//!
//! The same bytes are kept once. What is read is checked against its name, so a damaged file is missing content and
//! never wrong content.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use converse_canister::{Blobs, Canister, Digest};
use sha2::{Digest as _, Sha256};

use crate::files::{self, Replace};
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
    dir: PathBuf,
}

/// Of the same session.
impl PartialEq for Contents {
    fn eq(&self, other: &Self) -> bool {
        self.dir == other.dir
    }
}

impl Eq for Contents {}

impl Contents {
    /// Its directory is made when there is something to put into it.
    pub fn new(session: &Path) -> Self {
        Self { dir: session.join("content") }
    }

    /// Takes over the content that these messages need, by hard links where possible. Content is never overwritten, so
    /// links are safe.
    ///
    /// # Errors
    /// The content cannot be read or written.
    pub fn adopt(&self, theirs: &Self, canisters: &[Canister]) -> Result<(), SessionError> {
        for digest in canisters.iter().flat_map(digests) {
            let linked =
                self.make_dir().and_then(|()| fs::hard_link(theirs.path(&digest), self.path(&digest)));
            if linked.is_err()
                && let Some(bytes) = theirs.get(&digest)?
            {
                self.put(&bytes)?;
            }
        }
        self.sync().map_err(SessionError::io(&self.dir))
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
        files::private_dir(&self.dir)
            .and_then(|()| files::replace(&self.path(&digest), bytes, Replace::PRIVATE))
            .map_err(SessionError::io(&self.dir))?;
        Ok(digest)
    }

    /// `None` when it is not there or not what its name says.
    pub fn get(&self, wanted: &Digest) -> Result<Option<Arc<[u8]>>, SessionError> {
        let path = self.path(wanted);
        let mut bytes = Vec::new();
        let read = files::regular(&path)
            .and_then(|file| file.take(MAX_BLOB_BYTES as u64 + 1).read_to_end(&mut bytes));
        match read {
            Ok(_) if digest(&bytes) == *wanted => Ok(Some(bytes.into())),
            Ok(_) => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(SessionError::Io { path, source }),
        }
    }

    fn make_dir(&self) -> io::Result<()> {
        files::private_dir(&self.dir)
    }

    /// Where this content is, if it is there.
    pub(crate) fn path(&self, digest: &Digest) -> PathBuf {
        self.dir.join(digest.to_string())
    }

    /// What was put there by name is durable, if anything was.
    fn sync(&self) -> io::Result<()> {
        match files::sync_dir(&self.dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            synced => synced,
        }
    }

    pub(crate) fn sweep(&self) -> Result<(), SessionError> {
        files::sweep(&self.dir).map_err(SessionError::io(&self.dir))
    }
}

impl Blobs for Contents {
    fn bytes(&self, digest: &Digest) -> Option<Arc<[u8]>> {
        self.get(digest).ok().flatten()
    }
}

#[cfg(test)]
mod tests {
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
        contents.sweep().unwrap();
        let kept = contents.put(b"abc").unwrap();
        fs::write(dir.path().join("content/.tmp-0-half"), b"x").unwrap();
        contents.sweep().unwrap();
        assert_eq!(fs::read_dir(dir.path().join("content")).unwrap().count(), 1);
        assert!(contents.bytes(&kept).is_some());
    }
}
