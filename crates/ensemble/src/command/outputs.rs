//! Output files of a command: protected files that the command names and may therefore change.

use std::path::{Path, PathBuf};

use converse_config::{CommandPlan, Template, TemplatePiece};

use crate::scripts::is_match;

/// Separators of names, each alone and all together, as for protected places: `of=out/x bs=1` may be a name too.
const BETWEEN: [&[char]; 4] = [
    &['='],
    &[':'],
    &[','],
    &[' ', '\t', '\r', '\n', '=', ':', ',', ';', '&', '|', '<', '>', '(', ')', '"', '\'', '`'],
];

/// What is protected from this command: all but the files that it alone names, as whole words (`> out/report`), and that
/// are not what it runs. `protected` holds a file once for each command that names it; `bases` is what a relative name may
/// be relative to.
pub(super) fn protected_from(protected: &[PathBuf], plan: &CommandPlan, bases: [&Path; 2]) -> Vec<PathBuf> {
    let is_output = |path: &PathBuf| {
        !path.is_dir()
            && protected.iter().filter(|other| *other == path).count() == 1
            && is_named_output(plan, path, bases)
    };
    protected.iter().filter(|path| !is_output(path)).cloned().collect()
}

/// Returns whether the command names the path as a whole word, and does not run it. A relative name is relative to one of
/// `bases`.
pub fn is_named_output(plan: &CommandPlan, path: &Path, bases: [&Path; 2]) -> bool {
    let words: Vec<&Template> = plan.templates().collect();
    let means = |name: &str| {
        let name = name.strip_prefix("./").unwrap_or(name);
        let relative = bases.into_iter().filter_map(|base| path.strip_prefix(base).ok());
        // Whatever a word may mean is protected, with the endings that an interpreter would add.
        let mut forms = relative.chain([path]).filter(|path| !path.as_os_str().is_empty());
        !name.is_empty()
            && forms.any(|path| {
                path == Path::new(name) || path.with_extension("") == Path::new(name) || is_match(name, path)
            })
    };
    !script(&words).any(means) && words.iter().flat_map(|word| names(word)).any(means)
}

/// Returns the program, and its first argument that is not an option: the script that an interpreter runs.
fn script<'a>(words: &[&'a Template]) -> impl Iterator<Item = &'a str> + Clone {
    let texts: Vec<&str> = words.iter().filter_map(|word| texts(word).next()).collect();
    let first = texts.iter().skip(1).find(|text| !text.starts_with('-')).copied();
    texts.first().copied().into_iter().chain(first)
}

/// Returns every part of a word that may be a path, including the value of an option (`-oout/x`) and `@file`.
fn names(word: &Template) -> impl Iterator<Item = &str> {
    texts(word).flat_map(parts).flat_map(tails)
}

fn parts(text: &str) -> impl Iterator<Item = &str> {
    let value = text.split_once('=').map(|(_, value)| value);
    let split = BETWEEN.iter().flat_map(|between| text.split(*between));
    [Some(text), value].into_iter().flatten().chain(split)
}

fn tails(part: &str) -> impl Iterator<Item = &str> {
    let of_option = part.get(2..).filter(|_| part.starts_with('-'));
    [Some(part), part.strip_prefix('@'), of_option].into_iter().flatten()
}

fn texts(word: &Template) -> impl Iterator<Item = &str> {
    word.pieces.iter().filter_map(|piece| match piece {
        TemplatePiece::Text(text) => Some(text.as_str()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use converse_config::{ArgvPart, SandboxAccess};

    use super::*;
    use crate::testing::{TempDir, template};

    #[test]
    fn a_command_may_change_what_it_alone_names_and_does_not_run() {
        let temp = TempDir::new();
        let root = temp.path();
        fs::create_dir_all(root.join("in/out")).unwrap();
        fs::write(root.join("in/out/theirs"), "").unwrap();
        let all =
            ["in/out/mine.js", "in/out/theirs", "in/out", "in/out/ours", "in/out/ours", "in/out/theirs bs"];
        for (line, own) in [
            (&["sh", "-c", "make > out/mine"][..], &["in/out/mine.js"][..]),
            (&["sh", "-c", "make>./out/mine.js;"], &["in/out/mine.js"]),
            (&["sh", "-c", "make > in/out/mine"], &["in/out/mine.js"]),
            (&["make", "all", "--to=out/theirs"], &["in/out/theirs"]),
            (&["make", "all", "-oout/theirs"], &["in/out/theirs"]),
            (&["sh", "-c", "dd of=out/theirs bs=1"], &["in/out/theirs", "in/out/theirs bs"]),
            (&["sh", "-c", "make > out/mine.js.old"], &[]),
            (&["sh", "-c", "make > about/mine"], &[]),
            (&["sh", "-c", "make > out/ours"], &[]),
            (&["node", "out/mine"], &[]),
            (&["node", "--check", "out/mine.js", "out/theirs"], &["in/out/theirs"]),
            (&["out/theirs", "x"], &[]),
            (&["make", "{x}"], &[]),
            (&["make", "out"], &[]),
            (&["sh", "-c", "rm out/t*.tmp out/m*"], &["in/out/mine.js"]),
            (&["sh", "-c", "rm *"], &[]),
            (&["sh", "out/*.js"], &[]),
        ] {
            let argv = line.iter().map(|word| ArgvPart::One(template(word))).collect();
            let sandbox_access = SandboxAccess::default();
            let plan = CommandPlan { argv, environment: Vec::new(), cwd: None, stdin: None, sandbox_access };
            let protected = all.map(|path| root.join(path));
            let found = protected_from(&protected, &plan, [root, &root.join("in")]);
            let left = all.iter().filter(|path| !own.contains(path)).map(|path| root.join(path));
            assert_eq!(found, left.collect::<Vec<_>>(), "{line:?}");
        }
    }
}
