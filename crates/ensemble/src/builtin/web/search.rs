//! `web_search`: what a search service finds, as titles, addresses and snippets.
//!
//! Which service is asked is the user's choice, by `[configuration]` or by which key is set ([`choice`]). What it is
//! asked ([`query`]) and what it answers ([`answer`]) are pure functions for each service.

mod answer;
mod choice;
mod query;

use std::sync::Arc;

use converse_canister::Arguments;
use converse_config::Environment;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use crate::builtin::arguments::{count, required_text, text};
use crate::builtin::{BuildError, Settings, Variable};
use crate::fetch::Fetch;
use crate::request::fetch_failure;
use crate::{Answer, Context, Invocable, InvokeError};
use choice::{Choice, Chosen};
use query::{Freshness, Query};

/// A page of results is some ten kilobytes.
const MAX_ANSWER: usize = 2 * 1024 * 1024;
const DEFAULT_COUNT: usize = 5;
const MAX_COUNT: usize = 20;

/// What it may read of the environment.
pub(in crate::builtin) const VARIABLES: &[Variable] = &[
    Variable { name: "TAVILY_API_KEY", is_secret: true },
    Variable { name: "SERPAPI_API_KEY", is_secret: true },
    Variable { name: "BRAVE_API_KEY", is_secret: true },
    Variable { name: "SEARXNG_URL", is_secret: false },
];

pub(in crate::builtin) fn build(settings: &Settings<'_>) -> Result<Arc<dyn Invocable>, BuildError> {
    Ok(Arc::new(Searching {
        choice: Choice::new(settings)?,
        environment: settings.environment.clone(),
        fetch: Arc::clone(&settings.fetch),
    }))
}

struct Searching {
    choice: Choice,
    environment: Environment,
    fetch: Arc<dyn Fetch>,
}

impl Searching {
    async fn run(&self, chosen: &Chosen, query: &Query) -> Result<Answer, InvokeError> {
        let request = query::request(chosen, query).map_err(InvokeError::Failed)?;
        let fetched = self.fetch.fetch(request, MAX_ANSWER).await.map_err(fetch_failure)?;
        Ok(match answer::hits(chosen, &fetched, query.count) {
            Ok(hits) => answer::listed(chosen, hits),
            Err(failure) => Answer::error(failure),
        })
    }
}

fn parse_query(arguments: &Arguments) -> Result<Query, InvokeError> {
    let words = required_text(arguments, "query")?.trim();
    if words.is_empty() {
        return Err(InvokeError::Invalid("`query` is empty".to_owned()));
    }
    let count = count(arguments, "count")?.unwrap_or(DEFAULT_COUNT);
    if !(1..=MAX_COUNT).contains(&count) {
        return Err(InvokeError::Invalid(format!("`count` is a number from 1 to {MAX_COUNT}")));
    }
    let freshness = match text(arguments, "freshness")? {
        None => None,
        Some(word) => Some(Freshness::named(word).ok_or_else(|| {
            InvokeError::Invalid("`freshness` is `day`, `week`, `month` or `year`".to_owned())
        })?),
    };
    Ok(Query { words: words.to_owned(), count, freshness })
}

impl Invocable for Searching {
    fn invoke<'a>(
        &'a self,
        context: Context,
        arguments: &'a Arguments,
    ) -> BoxFuture<'a, Result<Answer, InvokeError>> {
        async move {
            let query = parse_query(arguments)?;
            let chosen = match self.choice.choose(&self.environment) {
                Ok(chosen) => chosen,
                Err(missing) => return Ok(Answer::error(missing)),
            };
            context.unless_cancelled(self.run(&chosen, &query)).await
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests;
