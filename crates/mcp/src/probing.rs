//! For whoever looks at a server, and not through it: how fast it lists, and what it says beside the protocol.

use std::time::{Duration, Instant};

use tokio::time::timeout;

use crate::error::Failure;
use crate::server::RELIST;
use crate::{McpConnection, listing};

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
