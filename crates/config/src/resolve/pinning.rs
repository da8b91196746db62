//! Programs that fetch a package and run it: is it said which version?
//!
//! `npx pkg` runs whatever is newest at that time: other code than was reviewed, by whoever holds the package's name
//! then. Only an exact version, a digest, a revision or a local path is the same code tomorrow. A lockfile of our own
//! sees a changed declaration, never changed code.

use super::Resolver;
use crate::Code;
use crate::command::ArgvDescriptor;
use crate::connection::WayDescriptor;
use crate::diagnostic::Diagnostic;
use crate::escape::quoted;
use crate::source::Span;
use crate::template::{Template, TemplatePiece};

/// Stands for what a variable or an argument fills in; what it holds is the user's own choice.
const FILLED: char = '\u{1}';

/// How a launcher writes what it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// `name@1.2.3`
    Npm,
    /// `name==1.2`, `name@1.2`
    Python,
    /// `image:tag`, `image@sha256:…`
    Image,
}

struct Launcher {
    /// Its words before any option: `pnpm dlx`.
    words: &'static [&'static str],
    kind: Kind,
    /// Options that name the package.
    names: &'static [&'static str],
    /// Options with a value in the word after them, beside those.
    valued: &'static [&'static str],
}

const NPM_VALUED: &[&str] =
    &["-c", "--call", "-w", "--workspace", "--registry", "--cache", "--prefix", "--userconfig"];
const UV_VALUED: &[&str] = &[
    "--with",
    "--with-editable",
    "--with-requirements",
    "-p",
    "--python",
    "--index",
    "--default-index",
    "-i",
    "--index-url",
    "--extra-index-url",
    "-f",
    "--find-links",
    "--cache-dir",
    "--directory",
    "--project",
    "--config-file",
    "--env-file",
    "--exclude-newer",
    "-c",
    "--constraints",
    "--overrides",
];

/// <https://docs.npmjs.com/cli/commands/npx>, <https://pnpm.io/cli/dlx>, <https://yarnpkg.com/cli/dlx>,
/// <https://bun.sh/docs/cli/bunx>, <https://docs.astral.sh/uv/reference/cli/>, <https://pipx.pypa.io/stable/docs/>,
/// <https://docs.docker.com/reference/cli/docker/container/run/> (where to look; checked from memory of them 2026-11).
const LAUNCHERS: &[Launcher] = &[
    npm(&["npx"]),
    npm(&["npm", "exec"]),
    npm(&["npm", "x"]),
    npm(&["pnpx"]),
    npm(&["pnpm", "dlx"]),
    npm(&["yarn", "dlx"]),
    npm(&["bunx"]),
    npm(&["bun", "x"]),
    Launcher { words: &["uvx"], kind: Kind::Python, names: &["--from"], valued: UV_VALUED },
    Launcher { words: &["uv", "tool", "run"], kind: Kind::Python, names: &["--from"], valued: UV_VALUED },
    Launcher {
        words: &["pipx", "run"],
        kind: Kind::Python,
        names: &["--spec"],
        valued: &["--python", "--pip-args"],
    },
    image(&["docker", "run"]),
    image(&["docker", "container", "run"]),
    image(&["podman", "run"]),
    image(&["nerdctl", "run"]),
];

const fn npm(words: &'static [&'static str]) -> Launcher {
    Launcher { words, kind: Kind::Npm, names: &["-p", "--package"], valued: NPM_VALUED }
}

const fn image(words: &'static [&'static str]) -> Launcher {
    Launcher { words, kind: Kind::Image, names: &[], valued: &[] }
}

/// Options of `docker run` without a value; all others have one.
const SWITCHES: &[&str] = &[
    "--detach",
    "--disable-content-trust",
    "--init",
    "--interactive",
    "--no-healthcheck",
    "--oom-kill-disable",
    "--privileged",
    "--publish-all",
    "--quiet",
    "--read-only",
    "--rm",
    "--sig-proxy",
    "--tty",
];
/// The short ones of them, which may stand together.
const SHORT_SWITCHES: &str = "ditPq";

impl Resolver<'_> {
    /// Told by `check` only: it is no news in each run.
    pub(super) fn unpinned(&mut self) {
        if !self.given.compile_schemas {
            return;
        }
        for words in command_lines(self.descriptor) {
            let texts: Vec<&str> = words.iter().map(|(text, _)| text.as_str()).collect();
            let Some(unpinned) = find(&texts) else { continue };
            let Some((_, span)) = words.get(unpinned.word) else { continue };
            let message = format!("`{}` {}", unpinned.launcher, unpinned.says);
            // A word beside it may be a secret.
            self.diagnostics.push(Diagnostic::warning(Code::UnpinnedPackage, *span, message).discreet());
        }
    }
}

fn command_lines(descriptor: &crate::EnsembleDescriptor) -> Vec<Vec<(String, Span)>> {
    let mut lines = Vec::new();
    if let Some(WayDescriptor::Stdio { command, .. }) =
        descriptor.connection.as_ref().map(|connection| &connection.way)
    {
        lines.push(command.iter().map(|word| (text(&Template::from(&word.value)), word.span)).collect());
    }
    let invokers = descriptor.invokers.iter().filter_map(|entry| entry.invoker.as_ref());
    for command in invokers.filter_map(|invoker| invoker.command.as_ref()) {
        let words = command.argv.iter().flat_map(ArgvDescriptor::templates);
        lines.push(words.map(|word| (text(&word.value), word.span)).collect());
    }
    lines
}

fn text(template: &Template) -> String {
    let piece = |piece: &TemplatePiece| match piece {
        TemplatePiece::Text(text) => text.clone(),
        TemplatePiece::Variable { .. } | TemplatePiece::Argument(_) => FILLED.to_string(),
    };
    template.pieces.iter().map(piece).collect()
}

