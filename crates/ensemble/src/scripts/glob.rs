//! The files that a pattern of a shell matches now.

use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

/// Returns whether a shell would expand this word.
pub(super) fn is_pattern(name: &str) -> bool {
    name.contains(['*', '?', '['])
}

/// Returns the paths below `root` that the pattern matches; `None` if there are more than `most`.
pub(super) fn matches(pattern: &Path, root: &Path, most: usize) -> Option<Vec<PathBuf>> {
    let mut found = vec![PathBuf::new()];
    for part in pattern.components() {
        let pattern = match part {
            Component::Normal(part) => part.to_str().filter(|part| is_pattern(part)).and_then(matcher),
            _ => None,
        };
        let Some(pattern) = pattern else {
            found.iter_mut().for_each(|path| path.push(part));
            continue;
        };
        let mut next = Vec::new();
        for directory in &found {
            // Nothing outside of the project counts, so nothing there is listed.
            let inside = directory.canonicalize().is_ok_and(|directory| directory.starts_with(root));
            let entries = inside.then(|| fs::read_dir(directory).ok()).flatten();
            for entry in entries.into_iter().flatten().flatten() {
                if pattern.is_match(Path::new(OsStr::new(&entry.file_name()))) {
                    next.push(entry.path());
                }
                if next.len() > most {
                    return None;
                }
            }
        }
        found = next;
    }
    Some(found)
}

/// Returns whether the path is one that the pattern may match.
pub(crate) fn is_match(pattern: &str, path: &Path) -> bool {
    is_pattern(pattern) && matcher(pattern).is_some_and(|pattern| pattern.is_match(path))
}

/// Returns `None` for an invalid pattern, which a shell takes as it is.
fn matcher(pattern: &str) -> Option<GlobMatcher> {
    let glob = GlobBuilder::new(pattern).literal_separator(true).build();
    glob.ok().map(|glob| glob.compile_matcher())
}
