//! The tools inside the binary: a registry as data, and one folder per tool.
//!
//! A built-in tool is a struct with one method. The pipeline does what surrounds a call (schema, rules, timeout, size limit).
//! Built-in tools read neither the environment nor the clock: [`Settings`] has the directory, the time and the settings of
//! the ensemble. Restrictions that hold even if the user allows everything (the root of the file tools, protected places)
//! are enforced here and not by a rule.

mod arguments;
mod calculator;
mod datetime;
mod files;
mod web;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use converse_config::{Effects, Environment};
use converse_process::spawn_blocking;
use jiff::Timestamp;
use serde_json::{Map, Value};

pub(crate) use files::{Upload, objection};
pub use web::is_public;

use crate::fetch::{Fetch, Reach};
use crate::{Invocable, InvokeError};

/// The source of the current time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// One tool of the binary, as a descriptor binds it: `builtin = "name"`.
#[derive(Debug)]
pub struct Builtin {
    pub name: &'static str,
    /// The effects of the tool. A descriptor may raise them, never lower them.
    pub effects: Effects,
    /// The variables of the environment that it gets.
    pub variables: &'static [Variable],
    /// Builds the tool from its settings. Files are opened only at the first use.
    pub build: fn(&Settings<'_>) -> Result<Arc<dyn Invocable>, BuildError>,
}

/// A variable of the environment that a built-in may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variable {
    pub name: &'static str,
    /// Whether its value is a secret and never shown.
    pub is_secret: bool,
}

/// What a built-in tool is built from.
pub struct Settings<'a> {
    /// `[configuration]` of its ensemble.
    pub configuration: &'a Map<String, Value>,
    /// The directory converse runs in, canonical.
    pub workspace: &'a Path,
    /// Files and directories that no tool may write to: configuration, trust, sessions.
    pub protected: &'a [PathBuf],
    pub clock: Clock,
    /// False for an ensemble of a project that the user has not trusted: its settings may not open anything.
    pub trusted: bool,
    /// Only the variables that the tool names.
    pub environment: Environment,
    /// HTTP to places that the user's settings name.
    pub fetch: Arc<dyn Fetch>,
    /// HTTP to places that a model names.
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

/// The error of a built-in tool whose settings are invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{key}` in [configuration]: {reason}")]
pub struct BuildError {
    pub key: &'static str,
    pub reason: String,
}

impl Settings<'_> {
    /// Returns a list of texts of `[configuration]`.
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

    /// Returns a text of `[configuration]`.
    fn text(&self, key: &'static str) -> Result<Option<&str>, BuildError> {
        match self.configuration.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(BuildError { key, reason: "a string is needed".to_owned() }),
        }
    }
}

/// Returns all built-in tools.
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

/// Returns whether a built-in tool opens files, which are judged when it is called.
pub fn opens_files(builtin: &str) -> bool {
    ["read_file", "write_file", "edit_file", "list_directory", "search_files"].contains(&builtin)
}

/// Does the work of a tool on a blocking thread. If none can be started, it may still be done later, when a thread is free,
/// so it must check whether it is still wanted.
async fn on_blocking_thread<T: Send + 'static>(
    what: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, InvokeError> {
    let started = spawn_blocking(work).ok_or_else(|| InvokeError::Unreachable {
        message: "no thread can be started for it: there are too many processes and threads".to_owned(),
        sent: false,
    });
    started?.await.map_err(|_| InvokeError::Failed(format!("{what} crashed")))
}

#[cfg(test)]
mod testing;

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn where_it_cannot_be_begun_nothing_crashes() {
        // Outside of a runtime there is no thread to be had.
        let refused = on_blocking_thread("it", || 1).now_or_never().unwrap().unwrap_err();
        assert!(matches!(refused, InvokeError::Unreachable { sent: false, .. }), "{refused:?}");
    }

    #[tokio::test]
    async fn it_is_done() {
        assert_eq!(on_blocking_thread("it", || 1).await, Ok(1));
        let crashed = on_blocking_thread("it", || panic!("it crashes")).await;
        assert_eq!(crashed, Err::<(), _>(InvokeError::Failed("it crashed".to_owned())));
    }
}
