//! Warns about commands that download and run a package without an exact version.
//!
//! `npx pkg` runs the newest version, which may be other code than was reviewed. Only an exact version, a digest, a
//! revision or a local path is the same code tomorrow. The lockfile detects changed declarations, not changed code.

use super::Resolver;
use super::command_line::{FILLED, after_wrappers, command_lines, lists, program, script, simple_commands};
use crate::Code;
use crate::diagnostic::{Diagnostic, quoted};

/// The syntax in which a launcher names a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// `name@1.2.3`
    Npm,
    /// `name==1.2`, `name@1.2`
    Python,
    /// `image:tag`, `image@sha256:…`
    Image,
    /// `module@v1.2.3`
    Go,
    /// `name@1.2.3`
    Nuget,
}

struct Launcher {
    /// The words before any option, separated by blanks: `pnpm dlx`.
    words: &'static str,
    kind: Kind,
    /// Options that name the package.
    names: &'static str,
    /// Other options whose value is the next word.
    valued: &'static str,
}

const NPM_VALUED: &str = "-c --call -w --workspace --registry --cache --prefix --userconfig";
const UV_VALUED: &str = "--with --with-editable --with-requirements -p --python --index --default-index -i --index-url \
                         --extra-index-url -f --find-links --cache-dir --directory --project --config-file --env-file \
                         --exclude-newer -c --constraints --overrides";

const GO_VALUED: &str = "-C -asmflags -buildmode -compiler -covermode -coverpkg -exec -gccgoflags -gcflags -installsuffix \
                         -ldflags -mod -modfile -o -overlay -p -pgo -pkgdir -tags -toolexec";

const NUGET_VALUED: &str = "--add-source --configfile --framework --source -v --verbosity";

/// <https://docs.npmjs.com/cli/commands/npx>, <https://pnpm.io/cli/dlx>, <https://yarnpkg.com/cli/dlx>,
/// <https://bun.sh/docs/cli/bunx>, <https://docs.astral.sh/uv/reference/cli/>, <https://pipx.pypa.io/stable/docs/>,
/// <https://docs.docker.com/reference/cli/docker/container/run/>, <https://pkg.go.dev/cmd/go#hdr-Compile_and_run_Go_program>,
/// <https://learn.microsoft.com/en-us/dotnet/core/tools/dotnet-tool-exec> (from memory, 2026-11).
const LAUNCHERS: &[Launcher] = &[
    npm("npx"),
    npm("npm exec"),
    npm("npm x"),
    npm("pnpx"),
    npm("pnpm dlx"),
    npm("yarn dlx"),
    npm("bunx"),
    npm("bun x"),
    Launcher { words: "uvx", kind: Kind::Python, names: "--from", valued: UV_VALUED },
    Launcher { words: "uv tool run", kind: Kind::Python, names: "--from", valued: UV_VALUED },
    Launcher { words: "pipx run", kind: Kind::Python, names: "--spec", valued: "--python --pip-args" },
    image("docker run"),
    image("docker container run"),
    image("podman run"),
    image("nerdctl run"),
    Launcher { words: "go run", kind: Kind::Go, names: "", valued: GO_VALUED },
    Launcher { words: "dnx", kind: Kind::Nuget, names: "", valued: NUGET_VALUED },
];

const fn npm(words: &'static str) -> Launcher {
    Launcher { words, kind: Kind::Npm, names: "-p --package", valued: NPM_VALUED }
}

const fn image(words: &'static str) -> Launcher {
    Launcher { words, kind: Kind::Image, names: "", valued: "" }
}

/// Options of `docker run` without a value; all others have one.
const SWITCHES: &str = "--detach --disable-content-trust --init --interactive --no-healthcheck --oom-kill-disable \
                        --privileged --publish-all --quiet --read-only --rm --sig-proxy --tty";
/// Short options without a value, which can be combined.
const SHORT_SWITCHES: &str = "ditPq";

/// Returns why a command may run other code tomorrow: it downloads a package without an exact version.
pub fn unpinned_package(words: &[&str]) -> Option<String> {
    find(words).or_else(|| find_in_script(words)).map(|unpinned| unpinned.message())
}

impl Resolver<'_> {
    /// Warns in `check` only, so that runs do not repeat it.
    pub(super) fn unpinned(&mut self) {
        if !self.given.compile_schemas {
            return;
        }
        for words in command_lines(self.descriptor) {
            let texts: Vec<&str> = words.iter().map(|(text, _)| text.as_str()).collect();
            let Some(unpinned) = find(&texts).or_else(|| find_in_script(&texts)) else { continue };
            let Some((_, span)) = words.get(unpinned.word) else { continue };
            let warning = Diagnostic::warning(Code::UnpinnedPackage, *span, unpinned.message());
            // Other words on the line may be secret.
            self.diagnostics.push(warning.without_excerpt());
        }
    }
}

