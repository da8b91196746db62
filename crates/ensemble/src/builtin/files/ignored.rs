//! What a repository's `.gitignore` files say is not worth looking at. A nearer file wins over a farther one.

use std::io::Read;
use std::path::{Path, PathBuf};

use cap_std::fs::Dir;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

const FILE: &str = ".gitignore";
/// Bytes that are read of one such file.
const MOST_READ: u64 = 256 * 1024;

/// The files of a directory and of those above it, the farthest first: one level for each part of the way.
#[derive(Debug, Default)]
pub(super) struct Ignored {
    levels: Vec<Option<Gitignore>>,
}

impl Ignored {
    /// Before the entries of a directory one step further down.
    pub(super) fn enter(&mut self, dir: &Dir) {
        self.levels.push(of(dir));
    }

    pub(super) fn leave(&mut self) {
        self.levels.pop();
    }

    /// `way` is the path from the first directory that was entered to an entry of the last.
    pub(super) fn holds(&self, way: &Path, is_dir: bool) -> bool {
        let parts: Vec<_> = way.iter().collect();
        for (depth, level) in self.levels.iter().enumerate().rev() {
            let Some(level) = level else { continue };
            let below: PathBuf = parts.iter().skip(depth).collect();
            match level.matched(&below, is_dir) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
        false
    }
}

/// `None` if there is no readable file.
fn of(dir: &Dir) -> Option<Gitignore> {
    // Nothing is opened that could block: a named pipe may have any name.
    if !dir.symlink_metadata(FILE).ok()?.is_file() {
        return None;
    }
    let mut text = Vec::new();
    dir.open(FILE).ok()?.take(MOST_READ).read_to_end(&mut text).ok()?;
    let mut builder = GitignoreBuilder::new("");
    for line in String::from_utf8_lossy(&text).lines() {
        // An invalid line is ignored.
        let _ = builder.add_line(None, line);
    }
    builder.build().ok()
}

#[cfg(test)]
mod tests {
    use cap_std::ambient_authority;

    use super::*;
    use crate::builtin::testing::TempDir;

    #[test]
    fn nearer_files_win() {
        let temp = TempDir::new();
        std::fs::create_dir(temp.path().join("sub")).unwrap();
        std::fs::write(temp.path().join(FILE), "*.log\n/target/\n").unwrap();
        std::fs::write(temp.path().join("sub").join(FILE), "!kept.log\n").unwrap();
        let root = Dir::open_ambient_dir(temp.path(), ambient_authority()).unwrap();
        let mut ignored = Ignored::default();
        ignored.enter(&root);
        assert!(ignored.holds(Path::new("a.log"), false) && ignored.holds(Path::new("target"), true));
        assert!(!ignored.holds(Path::new("target"), false), "only directories are meant");
        ignored.enter(&root.open_dir("sub").unwrap());
        assert!(
            ignored.holds(Path::new("sub/a.log"), false) && !ignored.holds(Path::new("sub/kept.log"), false)
        );
        assert!(!ignored.holds(Path::new("sub/target"), true), "the slash in front ties it to the top");
        ignored.leave();
        assert!(ignored.holds(Path::new("kept.log"), false));
    }
}
