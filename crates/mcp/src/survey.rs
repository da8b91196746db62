//! [`Survey`]: what a server reports about itself, for `ensembles check --connect`.

use std::time::{Duration, Instant};

use converse_canister::Digest;
use converse_text::safe_line;
use converse_text::wording::counted;
use tokio::time::timeout;

use crate::error::Failure;
use crate::server::RELIST;
use crate::{Era, McpConnection, UnmatchedSetting, listing};

/// What a server reported when it was connected. Texts are foreign and bounded but not cleaned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    pub era: Era,
    /// The protocol version in use, such as `2025-11-25`.
    pub protocol: String,
    /// The name in `serverInfo`; not unique.
    pub server: String,
    pub version: String,
    /// Declared capabilities, such as `tools` and `tools.listChanged`.
    pub capabilities: Vec<String>,
    /// Bytes of the instructions as sent; see [`Instructions`](converse_ensemble::Instructions).
    pub instructions: usize,
    /// The SHA-256 of the instructions, if any.
    pub instructions_sha256: Option<Digest>,
    /// Tools in the list of the server.
    pub offered: usize,
    /// Tools that are offered here.
    pub kept: usize,
    /// The other tools as `name: reason`.
    pub skipped: Vec<String>,
    /// Settings of the descriptor that match no tool.
    pub unmatched: Vec<UnmatchedSetting>,
    /// Time from starting or contacting the server to its list of tools.
    pub took: Duration,
}

impl Survey {
    /// Returns one line for people: name, version, protocol, number of tools, time.
    pub fn line(&self) -> String {
        let left_out = match self.offered.saturating_sub(self.kept) {
            0 => String::new(),
            count => format!(" of {} ({count} not used)", count + self.kept),
        };
        format!(
            "{} {}, MCP {} ({}), {}{left_out}, ready in {:.2} s",
            safe_line(&self.server, 80),
            safe_line(&self.version, 40),
            safe_line(&self.protocol, 20),
            self.era.label(),
            counted(self.kept, "tool"),
            self.took.as_secs_f64(),
        )
    }
}

impl McpConnection {
    /// Lists the tools again, at most 4 s, and returns how long it took. The list is discarded.
    ///
    /// # Errors
    ///
    /// Why the tools could not be listed, for the user.
    pub async fn measure_listing(&self) -> Result<Duration, String> {
        let Some(link) = self.server.living() else { return Err("the server is not connected".to_owned()) };
        let begun = Instant::now();
        let late = Failure::Silent { request: "tools/list", limit: RELIST };
        let listed = timeout(RELIST, listing::list(&link)).await.unwrap_or(Err(late));
        listed.map(|_| begun.elapsed()).map_err(|failure| failure.to_string())
    }

    /// Returns the last lines of stderr, cleaned; empty over HTTP.
    pub fn stderr_tail(&self) -> String {
        self.server.current().map_or_else(String::new, |link| link.stderr_tail())
    }
}
