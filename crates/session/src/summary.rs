//! One row in the list of sessions.
//!
//! The totals in the metadata are used as long as they belong to the current journal; otherwise the journal is read.

use converse_canister::{Canister, Content};
use jiff::Timestamp;
use uuid::Uuid;

use crate::storage::{JournalState, SessionStorage, is_missing};
use crate::{Loaded, Metadata, SessionError, journal};

/// Limit on the characters of the first words.
const WORDS: usize = 80;

/// A session in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    pub id: Uuid,
    pub created: Timestamp,
    /// Time of the last write to the journal.
    pub updated: Timestamp,
    /// The user's first words, in one line of at most 80 characters.
    pub words: String,
    /// Number of messages.
    pub canisters: usize,
    pub metadata: Metadata,
    /// Why the session cannot be read; the other fields are then incomplete.
    pub problem: Option<String>,
    /// The session never contained anything, not even its first line.
    pub hollow: bool,
}

impl Summary {
    pub(crate) fn of(at: &dyn SessionStorage, id: Uuid) -> Self {
        let journal = at.journal();
        // Of a journal whose age is not known, nothing is decided.
        let unknown = journal.as_ref().err().filter(|error| !is_missing(error)).map(ToString::to_string);
        let mut summary = Self::with(at, id, journal.ok(), Metadata::read(at));
        summary.problem = summary.problem.or(unknown);
        summary
    }

    /// The same, for what is known of the session already.
    pub(crate) fn with(
        at: &dyn SessionStorage,
        id: Uuid,
        journal: Option<JournalState>,
        metadata: Metadata,
    ) -> Self {
        let updated = journal.and_then(|journal| journal.updated());
        // An id that a client chose has no time in it.
        let created = created(id).or(updated).unwrap_or_default();
        let totals = journal.and_then(|journal| metadata.current_of(&journal).cloned());
        let mut summary = Self {
            id,
            created,
            updated: updated.unwrap_or(created),
            words: String::new(),
            canisters: 0,
            metadata,
            problem: None,
            hollow: false,
        };
        if let Some(totals) = totals {
            summary.words = totals.words;
            summary.canisters = usize::try_from(totals.canisters).unwrap_or(usize::MAX);
            return summary;
        }
        match journal::read(at) {
            Ok(loaded) => summary.take(&loaded),
            Err(error) => {
                summary.hollow = matches!(error, SessionError::Empty { .. });
                summary.problem = Some(error.to_string());
            }
        }
        summary
    }

    fn take(&mut self, loaded: &Loaded) {
        let canisters = loaded.transcript.as_slice();
        self.created = loaded.header.created;
        self.canisters = canisters.len();
        self.words = first_words(canisters);
    }
}

/// Returns the time in the id.
fn created(id: Uuid) -> Option<Timestamp> {
    let (seconds, nanos) = id.get_timestamp()?.to_unix();
    Timestamp::new(i64::try_from(seconds).ok()?, i32::try_from(nanos).ok()?).ok()
}

/// Returns the user's first words.
pub(crate) fn first_words(canisters: &[Canister]) -> String {
    canisters.iter().find_map(user_text).map(|text| in_one_line(&text)).unwrap_or_default()
}

pub(crate) fn user_text(canister: &Canister) -> Option<String> {
    let Canister::User(user) = canister else { return None };
    let text: Vec<_> = user.content.iter().filter_map(Content::as_text).collect();
    Some(text.join(" "))
}

pub(crate) fn in_one_line(text: &str) -> String {
    let visible = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let mut line = String::new();
    for word in visible {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > WORDS * 4 {
            break;
        }
    }
    converse_text::shorten::within_chars(&line, WORDS).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_one_short_line() {
        for (text, line) in [
            ("", String::new()),
            (" a\n\n\tb\u{1b}[2Jc\u{7f} ", "a b [2Jc".to_owned()),
            (&"x".repeat(80), "x".repeat(80)),
            (&"я".repeat(81), "я".repeat(79) + "…"),
            (&"ab ".repeat(1000), "ab ".repeat(26) + "a…"),
        ] {
            assert_eq!(in_one_line(text), line);
        }
    }
}
