//! Who follows a session: the events of the turn that runs, and the clients that read them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use converse_gateway::Principal;
use converse_host::interrupt::Interrupt;
use converse_session::Uuid;
use parking_lot::{Condvar, Mutex};
use serde_json::Value;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::narrator::{Batch, Position};
use super::snapshot::Seen;
use crate::front::body::EventSender;

/// Bytes of events that are kept of a turn. A client that asks for earlier ones gets them from the session.
const MAX_KEPT: usize = 8 * 1024 * 1024;
/// Time for which a client that comes late learns how a turn ended.
const LATE: Duration = Duration::from_secs(60);

pub(super) type SharedChannel = Arc<Mutex<Channel>>;

/// Time for a turn that has ended at the other servers to end here.
const ENDING: Duration = Duration::from_secs(10);

/// Returns the stage of a session without a turn. One that has ended at the other servers (`is_over`) ends here in a moment,
/// for which this thread waits.
pub(super) fn free(channel: &SharedChannel, is_over: bool) -> Option<Stage> {
    let mut channel = channel.lock();
    if is_over {
        let ended = Arc::clone(&channel.ended);
        ended.wait_while_for(&mut channel, |channel| channel.turn.is_some(), ENDING);
    }
    channel.turn.is_none().then(|| channel.stage())
}

/// All sessions that somebody follows or in which a turn runs.
#[derive(Debug, Default)]
pub(in crate::front) struct Channels {
    sessions: Mutex<HashMap<(Principal, Uuid), SharedChannel>>,
    /// Clients that follow everything of a principal.
    everything: Mutex<HashMap<Principal, Vec<EventSender>>>,
}

#[derive(Debug, Default)]
pub(super) struct Channel {
    pub(super) turn: Option<RunningTurn>,
    /// How often [`Stage`] has changed.
    changes: u64,
    /// Tells requests that [`Stage`] has changed.
    changed: Arc<Notify>,
    /// Tells threads that the turn has ended.
    ended: Arc<Condvar>,
    /// Another server has written the session while a turn seemed to run here.
    missed: bool,
    /// The last event of the last turn, and when it came.
    last: Option<(Instant, Value)>,
    log: Vec<Batch>,
    bytes: usize,
    readers: Vec<EventSender>,
    /// How much of the session all readers have seen, if other servers may run its turns. `None` while a turn runs here, and
    /// without readers.
    pub(super) seen: Option<Seen>,
    pub(super) catching_up: CatchingUp,
}

/// Whether the session is being read, because another server has written it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum CatchingUp {
    #[default]
    No,
    Yes,
    /// Once more when that has ended.
    Again,
}

/// A turn that runs.
#[derive(Debug)]
pub(super) struct RunningTurn {
    /// The client's name for it.
    pub(super) run: String,
    pub(super) interrupt: Interrupt,
    /// Messages of the session when it began; `None` until it has read them.
    pub(super) began: Option<usize>,
    /// Cancelled when a client follows the session.
    pub(super) followed: CancellationToken,
}

/// What a reading of a session depends on: a turn that begins or ends meanwhile makes it a mixture.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Stage {
    pub(super) changes: u64,
    pub(super) is_running: bool,
    /// Messages before the turn that runs, if it has read them.
    pub(super) began: Option<usize>,
}

/// Readings of a session until one is taken as it is.
const MAX_READINGS: usize = 8;

/// Reads until no turn began or ended meanwhile.
pub(super) fn at_one_stage<T>(stage: impl Fn() -> Stage, mut read: impl FnMut(Stage) -> T) -> T {
    let mut before = stage();
    let mut found = read(before);
    for _ in 1..MAX_READINGS {
        let after = stage();
        if after == before {
            break;
        }
        found = read(after);
        before = after;
    }
    found
}

impl Channel {
    /// Sends a batch to everybody who follows, and keeps it.
    pub(super) fn publish(&mut self, batch: Batch) {
        self.readers.retain(|reader| reader.send(batch.bytes.clone()));
        self.bytes += batch.bytes.len();
        self.log.push(batch);
        while self.bytes > MAX_KEPT && !self.log.is_empty() {
            self.bytes -= self.log.remove(0).bytes.len();
        }
    }

    /// Sends events of a turn that runs elsewhere to everybody who follows. The session has them.
    pub(super) fn pass_on(&mut self, batches: &[Batch]) {
        for batch in batches {
            self.readers.retain(|reader| reader.send(batch.bytes.clone()));
        }
    }

