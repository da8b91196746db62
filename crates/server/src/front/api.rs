//! `/api`: sessions, turns as AG-UI runs, approvals, models and tools.

mod answers;
mod approver;
mod audit;
mod channel;
mod comparisons;
mod descriptors;
mod failure;
mod figures;
mod following;
mod message;
mod narrator;
mod others;
mod parameters;
mod routes;
mod run_observer;
mod runs;
mod sessions;
mod snapshot;
mod tools;
mod uploads;
mod waiting;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use converse_ensemble::{Roster, Rules};
use converse_gateway::Principal;
use converse_host::History;
use converse_host::context::RunContext;
use converse_host::turn::sessions as saved;
use converse_host::world::World;
use converse_session::{Document, Uuid};
use http::StatusCode;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use serde_json::{Value, json};

pub(super) use self::answers::Looks;
use self::answers::Wanted;
pub(super) use self::channel::Channels;
pub(super) use self::comparisons::Comparisons;
use self::failure::ApiFailure;
use self::parameters::Parameters;
use self::routes::{Action, route_of};
pub(super) use self::uploads::{MAX_FILE as MAX_UPLOAD, Uploads};
use self::waiting::{Answer, Waiting, WaitingFiles};
use super::agents::rules_of;
use super::completions::random_id;
use super::idempotency::no_turn;
use super::{Front, json_reply};
use crate::access::Admission;
use crate::http_server::Reply;

/// Sessions whose answers "for this session" are kept. At more, all of them are asked again.
const MAX_SESSION_RULES: usize = 10_000;

/// How sessions are written for people.
#[derive(Debug, Clone, Copy)]
pub struct Renderers {
    /// Markdown as HTML that can do nothing.
    pub fragment: fn(&str) -> String,
    pub markdown: fn(&Document) -> String,
    pub html: fn(&Document) -> String,
}

/// Who asks, and where their sessions are.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    principal: Principal,
    admission: Admission,
    world: Arc<World>,
}

impl Caller {
    /// Returns the name of the owner of the sessions.
    fn owner(&self) -> &str {
        owner_of(&self.principal)
    }

    fn waiting(&self) -> Result<WaitingFiles, ApiFailure> {
        WaitingFiles::of(&self.world).ok_or_else(|| {
            ApiFailure::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "no-home",
                "there is no directory for sessions",
            )
        })
    }

    /// Returns the questions of a session, if there are any.
    fn waiting_in(&self, session: Uuid) -> Result<Option<Waiting>, ApiFailure> {
        self.waiting()?.read(session).map_err(|error| ApiFailure::not_read(&error))
    }
}

/// Returns the name of a principal as the owner of sessions in a database.
fn owner_of(principal: &Principal) -> &str {
    match principal {
        Principal::Owner => "",
        Principal::Other(digest) => digest,
    }
}

/// Returns an error of `/api`.
pub(super) fn refused(status: StatusCode, code: &'static str, message: String) -> Reply {
    ApiFailure::new(status, code, message).reply()
}

impl Front {
    pub(super) async fn answer_api(
        self: &Arc<Self>,
        parts: &Parts,
        body: &Bytes,
        admission: &Admission,
    ) -> Reply {
        let principal = admission.principal.clone();
        let world = self.world_of(&principal);
        let caller = Caller { principal, admission: admission.clone(), world };
        let answered = self.api(&caller, parts, body).await;
        answered.unwrap_or_else(|failure| no_turn(failure.reply()))
    }

