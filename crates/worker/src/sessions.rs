//! The object of Restate: one turn of a session at a time, from step to step.
//!
//! The handlers only loop over outcomes that Restate keeps, so a replay takes the same way whatever a step did.

use std::sync::Arc;
use std::time::Duration;

use converse_batch::WorkerSettings;
use converse_session::Uuid;
use restate_sdk::prelude::*;

use crate::message::{Advanced, Answers, Ended, Request, Waiting};
use crate::turns::Turns;

/// What the session was begun with, and what it waits for.
const REQUEST: &str = "request";
const WAITING: &str = "waiting";

/// Time for a step that fails in a way that may pass, such as a session that a lost process still holds.
const PATIENCE: Duration = Duration::from_secs(30 * 60);

/// The sessions of a worker.
pub(crate) struct Sessions {
    pub(crate) turns: Turns,
    pub(crate) settings: WorkerSettings,
}

// A step may be a long call of a model: Restate must not take it for lost.
#[restate_sdk::object(
    name = "ConverseSession",
    client_visibility = "pub(crate)",
    inactivity_timeout = "10m",
    abort_timeout = "1h",
    idempotency_retention = "30 days",
    journal_retention = "1 day"
)]
impl Sessions {
    /// Runs the conversation of this session to its end.
    #[handler]
    async fn run(
        &self,
        ctx: ObjectContext<'_>,
        Json(request): Json<Request>,
    ) -> Result<Json<Ended>, HandlerError> {
        let session: Uuid = ctx.key().parse().map_err(|_| refused("the key is not a UUID"))?;
        if !request.line.attachments.is_empty() {
            // A worker reads no file and no address that a client names.
            return Err(refused("attachments are not supported").into());
        }
        let digest = digest(&request)?;
        match ctx.get::<String>(REQUEST).await? {
            None => ctx.set(REQUEST, digest),
            Some(first) if first == digest => {}
            Some(_) => return Err(refused("the session was begun with another request").into()),
        }
        let request = Arc::new(request);
        let (mut answers, mut name) = (Answers::new(), "open");
        loop {
            let (turns, request, given) = (self.turns.clone(), Arc::clone(&request), answers.clone());
            let step = ctx.run(|| async move { Ok(Json(turns.advance(session, request, given).await?)) });
            let Json(advanced) = step.name(name).retry_policy(retries()).await?;
            match advanced {
                Advanced::More { next } => name = next.name(),
                Advanced::Done(ended) => return Ok(Json(ended)),
                Advanced::Waiting { questions } => {
                    let (awakeable, answered) = ctx.awakeable::<Json<Answers>>();
                    ctx.set(WAITING, Json(Waiting { awakeable, questions }));
                    let answered = answered.await;
                    ctx.clear(WAITING);
                    let Json(given) = answered?;
                    answers.extend(given);
                    name = "resume";
                }
            }
        }
    }

    /// Returns what conversations run with, whatever the key.
    #[handler]
    async fn settings(&self, _ctx: SharedObjectContext<'_>) -> Result<Json<WorkerSettings>, HandlerError> {
        Ok(Json(self.settings.clone()))
    }

    /// Returns the questions that the session waits with.
    #[handler]
    async fn waiting(&self, ctx: SharedObjectContext<'_>) -> Result<Json<Option<Waiting>>, HandlerError> {
        Ok(Json(ctx.get::<Json<Waiting>>(WAITING).await?.map(Json::into_inner)))
    }

    /// Answers all questions that the session waits with.
    #[handler]
    async fn answer(
        &self,
        ctx: SharedObjectContext<'_>,
        Json(answers): Json<Answers>,
    ) -> Result<(), HandlerError> {
        let Some(Json(waiting)) = ctx.get::<Json<Waiting>>(WAITING).await? else {
            return Err(refused("the session does not wait for answers").into());
        };
        if let Some(open) = waiting.questions.iter().find(|question| !answers.contains_key(&question.id)) {
            return Err(refused(&format!("`{}` has no answer", open.id)).into());
        }
        ctx.resolve_awakeable(&waiting.awakeable, Json(answers));
        Ok(())
    }
}

fn refused(why: &str) -> TerminalError {
    TerminalError::new_with_code(400, why)
}

fn digest(request: &Request) -> Result<String, HandlerError> {
    Ok(converse_session::digest(&serde_json::to_vec(request)?).to_string())
}

/// The connection to a worker that was lost is another matter: that is the invoker's, and has no end.
fn retries() -> RunRetryPolicy {
    RunRetryPolicy::new()
        .initial_delay(Duration::from_millis(500))
        .exponentiation_factor(2.0)
        .max_delay(Duration::from_secs(10))
        .max_duration(PATIENCE)
}
