//! Instructions for models: `AGENTS.md` of the project and of the user, and their commands and skills.

use std::io;
use std::path::{Path, PathBuf};

use converse_text::safe_line;
use converse_text::wording::grouped;

use crate::command::Command;
use crate::directories::Found;
use crate::listing::{MAX_LISTING, fitting, listing};
use crate::problem::{Place, Problem, ProblemKind};
use crate::skill::Skill;

/// Bytes of one file that are used.
pub const MAX_FILE_BYTES: usize = 32 * 1024;
/// Bytes of all files of a project that are used; what is nearest to the working directory goes first.
pub const MAX_PROJECT_BYTES: usize = 64 * 1024;

/// Names of the files. The files of a later name are used only if no directory has a file of an earlier one.
const NAMES: [&str; 3] = ["AGENTS.md", "CLAUDE.md", "GEMINI.md"];
/// Limit on the directories from the working directory up to the root of the project.
const MAX_DEPTH: usize = 64;

/// Whose file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    User,
    Project,
}

/// A file of instructions, as far as it is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstructionFile {
    pub origin: Origin,
    /// The path relative to the working directory, such as `../AGENTS.md`. Of a user's file: its name.
    pub path: String,
    /// What models are told: the path relative to the root of the project, which is the same in each working directory. Of a
    /// user's file: its name.
    pub name: String,
    /// The beginning of the file, not blank.
    pub text: String,
}

/// The instructions of a run, the most general file first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Instructions {
    pub files: Vec<InstructionFile>,
    /// Commands and skills. The later of a name counts.
    pub commands: Vec<Command>,
    pub skills: Vec<Skill>,
    /// What is wrong with commands and skills.
    pub problems: Vec<Problem>,
    /// What is left out of instructions, and why.
    pub warnings: Vec<String>,
}

/// Reads a regular file, up to this number of bytes.
pub(crate) type Read<'r> = &'r dyn Fn(&Path, usize) -> io::Result<Vec<u8>>;

impl Instructions {
    /// Returns the instructions, commands and skills of a project: those of each directory from `root` down to `cwd`, which
    /// must be below it. Both paths are canonical. A link that leads out of the project is not followed.
    pub fn of_project(cwd: &Path, root: &Path, read: Read<'_>) -> Self {
        let all: Vec<&Path> =
            cwd.ancestors().take(MAX_DEPTH).take_while(|directory| directory.starts_with(root)).collect();
        let of_name = |name: &str| {
            let levels = all.iter().enumerate();
            let found = levels.filter_map(|(up, directory)| {
                let path = directory.join(name);
                path.exists().then(|| (format!("{}{name}", "../".repeat(up)), path))
            });
            found.collect::<Vec<(String, PathBuf)>>()
        };
        let found = NAMES.into_iter().map(of_name).find(|found| !found.is_empty()).unwrap_or_default();
        let mut instructions = Self::default();
        let mut left = MAX_PROJECT_BYTES;
        for (shown, path) in found {
            let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
            let read = inside(&path, root).and_then(|path| read(&path, MAX_FILE_BYTES + 1));
            instructions.take(Origin::Project, (shown, name), read, &mut left);
        }
        instructions.files.reverse();
        let mut found = Found::new(Origin::Project, Some(root), read);
        for (up, directory) in all.iter().enumerate().rev() {
            found.of_project(directory, &"../".repeat(up));
        }
        instructions.with(found)
    }

    /// Returns the instructions, commands and skills of the user, in the directory of their settings, and the skills in
    /// `shared`, a directory that other programs read too.
    pub fn of_user(directory: &Path, shared: Option<&Path>, read: Read<'_>) -> Self {
        let [name, ..] = NAMES;
        let path = directory.join(name);
        let mut instructions = Self::default();
        let mut left = MAX_FILE_BYTES;
        if path.exists() {
            let read = path.canonicalize().and_then(|path| read(&path, MAX_FILE_BYTES + 1));
            instructions.take(Origin::User, (name.to_owned(), name.to_owned()), read, &mut left);
        }
        let mut found = Found::new(Origin::User, None, read);
        found.of_user(directory, shared);
        instructions.with(found)
    }