    async fn api(
        self: &Arc<Self>,
        caller: &Caller,
        parts: &Parts,
        body: &Bytes,
    ) -> Result<Reply, ApiFailure> {
        let (route, [first, second]) =
            route_of(parts.method.as_str(), parts.uri.path()).ok_or_else(ApiFailure::not_found)?;
        let query = &Parameters::read(parts.uri.query().unwrap_or_default(), route.query)?;
        let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
        let session = || first.parse::<Uuid>().map_err(|_| ApiFailure::not_found());
        match route.action {
            Action::ShowDocument => Ok(json_reply(StatusCode::OK, &routes::document())),
            Action::ShowStatus => Ok(self.status(caller)),
            Action::ListModels => Ok(self.list_models()),
            Action::ListEnsembles => self.list_ensembles(caller).await,
            Action::ShowDrift => self.drift(caller, first).await,
            Action::CallTool => self.call_tool(caller, (first, second), header("content-type"), body).await,
            Action::ShowFigures => self.figures(caller, query).await,
            Action::ListInvocations => self.invocations(caller, query).await,
            Action::ListRecords => self.audit(caller, query).await,
            Action::FollowEverything => self.everything(caller),
            Action::Run => {
                let streams = header("accept").is_none_or(|accept| !accept.starts_with("application/json"));
                self.post_run(caller, body, streams).await
            }
            Action::Upload => self.upload(caller, query, header("content-type"), body),
            Action::CancelRun => self.cancel_run(caller, session()?).await,
            Action::FollowSession => {
                let after = header("last-event-id").or_else(|| query.text("after"));
                self.follow_session(caller, session()?, after).await
            }
            action => {
                let (front, caller, parts, body) =
                    (Arc::clone(self), caller.clone(), parts.clone(), body.clone());
                let work = move || front.api_of_files(&caller, &parts, &body);
                match action {
                    Action::ImportSession | Action::ExportSession => self.heavy_sessions.run(work).await?,
                    _ => self.session_work.run(work).await?,
                }
            }
        }
    }

    /// Answers what reads or writes files, or renders texts: beside the turns, and to its end also if the client leaves.
    fn api_of_files(
        self: &Arc<Self>,
        caller: &Caller,
        parts: &Parts,
        body: &[u8],
    ) -> Result<Reply, ApiFailure> {
        let (route, [first, second]) =
            route_of(parts.method.as_str(), parts.uri.path()).ok_or_else(ApiFailure::not_found)?;
        let query = &Parameters::read(parts.uri.query().unwrap_or_default(), route.query)?;
        let kind = parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let session = || first.parse::<Uuid>().map_err(|_| ApiFailure::not_found());
        match route.action {
            Action::ListApprovals => self.approvals(caller),
            Action::AnswerApproval => self.answer_approval(caller, first, body),
            Action::Compare | Action::TakeAnswer if self.replicas.is_some() => {
                Err(ApiFailure::store_unsupported("comparisons"))
            }
            Action::Compare => self.compare(caller, body),
            Action::TakeAnswer => self.take(caller, first, body),
            Action::ListSessions => self.list_sessions(caller, query),
            Action::CreateSession => self.create_session(caller, body),
            Action::ImportSession => self.import_session(caller, kind, body),
            Action::ShowSession => self.show_session(caller, session()?, query),
            Action::ChangeSession => self.change_session(caller, session()?, body),
            Action::DeleteSession => self.delete_session(caller, session()?),
            Action::ForkSession => self.fork_session(caller, session()?, body),
            Action::RewindSession => self.rewind_session(caller, session()?, body),
            Action::ExportSession => self.export_session(caller, session()?, query),
            Action::ShowContent => self.content(caller, session()?, second),
            _ => Err(ApiFailure::not_found()),
        }
    }

