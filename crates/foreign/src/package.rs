//! Packages of files with servers: `.mcpb` bundles and plugins, from an archive or a directory.
//!
//! | package | known by | documented at (checked 2026-11) |
//! | --- | --- | --- |
//! | bundle | `manifest.json` with `manifest_version` | <https://github.com/modelcontextprotocol/mcpb/blob/main/MANIFEST.md> |
//! | plugin | `plugin.json`, `.plugin/plugin.json` or `.claude-plugin/plugin.json` | <https://open-plugins.com/plugin-builders/specification>, <https://code.claude.com/docs/en/plugins/manifest-reference> |
//!
//! Files are pinned: [`Package::digests`] lists the SHA-256 of each, and [`Package::directory`] contains the digest of this
//! list. A descriptor names that directory, so it pins every file.
//!
//! **Invariant:** each path is relative, without `..`, and no file is a link.

mod archive;
mod manifest;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use converse_canister::Digest;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::format::Format;
use crate::formats::mcp_servers;
use crate::name::cleaned;
use crate::note::Notes;
use crate::server::{Drafts, ForeignError, Imported, imported};
use crate::tree;

/// Hexadecimal digits of a digest in the name of a directory.
const DIGEST: usize = 32;
/// Where plugins have their manifest and their servers.
const PLUGIN_MANIFESTS: [&str; 3] = [".plugin/plugin.json", ".claude-plugin/plugin.json", "plugin.json"];
const PLUGIN_SERVERS: [&str; 2] = [".mcp.json", "mcp.json"];
/// Stands for the directory while secrets are looked for: a digest looks like one.
const HERE: &str = "/@package@";
/// What a plugin calls its directory.
const PLUGIN_ROOTS: [&str; 2] = ["${CLAUDE_PLUGIN_ROOT}", "${PLUGIN_ROOT}"];

/// A file of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedFile {
    /// Below the directory of the package.
    pub path: String,
    pub executable: bool,
    pub bytes: Vec<u8>,
}

/// Why a package cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PackageError {
    #[error("this is not a zip archive that can be read: {0}")]
    Archive(&'static str),
    #[error("the package has more than {0}")]
    TooLarge(&'static str),
    #[error("the package has a file with the path {0:?}, which is not a plain path below it")]
    Path(String),
    #[error("the package has two files with the path {0:?}")]
    Twice(String),
    #[error("the package has a link or a special file, {0:?}")]
    Link(String),
    #[error(
        "this is neither an `.mcpb` bundle (it has no `manifest.json` with `manifest_version`) nor a plugin (it has \
         no `plugin.json`); a file such as `.mcp.json` is imported by its own path"
    )]
    Unknown,
}

/// What is imported: the text of a file, or a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Text(String),
    Package(Package),
}

impl Source {
    /// Reads the bytes of a file; an archive is a package.
    ///
    /// # Errors
    ///
    /// The bytes are not UTF-8, or not an archive of a package, with the reason.
    pub fn of_bytes(bytes: Vec<u8>) -> Result<Self, String> {
        if bytes.starts_with(b"PK\x03\x04") {
            return Package::of_archive(&bytes).map(Self::Package).map_err(|error| error.to_string());
        }
        String::from_utf8(bytes).map(Self::Text).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            format!("it is not UTF-8 from byte {} on", at + 1)
        })
    }

    /// Reads the files of a directory: their paths, whether they are executable, and their bytes.
    ///
    /// # Errors
    ///
    /// They are not a package, with the reason.
    pub fn of_directory(files: Vec<(String, bool, Vec<u8>)>) -> Result<Self, String> {
        let packed = |(path, executable, bytes)| PackedFile { path, executable, bytes };
        let package = Package::of_files(files.into_iter().map(packed).collect());
        package.map(Self::Package).map_err(|error| error.to_string())
    }

    /// The servers. The files of a package are in its directory below `store`.
    ///
    /// # Errors
    ///
    /// The file cannot be used.
    pub fn read(&self, format: Option<Format>, store: &str) -> Result<Imported, ForeignError> {
        match self {
            Self::Text(text) => crate::read(text, format),
            Self::Package(package) => package.read(&format!("{store}/{}", package.directory())),
        }
    }
}

/// A bundle or a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    name: String,
    is_bundle: bool,
    /// In the order of their paths.
    files: Vec<PackedFile>,
}

impl Package {
    /// The most bytes of all files.
    pub const MAX_BYTES: usize = 256 * 1024 * 1024;
    pub const MAX_FILES: usize = 20_000;

    /// Unpacks an archive in memory.
    ///
    /// # Errors
    ///
    /// It is damaged or too large, a path leads out of it, or it has links.
    pub fn of_archive(bytes: &[u8]) -> Result<Self, PackageError> {
        Self::of_files(archive::files(bytes)?)
    }

