//! What the server has besides tools. Only the capabilities that it declares are requested.

use std::future::Future;

use converse_mcp::{McpConnection, OfferError, Offered, Survey};

/// Numbers of resources, templates and prompts. `None`: not declared, or not listed.
#[derive(Debug, Default)]
pub struct Counts {
    pub resources: Option<usize>,
    pub templates: Option<usize>,
    pub prompts: Option<usize>,
    /// What could not be listed or was left out, with the reason.
    pub problems: Vec<String>,
}

impl Counts {
    pub(super) async fn of(server: &McpConnection, survey: &Survey) -> Self {
        let declares = |name: &str| survey.capabilities.iter().any(|capability| capability == name);
        let mut counts = Self::default();
        if declares("resources") {
            counts.resources = counts.count("resources", server.resources()).await;
            counts.templates = counts.count("resource templates", server.templates()).await;
        }
        if declares("prompts") {
            counts.prompts = counts.count("prompts", server.prompts()).await;
        }
        counts
    }

    async fn count<T>(
        &mut self,
        what: &str,
        listed: impl Future<Output = Result<Offered<T>, OfferError>>,
    ) -> Option<usize> {
        match listed.await {
            Ok(offered) => {
                self.problems.extend(offered.skipped.iter().map(|why| format!("{what}: {why}")));
                Some(offered.items.len())
            }
            Err(error) => {
                self.problems.push(format!("{what} could not be listed: {error}"));
                None
            }
        }
    }
}
