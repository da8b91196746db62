//! The repository of git around a directory, which git and those who ask it read whole.
//!
//! <https://git-scm.com/docs/gitrepository-layout> (checked 2026-11)

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// No path is longer, and no configuration is read further.
const MOST: u64 = 64 * 1024;

/// The repository around a directory.
#[derive(Debug, PartialEq, Eq)]
enum Repository {
    None,
    /// The directory with the `.git`; in a linked work tree or a submodule also where that leads.
    Own(Vec<PathBuf>),
    /// The `.git` of this directory leads to a repository that does not know the directory.
    Foreign {
        root: PathBuf,
        leads_to: PathBuf,
    },
}

/// The nearest ancestor of `cwd` (canonical), or itself, that holds a `.git`; where that is a file, as in a linked work
/// tree or a submodule, also where it leads.
pub(super) fn repository(cwd: &Path) -> Vec<PathBuf> {
    match look(cwd) {
        Repository::None => Vec::new(),
        Repository::Own(places) => places,
        Repository::Foreign { root, .. } => vec![root],
    }
}

/// Why git must not run in `cwd`, if it must not: it would read a repository that another person's project points to.
pub(super) fn objection_to_git(cwd: &Path) -> Option<String> {
    match look(&cwd.canonicalize().ok()?) {
        Repository::None | Repository::Own(_) => None,
        Repository::Foreign { root, leads_to } => Some(format!(
            "git is not run: the `.git` of {} leads to the repository {}, which does not name it as a work tree or submodule",
            root.display(),
            leads_to.display()
        )),
    }
}

fn look(cwd: &Path) -> Repository {
    let Some(root) = cwd.ancestors().find(|place| place.join(".git").symlink_metadata().is_ok()) else {
        return Repository::None;
    };
    let own = || Repository::Own(vec![root.to_owned()]);
    let foreign =
        |leads_to: &Path| Repository::Foreign { root: root.to_owned(), leads_to: leads_to.to_owned() };
    let Ok(git) = root.join(".git").canonicalize() else { return own() };
    let named = if git.is_dir() {
        Some(git.clone())
    } else {
        line(&git).and_then(|line| led(root, line.strip_prefix("gitdir:")?))
    };
    // Git reports what leads nowhere.
    let Some(named) = named else { return own() };
    let shared = led(&named, &line(&named.join("commondir")).unwrap_or_default());
    if !is_of(&named, root, &git) {
        return foreign(&named);
    }
    if let Some(shared) = shared.as_ref().filter(|shared| !shares(shared, &named, root)) {
        return foreign(shared);
    }
    if git.is_dir() {
        return own();
    }
    // What is led to must look like a repository: the file came with the project, and may name any place.
    let named = Some(named).filter(|named| named.join("HEAD").is_file());
    let whole = |place: &PathBuf| {
        place.join("HEAD").is_file() && place.join("objects").is_dir() && place.join("refs").is_dir()
    };
    let shared = shared.filter(|shared| named.is_some() && whole(shared));
    // One that shares nothing must be whole by itself.
    let named = named.filter(|named| shared.is_some() || whole(named));
    Repository::Own([root.to_owned()].into_iter().chain(named).chain(shared).collect())
}

/// Does a directory of git belong to the work tree `root`? It is below it, or it names it: a linked work tree in `gitdir`,
/// a submodule in `core.worktree`.
fn is_of(named: &Path, root: &Path, git: &Path) -> bool {
    let is_below = named.starts_with(root);
    is_below
        || led(named, &line(&named.join("gitdir")).unwrap_or_default()).as_deref() == Some(git)
        || worktree(named).as_deref() == Some(root)
}

/// Does a repository share its objects with a directory of git? It holds it among its work trees, or both are below `root`.
fn shares(shared: &Path, named: &Path, root: &Path) -> bool {
    shared.starts_with(root) || named.parent() == Some(&shared.join("worktrees"))
}

