//! The files of a run: the suite, the baseline, the reports and the results.

use std::fs::File;
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use converse_config::{Diagnostic, MAX_FILE_BYTES, Scope, SourceMap};
use converse_host::answer::ReplySchema;
use converse_host::failure::{Failure, Kind};
use converse_session::files::{Durability, Mode, Replace, open_regular, replace};
use converse_terminal::render::output::{printable, write_stderr};
use converse_text::wording::counted;
use serde_json::Value;

use crate::baseline::Baseline;
use crate::parse::parse_suite;
use crate::suite::Suite;

/// How each line of results begins.
const BEGIN: &[u8] = b"{\"case\":";

/// Reads the suite. `shown` is the path in messages. Prints every problem.
///
/// # Errors
///
/// The file cannot be read, or has errors.
pub(crate) fn suite(path: &Path, shown: &Path) -> Result<Suite, Failure> {
    let shown_text = shown.display().to_string();
    let bytes = bytes(path).map_err(|error| {
        Failure::usage("suite-file", format!("`{shown_text}` cannot be read: {error}"))
            .hint("see docs/guides/eval.md for a first suite")
    })?;
    let mut sources = SourceMap::new();
    let print = |diagnostics: &[Diagnostic], sources: &SourceMap| {
        diagnostics.iter().for_each(|one| write_stderr(&one.render(sources)));
        diagnostics.iter().filter(|one| one.is_error()).count()
    };
    let checked = match sources.add_bytes(shown_text.clone(), Scope::User, &bytes) {
        Ok(id) => parse_suite(&sources, id),
        Err(diagnostic) => {
            print(&[diagnostic], &sources);
            return Err(bad_suite(&shown_text, 1));
        }
    };
    match print(&checked.diagnostics, &sources) {
        0 => {
            let mut suite = checked.value;
            if suite.name.is_empty() {
                suite.name = shown.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            }
            Ok(suite)
        }
        errors => Err(bad_suite(&shown_text, errors)),
    }
}

pub(crate) fn bad_suite(shown: &str, errors: usize) -> Failure {
    Failure::usage("bad-suite", format!("`{shown}` has {}; nothing was run", counted(errors, "error")))
}

/// Reads a regular file, at most one byte more than [`MAX_FILE_BYTES`].
fn bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(&path.canonicalize()?)?.take(MAX_FILE_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads the schema of an answer.
///
/// # Errors
///
/// The file cannot be read, or is not a JSON Schema.
pub(crate) fn schema(path: &Path) -> Result<Value, String> {
    let bytes = bytes(path).map_err(|error| error.to_string())?;
    let schema: Value = serde_json::from_slice(&bytes).map_err(|error| format!("not JSON: {error}"))?;
    ReplySchema::of(schema.clone())?;
    Ok(schema)
}

/// Reads a baseline.
///
/// # Errors
///
/// The file cannot be read, or is not a baseline.
pub(crate) fn baseline(path: &Path, shown: &Path) -> Result<Baseline, Failure> {
    let failed = |why: String| {
        Failure::usage("baseline-file", format!("`{}` cannot be used: {why}", shown.display()))
            .hint("`--save-baseline FILE` writes one")
    };
    let bytes = bytes(path).map_err(|error| failed(error.to_string()))?;
    if bytes.len() > MAX_FILE_BYTES {
        return Err(failed(format!("it has more than {MAX_FILE_BYTES} bytes")));
    }
    serde_json::from_slice(&bytes).map_err(|error| failed(error.to_string()))
}

/// Writes a report or a baseline as a whole. A link stays a link, and what is not a regular file, such as a pipe, is
/// written to, as is a file that cannot be replaced.
///
/// # Errors
///
/// The file cannot be written.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let written = replaced(path, text).or_else(|error| in_place(path, text, error));
    written.map_err(|error| unwritten(path, &error))
}