    fn with(self, found: Found<'_>) -> Self {
        let Found { commands, skills, problems, .. } = found;
        Self { commands, skills, problems, ..self }
    }

    fn take(
        &mut self,
        origin: Origin,
        (path, name): (String, String),
        read: io::Result<Vec<u8>>,
        left: &mut usize,
    ) {
        let whose = if origin == Origin::User { "your " } else { "" };
        let text = read.and_then(|bytes| Ok((bytes.len() > MAX_FILE_BYTES, utf8(bytes)?)));
        let (is_cut, text) = match text {
            Ok(text) => text,
            Err(error) => {
                self.warnings.push(format!("{whose}`{path}` is not used: {error}"));
                return;
            }
        };
        let whole = text.trim();
        let (kept, rest) = whole.split_at(whole.floor_char_boundary(MAX_FILE_BYTES.min(*left)));
        if is_cut || !rest.is_empty() {
            let kept = grouped(kept.len() as u64);
            self.warnings.push(format!("of {whose}`{path}`, only the first {kept} bytes are used"));
        }
        *left -= kept.len();
        if !kept.is_empty() {
            self.files.push(InstructionFile { origin, path, name, text: kept.to_owned() });
        }
    }

    /// Returns these instructions and then the other ones, which win.
    #[must_use]
    pub fn and(mut self, nearer: Self) -> Self {
        self.files.extend(nearer.files);
        self.commands.extend(nearer.commands);
        self.skills.extend(nearer.skills);
        self.problems.extend(nearer.problems);
        self.warnings.extend(nearer.warnings);
        self
    }

    /// Returns whether there are no commands and skills.
    pub fn has_no_names(&self) -> bool {
        self.commands.is_empty() && self.skills.is_empty()
    }

    /// Returns whether there is nothing that a model could be told.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.commands.is_empty() && self.skills.is_empty()
    }

    /// Returns the path and the text of each instruction, command and `SKILL.md`.
    pub fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        let files = self.files.iter().map(|file| (file.path.as_str(), file.text.as_str()));
        let skills = self.skills.iter().map(|skill| &skill.command);
        let commands = self.commands.iter().chain(skills);
        files.chain(commands.map(|command| (command.path.as_str(), command.file.as_str())))
    }

    /// Returns the command of this name that counts: a skill before a command, the project's before the user's, and the
    /// nearest of the project.
    pub fn command(&self, name: &str) -> Option<&Command> {
        let skill = self.skill(name).map(|skill| &skill.command);
        skill.or_else(|| self.commands.iter().rfind(|command| command.name == name))
    }

    /// Returns the command that a line such as `/name arguments` names, and the arguments.
    pub fn named_by<'l>(&self, line: &'l str) -> Option<(&Command, &'l str)> {
        let rest = line.trim().strip_prefix('/')?;
        let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        Some((self.command(name)?, arguments.trim()))
    }

    /// Returns the skill of this name that counts.
    pub fn skill(&self, name: &str) -> Option<&Skill> {
        self.skills.iter().rfind(|skill| skill.name() == name)
    }

    /// Returns the commands that count, by name.
    pub fn all_commands(&self) -> Vec<&Command> {
        let all = self.commands.iter().chain(self.skills.iter().map(|skill| &skill.command));
        let mut all: Vec<&Command> = all
            .filter(|one| self.command(&one.name).is_some_and(|counts| std::ptr::eq(counts, *one)))
            .collect();
        all.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// Returns the skills that models may read, by name.
    pub fn skills_for_models(&self) -> Vec<&Skill> {
        let counts = |skill: &&Skill| self.skill(skill.name()).is_some_and(|one| std::ptr::eq(one, *skill));
        let mut skills: Vec<&Skill> =
            self.skills.iter().filter(counts).filter(|skill| skill.is_for_models).collect();
        skills.sort_unstable_by(|a, b| a.name().cmp(b.name()));
        skills
    }

    /// Says which commands and skills do not count because others have their names.
    pub fn shadowed(&self) -> Vec<String> {
        let all = self.commands.iter().chain(self.skills.iter().map(|skill| &skill.command));
        let told = |one: &Command| {
            let counts = self.command(&one.name).filter(|counts| !std::ptr::eq(*counts, one))?;
            Some(format!("`/{}` is {}; {} is not used", one.name, counts.path, one.path))
        };
        all.filter_map(told).collect()
    }

    /// Returns what is wrong with the size of the list of skills: an error if it does not name all of them.
    pub fn problem_of_listing(&self) -> Option<Problem> {
        let skills = self.skills_for_models();
        let (listed, most) = fitting(&skills);
        let first = skills.first().filter(|_| most < usize::MAX)?;
        let message = format!(
            "the descriptions of {} skills have more than {} KiB: models see the first {most} bytes of each, and {listed} skills",
            skills.len(),
            MAX_LISTING / 1024
        );
        let problem = match listed < skills.len() {
            true => Problem::error(ProblemKind::TooLarge, Place::TOP, message),
            false => Problem::warning(ProblemKind::TooLarge, Place::TOP, message),
        };
        Some(problem.of(&first.command.path))
    }

    /// Returns the list of skills, for models that have the tool that reads them.
    pub fn list_of_skills(&self) -> Option<String> {
        listing(&self.skills_for_models())
    }

    /// Returns the texts of the files for a model.
    pub fn text(&self) -> Option<String> {
        let mut text = "Follow these instructions. Where they differ, the later ones win.".to_owned();
        for InstructionFile { origin, name, text: instructions, .. } in &self.files {
            let whose = if *origin == Origin::User { "user" } else { "project" };
            let name = safe_line(name, usize::MAX).replace('"', "'");
            text.push_str(&format!(
                "\n\n<instructions of=\"{whose}\" file=\"{name}\">\n{instructions}\n</instructions>"
            ));
        }
        (!self.files.is_empty()).then_some(text)
    }
}

