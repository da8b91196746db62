//! Programs as Debian packages them, without installing anything: a package is only opened.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{Result, built};

/// Where the program is: installed, or unpacked below `target/`, from the first of these packages. The others hold the
/// libraries that it needs.
pub(crate) fn find(packages: &[&str], program: &str) -> Result<PathBuf> {
    let package = packages.first().copied().unwrap_or_default();
    let unpacked = built::root().join("target").join(package);
    let places = [Path::new("/").join(program), unpacked.join(program)];
    if let Some(place) = places.iter().find(|place| place.is_file()) {
        return Ok(place.clone());
    }
    packages.iter().try_for_each(|package| unpack(package, &unpacked))?;
    let [_, place] = places;
    if place.is_file() { Ok(place) } else { Err(format!("Debian's {package} holds no {program}").into()) }
}

fn unpack(package: &str, into: &Path) -> Result<()> {
    std::fs::create_dir_all(into)?;
    let fetched =
        Command::new("apt-get").args(["download", package]).current_dir(into).stdout(Stdio::null()).status();
    if !fetched.is_ok_and(|status| status.success()) {
        return Err(
            format!("there is no {package}, and `apt-get download {package}` failed: install it").into()
        );
    }
    for entry in std::fs::read_dir(into)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "deb") {
            Command::new("dpkg").arg("-x").arg(&path).arg(into).status()?;
        }
    }
    Ok(())
}

/// The libraries beside a program that was unpacked; none where it is installed.
pub(crate) fn libraries(program: &Path) -> Option<PathBuf> {
    let below = program.parent()?.parent()?.join("lib");
    let mut dirs = std::fs::read_dir(below).ok()?.flatten().map(|entry| entry.path());
    let found = dirs.find(|dir| dir.to_string_lossy().ends_with("-linux-gnu"))?;
    program.starts_with(built::root()).then_some(found)
}
