//! `fetch`: what stands at a public URL, as text.

use std::sync::Arc;

use converse_canister::Arguments;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use super::allowed::Allowed;
use super::journey::{Stopped, travel};
use super::page::{Extract, Format, MAX_PAGE, page};
use super::target::Target;
use crate::blocking;
use crate::builtin::arguments::{count, required_text, text};
use crate::builtin::{BuildError, Settings};
use crate::fetch::Reach;
use crate::request::fetch_failure;
use crate::{Answer, Context, Invocable, InvokeError};

/// Characters of a page in one answer, if nothing is said; the result as a whole has a limit of its own.
const DEFAULT_LIMIT: usize = 20_000;

pub(in crate::builtin) fn build(settings: &Settings<'_>) -> Result<Arc<dyn Invocable>, BuildError> {
    Ok(Arc::new(Fetching { reach: Arc::clone(&settings.reach), allowed: Allowed::new(settings)? }))
}

struct Fetching {
    reach: Arc<dyn Reach>,
    allowed: Allowed,
}

impl Fetching {
    async fn run(&self, target: Target, wanted: Extract) -> Result<Answer, InvokeError> {
        let found = match travel(self.reach.as_ref(), &self.allowed, target, MAX_PAGE).await {
            Ok(found) => found,
            // A redirect led there, or a name: the arguments were right.
            Err(Stopped::Refused(refusal)) => return Ok(Answer::error(refusal.into_text())),
            Err(Stopped::Failed(error)) => return Err(fetch_failure(error)),
            Err(Stopped::TooFar) => return Ok(Answer::error("it is redirected too often")),
        };
        // A large page takes a while to read.
        let done = blocking::spawn_or_unreachable(move || page(&found, wanted))?.await;
        let done = done.map_err(|_| InvokeError::Failed("reading the page crashed".to_owned()))?;
        Ok(done.map_or_else(Answer::error, Answer::text))
    }
}

fn wanted(arguments: &Arguments) -> Result<Extract, InvokeError> {
    let format = match text(arguments, "format")? {
        None | Some("text") => Format::Text,
        Some("raw") => Format::Raw,
        Some(_) => return Err(InvokeError::Invalid("`format` is `text` or `raw`".to_owned())),
    };
    let limit = count(arguments, "limit")?.unwrap_or(DEFAULT_LIMIT);
    if limit == 0 {
        return Err(InvokeError::Invalid("`limit` must be 1 or more".to_owned()));
    }
    Ok(Extract { format, offset: count(arguments, "offset")?.unwrap_or(0), limit })
}

impl Invocable for Fetching {
    fn invoke<'a>(
        &'a self,
        context: Context,
        arguments: &'a Arguments,
    ) -> BoxFuture<'a, Result<Answer, InvokeError>> {
        async move {
            let wanted = wanted(arguments)?;
            let target = Target::read(required_text(arguments, "url")?);
            let target = target.map_err(|refusal| InvokeError::Invalid(refusal.into_text()))?;
            tokio::select! {
                biased;
                done = self.run(target, wanted) => done,
                () = context.cancel.cancelled() => {
                    Err(InvokeError::Interrupted("it was stopped before it was answered".to_owned()))
                }
            }
        }
        .boxed()
    }
}
