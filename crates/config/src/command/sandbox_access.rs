//! `reads`, `writes` and `network` of a command: what its sandbox allows in addition.
//!
//! The paths are plain text, like `cwd`. `resolve` checks which paths a project may name.

use crate::Code;
use crate::diagnostic::{Diagnostic, quoted};
use crate::source::{Span, Spanned};
use crate::table::Table;

/// Limit on the paths of one list.
pub(crate) const MAX_ACCESS_PATHS: usize = 64;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct SandboxAccessDescriptor {
    /// Position of the first of these keys.
    pub span: Option<Span>,
    pub reads: Vec<Spanned<String>>,
    pub writes: Vec<Spanned<String>>,
    pub network: Option<Spanned<bool>>,
}

impl SandboxAccessDescriptor {
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
    if let Some(beyond) = paths.get(MAX_ACCESS_PATHS) {
        let message = format!("more than {MAX_ACCESS_PATHS} paths in `{key}`");
        table.problems.push(Diagnostic::error(Code::TooMany, beyond.span, message).hint("name a directory"));
        paths.truncate(MAX_ACCESS_PATHS);
    }
    paths.retain(|path| match fault(&path.value) {
        None => true,
        Some((fault, hint)) => {
            let message = format!("{} in `{key}` {fault}", quoted(&path.value));
            table.problems.bad_value(path.span, message, hint);
            false
        }
    });
    paths
}

fn fault(path: &str) -> Option<(&'static str, &'static str)> {
    if path.trim().is_empty() || path.contains('\0') {
        return Some(("is not a path", "write the path of a file or directory, such as `\"data\"`"));
    }
    if path.starts_with('~') {
        let hint = "write an absolute path, or a path relative to the directory where converse starts, such as `\"data\"`";
        return Some(("begins with `~`, which is not expanded", hint));
    }
    let filled = path.contains(['$', '{']) || path.starts_with("env:");
    filled.then_some((
        "contains a placeholder, which is not filled in here",
        "write a plain path, such as `\"data\"`",
    ))
}
