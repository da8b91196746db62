//! Places no tool may write to, whatever the user allows.
//!
//! A tool that can write converse's own configuration, a git hook or a shell's start file can give itself every other
//! permission at the next start. Names are compared without regard to case (some file systems have none), places by
//! their canonical path and by device and inode, so that a second name for the same directory does not help.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use cap_std::fs::Metadata;

use crate::builtin::Settings;

/// Refused as any part of a path.
const NAMES: [&str; 15] = [
    ".git",
    ".ssh",
    ".gnupg",
    "converse.toml",
    "ensembles.lock",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".gitconfig",
];

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
        let named = path.components().find_map(|part| protected_name(part.as_os_str()));
        if let Some(name) = named {
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

fn protected_name(name: &OsStr) -> Option<&'static str> {
    let name = name.to_string_lossy().to_lowercase();
    // Some file systems drop these.
    let name = name.trim_end_matches(['.', ' ']);
    NAMES.iter().find(|protected| **protected == name).copied()
}

fn fold(path: &Path) -> PathBuf {
    PathBuf::from(path.to_string_lossy().to_lowercase())
}

/// The path without symlinks as far as it exists, and the rest as it stands.
fn canonical(path: &Path) -> PathBuf {
    path.ancestors()
        .find_map(|ancestor| {
            let real = ancestor.canonicalize().ok()?;
            let rest = path.strip_prefix(ancestor).ok()?;
            Some(if rest.as_os_str().is_empty() { real } else { real.join(rest) })
        })
        .unwrap_or_else(|| path.to_owned())
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
