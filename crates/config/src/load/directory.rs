//! A directory of ensembles on disk. Links out of the directory are refused, pipes are not opened, and reads are bounded.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::{Files, LoadedFiles, MAX_DESCRIPTORS, Root};
use crate::Code;
use crate::diagnostic::{Diagnostic, Location, bounded};
use crate::plan::Scope;
use converse_text::escape::escape;

pub(super) struct Directory<'a> {
    root: &'a Root,
    canonical: PathBuf,
    names: BTreeSet<String>,
    /// Rejected entries, as messages.
    refused: Vec<(Code, String)>,
}

impl<'a> Directory<'a> {
    pub(super) fn open(root: &'a Root) -> Result<Option<Self>, String> {
        let canonical = match root.dir.canonicalize() {
            Ok(canonical) => canonical,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && root.scope != Scope::Explicit => {
                return Ok(None);
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err("there is no such directory".to_owned());
            }
            Err(error) => return Err(error.to_string()),
        };
        let mut directory = Self { root, canonical, names: BTreeSet::new(), refused: Vec::new() };
        directory.list().map_err(|error| error.to_string())?;
        Ok(Some(directory))
    }

    /// Lists the files and keeps the first names in order.
    fn list(&mut self) -> std::io::Result<()> {
        let mut too_many = false;
        for entry in fs::read_dir(&self.canonical)? {
            let name = entry?.file_name();
            if Path::new(&name).extension().is_none_or(|extension| extension != "toml") {
                continue;
            }
            match name.into_string() {
                Ok(name) => drop(self.names.insert(name)),
                Err(name) => {
                    let message = format!("{}: the file name is not UTF-8", name.to_string_lossy());
                    self.refused.push((Code::NotUtf8, message));
                }
            }
            if self.names.len() > MAX_DESCRIPTORS {
                self.names.pop_last();
                too_many = true;
            }
            self.refused.truncate(MAX_DESCRIPTORS);
        }
        if too_many {
            let message = format!("more than {MAX_DESCRIPTORS} ensembles: only the first are read");
            self.refused.push((Code::TooMany, message));
        }
        Ok(())
    }

    pub(super) fn report_names(&mut self, loaded: &mut LoadedFiles) {
        for (code, message) in self.refused.drain(..) {
            let id = loaded.sources.add(self.root.shown.clone(), self.root.scope, "");
            let message = bounded(&escape(&message), 200);
            loaded.diagnostics.push(Diagnostic::error(code, Location::File(id), message));
        }
    }
}

impl Files for Directory<'_> {
    fn scope(&self) -> Scope {
        self.root.scope
    }

    fn shown(&self, path: &str) -> String {
        format!("{}/{path}", self.root.shown.trim_end_matches('/'))
    }

    fn names(&self) -> Vec<String> {
        self.names.iter().cloned().collect()
    }

    fn read(&self, path: &str, most: usize) -> Result<Vec<u8>, (Code, String)> {
        let unreadable = |reason: String| (Code::Unreadable, reason);
        let path = self.canonical.join(path);
        let canonical = path.canonicalize().map_err(|error| unreadable(error.to_string()))?;
        if !canonical.starts_with(&self.canonical) {
            return Err((Code::OutsideRoot, "a symbolic link leads out of the directory".to_owned()));
        }
        match read_file(&canonical, most) {
            Ok(Some(bytes)) => Ok(bytes),
            Ok(None) => Err(unreadable("the file does not exist".to_owned())),
            Err(reason) => Err(unreadable(reason)),
        }
    }
}

/// Reads at most one byte more than `most`, so that the caller detects a file that is too large. `None` if it is absent.
pub(super) fn read_file(path: &Path, most: usize) -> Result<Option<Vec<u8>>, String> {
    match fs::metadata(path) {
        // Opening a pipe would block.
        Ok(metadata) if !metadata.is_file() => return Err("not a regular file".to_owned()),
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            // A dangling link is an error, not an absent file.
            return if fs::symlink_metadata(path).is_ok() {
                Err("a symbolic link to a file that does not exist".to_owned())
            } else {
                Ok(None)
            };
        }
        Err(error) => return Err(error.to_string()),
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(|error| error.to_string())?;
    let most = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    file.take(most).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    Ok(Some(bytes))
}
