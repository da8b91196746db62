//! The lockfiles of this run: beside each directory of descriptors, by its name. `ensembles/` has `ensembles.lock`.
//!
//! An ensemble belongs to the lockfile of the directory that its descriptor was found in; those in the binary belong to
//! none. A project's is read whether the project is trusted or not: a lockfile only holds back. What cannot be read in full holds back all tools that it speaks of.

mod discovered;
mod file;
mod findings;
mod place;
mod proposal;

use std::io;
use std::path::{Path, PathBuf};

use converse_canister::InvokerName;
use converse_config::lock::{Lockfile, Pinned};
use converse_config::{EnsemblePlan, Root, Scope};
use converse_ensemble::{Pins, lock_flag};

pub use discovered::DiscoveredTools;
pub(crate) use findings::findings;
pub(crate) use place::lock_path;
pub(crate) use proposal::lockable;
pub use proposal::{Proposal, plans_to_lock};

/// Of all directories that were looked in, nearest first.
#[derive(Debug, Default)]
pub struct Lockfiles(Vec<Locked>);

/// Of one directory.
#[derive(Debug)]
pub struct Locked {
    pub scope: Scope,
    /// False for a project's that nobody has trusted: it is obeyed and never written.
    pub trusted: bool,
    /// The directory as messages name it, without a slash at its end.
    directory: String,
    pub path: PathBuf,
    /// The path as messages name it.
    pub shown: String,
    pub state: State,
}

/// What was found there.
#[derive(Debug, PartialEq)]
pub enum State {
    Absent,
    Sound(Lockfile),
    /// Why nobody can rely on it.
    Damaged(String),
}

impl Lockfiles {
    /// Nothing is pinned.
    pub const NONE: &'static Self = &Self(Vec::new());

    pub fn read(roots: &[Root], project_trusted: bool) -> Self {
        let locked = |root: &Root| {
            let path = lock_path(&root.dir)?;
            let directory = root.shown.trim_end_matches('/').to_owned();
            let (scope, state) = (root.scope, file::read(&path));
            let trusted = scope != Scope::Project || project_trusted;
            let shown = place::shown(&directory, &path);
            Some(Locked { scope, trusted, directory, path, shown, state })
        };
        Self(roots.iter().filter_map(locked).collect())
    }

    pub fn iter(&self) -> impl Iterator<Item = &Locked> {
        self.0.iter()
    }

    /// The one that an ensemble belongs to.
    pub fn of(&self, plan: &EnsemblePlan) -> Option<&Locked> {
        self.0.iter().find(|locked| locked.covers(plan))
    }

    /// Was anything of this ensemble ever accepted?
    pub fn speak_of(&self, plan: &EnsemblePlan) -> bool {
        let sound = self.of(plan).and_then(Locked::sound);
        sound.is_some_and(|lockfile| lockfile.ensembles.contains_key(plan.name.as_str()))
    }

    /// What the tools of an ensemble must be.
    pub fn pins(&self, plan: &EnsemblePlan) -> Pins {
        match self.of(plan).map(|locked| &locked.state) {
            None | Some(State::Absent) => Pins::Free,
            Some(State::Damaged(_)) => Pins::Unknown,
            // One that is not in it was never accepted: a new name is no way around the lockfile.
            Some(State::Sound(lockfile)) => accepted(lockfile.ensembles.get(plan.name.as_str())),
        }
    }
}

impl Locked {
    pub fn covers(&self, plan: &EnsemblePlan) -> bool {
        // Paths, not texts: `tools/.` is `tools`.
        let directory = Path::new(&plan.origin.file).parent();
        self.scope == plan.origin.scope && directory == Some(Path::new(&self.directory))
    }

    pub fn sound(&self) -> Option<&Lockfile> {
        match &self.state {
            State::Sound(lockfile) => Some(lockfile),
            State::Absent | State::Damaged(_) => None,
        }
    }

    /// Only over what was read: of two runs at once the second one would forget what the first has found.
    pub fn replace(&self, text: &str) -> io::Result<()> {
        file::write(&self.path, text, &self.state)
    }

    /// What `lock` and `check` must be told to mean this directory.
    pub fn flag(&self) -> String {
        lock_flag(self.scope, &self.directory)
    }
}

fn accepted(pinned: Option<&Pinned>) -> Pins {
    let tools = pinned.into_iter().flat_map(|pinned| &pinned.tools);
    let named = |name: &String| InvokerName::new(name.as_str()).ok();
    Pins::Accepted(tools.filter_map(|(name, tool)| Some((named(name)?, tool.sha256()))).collect())
}
