//! [`Declaration`]: a digest of everything that a project's ensembles declare, and whether the user has trusted exactly
//! that.
//!
//! Trust is bound to content and not to a name. The digest covers every descriptor and invoker file with its path below
//! the project's root and the very text that was checked; hashing the disk again could see a changed file. Files of the
//! project that its commands name are included ([`converse_ensemble::Scripts`]). `converse.toml` is included if it names a
//! model, a system text or presets, and so are instructions for models, commands and skills ([`Steering`]); the rest of a project's settings can only restrict. A version that gives a meaning to keys without one must change `DOMAIN`, or it would act
//! on something that the user was not shown.

mod digests;
mod store;
mod texts;

use std::collections::{BTreeMap, BTreeSet};

use converse_canister::Digest;
use converse_config::{Scope, SettingsPlan, SourceMap, Steer, load_settings};
use converse_project::Instructions;
use converse_session::digest;
use converse_text::safe_line;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::instructions;
use crate::settings::{PROJECT_FILE, leads_out};
use crate::world::World;

pub(crate) use digests::{named_files, named_files_unchanged};
pub use store::{Entry, Store, StoreError};
pub use texts::Texts;

/// Domain separation: no other digest of this program has this prefix.
const DOMAIN: &[u8] = b"converse-trust-2";

/// A file of a declaration.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FileDigest {
    /// Path below the project's root, with `/`; `PATH -> TARGET` for a link, whose digest is that of the target's name.
    pub path: String,
    /// Lower-case hex.
    pub sha256: String,
}

/// Everything that a project's files declare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declaration {
    /// Lower-case hex.
    pub hash: String,
    /// The hash without the settings, if there are settings that need trust and anything else. Trust in it holds for the
    /// ensembles alone.
    pub without_settings: Option<String>,
    /// The hash without the instructions, if there are instructions and anything else.
    pub without_instructions: Option<String>,
    pub files: Vec<FileDigest>,
}

impl Declaration {
    /// Returns the declaration of the ensembles together with settings that need trust.
    pub fn with_settings(
        sources: &SourceMap,
        mut scripts: Vec<FileDigest>,
        settings: Option<&Steering>,
    ) -> Option<Self> {
        let alone = Self::of(sources, &scripts);
        let Some(settings) = settings else { return alone };
        let without_settings = alone.map(|alone| alone.hash);
        scripts.extend(settings.settings.clone());
        let without_instructions = Self::of(sources, &scripts).map(|settled| settled.hash);
        scripts.extend(settings.instruction_files());
        let whole = Self::of(sources, &scripts)?;
        let without_instructions = without_instructions.filter(|settled| *settled != whole.hash);
        Some(Self { without_settings, without_instructions, ..whole })
    }

    /// Returns `None` if the project declares nothing.
    pub fn of(sources: &SourceMap, scripts: &[FileDigest]) -> Option<Self> {
        let project = sources.iter().filter(|(_, source)| source.scope == Scope::Project);
        let files: BTreeSet<(&str, &str)> =
            project.map(|(_, source)| (source.path.as_str(), source.text.as_str())).collect();
        (!files.is_empty() || !scripts.is_empty()).then(|| Self::of_files(&files, scripts))
    }

    /// A file named by two ensembles is included once, unless it changed between two reads.
    fn of_files(files: &BTreeSet<(&str, &str)>, scripts: &[FileDigest]) -> Self {
        let mut whole = Sha256::new_with_prefix(DOMAIN);
        let scripts_as_pairs = scripts.iter().map(|script| (script.path.as_str(), script.sha256.as_str()));
        whole.update(length(files.len()));
        whole.update(length(scripts.len()));
        let pairs = files.iter().copied().chain(scripts_as_pairs);
        for part in pairs.flat_map(|(path, text)| [path, text]) {
            whole.update(length(part.len()));
            whole.update(part);
        }
        let file = |(path, text): &(&str, &str)| FileDigest {
            path: (*path).to_owned(),
            sha256: digest(text.as_bytes()).to_string(),
        };
        let files = files.iter().map(file).chain(scripts.iter().cloned()).collect();
        Self {
            hash: Digest(whole.finalize().into()).to_string(),
            without_settings: None,
            without_instructions: None,
            files,
        }
    }

    /// Returns whether the user has trusted the whole, or the ensembles alone, or all but other instructions.
    fn is_of(&self, entry: &Entry) -> bool {
        self.without_settings.as_ref() == Some(&entry.hash) || self.is_settled(entry)
    }

    /// Returns whether the user has trusted the ensembles and settings, with whatever instructions.
    fn is_settled(&self, entry: &Entry) -> bool {
        let settled = self.without_instructions.as_ref().unwrap_or(&self.hash);
        [&self.hash, settled].contains(&&entry.hash) || entry.without_instructions.as_ref() == Some(settled)
    }

