//! Built-in classes of files: credentials, files that other programs execute, and converse's own directories.
//!
//! The first two ask, whatever allows the tool, unless a rule allows the file by its name. The last one is closed.

use std::path::Path;

use converse_config::{Judgement, Permission};
use converse_text::secrets::known_secret;

use crate::named_path::PathUse;

/// Bytes at the beginning of a file that show whether it is a private key.
pub(crate) const KEY_HEAD: usize = 512;

/// Directories and files with credentials, with the name that people know. A name with `/` is several parts of a path.
const CREDENTIALS: [(&str, &str); 25] = [
    (".ssh", "SSH keys"),
    ("id_rsa", "an SSH key"),
    ("id_dsa", "an SSH key"),
    ("id_ecdsa", "an SSH key"),
    ("id_ed25519", "an SSH key"),
    (".gnupg", "GnuPG keys"),
    (".aws", "credentials of AWS"),
    (".azure", "credentials of Azure"),
    (".config/gcloud", "credentials of Google Cloud"),
    (".oci", "credentials of Oracle Cloud"),
    (".kube", "credentials of Kubernetes"),
    (".docker/config.json", "credentials of registries"),
    (".config/gh", "credentials of GitHub"),
    (".config/hub", "credentials of GitHub"),
    (".git-credentials", "credentials of git"),
    (".netrc", "passwords of servers"),
    ("_netrc", "passwords of servers"),
    (".pgpass", "passwords of databases"),
    (".my.cnf", "passwords of databases"),
    (".pypirc", "credentials of PyPI"),
    (".cargo/credentials", "credentials of crates.io"),
    (".cargo/credentials.toml", "credentials of crates.io"),
    (".password-store", "passwords"),
    (".local/share/keyrings", "passwords"),
    (".vault-token", "a token of Vault"),
];

/// What other programs of a project execute, with the program that does.
const EXECUTED: [(&str, &str); 32] = [
    (".claude", "Claude Code"),
    (".cursor", "Cursor"),
    (".codex", "Codex"),
    (".gemini", "Gemini CLI"),
    (".windsurf", "Windsurf"),
    (".continue", "Continue"),
    (".zed", "Zed"),
    (".vscode", "Visual Studio Code"),
    (".idea", "the IDEs of JetBrains"),
    (".devcontainer", "development containers"),
    (".devcontainer.json", "development containers"),
    (".github/workflows", "GitHub Actions"),
    (".github/actions", "GitHub Actions"),
    (".gitlab-ci.yml", "GitLab"),
    (".circleci", "CircleCI"),
    (".travis.yml", "Travis CI"),
    ("azure-pipelines.yml", "Azure Pipelines"),
    ("jenkinsfile", "Jenkins"),
    (".githooks", "git"),
    (".lefthook.yml", "lefthook"),
    ("lefthook.yml", "lefthook"),
    (".pre-commit-config.yaml", "pre-commit"),
    (".cargo/config", "cargo"),
    (".cargo/config.toml", "cargo"),
    ("makefile", "make"),
    ("gnumakefile", "make"),
    ("justfile", "just"),
    (".justfile", "just"),
    ("package.json", "npm and other package managers"),
    (".yarnrc.yml", "Yarn"),
    (".pnpmfile.cjs", "pnpm"),
    (".mise.toml", "mise"),
];

/// Endings of examples of `.env` files, which have no secrets.
const EXAMPLES: [&str; 5] = ["example", "sample", "template", "dist", "defaults"];

const CREDENTIALS_RULE: &str = "files with credentials";

/// A class of files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PathClass {
    pub(crate) permission: Permission,
    rule: &'static str,
    reason: String,
    /// What a rule must spell out in its pattern to allow the file; any name if `None`.
    name: Option<String>,
}

impl PathClass {
    pub(crate) fn own() -> Self {
        Self {
            permission: Permission::Deny,
            rule: "converse's own directories",
            reason: "no tool opens configuration, sessions and tokens".to_owned(),
            name: None,
        }
    }

    pub(crate) fn key() -> Self {
        Self { name: None, ..Self::credentials("a private key", "") }
    }

    fn credentials(what: &str, name: &str) -> Self {
        Self {
            permission: Permission::Ask,
            rule: CREDENTIALS_RULE,
            reason: format!("it holds {what}"),
            name: Some(name.to_owned()),
        }
    }

    /// Returns whether the pattern of a rule means this class and not just any file.
    pub(crate) fn is_named_by(&self, pattern: &str) -> bool {
        match &self.name {
            Some(name) => pattern.to_lowercase().contains(name.as_str()),
            None => pattern.contains(char::is_alphanumeric),
        }
    }

    pub(crate) fn holds_credentials(&self) -> bool {
        self.rule == CREDENTIALS_RULE
    }

    pub(crate) fn into_judgement(self) -> Judgement {
        let Self { permission, rule, reason, .. } = self;
        Judgement { permission, rule: rule.to_owned(), reason: Some(reason), by_rule: true }
    }
}

/// Returns the class of a file by its canonical path. The names in a directory are no secret.
pub(crate) fn class_of(path: &Path, used: PathUse) -> Option<PathClass> {
    if used == PathUse::List {
        return None;
    }
    let parts: Vec<String> = path.iter().map(plain).collect();
    credentials(&parts).or_else(|| executed(&parts).filter(|_| used == PathUse::Write))
}

/// Returns the class of a file by the beginning of its content.
pub(crate) fn class_of_content(content: &[u8]) -> Option<PathClass> {
    is_key(content).then(PathClass::key)
}

