//! `FILE.begun`: the conversations whose tools with effects have begun.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{BufReader, ErrorKind, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use converse_engine::SinkError;
use converse_session::files::{Replace, replace};
use parking_lot::Mutex;
use serde_json::Value;

use super::target::read;
use crate::input::Known;

/// The ids of conversations whose tools with effects have begun.
#[derive(Debug)]
pub struct Begun {
    file: Mutex<Option<File>>,
    path: PathBuf,
}

impl Begun {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { file: Mutex::new(None), path }
    }

    /// Removes the ids that have a result.
    pub(super) fn conclude(&self, mut results: &File, path: &Path) -> std::io::Result<()> {
        let mut known = Known::default();
        results.rewind()?;
        read(results, path, &mut known).map_err(|failure| std::io::Error::other(failure.message))?;
        let mut open = ids(&self.path)?;
        open.retain(|id| !known.done.contains(id));
        if open.is_empty() { std::fs::remove_file(&self.path) } else { write_ids(&self.path, &open) }
    }

    /// Adds an id, on disk when it returns.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub(crate) fn add(&self, id: &str) -> Result<(), SinkError> {
        let mut file = self.file.lock();
        let added = (|| {
            if file.is_none() {
                let new = OpenOptions::new().append(true).create(true).open(&self.path)?;
                // A line that a kill has cut is no id.
                (&new).write_all(b"\n")?;
                *file = Some(new);
            }
            let Some(file) = file.as_mut() else { return Ok(()) };
            file.write_all(format!("{}\n", Value::from(id)).as_bytes())?;
            file.sync_data()
        })();
        added.map_err(|error: std::io::Error| SinkError::Save(format!("{}: {error}", self.path.display())))
    }
}

pub(super) fn begun_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".begun");
    name.into()
}

/// The ids in a file; none if there is no file. A line that a kill has cut is left out: its tool had not begun.
pub(super) fn ids(path: &Path) -> std::io::Result<HashSet<String>> {
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(HashSet::new()),
        file => file?,
    };
    let mut ids = HashSet::new();
    let mut reader = BufReader::new(file);
    let mut bytes = Vec::new();
    while crate::input::read_line(&mut reader, &mut bytes)? > 0 {
        ids.extend(serde_json::from_slice::<String>(&bytes));
    }
    Ok(ids)
}

pub(super) fn write_ids(path: &Path, ids: &HashSet<String>) -> std::io::Result<()> {
    if ids.is_empty() && !path.exists() {
        return Ok(());
    }
    let text: String = ids.iter().map(|id| format!("{}\n", Value::from(id.as_str()))).collect();
    replace(path, text.as_bytes(), Replace::PRIVATE)
}
