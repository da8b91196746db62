//! Finds and reads descriptor and settings files: the only module that touches the disk.
//!
//! A root holds ensembles as `*.toml` directly in it; their invokers' files are wherever `source` says below it. One
//! file that cannot be read is one diagnostic, and the others still load. Nothing outside the root is read, not even
//! through a symbolic link: a project could otherwise show its reader any file of the machine in an error message.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::Code;
use crate::diagnostic::{Checked, Diagnostic, Place};
use crate::ensemble::{EnsembleDescriptor, parse_ensemble};
use crate::escape::{bounded, escape};
use crate::invoker::parse_invoker;
use crate::plan::Scope;
use crate::settings::{SettingsPlan, parse_settings};
use crate::source::{MAX_FILE_BYTES, SourceId, SourceMap};

/// Ensembles of one root.
pub const MAX_DESCRIPTORS: usize = 1_000;
/// Bytes of all files of one root.
const MAX_ROOT_BYTES: usize = 64 * 1024 * 1024;

/// A directory of ensembles, and whose word it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    pub scope: Scope,
    pub dir: PathBuf,
    /// The directory as messages name it.
    pub shown: String,
}

/// Everything that was found, in the order of the roots and of the file names.
#[derive(Debug)]
pub struct Loaded {
    pub sources: SourceMap,
    pub descriptors: Vec<EnsembleDescriptor>,
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads all ensembles. A root that does not exist has none, unless somebody named it ([`Scope::Explicit`]).
pub fn load(roots: &[Root], shipped: &[(&str, &str)]) -> Loaded {
    let mut loaded = Loaded { sources: SourceMap::new(), descriptors: Vec::new(), diagnostics: Vec::new() };
    loaded.shelf(&Embedded { files: shipped });
    for root in roots {
        match Directory::open(root) {
            Ok(Some(mut directory)) => {
                directory.report_names(&mut loaded);
                loaded.shelf(&directory);
            }
            Ok(None) => {}
            Err(reason) => {
                let id = loaded.sources.add(root.shown.clone(), root.scope, "");
                loaded.diagnostics.push(unreadable(id, &reason));
            }
        }
    }
    loaded
}

/// Reads a settings file; `None` if there is none.
pub fn load_settings(
    sources: &mut SourceMap,
    path: &Path,
    shown: &str,
    scope: Scope,
) -> Checked<Option<SettingsPlan>> {
    match read_file(path) {
        Ok(None) => Checked { value: None, diagnostics: Vec::new() },
        Ok(Some(bytes)) => match sources.add_bytes(shown, scope, &bytes) {
            Ok(id) => {
                let Checked { value, diagnostics } = parse_settings(sources, id);
                Checked { value: Some(value), diagnostics }
            }
            Err(diagnostic) => Checked { value: None, diagnostics: vec![diagnostic] },
        },
        Err(reason) => {
            let id = sources.add(shown, scope, "");
            Checked { value: None, diagnostics: vec![unreadable(id, &reason)] }
        }
    }
}

fn unreadable(id: SourceId, reason: &str) -> Diagnostic {
    let message = format!("cannot be read: {}", bounded(&escape(reason), 200));
    Diagnostic::error(Code::Unreadable, Place::File(id), message)
}

/// Where the files of one root come from.
trait Shelf {
    fn scope(&self) -> Scope;
    fn shown(&self, path: &str) -> String;
    /// The ensembles, sorted.
    fn names(&self) -> Vec<String>;
    /// A file by its path below the root.
    fn read(&self, path: &str) -> Result<Vec<u8>, (Code, String)>;
}

impl Loaded {
    fn shelf(&mut self, shelf: &dyn Shelf) {
        let mut left = MAX_ROOT_BYTES;
        for name in shelf.names() {
            let Some(id) = self.file(shelf, &name, &mut left) else { continue };
            let Checked { value: mut descriptor, diagnostics } = parse_ensemble(&self.sources, id);
            self.diagnostics.extend(diagnostics);
            self.invokers(shelf, &mut descriptor, &mut left);
            self.descriptors.push(descriptor);
        }
    }

    fn invokers(&mut self, shelf: &dyn Shelf, descriptor: &mut EnsembleDescriptor, left: &mut usize) {
        for entry in &mut descriptor.invokers {
            let Some(source) = &entry.source else { continue };
            let before = self.diagnostics.len();
            if let Some(id) = self.file(shelf, &source.value, left) {
                let Checked { value, diagnostics } = parse_invoker(&self.sources, id);
                entry.invoker = Some(value);
                self.diagnostics.extend(diagnostics);
            } else if let Some(diagnostic) = self.diagnostics.last_mut() {
                // What is missing is the file, but what can be mended is the line that names it.
                if matches!(diagnostic.place, Place::File(_)) {
                    let file = escape(&shelf.shown(&source.value));
                    diagnostic.message = format!("`{}`: {}", bounded(&file, 200), diagnostic.message);
                    diagnostic.place = source.span.into();
                }
            }
            let found = self.diagnostics.get(before..).unwrap_or_default();
            descriptor.broken |= found.iter().any(Diagnostic::is_error);
        }
    }

