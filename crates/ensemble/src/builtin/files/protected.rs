//! Places that no tool may write to, even if the user allows it.
//!
//! A tool that can write the configuration of converse, a git hook or a start file of a shell can give itself every
//! other permission at the next start. Names are compared without regard to case (as some file systems do), places by
//! their canonical path and by device and inode, so that a second name for the same directory does not help.

use std::path::{Path, PathBuf};

use cap_std::fs::Metadata;

use crate::builtin::Settings;
use crate::named_path::canonical;
use crate::path_class::plain;

/// Refused as any part of a path: keys, what git and shells and sessions run at their start, what other programs of the
/// project run unasked, and what is converse's own.
const NAMES: [&str; 32] = [
    ".git",
    ".gitconfig",
    ".husky",
    ".ssh",
    ".gnupg",
    ".netrc",
    ".npmrc",
    ".mcp.json",
    ".envrc",
    "converse.toml",
    "ensembles.lock",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".mkshrc",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".logout",
    ".xprofile",
    ".xsessionrc",
    ".xinitrc",
    ".pam_environment",
];

/// Refused in a directory of this name.
const CONFIGURATION: &str = ".config";
const CONFIGURED: [&str; 4] = ["fish", "git", "autostart", "systemd"];

pub(super) struct Protected {
    places: Vec<PathBuf>,
}

/// Device and inode.
pub(super) type Identity = (u64, u64);

impl Protected {
    pub(super) fn new(settings: &Settings<'_>) -> Self {
        let mut places = settings.protected.to_vec();
        places.push(settings.workspace.join("ensembles"));
        Self { places }
    }

    /// As things are now: a place may be made, or made a symlink, at any time.
    pub(super) fn now(&self, root: &Path) -> ProtectedNow {
        let own = root.join("ensembles");
        let paths: Vec<PathBuf> = self.places.iter().chain([&own]).map(|place| canonical(place)).collect();
        let identities =
            paths.iter().filter_map(|path| std::fs::metadata(path).ok()).filter_map(|m| identity_of_std(&m));
        ProtectedNow { identities: identities.collect(), paths }
    }
}

/// Why a program must not be given a canonical path to write to with all below it, if it must not. What lies deeper than
/// the directory itself is not looked for.
pub(crate) fn objection(protected: &[PathBuf], workspace: &Path, path: &Path) -> Option<String> {
    let mut places = protected.to_vec();
    places.push(workspace.join("ensembles"));
    let objection = Protected { places }.now(workspace).forbids_path(path);
    objection.or_else(|| protected_entry(path).map(|name| format!("`{name}` in it")))
}

/// The name of something protected that is there, directly in a directory.
fn protected_entry(directory: &Path) -> Option<String> {
    let there = |path: &Path| directory.join(path).symlink_metadata().is_ok();
    let of_configuration = |name: &&str| Path::new(CONFIGURATION).join(name);
    let is_configuration = directory.file_name().is_some_and(|name| plain(name) == CONFIGURATION);
    let mut names: Vec<PathBuf> = NAMES.iter().map(PathBuf::from).collect();
    names.extend(CONFIGURED.iter().map(of_configuration));
    names.extend(CONFIGURED.iter().filter(|_| is_configuration).map(PathBuf::from));
    names.into_iter().find(|name| there(name)).map(|name| name.display().to_string())
}

pub(super) struct ProtectedNow {
    paths: Vec<PathBuf>,
    identities: Vec<Identity>,
}

impl ProtectedNow {
    /// One place, known by its inode only.
    #[cfg(all(test, unix))]
    pub(super) fn by_identity(place: &Path) -> Self {
        let identities = std::fs::metadata(place).ok().and_then(|metadata| identity_of_std(&metadata));
        Self { paths: Vec::new(), identities: identities.into_iter().collect() }
    }

    /// What of it forbids to write to a canonical, absolute path, if anything.
    pub(super) fn forbids_path(&self, path: &Path) -> Option<String> {
        if let Some(name) = protected_name(path) {
            return Some(format!("`{name}`"));
        }
        let folded = fold(path);
        // The other way round too: a file where a protected directory is to be would be in its way.
        let near = self
            .paths
            .iter()
            .map(|place| fold(place))
            .any(|place| folded.starts_with(&place) || place == folded || place.starts_with(&folded));
        near.then(|| "a place of converse's own".to_owned())
    }

    pub(super) fn forbids(&self, metadata: &Metadata) -> bool {
        identity(metadata).is_some_and(|identity| self.identities.contains(&identity))
    }
}

fn protected_name(path: &Path) -> Option<String> {
    let names: Vec<String> = path.iter().map(plain).collect();
    let alone = names.iter().find(|name| NAMES.contains(&name.as_str())).cloned();
    let configured = || {
        let mut pairs = names.iter().zip(names.iter().skip(1));
        pairs.find(|(outer, inner)| *outer == CONFIGURATION && CONFIGURED.contains(&inner.as_str()))
    };
    alone.or_else(|| configured().map(|(outer, inner)| format!("{outer}/{inner}")))
}

fn fold(path: &Path) -> PathBuf {
    PathBuf::from(path.to_string_lossy().to_lowercase())
}

#[cfg(unix)]
pub(super) fn identity(metadata: &Metadata) -> Option<Identity> {
    use cap_std::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(unix)]
fn identity_of_std(metadata: &std::fs::Metadata) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
pub(super) fn identity(_: &Metadata) -> Option<Identity> {
    None
}

#[cfg(not(unix))]
fn identity_of_std(_: &std::fs::Metadata) -> Option<Identity> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin::testing::TempDir;

    #[test]
    fn a_directory_that_holds_something_protected_is_objected_to() {
        for (held, directory, objected) in [
            ("web/.npmrc", "web", Some("`.npmrc` in it")),
            ("web/.config/fish", "web", Some("`.config/fish` in it")),
            ("web/.config/fish", "web/.config", Some("`fish` in it")),
            ("web/.config/fish", "web/.config/fish", Some("`.config/fish`")),
            ("web/.config/editor", "web/.config", None),
            ("web/git", "web", None),
        ] {
            let temp = TempDir::new();
            let root = temp.path().canonicalize().unwrap();
            std::fs::create_dir_all(root.join(held)).unwrap();
            let found = objection(&[], &root, &root.join(directory));
            assert_eq!(found.as_deref(), objected, "{held} {directory}");
        }
    }
}
