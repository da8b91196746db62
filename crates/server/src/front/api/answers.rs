//! Answers to questions of turns, and the turns that continue with them.
//!
//! An answer is saved only if its turn can continue, and kept until the turn has used it. So a crash loses no answer: at
//! the next start the turn continues.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use converse_gateway::Principal;
use converse_host::turn::sessions;
use converse_host::world::World;
use converse_session::storage::WaitingSession;
use converse_session::{SessionError, Uuid};
use serde_json::json;

use super::Caller;
use super::comparisons::Comparison;
use super::failure::ApiFailure;
use super::others::principal_of;
use super::runs::{Client, NewTurn, used_model};
use super::waiting::{Answer, Waiting, WaitingFiles};
use crate::access::Admission;
use crate::front::Front;
use crate::front::turns::Place;

/// Attempts to save answers while other servers save some too.
const MAX_TRIES: usize = 16;

/// Time between two looks for sessions in the database that were answered: one statement.
const BETWEEN_LOOKS: Duration = Duration::from_secs(10);

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
        waiting: Option<&Waiting>,
    ) -> Option<Arc<Comparison>> {
        let id = waiting?.comparison.as_ref()?;
        Some(self.comparisons.of(&caller.principal, id))
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
        let asked = caller.waiting_in(session)?;
        let comparison = self.comparison_of(caller, asked.as_ref());
        let mut state = comparison.as_ref().map(|comparison| comparison.state());
        let known = files.known(session).map_err(|error| ApiFailure::not_read(&error))?;
        let (mut waiting, before) = known.ok_or_else(ApiFailure::not_found)?;
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
        let waiting = caller.waiting_in(session)?;
        let comparison = self.comparison_of(caller, waiting.as_ref());
        let props = waiting.and_then(|waiting| waiting.props).unwrap_or_default();
        let turn = NewTurn {
            session,
            is_new: false,
            run: format!("run-{}", World::now().as_microsecond()),
            question: None,
            attachments: Vec::new(),
            props,
            comparison,
            place,
        };
        self.begin_turn(caller, turn, Client::Nobody)
    }

    /// Continues a session when there is a place for its turn. A turn that has not ended yet continues it itself.
    pub(super) fn continue_later(self: &Arc<Self>, caller: &Caller, session: Uuid) {
        let (front, caller) = (Arc::clone(self), caller.clone());
        let later = async move {
            let Some(place) = front.turns.place_when_free().await else { return };
            let one = Arc::clone(&front);
            let continued = front.session_work.run(move || one.continue_turn(&caller, session, place)).await;
            if let Err(error) = continued.map_err(ApiFailure::from).flatten() {
                tracing::debug!("a session did not continue: {error:?}");
            }
        };
        tokio::runtime::Handle::current().spawn(later);
    }

    /// Continues the sessions whose questions are all answered, and whose server ended before their turns could continue.
    /// Begun when turns can run; does not end. Of several servers another one may end at any time, so they look again.
    pub async fn continue_answered(self: &Arc<Self>) {
        if self.options.api {
            self.continue_answered_now().await;
            while self.replicas.is_some() {
                tokio::time::sleep(BETWEEN_LOOKS).await;
                self.continue_answered_now().await;
            }
        }
        std::future::pending().await
    }

    pub(super) async fn continue_answered_now(self: &Arc<Self>) {
        let front = Arc::clone(self);
        let Ok(found) = self.session_work.run(move || front.answered_sessions()).await else { return };
        found.iter().for_each(|(caller, session)| self.continue_later(caller, *session));
    }

    /// Returns the sessions of all principals that wait for nothing but their turn.
    fn answered_sessions(&self) -> Vec<(Caller, Uuid)> {
        let Some(replicas) = &self.replicas else {
            let callers = self.principals().into_iter().map(|principal| self.caller_of(principal));
            let of = |caller: Caller| {
                let sessions = caller.waiting().map(|files| files.sessions().unwrap_or_default());
                sessions.unwrap_or_default().into_iter().map(move |session| (caller.clone(), session))
            };
            let answered = |(caller, session): &(Caller, Uuid)| waits_for(caller, *session) == WaitsFor::Turn;
            return callers.flat_map(of).filter(answered).collect();
        };
        let waiting = replicas.waiting().inspect_err(|error| tracing::warn!(%error, "no session continues"));
        let waiting = waiting.unwrap_or_default();
        let mut looks = self.looks.lock();
        looks.keep(&waiting);
        let mut found = Vec::new();
        for one in &waiting {
            if !looks.is_due(one) {
                continue;
            }
            let caller = self.caller_of(principal_of(&one.owner));
            let waits = waits_for(&caller, one.session);
            looks.note(one, waits);
            if waits == WaitsFor::Turn {
                found.push((caller, one.session));
            }
        }
        found
    }

    /// Returns a principal as the caller of what the server does itself.
    pub(super) fn caller_of(&self, principal: Principal) -> Caller {
        let world = self.world_of(&principal);
        Caller { admission: Admission::of(principal.clone()), principal, world }
    }

    /// Returns all principals that have a directory.
    fn principals(&self) -> Vec<Principal> {
        let directory = self.world.data_dir().map(|dir| dir.join("principals"));
        let entries = directory.and_then(|dir| fs::read_dir(dir).ok()).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let is_digest = |name: &String| name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        let others = names.filter(is_digest).map(|name| Principal::Other(name.into()));
        [Principal::Owner].into_iter().chain(others).collect()
    }
}

