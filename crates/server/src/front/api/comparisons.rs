//! Comparisons: several models answer one question, each in a session of its own, over the same results of tools.
//!
//! Equal calls run once ([`SharedRuns`]), and a question about them is asked once: an answer counts for every session
//! whose equal call waits for the same reason, and for those that make it later. What runs is known from the sessions, so
//! that a restart does not run a call again; later models are then asked again.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use converse_canister::{Canister, Content, Decision, Digest, InvocationId};
use converse_ensemble::{Pending, Roster, SharedRuns};
use converse_gateway::Principal;
use converse_host::turn::sessions;
use converse_host::world::World;
use converse_session::{Metadata, Store, Uuid, new_id};
use http::StatusCode;
use parking_lot::{Mutex, MutexGuard};
use serde::Deserialize;
use serde_json::{Value, json};

use super::failure::ApiFailure;
use super::runs::{Client, NewTurn, Props};
use super::waiting::{Answer, WaitingFiles};
use super::{Caller, sessions::PROGRAM};
use crate::front::question::question_digest;
use crate::front::{Front, json_reply};
use crate::http_server::Reply;

/// Comparisons that are kept although none of their turns runs. Others are read again from their sessions.
const MAX_IDLE: usize = 16;
/// The prefix of the id of a comparison in the tag of its sessions, and in that of one that was chosen.
const COMPARED: &str = "compare:";
const CHOSEN: &str = "compared:";

/// All comparisons that are going on.
#[derive(Debug, Default)]
pub(in crate::front) struct Comparisons(Mutex<HashMap<(Principal, String), Arc<Comparison>>>);

/// What the turns of a comparison share.
#[derive(Debug)]
pub(super) struct Comparison {
    pub(super) id: String,
    pub(super) runs: SharedRuns,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    /// Sessions in the order of their numbers.
    callers: Vec<Uuid>,
    /// Sessions whose turn has not ended.
    open: HashSet<Uuid>,
    /// Questions about equal calls, of each session in their order.
    asked: HashMap<(Uuid, Digest), Vec<InvocationId>>,
    /// Answers, by the question.
    pub(super) answers: HashMap<String, Answer>,
    /// The runs have the calls of the sessions.
    is_restored: bool,
}

impl Comparison {
    fn new(id: String) -> Self {
        Self { id, runs: SharedRuns::default(), state: Mutex::default() }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Returns the number of a session among the callers.
    fn caller(&self, session: Uuid) -> usize {
        let mut state = self.state();
        state.open.insert(session);
        let callers = &mut state.callers;
        callers.iter().position(|one| *one == session).unwrap_or_else(|| {
            callers.push(session);
            callers.len() - 1
        })
    }

    /// Returns the tools of one of the sessions. After a restart, calls that its sessions have made count.
    pub(super) fn roster(&self, session: Uuid, roster: &Roster, store: &Store) -> Roster {
        let was_restored = std::mem::replace(&mut self.state().is_restored, true);
        if !was_restored {
            for one in store.tagged(&format!("{COMPARED}{}", self.id)).unwrap_or_default() {
                recall(&roster.sharing(&self.runs, self.caller(one)), one, store);
            }
        }
        roster.sharing(&self.runs, self.caller(session))
    }
}

/// Takes in the calls that a session has run.
fn recall(roster: &Roster, session: Uuid, store: &Store) {
    let Ok(loaded) = store.read_waiting(session) else { return };
    let canisters = loaded.transcript.as_slice();
    let mut edited = HashMap::new();
    for (id, decision) in &loaded.decisions {
        if let Decision::AllowEdited { arguments } = decision {
            edited.insert(id, converse_canister::Arguments::from_object(arguments.clone()));
        }
    }
    let results = canisters.iter().filter_map(|canister| match canister {
        Canister::Result(result) => Some((&result.id, result)),
        _ => None,
    });
    let results: HashMap<_, _> = results.collect();
    for canister in canisters {
        if let Canister::Invocation(call) = canister
            && loaded.started.contains(&call.id)
            && let Some(result) = results.get(&call.id)
        {
            roster.recall(call, edited.get(&call.id).unwrap_or(&call.arguments), result);
        }
    }
}

impl State {
    /// Identifies a question among those of the other sessions: equal calls that are asked about in the same way. The second
    /// such call of one model is equal to the second of another.
    pub(super) fn question(&mut self, session: Uuid, pending: &Pending) -> String {
        let digest = question_digest(pending);
        let asked = self.asked.entry((session, digest)).or_default();
        let place = asked.iter().position(|id| id == pending.id()).unwrap_or_else(|| {
            asked.push(pending.id().clone());
            asked.len() - 1
        });
        format!("{digest}.{place}")
    }
}

impl Comparisons {
    pub(super) fn of(&self, principal: &Principal, id: &str) -> Arc<Comparison> {
        let mut all = self.0.lock();
        let key = (principal.clone(), id.to_owned());
        if !all.contains_key(&key) && all.len() >= MAX_IDLE {
            all.retain(|_, one| Arc::strong_count(one) > 1);
        }
        Arc::clone(all.entry(key).or_insert_with(|| Arc::new(Comparison::new(id.to_owned()))))
    }