    /// Sends an event that is not part of the session.
    pub(super) fn tell(&mut self, event: &Value) {
        let bytes = Bytes::from(format!("data: {event}\n\n"));
        self.readers.retain(|reader| reader.send(bytes.clone()));
    }

    /// Returns a client that still reads.
    pub(super) fn reader(&self) -> Option<&EventSender> {
        self.readers.iter().find(|reader| !reader.is_closed())
    }

    /// Begins a turn. The events of the one before are in the session.
    pub(super) fn begin(&mut self, turn: RunningTurn) {
        self.log.clear();
        self.bytes = 0;
        self.last = None;
        if self.reader().is_some() {
            turn.followed.cancel();
        }
        self.turn = Some(turn);
        self.missed = false;
        self.change();
    }

    fn change(&mut self) {
        self.changes += 1;
        self.changed.notify_waiters();
    }

    /// Returns what resolves when a turn begins or ends, or has read the session.
    pub(super) fn changed(&self) -> impl Future<Output = ()> + use<> {
        Arc::clone(&self.changed).notified_owned()
    }

    /// Notes how many messages the session had before the turn.
    pub(super) fn began(&mut self, messages: usize) {
        if let Some(turn) = &mut self.turn {
            turn.began = Some(messages);
            self.change();
        }
    }

    /// Ends the turn. Its events are in the session, apart from the last one. Returns whether another server has written the
    /// session meanwhile.
    pub(super) fn end(&mut self, last: Value) -> bool {
        self.log.clear();
        self.bytes = 0;
        self.turn = None;
        self.change();
        self.ended.notify_all();
        self.last = Some((Instant::now(), last));
        std::mem::take(&mut self.missed)
    }

    /// Notes that another server has written the session.
    pub(super) fn miss(&mut self) {
        self.missed = self.turn.is_some();
    }

    pub(super) fn stage(&self) -> Stage {
        let began = self.turn.as_ref().and_then(|turn| turn.began);
        Stage { changes: self.changes, is_running: self.turn.is_some(), began }
    }

    /// The last event of the last turn, if it ended here a short time ago.
    pub(super) fn last(&self) -> Option<Value> {
        self.last.as_ref().map(|(_, last)| last.clone())
    }

    /// The events after a position, if they are kept. `None`: the session has them.
    pub(super) fn after(&self, position: Position) -> Option<Vec<Bytes>> {
        let first = self.log.first()?;
        let is_kept = self.turn.is_some() && first.position.messages <= position.messages;
        // A client that has seen the end of the run before has seen nothing of this one.
        let later = self.log.iter().filter(|batch| position.ended || batch.position > position);
        is_kept.then(|| later.map(|batch| batch.bytes.clone()).collect())
    }

    /// All events of the turn that runs.
    pub(super) fn all(&self) -> impl Iterator<Item = &Bytes> {
        self.log.iter().filter(|_| self.turn.is_some()).map(|batch| &batch.bytes)
    }

    pub(super) fn follow(&mut self, reader: EventSender) {
        self.readers.retain(|reader| !reader.is_closed());
        self.readers.push(reader);
        if let Some(turn) = &self.turn {
            turn.followed.cancel();
        }
    }

    fn is_idle(&self) -> bool {
        let is_over = self.last.as_ref().is_none_or(|(at, _)| at.elapsed() >= LATE);
        self.turn.is_none() && is_over && self.reader().is_none()
    }
}

impl Channels {
    pub(super) fn of(&self, principal: &Principal, session: Uuid) -> SharedChannel {
        let mut sessions = self.sessions.lock();
        // Sessions that nobody follows any more make room.
        sessions.retain(|_, channel| Arc::strong_count(channel) > 1 || !channel.lock().is_idle());
        Arc::clone(sessions.entry((principal.clone(), session)).or_default())
    }

    /// Returns whether a turn runs in the session.
    pub(super) fn is_running(&self, principal: &Principal, session: Uuid) -> bool {
        self.stage(principal, session).is_running
    }

    /// Returns the sessions in which a turn runs.
    pub(super) fn running(&self, principal: &Principal) -> HashSet<Uuid> {
        let sessions = self.sessions.lock();
        let own =
            sessions.iter().filter(|((of, _), channel)| of == principal && channel.lock().turn.is_some());
        own.map(|((_, session), _)| *session).collect()
    }

    pub(super) fn stage(&self, principal: &Principal, session: Uuid) -> Stage {
        let sessions = self.sessions.lock();
        sessions.get(&(principal.clone(), session)).map(|channel| channel.lock().stage()).unwrap_or_default()
    }

