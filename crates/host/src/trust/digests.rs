//! Digests of the files and directories that commands name.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use converse_config::{EnsemblePlan, Environment, InvokerKind, InvokerPlan};
use converse_ensemble::{Scripts, is_named_output, leads_to};
use converse_session::digest;
use converse_session::files::{DigestBudget, FileDigests};
use converse_text::safe_line;

use super::FileDigest;

/// Returns the digests of the files. Outputs of commands have none.
///
/// # Errors
///
/// Why the files cannot be trusted.
fn digests(scripts: &Scripts, root: &Path, budget: &mut DigestBudget) -> Result<Vec<FileDigest>, String> {
    if let Some(why) = &scripts.unknown {
        return Err(why.clone());
    }
    let outputs = scripts.outputs().collect();
    let mut digests = FileDigests::new(root, outputs, budget);
    let within = |path: &Path| {
        let mut above = path.ancestors().skip(1).filter(|above| scripts.directories.contains(*above));
        above.next().is_some_and(|nearest| !scripts.is_output(nearest))
    };
    let to_read = |path: &&PathBuf| !within(path) && !scripts.is_output(path);
    scripts.links.iter().try_for_each(|(link, target)| digests.link(link, target))?;
    scripts.files.iter().filter(to_read).try_for_each(|file| digests.file(file))?;
    scripts.directories.iter().filter(to_read).try_for_each(|dir| digests.directory(dir))?;
    let file = |(path, sha256)| FileDigest { path, sha256 };
    Ok(digests.into_digests().into_iter().map(file).collect())
}

/// Returns the digests of the files that one plan's commands name, and where its paths out of the project lead.
pub(crate) fn named_files(
    plan: &EnsemblePlan,
    root: &Path,
    environment: &Environment,
    budget: &mut DigestBudget,
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
        named_files(plan, root, environment, &mut DigestBudget::default())?.into_iter().map(pair).collect();
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

#[cfg(test)]
mod tests {
    use std::fs;

    use converse_ensemble::CommandLine;

    use super::*;

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
            let names: Vec<String> = digests(&scripts, &root, &mut DigestBudget::default())
                .unwrap()
                .into_iter()
                .map(|file| file.path)
                .collect();
            assert_eq!(names, expected, "{words:?} {environment:?}");
            assert_eq!(scripts.whole, words.contains(&"."));
        }
        let unknown =
            digests(&named(&["python3", "."], &[], &root), &root, &mut DigestBudget::default()).unwrap_err();
        assert!(unknown.contains("`python3` would run"), "{unknown}");
    }
}