    /// Notes that the turn of a session has ended and waits for nothing. After the last one, the results are forgotten.
    pub(super) fn ended(&self, principal: &Principal, comparison: &Comparison, session: Uuid) {
        let mut state = comparison.state();
        state.open.remove(&session);
        if state.open.is_empty() {
            self.0.lock().remove(&(principal.clone(), comparison.id.clone()));
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NewComparison {
    question: String,
    models: Vec<String>,
    ensembles: Option<Vec<String>>,
    #[serde(default)]
    attachments: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Take {
    session: String,
}

fn invalid(message: impl Into<String>) -> ApiFailure {
    ApiFailure::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid", message)
}

impl Front {
    /// `POST /api/comparisons`.
    pub(super) fn compare(self: &Arc<Self>, caller: &Caller, body: &[u8]) -> Result<Reply, ApiFailure> {
        let NewComparison { question, models, ensembles, attachments } =
            serde_json::from_slice(body).map_err(|error| ApiFailure::bad_request(error.to_string()))?;
        let different: HashSet<&String> = models.iter().collect();
        if !(2..=4).contains(&models.len()) || different.len() != models.len() {
            return Err(invalid("`models` has two to four different models"));
        }
        if question.trim().is_empty() {
            return Err(invalid("`question` is empty"));
        }
        // All of them begin, or none.
        let props = |model: &String| Props {
            model: Some(model.clone()),
            ensembles: ensembles.clone(),
            ..Props::default()
        };
        for model in &models {
            self.checked(&props(model))?;
        }
        let places = models.iter().map(|_| self.api_place()).collect::<Result<Vec<_>, _>>()?;
        let (parts, bytes) = self.attached(caller, &attachments)?;
        let content: Vec<Content> = [Content::text(question)].into_iter().chain(parts).collect();
        let store = sessions::required(&caller.world)?;
        let id = new_id(World::now(), &World::random_bytes()).to_string();
        let comparison = self.comparisons.of(&caller.principal, &id);
        comparison.state().is_restored = true;
        let mut made = Vec::new();
        let mut now = World::now();
        for model in &models {
            // Ids and times are in the order of the models.
            now += Duration::from_millis(1);
            let session = new_id(now, &World::random_bytes());
            store.create(session, PROGRAM, now)?;
            store.describe(session, |metadata| {
                metadata.tags.push(format!("{COMPARED}{id}"));
                metadata.compared.clone_from(&models);
                metadata.model = Some(model.clone());
                metadata.project = sessions::project(&caller.world);
            })?;
            comparison.caller(session);
            made.push(session);
        }
        for ((session, model), place) in made.iter().zip(&models).zip(places) {
            let turn = NewTurn {
                session: *session,
                is_new: false,
                run: format!("run-{}", World::now().as_microsecond()),
                question: Some(content.clone()),
                attachments: bytes.clone(),
                props: props(model),
                comparison: Some(Arc::clone(&comparison)),
                place,
            };
            self.begin_turn(caller, turn, Client::Nobody)?;
        }
        let items = made.iter().map(|session| self.item_of(caller, &store, *session));
        let items = items.collect::<Result<Vec<_>, _>>()?;
        Ok(json_reply(StatusCode::CREATED, &json!({ "id": id, "sessions": items })))
    }

    /// `POST /api/comparisons/{id}/take`.
    pub(super) fn take(&self, caller: &Caller, id: &str, body: &[u8]) -> Result<Reply, ApiFailure> {
        let Take { session } =
            serde_json::from_slice(body).map_err(|error| ApiFailure::bad_request(error.to_string()))?;
        let session: Uuid = session.parse().map_err(|_| ApiFailure::not_found())?;
        if self.is_running(caller, session)? {
            return Err(ApiFailure::busy());
        }
        let store = sessions::required(&caller.world)?;
        let (before, chosen) = (format!("{COMPARED}{id}"), format!("{CHOSEN}{id}"));
        let Metadata { tags, .. } = store.metadata(session).map_err(ApiFailure::from)?;
        if !tags.contains(&before) && !tags.contains(&chosen) {
            return Err(invalid("the session is not one of this comparison"));
        }
        store.describe(session, |metadata| {
            metadata.tags.iter_mut().filter(|tag| **tag == before).for_each(|tag| tag.clone_from(&chosen));
        })?;
        self.changed(caller, &store, session)
    }

    /// Gives an answer to the equal questions of the other sessions of a comparison.
    pub(super) fn answered_for_all(
        self: &Arc<Self>,
        caller: &Caller,
        files: &WaitingFiles,
        state: &mut State,
        answered: (&str, &str, &Answer),
    ) {
        let (comparison, question, answer) = answered;
        state.answers.insert(question.to_owned(), answer.clone());
        let others =
            files.sessions().inspect_err(|error| tracing::warn!(%error, "only one session is answered"));
        for other in others.unwrap_or_default() {
            let Some(mut waiting) = files.read_if_possible(other) else { continue };
            let is_equal = |id: &&String| waiting.questions.get(*id).is_some_and(|one| one == question);
            let equal = waiting.open_ids().find(is_equal).cloned();
            let Some(id) = equal.filter(|_| waiting.comparison.as_deref() == Some(comparison)) else {
                continue;
            };
            self.tell_answered(caller, other, &id, answer);
            waiting.answers.insert(id, answer.clone());
            if let Err(error) = files.write(other, &waiting) {
                tracing::warn!(%error, "an answer was not saved for another session of its comparison");
                continue;
            }
            if waiting.open() == 0 {
                self.continue_later(caller, other);
            }
        }
    }
}

/// Returns the interrupts of a session that nobody has answered, without those that an earlier session asks too.
pub(super) fn asked_first<'w>(
    waiting: &'w super::waiting::Waiting,
    seen: &mut HashSet<(String, String)>,
) -> Vec<&'w Value> {
    let mut is_first = |id: &str| match (&waiting.comparison, waiting.questions.get(id)) {
        (Some(comparison), Some(question)) => seen.insert((comparison.clone(), question.clone())),
        _ => true,
    };
    let open = waiting.interrupts.iter().filter(|interrupt| {
        interrupt["id"].as_str().is_some_and(|id| !waiting.answers.contains_key(id) && is_first(id))
    });
    open.collect()
}
