//! Who follows a session: the events of the turn that runs, and the clients that read them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use converse_gateway::Principal;
use converse_host::interrupt::Interrupt;
use converse_session::Uuid;
use parking_lot::Mutex;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::narrator::{Batch, Position};
use crate::front::body::EventSender;

/// Bytes of events that are kept of a turn. A client that asks for earlier ones gets them from the session.
const MAX_KEPT: usize = 8 * 1024 * 1024;
/// Time for which a client that comes late learns how a turn ended.
const LATE: Duration = Duration::from_secs(60);

pub(super) type SharedChannel = Arc<Mutex<Channel>>;

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
    /// Number of turns that have begun, and of those that have ended.
    changes: u64,
    /// The last event of the last turn, and when it came.
    last: Option<(Instant, Value)>,
    log: Vec<Batch>,
    bytes: usize,
    readers: Vec<EventSender>,
}

/// A turn that runs.
#[derive(Debug)]
pub(super) struct RunningTurn {
    pub(super) interrupt: Interrupt,
    /// Messages of the session when it began.
    pub(super) began: usize,
    /// Cancelled when a client follows the session.
    pub(super) followed: CancellationToken,
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
        self.changes += 1;
    }

    /// Ends the turn. Its events are in the session, apart from the last one.
    pub(super) fn end(&mut self, last: Value) {
        self.log.clear();
        self.bytes = 0;
        self.turn = None;
        self.changes += 1;
        self.last = Some((Instant::now(), last));
    }

    /// What events of the session depend on: the turns so far, and where the one that runs began.
    pub(super) fn version(&self) -> (u64, Option<usize>) {
        (self.changes, self.turn.as_ref().map(|turn| turn.began))
    }

    /// The last event of the last turn, if it ended here a short time ago.
    pub(super) fn last(&self) -> Option<Value> {
        self.last.as_ref().map(|(_, last)| last.clone())
    }

    /// The events after a position, if they are kept. `None`: the session has them.
    pub(super) fn after(&self, position: Position) -> Option<Vec<Bytes>> {
        let first = self.log.first()?;
        let is_kept = self.turn.is_some() && first.position.messages <= position.messages;
        let later = self.log.iter().filter(|batch| batch.position > position);
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
        let sessions = self.sessions.lock();
        sessions.get(&(principal.clone(), session)).is_some_and(|channel| channel.lock().turn.is_some())
    }

    pub(super) fn follow_everything(&self, principal: &Principal, reader: EventSender) {
        let mut everything = self.everything.lock();
        let readers = everything.entry(principal.clone()).or_default();
        readers.retain(|reader| !reader.is_closed());
        readers.push(reader);
    }

    /// Tells everybody of a principal.
    pub(super) fn tell(&self, principal: &Principal, event: &Value) {
        let bytes = Bytes::from(format!("data: {event}\n\n"));
        if let Some(readers) = self.everything.lock().get_mut(principal) {
            readers.retain(|reader| reader.send(bytes.clone()));
        }
    }
}
