//! [`Scripts`]: files of a project that its commands would run. The host includes them in what is trusted; otherwise a script
//! could be replaced while its command line stays the same.
//!
//! Every part of a word or variable value that leads to a file or directory below the project's root counts. A link
//! counts by its target's name and is not followed out of the project. The interpreter in the first line of a script and
//! the files that a pattern matches count too. Files that a script reads in turn (modules, packages) cannot be known.

mod glob;
mod interpreter;
mod lead;
mod names;
mod variables;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use converse_config::{EnsemblePlan, Environment};

use lead::{End, lead};
use names::commands;

pub use names::CommandLine;
pub(crate) use variables::decides_code;

/// Number of names checked, of all commands together.
const MAX_NAMES: usize = 20_000;

/// Interpreters that are scripts with an interpreter in turn. The kernel stops after 5 (`exec_binprm`, linux 6.12).
const MAX_INTERPRETERS: usize = 5;

/// Extensions that programs add to a name.
const ENDINGS: [&str; 6] = [".js", ".cjs", ".mjs", ".ts", ".py", ".rb"];

/// Files named by the commands of some plans, as paths below the project's root.
#[derive(Debug, Default)]
pub struct Scripts {
    pub files: BTreeSet<PathBuf>,
    pub directories: BTreeSet<PathBuf>,
    /// Names of files that do not exist yet.
    pub missing: BTreeSet<PathBuf>,
    /// Links with their targets as written.
    pub links: BTreeSet<(PathBuf, PathBuf)>,
    /// Whether a command gets the project as a whole.
    pub whole: bool,
    /// Why it cannot be determined what would run.
    pub unknown: Option<String>,
    looked: usize,
    /// Depth of the interpreter that is being resolved.
    interpreters: usize,
}

impl Scripts {
    /// Resolves names. Of files, only the first line is read. `root` is canonical.
    pub fn of<'a>(
        plans: impl IntoIterator<Item = &'a EnsemblePlan>,
        root: &Path,
        environment: &Environment,
    ) -> Self {
        Self::of_commands(plans.into_iter().flat_map(|plan| commands(plan, environment)), root)
    }

    /// Resolves the names of command lines together.
    pub fn of_commands<'a>(commands: impl IntoIterator<Item = CommandLine<'a>>, root: &Path) -> Self {
        let mut scripts = Self::default();
        for command in commands {
            scripts.look(&command, root);
        }
        scripts
    }

    /// Resolves the names of each command separately.
    pub fn each<'a>(
        plans: impl IntoIterator<Item = &'a EnsemblePlan>,
        root: &Path,
        environment: &Environment,
    ) -> Vec<Self> {
        let commands = plans.into_iter().flat_map(|plan| commands(plan, environment));
        commands.map(|command| Self::of_commands([command], root)).collect()
    }

    /// Returns files below `root` that no tool may write to while these commands can run.
    pub fn protected(&self, root: &Path) -> impl Iterator<Item = PathBuf> {
        self.files.iter().chain(&self.missing).map(|path| root.join(path))
    }

    fn look(&mut self, command: &CommandLine<'_>, root: &Path) {
        let dir = command.cwd.map_or_else(|| root.to_path_buf(), |cwd| root.join(cwd));
        let is_root = |name: &str| lead(&dir.join(name), root).end == End::Root;
        if command.runs().is_some_and(is_root) {
            let program = command.words.first().map(String::as_str).unwrap_or_default();
            self.unknown =
                Some(format!("`{program}` would run the project's whole directory; name the file in it"));
        }
        let mut deciding = command.environment.iter().filter(|(name, _)| decides_code(name));
        if let Some((name, _)) =
            deciding.find(|(_, value)| value.split(':').any(|part| !part.is_empty() && is_root(part)))
        {
            self.unknown = Some(format!("`{name}` names the project's whole directory; name one in it"));
        }
        for name in command.names() {
            self.looked += 1;
            if self.looked > MAX_NAMES {
                self.unknown = Some(format!("its commands name more than {MAX_NAMES} places"));
                return;
            }
            self.add(&name, &dir, root);
        }
    }

    fn add(&mut self, name: &str, dir: &Path, root: &Path) {
        if self.found(&dir.join(name), dir, root, is_path(name)) {
            return;
        }
        if glob::is_pattern(name) {
            let left = MAX_NAMES.saturating_sub(self.looked);
            let Some(matches) = glob::matches(&dir.join(name), root, left) else {
                self.unknown = Some(format!("its commands name more than {MAX_NAMES} places"));
                return;
            };
            self.looked += matches.len();
            for path in matches {
                self.found(&path, dir, root, false);
            }
        }
        for ending in ENDINGS {
            self.found(&dir.join(format!("{name}{ending}")), dir, root, name.contains('/'));
        }
    }

    /// Adds what the path leads to, and the interpreter of a script. `dir` is the working directory of the command.
    /// Returns whether the path exists.
    fn found(&mut self, path: &Path, dir: &Path, root: &Path, named: bool) -> bool {
        let lead = lead(path, root);
        self.links.extend(lead.links);
        match lead.end {
            End::File(file) => {
                let words = interpreter::words(&root.join(&file));
                if self.files.insert(file) && self.interpreters < MAX_INTERPRETERS {
                    self.interpreters += 1;
                    for word in words {
                        self.found(&dir.join(&word), dir, root, is_path(&word));
                    }
                    self.interpreters -= 1;
                }
            }
            End::Directory(directory) => drop(self.directories.insert(directory)),
            End::Root => self.whole = true,
            End::Missing(place) => {
                if named {
                    self.missing.insert(place);
                }
                return false;
            }
            End::Other => {}
        }
        true
    }
}

