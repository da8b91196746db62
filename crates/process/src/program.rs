//! Resolving a program name to a file.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{ProgramNotFound, is_executable};

/// Resolves a program name to an executable regular file.
///
/// A name without `/` is searched in `path` (the value of `PATH`). Relative and empty entries are skipped, so that a
/// program planted in the current directory is never run; entries below `avoid` are skipped too, wherever links lead.
/// A name with `/` is relative to `cwd`.
pub fn find_program(
    name: &str,
    path: Option<&str>,
    cwd: &Path,
    avoid: Option<&Path>,
) -> Result<PathBuf, ProgramNotFound> {
    let found = if name.is_empty() {
        Err("the name is empty".to_owned())
    } else if name.contains('/') {
        let file = cwd.join(name);
        objection(&file).map_or_else(|| Ok(file), Err)
    } else {
        look(name, path, avoid)
    };
    found.map_err(|reason| ProgramNotFound { name: name.to_owned(), reason })
}

fn look(name: &str, path: Option<&str>, avoid: Option<&Path>) -> Result<PathBuf, String> {
    let path = path.filter(|path| !path.is_empty()).ok_or("PATH is not set; give its whole path")?;
    let avoid = avoid.map(|avoid| avoid.canonicalize().unwrap_or_else(|_| avoid.to_owned()));
    let mut near = None;
    for entry in path.split(':').map(Path::new) {
        // An entry that cannot be resolved contains no program.
        let Some(real) = entry.is_absolute().then(|| entry.canonicalize().ok()).flatten() else { continue };
        let file = entry.join(name);
        if avoid.as_ref().is_some_and(|avoid| real.starts_with(avoid)) {
            if objection(&file).is_none() {
                near = near
                    .or_else(|| Some(format!("{} is not used: it lies within the project", file.display())));
            }
            continue;
        }
        match objection(&file) {
            None => return Ok(file),
            Some(objection) if file.exists() => near = near.or(Some(objection)),
            Some(_) => {}
        }
    }
    Err(near.unwrap_or_else(|| "it is in no directory of PATH; install it or give its whole path".to_owned()))
}

/// Returns why a file is not a program.
fn objection(file: &Path) -> Option<String> {
    match fs::metadata(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Some(format!("{} does not exist", file.display()))
        }
        Err(error) => Some(format!("{} cannot be read: {error}", file.display())),
        Ok(metadata) if !metadata.is_file() => Some(format!("{} is not a regular file", file.display())),
        Ok(_) if !is_executable(file) => {
            Some(format!("{0} is not executable; if it is a program, run `chmod +x {0}`", file.display()))
        }
        Ok(_) => None,
    }
}

#[cfg(test)]
mod tests;
