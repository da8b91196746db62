//! Pictures of an entry: each appears in the line as a mark, such as `[picture 1: chart.png]`, and is attached to the message
//! that has its mark.

use std::path::PathBuf;
use std::sync::Arc;

use converse_editor::{Inserted, is_reserved};
use converse_host::attach::{MOST_TOGETHER, Picture, picture_type};
use converse_session::digest;
use converse_text::is_unsafe;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::dropped;

/// Pictures that are remembered, so that a mark in an earlier entry counts when that comes again.
const MOST: usize = 200;
const NAME_CHARS: usize = 40;
const BEGINS: &str = "[picture ";

/// The pictures of this run. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pictures {
    known: Arc<Mutex<KnownPictures>>,
    /// Somebody wants the picture of the clipboard.
    asked: Arc<Notify>,
    pub(super) inserted: Inserted,
    home: Option<PathBuf>,
}

#[derive(Debug, Default)]
struct KnownPictures {
    count: usize,
    /// With its mark, the oldest first.
    pictures: Vec<(String, Picture)>,
}

/// The pictures of an entry, and the marks in it that have none.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct OfEntry {
    pub(super) pictures: Vec<Picture>,
    pub(super) unknown: Vec<String>,
}

impl Pictures {
    pub(super) fn new(home: Option<PathBuf>) -> Self {
        Self { home, ..Self::default() }
    }

    /// Returns the marks that replace a paste of nothing but paths of pictures.
    pub(super) fn pasted(&self, paste: &str) -> Option<String> {
        let paths = dropped::pictures(paste, self.home.as_deref())?;
        let marks: Vec<String> = paths
            .into_iter()
            .map(|path| {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                self.mark(&name, Picture::File(path))
            })
            .collect();
        // Many terminals put a space behind a path.
        let space = if paste.ends_with(' ') { " " } else { "" };
        Some(marks.join(" ") + space)
    }

    /// Returns the mark of a picture of the clipboard. The name has a part of its digest, so that a mark in an earlier entry
    /// is not taken for this one.
    pub(super) fn of_clipboard(&self, bytes: Vec<u8>) -> (String, Picture) {
        let ending = picture_type(&bytes).and_then(|mime| mime.split('/').nth(1)).unwrap_or("png");
        let digest: String = digest(&bytes).to_string().chars().take(4).collect();
        let name = format!("clipboard-{digest}.{ending}");
        let picture = Picture::Bytes { name: name.clone(), bytes: bytes.into() };
        (self.mark(&name, picture.clone()), picture)
    }

    fn mark(&self, name: &str, picture: Picture) -> String {
        let mut known = self.known.lock();
        if let Some((mark, _)) = known.pictures.iter().find(|(_, one)| *one == picture) {
            return mark.clone();
        }
        known.count += 1;
        let acts = |c: char| is_unsafe(c) || is_reserved(c) || c.is_control() || "[]@\"`".contains(c);
        let name: String = name.chars().filter(|c| !acts(*c)).take(NAME_CHARS).collect();
        let mark = format!("{BEGINS}{}: {name}]", known.count);
        known.pictures.push((mark.clone(), picture));
        known.forget_oldest();
        mark
    }

    /// Returns where the marks of pictures are in a line, in bytes.
    pub(super) fn marks(&self, line: &str) -> Vec<(usize, usize)> {
        let known = self.known.lock();
        marks(line)
            .filter(|mark| known.of(mark.1).is_some())
            .map(|(from, mark)| (from, from + mark.len()))
            .collect()
    }

    /// Returns the pictures whose marks are in an entry, each once.
    pub(super) fn of(&self, entry: &str) -> OfEntry {
        let known = self.known.lock();
        let mut of_entry = OfEntry::default();
        for (_, mark) in marks(entry) {
            match known.of(mark) {
                Some(picture) if of_entry.pictures.contains(picture) => {}
                Some(picture) => of_entry.pictures.push(picture.clone()),
                None => of_entry.unknown.push(mark.to_owned()),
            }
        }
        of_entry
    }

    /// Ctrl-V was pressed.
    pub(super) fn ask(&self) {
        self.asked.notify_one();
    }

    /// Waits for Ctrl-V.
    pub(super) async fn asked(&self) {
        self.asked.notified().await;
    }
}

impl KnownPictures {
    fn of(&self, mark: &str) -> Option<&Picture> {
        self.pictures.iter().find(|(known, _)| known == mark).map(|(_, picture)| picture)
    }

