//! Where a server's questions are answered: what may be asked is declared, and nothing else is answered.
//!
//! Questions come in two ways, as requests of a legacy server and within the results of a modern one; both end here, as a
//! method and its parameters. A person is asked only for something that the user waits for.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use converse_config::Grants;
use converse_ensemble::Paused;
use rmcp::ErrorData;
use rmcp::model::{ClientCapabilities, ErrorCode};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::asked::{Asked, Elicitation, Reply};
use crate::elicitation::{Unfit, checked, question};
use crate::errands::{Errand, Errands, Open};
use crate::questions::Enough;
use crate::roots::Roots;
use crate::surroundings::Warn;
use crate::warnings::Warnings;
use crate::{Person, sampling, words};

/// One question may take so long; then it is taken for one that nobody answers.
pub const QUESTION: Duration = Duration::from_secs(600);
/// Questions of one server that wait at a time: those beyond are declined, so that they are not all held for it.
const MAX_WAITING: usize = 8;
/// The user said no (<https://modelcontextprotocol.io/specification/2025-11-25/client/sampling>, checked 2026-11).
const REJECTED: ErrorCode = ErrorCode(-1);

/// One server's.
pub(crate) struct Desk {
    pub(crate) ensemble: String,
    pub(crate) grants: Grants,
    pub(crate) asked: Asked,
    pub(crate) roots: Roots,
    warnings: Warnings,
    waiting: AtomicUsize,
}

/// For whom a question is.
pub(crate) enum Asker<'a> {
    /// A result of this one asks.
    One(&'a Errand),
    /// The server asks, and does not say for which of them.
    Any(&'a Errands),
}

/// As long as it lives, no clock runs.
enum Stopped {
    One { _paused: Paused },
    Any { _open: Open },
}

impl Asker<'_> {
    fn stopped(&self) -> Stopped {
        match self {
            Self::One(errand) => Stopped::One { _paused: errand.patience.pause() },
            Self::Any(errands) => Stopped::Any { _open: errands.open() },
        }
    }

    /// The one that the question is counted and paid by, if anything waits for it.
    fn errand(&self) -> Option<Errand> {
        match self {
            Self::One(errand) => Some((*errand).clone()),
            Self::Any(errands) => errands.first(),
        }
    }
}

impl Default for Desk {
    /// One that answers nothing.
    fn default() -> Self {
        Self::new(
            String::new(),
            Grants { elicitation: false, ..Grants::default() },
            Asked::default(),
            Roots::default(),
            Arc::new(|_| {}),
        )
    }
}

impl Desk {
    pub(crate) fn new(ensemble: String, grants: Grants, asked: Asked, roots: Roots, warn: Warn) -> Self {
        let warnings = Warnings::new(&ensemble, warn);
        Self { ensemble, grants, asked, roots, warnings, waiting: AtomicUsize::new(0) }
    }

    /// What is declared: just what will be answered.
    pub(crate) fn capabilities(&self) -> ClientCapabilities {
        let mut declared = json!({});
        if self.person().is_some() {
            declared["elicitation"] = json!({ "form": {}, "url": {} });
        }
        if self.roots.are_granted() {
            declared["roots"] = json!({});
        }
        if self.sampler().is_some() {
            declared["sampling"] = json!({});
        }
        // Its types are deprecated in part, its JSON is not.
        serde_json::from_value(declared).unwrap_or_default()
    }

    /// The result for the server, or why it has none.
    pub(crate) async fn answer(
        &self,
        method: &str,
        params: &Value,
        asker: &Asker<'_>,
    ) -> Result<Value, ErrorData> {
        match method {
            "elicitation/create" => self.elicit(params, asker).await,
            "sampling/createMessage" => self.sample(params, asker).await,
            "roots/list" if self.roots.are_granted() => {
                let (list, left) = self.roots.list();
                left.into_iter().for_each(|line| self.tell(&line));
                Ok(list)
            }
            "roots/list" => Err(refused(ErrorCode::METHOD_NOT_FOUND, "no roots are given to this server")),
            _ => Err(refused(ErrorCode::METHOD_NOT_FOUND, &words::cleaned(method, 100))),
        }
    }

