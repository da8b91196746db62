//! Finds and reads descriptor and settings files: the only module that touches the disk.
//!
//! A root holds ensembles as `*.toml` directly in it; their invokers' files are wherever `source` says below it. One
//! file that cannot be read is one diagnostic, and the others still load. Nothing outside the root is read, not even
//! through a symbolic link: a project could otherwise show its reader any file of the machine in an error message.

mod directory;

use std::path::{Path, PathBuf};

use crate::Code;
use crate::diagnostic::{Checked, Diagnostic, Place};
use crate::ensemble::{EnsembleDescriptor, parse_ensemble};
use crate::escape::{bounded, escape};
use crate::invoker::parse_invoker;
use crate::packed;
use crate::plan::Scope;
use crate::settings::{SettingsPlan, parse_settings};
use crate::source::{MAX_FILE_BYTES, SourceId, SourceMap};

use directory::{Directory, read_file};

/// Ensembles of one root.
pub const MAX_DESCRIPTORS: usize = 4_000;
/// Bytes of all files of one root: of a project, which is read before anybody has trusted it, and of another.
const MAX_PROJECT_BYTES: usize = 4 * 1024 * 1024;
const MAX_ROOT_BYTES: usize = 32 * 1024 * 1024;
/// Files of one root that could not be read, after which no more are tried.
const MAX_UNREADABLE: usize = 100;

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
    let is_ours = std::ptr::eq(shipped, crate::shipped::shipped());
    let packed = is_ours.then(packed::load).flatten();
    let mut loaded = packed.unwrap_or_else(|| load_texts(shipped));
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

/// Reads the texts themselves, whether or not they are packed too.
pub(crate) fn load_texts(shipped: &[(&str, &str)]) -> Loaded {
    let mut loaded = Loaded { sources: SourceMap::new(), descriptors: Vec::new(), diagnostics: Vec::new() };
    loaded.shelf(&Embedded { files: shipped });
    loaded
}

/// Reads a settings file; `None` if there is none.
pub fn load_settings(
    sources: &mut SourceMap,
    path: &Path,
    shown: &str,
    scope: Scope,
) -> Checked<Option<SettingsPlan>> {
    match read_file(path, MAX_FILE_BYTES) {
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
    /// A file by its path below the root; of one larger than `most` bytes at least one byte more than these.
    fn read(&self, path: &str, most: usize) -> Result<Vec<u8>, (Code, String)>;
}

/// What may still be read of one root.
struct Budget {
    most: usize,
    left: usize,
    unreadable: usize,
    /// A file did not fit, or too many are not there, which has been told: nothing more is read.
    spent: bool,
}

impl Budget {
    fn of(scope: Scope) -> Self {
        let most = if scope == Scope::Project { MAX_PROJECT_BYTES } else { MAX_ROOT_BYTES };
        Self { most, left: most, unreadable: 0, spent: false }
    }
}

impl Loaded {
    fn shelf(&mut self, shelf: &dyn Shelf) {
        let mut budget = Budget::of(shelf.scope());
        for name in shelf.names() {
            if budget.spent {
                break;
            }
            let Some(id) = self.file(shelf, &name, &mut budget) else { continue };
            let Checked { value: mut descriptor, diagnostics } = parse_ensemble(&self.sources, id);
            self.diagnostics.extend(diagnostics);
            self.invokers(shelf, &name, &mut descriptor, &mut budget);
            self.descriptors.push(descriptor);
        }
    }

    /// `name` is the file that names them.
    fn invokers(
        &mut self,
        shelf: &dyn Shelf,
        name: &str,
        descriptor: &mut EnsembleDescriptor,
        budget: &mut Budget,
    ) {
        for entry in &mut descriptor.invokers {
            let Some(source) = &entry.source else { continue };
            let before = self.diagnostics.len();
            if budget.spent {
                break;
            }
            if source.value == name {
                let message = "`source` names this very file, which declares an ensemble and no invoker";
                self.diagnostics.push(Diagnostic::error(Code::BadSource, source.span, message));
            } else if let Some(id) = self.file(shelf, &source.value, budget) {
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
    fn file(&mut self, shelf: &dyn Shelf, path: &str, budget: &mut Budget) -> Option<SourceId> {
        let shown = shelf.shown(path);
        if budget.unreadable >= MAX_UNREADABLE {
            budget.spent = true;
            let id = self.sources.add(shown, shelf.scope(), "");
            let message =
                format!("neither this nor what follows is read: {MAX_UNREADABLE} files could not be");
            self.diagnostics.push(Diagnostic::error(Code::MoreProblems, Place::File(id), message));
            return None;
        }
        let bytes = match shelf.read(path, budget.left.min(MAX_FILE_BYTES)) {
            Ok(bytes) => bytes,
            Err((code, reason)) => {
                budget.unreadable += 1;
                let id = self.sources.add(shown, shelf.scope(), "");
                self.diagnostics.push(Diagnostic { code, ..unreadable(id, &reason) });
                return None;
            }
        };
        let Some(rest) = budget.left.checked_sub(bytes.len()) else {
            budget.spent = true;
            let id = self.sources.add(shown, shelf.scope(), "");
            let most = budget.most;
            let message = format!(
                "neither this nor what follows is read: the files have more than {most} bytes together"
            );
            self.diagnostics.push(Diagnostic::error(Code::TooLarge, Place::File(id), message));
            return None;
        };
        budget.left = rest;
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

    fn read(&self, path: &str, _most: usize) -> Result<Vec<u8>, (Code, String)> {
        let file = self.files.iter().find(|(name, _)| *name == path);
        file.map(|(_, text)| text.as_bytes().to_vec())
            .ok_or_else(|| (Code::Unreadable, "there is no such file".to_owned()))
    }
}

#[cfg(test)]
mod tests;
