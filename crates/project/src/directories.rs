//! Finds commands and skills in directories.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::command::Command;
use crate::instructions::{MAX_FILE_BYTES, Origin, Read, inside, utf8};
use crate::problem::{Place, Problem, ProblemKind};
use crate::skill::{SKILL_FILE, Skill};

/// Directories beside the settings of the user.
const USER_COMMANDS: &str = "commands";
const USER_SKILLS: &str = "skills";
/// Directories in each directory of a project. Other programs read `.agents` too, and many skills are in `.claude`.
const PROJECT_COMMANDS: &str = ".converse/commands";
const PROJECT_SKILLS: [&str; 3] = [".claude/skills", ".agents/skills", ".converse/skills"];

/// Limit on the commands of one origin.
const MAX_COMMANDS: usize = 256;
/// Limit on the skills of one origin.
const MAX_SKILLS: usize = 64;
/// Limit on the entries of one directory.
const MAX_ENTRIES: usize = 1024;
/// Directories within a directory of commands.
const MAX_DEPTH: usize = 4;

/// What is found so far.
pub(crate) struct Found<'a> {
    origin: Origin,
    /// Nothing outside is read. `None`: links may lead anywhere.
    root: Option<&'a Path>,
    read: Read<'a>,
    pub(crate) commands: Vec<Command>,
    pub(crate) skills: Vec<Skill>,
    pub(crate) problems: Vec<Problem>,
}

impl<'a> Found<'a> {
    pub(crate) fn new(origin: Origin, root: Option<&'a Path>, read: Read<'a>) -> Self {
        Self { origin, root, read, commands: Vec::new(), skills: Vec::new(), problems: Vec::new() }
    }

    /// Takes those of a directory of a project. `up` leads to it from the working directory.
    pub(crate) fn of_project(&mut self, directory: &Path, up: &str) {
        self.commands(&directory.join(PROJECT_COMMANDS), &format!("{up}{PROJECT_COMMANDS}"), "", 0);
        for skills in PROJECT_SKILLS {
            self.skills(&directory.join(skills), &format!("{up}{skills}"));
        }
    }

    /// Takes those of the user.
    pub(crate) fn of_user(&mut self, directory: &Path, shared: Option<&Path>) {
        let commands = directory.join(USER_COMMANDS);
        self.commands(&commands, &commands.display().to_string(), "", 0);
        for skills in shared.map(Path::to_path_buf).into_iter().chain([directory.join(USER_SKILLS)]) {
            self.skills(&skills, &skills.display().to_string());
        }
    }

    /// Takes the commands of a directory and of those in it, by name. `below` is the part of their names before.
    fn commands(&mut self, directory: &Path, shown: &str, below: &str, depth: usize) {
        for (name, path) in self.entries(directory, shown) {
            let shown = format!("{shown}/{name}");
            if path.is_dir() {
                if depth < MAX_DEPTH {
                    self.commands(&path, &shown, &format!("{below}{name}/"), depth + 1);
                }
                continue;
            }
            let Some(name) = name.strip_suffix(".md") else { continue };
            if self.commands.len() == MAX_COMMANDS {
                let message = format!("there are more than {MAX_COMMANDS} commands");
                self.problems.push(Problem::error(ProblemKind::TooLarge, Place::TOP, message).of(&shown));
                return;
            }
            let text = self.file(&path);
            let (command, warnings) = match text {
                Ok(text) => Command::read(self.origin, &shown, &format!("{below}{name}"), text),
                Err(problem) => (Err(problem), Vec::new()),
            };
            self.told(warnings, &shown);
            match command {
                Ok(command) => self.commands.push(command),
                Err(problem) => self.told(vec![problem], &shown),
            }
        }
    }

    /// Takes the skills of a directory, by name.
    fn skills(&mut self, directory: &Path, shown: &str) {
        for (name, path) in self.entries(directory, shown) {
            if !path.join(SKILL_FILE).exists() {
                continue;
            }
            let (shown, file) = (format!("{shown}/{name}"), format!("{shown}/{name}/{SKILL_FILE}"));
            let found = match self.canonical(&path) {
                _ if self.skills.len() == MAX_SKILLS => {
                    let message = format!("there are more than {MAX_SKILLS} skills");
                    self.told(vec![Problem::error(ProblemKind::TooLarge, Place::TOP, message)], &file);
                    return;
                }
                Ok(path) => Skill::read(self.origin, &shown, &path, self.read),
                Err(error) => (Err(unreadable(&error)), Vec::new()),
            };
            let (skill, warnings) = found;
            self.told(warnings, &file);
            match skill {
                Ok(skill) => self.skills.push(skill),
                Err(problem) => self.told(vec![problem], &file),
            }
        }
    }

    /// Returns the entries of a directory by name, without hidden ones.
    fn entries(&mut self, directory: &Path, shown: &str) -> Vec<(String, PathBuf)> {
        if !directory.is_dir() {
            return Vec::new();
        }
        let listed = self.canonical(directory).and_then(fs::read_dir);
        let entries = match listed {
            Ok(entries) => entries,
            Err(error) => {
                self.told(vec![unreadable(&error)], shown);
                return Vec::new();
            }
        };
        let named = |entry: fs::DirEntry| {
            let name = entry.file_name().into_string().ok().filter(|name| !name.starts_with('.'))?;
            Some((name.clone(), directory.join(name)))
        };
        let mut entries: Vec<_> = entries.flatten().take(MAX_ENTRIES).filter_map(named).collect();
        entries.sort_unstable();
        entries
    }

