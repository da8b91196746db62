//! [`Surroundings`]: everything that connections need from the host, and data stored between runs.

use std::path::PathBuf;
use std::sync::Arc;

use converse_config::Environment;
use converse_ensemble::{Artefacts, Reach, StartChecks};
use converse_process::Guardian;
use tokio::runtime::Handle;

use crate::{Consent, Jitter, Responders, Vault};

/// Shows the user a one-line warning. Part of the text is foreign; the callee cleans it.
pub type Warn = Arc<dyn Fn(String) + Send + Sync>;

/// What connections need from the host.
pub struct Surroundings {
    /// The working directory of stdio servers without a `cwd`. Absolute.
    pub workspace: PathBuf,
    /// Source of secrets, read when a server is started or contacted.
    pub environment: Environment,
    /// Environment variables of every stdio server. Declared variables override them.
    pub inherited: Vec<(String, String)>,
    /// Ends processes that outlive this one.
    pub guardian: Guardian,
    /// Builds the client for HTTP servers; `true` requires TLS support.
    pub http: Box<dyn Fn(bool) -> Result<reqwest::Client, String> + Send + Sync>,
    /// Runs the connections over HTTP; `None`: the runtime that opens them. It must outlive them.
    pub http_runtime: Option<Handle>,
    pub eras: Arc<dyn EraStore>,
    pub lists: Arc<dyn ToolListStore>,
    /// Stores the bytes of images and audio.
    pub artefacts: Arc<dyn Artefacts>,
    /// The directory of the project, if any. For servers that the project declares, a bare program name is not resolved
    /// inside it.
    pub project: Option<PathBuf>,
    pub warn: Warn,
    /// Shows a one-line note, such as that a lost server is connected again.
    pub note: Warn,
    /// Spreads the attempts to connect a server that was lost.
    pub jitter: Jitter,
    /// Make the checks before each start of a server's process.
    pub start_checks: StartChecks,
    /// Answer the requests of servers.
    pub responders: Responders,
    /// HTTP client for authorization servers; without one, `auth = "oauth"` fails.
    pub reach: Option<Arc<dyn Reach>>,
    /// Stores tokens; without one they last for the run.
    pub vault: Option<Arc<dyn Vault>>,
    /// Asks the user to log in; without one, the error names the command for it.
    pub consent: Option<Arc<dyn Consent>>,
}

impl std::fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Surroundings").field("workspace", &self.workspace).finish_non_exhaustive()
    }
}

/// The generation of the protocol that a server uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// 2026-07-28 and later: no handshake, `server/discover`.
    Modern,
    /// Up to 2025-11-25: `initialize`.
    Legacy,
}

impl Era {
    /// Returns the name of the era in output and files.
    pub fn label(self) -> &'static str {
        match self {
            Self::Modern => "modern",
            Self::Legacy => "legacy",
        }
    }

    /// Returns the other era.
    pub(crate) fn other(self) -> Self {
        match self {
            Self::Modern => Self::Legacy,
            Self::Legacy => Self::Modern,
        }
    }
}

/// Stores tool lists between runs, for `lazy` ensembles and for listings without a connection. Keys are as in
/// [`EraStore`].
pub trait ToolListStore: Send + Sync {
    /// Returns the stored text.
    fn get(&self, key: &str) -> Option<String>;
    /// Stores the tools as received: foreign, at most 32 MiB.
    fn put(&self, key: &str, list: &str);
}

/// Stores the eras of servers between runs. A key is the SHA-256, in hex, of the command or address of a server, and
/// reveals no secret.
pub trait EraStore: Send + Sync {
    fn get(&self, key: &str) -> Option<Era>;
    fn put(&self, key: &str, era: Era);
}