#[derive(Debug, PartialEq, Eq)]
struct Unpinned {
    launcher: String,
    /// Which of the words names the package.
    word: usize,
    says: String,
}

fn find(words: &[&str]) -> Option<Unpinned> {
    let start = after_wrappers(words);
    let line = words.get(start..)?;
    let launcher = LAUNCHERS.iter().find(|launcher| {
        launcher.words.iter().enumerate().all(|(at, word)| {
            let found = line.get(at).copied().unwrap_or_default();
            if at == 0 { program(found) == *word } else { found == *word }
        })
    })?;
    let first = start + launcher.words.len();
    let (word, package) = match launcher.kind {
        Kind::Image => image_of(words, first)?,
        _ => package_of(words, first, launcher)?,
    };
    let pinned = match launcher.kind {
        Kind::Npm => npm_is_pinned(package),
        Kind::Python => python_is_pinned(package),
        Kind::Image => image_is_pinned(package),
    };
    let (what, version) =
        if launcher.kind == Kind::Image { ("an image", "tag or digest") } else { ("a package", "version") };
    (!pinned).then(|| Unpinned {
        launcher: launcher.words.join(" "),
        word,
        says: format!("runs {}, {what} without an exact {version}", shown(package)),
    })
}

/// An address may hold a key.
fn shown(package: &str) -> String {
    if package.contains("://") {
        "what an address names".to_owned()
    } else {
        quoted(&package.replace(FILLED, "…"))
    }
}

/// `env A=b npx …`, `cmd /c npx …`.
fn after_wrappers(words: &[&str]) -> usize {
    match words.first().map(|word| program(word)) {
        Some("env") => {
            1 + words.iter().skip(1).take_while(|word| word.contains('=') || word.starts_with('-')).count()
        }
        Some("cmd") if words.get(1).is_some_and(|word| word.eq_ignore_ascii_case("/c")) => 2,
        _ => 0,
    }
}

/// The name of a program, without its directory and what Windows adds.
fn program(word: &str) -> &str {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    [".exe", ".cmd"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}

/// What an option says, else the first word that is no option.
fn package_of<'w>(words: &[&'w str], first: usize, launcher: &Launcher) -> Option<(usize, &'w str)> {
    let mut at = first;
    while let Some(word) = words.get(at) {
        let (option, value) =
            word.split_once('=').map_or((*word, None), |(option, value)| (option, Some(value)));
        if launcher.names.contains(&option) {
            return value.map(|value| (at, value)).or_else(|| Some((at + 1, words.get(at + 1)?)));
        }
        let is_option = word.starts_with('-');
        if !is_option {
            return Some((at, word));
        }
        at += if value.is_none() && launcher.valued.contains(&option) { 2 } else { 1 };
    }
    None
}

fn image_of<'w>(words: &[&'w str], first: usize) -> Option<(usize, &'w str)> {
    let mut at = first;
    while let Some(word) = words.get(at) {
        if !word.starts_with('-') {
            return Some((at, word));
        }
        let short = word.strip_prefix('-').filter(|short| !short.starts_with('-'));
        let alone = match short {
            Some(letters) => {
                letters.chars().all(|c| SHORT_SWITCHES.contains(c)) || letters.chars().count() > 1
            }
            None => word.contains('=') || SWITCHES.contains(word),
        };
        at += if alone { 1 } else { 2 };
    }
    None
}

fn is_path(package: &str) -> bool {
    ["/", "./", "../", "~", "file:", "."].iter().any(|start| package.starts_with(start))
        || package.starts_with(FILLED)
}

fn npm_is_pinned(package: &str) -> bool {
    if is_path(package) {
        return true;
    }
    if package.contains("://") || package.contains(':') && !package.contains('@') {
        // A revision of a repository, or an archive.
        return package.contains('#') || package.ends_with(".tgz") || package.ends_with(".tar.gz");
    }
    let (scope, name) = if package.starts_with('@') { package.split_at(1) } else { ("", package) };
    match name.split_once('@') {
        Some((_, version)) => is_exact(version),
        // `user/repository` is one on GitHub.
        None => scope.is_empty() && name.contains('/') && name.contains('#'),
    }
}

/// `1.2.3`, `1.2.3-beta.1`; a part of a version is a range.
fn is_exact(version: &str) -> bool {
    if version.contains(FILLED) {
        return true;
    }
    let version = version.trim_start_matches(['v', '=']);
    let numbers = version.split(['-', '+']).next().unwrap_or_default();
    let mut parts = numbers.split('.');
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    parts.clone().count() == 3 && parts.all(digits)
}

fn python_is_pinned(package: &str) -> bool {
    if is_path(package) || package.ends_with(".whl") {
        return true;
    }
    let package = package.split_once(" @ ").map_or(package, |(_, address)| address);
    if let Some((_, address)) = package.split_once("://") {
        // A revision: `git+https://host/repository@v1`; before the host it is a user.
        return address.split_once('/').is_some_and(|(_, path)| path.contains('@'));
    }
    if let Some((_, version)) = package.split_once("==") {
        return !version.contains('*') && !version.trim_start_matches('=').is_empty();
    }
    package.split_once('@').is_some_and(|(_, version)| {
        version.contains(FILLED) || version.starts_with(|c: char| c.is_ascii_digit())
    })
}

fn image_is_pinned(image: &str) -> bool {
    if image.contains("@sha256:") || image.starts_with(FILLED) {
        return true;
    }
    let name = image.rsplit('/').next().unwrap_or(image);
    name.split_once(':').is_some_and(|(_, tag)| !tag.is_empty() && tag != "latest")
}

#[cfg(test)]
mod tests;
