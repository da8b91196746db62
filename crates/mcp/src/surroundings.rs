//! What a server is given of the world, and what is known of it from earlier runs.

use std::path::PathBuf;
use std::sync::Arc;

use converse_config::Environment;
use converse_ensemble::{Artefacts, Reach};
use converse_process::Guardian;

use crate::{Consent, Responders, Vault};

/// Tells the user one line that is not worth failing for. Its text is foreign in parts: whoever shows it cleans it.
pub type Warn = Arc<dyn Fn(String) + Send + Sync>;

/// What servers are given of the world.
pub struct Surroundings {
    /// Where stdio servers run, unless their `cwd` says otherwise. Absolute.
    pub workspace: PathBuf,
    /// Where secrets are read from, when a server is started or reached.
    pub environment: Environment,
    /// Variables every stdio server gets; declared ones are added over them.
    pub inherited: Vec<(String, String)>,
    /// Ends what outlives us.
    pub guardian: Guardian,
    /// Builds the client to reach HTTP servers with; `true` asks for one that can speak TLS.
    pub http: Box<dyn Fn(bool) -> Result<reqwest::Client, String> + Send + Sync>,
    pub eras: Arc<dyn EraStore>,
    pub lists: Arc<dyn ToolListStore>,
    /// Keeps the bytes of pictures and sounds.
    pub artefacts: Arc<dyn Artefacts>,
    /// The directory of the project, if there is one: programs below it are not found by a bare name for servers that
    /// the project itself declares.
    pub project: Option<PathBuf>,
    pub warn: Warn,
    /// Who answers what servers ask of us.
    pub responders: Responders,
    /// HTTP to where servers say that tokens are had; without one `auth = "oauth"` fails.
    pub reach: Option<Arc<dyn Reach>>,
    /// Where tokens are kept; without one they are forgotten at the end of the run.
    pub vault: Option<Arc<dyn Vault>>,
    /// Who grants access when a server asks for it; `None`: it is said how to log in.
    pub consent: Option<Arc<dyn Consent>>,
}

impl std::fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Surroundings").field("workspace", &self.workspace).finish_non_exhaustive()
    }
}

/// Which of the two kinds of MCP a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// 2026-07-28 and later: no handshake, `server/discover`.
    Modern,
    /// Up to 2025-11-25: `initialize`.
    Legacy,
}

impl Era {
    /// The word for it in output and files.
    pub fn label(self) -> &'static str {
        match self {
            Self::Modern => "modern",
            Self::Legacy => "legacy",
        }
    }
}

/// The tool lists of earlier runs: what ensembles that are `lazy` offer before their first call, and what can be shown of
/// any without starting it. Keys as in [`EraStore`].
pub trait ToolListStore: Send + Sync {
    /// The text that was put, or none.
    fn get(&self, key: &str) -> Option<String>;
    /// As the server wrote its tools: foreign, at most 32 MiB.
    fn put(&self, key: &str, list: &str);
}

/// What is known of servers from earlier runs. A key is opaque: the SHA-256, in hex, of what starts or reaches the
/// server; no secret can be read from it.
pub trait EraStore: Send + Sync {
    fn get(&self, key: &str) -> Option<Era>;
    fn put(&self, key: &str, era: Era);
}
