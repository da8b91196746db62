//! The calls behind the figures, the last answered first, a page at a time.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use converse_canister::{InvocationId, Outcome};
use jiff::Timestamp;
use serde_json::{Map, Value};
use uuid::Uuid;

/// Limit on the characters of a text in the arguments of a listed call.
const TEXT: usize = 500;
/// Limits on the entries of a list or object, and on the levels.
const ENTRIES: usize = 50;
const LEVELS: usize = 6;

/// A call with a result.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedCall {
    /// The message of the reply that requested it.
    pub index: usize,
    pub id: InvocationId,
    /// `None` if the journal does not say which model requested it.
    pub model: Option<String>,
    /// `ensemble.invoker`.
    pub tool: String,
    pub outcome: Outcome,
    /// `None` if it did not run.
    pub milliseconds: Option<u64>,
    /// Without what is long.
    pub arguments: Value,
}

/// The place of a call in the list: when it was answered, its session, and the line of its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cursor(Timestamp, Uuid, u64);

impl Cursor {
    pub fn at(&self) -> Timestamp {
        self.0
    }

    pub fn session(&self) -> Uuid {
        self.1
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}_{}", self.0, self.1, self.2)
    }
}

impl FromStr for Cursor {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.split('_');
        let (at, session, line) = (parts.next().ok_or(())?, parts.next().ok_or(())?, parts.next().ok_or(())?);
        let is_whole = parts.next().is_none();
        let cursor =
            Self(at.parse().map_err(drop)?, session.parse().map_err(drop)?, line.parse().map_err(drop)?);
        is_whole.then_some(cursor).ok_or(())
    }
}

/// Which outcomes are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcomes {
    All,
    /// All but success.
    Failed,
    Only(Outcome),
}

impl Outcomes {
    fn has(self, outcome: Outcome) -> bool {
        match self {
            Self::All => true,
            Self::Failed => !outcome.is_success(),
            Self::Only(only) => only == outcome,
        }
    }
}

/// A page that grows by one journal after another. It holds one call more than the limit, at most.
#[derive(Debug)]
pub struct Page {
    before: Option<Cursor>,
    limit: usize,
    outcomes: Outcomes,
    pub(crate) session: Uuid,
    found: BTreeMap<Cursor, ListedCall>,
}

impl Page {
    /// Returns an empty page for the calls before the cursor.
    pub fn new(before: Option<Cursor>, limit: usize, outcomes: Outcomes) -> Self {
        Self { before, limit, outcomes, session: Uuid::nil(), found: BTreeMap::new() }
    }

    pub(crate) fn add(&mut self, at: Timestamp, line: u64, call: ListedCall) {
        let place = Cursor(at, self.session, line);
        if !self.outcomes.has(call.outcome) || self.before.is_some_and(|before| place >= before) {
            return;
        }
        self.found.insert(place, call);
        if self.found.len() > self.limit + 1 {
            self.found.pop_first();
        }
    }

    /// Returns whether journals that were last written at this time or before cannot change the page.
    pub(crate) fn is_complete(&self, written: Timestamp) -> bool {
        let oldest = self.found.first_key_value().map(|(place, _)| place.0);
        self.found.len() > self.limit && oldest.is_some_and(|oldest| oldest > written)
    }

    /// Returns the calls, and the cursor of the next page if there is one.
    pub fn into_calls(self) -> (Vec<(Cursor, ListedCall)>, Option<Cursor>) {
        let is_more = self.found.len() > self.limit;
        let calls: Vec<_> = self.found.into_iter().rev().take(self.limit).collect();
        let next = calls.last().map(|(place, _)| *place).filter(|_| is_more);
        (calls, next)
    }
}

/// Shortens the arguments of a call for a list.
pub(crate) fn brief(arguments: &Map<String, Value>) -> Value {
    shortened(&Value::Object(arguments.clone()), LEVELS)
}

fn shortened(value: &Value, levels: usize) -> Value {
    match value {
        Value::String(text) => converse_text::shorten::chars(text, TEXT).into(),
        Value::Array(_) | Value::Object(_) if levels == 0 => "…".into(),
        Value::Array(list) => list.iter().take(ENTRIES).map(|one| shortened(one, levels - 1)).collect(),
        Value::Object(object) => {
            let entries = object.iter().take(ENTRIES);
            entries.map(|(name, one)| (name.clone(), shortened(one, levels - 1))).collect()
        }
        value => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_holds_the_last_calls_before_the_cursor_and_says_where_the_next_one_begins() {
        let call = |number: usize| ListedCall {
            index: number,
            id: InvocationId::of(converse_canister::TurnId(1), number),
            model: None,
            tool: "a.b".to_owned(),
            outcome: if number.is_multiple_of(2) { Outcome::Success } else { Outcome::Failed },
            milliseconds: None,
            arguments: Value::Null,
        };
        let at = |number: usize| Timestamp::from_second(number as i64).unwrap();
        let page = |before, outcomes| {
            let mut page = Page::new(before, 2, outcomes);
            (0..7).rev().for_each(|number| page.add(at(number), number as u64, call(number)));
            assert!(!page.is_complete(at(9)));
            page.into_calls()
        };
        let mut seen = Vec::new();
        let mut cursor = None;
        loop {
            let (calls, next) = page(cursor, Outcomes::All);
            seen.extend(calls.iter().map(|(_, call)| call.index));
            let Some(next) = next else { break };
            assert_eq!(next.to_string().parse(), Ok(next));
            cursor = Some(next);
        }
        assert_eq!(seen, [6, 5, 4, 3, 2, 1, 0]);
        let failed: Vec<usize> = page(None, Outcomes::Failed).0.iter().map(|(_, call)| call.index).collect();
        assert_eq!(failed, [5, 3]);
        assert_eq!("x".parse::<Cursor>(), Err(()));
    }
}
