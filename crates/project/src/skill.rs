//! Agent Skills: directories with a `SKILL.md`, listed to models by name and description and read on demand.
//!
//! The format is that of <https://agentskills.io/specification>, read on 2026-11-28.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::command::{Command, odd, value};
use crate::front_matter::{Field, Parts, split};
use crate::instructions::{Origin, Read};
use crate::problem::{Place, Problem, ProblemKind};

/// The file that makes a directory a skill.
pub const SKILL_FILE: &str = "SKILL.md";
/// Bytes of one file of a skill. A larger one is left out.
pub const MAX_SKILL_FILE: usize = 256 * 1024;
/// Bytes of the files of one skill.
const MAX_SKILL: usize = 1024 * 1024;
/// Files of one skill.
const MAX_FILES: usize = 64;
/// Directories within directories of a skill.
const MAX_DEPTH: usize = 4;
/// Characters of a name, a description and a `compatibility`, by the specification.
const MAX_NAME: usize = 64;
const MAX_DESCRIPTION: usize = 1024;
const MAX_COMPATIBILITY: usize = 500;

/// Keys of the specification.
const KEYS: [&str; 8] = [
    "name",
    "description",
    "license",
    "compatibility",
    "metadata",
    "allowed-tools",
    // Of other programs.
    "argument-hint",
    "disable-model-invocation",
];

/// A skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// `/name` sends the text of `SKILL.md`, which is the file of this command.
    pub command: Command,
    /// The directory in messages.
    pub shown: String,
    /// False: only people use it, as a command.
    pub is_for_models: bool,
    /// The canonical path.
    directory: PathBuf,
    /// What may be read, `SKILL.md` first.
    pub files: Vec<SkillFile>,
}

/// A file of a skill as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFile {
    /// Relative to the directory of the skill.
    pub path: String,
    pub bytes: usize,
    pub sha256: [u8; 32],
}

impl Skill {
    /// Reads a skill. `directory` is canonical and has a `SKILL.md`.
    ///
    /// # Errors
    ///
    /// The first problem is why it is not used; others are warnings.
    pub(crate) fn read(
        origin: Origin,
        shown: &str,
        directory: &Path,
        read: Read<'_>,
    ) -> (Result<Self, Problem>, Vec<Problem>) {
        let mut warnings = Vec::new();
        let skill = Self::checked(origin, shown, directory, read, &mut warnings);
        (skill, warnings)
    }

    fn checked(
        origin: Origin,
        shown: &str,
        directory: &Path,
        read: Read<'_>,
        warnings: &mut Vec<Problem>,
    ) -> Result<Self, Problem> {
        let bytes = whole(&directory.join(SKILL_FILE), read)?;
        let first = SkillFile::of(SKILL_FILE.to_owned(), &bytes);
        let file = String::from_utf8(bytes)
            .map_err(|_| Problem::error(ProblemKind::NotUtf8, Place::TOP, "it is not UTF-8 text"))?;
        let Parts { fields, .. } = split(&file)?;
        let missing = |key| {
            let message = format!("the front matter needs a `{key}`");
            Problem::error(ProblemKind::MissingKey, Place::TOP, message)
        };
        let fields = fields.ok_or_else(|| missing("name"))?;
        warnings.extend(fields.iter().filter_map(|field| odd(field, &KEYS, "skills")));
        let name = value(&fields, "name").ok_or_else(|| missing("name"))?;
        if let Some(why) = bad_name(&name) {
            return Err(Problem::error(ProblemKind::BadName, place(&fields, "name"), why));
        }
        let own = shown.rsplit('/').next().unwrap_or_default();
        if own != name {
            let message = format!("expected the name of the directory, `{own}`, found `{name}`");
            warnings.push(Problem::warning(ProblemKind::BadName, place(&fields, "name"), message));
        }
        let description = value(&fields, "description").ok_or_else(|| missing("description"))?;
        for (key, most) in [("description", MAX_DESCRIPTION), ("compatibility", MAX_COMPATIBILITY)] {
            let length = value(&fields, key).map_or(0, |value| value.chars().count());
            if length > most {
                let message = format!("`{key}`: expected at most {most} characters, found {length}");
                warnings.push(Problem::warning(ProblemKind::BadValue, place(&fields, key), message));
            }
        }
        let is_for_models = value(&fields, "disable-model-invocation").is_none_or(|value| value != "true");
        let hint = value(&fields, "argument-hint").unwrap_or_default();
        let path = format!("{shown}/{SKILL_FILE}");
        let files = files(directory, first, read, warnings);
        let command = Command { origin, name, path, description, hint, file };
        Ok(Self { command, shown: shown.to_owned(), is_for_models, directory: directory.to_owned(), files })
    }

    pub fn name(&self) -> &str {
        &self.command.name
    }

    /// Returns the path of each file in messages, and the file.
    pub fn paths(&self) -> impl Iterator<Item = (String, &SkillFile)> {
        self.files.iter().map(|file| (format!("{}/{}", self.shown, file.path), file))
    }

