//! [`Scripts`]: files of a project that its commands would run. The host includes them in what is trusted; otherwise a script
//! could be replaced while its command line stays the same.
//!
//! Every part of a word or variable value that leads to a file or directory below the project's root counts. A link
//! counts by its target's name and is not followed out of the project. The interpreter in the first line of a script and
//! the files that a pattern matches count too. Files that a script reads in turn (modules, packages) cannot be known.
//!
//! What a command may change in its sandbox, and does not run, is its output ([`Scripts::outputs`]): it has no fixed
//! content.

mod glob;
mod lead;
mod names;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use converse_config::{CommandPlan, EnsemblePlan, Environment};

use crate::command::is_named_output;
use lead::{End, lead};
use names::commands;

pub(crate) use glob::is_match;
pub use names::CommandLine;
pub(crate) use names::decides_code;

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
    /// Paths named as something that a command may change, each with the number of a command.
    writable: BTreeMap<PathBuf, usize>,
    /// Paths named in another way as well.
    fixed: BTreeSet<PathBuf>,
    /// Directories, and names in them that were looked up without a sandbox. A second command with them adds nothing.
    known: BTreeSet<(PathBuf, String)>,
    commands: usize,
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

    /// Resolves the names of each command separately. Commands that may change nothing share one result, the last.
    pub fn each<'a>(
        plans: impl IntoIterator<Item = &'a EnsemblePlan>,
        root: &Path,
        environment: &Environment,
    ) -> Vec<Self> {
        Self::of_each(plans.into_iter().flat_map(|plan| commands(plan, environment)), root)
    }

    fn of_each<'a>(commands: impl IntoIterator<Item = CommandLine<'a>>, root: &Path) -> Vec<Self> {
        let (mut all, mut shared) = (Vec::new(), Self::default());
        for command in commands {
            if command.writer.is_some() {
                all.push(Self::of_commands([command], root));
            } else {
                // As for the command alone: its own limit, and its own directory for interpreters.
                (shared.looked, shared.fixed) = (0, BTreeSet::new());
                shared.look(&command, root);
                // A name at which a command reached its limit is looked up again for the next one.
                if shared.unknown.is_some() {
                    all.push(std::mem::take(&mut shared));
                }
            }
        }
        all.push(shared);
        all
    }

    /// Returns files below `root` that no tool may write to while these commands can run.
    pub fn protected(&self, root: &Path) -> impl Iterator<Item = PathBuf> {
        self.files.iter().chain(&self.missing).map(|path| root.join(path))
    }

    /// Returns files and directories whose content is not fixed, whether they exist or not: each is in the `writes` of
    /// the sandboxed commands that name it, is not what they run, and a file is named by one command only.
    pub fn outputs(&self) -> impl Iterator<Item = &Path> {
        self.writable.keys().filter(|path| !self.fixed.contains(*path)).map(PathBuf::as_path)
    }

    /// Returns whether the content of this path is not fixed.
    pub fn is_output(&self, path: &Path) -> bool {
        self.writable.contains_key(path) && !self.fixed.contains(path)
    }

    fn look(&mut self, command: &CommandLine<'_>, root: &Path) {
        self.commands += 1;
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
        let base = Base { dir: &dir, root };
        let writer = command.writer.map(|plan| Writer::new(plan, base));
        let words = command.names().into_iter().map(|name| (name, writer.as_ref()));
        let elsewhere = command.names_elsewhere().into_iter().map(|name| (name, None));
        for (name, writer) in words.chain(elsewhere) {
            self.looked += 1;
            if self.looked > MAX_NAMES {
                self.unknown = Some(format!("its commands name more than {MAX_NAMES} places"));
                return;
            }
            self.add(&name, base, writer);
        }
    }

    fn add(&mut self, name: &str, base: Base<'_>, writer: Option<&Writer<'_>>) {
        let Base { dir, root } = base;
        if writer.is_none() && !self.known.insert((dir.to_path_buf(), name.to_owned())) {
            return;
        }
        if self.add_path(&dir.join(name), base, is_path(name), writer) {
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
                self.add_path(&path, base, false, writer);
            }
        }
        for ending in ENDINGS {
            let path = dir.join(format!("{name}{ending}"));
            let writer = writer.filter(|_| path.exists());
            self.add_path(&path, base, name.contains('/'), writer);
        }
    }

    /// Adds what the path leads to, and the interpreter of a script. Returns whether the path exists.
    fn add_path(&mut self, path: &Path, base: Base<'_>, named: bool, writer: Option<&Writer<'_>>) -> bool {
        let lead = lead(path, base.root);
        self.links.extend(lead.links);
        let writes = |path: &Path| writer.is_some_and(|writer| writer.may_change(path));
        match lead.end {
            End::File(file) if writes(&file) => {
                self.changed_by_one(&file);
                self.files.insert(file);
            }
            End::File(file) => {
                let words = lead::interpreter(&base.root.join(&file));
                self.files.insert(file.clone());
                if self.fixed.insert(file) && self.interpreters < MAX_INTERPRETERS {
                    self.interpreters += 1;
                    for word in words {
                        self.add_path(&base.dir.join(&word), base, is_path(&word), None);
                    }
                    self.interpreters -= 1;
                }
            }
            End::Directory(directory) => {
                if writes(&directory) {
                    self.writable.insert(directory.clone(), self.commands);
                } else {
                    self.fixed.insert(directory.clone());
                }
                self.directories.insert(directory);
            }
            End::Root => self.whole = true,
            End::Missing(place) => {
                if named {
                    if writes(&place) {
                        self.changed_by_one(&place);
                    }
                    self.missing.insert(place);
                }
                return false;
            }
            End::Other => {}
        }
        true
    }

    /// A file that two commands name is not the output of either.
    fn changed_by_one(&mut self, file: &Path) {
        let by = self.writable.insert(file.to_path_buf(), self.commands);
        if by.is_some_and(|by| by != self.commands) {
            self.fixed.insert(file.to_path_buf());
        }
    }
}

