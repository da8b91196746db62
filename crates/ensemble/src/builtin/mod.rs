//! The tools inside the binary: a registry as data, and one folder per tool.
//!
//! A built-in is a struct with one method; what surrounds a call (schema, rules, timeout, bound) is the pipeline's work.
//! Built-ins read neither the environment nor the clock: the directory, the time and the settings of the ensemble are
//! handed in by [`Settings`]. What must hold even when the user allows everything (the jail of the file tools, the
//! places nobody may write to) is held here and not by a rule.

mod arguments;
mod calculator;
mod datetime;
mod files;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use converse_config::Effects;
use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::Invocable;

/// Where the time comes from.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// One tool of the binary, as a descriptor binds it: `builtin = "name"`.
#[derive(Debug)]
pub struct Builtin {
    pub name: &'static str,
    /// What it does to the world; a descriptor may raise this, never lower it.
    pub effects: Effects,
    /// Reads the settings and touches nothing: what it needs of the disk is opened at its first use.
    pub build: fn(&Settings<'_>) -> Result<Arc<dyn Invocable>, BuildError>,
}

/// What a built-in is given when it is built.
pub struct Settings<'a> {
    /// `[configuration]` of its ensemble.
    pub configuration: &'a Map<String, Value>,
    /// The directory converse runs in, canonical.
    pub workspace: &'a Path,
    /// Files and directories no tool may write to: configuration, trust, sessions.
    pub protected: &'a [PathBuf],
    pub clock: Clock,
}

impl fmt::Debug for Settings<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("configuration", self.configuration)
            .field("workspace", &self.workspace)
            .field("protected", &self.protected)
            .finish_non_exhaustive()
    }
}

/// Why a built-in cannot be built from its settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{key}` in [configuration]: {reason}")]
pub struct BuildError {
    pub key: &'static str,
    pub reason: String,
}

impl Settings<'_> {
    /// A text of `[configuration]`.
    fn text(&self, key: &'static str) -> Result<Option<&str>, BuildError> {
        match self.configuration.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(BuildError { key, reason: "a string is needed".to_owned() }),
        }
    }
}

/// Every tool of the binary.
pub fn builtins() -> &'static [Builtin] {
    &[
        Builtin { name: "calculator", effects: Effects::None, build: calculator::build },
        Builtin { name: "current_datetime", effects: Effects::None, build: datetime::build },
        Builtin { name: "read_file", effects: Effects::Read, build: files::build_read },
        Builtin { name: "write_file", effects: Effects::Write, build: files::build_write },
        Builtin { name: "list_directory", effects: Effects::Read, build: files::build_list },
    ]
}

#[cfg(test)]
mod testing;
