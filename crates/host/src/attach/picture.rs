//! Pictures that a user attaches without naming a file: dropped into the terminal, or taken from the clipboard.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use converse_canister::media;
use converse_session::files::open_regular;

use super::{Attachment, Handed, UserInput, from_file};
use crate::failure::Failure;
use crate::world::World;

const EXTENSIONS: [&str; 5] = ["png", "jpg", "jpeg", "gif", "webp"];
const TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
/// First bytes of a file, enough to determine its type.
const HEAD: u64 = 16;

/// A picture to attach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Picture {
    /// An absolute path. The file is read when it is attached.
    File(PathBuf),
    Bytes {
        name: String,
        bytes: Arc<[u8]>,
    },
}

/// Returns the media type of a PNG, JPEG, GIF or WebP picture by its first bytes.
pub fn picture_type(bytes: &[u8]) -> Option<&'static str> {
    media::magic(bytes).filter(|mime| TYPES.contains(mime))
}

/// Returns whether there is a regular file of a picture, by its name and its first bytes. Opens no pipe and no device.
pub fn is_picture_file(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase);
    let head = || {
        let mut head = Vec::new();
        open_regular(&path.canonicalize()?)?.take(HEAD).read_to_end(&mut head)?;
        std::io::Result::Ok(head)
    };
    ending.is_some_and(|ending| EXTENSIONS.contains(&ending.as_str()))
        && head().is_ok_and(|head| picture_type(&head).is_some())
}

impl UserInput {
    /// The same with these pictures behind what is handed over.
    ///
    /// # Errors
    ///
    /// A file cannot be read any more, or all of it exceeds a limit of attachments.
    pub fn with_pictures(mut self, pictures: &[Picture], world: &World) -> Result<Self, Failure> {
        for picture in pictures {
            let attachment = match picture {
                Picture::File(path) => from_file(&path.to_string_lossy(), world)?,
                Picture::Bytes { name, bytes } => Attachment::of(name.clone(), bytes.to_vec(), name)?,
            };
            let is_there = |one: &Attachment| one.file.is_some() && one.file == attachment.file;
            if !self.attachments().any(is_there) {
                self.handed.push(Handed::Here(attachment));
            }
            self.is_light()?;
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_told_by_its_name_and_its_first_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        for (name, bytes, is_picture) in [
            ("a.png", &b"\x89PNG\r\n\x1a\n...."[..], true),
            ("a.JPG", b"\xff\xd8\xff\xe0....", true),
            ("a.gif", b"GIF89a....", true),
            ("a.webp", b"RIFF....WEBPVP8 ", true),
            // Another one of these types is still a picture.
            ("b.png", b"GIF87a....", true),
            ("c.png", b"\x89PNG", false),
            ("c.webp", b"RIFF....WAVEfmt ", false),
            ("d.png", b"%PDF-1.7", false),
            ("e.png", b"", false),
            ("a.txt", b"\x89PNG\r\n\x1a\n....", false),
            ("png", b"\x89PNG\r\n\x1a\n....", false),
        ] {
            std::fs::write(path(name), bytes).unwrap();
            assert_eq!(is_picture_file(&path(name)), is_picture, "{name}");
        }
        std::os::unix::fs::symlink("a.png", path("link.png")).unwrap();
        assert!(is_picture_file(&path("link.png")));
        assert!(!is_picture_file(&path("none.png")));
    }

    #[test]
    fn what_is_no_file_is_no_picture_and_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("dir.png")).unwrap();
        let pipe = dir.path().join("pipe.png");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        std::os::unix::fs::symlink("/dev/zero", dir.path().join("zero.png")).unwrap();
        for name in ["dir.png", "pipe.png", "zero.png"] {
            assert!(!is_picture_file(&dir.path().join(name)), "{name}");
        }
    }
}
