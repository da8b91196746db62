//! Sessions over HTTP, for clients of the revisions before 2026-07-28.
//!
//! Such a client answers questions and follows changes with requests that belong to a session. Its `initialize` is answered
//! with an id, which its other requests name. What belongs to a request goes into the answer of that request, and everything
//! else into the stream that the client opens with GET. A session belongs to the principal that began it.
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management> (checked 2026-11)

mod client_sessions;
mod id;
mod session;
mod streams;
mod table;
#[cfg(test)]
mod tests;
mod transport;

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::service::RequestContext;
use tokio::time::{Instant, interval};

pub use self::client_sessions::ClientSessions;
use self::id::{Maker, Mark};
use self::session::Session;
pub use self::table::SessionLimits;
use self::table::Table;
use crate::counters::Counters;
use crate::principal::Admitted;

/// How often sessions are looked through for idle ones.
const LOOK: Duration = Duration::from_secs(10);

/// The sessions of all clients of this process.
#[derive(Debug)]
pub struct Sessions {
    /// Tells ids of this process from ids of others.
    mark: Mark,
    table: Table,
    counters: Arc<Counters>,
}

/// What a session id in a request stands for.
#[derive(Debug)]
pub enum FoundSession {
    /// The session of this client.
    Open(ClientSessions),
    /// Nothing: this process never gave this id to this client, or the session has ended.
    Ended,
    /// Nothing here: another process gave this id, such as another replica, or this one before it was restarted.
    Elsewhere,
}

/// A request of a session. An extension of the HTTP request.
#[derive(Debug, Clone, Copy)]
struct InSession;

impl Sessions {
    /// Returns no sessions yet; `None` if there are no random bytes.
    pub fn new(limits: SessionLimits, counters: Arc<Counters>) -> Option<Arc<Self>> {
        Some(Arc::new(Self { mark: Mark::random()?, table: Table::new(limits), counters }))
    }

    /// Begins a session of this client at `place`, such as a view; `None` if there is no room for it. It ends again unless
    /// its `initialize` is served.
    pub fn begin(self: &Arc<Self>, admitted: Admitted, place: &str) -> Option<ClientSessions> {
        let id = self.mark.session_id()?;
        let (session, transport) = Session::new(id, admitted.principal.clone(), place, Instant::now());
        if !self.table.insert(&session, Instant::now()) {
            tracing::warn!("no room for another session; the client is served without one");
            return None;
        }
        self.count();
        let (ended, revoked) = (session.ended().clone(), Arc::clone(&admitted.end));
        let (sessions, id) = (Arc::clone(self), session.id().clone());
        tokio::spawn(async move {
            tokio::select! {
                () = revoked.revoked() => {}
                () = ended.cancelled() => {}
            }
            sessions.end(&id);
        });
        Some(ClientSessions::begun(Arc::clone(self), session, transport, admitted))
    }

    /// Finds the session with an id that a client sent.
    pub fn find(self: &Arc<Self>, id: &str, admitted: Admitted, place: &str) -> FoundSession {
        match self.mark.maker_of(id) {
            Some(Maker::This) => match self.table.find(id, &admitted.principal, place) {
                Some(session) => {
                    session.touch(Instant::now());
                    FoundSession::Open(ClientSessions::of(Arc::clone(self), session, admitted))
                }
                None => FoundSession::Ended,
            },
            Some(Maker::Other) => FoundSession::Elsewhere,
            None => FoundSession::Ended,
        }
    }

    /// Ends idle sessions, until the future is dropped.
    pub async fn end_idle(&self) {
        let mut looks = interval(LOOK);
        loop {
            looks.tick().await;
            self.table.end_idle(Instant::now());
            self.count();
        }
    }

    fn end(&self, id: &str) {
        self.table.end(id);
        self.count();
    }

    fn count(&self) {
        self.counters.sessions(self.table.len());
    }
}

/// Returns whether the request came over HTTP and outside a session, so that nothing can reach the client but its answer.
pub(crate) fn is_sessionless(context: &RequestContext<RoleServer>) -> bool {
    let parts = context.extensions.get::<http::request::Parts>();
    parts.is_some_and(|parts| parts.extensions.get::<InSession>().is_none())
}
