//! Errors of starting a child, with advice.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::descriptors::{NO_DESCRIPTORS, lacks_descriptors};
use crate::spawn::Spawn;

pub(crate) const VOID: &str = "/dev/null";

/// A child that could not be started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot start {}: {reason}", program.display())]
pub struct SpawnError {
    pub program: PathBuf,
    /// The reason and, where known, what to do.
    pub reason: String,
    /// Whether no file descriptor was left for it.
    pub lacks_descriptors: bool,
}

/// A program that was not found or is not executable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no program {name:?}: {reason}")]
pub struct ProgramNotFound {
    pub name: String,
    /// Where it was searched, or why the file is not a program.
    pub reason: String,
}

/// Explains an error of the spawn: the kernel uses one number for many reasons, so the files are inspected.
pub(crate) fn why(spawn: &Spawn, error: &io::Error) -> String {
    if lacks_descriptors(error) {
        return NO_DESCRIPTORS.to_owned();
    }
    if let Some(why) = (!spawn.stdin).then(|| no_void(error)).flatten() {
        return why;
    }
    match Errno::from_io_error(error) {
        Some(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) if !spawn.cwd.is_dir() => {
            format!("its working directory {} does not exist", spawn.cwd.display())
        }
        Some(Errno::NOENT | Errno::NOTDIR) => missing(&spawn.program),
        Some(Errno::ACCESS) => forbidden(&spawn.program),
        Some(Errno::NOEXEC) => "not a program for this machine".to_owned(),
        Some(Errno::TOOBIG) => "its arguments and environment are too long".to_owned(),
        Some(Errno::TXTBSY) => "it is being written; try again when that is done".to_owned(),
        Some(Errno::AGAIN) => "there are too many processes".to_owned(),
        _ if error.kind() == io::ErrorKind::InvalidInput => {
            "an argument or a variable contains a NUL byte".to_owned()
        }
        _ => error.to_string().to_lowercase(),
    }
}

/// Explains a spawn that failed because `/dev/null` cannot be opened.
pub(crate) fn no_void(error: &io::Error) -> Option<String> {
    unopened(Path::new(VOID), error)
}

fn unopened(void: &Path, error: &io::Error) -> Option<String> {
    Errno::from_io_error(error)
        .filter(|number| [Errno::NOENT, Errno::NOTDIR, Errno::ACCESS].contains(number))?;
    let error = File::options().read(true).write(true).open(void).err()?;
    Some(format!("{} is required and cannot be opened: {error}", void.display()))
}

fn missing(program: &Path) -> String {
    if !program.exists() {
        return "it does not exist".to_owned();
    }
    match interpreter(program) {
        Some(line) => format!("it is a script whose interpreter does not exist: {line:?}"),
        None => "its loader does not exist: it was built for another system".to_owned(),
    }
}

fn forbidden(program: &Path) -> String {
    match fs::metadata(program) {
        Ok(metadata) if metadata.is_dir() => "it is a directory".to_owned(),
        Ok(_) if !is_executable(program) => {
            format!("it is not executable; if it is a program, run `chmod +x {}`", program.display())
        }
        Ok(_) => match interpreter(program) {
            Some(line) => format!("the interpreter in its first line may not be executed: {line:?}"),
            None => "execution is not permitted in its directory, or its working directory cannot be entered"
                .to_owned(),
        },
        Err(_) => "a directory on the way to it may not be entered".to_owned(),
    }
}

pub(crate) fn is_executable(program: &Path) -> bool {
    rustix::fs::access(program, rustix::fs::Access::EXEC_OK).is_ok()
}

/// The first line of a script, as far as the kernel reads it.
fn interpreter(program: &Path) -> Option<String> {
    let mut start = Vec::new();
    File::open(program).ok()?.take(256).read_to_end(&mut start).ok()?;
    let line = start.split(|byte| *byte == b'\n').next()?;
    line.starts_with(b"#!").then(|| String::from_utf8_lossy(line).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_void_is_blamed_only_where_it_is_not_there() {
        let (void, nowhere) = (Path::new(VOID), Path::new("/nowhere/null"));
        for (place, number, blamed) in [
            (void, Errno::NOENT, false),
            (nowhere, Errno::NOENT, true),
            (nowhere, Errno::ACCESS, true),
            (nowhere, Errno::AGAIN, false),
        ] {
            let why = unopened(place, &number.into());
            assert_eq!(why.is_some_and(|why| why.contains("/nowhere/null")), blamed, "{place:?} {number:?}");
        }
    }
}
