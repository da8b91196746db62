//! Digests of the files and directories that commands name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use converse_canister::Digest;
use converse_config::{EnsemblePlan, Environment, InvokerKind, InvokerPlan};
use converse_ensemble::{Scripts, is_named_output, leads_to};
use converse_session::digest;
use converse_session::files::open_regular;
use converse_text::safe_line;
use sha2::{Digest as _, Sha256};

use super::FileDigest;

/// Bytes of all files together; reading more at each start would be noticeable.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// Files, links and directories below all directories together.
const MAX_ENTRIES: usize = 2_000;

/// What may still be read.
pub(crate) struct Budget {
    bytes: u64,
    entries: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { bytes: MAX_BYTES, entries: MAX_ENTRIES }
    }
}

/// Returns the digests of the files. Outputs of commands have none.
///
/// # Errors
///
/// Why the files cannot be trusted.
fn digests(scripts: &Scripts, root: &Path, budget: &mut Budget) -> Result<Vec<FileDigest>, String> {
    if let Some(why) = &scripts.unknown {
        return Err(why.clone());
    }
    let outputs = scripts.outputs().collect();
    let mut digests = Digests { root, outputs, found: BTreeMap::new(), budget };
    let within = |path: &Path| {
        let mut above = path.ancestors().skip(1).filter(|above| scripts.directories.contains(*above));
        above.next().is_some_and(|nearest| !scripts.is_output(nearest))
    };
    let to_read = |path: &&PathBuf| !within(path) && !scripts.is_output(path);
    scripts.links.iter().try_for_each(|(link, target)| digests.link(link, target))?;
    scripts.files.iter().filter(to_read).try_for_each(|file| digests.file(file))?;
    scripts.directories.iter().filter(to_read).try_for_each(|dir| digests.directory(dir))?;
    Ok(digests.all())
}

/// Returns the digests of the files that one plan's commands name, and where its paths out of the project lead.
pub(crate) fn named_files(
    plan: &EnsemblePlan,
    root: &Path,
    environment: &Environment,
    budget: &mut Budget,
) -> Result<Vec<FileDigest>, String> {
    let mut named = digests(&Scripts::of([plan], root, environment), root, budget)?;
    named.extend(outer_places(plan));
    Ok(named)
}

/// Returns an error if a file that the plan's commands name differs from what the user trusted.
///
/// # Errors
///
/// Which file is another one now.
pub(crate) fn named_files_unchanged(
    plan: &EnsemblePlan,
    root: &Path,
    environment: &Environment,
) -> Result<(), String> {
    let pair = |file: FileDigest| (file.path, file.sha256);
    let now: BTreeSet<(String, String)> =
        named_files(plan, root, environment, &mut Budget::default())?.into_iter().map(pair).collect();
    let then: BTreeSet<(String, String)> = plan.named_files.iter().cloned().collect();
    let Some((path, _)) = now.symmetric_difference(&then).next() else { return Ok(()) };
    let scripts = Scripts::of([plan], root, environment);
    let mut names = Path::new(path).ancestors();
    let named = names.find(|path| scripts.files.contains(*path) || scripts.directories.contains(*path));
    let may_write = |named: &&Path| {
        plan.invokers.iter().any(|invoker| match &invoker.kind {
            InvokerKind::Command(command) => {
                let cwd = command.cwd.as_ref().map_or_else(|| root.to_path_buf(), |cwd| root.join(cwd));
                is_named_output(command, &root.join(named), [root, &cwd])
            }
            InvokerKind::Builtin(_) | InvokerKind::Http(_) => false,
        })
    };
    Err(changed(path, named.filter(may_write)))
}

/// Describes the change, with what can be pasted. `named` is what a command names, if it may be an output.
fn changed(path: &str, named: Option<&Path>) -> String {
    let own = named.map(|named| {
        let named = safe_line(&format!("{named:?}"), 200);
        format!("; if only this command writes it: `sandbox = \"require\"`, and `writes = [{named}]` in its `command`")
    });
    format!(
        "`{}` has changed since the project was trusted; to see the change and trust it: \
         `converse ensembles trust`, then start converse again{}",
        safe_line(path, 200),
        own.unwrap_or_default()
    )
}