    fn forget_oldest(&mut self) {
        let bytes = |pictures: &[(String, Picture)]| -> usize {
            let sizes = pictures.iter().map(|(_, picture)| match picture {
                Picture::File(_) => 0,
                Picture::Bytes { bytes, .. } => bytes.len(),
            });
            sizes.sum()
        };
        while self.pictures.len() > MOST || (self.pictures.len() > 1 && bytes(&self.pictures) > MOST_TOGETHER)
        {
            self.pictures.remove(0);
        }
    }
}

/// Returns what looks like a mark, with the byte that it begins at.
fn marks(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.match_indices(BEGINS).filter_map(|(from, _)| {
        let mark = text.get(from..)?.split_inclusive([']', '\n']).next()?.strip_suffix(']')?;
        let (number, name) = mark.get(BEGINS.len()..)?.split_once(": ")?;
        let is_mark =
            !name.is_empty() && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        is_mark.then(|| text.get(from..=from + mark.len()).map(|mark| (from, mark)))?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(picture: &Picture) -> &[u8] {
        match picture {
            Picture::Bytes { bytes, .. } => bytes,
            Picture::File(_) => &[],
        }
    }

    #[test]
    fn a_picture_is_attached_by_its_mark() {
        let pictures = Pictures::default();
        let (one, _) = pictures.of_clipboard(b"GIF89a one".to_vec());
        let (two, _) = pictures.of_clipboard(b"GIF89a two".to_vec());
        assert!(one.starts_with("[picture 1: clipboard-") && one.ends_with(".gif]"), "{one}");
        assert_eq!(pictures.of_clipboard(b"GIF89a one".to_vec()).0, one, "the same again");
        let entry = format!("é {two} and {one}, {two}");
        let found = pictures.of(&entry);
        let contents: Vec<&[u8]> = found.pictures.iter().map(bytes).collect();
        assert_eq!((contents, found.unknown.len()), (vec![&b"GIF89a two"[..], b"GIF89a one"], 0));
        assert_eq!(pictures.marks(&entry).first(), Some(&(3, 3 + two.len())));
        for (entry, unknown) in [
            (one.trim_end_matches(']').to_owned(), vec![]),
            (one.replace('1', "3"), vec![one.replace('1', "3")]),
            ("[picture 1: other.png]".to_owned(), vec!["[picture 1: other.png]".to_owned()]),
            ("[picture x: a] [picture 1] [picture 1: ] [picture 1:\n]".to_owned(), vec![]),
        ] {
            assert_eq!(pictures.of(&entry), OfEntry { pictures: Vec::new(), unknown }, "{entry}");
        }
    }

    #[test]
    fn a_mark_has_no_character_that_acts() {
        let pictures = Pictures::default();
        let mark = |name: &str| pictures.mark(name, Picture::File(name.into()));
        assert_eq!(mark("a\u{1b}[2J\u{202e}]@b\n`\".png"), "[picture 1: a2Jb.png]");
        assert_eq!(mark(&"x".repeat(300)).len(), "[picture 2: ]".len() + NAME_CHARS);
    }

    #[test]
    fn what_is_remembered_has_a_bound() {
        let pictures = Pictures::default();
        let large = |first: u8| [&[first][..], &vec![0; MOST_TOGETHER / 2]].concat();
        let marks: Vec<String> = (0..3).map(|first| pictures.of_clipboard(large(first)).0).collect();
        assert_eq!(pictures.of(&marks.concat()).unknown, marks[..2]);
        for number in 0..=MOST {
            pictures.mark("a.png", Picture::File(number.to_string().into()));
        }
        assert_eq!(pictures.known.lock().pictures.len(), MOST);
    }

    #[test]
    fn dropped_files_stand_in_the_line_by_name() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["one.gif", "my picture.gif"] {
            std::fs::write(dir.path().join(name), b"GIF89a....").unwrap();
        }
        let pictures = Pictures::new(Some(dir.path().to_owned()));
        let at = dir.path().display();
        assert_eq!(
            pictures.pasted(&format!("'{at}/my picture.gif' {at}/one.gif ")).as_deref(),
            Some("[picture 1: my picture.gif] [picture 2: one.gif] ")
        );
        assert_eq!(pictures.pasted("~/one.gif").as_deref(), Some("[picture 2: one.gif]"));
        assert_eq!(pictures.pasted("one.gif"), None);
        let picture = Picture::File(dir.path().join("one.gif"));
        assert_eq!(pictures.of("[picture 2: one.gif]").pictures, [picture]);
    }
}
