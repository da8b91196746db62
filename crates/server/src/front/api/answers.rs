//! Answers to questions of turns, and the turns that continue with them.
//!
//! An answer is saved only if its turn can continue, and kept until the turn has used it. So a crash loses no answer: at
//! the next start the turn continues.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

use converse_gateway::Principal;
use converse_host::turn::sessions;
use converse_host::world::World;
use converse_session::Uuid;
use serde_json::json;

use super::comparisons::Comparison;
use super::failure::ApiFailure;
use super::others::principal_of;
use super::runs::{Client, NewTurn, used_model};
use super::waiting::{Answer, Waiting, WaitingFiles};
use super::{Caller, blocking};
use crate::access::Admission;
use crate::front::Front;
use crate::front::turns::Place;

/// Attempts to save answers while other servers save some too.
const MAX_TRIES: usize = 16;

/// How many of the open questions must be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Some,
    All,
}

impl Front {
    /// Returns the comparison that a session waits in.
    pub(super) fn comparison_of(
        &self,
        caller: &Caller,
        files: &WaitingFiles,
        session: Uuid,
    ) -> Option<Arc<Comparison>> {
        let id = files.read(session)?.comparison?;
        Some(self.comparisons.of(&caller.principal, &id))
    }

    /// Tells clients that a question was answered.
    pub(super) fn tell_answered(&self, caller: &Caller, session: Uuid, id: &str, answer: &Answer) {
        let event = json!({ "type": "approval_resolved", "id": id, "session": session.to_string() });
        self.channels.tell(&caller.principal, &event);
        let value = json!({ "interruptId": id, "decision": answer.decision, "by": "http" });
        let event = json!({ "type": "CUSTOM", "name": "converse.resolved", "value": value });
        self.channels.of(&caller.principal, session).lock().tell(&event);
    }

    /// Saves answers; returns how many questions of the session are still open. The last answers may be given again while
    /// no turn runs: an earlier turn with them was lost.
    ///
    /// # Errors
    ///
    /// Nothing is saved, because a question is unknown or answered, or the turn could not continue.
    pub(super) fn answered(
        self: &Arc<Self>,
        caller: &Caller,
        files: &WaitingFiles,
        session: Uuid,
        answers: &BTreeMap<String, Answer>,
        wanted: Wanted,
    ) -> Result<usize, ApiFailure> {
        let _one_at_a_time = self.answering.lock();
        for _ in 0..MAX_TRIES {
            if let Some(left) = self.answered_now(caller, files, session, answers.clone(), wanted)? {
                return Ok(left);
            }
        }
        Err(ApiFailure::conflict("answered", "others answer the approvals of this session"))
    }

    /// Saves answers; `None` if another server has changed the questions meanwhile.
    fn answered_now(
        self: &Arc<Self>,
        caller: &Caller,
        files: &WaitingFiles,
        session: Uuid,
        answers: BTreeMap<String, Answer>,
        wanted: Wanted,
    ) -> Result<Option<usize>, ApiFailure> {
        let comparison = self.comparison_of(caller, files, session);
        let mut state = comparison.as_ref().map(|comparison| comparison.state());
        let (mut waiting, before) = files.known(session).ok_or_else(ApiFailure::not_found)?;
        let is_asked = |id: &String| waiting.interrupts.iter().any(|one| one["id"] == id.as_str());
        if !answers.keys().all(is_asked) {
            return Err(ApiFailure::not_found());
        }
        let is_known = |id: &String| waiting.answers.contains_key(id);
        let (known, new): (BTreeMap<_, _>, BTreeMap<_, _>) =
            answers.into_iter().partition(|(id, _)| is_known(id));
        waiting.answers.extend(new.clone());
        let left = waiting.open();
        let is_running = self.is_running(caller, session)?;
        let is_same = known.iter().all(|(id, answer)| waiting.answers.get(id) == Some(answer));
        if !known.is_empty() && (!is_same || is_running || left > 0) {
            return Err(ApiFailure::conflict("answered", "this approval is answered already"));
        }
        if wanted == Wanted::All && left > 0 {
            return Err(ApiFailure::conflict("unanswered", "other approvals of this run are open"));
        }
        if wanted == Wanted::All && is_running {
            return Err(ApiFailure::busy());
        }
        if left == 0 {
            self.can_continue(caller, session, &waiting)?;
        }
        let saved = if new.is_empty() { Ok(true) } else { files.update(session, &before, &waiting) };
        if !saved.map_err(|error| ApiFailure::not_kept(&error))? {
            return Ok(None);
        }
        for (id, answer) in &new {
            self.tell_answered(caller, session, id, answer);
            if let (Some(comparison), Some(state)) = (&comparison, &mut state)
                && let Some(question) = waiting.questions.get(id)
            {
                self.answered_for_all(caller, files, state, (&comparison.id, question, answer));
            }
        }
        if !new.is_empty() {
            self.announce_change(caller, session);
        }
        Ok(Some(left))
    }

