//! What was typed before: a file that only its owner can read.
//!
//! reedline writes it (a line for each entry, `<\n>` for a line break, under a lock, so that several programs can share
//! it). Here it is made private and readable, bounded, and made harmless on its way to the screen: a file can hold
//! anything. An entry that begins with a space, or is very long, is not kept.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use reedline::{
    FileBackedHistory, History, HistoryItem, HistoryItemId, HistorySessionId, ReedlineError,
    ReedlineErrorVariants, Result, SearchQuery,
};

use crate::entry::{Typing, shown, written};
use crate::{Clean, Safe};

const MOST_ENTRIES: usize = 10_000;
const LONGEST: usize = 16 * 1024;
/// Of a file, the last so many bytes.
const MOST_BYTES: u64 = 16 * 1024 * 1024;

/// Shared, so that it outlives the editor that was interrupted while it read.
#[derive(Clone)]
pub(crate) struct Kept {
    inner: Arc<Mutex<FileBackedHistory>>,
    typing: Arc<Typing>,
    safe: Safe,
    clean: Clean,
}

impl Kept {
    /// With the file's entries, or without and the reason why.
    pub(crate) fn open(
        file: Option<&Path>,
        typing: Arc<Typing>,
        safe: Safe,
        clean: Clean,
    ) -> (Self, Option<String>) {
        let opened = file.map(|file| {
            prepare(file)?;
            FileBackedHistory::with_file(MOST_ENTRIES, file.to_owned()).map_err(io::Error::from)
        });
        let (history, note) = match opened {
            Some(Ok(history)) => (history, None),
            Some(Err(error)) => (empty(), Some(format!("the input history is not saved: {error}"))),
            None => (empty(), None),
        };
        (Self { inner: Arc::new(Mutex::new(history)), typing, safe, clean }, note)
    }

    /// It is kept as it was shown; but a file can hold anything.
    fn shown(&self, item: HistoryItem) -> HistoryItem {
        let command_line = shown(&written(&item.command_line), self.safe);
        self.typing.recalls(&command_line);
        HistoryItem { command_line, ..item }
    }
}

fn empty() -> FileBackedHistory {
    FileBackedHistory::new(MOST_ENTRIES).unwrap_or_default()
}

/// Creates the file, private, and repairs unreadable content: bytes that are not UTF-8, a torn last line, excessive
/// size.
fn prepare(path: &Path) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    }
    let known = std::fs::symlink_metadata(path).ok();
    if known.is_some_and(|known| !known.is_file()) {
        return Err(io::Error::other(format!("{} is not a regular file", path.display())));
    }
    let mut options = OpenOptions::new();
    let mut file = options.read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
    if file.metadata()?.permissions().mode() & 0o777 != 0o600 {
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    // Another process is writing and has repaired the file before.
    if file.try_lock().is_err() {
        return Ok(());
    }
    mend(&mut file)
}

fn mend(file: &mut File) -> io::Result<()> {
    let surplus = file.metadata()?.len().saturating_sub(MOST_BYTES);
    file.seek(SeekFrom::Start(surplus))?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes)?;
    if surplus > 0 {
        let cut = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1);
        bytes.drain(..cut);
    }
    let is_whole = bytes.is_empty() || bytes.ends_with(b"\n");
    if surplus == 0 && is_whole && std::str::from_utf8(&bytes).is_ok() {
        return Ok(());
    }
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    if !is_whole {
        text.push('\n');
    }
    file.rewind()?;
    file.write_all(text.as_bytes())?;
    file.set_len(text.len() as u64)
}

fn unkept(why: &'static str) -> ReedlineError {
    ReedlineError(ReedlineErrorVariants::OtherHistoryError(why))
}

impl History for Kept {
    fn save(&mut self, item: HistoryItem) -> Result<HistoryItem> {
        let joined = self.typing.joined(&item.command_line);
        let whole = self.typing.folds().unfolded(&joined, |paste| shown(paste, self.safe), str::to_owned);
        let command_line = (self.clean)(&whole);
        if command_line.len() > LONGEST {
            return Err(unkept("the entry is too long"));
        }
        self.inner.lock().save(HistoryItem { command_line, ..item })
    }

    fn load(&self, id: HistoryItemId) -> Result<HistoryItem> {
        self.inner.lock().load(id).map(|item| self.shown(item))
    }

    fn count(&self, query: SearchQuery) -> Result<i64> {
        self.inner.lock().count(query)
    }

    fn search(&self, query: SearchQuery) -> Result<Vec<HistoryItem>> {
        let found = self.inner.lock().search(query)?;
        Ok(found.into_iter().map(|item| self.shown(item)).collect())
    }

    fn update(&mut self, id: HistoryItemId, updater: &dyn Fn(HistoryItem) -> HistoryItem) -> Result<()> {
        self.inner.lock().update(id, updater)
    }

    fn clear(&mut self) -> Result<()> {
        self.inner.lock().clear()
    }

