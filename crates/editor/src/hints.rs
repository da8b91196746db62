//! The grey words after the cursor: how the line could go on.

use std::sync::Arc;

use reedline::{Hinter, History, SearchQuery};

use crate::Safe;
use crate::complete::Complete;
use crate::entry::Typing;
use crate::tones::Tones;

/// Longer lines are not searched for in the history at each key.
const LONGEST: usize = 1024;

pub(crate) struct Hints {
    pub(crate) complete: Arc<dyn Complete>,
    pub(crate) safe: Safe,
    pub(crate) typing: Arc<Typing>,
    pub(crate) now: String,
    pub(crate) tones: Tones,
}

impl Hints {
    fn of(&self, line: &str, history: &dyn History) -> String {
        if line.is_empty() || line.len() > LONGEST || line.contains('\n') {
            return String::new();
        }
        let known = self.complete.hint(line).or_else(|| {
            let query = SearchQuery::last_with_prefix(line.to_owned(), history.session());
            let found = self.typing.hints(|| history.search(query)).ok()?.into_iter().next()?;
            found.command_line.get(line.len()..).map(str::to_owned)
        });
        let hint = known.unwrap_or_default();
        // Of an entry with several lines only the first: more would push the line about.
        (self.safe)(hint.lines().next().unwrap_or_default()).into_owned()
    }
}

impl Hinter for Hints {
    fn handle(&mut self, line: &str, at: usize, history: &dyn History, colour: bool, _: &str) -> String {
        // Without colours a hint would look typed.
        self.now = if colour && at == line.len() { self.of(line, history) } else { String::new() };
        if self.now.is_empty() { String::new() } else { self.tones.dim.paint(&self.now).to_string() }
    }

    fn complete_hint(&self) -> String {
        self.now.clone()
    }

    fn next_hint_token(&self) -> String {
        let word = self.now.trim_start();
        let lead = self.now.len() - word.len();
        let length = word.find(char::is_whitespace).unwrap_or(word.len());
        self.now.get(..lead + length).unwrap_or_default().to_owned()
    }
}