    /// Takes in one file, or says why not.
    fn file(&mut self, shelf: &dyn Shelf, path: &str, left: &mut usize) -> Option<SourceId> {
        let shown = shelf.shown(path);
        let bytes = match shelf.read(path) {
            Ok(bytes) => bytes,
            Err((code, reason)) => {
                let id = self.sources.add(shown, shelf.scope(), "");
                self.diagnostics.push(Diagnostic { code, ..unreadable(id, &reason) });
                return None;
            }
        };
        let Some(rest) = left.checked_sub(bytes.len()) else {
            let id = self.sources.add(shown, shelf.scope(), "");
            let message =
                format!("not read: the files of this directory have more than {MAX_ROOT_BYTES} bytes");
            self.diagnostics.push(Diagnostic::error(Code::TooLarge, Place::File(id), message));
            return None;
        };
        *left = rest;
        self.sources
            .add_bytes(shown, shelf.scope(), &bytes)
            .map_err(|problem| self.diagnostics.push(problem))
            .ok()
    }
}

struct Embedded<'a> {
    files: &'a [(&'a str, &'a str)],
}

impl Shelf for Embedded<'_> {
    fn scope(&self) -> Scope {
        Scope::Shipped
    }

    fn shown(&self, path: &str) -> String {
        format!("builtin:{path}")
    }

    fn names(&self) -> Vec<String> {
        self.files
            .iter()
            .filter(|(path, _)| !path.contains('/'))
            .map(|(path, _)| (*path).to_owned())
            .collect()
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, (Code, String)> {
        let file = self.files.iter().find(|(name, _)| *name == path);
        file.map(|(_, text)| text.as_bytes().to_vec())
            .ok_or_else(|| (Code::Unreadable, "there is no such file".to_owned()))
    }
}

struct Directory<'a> {
    root: &'a Root,
    canonical: PathBuf,
    names: BTreeSet<String>,
    /// Entries that were not taken, as messages.
    refused: Vec<(Code, String)>,
}

impl<'a> Directory<'a> {
    fn open(root: &'a Root) -> Result<Option<Self>, String> {
        let canonical = match root.dir.canonicalize() {
            Ok(canonical) => canonical,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && root.scope != Scope::Explicit => {
                return Ok(None);
            }
            Err(error) => return Err(error.to_string()),
        };
        let mut directory = Self { root, canonical, names: BTreeSet::new(), refused: Vec::new() };
        directory.list().map_err(|error| error.to_string())?;
        Ok(Some(directory))
    }

    /// Keeps the first thousand names in their order, however many there are.
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
                    let message = format!("{}: the name of the file is not UTF-8", name.to_string_lossy());
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

    fn report_names(&mut self, loaded: &mut Loaded) {
        for (code, message) in self.refused.drain(..) {
            let id = loaded.sources.add(self.root.shown.clone(), self.root.scope, "");
            let message = bounded(&escape(&message), 200);
            loaded.diagnostics.push(Diagnostic::error(code, Place::File(id), message));
        }
    }
}

impl Shelf for Directory<'_> {
    fn scope(&self) -> Scope {
        self.root.scope
    }

    fn shown(&self, path: &str) -> String {
        format!("{}/{path}", self.root.shown.trim_end_matches('/'))
    }

    fn names(&self) -> Vec<String> {
        self.names.iter().cloned().collect()
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, (Code, String)> {
        let unreadable = |reason: String| (Code::Unreadable, reason);
        let path = self.canonical.join(path);
        let canonical = path.canonicalize().map_err(|error| unreadable(error.to_string()))?;
        if !canonical.starts_with(&self.canonical) {
            return Err((Code::OutsideRoot, "a symbolic link leads out of the directory".to_owned()));
        }
        match read_file(&canonical) {
            Ok(Some(bytes)) => Ok(bytes),
            Ok(None) => Err(unreadable("there is no such file".to_owned())),
            Err(reason) => Err(unreadable(reason)),
        }
    }
}

/// At most one byte more than is taken, so that the caller sees that it is too large. `None`: no such file.
fn read_file(path: &Path) -> Result<Option<Vec<u8>>, String> {
    match fs::metadata(path) {
        // Opening a pipe would wait for somebody to write to it.
        Ok(metadata) if !metadata.is_file() => return Err("it is not a regular file".to_owned()),
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(|error| error.to_string())?;
    let most = MAX_FILE_BYTES as u64 + 1;
    file.take(most).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests;
