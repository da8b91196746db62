//! What the server has beside its tools. Only what it declares is asked for: one that declares nothing is left in peace.

use std::future::Future;

use converse_mcp::{McpConnection, OfferError, Offered, Survey};

/// `None`: it does not declare any, or could not list them.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) resources: Option<usize>,
    pub(super) templates: Option<usize>,
    pub(super) prompts: Option<usize>,
    /// What could not be listed, and what is left out, with the reason.
    pub(super) problems: Vec<String>,
}

impl Counts {
    pub(super) async fn of(server: &McpConnection, survey: &Survey) -> Self {
        let declares = |name: &str| survey.capabilities.iter().any(|capability| capability == name);
        let mut counts = Self::default();
        if declares("resources") {
            counts.resources = counts.count("resources", server.resources()).await;
            counts.templates = counts.count("templates of resources", server.templates()).await;
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