    fn status(&self, caller: &Caller) -> Reply {
        let principal = match &caller.principal {
            Principal::Owner => "owner".to_owned(),
            Principal::Other(digest) => digest.chars().take(8).collect(),
        };
        let body = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "principal": principal,
            "project": saved::project(&caller.world),
            "model": self.agents.default_id(),
            "working_directory": self.world.cwd.display().to_string(),
            "features": {
                "openai": self.options.openai,
                "api": self.options.api,
                "panel": self.options.panel,
                "comparisons": self.replicas.is_none(),
                "figures": true,
            },
        });
        json_reply(StatusCode::OK, &body)
    }

    fn approvals(&self, caller: &Caller) -> Result<Reply, ApiFailure> {
        let Ok(files) = caller.waiting() else {
            return Ok(json_reply(StatusCode::OK, &json!({ "items": [] })));
        };
        let (mut items, mut seen): (Vec<Value>, _) = (Vec::new(), HashSet::new());
        for session in files.sessions().map_err(|error| ApiFailure::not_read(&error))? {
            let Some(waiting) = files.read_if_possible(session) else { continue };
            let summary = saved::store(&caller.world).and_then(|store| store.summary(session).ok());
            let (name, words) = summary.map(|one| (one.metadata.name, one.words)).unwrap_or_default();
            // Equal calls of a comparison are asked about once.
            items.extend(comparisons::asked_first(&waiting, &mut seen).into_iter().map(|interrupt| {
                let mut item = interrupt["metadata"].clone();
                item["id"] = interrupt["id"].clone();
                item["tool_call_id"] = interrupt["toolCallId"].clone();
                item["session"] = json!(session.to_string());
                item["session_name"] = json!(name);
                item["words"] = json!(words);
                item["at"] = json!(waiting.at);
                item
            }));
        }
        Ok(json_reply(StatusCode::OK, &json!({ "items": items })))
    }

    fn answer_approval(
        self: &Arc<Self>,
        caller: &Caller,
        id: &str,
        body: &[u8],
    ) -> Result<Reply, ApiFailure> {
        let answer: Answer =
            serde_json::from_slice(body).map_err(|error| ApiFailure::bad_request(error.to_string()))?;
        let session =
            id.split('.').next().and_then(|id| id.parse().ok()).ok_or_else(ApiFailure::not_found)?;
        let answers: BTreeMap<String, Answer> = [(id.to_owned(), answer)].into();
        // An answer is taken only if the turn can continue with it.
        let place = self.api_place()?;
        let left = self.answered(caller, &caller.waiting()?, session, &answers, Wanted::Some)?;
        // If the turn that asks has not ended yet, it goes on itself.
        if left == 0 && !self.is_running(caller, session)? {
            match self.continue_turn(caller, session, place) {
                // Another server was faster.
                Err(failure) if self.replicas.is_some() && failure.is_busy() => {}
                continued => continued?,
            }
        }
        Ok(json_reply(StatusCode::OK, &json!({ "left": left })))
    }

    fn upload(
        &self,
        caller: &Caller,
        query: &Parameters<'_>,
        kind: Option<&str>,
        body: &[u8],
    ) -> Result<Reply, ApiFailure> {
        let name = uploads::kept_name(query.text("name").unwrap_or("file"));
        let wrong = || ApiFailure::bad_request("the content type is not a media type");
        let kind = uploads::media_type(kind.unwrap_or("application/octet-stream")).ok_or_else(wrong)?;
        let id = random_id();
        if !self.uploads.put(&caller.principal, id.clone(), name.clone(), kind.to_owned(), body) {
            let message = "there is no room for the file";
            return Err(ApiFailure::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", message));
        }
        let body = json!({ "id": id, "name": name, "media_type": kind, "bytes": body.len() });
        Ok(json_reply(StatusCode::CREATED, &body))
    }

    /// Returns the tools of a session: those of its agent, with the answers "for this session", and the answers "always"
    /// of its principal as they are now.
    fn roster_of(&self, caller: &Caller, session: Uuid, agent: &Roster) -> Roster {
        let mut kept = self.session_rules.lock();
        if kept.len() >= MAX_SESSION_RULES {
            kept.clear();
        }
        let own = || agent.rules().with_list(Vec::new());
        let rules = kept.entry((caller.principal.clone(), session)).or_insert_with(own);
        let of_session = rules.only(|rule| rule.is_bound() && rule.is_for_this_run()).all();
        rules.replace([rules_of(&caller.world, agent.rules()), of_session].concat());
        let roster = agent.with_rules(rules.clone());
        roster.searchable();
        roster
    }

    fn rewound(&self, caller: &Caller, id: Uuid, at: usize) -> Result<(), ApiFailure> {
        let context = RunContext::new(&caller.world);
        let session = saved::open(id, &context, &caller.world)?;
        let mut history = History::of(session, false, &context, &caller.world);
        let keep = sessions::cut(history.transcript().as_slice(), at);
        Ok(history.rewind(keep)?)
    }
}

/// Rules that hold for one session, by answers of a person.
pub(super) type SessionRules = HashMap<(Principal, Uuid), Rules>;

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(super) use self::tests::{front_with, shared_files::SharedFiles};
