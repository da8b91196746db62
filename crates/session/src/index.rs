//! The search index of a session: the words of its messages, in a file next to the journal.
//!
//! The index is derived from the journal. If it is missing, outdated or damaged, it is rebuilt; if it cannot be written,
//! it is built for one search. It is replaced atomically, without a lock or sync; checksums detect the effects of a
//! power cut, and words that were changed.
//!
//! The file `index`, version 2, numbers little-endian:
//! ```text
//! 8   "cvindex" and the version, 2
//! 8   bytes of the journal that it was made from, and
//! 8   the time of its last write, nanoseconds since 1970: another journal needs another index
//! 4   messages
//! 4   CRC-32 of the two parts that follow
//! 8   bytes of one part of words
//! 21  for each message: time (milliseconds since 1970, 8), end of its words in each part (8), its speaker (1), CRC-32 of
//!     its words as written (4)
//! …   the words in lower case, each message's followed by a zero byte: searched
//! …   the words as written, at the same positions: shown
//! ```
//! Both parts have the same positions, because a letter whose lower case has another length is not converted.

use std::io::{self, Cursor, Read};
use std::ops::Range;

use converse_canister::{Canister, Content};

use crate::storage::{JournalState, Listed, SessionStorage, StoredFile};
use crate::{Loaded, SessionError, journal};

pub(crate) const FILE: &str = "index";
const MAGIC: &[u8; 8] = b"cvindex\x02";
const HEAD: usize = 40;
const RECORD: usize = 21;

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Who {
    User,
    Assistant,
    /// A call with its arguments.
    Invocation,
    Result,
    /// System prompts, which are not searched.
    Supervisor,
}

impl Who {
    const ALL: [Self; 5] = [Self::User, Self::Assistant, Self::Invocation, Self::Result, Self::Supervisor];

    /// Returns the name in the results of a search.
    pub fn label(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Invocation => "tool",
            Self::Result => "result",
            Self::Supervisor => "system",
        }
    }

    fn of(canister: &Canister) -> Self {
        match canister {
            Canister::User(_) | Canister::Document(_) => Self::User,
            Canister::Assistant(_) => Self::Assistant,
            Canister::Invocation(_) => Self::Invocation,
            Canister::Result(_) => Self::Result,
            Canister::Supervisor(_) => Self::Supervisor,
        }
    }
}

/// The index entry of one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) at: i64,
    /// End of its words, including the zero byte.
    pub(crate) end: usize,
    pub(crate) who: Who,
    /// CRC-32 of its words as written, without the zero byte.
    sum: u32,
}

#[derive(Debug)]
pub(crate) struct Index {
    pub(crate) records: Vec<Record>,
    /// In lower case.
    pub(crate) folded: Vec<u8>,
    written: Written,
}

/// The words as written.
#[derive(Debug)]
enum Written {
    Here(Vec<u8>),
    /// In the file, from this offset.
    There(Box<dyn StoredFile>, u64),
}

/// Identifies the journal that an index was made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    length: u64,
    modified: i64,
}

impl Index {
    /// Returns the stored index if it belongs to this journal, or builds and stores a new one.
    pub(crate) fn of(at: &dyn SessionStorage) -> Result<Self, SessionError> {
        let stamp = Stamp::of(at)?;
        if let Some(kept) = at.open(FILE).ok().and_then(|file| read(file, stamp)) {
            return Ok(kept);
        }
        Self::stored(at, stamp)
    }

    /// Returns the stored index of a session in a list; `None` if it must be read or built.
    pub(crate) fn of_listed(one: Listed) -> Option<Self> {
        read(Box::new(Held(Cursor::new(one.document.ok()??))), Stamp::new(&one.journal?))
    }

    /// Builds and stores a new index, because the stored one was changed.
    pub(crate) fn rebuilt(at: &dyn SessionStorage) -> Result<Self, SessionError> {
        Self::stored(at, Stamp::of(at)?)
    }

    fn stored(at: &dyn SessionStorage, stamp: Stamp) -> Result<Self, SessionError> {
        // If the journal grows meanwhile, the stamp no longer matches and the next search rebuilds the index.
        let index = Self::made(&journal::read(at)?);
        let _ = index.keep(at, stamp);
        Ok(index)
    }

