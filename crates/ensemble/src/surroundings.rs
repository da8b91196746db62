//! What declared invokers are given of the world.

use std::path::PathBuf;
use std::sync::Arc;

use converse_config::Environment;
use converse_process::Guardian;

use crate::builtin::Clock;
use crate::confiner::Confiner;
use crate::fetch::Fetch;
use crate::reach::Reach;
use crate::roster::Artefacts;

/// One value for all ensembles of a run. Whoever made it has read the environment, the clock and the directory.
pub struct Surroundings {
    /// The directory converse runs in, canonical.
    pub workspace: PathBuf,
    /// Where a project's own commands find no program by its bare name; `None` where there is no project, as at home.
    pub project: Option<PathBuf>,
    /// Places no tool may write to: configuration, trust, sessions, and the files that commands name, once for each
    /// command that names them.
    pub protected: Vec<PathBuf>,
    pub clock: Clock,
    /// Where secrets and `${VAR}` of descriptors are looked up, at each invocation.
    pub environment: Environment,
    /// The variables every child gets; what its descriptor declares is set over them.
    pub inherited: Vec<(String, String)>,
    /// Ends children that outlive us.
    pub guardian: Guardian,
    /// How commands get into their sandbox; without it those that require one are refused.
    pub confiner: Option<Confiner>,
    pub fetch: Arc<dyn Fetch>,
    /// To places that a model chose.
    pub reach: Arc<dyn Reach>,
    /// Keeps pictures and sounds that an answer refers to.
    pub artefacts: Arc<dyn Artefacts>,
}

impl std::fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Surroundings").field("workspace", &self.workspace).finish_non_exhaustive()
    }
}
