//! What a server may ask of whoever uses it: directories, the person, the model, and how much it may log.

use crate::Code;
use crate::table::Table;

/// <https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/logging> (checked 2026-11).
pub(crate) const LOG_LEVELS: [(&str, LogLevel); 8] = [
    ("debug", LogLevel::Debug),
    ("info", LogLevel::Info),
    ("notice", LogLevel::Notice),
    ("warning", LogLevel::Warning),
    ("error", LogLevel::Error),
    ("critical", LogLevel::Critical),
    ("alert", LogLevel::Alert),
    ("emergency", LogLevel::Emergency),
];
pub(crate) const MAX_ROOTS: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

impl LogLevel {
    /// As the protocol writes it.
    pub fn as_str(self) -> &'static str {
        LOG_LEVELS.iter().find(|(_, level)| *level == self).map_or("info", |(word, _)| word)
    }
}

/// What a server may ask of us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grants {
    /// Directories it is told of, relative to the directory converse runs in; none: it is not told that it may ask.
    pub roots: Vec<String>,
    /// It may have the person asked something, where there is a person.
    pub elicitation: bool,
    /// It may ask the model, under the user's rules, limits and audit.
    pub sampling: bool,
    /// From which level on its log is kept; `None` leaves it to the server.
    pub log_level: Option<LogLevel>,
}

impl Default for Grants {
    fn default() -> Self {
        Self { roots: Vec::new(), elicitation: true, sampling: false, log_level: None }
    }
}

impl Grants {
    pub(crate) fn read(table: &Table<'_, '_>) -> Self {
        let flag = |key, default| table.boolean(key).map_or(default, |said| said.value);
        Self {
            roots: roots(table),
            elicitation: flag("elicitation", true),
            sampling: flag("sampling", false),
            log_level: table.choice("log_level", &LOG_LEVELS).map(|level| level.value),
        }
    }
}

fn roots(table: &Table<'_, '_>) -> Vec<String> {
    let Some(roots) = table.strings("roots") else { return Vec::new() };
    if let Some(beyond) = roots.value.get(MAX_ROOTS) {
        table.problems.error(Code::TooMany, beyond.span, format!("more than {MAX_ROOTS} roots"));
    }
    let mut sound = Vec::new();
    for root in roots.value {
        if root.value.is_empty() || root.value.contains(['\0', '$', '{']) {
            let message = "a root is the plain path of a directory; nothing is filled in";
            table.problems.error(Code::BadValue, root.span, message);
        } else {
            sound.push(root.value);
        }
    }
    sound
}
