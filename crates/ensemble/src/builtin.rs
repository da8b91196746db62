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
mod web;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use converse_config::{Effects, Environment};
use jiff::Timestamp;
use serde_json::{Map, Value};

pub(crate) use files::objection;
pub use web::is_public;

use crate::Invocable;
use crate::fetch::Fetch;
use crate::reach::Reach;

/// Where the time comes from.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// One tool of the binary, as a descriptor binds it: `builtin = "name"`.
#[derive(Debug)]
pub struct Builtin {
    pub name: &'static str,
    /// What it does to the world; a descriptor may raise this, never lower it.
    pub effects: Effects,
    /// The variables it may read. It is given no others.
    pub variables: &'static [Variable],
    /// Reads the settings and touches nothing: what it needs of the disk is opened at its first use.
    pub build: fn(&Settings<'_>) -> Result<Arc<dyn Invocable>, BuildError>,
}

/// A variable of the environment that a built-in may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variable {
    pub name: &'static str,
    /// What it holds is never shown.
    pub is_secret: bool,
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
    /// False for a project's ensemble that nobody has trusted: what it configures may open nothing.
    pub trusted: bool,
    /// The variables that the built-in names, and no others.
    pub environment: Environment,
    /// To where the user's settings say.
    pub fetch: Arc<dyn Fetch>,
    /// To where a model says.
    pub reach: Arc<dyn Reach>,
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
    /// A list of texts of `[configuration]`.
    fn texts(&self, key: &'static str) -> Result<Option<Vec<&str>>, BuildError> {
        let failed = || BuildError { key, reason: "a list of strings is needed".to_owned() };
        match self.configuration.get(key) {
            None => Ok(None),
            Some(Value::Array(entries)) => entries
                .iter()
                .map(|entry| entry.as_str().ok_or_else(failed))
                .collect::<Result<_, _>>()
                .map(Some),
            Some(_) => Err(failed()),
        }
    }

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
    const fn builtin(
        name: &'static str,
        effects: Effects,
        build: fn(&Settings<'_>) -> Result<Arc<dyn Invocable>, BuildError>,
    ) -> Builtin {
        Builtin { name, effects, variables: &[], build }
    }
    const BUILTINS: &[Builtin] = &[
        builtin("calculator", Effects::None, calculator::build),
        builtin("current_datetime", Effects::None, datetime::build),
        builtin("read_file", Effects::Read, files::build_read),
        builtin("write_file", Effects::Write, files::build_write),
        builtin("edit_file", Effects::Write, files::build_edit),
        builtin("list_directory", Effects::Read, files::build_list),
        builtin("search_files", Effects::Read, files::build_search),
        builtin("fetch", Effects::External, web::build_fetch),
        Builtin {
            variables: web::SEARCH_VARIABLES,
            ..builtin("web_search", Effects::External, web::build_search)
        },
    ];
    BUILTINS
}

#[cfg(test)]
mod testing;