    /// Returns whether the user has trusted the settings, and whether the instructions.
    pub(crate) fn trusts_steering(&self, world: &World) -> (bool, bool) {
        let (Some(store), Some(root)) = (Store::of(world), world.cwd.to_str()) else { return (false, false) };
        match store.find(root) {
            Ok(Some(entry)) => (self.is_settled(&entry), entry.hash == self.hash),
            _ => (false, false),
        }
    }

    /// Returns the changes since the files were trusted.
    pub fn since(&self, before: &[FileDigest]) -> Changes {
        let (old, new) = (by_path(before), by_path(&self.files));
        let names = |keep: &dyn Fn(&str) -> bool| {
            let all: BTreeSet<&str> = old.keys().chain(new.keys()).copied().collect();
            all.into_iter().filter(|path| keep(path)).map(str::to_owned).collect()
        };
        Changes {
            changed: names(
                &|path| matches!((old.get(path), new.get(path)), (Some(old), Some(new)) if old != new),
            ),
            added: names(&|path| !old.contains_key(path)),
            removed: names(&|path| !new.contains_key(path)),
        }
    }
}

fn by_path(files: &[FileDigest]) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut map: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for file in files {
        map.entry(&file.path).or_default().insert(&file.sha256);
    }
    map
}

fn length(of: usize) -> [u8; 8] {
    (of as u64).to_be_bytes()
}

/// Paths of files, sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Changes {
    pub changed: Vec<String>,
    pub added: Vec<String>,
    pub removed: Vec<String>,
}

impl Changes {
    /// Describes the changes on one line, with the first names.
    fn in_a_line(&self) -> String {
        const NAMED: usize = 10;
        let marked = |paths: &[String], mark: &str| {
            paths.iter().map(|path| format!("{}{mark}", safe_line(path, 200))).collect::<Vec<_>>()
        };
        let mut all = marked(&self.changed, "");
        all.extend(marked(&self.added, " (new)"));
        all.extend(marked(&self.removed, " (gone)"));
        let more = all.len().saturating_sub(NAMED);
        all.truncate(NAMED);
        if more > 0 {
            all.push(format!("and {more} more"));
        }
        all.join(", ")
    }
}

/// The trust status of a declaration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    Trusted,
    /// The user has never decided about this project.
    Unknown,
    /// An earlier version was trusted.
    Changed(Changes),
    /// The status cannot be determined, so the project is not trusted.
    Unsound(String),
}

impl Standing {
    pub fn of(declaration: &Declaration, world: &World) -> Self {
        let (Some(store), Some(root)) = (Store::of(world), world.cwd.to_str()) else { return Self::Unknown };
        match store.find(root) {
            Err(unsound) => Self::Unsound(unsound.to_string()),
            Ok(None) => Self::Unknown,
            Ok(Some(entry)) if declaration.is_of(&entry) => Self::Trusted,
            Ok(Some(entry)) => Self::Changed(declaration.since(&entry.files)),
        }
    }

    /// Returns a warning that is shown even if nothing is held back.
    pub fn warning(&self) -> Option<String> {
        match self {
            Self::Trusted | Self::Unknown => None,
            Self::Changed(changes) if *changes == Changes::default() => {
                Some(format!("this project was trusted by another version of this program; {HOW}"))
            }
            Self::Changed(changes) => Some(format!(
                "this project was trusted before; changed since: {}; {HOW}",
                changes.in_a_line()
            )),
            Self::Unsound(why) => Some(format!("this project is not trusted: {why}")),
        }
    }
}

/// Returns a hint on how to trust the project.
pub const HOW: &str = "`converse ensembles trust` shows what its ensembles declare and asks";

/// The model, system text and presets that a project's settings name, and its instructions, commands and skills. They have no effect without
/// trust.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Steering {
    pub steers: Vec<Steer>,
    /// The settings file, with the text that was read, if it steers.
    pub settings: Option<FileDigest>,
    pub instructions: Instructions,
}

impl Steering {
    /// Reads the settings and the instructions of the project. Returns `None` if there are no instructions, and the settings
    /// only restrict, or cannot be read.
    pub(crate) fn read(world: &World) -> Option<Self> {
        let all = Self::of_settings(world).unwrap_or_default();
        let all = Self { instructions: instructions::of_project(world), ..all };
        (all.settings.is_some() || !all.instructions.is_empty()).then_some(all)
    }

    fn instruction_files(&self) -> impl Iterator<Item = FileDigest> {
        let of_text = |path: &String, text: &str| FileDigest {
            path: path.clone(),
            sha256: digest(text.as_bytes()).to_string(),
        };
        let Instructions { files, commands, skills, .. } = &self.instructions;
        let files = files.iter().map(move |file| of_text(&file.path, &file.text));
        let commands = commands.iter().map(move |command| of_text(&command.path, &command.file));
        let skills = skills.iter().flat_map(|skill| skill.paths());
        let skills = skills.map(|(path, file)| FileDigest { path, sha256: Digest(file.sha256).to_string() });
        files.chain(commands).chain(skills)
    }

