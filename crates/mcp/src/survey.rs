//! What one server says of itself, for `ensembles check --connect`.

use std::time::{Duration, Instant};

use converse_canister::Digest;
use tokio::time::timeout;

use crate::error::Failure;
use crate::server::RELIST;
use crate::{Era, McpConnection, UnmatchedSetting, listing};

/// What was found when a server was connected. Texts are the server's own: foreign, bounded, not cleaned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    pub era: Era,
    /// The protocol version in use, such as `2025-11-25`.
    pub protocol: String,
    /// The name it gives itself; not unique.
    pub server: String,
    pub version: String,
    /// What it declares that it can do, such as `tools` and `tools.listChanged`.
    pub capabilities: Vec<String>,
    /// Bytes of its instructions; they reach no model.
    pub instructions: usize,
    /// The SHA-256 of them, if there are any.
    pub instructions_sha256: Option<Digest>,
    /// Tools in its list.
    pub offered: usize,
    /// Tools of them that became tools here.
    pub kept: usize,
    /// Why others did not: `name: reason`.
    pub skipped: Vec<String>,
    /// What its descriptor says of tools that it does not have.
    pub unmatched: Vec<UnmatchedSetting>,
    /// From starting or reaching it to its list of tools.
    pub took: Duration,
}

impl McpConnection {
    /// Has it list its tools once more, and says how long that took. Nothing is taken over. At most 4 s; an error is in
    /// words.
    pub async fn measure_listing(&self) -> Result<Duration, String> {
        let Some(link) = self.server.living() else { return Err("it is not connected".to_owned()) };
        let begun = Instant::now();
        let late = Failure::Silent { request: "tools/list", limit: RELIST };
        let listed = timeout(RELIST, listing::list(&link)).await.unwrap_or(Err(late));
        listed.map(|_| begun.elapsed()).map_err(|failure| failure.to_string())
    }

    /// The end of what it has said on stderr, cleaned; empty for one that is reached over the network.
    pub fn stderr_tail(&self) -> String {
        self.server.current().map_or_else(String::new, |link| link.stderr_tail())
    }
}