/// What the names of a command are relative to.
#[derive(Debug, Clone, Copy)]
struct Base<'a> {
    /// The working directory of the command.
    dir: &'a Path,
    root: &'a Path,
}

/// A sandboxed command that may change places of the project.
struct Writer<'a> {
    plan: &'a CommandPlan,
    base: Base<'a>,
    /// Its `writes`, below the root.
    writes: Vec<PathBuf>,
}

impl<'a> Writer<'a> {
    fn new(plan: &'a CommandPlan, base: Base<'a>) -> Self {
        let place = |path: &PathBuf| match lead(&base.root.join(path), base.root).end {
            End::File(place) | End::Directory(place) | End::Missing(place) => Some(place),
            End::Root | End::Other => None,
        };
        Self { plan, base, writes: plan.sandbox_access.writes.iter().filter_map(place).collect() }
    }

    /// Returns whether the command names the path, below the root, as something that it changes.
    fn may_change(&self, path: &Path) -> bool {
        let Base { dir, root } = self.base;
        self.writes.iter().any(|place| path.starts_with(place))
            && is_named_output(self.plan, &root.join(path), [root, dir])
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
    use converse_config::{ArgvPart, SandboxAccess};

    use super::*;
    use crate::testing::template;

    fn looked(words: &[&str], environment: &[(&str, &str)], root: &Path) -> Scripts {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        let environment = environment.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        Scripts::of_commands([CommandLine { words, environment, ..CommandLine::default() }], root)
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

    /// What is known of one command hides nothing of another: neither a directory nor where its interpreter is.
    #[test]
    fn commands_with_a_shared_result_are_resolved_as_if_alone() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let sub = PathBuf::from("sub");
        std::fs::create_dir_all(root.join("sub/bin")).unwrap();
        for path in ["run", "sub/bin/one", "bin", "tool.py", "sub/tool.js"] {
            std::fs::write(root.join(path), "#!bin/one\n").unwrap();
        }
        let command = |words: &[&str], cwd| CommandLine {
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            cwd,
            ..CommandLine::default()
        };
        let run = root.join("run").display().to_string();
        let commands = || {
            [
                command(&[&run, "tool", "gone.sh"], None),
                command(&[&run, "tool", "gone.sh"], Some(&sub)),
                command(&[&run, "tool", "gone.sh"], None),
                command(&["sh", "sub"], None),
            ]
        };
        let found = |all: &[Scripts]| -> BTreeSet<PathBuf> {
            all.iter().flat_map(|one| one.protected(&root).chain(one.directories.clone())).collect()
        };
        let shared = Scripts::of_each(commands(), &root);
        let alone: Vec<Scripts> = commands().map(|one| Scripts::of_commands([one], &root)).into();
        assert_eq!((shared.len(), found(&shared)), (1, found(&alone)));
        for path in ["run", "sub/bin/one", "tool.py", "sub/tool.js", "gone.sh", "sub/gone.sh"] {
            assert!(found(&shared).contains(&root.join(path)), "{path}");
        }
    }

    #[test]
    fn what_a_sandboxed_command_changes_and_does_not_run_is_an_output() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for sub in ["out/deep", "tools"] {
            std::fs::create_dir_all(root.join(sub)).unwrap();
        }
        for path in ["out/report", "out/x.py", "tools/gen.sh"] {
            std::fs::write(root.join(path), "#!tools/gen.sh\n").unwrap();
        }
        let outputs = |lines: &[(&[&str], &[&str])]| -> Vec<String> {
            let plans: Vec<CommandPlan> = lines.iter().map(|(argv, writes)| writing(argv, writes)).collect();
            let commands = plans.iter().zip(lines).map(|(plan, (argv, writes))| CommandLine {
                words: argv.iter().map(|word| (*word).to_owned()).collect(),
                environment: vec![("PYTHONPATH", "lib".to_owned())],
                cwd: None,
                writer: (!writes.is_empty()).then_some(plan),
            });
            let scripts = Scripts::of_commands(commands, &root);
            scripts.outputs().map(|path| path.display().to_string()).collect()
        };
        let report: &[&str] = &["sh", "-c", "tools/gen.sh > out/report"];
        for (lines, expected) in [
            (&[(report, &["out"][..])][..], &["out/report"][..]),
            (&[(report, &["out/report"])], &["out/report"]),
            (&[(report, &["out/deep"])], &[]),
            (&[(report, &[])], &[]),
            (&[(report, &["out"]), (report, &["out"])], &[]),
            (&[(report, &["out"]), (&["cat", "-n", "out/report"], &[])], &[]),
            (&[(&["python3", "out/x.py", "--to=out"], &["out"])], &["out"]),
            (&[(&["gen", "a", "-oout"], &["out"]), (&["gen", "b", "-oout"], &["out"])], &["out"]),
            (&[(&["python3", "-m", "out", "--to=out"], &["out"])], &[]),
            (&[(&["gen", "a", "out/new.txt"], &["out"])], &["out/new.txt"]),
            (&[(&["gen", "a", "lib"], &["lib"])], &[]),
        ] {
            std::fs::create_dir_all(root.join("lib")).unwrap();
            assert_eq!(outputs(lines), expected, "{lines:?}");
        }
    }

    fn writing(argv: &[&str], writes: &[&str]) -> CommandPlan {
        let argv = argv.iter().map(|word| ArgvPart::One(template(word))).collect();
        let writes = writes.iter().map(PathBuf::from).collect();
        let sandbox_access = SandboxAccess { writes, ..SandboxAccess::default() };
        CommandPlan { argv, environment: Vec::new(), cwd: None, stdin: None, sandbox_access }
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
