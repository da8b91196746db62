//! The lockfiles of a run. Each is beside its directory of descriptors and has its name: `ensembles/` has
//! `ensembles.lock`.
//!
//! An ensemble belongs to the lockfile of the directory that contains its descriptor; built-in ensembles have none. The
//! lockfile of a project is read even if the project is not trusted, because a lockfile only holds back. A lockfile
//! that cannot be read in full holds back all tools of its ensembles.

mod discovered;
mod file;
mod findings;
mod proposal;
mod texts;

use std::io;
use std::path::{Path, PathBuf};

use converse_canister::{Digest, InvokerName};
use converse_config::lock::{Lockfile, PinnedEnsemble};
use converse_config::{EnsemblePlan, Root, Scope};
use converse_ensemble::{Pins, lock_flag};
use converse_mcp::OfferPins;

pub use discovered::DiscoveredTools;
pub(crate) use file::lock_path;
pub(crate) use findings::findings;
pub(crate) use proposal::lockable;
pub use proposal::{Proposal, plans_to_lock};

/// The lockfiles of all directories searched, nearest first.
#[derive(Debug, Default)]
pub struct Lockfiles(Vec<Locked>);

/// The lockfile of one directory.
#[derive(Debug)]
pub struct Locked {
    pub scope: Scope,
    /// False for a project that is not trusted: its lockfile applies but is never written.
    pub trusted: bool,
    /// The directory in messages, without a trailing slash.
    directory: String,
    pub path: PathBuf,
    /// The path in messages.
    pub shown: String,
    pub state: State,
}

/// The content of a lockfile.
#[derive(Debug, PartialEq)]
pub enum State {
    Absent,
    Sound(Lockfile),
    /// Why the file cannot be used.
    Damaged(String),
}

impl Lockfiles {
    /// The directory has no lockfile.
    pub const NONE: &'static Self = &Self(Vec::new());

    pub fn read(roots: &[Root], project_trusted: bool) -> Self {
        let locked = |root: &Root| {
            let path = lock_path(&root.dir)?;
            let directory = root.shown.trim_end_matches('/').to_owned();
            let (scope, state) = (root.scope, file::read(&path));
            let trusted = scope != Scope::Project || project_trusted;
            let shown = file::shown(&directory, &path);
            Some(Locked { scope, trusted, directory, path, shown, state })
        };
        Self(roots.iter().filter_map(locked).collect())
    }

    pub fn iter(&self) -> impl Iterator<Item = &Locked> {
        self.0.iter()
    }

    /// Returns the lockfile that an ensemble belongs to.
    pub fn of(&self, plan: &EnsemblePlan) -> Option<&Locked> {
        self.0.iter().find(|locked| locked.covers(plan))
    }

    /// Returns whether any tool of this ensemble was accepted.
    pub fn speak_of(&self, plan: &EnsemblePlan) -> bool {
        let sound = self.of(plan).and_then(Locked::sound);
        sound.is_some_and(|lockfile| lockfile.ensembles.contains_key(plan.name.as_str()))
    }

    /// Returns the accepted definitions of the tools of an ensemble.
    pub fn pins(&self, plan: &EnsemblePlan) -> Pins {
        match self.of(plan).map(|locked| &locked.state) {
            None | Some(State::Absent) => Pins::Free,
            Some(State::Damaged(_)) => Pins::Unknown,
            // A tool that is not listed was never accepted, so that a new name does not bypass the lockfile.
            Some(State::Sound(lockfile)) => accepted(lockfile.ensembles.get(plan.name.as_str())),
        }
    }
}

impl Lockfiles {
    /// Returns what is accepted of the prompts and resources of an ensemble's server.
    pub fn offers(&self, plan: &EnsemblePlan) -> OfferPins {
        match self.of(plan).map(|locked| &locked.state) {
            None | Some(State::Absent) => OfferPins::default(),
            Some(State::Damaged(_)) => OfferPins::unknown(),
            Some(State::Sound(lockfile)) => OfferPins::of(lockfile.ensembles.get(plan.name.as_str())),
        }
    }

    /// Returns the digest of the accepted instructions of an ensemble's server.
    pub fn instructions(&self, plan: &EnsemblePlan) -> Option<Digest> {
        let lockfile = self.of(plan).and_then(Locked::sound)?;
        lockfile.ensembles.get(plan.name.as_str())?.server.as_ref()?.instructions
    }
}

impl Locked {
    pub fn covers(&self, plan: &EnsemblePlan) -> bool {
        // Compares paths and not texts: `tools/.` is `tools`.
        let directory = Path::new(&plan.origin.file).parent();
        self.scope == plan.origin.scope && directory == Some(Path::new(&self.directory))
    }

    pub fn sound(&self) -> Option<&Lockfile> {
        match &self.state {
            State::Sound(lockfile) => Some(lockfile),
            State::Absent | State::Damaged(_) => None,
        }
    }

    /// Writes only if the file is unchanged since it was read, so that concurrent runs do not lose entries.
    pub fn replace(&self, text: &str) -> io::Result<()> {
        file::write(&self.path, text, &self.state)
    }

    /// Returns the option that makes `lock` and `check` use this directory.
    pub fn flag(&self) -> String {
        lock_flag(self.scope, &self.directory)
    }
}

fn accepted(pinned: Option<&PinnedEnsemble>) -> Pins {
    let tools = pinned.into_iter().flat_map(|pinned| &pinned.tools);
    let named = |name: &String| InvokerName::new(name.as_str()).ok();
    Pins::Accepted(tools.filter_map(|(name, tool)| Some((named(name)?, tool.sha256()))).collect())
}