/// Returns where paths out of the project lead now: `root`, and the `cwd` of commands. A link that leads elsewhere later is
/// another declaration.
fn outer_places(plan: &EnsemblePlan) -> Vec<FileDigest> {
    let place = |key: &str, path: &str| {
        let leads_to = leads_to(path);
        let sha256 = digest(leads_to.as_bytes()).to_string();
        FileDigest { path: format!("{key} of {}: {path} -> {leads_to}", plan.name), sha256 }
    };
    let cwd = |invoker: &InvokerPlan| match &invoker.kind {
        InvokerKind::Command(command) => command.cwd.clone().filter(|cwd| cwd.has_root()),
        InvokerKind::Builtin(_) | InvokerKind::Http(_) => None,
    };
    let working = plan.invokers.iter().filter_map(cwd).map(|cwd| place("cwd", &cwd.to_string_lossy()));
    plan.outer_root().map(|root| place("root", root)).into_iter().chain(working).collect()
}

struct Digests<'a> {
    root: &'a Path,
    /// Left out of directories.
    outputs: BTreeSet<&'a Path>,
    found: BTreeMap<String, String>,
    budget: &'a mut Budget,
}

impl Digests<'_> {
    fn all(self) -> Vec<FileDigest> {
        let file = |(path, sha256)| FileDigest { path, sha256 };
        self.found.into_iter().map(file).collect()
    }

    /// A link is hashed by its target's name; its target is not read.
    fn link(&mut self, link: &Path, target: &Path) -> Result<(), String> {
        let (link, target) = (text(link)?, text(target)?);
        let sha256 = digest(target.as_bytes()).to_string();
        self.found.insert(format!("{link} -> {target}"), sha256);
        Ok(())
    }

    fn file(&mut self, path: &Path) -> Result<(), String> {
        let shown = text(path)?;
        let sha256 = self.digest(path).map_err(|error| format!("`{shown}`: {error}"))?;
        self.found.insert(shown, sha256);
        Ok(())
    }

    /// Hashes every file below a directory; links are hashed and not followed.
    fn directory(&mut self, path: &Path) -> Result<(), String> {
        let named = text(path)?;
        let unread = |error: io::Error| format!("`{named}`: {error}");
        let mut waiting = vec![path.to_path_buf()];
        while let Some(dir) = waiting.pop() {
            for entry in fs::read_dir(self.root.join(&dir)).map_err(unread)? {
                let entry = entry.map_err(unread)?;
                self.budget.entries = self.budget.entries.checked_sub(1).ok_or_else(|| {
                    format!("`{named}`: a directory with more than {MAX_ENTRIES} files cannot be trusted; name the file instead")
                })?;
                let (kind, path) = (entry.file_type().map_err(unread)?, dir.join(entry.file_name()));
                if self.outputs.contains(path.as_path()) {
                    continue;
                }
                if kind.is_dir() {
                    waiting.push(path);
                } else if kind.is_symlink() {
                    self.link(&path, &fs::read_link(entry.path()).map_err(unread)?)?;
                } else if kind.is_file() && !self.is_cache(&path) {
                    self.file(&path)?;
                }
            }
        }
        Ok(())
    }

    fn digest(&mut self, path: &Path) -> io::Result<String> {
        let mut hash = Sha256::new();
        let mut file = open_regular(&self.root.join(path))?;
        let mut piece = vec![0; 64 * 1024];
        loop {
            let read = file.read(&mut piece)?;
            if read == 0 {
                return Ok(Digest(hash.finalize().into()).to_string());
            }
            self.budget.bytes = self.budget.bytes.checked_sub(read as u64).ok_or_else(too_much)?;
            hash.update(&piece[..read]);
        }
    }

    /// Returns whether a file is Python bytecode that is only used while its source is unchanged; the first run creates
    /// it. Bytecode that is used without checking the source counts as code.
    fn is_cache(&self, path: &Path) -> bool {
        let in_cache = path.parent().is_some_and(|dir| dir.ends_with("__pycache__"));
        if !in_cache || path.extension().is_none_or(|extension| extension != "pyc") {
            return false;
        }
        let mut head = [0; 8];
        let read = open_regular(&self.root.join(path)).and_then(|mut file| file.read_exact(&mut head));
        // The flags after the magic number are zero if the time of the source is compared (PEP 552).
        read.is_ok() && head.ends_with(&[0; 4])
    }
}

/// Escapes names, so that two names stay distinct.
fn text(path: &Path) -> Result<String, String> {
    let named = path.to_str().map(str::to_owned);
    named.ok_or_else(|| format!("`{}`: the name is not UTF-8", path.to_string_lossy()))
}

