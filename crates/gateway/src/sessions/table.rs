//! Which sessions are open, with a limit for each principal and for all together.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rmcp::transport::streamable_http_server::session::SessionId;
use tokio::time::Instant;

use super::session::Session;
use crate::principal::Principal;

/// How many sessions there are at most, and how long they are kept.
#[derive(Debug, Clone, Copy)]
pub struct SessionLimits {
    /// Sessions of one principal, and of all together. If there is no room for another one, the one that is idle for longest
    /// ends.
    pub of_principal: usize,
    pub of_all: usize,
    /// A session without an open stream and without a request for so long ends.
    pub idle: Duration,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self { of_principal: 256, of_all: 1024, idle: Duration::from_secs(30 * 60) }
    }
}

#[derive(Debug)]
pub(super) struct Table {
    limits: SessionLimits,
    sessions: Mutex<HashMap<SessionId, Arc<Session>>>,
}

impl Table {
    pub(super) fn new(limits: SessionLimits) -> Self {
        Self { limits, sessions: Mutex::default() }
    }

    /// Adds a session; returns false if there is no room, because all others are in use.
    pub(super) fn insert(&self, session: &Arc<Session>, now: Instant) -> bool {
        let mut sessions = self.sessions.lock();
        let is_same = |other: &&Arc<Session>| other.principal() == session.principal();
        let is_any = |_: &&Arc<Session>| true;
        let has_room = make_room(&mut sessions, self.limits.of_principal, is_same, now)
            && make_room(&mut sessions, self.limits.of_all, is_any, now);
        if has_room {
            sessions.insert(session.id().clone(), Arc::clone(session));
        }
        has_room
    }

    /// Returns the session with this id, if it is of this principal and at this place.
    pub(super) fn find(&self, id: &str, principal: &Principal, place: &str) -> Option<Arc<Session>> {
        let sessions = self.sessions.lock();
        let found = sessions.get(id).filter(|one| one.principal() == principal && one.place() == place);
        found.map(Arc::clone)
    }

    pub(super) fn end(&self, id: &str) {
        if let Some(session) = self.sessions.lock().remove(id) {
            session.end();
        }
    }

    pub(super) fn end_idle(&self, now: Instant) {
        self.sessions.lock().retain(|_, session| {
            let is_over = session.idle_time(now).is_some_and(|idle| idle >= self.limits.idle);
            if is_over {
                session.end();
            }
            !is_over
        });
    }

    pub(super) fn len(&self) -> usize {
        self.sessions.lock().len()
    }
}

/// Ends the session among `those` that is idle for longest, if there are `most` of them; returns whether there is room then.
fn make_room(
    sessions: &mut HashMap<SessionId, Arc<Session>>,
    most: usize,
    those: impl Fn(&&Arc<Session>) -> bool,
    now: Instant,
) -> bool {
    if sessions.values().filter(&those).count() < most {
        return true;
    }
    let idle =
        sessions.values().filter(&those).filter_map(|one| Some((one.idle_time(now)?, one.id().clone())));
    let Some((_, oldest)) = idle.max() else { return false };
    if let Some(session) = sessions.remove(&oldest) {
        session.end();
    }
    true
}
