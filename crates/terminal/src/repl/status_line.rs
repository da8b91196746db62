//! The line above the prompt: what is left, what it cost, what is connected, where one is.

use std::io::Read as _;
use std::path::Path;

use converse_config::StatusValue;
use converse_session::files::open_regular;
use converse_text::safe_line;
use converse_text::wording::counted;

use super::session::ReplSession;

/// Maximum characters of a value.
const VALUE: usize = 60;
/// Bytes that are read of a file of git.
const LINE: u64 = 4096;
/// Characters of a commit that is checked out without a branch.
const COMMIT: usize = 7;

impl ReplSession<'_> {
    /// Shows the line as the settings describe it, unless it is the one that was last shown.
    pub(super) fn shows_status(&mut self) {
        if self.view.is_plain() {
            return;
        }
        let context = self.status.shows(StatusValue::Context).then(|| self.context_left()).flatten();
        let value = |which| match which {
            StatusValue::Model => Some(self.settings.model.id.clone()),
            StatusValue::Context => context.clone(),
            StatusValue::Cost => self.tally.dollars(),
            StatusValue::Mode => Some(self.mode_name().to_owned()),
            StatusValue::Servers => match self.connected.surveys().len() {
                0 => None,
                count => Some(counted(count, "server")),
            },
            StatusValue::Branch => self.world.project_root().and_then(branch),
            StatusValue::Directory => {
                self.world.cwd.file_name().map(|name| name.to_string_lossy().into_owned())
            }
        };
        let parts = self.status.parts(|which| value(which).map(|value| safe_line(&value, VALUE)));
        if parts != self.shown_status {
            self.view.note_parts(&parts);
            self.shown_status = parts;
        }
    }

    /// The share of the context window that the next request leaves, once something was said.
    fn context_left(&mut self) -> Option<String> {
        if !self.conversation.went_on {
            return None;
        }
        let left: f64 = 1.0 - self.filled().share()?;
        Some(format!("{:.0} % context left", (left.max(0.0) * 100.0).floor()))
    }
}

/// The branch of the repository at `root`, or the beginning of the commit that is checked out.
/// <https://git-scm.com/docs/gitrepository-layout> (checked 2026-11)
fn branch(root: &Path) -> Option<String> {
    let git = root.join(".git");
    let head = match first_line(&git) {
        Some(line) => root.join(line.strip_prefix("gitdir:")?.trim()).join("HEAD"),
        None => git.join("HEAD"),
    };
    let line = first_line(&head)?;
    match line.strip_prefix("ref:") {
        Some(named) => named.trim().strip_prefix("refs/heads/").map(str::to_owned),
        None => line.get(..COMMIT).map(str::to_owned),
    }
}

fn first_line(path: &Path) -> Option<String> {
    let mut text = String::new();
    open_regular(path).ok()?.take(LINE).read_to_string(&mut text).ok()?;
    text.lines().next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use converse_host::world::World;

    use super::*;

    #[test]
    fn a_branch_is_found_in_a_repository_and_in_a_linked_work_tree() {
        let temp = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = temp.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("main/.git/HEAD", "ref: refs/heads/feature/one\n");
        write("main/.git/worktrees/tree/HEAD", "0123456789abcdef\n");
        write("tree/.git", "gitdir: ../main/.git/worktrees/tree\n");
        write("bare/.git/HEAD", "");
        write("odd/.git", "elsewhere\n");
        for path in ["main/src", "bare", "tree", "odd"] {
            std::fs::create_dir_all(temp.path().join(path)).unwrap();
        }
        let (here, _) = World::snapshot().unwrap();
        for (path, expected) in [
            ("main/src", Some("feature/one")),
            ("main", Some("feature/one")),
            ("tree", Some("0123456")),
            ("bare", None),
            ("odd", None),
        ] {
            let world = World { cwd: temp.path().join(path), ..here.clone() };
            assert_eq!(world.project_root().and_then(branch).as_deref(), expected, "{path}");
        }
    }
}
