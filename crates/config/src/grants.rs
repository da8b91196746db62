//! What a server may request: roots, input from the person, calls of the model, and its log level.

use crate::Code;
use crate::policy::word_for;
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
    /// Returns the name in the protocol.
    pub fn as_str(self) -> &'static str {
        word_for(&LOG_LEVELS, self)
    }
}

/// Permissions of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grants {
    /// Directories to announce, relative to the working directory. If empty, the capability is not declared.
    pub roots: Vec<String>,
    /// The server may ask the person for input.
    pub elicitation: bool,
    /// The server may call the model, under the user's rules, limits and audit.
    pub sampling: bool,
    /// Lowest level of log messages to keep; `None` leaves the choice to the server.
    pub log_level: Option<LogLevel>,
}

impl Default for Grants {
    fn default() -> Self {
        Self { roots: Vec::new(), elicitation: true, sampling: false, log_level: None }
    }
}

impl Grants {
    pub(crate) fn read(table: &Table<'_, '_>) -> Self {
        let flag = |key, default| table.boolean(key).map_or(default, |flag| flag.value);
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
    let mut valid = Vec::new();
    for root in roots.value {
        if root.value.is_empty() || root.value.contains(['\0', '$', '{']) {
            let message = "a root must be the path of a directory, without placeholders";
            table.problems.bad_value(root.span, message, "for example: `roots = [\".\", \"/srv/data\"]`");
        } else {
            valid.push(root.value);
        }
    }
    valid
}
