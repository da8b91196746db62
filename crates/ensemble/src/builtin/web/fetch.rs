//! `fetch`: the page at a public URL, as text.

use std::sync::Arc;

use converse_canister::Arguments;
use converse_config::{Judgement, Permission};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::json;

use super::allowed::Allowed;
use super::journey::{Hops, Stopped, travel};
use super::page::{Extract, Format, MAX_PAGE, page};
use super::target::Target;
use crate::builtin::arguments::{count, required_text, text};
use crate::builtin::{BuildError, Settings, on_blocking_thread};
use crate::fetch::Reach;
use crate::request::fetch_failure;
use crate::{Answer, Context, Host, Invocable, InvokeError};

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
    async fn run(&self, target: Target, wanted: Extract, host: &Host) -> Result<Answer, InvokeError> {
        let hops = RuledHops(host);
        let found = match travel(self.reach.as_ref(), &self.allowed, &hops, target, MAX_PAGE).await {
            Ok(found) => found,
            Err(Stopped::NotFollowed { to, why }) => {
                let text = format!(
                    "It redirects to {to}, which was not fetched: {why}. If that page is wanted, call this tool with \
                     its URL."
                );
                return Ok(Answer::text(text));
            }
            // A redirect led there, or a name: the arguments were right.
            Err(Stopped::Refused(refusal)) => return Ok(Answer::error(refusal.into_text())),
            Err(Stopped::Failed(error)) => return Err(fetch_failure(error)),
            Err(Stopped::TooFar) => return Ok(Answer::error("it is redirected too often")),
        };
        // A large page takes a while to read.
        let done = on_blocking_thread("reading the page", move || page(&found, wanted)).await?;
        Ok(done.map_or_else(Answer::error, Answer::text))
    }
}

/// A redirect is another call: rules that deny or ask hold for where it leads. What was approved is the host that was
/// shown, so another one needs a rule that allows it.
struct RuledHops<'a>(&'a Host);

impl Hops for RuledHops<'_> {
    fn follow(&self, from: &Target, to: &Target) -> Result<(), String> {
        let judged = |target: &Target| self.0.judged_by_rule("url", json!(target.url().as_str()));
        let same_host = to.has_host_of(from);
        match judged(to) {
            Some(Judgement { permission: Permission::Allow, .. }) => Ok(()),
            // The rule under which somebody approved the call.
            Some(asks)
                if asks.permission == Permission::Ask
                    && same_host
                    && judged(from).as_ref() == Some(&asks) =>
            {
                Ok(())
            }
            Some(stricter) => {
                Err(format!("the rule {} says `{}`", stricter.because(), stricter.permission.as_str()))
            }
            None if same_host => Ok(()),
            None => Err("it is another host, and no rule allows it".to_owned()),
        }
    }
}

fn parse_extract(arguments: &Arguments) -> Result<Extract, InvokeError> {
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
            let wanted = parse_extract(arguments)?;
            let target = Target::read(required_text(arguments, "url")?);
            let target = target.map_err(|refusal| InvokeError::Invalid(refusal.into_text()))?;
            context.unless_cancelled(self.run(target, wanted, &context.host)).await
        }
        .boxed()
    }
}