/// Returns the path without links, in words if there is none.
pub fn leads_to(path: &str) -> String {
    let found = Path::new(path).canonicalize();
    found.map_or_else(|_| "nothing".to_owned(), |found| found.to_string_lossy().into_owned())
}

/// A word without a slash may be anything.
fn is_path(name: &str) -> bool {
    !name.starts_with('-') && name.contains(['/', '.'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looked(words: &[&str], environment: &[(&str, &str)], root: &Path) -> Scripts {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        let environment = environment.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        Scripts::of_commands([CommandLine { words, environment, cwd: None }], root)
    }

    #[test]
    fn what_cannot_be_told_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let many: String = (0..=MAX_NAMES).map(|number| format!("{number} ")).collect();
        for (words, environment, why) in [
            (&["python3", "."][..], &[][..], "`python3` would run"),
            (&["x"], &[("PYTHONPATH", "lib:.")], "`PYTHONPATH` names"),
            (&["x", &many], &[], "more than 20000"),
        ] {
            let told = looked(words, environment, &root).unknown.unwrap();
            assert!(told.contains(why), "{told}");
        }
    }

    #[test]
    fn interpreters_of_scripts_and_matches_of_patterns_count() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for sub in ["bin", "hooks/deep", "other"] {
            std::fs::create_dir_all(root.join(sub)).unwrap();
        }
        let own = format!("#!{}/bin/own -x\n", root.display());
        for (path, text) in [
            ("run", "#!bin/first other/word\n"),
            ("bin/first", "#! /usr/bin/env bin/second\n"),
            ("bin/second", "#!bin/second\n"),
            ("bin/own", "x"),
            ("other/word", "x"),
            ("other/plain", "no #!bin/own\n"),
            ("hooks/a.sh", own.as_str()),
            ("hooks/b.sh", "x"),
            ("hooks/c.txt", "x"),
            ("hooks/deep/d.sh", "x"),
        ] {
            std::fs::write(root.join(path), text).unwrap();
        }
        let files = |words: &[&str]| -> Vec<String> {
            let scripts = looked(words, &[], &root);
            assert_eq!(scripts.unknown, None);
            scripts.files.iter().map(|file| file.display().to_string()).collect()
        };
        assert_eq!(files(&["./run"]), ["bin/first", "bin/second", "other/word", "run"]);
        assert_eq!(files(&["cat", "other/plain"]), ["other/plain"]);
        let matched = ["bin/own", "hooks/a.sh", "hooks/b.sh"];
        assert_eq!(files(&["sh", "-c", "for f in hooks/*.sh; do . $f; done"]), matched);
        assert_eq!(files(&["sh", "-c", "cat ho?k[s]/[ab].sh|sh"]), matched);
        assert_eq!(files(&["sh", "-c", ". */deep/d*"]), ["hooks/deep/d.sh"]);
        let far = format!("{}/hooks/b*", root.display());
        assert_eq!(files(&["sh", "-c", &far]), ["hooks/b.sh"]);
    }

    #[test]
    fn a_script_that_is_not_there_yet_may_not_be_written_either() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let files: Vec<PathBuf> =
            looked(&["sh", "tools/a.sh", "build"], &[], &root).protected(&root).collect();
        assert!(files.contains(&root.join("tools/a.sh")), "{files:?}");
        assert!(!files.contains(&root.join("build")), "{files:?}");
    }
}
