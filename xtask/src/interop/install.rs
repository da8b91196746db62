//! Installs the servers (and the validators of another chore), each at the versions that are written down in
//! `xtask/interop` (`xtask/validators`), from the public registries.
//!
//! Nothing of theirs runs at that time: npm runs no scripts, pip builds nothing. Each Python server has an environment
//! of its own, because they want different versions of the same library.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::process::{self, Ran};
use super::report::tail;
use crate::Result;

/// One registry command. What takes longer hangs.
const LIMIT: Duration = Duration::from_secs(240);

/// What is installed together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kit {
    pub(crate) name: &'static str,
    content: Content,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    /// `package.json` and its lock.
    Npm { package: &'static str, lock: &'static str },
    /// Every package that is needed, as `name==version`.
    Python { requirements: &'static str },
}

pub(crate) const NPM: Kit = npm(
    "npm",
    include_str!("../../interop/npm/package.json"),
    include_str!("../../interop/npm/package-lock.json"),
);
pub(crate) const MORE: Kit = npm(
    "more",
    include_str!("../../interop/more/package.json"),
    include_str!("../../interop/more/package-lock.json"),
);
/// Clients, and the Node 22 that one of them needs.
pub(crate) const CLIENTS: Kit = npm(
    "clients",
    include_str!("../../interop/clients/package.json"),
    include_str!("../../interop/clients/package-lock.json"),
);
pub(crate) const TIME: Kit = python("time", include_str!("../../interop/python/time.txt"));
pub(crate) const GIT: Kit = python("git", include_str!("../../interop/python/git.txt"));
pub(crate) const FETCH: Kit = python("fetch", include_str!("../../interop/python/fetch.txt"));
pub(crate) const SQLITE: Kit = python("sqlite", include_str!("../../interop/python/sqlite.txt"));
pub(crate) const CALCULATOR: Kit = python("calculator", include_str!("../../interop/python/calculator.txt"));

pub(crate) const fn npm(name: &'static str, package: &'static str, lock: &'static str) -> Kit {
    Kit { name, content: Content::Npm { package, lock } }
}

pub(crate) const fn python(name: &'static str, requirements: &'static str) -> Kit {
    Kit { name, content: Content::Python { requirements } }
}

impl Kit {
    /// Installs it below `kits`, if it is not there as it should be. Was there something to do?
    pub(crate) fn install(&self, kits: &Path) -> Result<bool> {
        let dir = kits.join(self.name);
        fill_once(&dir, &self.stamp(&dir)?, |dir| self.fill(dir))
            .map_err(|error| format!("the servers of `{}` were not installed: {error}", self.name).into())
    }

    /// The installed program of a server.
    pub(crate) fn program(&self, kits: &Path, program: &str) -> PathBuf {
        let bin = match self.content {
            Content::Npm { .. } => "node_modules/.bin",
            Content::Python { .. } => "bin",
        };
        kits.join(self.name).join(bin).join(program)
    }

    /// What makes an installation another: the versions, the interpreter, the place (it is written into scripts).
    fn stamp(&self, dir: &Path) -> Result<String> {
        let (interpreter, manifest) = match self.content {
            Content::Npm { lock, .. } => ("node", lock),
            Content::Python { requirements } => ("python3", requirements),
        };
        let version = done(Command::new(interpreter).arg("--version"))
            .map_err(|error| format!("Node 20 and Python 3.11 or newer are needed: {error}"))?;
        Ok(format!("{}\n{}\n{manifest}", dir.display(), version.stdout.trim()))
    }

    fn fill(&self, dir: &Path) -> Result<()> {
        match self.content {
            Content::Npm { package, lock } => {
                fs::write(dir.join("package.json"), package)?;
                fs::write(dir.join("package-lock.json"), lock)?;
                let options = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
                done(Command::new("npm").args(options).current_dir(dir))?;
            }
            Content::Python { requirements } => {
                let list = dir.join("requirements.txt");
                fs::write(&list, requirements)?;
                // The machine's own pip fills it: to put one into each takes longer than the rest.
                done(Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(dir))?;
                let mut pip = Command::new("python3");
                pip.args(["-m", "pip", "--python"]).arg(dir);
                pip.args(["install", "--quiet", "--no-input", "--disable-pip-version-check"]);
                done(pip.args(["--only-binary=:all:", "--requirement"]).arg(list))?;
            }
        }
        Ok(())
    }
}

