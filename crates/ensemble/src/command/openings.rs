//! The paths that a sandbox opens: canonical, and without any files of converse.
//!
//! A directory is opened with everything below it, so a directory that holds files of converse cannot be opened.

use std::path::{Component, Path, PathBuf};

use converse_config::SandboxAccess;
use converse_process::ScratchDir;

use super::repository::repository;
use crate::builtin::objection;
use crate::path_class::{may_be_executed, plain};

/// Limit on the entries of a directory in `writes`. All paths are one word of a command line, at most 128 KiB on Linux.
const MAX_ENTRIES: usize = 256;

/// Instructions and skills for models, which act on them.
const ACTED_ON: [&str; 4] = ["agents.md", "claude.md", "gemini.md", ".agents"];

/// The places that decide what may be opened.
#[derive(Debug, Clone, Copy)]
pub(super) struct Places<'a> {
    pub(super) workspace: &'a Path,
    /// Whether only paths in the workspace may be opened, as for descriptors of a project.
    pub(super) inside: bool,
    /// The directory with reports of commands.
    pub(super) scratch: Option<&'a ScratchDir>,
    /// Places that must not be written to.
    pub(super) protected: &'a [PathBuf],
    /// Places that must not be read either.
    pub(super) private: &'a [PathBuf],
}

/// The open paths, in addition to those of the system.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Open {
    pub(super) reads: Vec<PathBuf>,
    pub(super) writes: Vec<PathBuf>,
}

impl Places<'_> {
    /// Returns the declared paths. The error says what cannot be opened and why.
    pub(super) fn declared(&self, openings: &SandboxAccess) -> Result<Open, String> {
        let reads = openings.reads.iter().map(|path| self.read(path)).collect::<Result<_, _>>()?;
        let mut writes = Vec::new();
        for path in &openings.writes {
            match all_in(path) {
                Some(directory) => writes.extend(self.entries(directory)?),
                None => writes.push(self.write(path)?),
            }
        }
        Ok(Open { reads, writes })
    }

    /// Returns what is in a directory now and may be written to. What is protected, what other programs or models
    /// act on, and a link that leads out of the workspace are left out.
    fn entries(&self, directory: &Path) -> Result<Vec<PathBuf>, String> {
        let shown = directory.display();
        let real = self.read(directory)?;
        let cannot = |error: std::io::Error| format!("`{shown}` cannot be listed: {error}");
        let mut open = Vec::new();
        for (number, entry) in real.read_dir().map_err(cannot)?.enumerate() {
            if number == MAX_ENTRIES {
                return Err(format!("`{shown}/*` cannot be opened: it has more than {MAX_ENTRIES} entries"));
            }
            let entry = entry.map_err(cannot)?.file_name();
            // A link is what it leads to.
            let written = self.write(&directory.join(entry)).ok();
            open.extend(written.filter(|path| !is_acted_on(path)));
        }
        open.sort();
        open.dedup();
        Ok(open)
    }

    /// Returns the paths that every command may read: its working directory, the repository around it, and the directory of
    /// its program. If the last one holds files of converse, only the file of the program.
    pub(super) fn unasked(&self, cwd: &Path, program: &Path) -> Vec<PathBuf> {
        let free = |path: &Path| path.parent().is_some() && !self.is_private(path);
        let within = |path: &Path| !self.inside || path.starts_with(self.workspace);
        let cwd = cwd.canonicalize().ok().filter(|cwd| within(cwd));
        let around = cwd.as_deref().map(repository).unwrap_or_default();
        let mut open: Vec<PathBuf> = cwd.into_iter().chain(around).filter(|place| free(place)).collect();
        open.dedup();
        if let Ok(real) = program.canonicalize() {
            // A project does not choose a directory by a link in it.
            let leaves = program.starts_with(self.workspace) && !within(&real);
            let directory = real.parent().filter(|directory| free(directory) && !leaves);
            open.push(directory.map(Path::to_path_buf).unwrap_or(real));
        }
        open
    }

    fn read(&self, path: &Path) -> Result<PathBuf, String> {
        let real = self.real(path)?;
        if self.is_private(&real) {
            return Err(format!("`{}` cannot be read: converse stores its own files there", path.display()));
        }
        Ok(real)
    }

    fn write(&self, path: &Path) -> Result<PathBuf, String> {
        let real = self.real(path)?;
        let near = self.scratch.is_some_and(|scratch| scratch.is_near(&real));
        let private = (near || self.is_private(&real)).then(|| "a place of converse's own".to_owned());
        match private.or_else(|| objection(self.protected, self.workspace, &real)) {
            Some(what) => Err(format!(
                "`{}` cannot be written to, because what is open is open with all that is in it: {what} is protected; \
                 open the directories below it that are needed",
                path.display()
            )),
            None => Ok(real),
        }
    }

    fn real(&self, path: &Path) -> Result<PathBuf, String> {
        let real = self.workspace.join(path).canonicalize();
        let real = real.map_err(|error| format!("`{}` cannot be opened: {error}", path.display()))?;
        if (self.inside || is_inner(path)) && !real.starts_with(self.workspace) {
            return Err(format!("`{}` cannot be opened: {}", path.display(), leads_out(&real)));
        }
        Ok(real)
    }

    /// Returns whether the path is a private place, lies in one or holds one.
    fn is_private(&self, path: &Path) -> bool {
        let real = |place: &PathBuf| place.canonicalize().unwrap_or_else(|_| place.clone());
        self.private.iter().map(real).any(|place| path.starts_with(&place) || place.starts_with(path))
    }
}

