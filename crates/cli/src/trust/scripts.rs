//! The files of a project that its commands would run: they are part of what is trusted, or a script could be swapped
//! behind a command line that stays the same.
//!
//! Every word of a command counts that leads to a regular file below the project's root, alone or behind a `=`. What such
//! a file reads in turn (modules, packages) is beyond what can be told from outside.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use converse_canister::Digest;
use converse_config::{
    ArgvPart, CommandPlan, EnsemblePlan, Environment, InvokerKind, SecretRef, Template, TemplatePiece, Way,
};
use sha2::{Digest as _, Sha256};

use super::FileDigest;

/// Bytes of all scripts together; reading more at each start would be felt.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// The scripts of all plans, by their paths below `root`. An error names the file that cannot be answered for.
pub(crate) fn scripts<'a>(
    plans: impl IntoIterator<Item = &'a EnsemblePlan>,
    root: &Path,
    environment: &Environment,
) -> Result<Vec<FileDigest>, String> {
    let mut found = BTreeMap::new();
    for plan in plans {
        for (words, cwd) in commands(plan, environment) {
            let dir = cwd.map_or_else(|| root.to_path_buf(), |cwd| root.join(cwd));
            for path in words.iter().flat_map(|word| files(word, &dir)) {
                found.extend(below(&path, root).map(|shown| (shown, path)));
            }
        }
    }
    let mut left = MAX_BYTES;
    let digest = |(shown, path): (String, PathBuf)| {
        let sha256 = digest(&path, &mut left).map_err(|error| format!("`{shown}`: {error}"))?;
        Ok(FileDigest { path: shown, sha256 })
    };
    found.into_iter().map(digest).collect()
}

/// The command lines of a plan, as far as they are known before an invocation, and where they would run.
fn commands<'a>(
    plan: &'a EnsemblePlan,
    environment: &Environment,
) -> Vec<(Vec<String>, Option<&'a PathBuf>)> {
    let mut commands = Vec::new();
    if let Some(Way::Stdio { command, cwd, .. }) = plan.connection.as_ref().map(|connection| &connection.way)
    {
        let word = |part: &SecretRef| part.read(environment).ok();
        commands.push((command.iter().filter_map(word).collect(), cwd.as_ref()));
    }
    for invoker in &plan.invokers {
        if let InvokerKind::Command(command) = &invoker.kind {
            commands.push((words(command, environment), command.cwd.as_ref()));
        }
    }
    commands
}

fn words(command: &CommandPlan, environment: &Environment) -> Vec<String> {
    let templates = command.argv.iter().flat_map(|part| match part {
        ArgvPart::One(template) => std::slice::from_ref(template),
        ArgvPart::Together(templates) => templates,
    });
    templates.map(|template| fixed(template, environment)).collect()
}

/// The text of a template before its first argument.
fn fixed(template: &Template, environment: &Environment) -> String {
    let known = template.pieces.iter().take_while(|piece| !matches!(piece, TemplatePiece::Argument(_)));
    let pieces = known.cloned().collect();
    let filled = Template { pieces }.fill(&serde_json::Map::new(), environment, |value| value);
    filled.ok().flatten().unwrap_or_default()
}

/// The regular files that a word may mean to a program that runs in `dir`.
fn files(word: &str, dir: &Path) -> Vec<PathBuf> {
    let value = word.split_once('=').map(|(_, value)| value);
    let paths = [Some(word), value].into_iter().flatten().filter(|word| !word.is_empty());
    paths.map(|word| dir.join(word)).filter(|path| path.is_file()).collect()
}

/// As shown to people; `None` for a file that is not of the project. `.` and `..` are resolved by name, so that a path
/// through the project counts even where a link leads out of it.
fn below(path: &Path, root: &Path) -> Option<String> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    let by_name = plain.strip_prefix(root).ok().map(Path::to_path_buf);
    let by_link = || fs::canonicalize(path).ok()?.strip_prefix(root).ok().map(Path::to_path_buf);
    Some(by_name.or_else(by_link)?.to_string_lossy().into_owned())
}

fn digest(path: &Path, left: &mut u64) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut file = File::open(path)?;
    let mut piece = vec![0; 64 * 1024];
    loop {
        let read = file.read(&mut piece)?;
        if read == 0 {
            return Ok(Digest(hash.finalize().into()).to_string());
        }
        *left = left.checked_sub(read as u64).ok_or_else(too_much)?;
        hash.update(&piece[..read]);
    }
}

fn too_much() -> io::Error {
    io::Error::other(format!("scripts of more than {} MiB cannot be trusted", MAX_BYTES / 1024 / 1024))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn words_that_lead_to_files_of_the_project_count() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("theirs.py"), "x").unwrap();
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir(root.join("tools")).unwrap();
        fs::write(root.join("tools/server.py"), "x").unwrap();
        symlink(outside.path().join("theirs.py"), root.join("linked.py")).unwrap();
        symlink(root.join("tools/server.py"), outside.path().join("back.py")).unwrap();
        let shown = |word: &str, dir: &str| {
            let dir = root.join(dir);
            files(word, &dir).iter().filter_map(|path| below(path, &root)).collect::<Vec<_>>()
        };
        for (word, dir, expected) in [
            ("tools/server.py", "", Some("tools/server.py")),
            ("./tools/../tools/server.py", "", Some("tools/server.py")),
            ("server.py", "tools", Some("tools/server.py")),
            ("../linked.py", "tools", Some("linked.py")),
            ("--script=tools/server.py", "", Some("tools/server.py")),
            ("python3", "", None),
            ("tools", "", None),
            ("", "", None),
            ("/etc/passwd", "", None),
        ] {
            assert_eq!(shown(word, dir).first().map(String::as_str), expected, "{word}");
        }
        let back = outside.path().join("back.py");
        assert_eq!(shown(back.to_str().unwrap(), ""), ["tools/server.py"]);
    }

    #[test]
    fn more_than_can_be_read_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("big");
        fs::write(&path, [0; 11]).unwrap();
        assert!(digest(&path, &mut 10).is_err());
        let mut left = 11;
        digest(&path, &mut left).unwrap();
        assert_eq!(left, 0);
    }
}