/// Fills the directory, unless a file beside it says that this was done with this very stamp. What is half done counts
/// as not done.
fn fill_once(dir: &Path, stamp: &str, fill: impl FnOnce(&Path) -> Result<()>) -> Result<bool> {
    let file = dir.with_extension("stamp");
    if fs::read_to_string(&file).is_ok_and(|found| found == stamp) {
        return Ok(false);
    }
    for old in [&file, dir] {
        remove(old)?;
    }
    fs::create_dir_all(dir)?;
    fill(dir)?;
    fs::write(file, stamp)?;
    Ok(true)
}

fn remove(path: &Path) -> Result<()> {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("{}: {error}", path.display()).into())
        }
        _ => Ok(()),
    }
}

/// A command that must succeed.
pub(crate) fn done(command: &mut Command) -> Result<Ran> {
    let ran = process::run(command, LIMIT)?;
    match ran.code {
        Some(0) => Ok(ran),
        _ if ran.late => Err(format!("`{}` did not end within {} s", ran.command, LIMIT.as_secs()).into()),
        _ => {
            Err(format!("`{}` failed: {}", ran.command, tail(&format!("{}{}", ran.stdout, ran.stderr)))
                .into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_is_exact() {
        for kit in [TIME, GIT, FETCH, SQLITE, CALCULATOR] {
            let Content::Python { requirements } = kit.content else { panic!("{kit:?}") };
            assert!(requirements.contains(&format!("mcp-server-{}==", kit.name)), "{kit:?}");
            assert!(requirements.lines().all(|line| line.contains("==") && !line.contains(' ')), "{kit:?}");
        }
        for kit in [NPM, MORE, CLIENTS, crate::validators::taplo::KIT, crate::validators::findings::NPM] {
            let Content::Npm { package, lock } = kit.content else { panic!("{kit:?}") };
            let package: serde_json::Value = serde_json::from_str(package).unwrap();
            let lock: serde_json::Value = serde_json::from_str(lock).unwrap();
            assert_eq!(package["dependencies"], lock["packages"][""]["dependencies"]);
            let versions = package["dependencies"].as_object().unwrap().values();
            for version in versions {
                assert!(version.as_str().unwrap().starts_with(|c: char| c.is_ascii_digit()), "{version}");
            }
            let packages = lock["packages"].as_object().unwrap().iter().filter(|(path, _)| !path.is_empty());
            for (path, package) in packages {
                assert!(package["integrity"].is_string() && package["resolved"].is_null(), "{path}");
            }
        }
    }

    #[test]
    fn what_is_installed_is_installed_once() {
        let kits = tempfile::tempdir().unwrap();
        let (dir, file) = (kits.path().join("time"), kits.path().join("time/file"));
        let fill = |stamp: &str, text: &str| {
            fill_once(&dir, stamp, |dir| Ok(fs::write(dir.join(text), text)?))
                .map_err(|error| error.to_string())
        };
        assert_eq!(fill("1", "file"), Ok(true));
        assert_eq!(fill("1", "other"), Ok(false));
        assert!(file.exists());

        // Other versions: nothing of the old ones stays.
        assert_eq!(fill("2", "other"), Ok(true));
        assert!(!file.exists());

        // Half done is not done.
        let broken = fill_once(&dir, "3", |_| Err("no network".into()));
        assert_eq!(broken.unwrap_err().to_string(), "no network");
        assert_eq!(fill("2", "file"), Ok(true));
        assert_eq!(TIME.program(kits.path(), "file"), kits.path().join("time/bin/file"));
        assert_eq!(NPM.program(kits.path(), "x"), kits.path().join("npm/node_modules/.bin/x"));
    }

    #[test]
    fn a_command_that_fails_says_why() {
        let error = done(Command::new("/bin/sh").args(["-c", "echo a; echo b >&2; exit 1"])).unwrap_err();
        assert!(error.to_string().ends_with("failed: a\nb"), "{error}");
        let error = done(&mut Command::new("/no/such/program")).unwrap_err();
        assert!(error.to_string().contains("does not start"), "{error}");
        assert_eq!(done(Command::new("/bin/sh").args(["-c", "echo a"])).unwrap().stdout, "a\n");
    }
}
