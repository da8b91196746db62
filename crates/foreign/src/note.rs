//! Notes about what was not imported, or was changed.

use std::fmt;

use converse_config::{Code, escape};

/// The largest number of notes; the rest is counted.
const MAX_NOTES: usize = 500;
/// The length of a name or key in a note, in bytes.
const MAX_SHOWN: usize = 80;

/// A note for the user. It contains names, never values of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The name of the server in the file, escaped; `None` for the file as a whole.
    pub server: Option<String>,
    /// For what `ensembles check` reports about the descriptor too.
    pub code: Option<Code>,
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
        self.push(None, None, message.into());
    }

    pub(crate) fn server(&mut self, server: &str, message: impl Into<String>) {
        self.push(Some(shown(server)), None, message.into());
    }

    /// A finding with a code, whose hint says what to do.
    pub(crate) fn finding(&mut self, server: &str, code: Code, message: impl Into<String>) {
        self.push(Some(shown(server)), Some(code), message.into());
    }

    fn push(&mut self, server: Option<String>, code: Option<Code>, message: String) {
        if self.list.len() < MAX_NOTES {
            self.list.push(Note { server, code, message });
        } else {
            self.more += 1;
        }
    }

    pub(crate) fn into_list(mut self) -> Vec<Note> {
        if self.more > 0 {
            self.list.push(Note {
                server: None,
                code: None,
                message: format!("and {} more notes", self.more),
            });
        }
        self.list
    }
}

/// A name of the file, shortened and escaped.
pub(crate) fn shown(name: &str) -> String {
    escape(&converse_text::shorten::bytes(name, MAX_SHOWN))
}

/// The same, in backticks.
pub(crate) fn quoted(name: &str) -> String {
    format!("`{}`", shown(name))
}