fn too_much() -> io::Error {
    io::Error::other(format!("scripts of more than {} MiB cannot be trusted", MAX_BYTES / 1024 / 1024))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use converse_ensemble::CommandLine;

    use super::*;

    fn below<'a>(root: &'a Path, budget: &'a mut Budget) -> Digests<'a> {
        Digests { root, outputs: BTreeSet::new(), found: BTreeMap::new(), budget }
    }

    fn named(words: &[&str], environment: &[(&str, &str)], root: &Path) -> Scripts {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        let environment = environment.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        Scripts::of_commands([CommandLine { words, environment, ..CommandLine::default() }], root)
    }

    #[test]
    fn what_a_command_names_counts() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for path in ["tools/pre.js", "tools/server.py", "server/main.py", "lib/x.py"] {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), "x").unwrap();
        }
        for (words, environment, expected) in [
            (&["node", "-r./tools/pre.js"][..], &[][..], &["tools/pre.js"][..]),
            (&["node", "tools/pre"], &[], &["tools/pre.js"]),
            (&["node"], &[("NODE_OPTIONS", "--require ./tools/pre.js")], &["tools/pre.js"]),
            (&["python3", "-m", "server.main"], &[], &["server/main.py"]),
            (&["python3"], &[("PYTHONPATH", "/x:lib")], &["lib/x.py"]),
            (
                &["server", "tools", "tools/pre.js"],
                &[],
                &["server/main.py", "tools/pre.js", "tools/server.py"],
            ),
            (&["other", "."], &[], &[]),
            (&["true"], &[], &[]),
        ] {
            let scripts = named(words, environment, &root);
            let names: Vec<String> = digests(&scripts, &root, &mut Budget::default())
                .unwrap()
                .into_iter()
                .map(|file| file.path)
                .collect();
            assert_eq!(names, expected, "{words:?} {environment:?}");
            assert_eq!(scripts.whole, words.contains(&"."));
        }
        let unknown =
            digests(&named(&["python3", "."], &[], &root), &root, &mut Budget::default()).unwrap_err();
        assert!(unknown.contains("`python3` would run"), "{unknown}");
    }

    #[test]
    fn a_directory_is_every_file_below_it() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        fs::create_dir_all(root.join("lib/__pycache__")).unwrap();
        for (name, bytes) in [
            ("lib/a.py", &b"a"[..]),
            ("lib/.hidden", b"h"),
            ("lib/__pycache__/a.pyc", b"\xcb\r\r\n\0\0\0\0rest"),
            ("lib/__pycache__/b.pyc", b"\xcb\r\r\n\x01\0\0\0rest"),
            ("lib/__pycache__/c.pyc", b""),
            ("lib/d.pyc", b"\xcb\r\r\n\0\0\0\0rest"),
            ("beside.py", b"b"),
        ] {
            fs::write(root.join(name), bytes).unwrap();
        }
        symlink("/etc", root.join("lib/etc")).unwrap();
        symlink("/proc/kmsg", root.join("lib/kmsg")).unwrap();
        let mut budget = Budget::default();
        let mut digests = below(root, &mut budget);
        digests.directory(Path::new("lib")).unwrap();
        let found = digests.all();
        let names: Vec<&str> = found.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(
            names,
            [
                "lib/.hidden",
                "lib/__pycache__/b.pyc",
                "lib/__pycache__/c.pyc",
                "lib/a.py",
                "lib/d.pyc",
                "lib/etc -> /etc",
                "lib/kmsg -> /proc/kmsg"
            ]
        );
        assert_eq!(found[3].sha256, digest(b"a").to_string());
        assert_eq!(found[5].sha256, digest(b"/etc").to_string());
    }

    #[test]
    fn more_than_can_be_read_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a", "b", "c"] {
            fs::write(dir.path().join(name), [0; 11]).unwrap();
        }
        let read = |bytes, entries| {
            let mut budget = Budget { bytes, entries };
            below(dir.path(), &mut budget).directory(&PathBuf::new())
        };
        assert!(read(32, 3).unwrap_err().contains("64 MiB"));
        assert!(read(33, 2).unwrap_err().contains("2000 files"));
        read(33, 3).unwrap();
    }

    #[test]
    fn what_is_no_regular_file_is_not_opened() {
        let dir = tempfile::tempdir().unwrap();
        symlink("/etc/passwd", dir.path().join("link")).unwrap();
        let mut budget = Budget::default();
        let mut digests = below(dir.path(), &mut budget);
        assert!(digests.file(Path::new("link")).is_err());
        assert!(digests.file(Path::new("")).is_err());
    }
}