    fn made(loaded: &Loaded) -> Self {
        let (mut records, mut folded, mut written) = (Vec::new(), Vec::new(), Vec::new());
        let mut at = loaded.header.created;
        for (number, canister) in loaded.transcript.as_slice().iter().enumerate() {
            at = loaded.places.get(number).map_or(at, |place| place.at);
            let words = words(canister);
            folded.extend_from_slice(fold(&words).as_bytes());
            written.extend_from_slice(words.as_bytes());
            folded.push(0);
            written.push(0);
            let (end, who, sum) = (folded.len(), Who::of(canister), crc32fast::hash(words.as_bytes()));
            records.push(Record { at: at.as_millisecond(), end, who, sum });
        }
        Self { records, folded, written: Written::Here(written) }
    }

    fn keep(&self, at: &dyn SessionStorage, stamp: Stamp) -> io::Result<()> {
        let Written::Here(written) = &self.written else { return Ok(()) };
        let mut parts = Vec::with_capacity(self.records.len() * RECORD + self.folded.len());
        for Record { at, end, who, sum } in &self.records {
            parts.extend_from_slice(&at.to_le_bytes());
            parts.extend_from_slice(&(*end as u64).to_le_bytes());
            parts.push(Who::ALL.iter().position(|one| one == who).unwrap_or_default() as u8);
            parts.extend_from_slice(&sum.to_le_bytes());
        }
        parts.extend_from_slice(&self.folded);
        let mut bytes = Vec::with_capacity(HEAD + parts.len() + written.len());
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&stamp.length.to_le_bytes());
        bytes.extend_from_slice(&stamp.modified.to_le_bytes());
        bytes.extend_from_slice(&u32::try_from(self.records.len()).unwrap_or(u32::MAX).to_le_bytes());
        bytes.extend_from_slice(&crc32fast::hash(&parts).to_le_bytes());
        bytes.extend_from_slice(&(self.folded.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&parts);
        bytes.extend_from_slice(written);
        at.put_derived(FILE, &bytes)
    }

    /// Returns the range of a message's words, without the zero byte.
    pub(crate) fn span(&self, record: usize) -> Option<Range<usize>> {
        let start = match record.checked_sub(1) {
            Some(before) => self.records.get(before)?.end,
            None => 0,
        };
        Some(start..self.records.get(record)?.end.checked_sub(1)?)
    }

    /// Returns the words of a message as written; `None` if they were changed or cannot be read.
    pub(crate) fn words(&self, record: usize) -> Option<String> {
        let range = self.span(record)?;
        let bytes = match &self.written {
            Written::Here(written) => written.get(range)?.to_vec(),
            Written::There(file, from) => {
                let mut bytes = vec![0; range.len()];
                file.read_exact_at(&mut bytes, from + range.start as u64).ok()?;
                bytes
            }
        };
        let holds = self.records.get(record)?.sum == crc32fast::hash(&bytes);
        String::from_utf8(bytes).ok().filter(|_| holds)
    }
}

impl Stamp {
    fn of(at: &dyn SessionStorage) -> Result<Self, SessionError> {
        let journal = at.journal().map_err(SessionError::io(&at.path(journal::FILE)))?;
        Ok(Self::new(&journal))
    }

    fn new(journal: &JournalState) -> Self {
        let modified = journal.updated().map_or(0, |updated| updated.as_nanosecond());
        Self { length: journal.length, modified: i64::try_from(modified).unwrap_or(i64::MAX) }
    }
}

/// An index that was read with those of other sessions.
#[derive(Debug)]
struct Held(Cursor<Vec<u8>>);

impl Read for Held {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl StoredFile for Held {
    fn length(&self) -> io::Result<u64> {
        Ok(self.0.get_ref().len() as u64)
    }

    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        let mut rest = Cursor::new(self.0.get_ref());
        rest.set_position(offset);
        rest.read_exact(bytes)
    }
}

