//! Files that a client sends before the message they belong to. They are kept in memory for an hour.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use converse_canister::Content;
use converse_session::digest;
use parking_lot::Mutex;

use crate::access::Principal;

/// Bytes of one file, and of all files of one principal.
pub(in crate::front) const MAX_FILE: usize = 20 * 1024 * 1024;
const MAX_OF_PRINCIPAL: usize = 100 * 1024 * 1024;
const KEPT: Duration = Duration::from_secs(3600);

/// The files of all principals.
#[derive(Debug, Default)]
pub(in crate::front) struct Uploads(Mutex<HashMap<Principal, Vec<Upload>>>);

#[derive(Debug)]
struct Upload {
    id: String,
    at: Instant,
    part: Content,
    bytes: Arc<[u8]>,
}

impl Uploads {
    /// Returns false if the principal has no room.
    pub(super) fn put(
        &self,
        principal: &Principal,
        id: String,
        name: String,
        mime: String,
        bytes: &[u8],
    ) -> bool {
        let mut all = self.0.lock();
        all.values_mut().for_each(|files| files.retain(|file| file.at.elapsed() < KEPT));
        let files = all.entry(principal.clone()).or_default();
        let kept: usize = files.iter().map(|file| file.bytes.len()).sum();
        if kept + bytes.len() > MAX_OF_PRINCIPAL {
            return false;
        }
        let part = match std::str::from_utf8(bytes) {
            // A text is read by every model.
            Ok(text) if mime.starts_with("text/") || mime == "application/json" => {
                Content::text(format!("{name}:\n\n{text}"))
            }
            _ => Content::Blob { mime, digest: digest(bytes), name: Some(name), seal: None },
        };
        files.push(Upload { id, at: Instant::now(), part, bytes: bytes.into() });
        true
    }

    /// Returns the part of a message for a file, and its bytes. A file is used once.
    pub(super) fn take(&self, principal: &Principal, id: &str) -> Option<(Content, Arc<[u8]>)> {
        let mut all = self.0.lock();
        let files = all.get_mut(principal)?;
        let at = files.iter().position(|file| file.id == id)?;
        let Upload { part, bytes, .. } = files.remove(at);
        Some((part, bytes))
    }
}