fn is_acted_on(path: &Path) -> bool {
    path.iter().any(|part| ACTED_ON.contains(&plain(part).as_str())) || may_be_executed(path)
}

/// Returns the directory of `directory/*`.
fn all_in(path: &Path) -> Option<&Path> {
    path.parent().filter(|directory| path.ends_with("*") && !directory.as_os_str().is_empty())
}

/// Returns whether the path as written stays in the workspace. Then a link in it must not lead outside: the author of
/// the repository made the link, and another person wrote the path.
fn is_inner(path: &Path) -> bool {
    path.is_relative() && !path.components().any(|part| part == Component::ParentDir)
}

fn leads_out(real: &Path) -> String {
    format!("it leads out of the workspace, to {}", real.display())
}

/// Returns the working directory of a command. The error says why it is not used.
pub(super) fn working_directory(workspace: &Path, cwd: Option<&Path>) -> Result<PathBuf, String> {
    let Some(cwd) = cwd else { return Ok(workspace.to_owned()) };
    let directory = workspace.join(cwd);
    match directory.canonicalize() {
        Ok(real) if is_inner(cwd) && !real.starts_with(workspace) => {
            Err(format!("the working directory `{}` is not used: {}", cwd.display(), leads_out(&real)))
        }
        // A directory that is missing is reported when the program is started.
        _ => Ok(directory),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::testing::TempDir;

    #[test]
    fn nothing_of_our_own_is_opened() {
        let temp = TempDir::new();
        let root = temp.path();
        for dir in [
            "work/src/.git",
            "work/out",
            "work/ensembles",
            "home/.config/converse/keys",
            "home/bin",
            "home/.config/other",
            "kept/deep",
            "temporary/other",
        ] {
            fs::create_dir_all(root.join(dir)).unwrap();
        }
        fs::write(root.join("home/tool"), "").unwrap();
        fs::write(root.join("home/bin/tool"), "").unwrap();
        std::os::unix::fs::symlink("../home", root.join("work/house")).unwrap();
        let at = |name: &str| root.join(name);
        let (protected, private) = ([at("kept")], [at("home/.config/converse"), at("home/.state/converse")]);
        let scratch = ScratchDir::make(&at("temporary")).unwrap();
        let places = Places {
            workspace: &at("work"),
            inside: false,
            scratch: Some(&scratch),
            protected: &protected,
            private: &private,
        };
        for (path, read, write) in [
            ("out", true, true),
            (".", true, false),
            ("src", true, false),
            ("src/.git", true, false),
            ("ensembles", true, false),
            ("house", false, false),
            ("house/bin", false, false),
            ("../home/bin", true, true),
            ("../home", false, false),
            ("../home/.config", false, false),
            ("../home/.config/other", true, true),
            ("../home/.config/converse/keys", false, false),
            ("../kept", true, false),
            ("../kept/deep", true, false),
            ("/", false, false),
            ("missing", false, false),
            ("../temporary", true, false),
            ("../temporary/other", true, true),
        ] {
            let path = PathBuf::from(path);
            let reads = SandboxAccess { reads: vec![path.clone()], ..SandboxAccess::default() };
            let writes = SandboxAccess { writes: vec![path.clone()], ..SandboxAccess::default() };
            assert_eq!(places.declared(&reads).is_ok(), read, "reads {path:?}");
            assert_eq!(places.declared(&writes).is_ok(), write, "writes {path:?}");
        }
        assert_eq!(
            places.unasked(&at("work"), &at("home/bin/tool")),
            [at("work"), at("home/bin")],
            "the directories"
        );
        assert_eq!(places.unasked(&at("home"), &at("home/tool")), [at("home/tool")], "not the home");
        let below = [at("work/src/deep"), at("work/src"), at("home/bin")];
        fs::create_dir(&below[0]).unwrap();
        assert_eq!(places.unasked(&below[0], &at("home/bin/tool")), below, "the repository");
        fs::create_dir(at("home/.git")).unwrap();
        let below = [at("home/.config/other"), at("home/bin")];
        assert_eq!(places.unasked(&below[0], &at("home/bin/tool")), below, "not the home, a repository too");
        assert_eq!(places.unasked(Path::new("/"), Path::new("/missing")), [] as [PathBuf; 0]);
    }

    #[test]
    fn all_entries_of_a_directory_are_those_that_may_be_written_to() {
        let temp = TempDir::new();
        let root = temp.path().canonicalize().unwrap();
        let at = |name: &str| root.join(name);
        for dir in [
            "work/src",
            "work/.git/hooks",
            "work/ensembles",
            "work/part/.git",
            "home/own",
            "kept",
            "work/.github",
        ] {
            fs::create_dir_all(at(dir)).unwrap();
        }
        for file in [
            "work/a.txt",
            "work/converse.toml",
            "work/ensembles.lock",
            "work/.envrc",
            "work/guarded",
            "work/AGENTS.md",
            "work/Makefile",
        ] {
            fs::write(at(file), "").unwrap();
        }
        for (target, link) in [
            ("../kept", "out"),
            ("src", "inner"),
            (".git", "git"),
            (".", "self"),
            ("Makefile", "make"),
            ("gone", "gone"),
        ] {
            std::os::unix::fs::symlink(target, at("work").join(link)).unwrap();
        }
        let (protected, private) = ([at("work/guarded")], [at("home/own")]);
        let opened = |workspace: &str, path: &str| {
            let workspace = at(workspace);
            let places = Places {
                workspace: &workspace,
                inside: false,
                scratch: None,
                protected: &protected,
                private: &private,
            };
            let writes = SandboxAccess { writes: vec![path.into()], ..SandboxAccess::default() };
            places.declared(&writes).map(|open| open.writes)
        };
        assert_eq!(opened("work", "./*"), Ok(vec![at("work/a.txt"), at("work/src")]));
        assert_eq!(opened("work", "src/*"), Ok(vec![]));
        assert!(opened("work", "*").is_err(), "a file of this name");
        assert!(opened("work", "gone/*").is_err() && opened("work", "out/*").is_err());
        assert!(opened("home", "./*").is_err(), "a home");
        for number in 0..MAX_ENTRIES {
            fs::write(at("work/src").join(number.to_string()), "").unwrap();
        }
        assert_eq!(opened("work", "src/*").unwrap().len(), MAX_ENTRIES);
        fs::write(at("work/src/more"), "").unwrap();
        assert!(opened("work", "src/*").is_err());
    }

    #[test]
    fn a_relative_path_opens_nothing_outside() {
        let temp = TempDir::new();
        let root = temp.path();
        for dir in ["work/out", "home/keys"] {
            fs::create_dir_all(root.join(dir)).unwrap();
        }
        fs::write(root.join("home/keys/tool"), "").unwrap();
        let at = |name: &str| root.join(name);
        for (target, link) in [("../home/keys", "keys"), ("out", "inner"), ("../home/keys/tool", "tool")] {
            std::os::unix::fs::symlink(target, at("work").join(link)).unwrap();
        }
        let work = at("work");
        let outside = at("home/keys");
        for (inside, opens, unasked) in
            [(false, true, vec![outside.clone(), outside]), (true, false, vec![at("home/keys/tool")])]
        {
            let places = Places { workspace: &work, inside, scratch: None, protected: &[], private: &[] };
            for (path, open) in [
                ("keys", false),
                ("keys/tool", false),
                ("../home/keys", opens),
                ("inner", true),
                ("out", true),
            ] {
                let reads = SandboxAccess { reads: vec![path.into()], ..SandboxAccess::default() };
                let writes = SandboxAccess { writes: vec![path.into()], ..SandboxAccess::default() };
                assert_eq!(places.declared(&reads).is_ok(), open, "reads {path}, {inside}");
                assert_eq!(places.declared(&writes).is_ok(), open, "writes {path}, {inside}");
            }
            assert_eq!(places.unasked(&at("work/keys"), &at("work/tool")), unasked);
        }
        for (cwd, used) in
            [("keys", false), ("inner", true), ("out", true), ("../home/keys", true), ("missing", true)]
        {
            assert_eq!(working_directory(&work, Some(Path::new(cwd))).is_ok(), used, "cwd {cwd}");
        }
    }
}
