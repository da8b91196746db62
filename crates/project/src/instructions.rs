//! Instructions for models: `AGENTS.md` of the project and of the user.

use std::io;
use std::path::{Path, PathBuf};

use converse_text::safe_line;
use converse_text::wording::grouped;

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
    /// What is left out, and why.
    pub warnings: Vec<String>,
}

/// Reads a regular file, up to this number of bytes.
type Read<'r> = &'r dyn Fn(&Path, usize) -> io::Result<Vec<u8>>;

impl Instructions {
    /// Returns the instructions of a project: those of each directory from `root` down to `cwd`, which must be below it. Both
    /// paths are canonical. A link that leads out of the project is not followed.
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
        instructions
    }

    /// Returns the instructions of the user, in the directory of their settings.
    pub fn of_user(directory: &Path, read: Read<'_>) -> Self {
        let [name, ..] = NAMES;
        let path = directory.join(name);
        let mut instructions = Self::default();
        let mut left = MAX_FILE_BYTES;
        if path.exists() {
            let read = path.canonicalize().and_then(|path| read(&path, MAX_FILE_BYTES + 1));
            instructions.take(Origin::User, (name.to_owned(), name.to_owned()), read, &mut left);
        }
        instructions
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
        self.warnings.extend(nearer.warnings);
        self
    }

    /// Returns the text for a model.
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
fn inside(path: &Path, root: &Path) -> io::Result<PathBuf> {
    let path = path.canonicalize()?;
    if path.starts_with(root) {
        Ok(path)
    } else {
        Err(io::Error::other("the link points outside the project"))
    }
}

/// A character that the limit has cut is left out.
fn utf8(bytes: Vec<u8>) -> io::Result<String> {
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
        let of = |file| Instructions { files: vec![file], warnings: vec![] };
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