    /// Reads a file for a model: exactly what was found at the start, which is what the user trusts. Of `SKILL.md`, the text
    /// below the front matter and a list of the other files.
    ///
    /// # Errors
    ///
    /// Returns a message for the model.
    pub fn text(&self, path: &str, read: Read<'_>) -> Result<String, String> {
        let path = path.strip_prefix("./").unwrap_or(path);
        let known = self.files.iter().find(|file| file.path == path);
        let known = known.ok_or_else(|| {
            format!("the skill `{}` has no file `{path}`; its files: {}", self.name(), self.names())
        })?;
        if path == SKILL_FILE {
            let others = if self.files.len() > 1 {
                format!("\n\nFiles of this skill: {}", self.names())
            } else {
                String::new()
            };
            return Ok(format!("Directory: {}\n\n{}{others}", self.shown, self.command.text()));
        }
        let bytes =
            read(&self.directory.join(path), MAX_SKILL_FILE + 1).map_err(|error| error.to_string())?;
        if SkillFile::of(String::new(), &bytes).sha256 != known.sha256 {
            return Err(format!("`{path}` has changed since converse was started, so it is not used"));
        }
        String::from_utf8(bytes).map_err(|_| format!("`{path}` is not UTF-8 text ({} bytes)", known.bytes))
    }

    fn names(&self) -> String {
        self.files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>().join(", ")
    }
}

impl SkillFile {
    fn of(path: String, bytes: &[u8]) -> Self {
        Self { path, bytes: bytes.len(), sha256: Sha256::digest(bytes).into() }
    }
}

fn place(fields: &[Field], name: &str) -> Place {
    fields.iter().find(|field| field.name == name).map_or(Place::TOP, |field| field.place)
}

fn bad_name(name: &str) -> Option<String> {
    let fits = |c: char| (c.is_alphanumeric() && !c.is_uppercase()) || c == '-';
    let is_bad = name.chars().count() > MAX_NAME
        || !name.chars().all(fits)
        || name.starts_with('-')
        || name.ends_with('-')
        || name.contains("--");
    is_bad.then(|| {
        format!("`name`: expected at most {MAX_NAME} lower-case letters, digits and single `-` between them, found `{name}`")
    })
}

fn whole(path: &Path, read: Read<'_>) -> Result<Vec<u8>, Problem> {
    let bytes = read(path, MAX_SKILL_FILE + 1)
        .map_err(|error| Problem::error(ProblemKind::Unreadable, Place::TOP, error.to_string()))?;
    if bytes.len() > MAX_SKILL_FILE {
        let message = format!("it has more than {} KiB", MAX_SKILL_FILE / 1024);
        return Err(Problem::error(ProblemKind::TooLarge, Place::TOP, message));
    }
    Ok(bytes)
}

/// Returns the files of a skill in the order of their names. Links are left out, and what is beyond the limits.
fn files(directory: &Path, first: SkillFile, read: Read<'_>, warnings: &mut Vec<Problem>) -> Vec<SkillFile> {
    let mut left = MAX_SKILL.saturating_sub(first.bytes);
    let mut files = vec![first];
    let mut left_out = Vec::new();
    let mut paths = Vec::new();
    let mut more = walk(directory, "", 0, &mut paths).is_err();
    paths.sort_unstable();
    for path in paths.into_iter().filter(|path| path != SKILL_FILE) {
        if files.len() == MAX_FILES {
            more = true;
            break;
        }
        match whole(&directory.join(&path), read) {
            Ok(bytes) if bytes.len() <= left => {
                left -= bytes.len();
                files.push(SkillFile::of(path, &bytes));
            }
            Ok(_) => left_out.push(format!("`{path}`: the skill has more than {} KiB", MAX_SKILL / 1024)),
            Err(problem) => left_out.push(format!("`{path}`: {}", problem.message)),
        }
    }
    if more {
        left_out.push(format!("more than {MAX_FILES} files, or directories nested deeper than {MAX_DEPTH}"));
    }
    let told = |why| {
        let message = format!("models cannot read all files of this skill: {why}");
        Problem::warning(ProblemKind::TooLarge, Place::TOP, message)
    };
    warnings.extend(left_out.into_iter().take(MAX_FILES).map(told));
    files
}

