//! Finds and reads descriptor and settings files. Only this module and its submodule read files.
//!
//! A root directory contains ensembles as `*.toml`; `source` names the files of their invokers below it. A file that
//! cannot be read is one diagnostic, and the others still load. Nothing outside the root is read, not even through a
//! symbolic link: otherwise a project could show any file of the machine in an error message.

mod directory;

use std::path::{Path, PathBuf};

use crate::Code;
use crate::diagnostic::{Checked, Diagnostic, Location, bounded};
use crate::ensemble::{EnsembleDescriptor, parse_ensemble};
use crate::invoker::parse_invoker;
use crate::packed::{self, Tests};
use crate::plan::Scope;
use crate::settings::{SettingsPlan, parse_settings};
use crate::source::{MAX_FILE_BYTES, SourceId, SourceMap};
use converse_text::escape::escape;

use directory::{Directory, read_file};

/// Limit on the ensembles of one root.
pub const MAX_DESCRIPTORS: usize = 4_000;
/// Limits on the bytes of all files of one root. A project is read before it is trusted.
const MAX_PROJECT_BYTES: usize = 4 * 1024 * 1024;
const MAX_ROOT_BYTES: usize = 32 * 1024 * 1024;
/// Limit on the unreadable files of one root; then reading stops.
const MAX_UNREADABLE: usize = 100;

/// A directory of ensembles and its scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    pub scope: Scope,
    pub dir: PathBuf,
    /// The directory as shown in messages.
    pub shown: String,
}

/// Everything found, in the order of the roots and file names.
#[derive(Debug)]
pub struct LoadedFiles {
    pub sources: SourceMap,
    pub descriptors: Vec<EnsembleDescriptor>,
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads all ensembles. A root that does not exist is empty, unless the user named it ([`Scope::Explicit`]).
pub fn load(roots: &[Root], shipped: &[(&str, &str)]) -> LoadedFiles {
    load_used(roots, shipped, None, Tests::Unpacked)
}

/// Like [`load`], for a run that calls tools but does not test them: shipped ensembles have no tests. One is left out if it
/// is not among the `named` ones and has no influence on another.
pub fn load_for_question(roots: &[Root], shipped: &[(&str, &str)], named: Option<&[String]>) -> LoadedFiles {
    load_used(roots, shipped, named, Tests::LeftOut)
}

fn load_used(
    roots: &[Root],
    shipped: &[(&str, &str)],
    named: Option<&[String]>,
    tests: Tests,
) -> LoadedFiles {
    let is_ours = std::ptr::eq(shipped, crate::shipped::shipped());
    is_ours.then(|| load_packed(roots, named, tests)).flatten().unwrap_or_else(|| {
        let mut loaded = load_texts(shipped);
        loaded.read_roots(roots);
        loaded
    })
}

/// Returns `None` if the packed data is damaged.
fn load_packed(roots: &[Root], named: Option<&[String]>, tests: Tests) -> Option<LoadedFiles> {
    let mut packed = packed::open()?;
    let sources = std::mem::take(&mut packed.sources);
    let mut loaded = LoadedFiles { sources, descriptors: Vec::new(), diagnostics: Vec::new() };
    loaded.read_roots(roots);
    let is_used = |name: &str| {
        named.is_none_or(|named| named.iter().any(|one| one == name))
            || loaded.descriptors.iter().any(|other| other.meets(name))
    };
    let shipped = packed.unpack(is_used, tests)?;
    loaded.descriptors.splice(0..0, shipped);
    Some(loaded)
}

/// Reads the given texts, never the packed form.
pub(crate) fn load_texts(shipped: &[(&str, &str)]) -> LoadedFiles {
    let mut loaded =
        LoadedFiles { sources: SourceMap::new(), descriptors: Vec::new(), diagnostics: Vec::new() };
    loaded.read_files(&Embedded { files: shipped });
    loaded
}

/// Reads a settings file; `None` if it does not exist.
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
    Diagnostic::error(Code::Unreadable, Location::File(id), message)
}

/// A source of descriptor files.
trait Files {
    fn scope(&self) -> Scope;
    fn shown(&self, path: &str) -> String;
    /// Returns the names of the ensemble files, sorted.
    fn names(&self) -> Vec<String>;
    /// Reads a file by its path below the root. Of a file larger than `most` bytes, at least one byte more is returned.
    fn read(&self, path: &str, most: usize) -> Result<Vec<u8>, (Code, String)>;
}