    fn delete(&mut self, id: HistoryItemId) -> Result<()> {
        self.inner.lock().delete(id)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.inner.lock().sync()
    }

    fn session(&self) -> Option<HistorySessionId> {
        self.inner.lock().session()
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use reedline::SearchDirection;

    use super::*;

    fn no_escapes(text: &str) -> Cow<'_, str> {
        Cow::Owned(text.replace('\x1b', "\\x1b"))
    }

    fn opened(path: &Path) -> (Kept, Option<String>) {
        Kept::open(
            Some(path),
            Arc::default(),
            no_escapes,
            Arc::new(|text| text.replace("sk-key", "[redacted]")),
        )
    }

    fn entries(kept: &Kept) -> Vec<String> {
        let query = SearchQuery::everything(SearchDirection::Forward, None);
        kept.search(query).unwrap().into_iter().map(|item| item.command_line).collect()
    }

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn entries_come_back_from_a_private_file() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("state").join("history");
        let (mut kept, note) = opened(&path);
        assert_eq!(note, None);
        for text in ["one", "two\nlines", "two\nlines"] {
            kept.save(HistoryItem::from_command_line(text)).unwrap();
        }
        let long = HistoryItem::from_command_line("x".repeat(LONGEST + 1));
        assert!(kept.save(long).is_err());
        kept.sync().unwrap();
        drop(kept);
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(path.parent().unwrap()), 0o700);
        assert_eq!(entries(&opened(&path).0), ["one", "two\nlines"]);
    }

    #[test]
    fn what_nobody_is_to_find_is_not_kept() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("history");
        let (mut kept, _) = opened(&path);
        kept.save(HistoryItem::from_command_line("my key is sk-key, ok?")).unwrap();
        kept.sync().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "my key is [redacted], ok?\n");
        assert_eq!(entries(&kept), ["my key is [redacted], ok?"]);
    }

    #[test]
    fn whatever_a_file_holds_is_mended_and_harmless() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("history");
        std::fs::write(&path, b"good\nred \x1b[31m\nbad \xff\ttab\ntorn").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        let (mut kept, note) = opened(&path);
        assert_eq!(note, None);
        assert_eq!(entries(&kept), ["good", "red \\\u{fe01}x1b[31m", "bad \u{fffd}␉tab", "torn"]);
        assert_eq!(mode(&path), 0o600);
        kept.save(HistoryItem::from_command_line("next")).unwrap();
        kept.sync().unwrap();
        assert_eq!(entries(&opened(&path).0).last().map(String::as_str), Some("next"));
    }

    #[test]
    fn an_entry_comes_back_as_it_was_shown() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("history");
        let (mut kept, _) = opened(&path);
        let line = shown("a\x1b ␉\t\\\u{fe01}u{40}", no_escapes);
        kept.save(HistoryItem::from_command_line(&line)).unwrap();
        kept.sync().unwrap();
        assert_eq!(entries(&opened(&path).0), [line]);
    }

    #[test]
    fn folded_pastes_are_kept_whole() {
        let home = tempfile::tempdir().unwrap();
        let (mut kept, _) = opened(&home.path().join("history"));
        let pasted = "one \x1b\tline\n".repeat(20);
        let mark = kept.typing.folded(&shown(&pasted, no_escapes)).unwrap();
        kept.save(HistoryItem::from_command_line(format!("see {mark}"))).unwrap();
        assert_eq!(entries(&kept), [shown(&format!("see {pasted}"), no_escapes)]);
    }

    #[test]
    fn what_is_recalled_counts_as_a_paste() {
        let home = tempfile::tempdir().unwrap();
        let (mut kept, _) = opened(&home.path().join("history"));
        for text in ["one @a", "two\n@b"] {
            kept.save(HistoryItem::from_command_line(text)).unwrap();
        }
        let typing = Arc::clone(&kept.typing);
        typing.hints(|| entries(&kept));
        assert!(typing.pastes().is_empty());
        entries(&kept);
        assert_eq!(typing.pastes(), ["two\n@b"]);
    }

    #[test]
    fn a_large_file_is_cut_at_its_start() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("history");
        let line = format!("{}\n", "y".repeat(9_999));
        std::fs::write(&path, line.repeat(2_000)).unwrap();
        let (kept, note) = opened(&path);
        assert_eq!(note, None);
        assert!(std::fs::metadata(&path).unwrap().len() <= MOST_BYTES);
        assert!(entries(&kept).iter().all(|entry| entry.len() == 9_999));
    }

    #[test]
    fn what_is_no_file_is_said_and_left_alone() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("history");
        std::fs::create_dir(&path).unwrap();
        let (mut kept, note) = opened(&path);
        assert!(note.is_some_and(|note| note.contains("not a regular file")));
        kept.save(HistoryItem::from_command_line("remembered")).unwrap();
        assert_eq!(entries(&kept), ["remembered"]);
    }
}