/// Returns the file that the path leads to, which must be in the project.
pub(crate) fn inside(path: &Path, root: &Path) -> io::Result<PathBuf> {
    let path = path.canonicalize()?;
    if path.starts_with(root) {
        Ok(path)
    } else {
        Err(io::Error::other("the link points outside the project"))
    }
}

/// A character that the limit has cut is left out.
pub(crate) fn utf8(bytes: Vec<u8>) -> io::Result<String> {
    let cut = bytes.len() > MAX_FILE_BYTES;
    String::from_utf8(bytes).or_else(|error| match error.utf8_error() {
        found if cut && found.error_len().is_none() => {
            let mut bytes = error.into_bytes();
            bytes.truncate(found.valid_up_to());
            String::from_utf8(bytes).map_err(io::Error::other)
        }
        _ => Err(io::Error::other("it is not UTF-8 text")),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read as _;

    use super::*;

    fn read(path: &Path, most: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        fs::File::open(path)?.take(most as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    struct Place {
        _dir: tempfile::TempDir,
        root: PathBuf,
    }

    fn place(files: &[(&str, &str)]) -> Place {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("root");
        fs::create_dir_all(root.join("a/b")).unwrap();
        for (path, text) in files {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), text).unwrap();
        }
        Place { _dir: dir, root }
    }

    fn found(place: &Place, cwd: &str) -> Vec<(String, String)> {
        let cwd = place.root.join(cwd).components().collect::<PathBuf>();
        let found = Instructions::of_project(&cwd, &place.root, &read);
        assert_eq!(found.warnings, [""; 0]);
        found.files.into_iter().map(|file| (file.path, file.text)).collect()
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn the_nearest_file_comes_last_and_nothing_above_the_root_is_read() {
        let place = place(&[("../AGENTS.md", "above"), ("AGENTS.md", "root\n"), ("a/b/AGENTS.md", "near")]);
        assert_eq!(found(&place, "a/b"), pairs(&[("../../AGENTS.md", "root"), ("AGENTS.md", "near")]));
        assert_eq!(found(&place, "a"), pairs(&[("../AGENTS.md", "root")]));
        assert_eq!(found(&place, "."), pairs(&[("AGENTS.md", "root")]));
    }

    #[test]
    fn models_see_the_same_names_in_each_working_directory() {
        let place = place(&[("AGENTS.md", "root"), ("a/AGENTS.md", "near")]);
        let names = |cwd: &str| {
            let found = Instructions::of_project(&place.root.join(cwd), &place.root, &read);
            found.files.into_iter().map(|file| file.name).collect::<Vec<_>>()
        };
        assert_eq!(names("a"), ["AGENTS.md", "a/AGENTS.md"]);
        assert_eq!(names("a/b"), names("a"));
    }

    #[test]
    fn files_of_other_programs_count_only_if_there_is_no_other() {
        let place = place(&[("CLAUDE.md", "claude"), ("a/GEMINI.md", "gemini")]);
        assert_eq!(found(&place, "a"), pairs(&[("../CLAUDE.md", "claude")]));
        fs::write(place.root.join("a/AGENTS.md"), "agents").unwrap();
        assert_eq!(found(&place, "a"), pairs(&[("AGENTS.md", "agents")]));
        fs::write(place.root.join("a/AGENTS.md"), " \n").unwrap();
        assert_eq!(found(&place, "a"), []);
    }

    #[test]
    fn long_files_are_cut_and_the_nearest_goes_first() {
        let long = "я".repeat(MAX_FILE_BYTES);
        let place = place(&[("AGENTS.md", &long), ("a/AGENTS.md", &long), ("a/b/AGENTS.md", &long)]);
        let found = Instructions::of_project(&place.root.join("a/b"), &place.root, &read);
        let sizes: Vec<_> = found.files.iter().map(|file| (file.path.as_str(), file.text.len())).collect();
        assert_eq!(sizes, [("../AGENTS.md", MAX_FILE_BYTES), ("AGENTS.md", MAX_FILE_BYTES)]);
        assert_eq!(found.warnings.len(), 3);
        assert_eq!(found.warnings[0], "of `AGENTS.md`, only the first 32,768 bytes are used");
        assert_eq!(found.warnings[2], "of `../../AGENTS.md`, only the first 0 bytes are used");
    }

    #[test]
    fn what_is_not_text_or_leads_out_is_left_out_with_a_warning() {
        let place = place(&[("../secret", "secret"), ("real.md", "linked")]);
        let (root, file) = (&place.root, place.root.join("AGENTS.md"));
        std::os::unix::fs::symlink("../secret", &file).unwrap();
        let of = || Instructions::of_project(root, root, &read);
        assert_eq!(of().warnings, ["`AGENTS.md` is not used: the link points outside the project"]);
        assert_eq!(of().files, []);
        fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink("real.md", &file).unwrap();
        assert_eq!(found(&place, "."), pairs(&[("AGENTS.md", "linked")]));
        fs::remove_file(&file).unwrap();
        fs::write(&file, b"a\xffb").unwrap();
        assert_eq!(of().warnings, ["`AGENTS.md` is not used: it is not UTF-8 text"]);
    }

    #[test]
    fn the_text_says_whose_file_it_is() {
        let file = |origin, name: &str, text: &str| InstructionFile {
            origin,
            path: "../AGENTS.md".into(),
            name: name.into(),
            text: text.into(),
        };
        let of = |file| Instructions { files: vec![file], ..Instructions::default() };
        let user = of(file(Origin::User, "AGENTS.md", "be brief"));
        assert_eq!(
            user.and(of(file(Origin::Project, "a\">\n/AGENTS.md", "use tabs"))).text().unwrap(),
            "Follow these instructions. Where they differ, the later ones win.\n\
             \n<instructions of=\"user\" file=\"AGENTS.md\">\nbe brief\n</instructions>\n\
             \n<instructions of=\"project\" file=\"a'>\\n/AGENTS.md\">\nuse tabs\n</instructions>"
        );
        assert_eq!(Instructions::default().text(), None);
    }
}