/// The remaining limits of one root.
struct Budget {
    most: usize,
    left: usize,
    unreadable: usize,
    /// A limit is exceeded and reported, so nothing more is read.
    spent: bool,
}

impl Budget {
    fn of(scope: Scope) -> Self {
        let most = if scope == Scope::Project { MAX_PROJECT_BYTES } else { MAX_ROOT_BYTES };
        Self { most, left: most, unreadable: 0, spent: false }
    }
}

impl LoadedFiles {
    fn read_roots(&mut self, roots: &[Root]) {
        for root in roots {
            match Directory::open(root) {
                Ok(Some(mut directory)) => {
                    directory.report_names(self);
                    self.read_files(&directory);
                }
                Ok(None) => {}
                Err(reason) => {
                    let id = self.sources.add(root.shown.clone(), root.scope, "");
                    self.diagnostics.push(unreadable(id, &reason));
                }
            }
        }
    }

    fn read_files(&mut self, files: &dyn Files) {
        let mut budget = Budget::of(files.scope());
        for name in files.names() {
            if budget.spent {
                break;
            }
            let Some(id) = self.file(files, &name, &mut budget) else { continue };
            let Checked { value: mut descriptor, diagnostics } = parse_ensemble(&self.sources, id);
            self.diagnostics.extend(diagnostics);
            self.invokers(files, &name, &mut descriptor, &mut budget);
            self.descriptors.push(descriptor);
        }
    }

    /// Reads the invoker files of one ensemble; `name` is the ensemble's file.
    fn invokers(
        &mut self,
        files: &dyn Files,
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
                let message = "`source` names this file itself, which declares an ensemble, not an invoker";
                self.diagnostics.push(Diagnostic::error(Code::BadSource, source.span, message));
            } else if let Some(id) = self.file(files, &source.value, budget) {
                let Checked { value, diagnostics } = parse_invoker(&self.sources, id);
                entry.invoker = Some(value);
                self.diagnostics.extend(diagnostics);
            } else if let Some(diagnostic) = self.diagnostics.last_mut() {
                // The file is missing, but the line that names it is where the problem can be fixed.
                if matches!(diagnostic.place, Location::File(_)) {
                    let file = escape(&files.shown(&source.value));
                    diagnostic.message = format!("`{}`: {}", bounded(&file, 200), diagnostic.message);
                    diagnostic.place = source.span.into();
                }
            }
            let found = self.diagnostics.get(before..).unwrap_or_default();
            descriptor.broken |= found.iter().any(Diagnostic::is_error);
        }
    }

    /// Reads one file, or reports why it cannot be read.
    fn file(&mut self, files: &dyn Files, path: &str, budget: &mut Budget) -> Option<SourceId> {
        let shown = files.shown(path);
        if budget.unreadable >= MAX_UNREADABLE {
            budget.spent = true;
            let id = self.sources.add(shown, files.scope(), "");
            let message = format!(
                "this file and the following files are not read: {MAX_UNREADABLE} files are unreadable"
            );
            self.diagnostics.push(Diagnostic::error(Code::MoreProblems, Location::File(id), message));
            return None;
        }
        let bytes = match files.read(path, budget.left.min(MAX_FILE_BYTES)) {
            Ok(bytes) => bytes,
            Err((code, reason)) => {
                budget.unreadable += 1;
                let id = self.sources.add(shown, files.scope(), "");
                self.diagnostics.push(Diagnostic { code, ..unreadable(id, &reason) });
                return None;
            }
        };
        let Some(rest) = budget.left.checked_sub(bytes.len()) else {
            budget.spent = true;
            let id = self.sources.add(shown, files.scope(), "");
            let most = budget.most;
            let message =
                format!("this file and the following files are not read: together they exceed {most} bytes");
            self.diagnostics.push(Diagnostic::error(Code::TooLarge, Location::File(id), message));
            return None;
        };
        budget.left = rest;
        self.sources
            .add_bytes(shown, files.scope(), &bytes)
            .map_err(|problem| self.diagnostics.push(problem))
            .ok()
    }
}

struct Embedded<'a> {
    files: &'a [(&'a str, &'a str)],
}

impl Files for Embedded<'_> {
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
            .ok_or_else(|| (Code::Unreadable, "the file does not exist".to_owned()))
    }
}

#[cfg(test)]
mod tests;