/// Writes to a file that cannot be replaced: its directory cannot be written, or it is a mount of its own.
fn in_place(path: &Path, text: &str, error: std::io::Error) -> std::io::Result<()> {
    match error.kind() {
        ErrorKind::PermissionDenied
        | ErrorKind::ReadOnlyFilesystem
        | ErrorKind::ResourceBusy
        | ErrorKind::CrossesDevices => std::fs::write(path, text),
        _ => Err(error),
    }
}

fn replaced(path: &Path, text: &str) -> std::io::Result<()> {
    let (path, mode) = match path.metadata() {
        Ok(old) if !old.is_file() => return std::fs::write(path, text),
        Ok(old) => (path.canonicalize()?, Mode::Exact(old.permissions().mode() & 0o7777)),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            if path.is_symlink() {
                return std::fs::write(path, text);
            }
            (path.to_owned(), Mode::Umasked(0o666))
        }
        Err(error) => return Err(error),
    };
    replace(&path, text.as_bytes(), Replace { mode, durability: Durability::Content, ..Replace::PRIVATE })
}

fn unwritten(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(Kind::Output, "report-failed", format!("`{}` could not be written: {error}", path.display()))
}

/// The file of results: a JSON object on each line.
#[derive(Debug)]
pub(crate) struct Results {
    file: File,
    path: std::path::PathBuf,
}

impl Results {
    /// Begins the file anew. A file that has something else is not touched.
    ///
    /// # Errors
    ///
    /// The file cannot be written, or has something else.
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        let mut begin = [0; BEGIN.len()];
        let read = match File::open(path) {
            Ok(mut file) => file.read(&mut begin).map_err(|error| unwritten(path, &error))?,
            Err(error) if error.kind() == ErrorKind::NotFound => 0,
            Err(error) => return Err(unwritten(path, &error)),
        };
        if read > 0 && begin != BEGIN {
            let message = format!("`{}` has something else than results of `converse eval`", path.display());
            return Err(Failure::usage("not-results", message).hint("name another file with `-o`"));
        }
        let file = File::create(path).map_err(|error| unwritten(path, &error))?;
        Ok(Self { file, path: path.to_owned() })
    }

    /// Writes one result.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub(crate) fn take(&mut self, line: &Value) -> Result<(), Failure> {
        let text = printable(&line.to_string()) + "\n";
        self.file.write_all(text.as_bytes()).map_err(|error| unwritten(&self.path, &error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_replaced_is_written_in_place() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("r.md");
        // EACCES, EROFS, EBUSY, EXDEV.
        for code in [13, 30, 16, 18] {
            std::fs::write(&file, "a longer text of before").unwrap();
            in_place(&file, "new", std::io::Error::from_raw_os_error(code)).unwrap();
            assert_eq!(std::fs::read_to_string(&file).unwrap(), "new");
        }
        // A full disk would leave less than there was.
        assert!(in_place(&file, "x", std::io::Error::from_raw_os_error(28)).is_err());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "new");
    }

    #[test]
    fn a_report_replaces_the_old_one_as_a_whole() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("r.md"), dir.path().join("link.md"));
        write(&file, "one").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
        // Who reads the old report reads all of it.
        let mut reader = File::open(&file).unwrap();
        write(&link, "two").unwrap();
        let mut old = String::new();
        reader.read_to_string(&mut old).unwrap();
        assert_eq!((old.as_str(), std::fs::read_to_string(&file).unwrap().as_str()), ("one", "two"));
        assert!(link.is_symlink());
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o7777, 0o640);
        // A link whose target is still to be written.
        let (target, dangling) = (dir.path().join("later.md"), dir.path().join("dangling.md"));
        std::os::unix::fs::symlink(&target, &dangling).unwrap();
        write(&dangling, "three").unwrap();
        assert!(dangling.is_symlink());
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "three");
        write(Path::new("/dev/null"), "x").unwrap();
        assert!(!Path::new("/dev/null").is_file());
        assert_eq!(write(dir.path(), "x").unwrap_err().code, "report-failed");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 4);
    }
}