/// Adds the regular files below a directory, as far as names are UTF-8.
///
/// # Errors
///
/// There are more than can be used.
fn walk(directory: &Path, below: &str, depth: usize, paths: &mut Vec<String>) -> io::Result<()> {
    let too_many = || io::Error::other("too many");
    if depth > MAX_DEPTH {
        return Err(too_many());
    }
    for entry in fs::read_dir(directory)?.flatten() {
        let (Ok(name), Ok(kind)) = (entry.file_name().into_string(), entry.file_type()) else { continue };
        if name.starts_with('.') {
            continue;
        }
        let path = format!("{below}{name}");
        if kind.is_dir() {
            walk(&entry.path(), &format!("{path}/"), depth + 1, paths)?;
        } else if kind.is_file() {
            paths.push(path);
        }
        // What is read of it is bounded below; this bounds the list.
        if paths.len() > MAX_FILES * 16 {
            return Err(too_many());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::unix::fs::symlink;

    use super::*;

    fn read(path: &Path, most: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        fs::File::open(path)?.take(most as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    const GOOD: &str =
        "---\nname: pdf\ndescription: Fills PDF forms. Use it for PDF files.\n---\n# PDF\n\nDo it.\n";

    fn skill(files: &[(&str, &str)]) -> (tempfile::TempDir, Result<Skill, Problem>, Vec<Problem>) {
        let dir = tempfile::tempdir().unwrap();
        let directory = dir.path().canonicalize().unwrap().join("pdf");
        for (path, text) in files {
            fs::create_dir_all(directory.join(path).parent().unwrap()).unwrap();
            fs::write(directory.join(path), text).unwrap();
        }
        let (skill, warnings) = Skill::read(Origin::User, "skills/pdf", &directory, &read);
        (dir, skill, warnings)
    }

    #[test]
    fn the_text_is_that_of_the_start_and_names_the_other_files() {
        let more = [("SKILL.md", GOOD), ("scripts/fill.py", "pass"), ("references/forms.md", "# Forms")];
        let (dir, skill, warnings) = skill(&more);
        let skill = skill.unwrap();
        assert_eq!(warnings, []);
        let body = "Directory: skills/pdf\n\n# PDF\n\nDo it.";
        let files = "\n\nFiles of this skill: SKILL.md, references/forms.md, scripts/fill.py";
        assert_eq!(skill.text(SKILL_FILE, &read).unwrap(), format!("{body}{files}"));
        assert_eq!(skill.text("./references/forms.md", &read).unwrap(), "# Forms");
        for path in ["../secret", "/etc/passwd", "scripts", "references/../SKILL.md", ""] {
            assert!(skill.text(path, &read).unwrap_err().contains("has no file"), "{path}");
        }
        let changed = dir.path().join("pdf/scripts/fill.py");
        fs::write(&changed, "steal").unwrap();
        assert!(skill.text("scripts/fill.py", &read).unwrap_err().contains("has changed"));
        fs::remove_file(&changed).unwrap();
        fs::write(dir.path().join("secret"), "secret").unwrap();
        symlink(dir.path().join("secret"), &changed).unwrap();
        assert!(skill.text("scripts/fill.py", &read).is_err());
    }

    #[test]
    fn links_hidden_files_and_what_is_too_large_are_left_out() {
        let large = "x".repeat(MAX_SKILL_FILE + 1);
        let (dir, ..) =
            skill(&[("SKILL.md", GOOD), (".git/config", "x"), ("large", &large), ("bin", "\u{0}")]);
        let directory = dir.path().canonicalize().unwrap().join("pdf");
        fs::write(dir.path().join("secret"), "secret").unwrap();
        symlink("../secret", directory.join("link")).unwrap();
        symlink("..", directory.join("up")).unwrap();
        let (skill, warnings) = Skill::read(Origin::User, "skills/pdf", &directory, &read);
        let files: Vec<_> = skill.unwrap().files.into_iter().map(|file| file.path).collect();
        assert_eq!(files, ["SKILL.md", "bin"]);
        assert!(matches!(&warnings[..], [one] if one.message.contains("`large`: it has more than 256 KiB")));
    }

    #[test]
    fn what_the_specification_asks_for_is_checked() {
        let long = "x".repeat(1025);
        for (file, line, told, is_error) in [
            ("# PDF".to_owned(), 1, "needs a `name`", true),
            ("---\nname: pdf\n---\n".to_owned(), 1, "needs a `description`", true),
            ("---\nname: Pdf\ndescription: d\n---\n".to_owned(), 2, "lower-case", true),
            ("---\ndescription: d\nname: a--b\n---\n".to_owned(), 3, "single `-`", true),
            ("---\nname: doc\ndescription: d\n---\n".to_owned(), 2, "name of the directory, `pdf`", false),
            (format!("---\nname: pdf\ndescription: {long}\n---\n"), 3, "at most 1024 characters", false),
            (
                "---\nname: pdf\ndescription: d\ncolour: red\n---\n".to_owned(),
                4,
                "unknown key `colour`",
                false,
            ),
            ("---\nname: pdf\ndescription: d: e\n---\n".to_owned(), 3, "not YAML", true),
        ] {
            let (_dir, skill, warnings) = skill(&[("SKILL.md", &file)]);
            assert_eq!(skill.is_err(), is_error, "{file}");
            let problem = skill.err().or_else(|| warnings.into_iter().next()).unwrap();
            assert!(problem.message.contains(told), "{problem:?}");
            assert_eq!(problem.place.line, line, "{problem:?}");
        }
    }

    #[test]
    fn optional_keys_are_known() {
        let file = "---\nname: pdf\ndescription: d\nlicense: MIT\ncompatibility: git\nmetadata:\n  a: b\nallowed-tools:\n  - Read\ndisable-model-invocation: true\n---\nx";
        let (_dir, skill, warnings) = skill(&[("SKILL.md", file)]);
        assert!(!skill.unwrap().is_for_models);
        assert_eq!(warnings, []);
    }
}