/// Looks into the text of `sh -c "npx …"`.
fn find_in_script(words: &[&str]) -> Option<Unpinned> {
    let word = script(words)?;
    let commands = simple_commands(words.get(word)?);
    let mut found = commands.iter().filter_map(|command| {
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        find(&command)
    });
    found.next().map(|unpinned| Unpinned { word, ..unpinned })
}

#[derive(Debug, PartialEq, Eq)]
struct Unpinned {
    launcher: String,
    /// Index of the word that names the package.
    word: usize,
    finding: String,
}

impl Unpinned {
    fn message(&self) -> String {
        format!("`{}` {}", self.launcher, self.finding)
    }
}

fn find(words: &[&str]) -> Option<Unpinned> {
    let start = after_wrappers(words);
    let line = words.get(start..)?;
    let launcher = LAUNCHERS.iter().find(|launcher| {
        launcher.words.split_whitespace().enumerate().all(|(at, word)| {
            let found = line.get(at).copied().unwrap_or_default();
            if at == 0 { program(found) == word } else { found == word }
        })
    })?;
    let first = start + launcher.words.split_whitespace().count();
    let (word, package) = match launcher.kind {
        Kind::Image => image_of(words, first)?,
        _ => package_of(words, first, launcher)?,
    };
    let pinned = match launcher.kind {
        Kind::Npm => npm_is_pinned(package),
        Kind::Python => python_is_pinned(package),
        Kind::Image => image_is_pinned(package),
        Kind::Go => go_is_pinned(package),
        Kind::Nuget => {
            let version = package.split_once('@').map(|(_, version)| version);
            version.is_some_and(is_release) || words.contains(&"--version")
        }
    };
    let (what, version) =
        if launcher.kind == Kind::Image { ("an image", "tag or digest") } else { ("a package", "version") };
    (!pinned).then(|| Unpinned {
        launcher: launcher.words.to_owned(),
        word,
        finding: format!("runs {}, {what} without an exact {version}", shown(package)),
    })
}

/// Returns the package for a message. A URL may contain a key, so it is not shown.
fn shown(package: &str) -> String {
    if package.contains("://") {
        "a package from a URL".to_owned()
    } else {
        quoted(&package.replace(FILLED, "…"))
    }
}

/// Returns the value of an option that names the package, or else the first word that is not an option.
fn package_of<'w>(words: &[&'w str], first: usize, launcher: &Launcher) -> Option<(usize, &'w str)> {
    let mut at = first;
    while let Some(word) = words.get(at) {
        let (option, value) =
            word.split_once('=').map_or((*word, None), |(option, value)| (option, Some(value)));
        if lists(launcher.names, option) {
            return value.map(|value| (at, value)).or_else(|| Some((at + 1, words.get(at + 1)?)));
        }
        let is_option = word.starts_with('-');
        if !is_option {
            return Some((at, word));
        }
        at += if value.is_none() && lists(launcher.valued, option) { 2 } else { 1 };
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
            None => word.contains('=') || lists(SWITCHES, word),
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
        // `user/repository` is a repository on GitHub.
        None => scope.is_empty() && name.contains('/') && name.contains('#'),
    }
}

/// Returns whether a version is exact: `1.2.3`, `1.2.3-beta.1`. A part of a version is a range.
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
        // A revision: `git+https://host/repository@v1`. An `@` before the host belongs to a user name.
        return address.split_once('/').is_some_and(|(_, path)| path.contains('@'));
    }
    if let Some((_, version)) = package.split_once("==") {
        return is_release(version.trim_start_matches('='));
    }
    package.split_once('@').is_some_and(|(_, version)| is_release(version))
}

/// Returns whether a version is one release, of any number of parts: `2026.10.19`, `1.0rc1`. Not `1.*`, `1.x`, `[1.0,2.0)` or
/// `latest`.
fn is_release(version: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+' | '!' | '_');
    let is_open = |part: &str| part.eq_ignore_ascii_case("x");
    version.contains(FILLED)
        || version.starts_with(|c: char| c.is_ascii_digit())
            && version.chars().all(is_plain)
            && !version.split('.').any(is_open)
}

/// A package without a version is a local one, or one whose version `go.mod` pins.
fn go_is_pinned(package: &str) -> bool {
    let Some((_, version)) = package.rsplit_once('@') else { return true };
    let is_commit = version.len() >= 7 && version.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_commit || (version.starts_with(['v', FILLED]) && is_exact(version))
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