/// Reads a stored index; `None` if anything is wrong.
fn read(mut file: Box<dyn StoredFile>, stamp: Stamp) -> Option<Index> {
    let length = file.length().ok()?;
    let mut head = [0; HEAD];
    file.read_exact(&mut head).ok()?;
    let number = |from: usize| Some(u64::from_le_bytes(head.get(from..from + 8)?.try_into().ok()?));
    let short = |from: usize| Some(u32::from_le_bytes(head.get(from..from + 4)?.try_into().ok()?));
    if head.get(..8)? != MAGIC || number(8)? != stamp.length || number(16)? != stamp.modified as u64 {
        return None;
    }
    let (messages, sum, words) = (u64::from(short(24)?), short(28)?, number(32)?);
    let searched = messages.checked_mul(RECORD as u64)?.checked_add(words)?;
    // Check the lengths against the file before allocating.
    if searched.checked_add(words)?.checked_add(HEAD as u64)? != length {
        return None;
    }
    let mut parts = Vec::with_capacity(usize::try_from(searched).ok()?);
    (&mut file).take(searched).read_to_end(&mut parts).ok()?;
    if parts.len() as u64 != searched || crc32fast::hash(&parts) != sum {
        return None;
    }
    let folded = parts.split_off(usize::try_from(messages).ok()? * RECORD);
    let records = parts.chunks_exact(RECORD).map(record).collect::<Option<Vec<_>>>()?;
    Some(Index { records, folded, written: Written::There(file, HEAD as u64 + searched) })
}

fn record(bytes: &[u8]) -> Option<Record> {
    let at = i64::from_le_bytes(bytes.get(..8)?.try_into().ok()?);
    let end = u64::from_le_bytes(bytes.get(8..16)?.try_into().ok()?);
    let who = *Who::ALL.get(usize::from(*bytes.get(16)?))?;
    let sum = u32::from_le_bytes(bytes.get(17..21)?.try_into().ok()?);
    Some(Record { at, end: usize::try_from(end).ok()?, who, sum })
}

/// Returns the searched text of a message.
fn words(canister: &Canister) -> String {
    match canister {
        Canister::User(user) => joined(&user.content),
        Canister::Document(document) => format!("{}\n{}", document.name, joined(&document.content)),
        Canister::Assistant(assistant) => joined(&assistant.content),
        Canister::Invocation(invocation) => format!("{} {}", invocation.tool, invocation.arguments.raw),
        Canister::Result(result) => joined(&result.content),
        Canister::Supervisor(_) => String::new(),
    }
}

fn joined(content: &[Content]) -> String {
    let pieces = content.iter().filter_map(|piece| match piece {
        Content::Text { text, .. } => Some(text.clone()),
        Content::Blob { name, .. } => name.clone(),
        Content::Resource { uri, .. } => Some(uri.clone()),
        Content::Structured { value } => Some(value.to_string()),
        Content::Reasoning { .. } => None,
    });
    pieces.collect::<Vec<_>>().join("\n")
}

/// Converts to lower case without moving letters: a letter whose lower case has another length is not converted.
pub(crate) fn fold(text: &str) -> String {
    if text.is_ascii() { text.to_ascii_lowercase() } else { text.chars().map(small).collect() }
}

fn small(c: char) -> char {
    // The final form of the same letter.
    if c == 'ς' {
        return 'σ';
    }
    let mut small = c.to_lowercase();
    match (small.next(), small.next()) {
        (Some(one), None) if one.len_utf8() == c.len_utf8() => one,
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_letters_stand_where_the_large_ones_stood() {
        for (text, folded) in [
            ("Ab1", "ab1"),
            ("ÄÖÜ ПРИВЕТ", "äöü привет"),
            // Longer, shorter and shorter when small.
            ("İSTANBUL", "İstanbul"),
            ("ẞ \u{212a}", "ẞ \u{212a}"),
            ("日本語👩‍👧", "日本語👩‍👧"),
            ("ΟΔΟΣ οδος", "οδοσ οδοσ"),
        ] {
            assert_eq!(fold(text), folded);
            let places = |text: &str| text.char_indices().map(|(at, _)| at).collect::<Vec<_>>();
            assert_eq!(places(text), places(folded));
        }
    }
}