/// What a session with questions waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WaitsFor {
    Answers,
    /// All answers are there.
    Turn,
    /// The turn had continued, or the session was deleted: the questions are removed.
    Nothing,
    /// It cannot be read now.
    Unknown,
}

fn waits_for(caller: &Caller, session: Uuid) -> WaitsFor {
    let (Ok(files), Ok(store)) = (caller.waiting(), sessions::required(&caller.world)) else {
        return WaitsFor::Unknown;
    };
    let known = match files.known(session) {
        Ok(Some(known)) => known,
        Ok(None) => return WaitsFor::Nothing,
        Err(error) => {
            tracing::warn!(%error, "the questions of a session were not read");
            return WaitsFor::Unknown;
        }
    };
    match store.read_waiting(session) {
        Ok(loaded) if loaded.transcript.open().is_empty() => {}
        Ok(_) if known.0.open() > 0 => return WaitsFor::Answers,
        Ok(_) => return WaitsFor::Turn,
        Err(SessionError::NotFound(_)) => {}
        Err(error) => {
            tracing::warn!(%error, "a session does not continue");
            return WaitsFor::Unknown;
        }
    }
    // Not if they are others by now, of a turn that ran meanwhile.
    files.remove_known(session, &known.1);
    WaitsFor::Nothing
}

/// How often a session is continued, or read in vain, until its questions change. A turn that cannot begin would else be
/// tried for ever.
const MAX_LOOKS: u32 = 5;

/// What is known of the questions in a database, so that each version of them is read once while a person is asked.
#[derive(Debug, Default)]
pub(in crate::front) struct Looks(HashMap<Uuid, Look>);

#[derive(Debug, Clone, Copy)]
struct Look {
    version: i64,
    /// Attempts that are left.
    left: u32,
}

impl Looks {
    /// Forgets all other sessions.
    fn keep(&mut self, waiting: &[WaitingSession]) {
        let listed: HashSet<Uuid> = waiting.iter().map(|one| one.session).collect();
        self.0.retain(|session, _| listed.contains(session));
    }

    fn is_due(&self, one: &WaitingSession) -> bool {
        self.0.get(&one.session).is_none_or(|look| look.version != one.version || look.left > 0)
    }

    fn note(&mut self, one: &WaitingSession, waits: WaitsFor) {
        let before = self.0.get(&one.session).filter(|look| look.version == one.version);
        let left = match waits {
            WaitsFor::Answers => 0,
            _ => before.map_or(MAX_LOOKS, |look| look.left).saturating_sub(1),
        };
        self.0.insert(one.session, Look { version: one.version, left });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_read_once_until_they_change_and_a_turn_is_tried_some_times() {
        let (mut looks, session) = (Looks::default(), Uuid::from_u128(1));
        let at = |version| WaitingSession { owner: String::new(), session, version };
        assert!(looks.is_due(&at(1)));
        looks.note(&at(1), WaitsFor::Answers);
        assert!(!looks.is_due(&at(1)) && looks.is_due(&at(2)), "it was answered");
        let mut tries = 0;
        while looks.is_due(&at(2)) && tries < 100 {
            looks.note(&at(2), WaitsFor::Turn);
            tries += 1;
        }
        assert_eq!(tries, MAX_LOOKS);
        looks.keep(&[]);
        assert!(looks.0.is_empty());
    }
}
