//! Searches for words in the messages of all sessions, using [`crate::index`].

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use jiff::Timestamp;
use memchr::memmem::Finder;
use uuid::Uuid;

use crate::index::{Index, Who, fold};
use crate::{Clean, SessionError, Store};

/// Number of threads. More do not help, because searching is limited by memory.
const THREADS: usize = 2;
/// Bytes shown before and after the first match.
const BEFORE: usize = 60;
const AFTER: usize = 140;

/// Which messages to search.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Within {
    #[default]
    All,
    User,
    Assistant,
    /// Calls and their results.
    Tools,
}

impl Within {
    fn has(self, who: Who) -> bool {
        match self {
            Self::All => who != Who::Supervisor,
            Self::User => who == Who::User,
            Self::Assistant => who == Who::Assistant,
            Self::Tools => matches!(who, Who::Invocation | Who::Result),
        }
    }
}

/// A query: all words must be in one message, in any case.
#[derive(Debug, Clone)]
pub struct Query {
    /// The longest first, which is probably the rarest.
    words: Vec<Finder<'static>>,
    within: Within,
}

impl Query {
    /// Returns `None` without words. A word may contain blanks.
    pub fn new<'w>(words: impl IntoIterator<Item = &'w str>, within: Within) -> Option<Self> {
        let mut words: Vec<String> = words.into_iter().filter(|word| !word.is_empty()).map(fold).collect();
        words.sort_by_key(|word| std::cmp::Reverse(word.len()));
        words.dedup();
        let words: Vec<_> = words.iter().map(|word| Finder::new(word).into_owned()).collect();
        (!words.is_empty()).then_some(Self { words, within })
    }
}

/// A matching message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    pub session: Uuid,
    /// Number of the message in the conversation, from 1.
    pub number: usize,
    pub at: Timestamp,
    pub who: Who,
    /// The text around the first match, in one line.
    pub snippet: String,
    /// The byte ranges of the matches in the snippet.
    pub marks: Vec<Range<usize>>,
}

/// The results of a search.
#[derive(Debug, Default)]
pub struct SearchResults {
    /// The latest first, up to the limit.
    pub hits: Vec<Hit>,
    /// Number of all matching messages.
    pub total: usize,
    /// Sessions that could not be read.
    pub unread: Vec<(Uuid, SessionError)>,
}

impl Store {
    /// Searches all sessions and returns at most `limit` messages. Secrets are removed before snippets are cut, because a
    /// part of a secret would not be recognised.
    pub fn search(&self, query: &Query, limit: usize) -> Result<SearchResults, SessionError> {
        if let Some(found) = self.search_in_pages(query, limit)? {
            return Ok(found);
        }
        let mut ids = self.ids()?;
        // The newest first, because older sessions rarely have later messages.
        ids.reverse();
        let next = AtomicUsize::new(0);
        let work = || {
            let mut found = SearchResults::default();
            while let Some(id) = ids.get(next.fetch_add(1, Ordering::Relaxed)) {
                self.look(*id, query, limit, &mut found);
            }
            found
        };
        let mut found = std::thread::scope(|scope| {
            let helpers: Vec<_> = (1..THREADS).map(|_| scope.spawn(work)).collect();
            let mut found = work();
            for helped in helpers.into_iter().filter_map(|helper| helper.join().ok()) {
                found.hits.extend(helped.hits);
                found.unread.extend(helped.unread);
                found.total += helped.total;
            }
            found
        });
        found.keep_latest(limit);
        found.unread.sort_by_key(|(id, _)| *id);
        Ok(found)
    }

    /// Returns whether a message of the session matches. A session that cannot be read has none.
    pub fn is_in(&self, id: Uuid, query: &Query) -> bool {
        let mut found = SearchResults::default();
        self.look(id, query, 1, &mut found);
        found.total > 0
    }

    /// The same with many sessions for each request, if the place of the sessions can do that.
    fn search_in_pages(&self, query: &Query, limit: usize) -> Result<Option<SearchResults>, SessionError> {
        let (mut found, mut after) = (SearchResults::default(), None);
        while let Some(page) = self.storage().indexed(after)? {
            let Some(last) = page.last() else {
                found.unread.sort_by_key(|(id, _)| *id);
                return Ok(Some(found));
            };
            after = Some(last.id);
            // Without a journal, its creator was killed.
            for one in page.into_iter().filter(|one| one.journal.is_some()) {
                let id = one.id;
                match Index::of_listed(one) {
                    Some(index) => self.take_hits((id, index), query, limit, &mut found),
                    None => self.look(id, query, limit, &mut found),
                }
            }
        }
        Ok(None)
    }