    /// Checks that a turn can continue as it was begun: its session, model and tools are there.
    fn can_continue(&self, caller: &Caller, session: Uuid, waiting: &Waiting) -> Result<(), ApiFailure> {
        sessions::required(&caller.world)?.metadata(session)?;
        let mut props = waiting.props.clone().unwrap_or_default();
        props.model = props.model.or_else(|| used_model(caller, session));
        self.checked(&props).map(drop)
    }

    /// Continues a session whose questions are all answered.
    pub(super) fn continue_turn(
        self: &Arc<Self>,
        caller: &Caller,
        session: Uuid,
        place: Place,
    ) -> Result<(), ApiFailure> {
        let files = caller.waiting()?;
        let props = files.read(session).and_then(|waiting| waiting.props).unwrap_or_default();
        let turn = NewTurn {
            session,
            is_new: false,
            run: format!("run-{}", World::now().as_microsecond()),
            question: None,
            attachments: Vec::new(),
            props,
            comparison: self.comparison_of(caller, &files, session),
            place,
        };
        self.begin_turn(caller, turn, Client::Nobody)
    }

    /// Continues a session when there is a place for its turn. A turn that has not ended yet continues it itself.
    pub(super) fn continue_later(self: &Arc<Self>, caller: &Caller, session: Uuid) {
        let (front, caller) = (Arc::clone(self), caller.clone());
        let later = async move {
            let Some(place) = front.turns.place_when_free().await else { return };
            let continued = blocking(move || front.continue_turn(&caller, session, place)).await;
            if let Err(error) | Ok(Err(error)) = continued {
                tracing::debug!("a session did not continue: {error:?}");
            }
        };
        tokio::runtime::Handle::current().spawn(later);
    }

    /// Continues the sessions whose questions were all answered when the server ended. Called once, when turns can run.
    pub async fn continue_answered(self: &Arc<Self>) {
        if !self.options.api {
            return;
        }
        let front = Arc::clone(self);
        let Ok(found) = blocking(move || front.answered_sessions()).await else { return };
        found.iter().for_each(|(caller, session)| self.continue_later(caller, *session));
    }

    /// Returns the sessions of all principals that wait for nothing but their turn.
    fn answered_sessions(&self) -> Vec<(Caller, Uuid)> {
        let mut found = Vec::new();
        for principal in self.principals() {
            let caller = self.caller_of(principal);
            let (Ok(files), Ok(store)) = (caller.waiting(), sessions::required(&caller.world)) else {
                continue;
            };
            for session in files.sessions() {
                if files.read(session).is_none_or(|waiting| waiting.open() > 0) {
                    continue;
                }
                match store.read_waiting(session) {
                    Ok(loaded) if !loaded.transcript.open().is_empty() => {
                        found.push((caller.clone(), session))
                    }
                    // The turn had continued.
                    Ok(_) => files.remove(session),
                    Err(error) => tracing::warn!(%error, "a session does not continue"),
                }
            }
        }
        found
    }

    /// Returns a principal as the caller of what the server does itself.
    pub(super) fn caller_of(&self, principal: Principal) -> Caller {
        let world = self.world_of(&principal);
        Caller { admission: Admission::of(principal.clone()), principal, world }
    }

    /// Returns all principals that have a directory, or questions in the database.
    fn principals(&self) -> Vec<Principal> {
        if let Some(replicas) = &self.replicas {
            let owners = replicas.waiting_owners();
            let owners = owners.inspect_err(|error| tracing::warn!(%error, "no session continues"));
            return owners.unwrap_or_default().iter().map(|owner| principal_of(owner)).collect();
        }
        let directory = self.world.data_dir().map(|dir| dir.join("principals"));
        let entries = directory.and_then(|dir| fs::read_dir(dir).ok()).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let is_digest = |name: &String| name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        let others = names.filter(is_digest).map(|name| Principal::Other(name.into()));
        [Principal::Owner].into_iter().chain(others).collect()
    }
}