    fn person(&self) -> Option<&Arc<dyn Person>> {
        self.asked.person.as_ref().filter(|_| self.grants.elicitation)
    }

    fn sampler(&self) -> Option<&Arc<dyn crate::Sampler>> {
        self.asked.sampler.as_ref().filter(|_| self.grants.sampling)
    }

    fn tell(&self, line: &str) {
        self.warnings.tell(line);
    }

    async fn elicit(&self, params: &Value, asker: &Asker<'_>) -> Result<Value, ErrorData> {
        let (Some(person), Some(errand)) = (self.person(), asker.errand()) else {
            return Ok(action("decline"));
        };
        let asked = match question(params) {
            Ok(asked) => asked,
            Err(Unfit::Invalid(why)) => return Err(refused(ErrorCode::INVALID_PARAMS, &why)),
            Err(Unfit::Declined(why)) => {
                self.tell(&format!("a question of its server was declined: {why}"));
                return Ok(action("decline"));
            }
        };
        let Some(_place) = Place::take(&self.waiting) else { return Ok(action("decline")) };
        let _stopped = asker.stopped();
        let Ok(reply) = timeout(QUESTION, self.reply(person, asked, &errand)).await else {
            self.tell(&format!("nobody answered its server within {} s", QUESTION.as_secs()));
            return Ok(action("cancel"));
        };
        Ok(self.replied(params, reply))
    }

    async fn reply(&self, person: &Arc<dyn Person>, asked: Elicitation, errand: &Errand) -> Reply {
        let mut count = errand.questions.turn().await;
        if let Err(enough) = count.ask() {
            if let Enough::Tell(why) = enough {
                self.tell(why);
            }
            return Reply::Decline;
        }
        let reply = person.elicit(&self.ensemble, asked).await;
        count.heard(&reply);
        reply
    }

    /// What was filled in is sent only if it is what was asked for.
    fn replied(&self, params: &Value, reply: Reply) -> Value {
        match reply {
            Reply::Decline => action("decline"),
            Reply::Cancel => action("cancel"),
            Reply::Accept(_) if params["mode"] == "url" => action("accept"),
            Reply::Accept(content) => {
                let content = content.unwrap_or_default();
                match checked(&params["requestedSchema"], &content) {
                    Ok(()) => json!({ "action": "accept", "content": content }),
                    Err(why) => {
                        self.tell(&format!("what was filled in does not fit its form: {why}"));
                        action("cancel")
                    }
                }
            }
        }
    }

    async fn sample(&self, params: &Value, asker: &Asker<'_>) -> Result<Value, ErrorData> {
        let Some(sampler) = self.sampler() else {
            return Err(refused(ErrorCode::METHOD_NOT_FOUND, "this server may not ask the model"));
        };
        let Some(errand) = asker.errand() else {
            return Err(refused(REJECTED, "nothing runs that the model could be asked for"));
        };
        sampling::checked(params).map_err(|why| refused(ErrorCode::INVALID_PARAMS, &why))?;
        let Some(_place) = Place::take(&self.waiting) else {
            return Err(refused(REJECTED, "too many questions wait already"));
        };
        let _stopped = asker.stopped();
        let sampled = sampler.sample(&self.ensemble, params.clone(), errand.tab);
        let sampled = timeout(QUESTION, sampled).await;
        let sampled = sampled.unwrap_or_else(|_| Err("the model did not answer in time".to_owned()));
        sampled.map_err(|why| refused(REJECTED, &why))
    }
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desk")
            .field("ensemble", &self.ensemble)
            .field("grants", &self.grants)
            .finish_non_exhaustive()
    }
}

/// One of the places to wait in.
struct Place<'a>(&'a AtomicUsize);

impl<'a> Place<'a> {
    fn take(waiting: &'a AtomicUsize) -> Option<Self> {
        let place = Self(waiting);
        (waiting.fetch_add(1, Ordering::Relaxed) < MAX_WAITING).then_some(place)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn action(action: &str) -> Value {
    json!({ "action": action })
}

fn refused(code: ErrorCode, why: &str) -> ErrorData {
    ErrorData::new(code, why.to_owned(), None)
}
