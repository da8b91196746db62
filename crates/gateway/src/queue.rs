//! Places for running calls, shared fairly, and the calls that wait for one.
//!
//! A tool takes a place only while it holds fewer than twice as many as are free. So a tool that hangs holds at most two
//! thirds of them, a second one two thirds of the rest, and a call of another tool finds a place. The same holds for
//! ensembles and for principals, with larger factors. A place that is given back goes to the next waiting call that may
//! have it: the tools take turns, and so do the principals of a tool.
//!
//! From the first call of a second principal on, each principal leaves places to the others: it takes at most four fifths
//! of all places, and two thirds of the places of a tool, and never the last place that it could have beside others.

mod state;

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::principal::Principal;
use state::State;

/// Maximum bytes of the waiting calls of one tool. A principal has twice, all together four times as much.
const MAX_WEIGHT: usize = 16 * 1024 * 1024;
/// Maximum number of waiting calls of one tool, with the same factors.
const MAX_CALLS: usize = 4_096;

/// The places of a gateway.
#[derive(Debug)]
pub(crate) struct Queue(Mutex<State>);

/// What a call takes its shares of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flow<'a> {
    pub(crate) tool: &'a str,
    pub(crate) ensemble: &'a str,
    pub(crate) principal: &'a Principal,
}

/// A [`Flow`] whose names are shared with the queue.
#[derive(Debug, Clone)]
struct Key {
    tool: Arc<str>,
    ensemble: Arc<str>,
    principal: Principal,
}

/// Why a call can neither run nor wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Full {
    Calls,
    Memory,
}

impl Full {
    pub(crate) fn message(self) -> &'static str {
        match self {
            Self::Calls => "too many calls are waiting; nothing was run",
            Self::Memory => "the waiting calls take too much memory; nothing was run",
        }
    }
}

/// The state of a call in the queue.
#[derive(Debug)]
pub(crate) enum QueueSlot<'a> {
    /// The call will not run, so it needs no place.
    NotNeeded,
    Running {
        _place: Place<'a>,
    },
    Waiting(WaitingCall<'a>),
}

/// A place; it is given back when this is dropped.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    queue: &'a Queue,
    key: Key,
}

/// A call that waits. It leaves the queue when this is dropped.
#[derive(Debug)]
pub(crate) struct WaitingCall<'a> {
    queue: &'a Queue,
    key: Option<Key>,
    /// Its number in the queue.
    ticket: u64,
    granted: oneshot::Receiver<()>,
}

impl Queue {
    pub(crate) fn new(places: usize) -> Self {
        Self(Mutex::new(State::new(places)))
    }

    /// Takes a place, or room to wait for one. `weight` is the memory of the call; `None` if it will not run.
    pub(crate) fn enter(&self, flow: Flow<'_>, weight: Option<usize>) -> Result<QueueSlot<'_>, Full> {
        let Some(weight) = weight else { return Ok(QueueSlot::NotNeeded) };
        let mut state = self.0.lock();
        state.meet(flow.principal);
        let key = state.key(flow);
        if state.has_turn(&key) {
            state.begin(&key);
            return Ok(QueueSlot::Running { _place: Place { queue: self, key } });
        }
        let (ticket, granted) = state.wait(&key, weight)?;
        Ok(QueueSlot::Waiting(WaitingCall { queue: self, key: Some(key), ticket, granted }))
    }

    /// Waits for a place.
    pub(crate) async fn wait<'a>(&'a self, slot: QueueSlot<'a>) -> Option<QueueSlot<'a>> {
        let QueueSlot::Waiting(mut call) = slot else { return Some(slot) };
        (&mut call.granted).await.ok()?;
        let key = call.key.take()?;
        Some(QueueSlot::Running { _place: Place { queue: self, key } })
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.queue.0.lock().end(&self.key);
    }
}

impl Drop for WaitingCall<'_> {
    fn drop(&mut self) {
        if let Some(key) = self.key.take() {
            let mut state = self.queue.0.lock();
            if !state.leave(&key, self.ticket) {
                // It was granted a place that it does not need any more.
                state.end(&key);
            }
        }
    }
}

#[cfg(test)]
mod tests;