/// `core.worktree`.
fn worktree(named: &Path) -> Option<PathBuf> {
    let text = text(&named.join("config"))?;
    let value = |line: &str| {
        let (key, value) = line.split_once('=')?;
        key.trim().eq_ignore_ascii_case("worktree").then(|| value.trim().trim_matches('"').to_owned())
    };
    led(named, &text.lines().find_map(value)?)
}

fn led(from: &Path, to: &str) -> Option<PathBuf> {
    let to = to.trim();
    if to.is_empty() { None } else { from.join(to).canonicalize().ok() }
}

fn line(path: &Path) -> Option<String> {
    text(path)?.lines().next().map(str::to_owned)
}

/// Of a regular file: a pipe would keep us waiting.
fn text(path: &Path) -> Option<String> {
    let mut text = String::new();
    path.metadata().ok().filter(|metadata| metadata.is_file())?;
    File::open(path).ok()?.take(MOST).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::testing::TempDir;

    #[test]
    fn it_is_found_from_below_and_followed_only_to_repositories() {
        let temp = TempDir::new();
        let root = temp.path().canonicalize().unwrap();
        for dir in [
            "main/.git/objects",
            "main/.git/refs",
            "main/.git/worktrees/tree",
            "main/src/deep",
            "tree/src",
            "keys",
            "away/src",
            "half/own",
            "none",
        ] {
            fs::create_dir_all(root.join(dir)).unwrap();
        }
        for (file, text) in [
            ("main/.git/HEAD", ""),
            ("main/.git/worktrees/tree/HEAD", ""),
            ("main/.git/worktrees/tree/commondir", "../..\n"),
            ("main/.git/worktrees/tree/gitdir", "../../../../tree/.git\n"),
            ("tree/.git", "gitdir: ../main/.git/worktrees/tree\n"),
            ("away/.git", "gitdir: ../keys\n"),
            ("half/.git", "gitdir: own\n"),
            ("half/own/HEAD", ""),
            ("half/own/commondir", "../../keys\n"),
        ] {
            fs::write(root.join(file), text).unwrap();
        }
        for (cwd, open) in [
            ("main/src/deep", &["main"][..]),
            ("main", &["main"]),
            ("tree/src", &["tree", "main/.git/worktrees/tree", "main/.git"]),
            ("away/src", &["away"]),
            ("half", &["half"]),
        ] {
            let open: Vec<_> = open.iter().map(|path| root.join(path)).collect();
            assert_eq!(repository(&root.join(cwd)), open, "{cwd}");
        }
        for dir in [
            "stolen",
            "linked",
            "inner/fake",
            "sub",
            "main/.git/modules/sub/objects",
            "main/.git/modules/sub/refs",
        ] {
            fs::create_dir_all(root.join(dir)).unwrap();
        }
        std::os::unix::fs::symlink("../main/.git", root.join("linked/.git")).unwrap();
        for (file, text) in [
            ("stolen/.git", "gitdir: ../main/.git\n"),
            ("inner/.git", "gitdir: fake\n"),
            ("inner/fake/gitdir", "../.git\n"),
            ("inner/fake/commondir", "../../main/.git\n"),
            ("sub/.git", "gitdir: ../main/.git/modules/sub\n"),
            ("main/.git/modules/sub/HEAD", ""),
            ("main/.git/modules/sub/config", "[core]\n\tworktree = ../../../../sub\n"),
        ] {
            fs::write(root.join(file), text).unwrap();
        }
        for (cwd, refused) in [
            ("main/src", false),
            ("tree/src", false),
            ("sub", false),
            ("none", false),
            ("stolen", true),
            ("linked", true),
            ("inner", true),
            ("away/src", true),
            ("half", true),
        ] {
            assert_eq!(objection_to_git(&root.join(cwd)).is_some(), refused, "{cwd}");
        }
        let sub = ["sub", "main/.git/modules/sub"].map(|path| root.join(path));
        assert_eq!(repository(&root.join("sub")), sub);
        assert_eq!(repository(&root.join("stolen")), [root.join("stolen")]);
        assert!(!repository(&root.join("none")).iter().any(|path| path.starts_with(&root)));
    }
}