    fn file(&self, path: &Path) -> Result<String, Problem> {
        let path = self.canonical(path).map_err(|error| unreadable(&error))?;
        let bytes = (self.read)(&path, MAX_FILE_BYTES + 1).map_err(|error| unreadable(&error))?;
        if bytes.len() > MAX_FILE_BYTES {
            let message = format!("it has more than {} KiB", MAX_FILE_BYTES / 1024);
            return Err(Problem::error(ProblemKind::TooLarge, Place::TOP, message));
        }
        utf8(bytes).map_err(|error| Problem::error(ProblemKind::NotUtf8, Place::TOP, error.to_string()))
    }

    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        match self.root {
            Some(root) => inside(path, root),
            None => path.canonicalize(),
        }
    }

    fn told(&mut self, problems: Vec<Problem>, path: &str) {
        self.problems.extend(problems.into_iter().map(|problem| problem.of(path)));
    }
}

fn unreadable(error: &io::Error) -> Problem {
    Problem::error(ProblemKind::Unreadable, Place::TOP, error.to_string())
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::instructions::Instructions;

    fn read(path: &Path, most: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        fs::File::open(path)?.take(most as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    struct Scene {
        _dir: tempfile::TempDir,
        /// Beside it is `out`.
        root: PathBuf,
    }

    impl Scene {
        fn new(files: &[(&str, &str)]) -> Self {
            let dir = tempfile::tempdir().unwrap();
            let root = dir.path().canonicalize().unwrap().join("root");
            fs::create_dir_all(root.join("sub")).unwrap();
            for (path, text) in files {
                fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
                fs::write(root.join(path), text).unwrap();
            }
            Self { _dir: dir, root }
        }

        fn of_project(&self, cwd: &str) -> Instructions {
            Instructions::of_project(&self.root.join(cwd), &self.root, &read)
        }

        fn of_user(&self) -> Instructions {
            Instructions::of_user(&self.root, Some(&self.root.join("shared")), &read)
        }
    }

    fn skill(name: &str) -> String {
        format!("---\nname: {name}\ndescription: d\n---\nText of {name}.")
    }

    #[test]
    fn the_nearest_command_of_a_name_counts_and_a_skill_before_it() {
        let scene = Scene::new(&[
            (".converse/commands/a.md", "far"),
            (".converse/commands/b/c.md", "nested"),
            (".converse/commands/notes.txt", "no command"),
            ("sub/.converse/commands/a.md", "near"),
            ("sub/.converse/commands/s.md", "command"),
            (".agents/skills/s/SKILL.md", &skill("s")),
        ]);
        let found = scene.of_project("sub");
        assert_eq!(found.problems, []);
        let names: Vec<_> =
            found.all_commands().into_iter().map(|one| (one.name.as_str(), one.path.as_str())).collect();
        let expected = [
            ("a", ".converse/commands/a.md"),
            ("b:c", "../.converse/commands/b/c.md"),
            ("s", "../.agents/skills/s/SKILL.md"),
        ];
        assert_eq!(names, expected);
        assert_eq!(found.command("a").unwrap().message(""), "near");
        assert_eq!(found.command("s").unwrap().message(""), "Text of s.");
        assert_eq!(
            found.shadowed(),
            [
                "`/a` is .converse/commands/a.md; ../.converse/commands/a.md is not used",
                "`/s` is ../.agents/skills/s/SKILL.md; .converse/commands/s.md is not used"
            ]
        );
        assert_eq!(scene.of_project("").command("a").unwrap().message(""), "far");
    }

    #[test]
    fn those_of_a_project_count_before_those_of_the_user() {
        let scene = Scene::new(&[
            ("commands/a.md", "user"),
            ("skills/s/SKILL.md", &skill("s")),
            ("shared/s/SKILL.md", &skill("s")),
            (".converse/commands/a.md", "project"),
        ]);
        let both = scene.of_user().and(scene.of_project(""));
        assert_eq!(both.command("a").unwrap().message(""), "project");
        let [one] = &both.skills_for_models()[..] else { panic!("{both:?}") };
        assert!(one.shown.ends_with("root/skills/s"), "{}", one.shown);
        let listed = both.list_of_skills().unwrap();
        assert!(listed.ends_with("<skills>\ns: d\n</skills>"), "{listed}");
        assert_eq!(both.text(), None);
        assert_eq!(both.texts().count(), 4);
    }

    #[test]
    fn nothing_outside_of_a_project_is_read() {
        let scene = Scene::new(&[
            ("../out/commands/a.md", "secret"),
            ("../out/skills/s/SKILL.md", &skill("s")),
            (".converse/commands/b.md", "b"),
            (".agents/skills/t/SKILL.md", &skill("t")),
        ]);
        symlink("../../../out/commands/a.md", scene.root.join(".converse/commands/a.md")).unwrap();
        symlink("../../../out/commands", scene.root.join(".converse/commands/c")).unwrap();
        symlink("../../../out/skills/s", scene.root.join(".agents/skills/s")).unwrap();
        symlink("../../out/skills", scene.root.join(".converse/skills")).unwrap();
        let found = scene.of_project("");
        let names: Vec<_> = found.all_commands().into_iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["b", "t"]);
        let told: Vec<_> = found.problems.iter().map(|one| (one.path.as_str(), one.kind)).collect();
        assert_eq!(
            told,
            [
                (".converse/commands/a.md", ProblemKind::Unreadable),
                (".converse/commands/c", ProblemKind::Unreadable),
                (".agents/skills/s/SKILL.md", ProblemKind::Unreadable),
                (".converse/skills", ProblemKind::Unreadable),
            ]
        );
    }

    #[test]
    fn a_link_of_the_user_is_followed() {
        let scene = Scene::new(&[("../out/s/SKILL.md", &skill("s"))]);
        fs::create_dir(scene.root.join("skills")).unwrap();
        symlink("../../out/s", scene.root.join("skills/s")).unwrap();
        assert_eq!(scene.of_user().skills.len(), 1);
    }
}
