//! Files that a client sends before the message they belong to. They are kept in memory for an hour.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use converse_canister::Content;
use converse_gateway::Principal;
use converse_session::digest;
use parking_lot::Mutex;

use crate::shares::{Share, Shares};

/// Bytes of one file, of all files of one principal, and of all files.
pub(in crate::front) const MAX_FILE: usize = 20 * 1024 * 1024;
const MAX_OF_PRINCIPAL: usize = 100 * 1024 * 1024;
const MAX_OF_ALL: usize = 400 * 1024 * 1024;
/// Files of one principal.
const MAX_FILES: usize = 100;
/// Bytes that a file takes beside its own: its entry, name and media type.
const ENTRY: usize = 1024;
/// Characters of a name and of a media type.
const MAX_NAME: usize = 128;
const KEPT: Duration = Duration::from_secs(3600);

/// The files of all principals.
#[derive(Debug)]
pub(in crate::front) struct Uploads {
    files: Mutex<HashMap<Principal, Vec<Upload>>>,
    bytes: Arc<Shares>,
}

#[derive(Debug)]
struct Upload {
    id: String,
    at: Instant,
    part: Content,
    /// What the part refers to; nothing for a text.
    bytes: Option<Arc<[u8]>>,
    #[allow(dead_code, reason = "given back when the file is dropped")]
    share: Share,
}

impl Default for Uploads {
    fn default() -> Self {
        Self { files: Mutex::default(), bytes: Shares::new(MAX_OF_PRINCIPAL, MAX_OF_ALL) }
    }
}

/// Returns the name of a file as it is kept.
pub(super) fn kept_name(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(MAX_NAME).collect()
}

/// Returns the media type of a `Content-Type` without its parameters; `None` if it is not one.
pub(super) fn media_type(declared: &str) -> Option<&str> {
    let kind = declared.split(';').next().unwrap_or_default().trim();
    let (top, sub) = kind.split_once('/')?;
    let is_token = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
    };
    (is_token(top) && is_token(sub) && kind.len() <= MAX_NAME).then_some(kind)
}

impl Uploads {
    /// Returns false if there is no room.
    pub(super) fn put(
        &self,
        principal: &Principal,
        id: String,
        name: String,
        mime: String,
        bytes: &[u8],
    ) -> bool {
        let mut all = self.files.lock();
        all.retain(|_, files| {
            files.retain(Upload::is_kept);
            !files.is_empty()
        });
        if bytes.len() > MAX_FILE || all.get(principal).is_some_and(|files| files.len() >= MAX_FILES) {
            return false;
        }
        let Some(share) = self.bytes.take(principal, bytes.len() + ENTRY) else { return false };
        let (part, bytes) = match std::str::from_utf8(bytes) {
            // A text is read by every model.
            Ok(text) if mime.starts_with("text/") || mime == "application/json" => {
                (Content::text(format!("{name}:\n\n{text}")), None)
            }
            _ => (
                Content::Blob { mime, digest: digest(bytes), name: Some(name), seal: None },
                Some(bytes.into()),
            ),
        };
        all.entry(principal.clone()).or_default().push(Upload { id, at: Instant::now(), part, bytes, share });
        true
    }

    /// Returns the part of a message for a file, and the bytes that it refers to. A file is used once.
    pub(super) fn take(&self, principal: &Principal, id: &str) -> Option<(Content, Option<Arc<[u8]>>)> {
        let mut all = self.files.lock();
        let files = all.get_mut(principal)?;
        let at = files.iter().position(|file| file.id == id && file.is_kept())?;
        let Upload { part, bytes, .. } = files.remove(at);
        Some((part, bytes))
    }
}

impl Upload {
    fn is_kept(&self) -> bool {
        self.at.elapsed() < KEPT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(uploads: &Uploads, principal: &Principal, id: usize, bytes: &[u8]) -> bool {
        uploads.put(principal, id.to_string(), "a".to_owned(), "image/png".to_owned(), bytes)
    }

    #[test]
    fn files_are_bounded_in_number_and_size_for_each_and_for_all() {
        let uploads = Uploads::default();
        let empty = (0..=MAX_FILES).take_while(|id| put(&uploads, &Principal::Owner, *id, b"")).count();
        assert_eq!(empty, MAX_FILES);
        assert!(uploads.take(&Principal::Owner, "0").is_some() && put(&uploads, &Principal::Owner, 0, b""));

        let (large, uploads) = (vec![0; MAX_FILE], Uploads::default());
        assert!(!put(&uploads, &Principal::Owner, 0, &[&large[..], b"x"].concat()));
        let fit =
            |principal: &Principal| (0..9).take_while(|id| put(&uploads, principal, *id, &large)).count();
        let others = (0..7).map(|name| Principal::Other(name.to_string().into()));
        let kept: Vec<usize> = others.map(|principal| fit(&principal)).collect();
        assert_eq!(kept, [4, 4, 4, 4, 3, 0, 0]);
    }

    #[test]
    fn a_name_and_a_media_type_are_short() {
        assert_eq!(kept_name(&"a\n".repeat(1000)), "a".repeat(MAX_NAME));
        assert_eq!(media_type("image/svg+xml; charset=utf-8"), Some("image/svg+xml"));
        for wrong in
            ["", "image", "image/", "/png", "a/b/c", "a b/c", "a/\u{e9}", &format!("a/{}", "b".repeat(200))]
        {
            assert_eq!(media_type(wrong), None, "{wrong}");
        }
    }
}