    pub(super) fn follow_everything(&self, principal: &Principal, reader: EventSender) {
        let mut everything = self.everything.lock();
        let readers = everything.entry(principal.clone()).or_default();
        readers.retain(|reader| !reader.is_closed());
        readers.push(reader);
    }

    /// Returns the channel of a session that somebody follows.
    pub(super) fn followed(&self, principal: &Principal, session: Uuid) -> Option<SharedChannel> {
        let channel = self.sessions.lock().get(&(principal.clone(), session)).cloned()?;
        let has_reader = channel.lock().reader().is_some();
        has_reader.then_some(channel)
    }

    /// Returns all sessions that somebody may follow.
    pub(super) fn all(&self) -> Vec<(Principal, Uuid)> {
        self.sessions.lock().keys().cloned().collect()
    }

    /// Returns whether somebody follows everything of a principal.
    pub(super) fn has_follower(&self, principal: &Principal) -> bool {
        let everything = self.everything.lock();
        everything.get(principal).is_some_and(|readers| readers.iter().any(|reader| !reader.is_closed()))
    }

    /// Cancels the turn of a session that runs here, of this name if one is given; returns whether it does.
    pub(super) fn cancel(&self, principal: &Principal, session: Uuid, run: Option<&str>) -> bool {
        let channel = self.sessions.lock().get(&(principal.clone(), session)).cloned();
        let Some(channel) = channel else { return false };
        let channel = channel.lock();
        let meant = channel.turn.as_ref().filter(|turn| run.is_none_or(|run| turn.run == run));
        meant.inspect(|turn| turn.interrupt.tell(2)).is_some()
    }

    /// Tells everybody of a principal.
    pub(super) fn tell(&self, principal: &Principal, event: &Value) {
        let bytes = Bytes::from(format!("data: {event}\n\n"));
        if let Some(readers) = self.everything.lock().get_mut(principal) {
            readers.retain(|reader| reader.send(bytes.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn turn(run: &str, interrupt: &Interrupt) -> RunningTurn {
        let (interrupt, followed) = (interrupt.clone(), CancellationToken::new());
        RunningTurn { run: run.to_owned(), interrupt, began: None, followed }
    }

    #[test]
    fn a_client_that_has_seen_the_end_of_a_run_gets_the_beginning_of_the_next() {
        let mut channel = Channel::default();
        channel.begin(turn("second", &Interrupt::default()));
        for text in ["3.0.1", "4.0.1"] {
            let (position, bytes) = (text.parse().unwrap(), Bytes::from(text));
            channel.publish(Batch { position, bytes });
        }
        let after = |text: &str| channel.after(text.parse().unwrap());
        assert_eq!(after("3.0.2e").unwrap(), ["3.0.1", "4.0.1"]);
        assert_eq!(after("3.0.1").unwrap(), ["4.0.1"]);
        assert_eq!(after("2.0.2e"), None, "the session has what is between");
    }

    #[test]
    fn a_turn_that_began_after_a_cancelled_one_goes_on() {
        let (channels, session, owner) = (Channels::default(), Uuid::from_u128(1), Principal::Owner);
        let interrupt = Interrupt::default();
        let turn = turn("second", &interrupt);
        channels.of(&owner, session).lock().begin(turn);
        assert!(!channels.cancel(&owner, session, Some("first")) && !interrupt.token.is_cancelled());
        assert!(channels.cancel(&owner, session, Some("second")) && interrupt.token.is_cancelled());
        assert!(channels.cancel(&owner, session, None));
    }

    #[test]
    fn a_session_is_read_again_if_a_turn_began_or_ended_meanwhile() {
        let (changes, readings) = (Cell::new(0), Cell::new(0));
        let stage = || Stage { changes: changes.get(), is_running: changes.get() % 2 == 1, began: None };
        let read = |upto: u64| {
            readings.set(0);
            at_one_stage(stage, |stage| {
                readings.set(readings.get() + 1);
                changes.set((changes.get() + 1).min(upto));
                stage
            })
        };
        assert_eq!((read(3), readings.get()), (Stage { changes: 3, is_running: true, began: None }, 4));
        assert_eq!(read(3), stage());
        assert_eq!(readings.get(), 1);
        // A session that changes all the time is not read for ever.
        read(u64::MAX);
        assert_eq!(readings.get(), MAX_READINGS);
    }
}
