//! `reads`, `writes` and `network` of a command, as written: what its sandbox leaves open.
//!
//! The paths are plain text, for the same reason as `cwd`. Whether a project may name such a place is left to `resolve`.

use crate::Code;
use crate::diagnostic::Diagnostic;
use crate::escape::quoted;
use crate::source::{Span, Spanned};
use crate::table::Table;

/// Paths of one list.
pub(crate) const MAX_OPENINGS: usize = 64;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct OpeningsDescriptor {
    /// Where the first of the keys stands.
    pub span: Option<Span>,
    pub reads: Vec<Spanned<String>>,
    pub writes: Vec<Spanned<String>>,
    pub network: Option<Spanned<bool>>,
}

impl OpeningsDescriptor {
    pub(crate) fn read(table: &Table<'_, '_>) -> Self {
        let keys = ["reads", "writes", "network"].into_iter().filter_map(|key| table.key_span(key));
        Self {
            span: keys.min_by_key(|span| span.start),
            reads: paths(table, "reads"),
            writes: paths(table, "writes"),
            network: table.boolean("network"),
        }
    }
}

fn paths(table: &Table<'_, '_>, key: &'static str) -> Vec<Spanned<String>> {
    let mut paths = table.strings(key).map(|paths| paths.value).unwrap_or_default();
    if let Some(beyond) = paths.get(MAX_OPENINGS) {
        let message = format!("more than {MAX_OPENINGS} paths in `{key}`");
        table.problems.push(Diagnostic::error(Code::TooMany, beyond.span, message).hint("name a directory"));
        paths.truncate(MAX_OPENINGS);
    }
    paths.retain(|path| match fault(&path.value) {
        None => true,
        Some((fault, hint)) => {
            let message = format!("{} in `{key}` {fault}", quoted(&path.value));
            table.problems.push(Diagnostic::error(Code::BadValue, path.span, message).hint(hint));
            false
        }
    });
    paths
}

fn fault(path: &str) -> Option<(&'static str, &'static str)> {
    if path.trim().is_empty() || path.contains('\0') {
        return Some(("is not a path", "name a file or a directory"));
    }
    if path.starts_with('~') {
        let hint = "write the whole path, or one relative to the directory converse is started in";
        return Some(("is taken as it is written: `~` is not expanded", hint));
    }
    let filled = path.contains(['$', '{']) || path.starts_with("env:");
    filled.then_some(("is a plain path: nothing is filled in", "write the path itself"))
}