/// Returns whether a file holds credentials, by its canonical path or by its text.
pub fn holds_credentials(path: &Path, text: &str) -> bool {
    let of_path = class_of(path, PathUse::Read);
    of_path.or_else(|| class_of_content(text.as_bytes())).is_some_and(|class| class.holds_credentials())
        || known_secret(text).is_some()
}

fn credentials(parts: &[String]) -> Option<PathClass> {
    let found = CREDENTIALS.iter().find(|(name, _)| has(parts, name));
    let found = found.map(|(name, what)| PathClass::credentials(what, name));
    found.or_else(|| {
        let name = parts.last()?;
        let rest = name.strip_prefix(".env")?;
        let is_variant = rest.is_empty() || rest == "rc" || rest.starts_with(['.', '-', '_']);
        let is_example = EXAMPLES.iter().any(|example| rest.ends_with(example));
        (is_variant && !is_example).then(|| PathClass::credentials("variables of an environment", ".env"))
    })
}

fn executed(parts: &[String]) -> Option<PathClass> {
    let (name, reader) = EXECUTED.iter().find(|(name, _)| has(parts, name))?;
    Some(PathClass {
        permission: Permission::Ask,
        rule: "files that other programs execute",
        reason: format!("{reader} executes what it says"),
        name: Some((*name).to_owned()),
    })
}

/// Returns whether other programs execute a file, or may execute what is in a directory, by its canonical path.
pub(crate) fn may_be_executed(path: &Path) -> bool {
    let parts: Vec<String> = path.iter().map(plain).collect();
    let mut outer = EXECUTED.iter().filter_map(|(name, _)| name.split_once('/')).map(|(outer, _)| outer);
    executed(&parts).is_some() || outer.any(|outer| parts.last().is_some_and(|name| name == outer))
}

/// Returns whether a name, or several names in a row, are parts of the path.
fn has(parts: &[String], name: &str) -> bool {
    let length = name.split('/').count();
    parts.windows(length).any(|window| window.iter().map(String::as_str).eq(name.split('/')))
}

/// A private key of OpenSSH, OpenSSL, GnuPG or PuTTY.
pub(crate) fn is_key(content: &[u8]) -> bool {
    let head = String::from_utf8_lossy(content.get(..KEY_HEAD).unwrap_or(content));
    let line =
        head.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']).lines().next().unwrap_or_default();
    let is_pem = line.starts_with("-----BEGIN ") && line.contains("PRIVATE KEY");
    is_pem || line.starts_with("PuTTY-User-Key-File-")
}

/// A name as some file systems compare it: without regard to case, and without trailing dots and blanks.
pub(crate) fn plain(name: &std::ffi::OsStr) -> String {
    name.to_string_lossy().to_lowercase().trim_end_matches(['.', ' ']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_classed_by_their_path() {
        let read = |path: &str| class_of(Path::new(path), PathUse::Read).map(|class| class.reason);
        for (path, holds) in [
            ("/h/.ssh/id_rsa", Some("SSH keys")),
            ("/h/.ssh/config", Some("SSH keys")),
            ("/w/keys/id_ed25519", Some("an SSH key")),
            ("/w/keys/id_ed25519.pub", None),
            ("/h/.AWS/credentials", Some("credentials of AWS")),
            ("/h/.docker/config.json", Some("credentials of registries")),
            ("/w/config.json", None),
            ("/w/.env", Some("variables of an environment")),
            ("/w/a/.env.local", Some("variables of an environment")),
            ("/w/.envrc", Some("variables of an environment")),
            ("/w/.env.example", None),
            ("/w/.env-sample", None),
            ("/w/.environment", None),
            ("/w/.env/lib/site.py", None),
            ("/w/src/env.rs", None),
            ("/w/Makefile", None),
        ] {
            assert_eq!(read(path), holds.map(|what| format!("it holds {what}")), "{path}");
            assert_eq!(class_of(Path::new(path), PathUse::List), None);
        }
        let write = |path: &str| class_of(Path::new(path), PathUse::Write).map(|class| class.reason);
        for (path, reader) in [
            ("/w/Makefile", Some("make")),
            ("/w/sub/package.json", Some("npm and other package managers")),
            ("/w/.github/workflows/ci.yml", Some("GitHub Actions")),
            ("/w/.github/README.md", None),
            ("/w/.vscode/tasks.json", Some("Visual Studio Code")),
            ("/w/.claude/settings.json", Some("Claude Code")),
            ("/w/.cargo/config.toml", Some("cargo")),
            ("/w/config.toml", None),
            ("/w/src/main.rs", None),
        ] {
            assert_eq!(write(path), reader.map(|reader| format!("{reader} executes what it says")), "{path}");
        }
    }

    #[test]
    fn a_key_is_known_by_its_first_line() {
        for (content, key) in [
            ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl", true),
            ("\u{feff}\n-----BEGIN RSA PRIVATE KEY-----\r\n", true),
            ("-----BEGIN PGP PRIVATE KEY BLOCK-----\n", true),
            ("PuTTY-User-Key-File-3: ssh-ed25519\n", true),
            ("-----BEGIN CERTIFICATE-----\n", false),
            ("-----BEGIN PUBLIC KEY-----\n", false),
            ("how to write -----BEGIN PRIVATE KEY-----\n", false),
            ("", false),
        ] {
            assert_eq!(class_of_content(content.as_bytes()).is_some(), key, "{content}");
        }
    }

    #[test]
    fn a_rule_means_a_class_if_it_spells_its_name() {
        let class = class_of(Path::new("/w/.env"), PathUse::Read).unwrap();
        assert!(class.is_named_by(".env*") && class.is_named_by("**/.ENV") && !class.is_named_by("**"));
        assert!(PathClass::key().is_named_by("tests/keys/**") && !PathClass::key().is_named_by("**/*"));
    }
}
