//! [`Scripts`]: files of a project that its commands would run. They are part of what is trusted; otherwise a script
//! could be replaced while its command line stays the same.
//!
//! Every part of a word or variable value that leads to a file or directory below the project's root counts. A link
//! counts by its target's name and is not followed out of the project. Files that a script reads in turn (modules,
//! packages) cannot be known.

mod digests;
mod lead;
mod names;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use converse_config::{EnsemblePlan, Environment};

use super::{FileDigest, decides_code};
use digests::Digests;
use lead::{End, lead};
use names::{Command, commands};

/// Number of names checked, of all commands together.
const MAX_NAMES: usize = 20_000;

/// Extensions that programs add to a name.
const ENDINGS: [&str; 6] = [".js", ".cjs", ".mjs", ".ts", ".py", ".rb"];

/// Files named by the commands of some plans, as paths below the project's root.
#[derive(Debug, Default)]
pub struct Scripts {
    files: BTreeSet<PathBuf>,
    directories: BTreeSet<PathBuf>,
    /// Names of files that do not exist yet.
    missing: BTreeSet<PathBuf>,
    links: BTreeSet<(PathBuf, PathBuf)>,
    /// Whether a command gets the project as a whole.
    pub whole: bool,
    /// Why it cannot be determined what would run.
    untold: Option<String>,
    looked: usize,
}

impl Scripts {
    /// Resolves names without reading files. `root` is canonical.
    pub fn of<'a>(
        plans: impl IntoIterator<Item = &'a EnsemblePlan>,
        root: &Path,
        environment: &Environment,
    ) -> Self {
        let mut scripts = Self::default();
        for command in plans.into_iter().flat_map(|plan| commands(plan, environment)) {
            scripts.look(&command, root);
        }
        scripts
    }

    /// Resolves the names of each command separately, without reading files.
    pub fn each<'a>(
        plans: impl IntoIterator<Item = &'a EnsemblePlan>,
        root: &Path,
        environment: &Environment,
    ) -> Vec<Self> {
        let one = |command: Command<'_>| {
            let mut scripts = Self::default();
            scripts.look(&command, root);
            scripts
        };
        plans.into_iter().flat_map(|plan| commands(plan, environment)).map(one).collect()
    }

    /// Returns the digests of the files.
    ///
    /// # Errors
    ///
    /// Why the files cannot be trusted.
    pub fn digests(&self, root: &Path) -> Result<Vec<FileDigest>, String> {
        if let Some(why) = &self.untold {
            return Err(why.clone());
        }
        let mut digests = Digests::below(root);
        let within = |path: &Path| path.ancestors().skip(1).any(|above| self.directories.contains(above));
        self.links.iter().try_for_each(|(link, target)| digests.link(link, target))?;
        self.files.iter().filter(|file| !within(file)).try_for_each(|file| digests.file(file))?;
        self.directories.iter().filter(|dir| !within(dir)).try_for_each(|dir| digests.directory(dir))?;
        Ok(digests.all())
    }

    /// Returns paths below `root` that no tool may write to while these commands can run.
    pub fn files(&self, root: &Path) -> impl Iterator<Item = PathBuf> {
        self.files.iter().chain(&self.missing).map(|path| root.join(path))
    }

    pub fn directories(&self, root: &Path) -> impl Iterator<Item = PathBuf> {
        self.directories.iter().map(|path| root.join(path))
    }

    fn look(&mut self, command: &Command<'_>, root: &Path) {
        let dir = command.cwd.map_or_else(|| root.to_path_buf(), |cwd| root.join(cwd));
        let is_root = |name: &str| lead(&dir.join(name), root).end == End::Root;
        if command.runs().is_some_and(is_root) {
            let program = command.words.first().map(String::as_str).unwrap_or_default();
            self.untold =
                Some(format!("`{program}` would run the project's whole directory; name the file in it"));
        }
        let mut deciding = command.environment.iter().filter(|(name, _)| decides_code(name));
        if let Some((name, _)) =
            deciding.find(|(_, value)| value.split(':').any(|part| !part.is_empty() && is_root(part)))
        {
            self.untold = Some(format!("`{name}` names the project's whole directory; name one in it"));
        }
        for name in command.names() {
            self.looked += 1;
            if self.looked > MAX_NAMES {
                self.untold = Some(format!("its commands name more than {MAX_NAMES} places"));
                return;
            }
            self.add(&name, &dir, root);
        }
    }

    fn add(&mut self, name: &str, dir: &Path, root: &Path) {
        if self.found(&dir.join(name), root, is_path(name)) {
            return;
        }
        for ending in ENDINGS {
            self.found(&dir.join(format!("{name}{ending}")), root, name.contains('/'));
        }
    }

    /// Adds what the path leads to. Returns whether it exists.
    fn found(&mut self, path: &Path, root: &Path, named: bool) -> bool {
        let lead = lead(path, root);
        self.links.extend(lead.links);
        match lead.end {
            End::File(file) => drop(self.files.insert(file)),
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

/// A word without a slash may be anything.
fn is_path(name: &str) -> bool {
    !name.starts_with('-') && name.contains(['/', '.'])
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn looked(words: &[&str], environment: &[(&str, &str)], root: &Path) -> Scripts {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        let environment = environment.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        let mut scripts = Scripts::default();
        scripts.look(&Command { words, environment, cwd: None }, root);
        scripts
    }

    #[test]
    fn what_a_command_names_counts() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for path in ["tools/pre.js", "tools/server.py", "server/main.py", "lib/x.py"] {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), "x").unwrap();
        }
        for (words, environment, expected) in [
            (&["node", "-r./tools/pre.js"][..], &[][..], &["tools/pre.js"][..]),
            (&["node", "tools/pre"], &[], &["tools/pre.js"]),
            (&["node"], &[("NODE_OPTIONS", "--require ./tools/pre.js")], &["tools/pre.js"]),
            (&["python3", "-m", "server.main"], &[], &["server/main.py"]),
            (&["python3"], &[("PYTHONPATH", "/x:lib")], &["lib/x.py"]),
            (
                &["server", "tools", "tools/pre.js"],
                &[],
                &["server/main.py", "tools/pre.js", "tools/server.py"],
            ),
            (&["other", "."], &[], &[]),
            (&["true"], &[], &[]),
        ] {
            let scripts = looked(words, environment, &root);
            let names: Vec<String> =
                scripts.digests(&root).unwrap().into_iter().map(|file| file.path).collect();
            assert_eq!(names, expected, "{words:?} {environment:?}");
            assert_eq!(scripts.whole, words.contains(&"."));
        }
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
            let told = looked(words, environment, &root).digests(&root).unwrap_err();
            assert!(told.contains(why), "{told}");
        }
    }

    #[test]
    fn a_script_that_is_not_there_yet_may_not_be_written_either() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let files: Vec<PathBuf> = looked(&["sh", "tools/a.sh", "build"], &[], &root).files(&root).collect();
        assert!(files.contains(&root.join("tools/a.sh")), "{files:?}");
        assert!(!files.contains(&root.join("build")), "{files:?}");
    }
}
