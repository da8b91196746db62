//! Passes the events of a turn on: to the clients of its session, and as news to the other servers.

use std::sync::Arc;

use converse_canister::Transcript;
use converse_ensemble::SharedRuns;
use converse_host::Event;
use converse_host::failure::Failure;
use converse_host::turn::sessions;
use converse_session::Uuid;
use converse_session::storage::News;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::Caller;
use super::channel::Channel;
use super::comparisons::Comparison;
use super::narrator::{Batch, Narrator, Position, last_event};
use super::snapshot::Seen;
use super::waiting::TurnQuestions;
use crate::front::Front;
use crate::front::body::EventSender;
use crate::front::turns::Observer;

/// Passes a turn on to everybody who follows the session.
pub(super) struct RunObserver {
    pub(super) front: Arc<Front>,
    pub(super) caller: Caller,
    pub(super) session: Uuid,
    pub(super) run: String,
    pub(super) channel: Arc<Mutex<Channel>>,
    /// The results that it shares with others, and its number among them.
    pub(super) shared: Option<(SharedRuns, usize)>,
    pub(super) comparison: Option<Arc<Comparison>>,
    /// The client that began the turn. Its stream ends with the turn.
    pub(super) own: Option<EventSender>,
    pub(super) continues: bool,
    pub(super) questions: TurnQuestions,
    /// The client that waits until the turn is saved.
    pub(super) saved: Option<oneshot::Sender<Result<(), Failure>>>,
    pub(super) narrator: Option<Narrator>,
    pub(super) asked: Arc<Mutex<Vec<Value>>>,
    /// A call of the turn was decided about.
    pub(super) decided: bool,
}

impl RunObserver {
    /// Saves which results are those of other models.
    fn note_shared(&mut self) {
        let shared = std::mem::take(&mut self.narrator(0).answered_elsewhere);
        if !shared.is_empty()
            && let Some(store) = sessions::store(&self.caller.world)
            && let Err(error) = store.describe(self.session, |metadata| metadata.shared.extend(shared))
        {
            tracing::warn!(%error, "which results are shared was not saved");
        }
    }

    /// Answers the client that waits for this.
    fn saved(&mut self, saved: Result<(), Failure>) {
        if let Some(client) = self.saved.take() {
            // It may have left.
            let _ = client.send(saved);
        }
    }

    /// Ends the turn among all servers, before anybody learns of its end.
    fn end_for_all(&self, last: &Value) {
        let ended =
            self.front.replicas.as_ref().map(|replicas| replicas.end(self.session, &last.to_string()));
        if let Some(Err(error)) = ended {
            tracing::warn!(%error, "the end of a turn was not noted");
        }
    }

    /// Notes what clients have seen, for the turns of other servers.
    fn note_seen(&self, channel: &mut Channel, narrated: Option<Position>) {
        if self.front.replicas.is_none() {
            return;
        }
        // A turn that has not begun has added nothing to what they have seen.
        let before = channel.seen.take().map(|seen| Position { ended: true, ..seen.position });
        let position = narrated.or(before).filter(|_| channel.reader().is_some());
        channel.seen = position.map(|position| Seen { position, run: Some(self.run.clone()) });
    }

    fn publish(&mut self, batch: Option<Batch>) {
        let Some(batch) = batch else { return };
        if let Some(own) = &self.own {
            own.send(batch.bytes.clone());
        }
        self.channel.lock().publish(batch);
    }

    fn narrator(&mut self, messages: usize) -> &mut Narrator {
        let (session, run) = (self.session.to_string(), self.run.clone());
        let markdown = self.front.markdown;
        let shared = &self.shared;
        let new = || Narrator::new(session, run, messages, markdown).sharing(shared.clone(), &[]);
        self.narrator.get_or_insert_with(new)
    }
}

impl Observer for RunObserver {
    fn began(&mut self, transcript: &Transcript) {
        let messages = transcript.as_slice().len();
        if let Some(replicas) = &self.front.replicas {
            match replicas.began(self.session, messages) {
                // Another question instead of an answer: what waited is refused. Not before the turn is known to be still ours.
                Ok(true) if !self.continues => self.questions.remove(),
                Ok(true) => {}
                // Another server has taken it over, and has told its clients how it ended.
                Ok(false) => {
                    self.front.channels.cancel(&self.caller.principal, self.session, None);
                }
                Err(error) => tracing::debug!(%error, "the beginning of a turn was not noted"),
            }
            self.front.caught_up(&self.caller, self.session, transcript.as_slice());
        }
        self.channel.lock().began(messages);
        let (session, run) = (self.session.to_string(), self.run.clone());
        let narrator = Narrator::new(session, run, messages, self.front.markdown);
        let narrator = narrator.sharing(self.shared.clone(), &transcript.open());
        let started = self.narrator.insert(narrator).started();
        self.publish(started);
        if self.continues {
            self.saved(Ok(()));
        }
    }

    fn event(&mut self, event: Event) {
        self.decided |= matches!(event, Event::Decided { .. });
        let is_saved = matches!(event, Event::Appended(_));
        let batch = self.narrator(0).event(event);
        self.publish(batch);
        if is_saved {
            self.saved(Ok(()));
            if let Some(replicas) = &self.front.replicas {
                let owner = self.caller.owner().to_owned();
                replicas.announce(News::Grown { owner, session: self.session });
            }
        }
    }

    fn ended(&mut self, ended: Result<(), Failure>) {
        let asked = std::mem::take(&mut *self.asked.lock());
        let has_begun = self.narrator.is_some();
        if !has_begun {
            let started = self.narrator(0).started();
            self.publish(started);
        }
        self.note_shared();
        let last = last_event(&self.session.to_string(), &self.run, &ended, &asked);
        let batch = self.narrator(0).ended(&last);
        if self.decided && asked.is_empty() {
            // Not before: after a crash, the answers are needed again until what they allow has begun.
            self.questions.remove();
        }
        self.saved(ended.clone());
        self.end_for_all(&last);
        let missed = {
            // A client that has read the end can go on at once.
            let channel = Arc::clone(&self.channel);
            let mut channel = channel.lock();
            let narrated = self.narrator.as_ref().filter(|_| has_begun).map(Narrator::position);
            self.note_seen(&mut channel, narrated);
            batch.iter().for_each(|batch| channel.publish(batch.clone()));
            channel.end(last)
        };
        if missed {
            self.front.catch_up_later(&self.caller.principal, self.session);
        }
        if let (Some(own), Some(batch)) = (self.own.take(), batch) {
            own.send(batch.bytes);
        }
        let (principal, session) = (&self.caller.principal, self.session);
        if let Some(comparison) = self.comparison.take().filter(|_| asked.is_empty()) {
            self.front.comparisons.ended(principal, &comparison, session);
        }
        // An equal question of another session may have been answered before this turn had ended.
        let waiting = self.caller.waiting().ok().and_then(|files| files.read_if_possible(session));
        if !asked.is_empty() && waiting.is_some_and(|waiting| waiting.open() == 0) {
            self.front.continue_later(&self.caller, session);
        }
        for interrupt in &asked {
            let event =
                json!({ "type": "approval", "id": interrupt["id"], "session": self.session.to_string() });
            self.front.channels.tell(&self.caller.principal, &event);
        }
        self.front.tell_session(&self.caller, self.session, false);
        self.front.announce_change(&self.caller, self.session);
    }
}