    fn of_settings(world: &World) -> Option<Self> {
        let path = world.cwd.join(PROJECT_FILE);
        if leads_out(&path, &world.cwd) {
            return None;
        }
        let mut sources = SourceMap::new();
        let plan = load_settings(&mut sources, &path, PROJECT_FILE, Scope::Project).value?;
        Self::of(&plan, &sources)
    }

    /// Returns what these settings say; `sources` has their text.
    pub(crate) fn of(plan: &SettingsPlan, sources: &SourceMap) -> Option<Self> {
        let steers = plan.steering();
        let (_, source) = sources.iter().find(|(_, source)| source.scope == Scope::Project)?;
        let sha256 = digest(source.text.as_bytes()).to_string();
        let settings = Some(FileDigest { path: PROJECT_FILE.to_owned(), sha256 });
        (!steers.is_empty()).then_some(Self { steers, settings, instructions: Instructions::default() })
    }

    /// Returns the keys, separated by commas.
    pub fn keys(&self) -> String {
        let keys: Vec<String> = self.steers.iter().map(|steer| format!("`{}`", steer.key)).collect();
        keys.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(files: &[(&str, &str)]) -> Declaration {
        let mut sources = SourceMap::new();
        sources.add("builtin:io.toml", Scope::Shipped, "shipped");
        sources.add("/home/u/ensembles/own.toml", Scope::User, "own");
        for (path, text) in files {
            sources.add(*path, Scope::Project, text);
        }
        Declaration::of(&sources, &[]).unwrap()
    }

    #[test]
    fn only_the_projects_files_count_in_whatever_order() {
        let (a, b) = (("ensembles/a.toml", "1"), ("ensembles/b.toml", "2"));
        assert_eq!(declared(&[a, b]), declared(&[b, a, a]));
        assert_eq!(declared(&[a, b]).files.len(), 2);
        let mut alone = SourceMap::new();
        alone.add(a.0, Scope::Project, a.1);
        assert_eq!(Declaration::of(&alone, &[]), Some(declared(&[a])));
        assert_eq!(Declaration::of(&SourceMap::new(), &[]), None);
    }

    #[test]
    fn every_byte_and_its_place_counts() {
        let sets: &[&[(&str, &str)]] = &[
            &[("ensembles/a.toml", "text")],
            &[("ensembles/a.toml", "texT")],
            &[("ensembles/a.toml", "text\n")],
            &[("ensembles/A.toml", "text")],
            &[("ensembles/a.tom", "ltext")],
            &[("ensembles/a.tomlt", "ext")],
            &[("ensembles/a.toml", "te"), ("ensembles/b.toml", "xt")],
            &[("ensembles/a.toml", "te"), ("ensembles/a.toml", "xt")],
            &[("ensembles/a.toml", ""), ("text", "")],
            &[("ensembles/a.toml", "text"), ("ensembles/b.toml", "")],
        ];
        let hashes: BTreeSet<String> = sets.iter().map(|files| declared(files).hash).collect();
        assert_eq!(hashes.len(), sets.len());
    }

    #[test]
    fn a_script_counts_by_its_content() {
        let mut sources = SourceMap::new();
        sources.add("ensembles/a.toml", Scope::Project, "text");
        let with = |sha256: &str| {
            let script = FileDigest { path: "server.py".to_owned(), sha256: sha256.to_owned() };
            Declaration::of(&sources, &[script]).unwrap()
        };
        let (before, now) = (with("aa"), with("bb"));
        assert_ne!(before.hash, now.hash);
        assert_eq!(now.since(&before.files).in_a_line(), "server.py");
        assert_ne!(Declaration::of(&sources, &[]).unwrap().hash, before.hash);
    }

    /// What users have recorded must stay valid: the form may change only together with its domain.
    #[test]
    fn the_canonical_form_is_fixed() {
        let bytes =
            b"converse-trust-2\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x10ensembles/a.toml\0\0\0\0\0\0\0\x01x";
        let one = declared(&[("ensembles/a.toml", "x")]);
        assert_eq!(one.hash, digest(bytes).to_string());
        assert_eq!(one.files[0].sha256, digest(b"x").to_string());
    }

    #[test]
    fn changes_are_named() {
        let before = declared(&[("a", "1"), ("b", "2"), ("c\n", "3")]);
        let now = declared(&[("a", "1"), ("b", "3"), ("d", "4")]);
        let changes = now.since(&before.files);
        assert_eq!(changes.in_a_line(), "b, d (new), c\\n (gone)");
        assert_eq!(before.since(&before.files), Changes::default());
        let many: Vec<String> = (0..12).map(|number| format!("{number:02}")).collect();
        let changes = Changes { added: many, ..Changes::default() };
        assert!(changes.in_a_line().ends_with("09 (new), and 2 more"), "{}", changes.in_a_line());
    }
}