    fn look(&self, id: Uuid, query: &Query, limit: usize, found: &mut SearchResults) {
        let at = self.at(id);
        let index = match Index::of(&*at) {
            Ok(index) => index,
            Err(SessionError::Empty { .. }) => return,
            // The session was deleted meanwhile, or is not complete yet.
            Err(SessionError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => return,
            Err(error) => return found.unread.push((id, error)),
        };
        self.take_hits((id, index), query, limit, found);
    }

    fn take_hits(&self, (id, index): (Uuid, Index), query: &Query, limit: usize, found: &mut SearchResults) {
        let oldest = found.hits.iter().map(|hit| hit.at).min().filter(|_| found.hits.len() >= limit);
        let searched = |index: &Index| {
            let (mut latest, mut total) = (VecDeque::new(), 0);
            query.each(index, |record| {
                total += 1;
                if latest.len() == limit {
                    latest.pop_front();
                }
                if limit > 0 {
                    latest.push_back(record);
                }
            });
            let hits = latest.into_iter().map(|record| query.hit((index, id), record, oldest, &self.clean));
            Some((total, hits.collect::<Option<Vec<_>>>()?))
        };
        let again = || searched(&Index::rebuilt(&*self.at(id)).ok()?);
        let Some((total, hits)) = searched(&index).or_else(again) else { return };
        found.total += total;
        found.hits.extend(hits.into_iter().flatten());
        found.keep_latest(limit);
    }
}

impl SearchResults {
    fn keep_latest(&mut self, limit: usize) {
        self.hits.sort_by_key(|hit| std::cmp::Reverse((hit.at, hit.session, hit.number)));
        self.hits.truncate(limit);
    }
}

impl Query {
    fn each(&self, index: &Index, mut found: impl FnMut(usize)) {
        let Some((rarest, others)) = self.words.split_first() else { return };
        let (mut from, mut record) = (0, 0);
        while let Some(at) = index.folded.get(from..).and_then(|rest| rarest.find(rest)) {
            let at = from + at;
            let behind = index.records.get(record..).unwrap_or_default();
            record += behind.iter().take_while(|record| record.end <= at).count();
            let (Some(one), Some(span)) = (index.records.get(record), index.span(record)) else { return };
            let words = index.folded.get(span).unwrap_or_default();
            if self.within.has(one.who) && others.iter().all(|word| word.find(words).is_some()) {
                found(record);
            }
            from = one.end;
        }
    }

    /// Returns `Some(None)` if the message is older than all results, and `None` if its words in the index were changed.
    fn hit(
        &self,
        (index, session): (&Index, Uuid),
        record: usize,
        oldest: Option<Timestamp>,
        clean: &Clean,
    ) -> Option<Option<Hit>> {
        let one = index.records.get(record)?;
        let at = Timestamp::from_millisecond(one.at).ok()?;
        if oldest.is_some_and(|oldest| at < oldest) {
            return Some(None);
        }
        let snippet = self.snippet(&index.words(record)?, clean);
        let marks = self.marks(&snippet);
        Some(Some(Hit { session, number: record + 1, at, who: one.who, snippet, marks }))
    }

    /// Returns the text around the first match. If the match is inside a removed secret, the text around that secret is
    /// returned.
    fn snippet(&self, whole: &str, clean: &Clean) -> String {
        let text = clean.text(whole);
        let folded = fold(&text);
        let first = self.words.iter().filter_map(|word| word.find(folded.as_bytes())).min();
        let first = first.unwrap_or_else(|| {
            let same = text.bytes().zip(whole.bytes()).take_while(|(one, other)| one == other);
            text.floor_char_boundary(same.count())
        });
        let (start, end) = window(&text, first);
        let piece = text.get(start..end).unwrap_or_default();
        let mut snippet = piece.split_whitespace().collect::<Vec<_>>().join(" ");
        if start > 0 {
            snippet.insert(0, '…');
        }
        if end < text.len() {
            snippet.push('…');
        }
        snippet
    }

    fn marks(&self, snippet: &str) -> Vec<Range<usize>> {
        let folded = fold(snippet);
        let found = |word: &Finder<'_>| {
            let length = word.needle().len();
            word.find_iter(folded.as_bytes()).map(|at| at..at + length).collect::<Vec<_>>()
        };
        let mut all: Vec<_> = self.words.iter().flat_map(found).collect();
        all.sort_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
        let mut marks: Vec<Range<usize>> = Vec::new();
        for range in all {
            match marks.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => marks.push(range),
            }
        }
        marks
    }
}

/// Returns the range of a few words around a position, beginning and ending between words if possible.
fn window(text: &str, at: usize) -> (usize, usize) {
    let mut start = text.floor_char_boundary(at.saturating_sub(BEFORE));
    let end = text.ceil_char_boundary((at + AFTER).min(text.len()));
    if start > 0
        && let Some(blank) = text.get(start..at).and_then(|before| before.find(char::is_whitespace))
    {
        start += blank + 1;
    }
    (text.floor_char_boundary(start), end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snippet_is_cut_between_letters_and_marked() {
        let text = format!("{} the Disk is full, {}", "слово ".repeat(40), "ж".repeat(200));
        let folded = fold(&text);
        let at = folded.find("disk").unwrap();
        let (start, end) = window(&folded, at);
        let piece = &text[start..end];
        assert!(piece.starts_with("слово") && piece.contains("Disk is full"), "{piece}");
        let query = Query::new(["FULL", "disk", "disk is"], Within::All).unwrap();
        let marked: Vec<_> = query.marks(piece).into_iter().map(|range| &piece[range]).collect();
        assert_eq!(marked, ["Disk is", "full"]);
        assert!(Query::new(["", ""], Within::All).is_none());
    }

    #[test]
    fn secrets_are_removed_before_a_snippet_is_cut() {
        const SECRET: &str = "sk-canary-0123456789-0123456789-canary";
        let clean = Clean::new(|text| text.replace(SECRET, "[redacted]"));
        let query = |word| Query::new([word], Within::All).unwrap();
        for gap in 0..AFTER + 20 {
            let gap = "x".repeat(gap);
            for (text, word) in [
                (format!("needle{gap}{SECRET} and more {}", "y".repeat(300)), "needle"),
                (format!("{} {SECRET}{gap}needle", "y".repeat(300)), "needle"),
                (format!("{} {SECRET}{gap}", "y".repeat(300)), "canary"),
            ] {
                let snippet = query(word).snippet(&text, &clean);
                assert!(!snippet.contains("sk-") && !snippet.contains("456"), "{snippet}");
                let sought = if word == "needle" { word } else { "[redacted]" };
                assert!(snippet.contains(sought), "{snippet}");
            }
        }
    }
}
