//! What was not taken over, or not as it stood.

use std::fmt;

use converse_config::escape;

/// Notes of one file; with more it says how many.
const MAX_NOTES: usize = 500;
/// Bytes of a name or key that are shown.
const MAX_SHOWN: usize = 80;

/// One thing that somebody should know of. Holds names, never values of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The server it is about, as the file names it and fit to be shown; `None` for the file as a whole.
    pub server: Option<String>,
    pub message: String,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.server {
            Some(server) => write!(f, "{server}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

/// All notes of one file.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    list: Vec<Note>,
    more: usize,
}

impl Notes {
    pub(crate) fn file(&mut self, message: impl Into<String>) {
        self.push(None, message.into());
    }

    pub(crate) fn server(&mut self, server: &str, message: impl Into<String>) {
        self.push(Some(shown(server)), message.into());
    }

    fn push(&mut self, server: Option<String>, message: String) {
        if self.list.len() < MAX_NOTES {
            self.list.push(Note { server, message });
        } else {
            self.more += 1;
        }
    }

    pub(crate) fn into_list(mut self) -> Vec<Note> {
        if self.more > 0 {
            self.list.push(Note { server: None, message: format!("and {} more notes", self.more) });
        }
        self.list
    }
}

/// A name of the file, fit for a message.
pub(crate) fn shown(name: &str) -> String {
    escape(&converse_text::shorten::bytes(name, MAX_SHOWN))
}

/// The same in backticks.
pub(crate) fn quoted(name: &str) -> String {
    format!("`{}`", shown(name))
}