    /// Makes a package of the files of a directory.
    ///
    /// # Errors
    ///
    /// Like [`Package::of_archive`].
    pub fn of_files(mut files: Vec<PackedFile>) -> Result<Self, PackageError> {
        files.sort_by(|a, b| a.path.cmp(&b.path));
        if files.len() > Self::MAX_FILES {
            return Err(PackageError::TooLarge("20000 files"));
        }
        let mut seen = BTreeSet::new();
        for file in &files {
            if !is_plain(&file.path) {
                return Err(PackageError::Path(file.path.clone()));
            }
            // Some disks do not tell capitals apart.
            if !seen.insert(file.path.to_lowercase()) {
                return Err(PackageError::Twice(file.path.clone()));
            }
        }
        let mut package = Self { name: String::new(), is_bundle: false, files };
        let bundle = package.json("manifest.json").filter(manifest::is_one);
        package.is_bundle = bundle.is_some();
        let plugin = || PLUGIN_MANIFESTS.iter().find_map(|path| package.json(path));
        // Not without a manifest: most projects have an `.mcp.json` too.
        let manifest = bundle.or_else(plugin).ok_or(PackageError::Unknown)?;
        let name = manifest.get("name").and_then(Value::as_str);
        package.name = cleaned(name.unwrap_or("plugin")).chars().take(40).collect();
        Ok(package)
    }

    pub fn files(&self) -> &[PackedFile] {
        &self.files
    }

    /// One line for each file, as `sha256sum` writes them.
    pub fn digests(&self) -> String {
        let mut list = String::new();
        for file in &self.files {
            let _ = writeln!(list, "{}  {}", digest(&file.bytes), file.path);
        }
        list
    }

    /// The name of the directory for its files: its own name, and the beginning of the SHA-256 of [`Package::digests`].
    pub fn directory(&self) -> String {
        let short: String = digest(self.digests().as_bytes()).to_string().chars().take(DIGEST).collect();
        format!("{}-{short}", self.name)
    }

    /// The servers of the package, whose files are in `directory`.
    ///
    /// # Errors
    ///
    /// Its manifest, or its list of servers, cannot be used.
    pub fn read(&self, directory: &str) -> Result<Imported, ForeignError> {
        let mut notes = Notes::default();
        let drafts = if self.is_bundle {
            let manifest = self.parsed("manifest.json", &mut notes)?;
            manifest::drafts(&manifest, HERE, &mut notes)?
        } else {
            let mut servers = Value::Object(self.servers(&mut notes)?);
            fill_in(&mut servers, &PLUGIN_ROOTS, HERE);
            let root = servers.as_object().ok_or(ForeignError::Unknown)?;
            mcp_servers::drafts(root, false, &mut notes)?
        };
        let format = if self.is_bundle { Format::Bundle } else { Format::McpServers };
        let mut found = imported(&Drafts { format, ..drafts }, notes);
        for server in &mut found.servers {
            server.place(HERE, directory);
        }
        Ok(found)
    }

    /// The servers of a plugin: in a file of their own, else in the manifest or in the file that it names.
    fn servers(&self, notes: &mut Notes) -> Result<Map<String, Value>, ForeignError> {
        if let Some(path) = PLUGIN_SERVERS.into_iter().find(|path| self.file(path).is_some()) {
            return self.parsed(path, notes);
        }
        let path = PLUGIN_MANIFESTS.into_iter().find(|path| self.file(path).is_some());
        let manifest = self.parsed(path.unwrap_or_default(), notes)?;
        match manifest.get("mcpServers") {
            Some(Value::String(path)) => self.parsed(path.trim_start_matches("./"), notes),
            Some(Value::Object(_)) => Ok(manifest),
            _ => Err(ForeignError::Missing { format: "plugin", key: "mcpServers" }),
        }
    }

    fn file(&self, path: &str) -> Option<&PackedFile> {
        self.files.iter().find(|file| file.path == path)
    }

    fn json(&self, path: &str) -> Option<Map<String, Value>> {
        self.parsed(path, &mut Notes::default()).ok()
    }

    fn parsed(&self, path: &str, notes: &mut Notes) -> Result<Map<String, Value>, ForeignError> {
        let file = self.file(path).ok_or(ForeignError::Unknown)?;
        if file.bytes.len() > crate::MAX_BYTES {
            return Err(ForeignError::TooLarge { most: crate::MAX_BYTES });
        }
        let text = std::str::from_utf8(&file.bytes).map_err(|_| ForeignError::Unknown)?;
        tree::json(text.strip_prefix('\u{feff}').unwrap_or(text), notes)
    }
}

/// Replaces the names that a plugin has for its directory.
fn fill_in(value: &mut Value, roots: &[&str], directory: &str) {
    match value {
        Value::String(text) => roots.iter().for_each(|root| *text = text.replace(root, directory)),
        Value::Array(values) => values.iter_mut().for_each(|value| fill_in(value, roots, directory)),
        Value::Object(map) => map.values_mut().for_each(|value| fill_in(value, roots, directory)),
        _ => {}
    }
}

/// Whether a path stays below the directory, on every system.
fn is_plain(path: &str) -> bool {
    let sound = |part: &str| !part.is_empty() && part.len() <= 255 && !matches!(part, "." | "..");
    path.len() <= 1024
        && !path.contains(|c: char| c.is_control() || matches!(c, '\\' | ':'))
        && path.split('/').count() <= 32
        && path.split('/').all(sound)
}

fn digest(bytes: &[u8]) -> Digest {
    Digest(Sha256::digest(bytes).into())
}

#[cfg(test)]
mod tests;
