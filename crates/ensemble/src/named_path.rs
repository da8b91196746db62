//! The file or directory that a call names, without symbolic links. It is found before the call is judged, so that rules
//! and questions are about the file and not about the text of its path.

use std::path::{Component, Path, PathBuf};

use converse_text::safe_line;
use serde_json::{Map, Value};

/// What a call does with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathUse {
    Read,
    List,
    Write,
}

/// A file or directory that a call names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedPath {
    /// The argument that names it.
    pub argument: String,
    /// As the arguments name it.
    pub written: String,
    /// The directory that the tool cannot leave, canonical.
    pub root: PathBuf,
    /// Canonical; the last parts of a path that will be written may not exist yet.
    pub path: PathBuf,
    pub used: PathUse,
    /// Whether the file looks like a private key.
    pub holds_key: bool,
}

/// Finds what the arguments of a tool name.
pub trait PathResolver: Send + Sync {
    /// Returns `None` if nothing is named, or if the call cannot reach what is named.
    fn resolve(&self, arguments: &Map<String, Value>) -> Option<NamedPath>;
}

impl NamedPath {
    /// Describes what the path in the arguments does not say: another root than the workspace, or a symbolic link. Returns
    /// `None` if the path says it all.
    pub(crate) fn notice(&self, workspace: Option<&Path>) -> Option<String> {
        let shown = |path: &Path| safe_line(&path.to_string_lossy(), usize::MAX);
        let elsewhere = workspace != Some(self.root.as_path());
        let as_written = lexical(&self.root.join(&self.written));
        if !elsewhere && as_written == self.path {
            return None;
        }
        let verb = match self.used {
            PathUse::Read => "reads",
            PathUse::List => "lists",
            PathUse::Write => "writes",
        };
        let root = if elsewhere { format!(" (root: {})", shown(&self.root)) } else { String::new() };
        Some(format!("{verb}: {}{root}", shown(&self.path)))
    }
}

/// Returns the path without `.`, and without `..` as far as the text alone allows.
pub(crate) fn lexical(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if plain.file_name().is_some() => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

/// The path without symbolic links as far as it exists, and the rest as it stands.
pub(crate) fn canonical(path: &Path) -> PathBuf {
    path.ancestors()
        .find_map(|ancestor| {
            let real = ancestor.canonicalize().ok()?;
            let rest = path.strip_prefix(ancestor).ok()?;
            Some(if rest.as_os_str().is_empty() { real } else { real.join(rest) })
        })
        .unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_names_the_root_and_the_file_behind_a_link() {
        let notice = |written: &str, root: &str, path: &str| {
            let (argument, written) = ("path".to_owned(), written.to_owned());
            let (root, path) = (root.into(), path.into());
            NamedPath { argument, written, root, path, used: PathUse::Read, holds_key: false }
                .notice(Some(Path::new("/w")))
        };
        for (written, root, path, told) in [
            ("a/b", "/w", "/w/a/b", None),
            ("./a/../b", "/w", "/w/b", None),
            ("/w/a", "/w", "/w/a", None),
            (".", "/w", "/w", None),
            ("a", "/w", "/w/.env", Some("reads: /w/.env")),
            ("etc/passwd", "/", "/etc/passwd", Some("reads: /etc/passwd (root: /)")),
            ("x", "/w/notes", "/w/notes/x", Some("reads: /w/notes/x (root: /w/notes)")),
        ] {
            assert_eq!(notice(written, root, path).as_deref(), told, "{written}");
        }
    }
}
