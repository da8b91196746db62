//! Other servers with the same database: what they do to sessions that clients follow here, and turns that they lost.
//!
//! A message of another server says only that there is more. Everything else is read from the session and its last turn.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use converse_gateway::Principal;
use converse_host::context::RunContext;
use converse_host::failure::{Failure, Kind};
use converse_host::turn::sessions;
use converse_session::storage::{News, Replicas};
use converse_session::{SessionError, Uuid};
use serde_json::{Value, json};

use super::channel::{CatchingUp, SharedChannel, Stage};
use super::failure::ApiFailure;
use super::narrator::{Position, last_event};
use super::snapshot::{Seen, Snapshot};
use super::{Caller, owner_of};
use crate::front::Front;
use crate::front::body::EventSender;

/// Time between two readings of a session that is followed, while they fail.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);
/// Readings of a session until its turn was the same before and after.
const MAX_READINGS: usize = 8;

pub(super) fn principal_of(owner: &str) -> Principal {
    if owner.is_empty() { Principal::Owner } else { Principal::Other(owner.into()) }
}

impl Front {
    /// Follows what the other servers do, for ever.
    pub async fn follow_others(self: &Arc<Self>) {
        let Some(replicas) = &self.replicas else { return std::future::pending().await };
        loop {
            self.news.notified().await;
            for news in replicas.news() {
                self.heard(news);
            }
        }
    }

    pub(super) fn heard(self: &Arc<Self>, news: News) {
        match news {
            News::Anything => {
                for (principal, session) in self.channels.all() {
                    self.catch_up_later(&principal, session);
                }
            }
            News::Grown { owner, session } => self.catch_up_later(&principal_of(&owner), session),
            News::Changed { owner, session } => {
                let principal = principal_of(&owner);
                self.catch_up_later(&principal, session);
                self.pass_on_change(principal, session);
            }
            News::Cancelled { owner, session, run } => {
                self.channels.cancel(&principal_of(&owner), session, Some(&run));
            }
            News::Lost { owner, session, process } => {
                let front = Arc::clone(self);
                self.later(move || front.take_over_turn(&owner, session, process));
            }
        }
    }

    /// Returns whether a turn runs in the session, here or elsewhere.
    pub(super) fn is_running(&self, caller: &Caller, session: Uuid) -> Result<bool, ApiFailure> {
        if self.channels.is_running(&caller.principal, session) {
            return Ok(true);
        }
        let Some(replicas) = &self.replicas else { return Ok(false) };
        let turn = replicas.turn(caller.owner(), session).map_err(|error| ApiFailure::no_database(&error))?;
        Ok(turn.is_some_and(|turn| turn.is_running))
    }

    /// Returns what a reading of the session depends on.
    pub(super) fn stage(&self, caller: &Caller, session: Uuid) -> Stage {
        let here = self.channels.stage(&caller.principal, session);
        let elsewhere = self.replicas.as_ref().filter(|_| !here.is_running);
        let turn = elsewhere.and_then(|replicas| replicas.turn(caller.owner(), session).ok().flatten());
        match turn.filter(|turn| turn.is_running) {
            Some(turn) => Stage { is_running: true, began: turn.began, ..here },
            None => here,
        }
    }

    /// Tells the other servers that a turn or a question of a session has changed.
    pub(super) fn announce_change(&self, caller: &Caller, session: Uuid) {
        if let Some(replicas) = &self.replicas {
            replicas.announce(News::Changed { owner: caller.owner().to_owned(), session });
        }
    }

    /// Reads a session and its last turn until both are of one time.
    fn snapshot(
        &self,
        replicas: &dyn Replicas,
        caller: &Caller,
        session: Uuid,
    ) -> Result<Snapshot, ApiFailure> {
        let turn_now =
            || replicas.turn(caller.owner(), session).map_err(|error| ApiFailure::no_database(&error));
        let store = sessions::required(&caller.world)?;
        let mut turn = turn_now()?;
        for _ in 0..MAX_READINGS {
            let is_running = turn.as_ref().is_some_and(|turn| turn.is_running);
            let read = if is_running { store.read_running(session) } else { store.read_waiting(session) };
            let metadata = store.metadata(session);
            let waiting = caller.waiting_in(session)?.filter(|waiting| waiting.open() > 0);
            let now = turn_now()?;
            if now != turn {
                turn = now;
                continue;
            }
            let messages = match read {
                Ok(loaded) => loaded.transcript.as_slice().to_vec(),
                // Its turn is about to create it.
                Err(SessionError::NotFound(_)) if turn.is_some() => Vec::new(),
                Err(error) => return Err(error.into()),
            };
            return Ok(Snapshot {
                session: session.to_string(),
                turn,
                messages,
                shared: metadata.map(|metadata| metadata.shared).unwrap_or_default(),
                interrupts: waiting.map(|waiting| waiting.interrupts).unwrap_or_default(),
                markdown: self.markdown,
            });
        }
        Err(ApiFailure::busy())
    }

    /// Follows a session that no turn of this server runs in: `after` a position, or from now on. Returns false if one has
    /// begun.
    pub(super) async fn follow_elsewhere(
        self: &Arc<Self>,
        caller: &Caller,
        session: Uuid,
        (after, sender): (Option<Position>, &EventSender),
    ) -> Result<bool, ApiFailure> {
        let Some(replicas) = &self.replicas else { return Ok(false) };
        let channel = self.channels.of(&caller.principal, session);
        let mut left = MAX_READINGS;
        loop {
            left = left.checked_sub(1).ok_or_else(ApiFailure::busy)?;
            let before = {
                let channel = channel.lock();
                (channel.stage(), channel.seen.clone())
            };
            if before.0.is_running {
                return Ok(false);
            }
            let (front, one, shared) = (Arc::clone(self), caller.clone(), Arc::clone(replicas));
            let read = move || front.snapshot(&*shared, &one, session);
            let snapshot = self.session_work.run(read).await??;
            let mut channel = channel.lock();
            if (channel.stage(), &channel.seen) != (before.0, &before.1) {
                continue;
            }
            if let Some(seen) = channel.seen.take().filter(|_| channel.reader().is_some()) {
                channel.pass_on(&snapshot.since(&seen));
            }
            for batch in after.map(|at| snapshot.since(&snapshot.seen_until(at))).unwrap_or_default() {
                sender.send_earlier(batch.bytes);
            }
            channel.seen = Some(snapshot.all_seen());
            channel.follow(sender.clone());
            break;
        }
        // A message that came meanwhile found nobody who follows.
        self.catch_up_later(&caller.principal, session);
        Ok(true)
    }

    /// Reads what another server has written into a session, if somebody follows it here.
    pub(super) fn catch_up_later(self: &Arc<Self>, principal: &Principal, session: Uuid) {
        let (Some(replicas), Some(channel)) =
            (self.replicas.clone(), self.channels.followed(principal, session))
        else {
            return;
        };
        {
            let mut channel = channel.lock();
            let is_reading = channel.catching_up != CatchingUp::No;
            channel.catching_up = if is_reading { CatchingUp::Again } else { CatchingUp::Yes };
            if is_reading {
                return;
            }
        }
        let (front, caller) = (Arc::clone(self), self.caller_of(principal.clone()));
        tokio::spawn(async move {
            let mut failures = 0;
            loop {
                let one = (Arc::clone(&front), Arc::clone(&replicas), caller.clone(), Arc::clone(&channel));
                let read = move || one.0.catch_up(&*one.1, &one.2, session, &one.3);
                let read = front.session_work.run(read).await;
                let failed = read.map_err(ApiFailure::from).flatten().inspect_err(|failure| {
                    tracing::debug!("a session that is followed was not read: {failure:?}");
                });
                // There may be no other message about what was not read.
                let again = failed.is_err_and(|failure| failure.may_pass());
                {
                    let mut channel = channel.lock();
                    let again = again && channel.reader().is_some();
                    let is_over = channel.catching_up != CatchingUp::Again && !again;
                    channel.catching_up = if is_over { CatchingUp::No } else { CatchingUp::Yes };
                    if is_over {
                        break;
                    }
                }
                failures = if again { failures + 1 } else { 0 };
                if failures > 0 {
                    tokio::time::sleep((FIRST_PAUSE * failures).min(LONGEST_PAUSE)).await;
                }
            }
        });
    }

    fn catch_up(
        &self,
        replicas: &dyn Replicas,
        caller: &Caller,
        session: Uuid,
        channel: &SharedChannel,
    ) -> Result<(), ApiFailure> {
        let seen = {
            let mut channel = channel.lock();
            channel.miss();
            channel.seen.clone()
        };
        let Some(seen) = seen else { return Ok(()) };
        let snapshot = self.snapshot(replicas, caller, session)?;
        let batches = snapshot.since(&seen);
        let mut channel = channel.lock();
        if channel.turn.is_none() && channel.seen.as_ref() == Some(&seen) {
            channel.pass_on(&batches);
            channel.seen = Some(snapshot.all_seen());
        } else if channel.turn.is_none() && channel.seen.is_some() {
            channel.catching_up = CatchingUp::Again;
        }
        Ok(())
    }

    /// Brings the clients of a session to the messages before a turn that begins here.
    pub(super) fn caught_up(&self, caller: &Caller, session: Uuid, messages: &[converse_canister::Canister]) {
        let Some(channel) = self.channels.followed(&caller.principal, session) else { return };
        let mut channel = channel.lock();
        let Some(seen) = channel.seen.take() else { return };
        let before = Snapshot {
            session: session.to_string(),
            turn: None,
            messages: messages.to_vec(),
            shared: Vec::new(),
            interrupts: Vec::new(),
            markdown: self.markdown,
        };
        let taken_back = seen.position.messages > messages.len();
        if !taken_back {
            let seen = Seen { run: None, ..seen };
            channel.pass_on(&before.since(&seen));
        }
    }

    /// Tells the clients of a principal here that a session has changed elsewhere.
    fn pass_on_change(self: &Arc<Self>, principal: Principal, session: Uuid) {
        if !self.channels.has_follower(&principal) {
            return;
        }
        let (front, caller) = (Arc::clone(self), self.caller_of(principal));
        self.later(move || {
            let gone = sessions::store(&caller.world)
                .is_some_and(|store| matches!(store.metadata(session), Err(SessionError::NotFound(_))));
            let is_running = front.is_running(&caller, session).unwrap_or_default();
            let id = session.to_string();
            if gone && !is_running {
                let event = json!({ "type": "session", "id": id, "deleted": true });
                return front.channels.tell(&caller.principal, &event);
            }
            let waiting = caller.waiting().ok().and_then(|files| files.read_if_possible(session));
            for interrupt in waiting.iter().flat_map(|waiting| &waiting.interrupts) {
                if waiting.as_ref().is_some_and(|waiting| waiting.is_open(interrupt)) {
                    let event = json!({ "type": "approval", "id": interrupt["id"], "session": id });
                    front.channels.tell(&caller.principal, &event);
                }
            }
            front.tell_session(&caller, session, is_running);
        });
    }

    /// Works on a message of another server. Without a place it does not: a lost turn is found again by the next heartbeat,
    /// and clients that follow a session do not depend on it.
    fn later(self: &Arc<Self>, work: impl FnOnce() + Send + 'static) {
        let front = Arc::clone(self);
        tokio::spawn(async move {
            if let Err(undone) = front.session_work.run(work).await {
                tracing::warn!("a message of another server was not worked on: {undone:?}");
            }
        });
    }

    /// Takes over a turn whose server is gone: its session is repaired as after a crash, and can go on. Nothing is run
    /// again, unless all its questions were answered and nothing that they allow had begun.
    pub(super) fn take_over_turn(self: &Arc<Self>, owner: &str, session: Uuid, process: Uuid) {
        let Some(replicas) = &self.replicas else { return };
        let caller = self.caller_of(principal_of(owner));
        match replicas.take_over(session, process) {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => return tracing::warn!(%error, "the turn of a lost server was not taken over"),
        }
        let give_back = || {
            if let Err(error) = replicas.give_back(session, process) {
                tracing::warn!(%error, "the turn of a lost server was not given back");
            }
        };
        let run = replicas.turn(owner, session).ok().flatten().map(|turn| turn.run).unwrap_or_default();
        let repaired = sessions::resume(session, &RunContext::new(&caller.world), &caller.world);
        let waits = match &repaired {
            Ok(session) => !session.loaded.transcript.open().is_empty(),
            Err(failure) => {
                tracing::warn!("the session of a lost server was not repaired: {}", failure.message);
                if may_be_repaired(&caller, session) {
                    return give_back();
                }
                false
            }
        };
        drop(repaired);
        let waiting = match caller.waiting().ok().map(|files| files.read(session)) {
            Some(Err(error)) if waits && error.kind() != ErrorKind::InvalidData => {
                tracing::warn!(%error, "the questions of a lost turn were not read");
                return give_back();
            }
            read => read.and_then(Result::ok).flatten().filter(|_| waits),
        };
        let is_answered = waiting.as_ref().is_some_and(|waiting| waiting.open() == 0);
        let interrupts: Vec<Value> =
            waiting.filter(|_| !is_answered).map(|waiting| waiting.interrupts).unwrap_or_default();
        let lost = Failure::new(Kind::Signal(15), "interrupted", "the server that ran the turn has ended");
        let last = last_event(&session.to_string(), &run, &Err(lost), &interrupts);
        if let Err(error) = replicas.end(session, &last.to_string()) {
            tracing::warn!(%error, "the end of a turn was not noted");
        }
        self.announce_change(&caller, session);
        self.catch_up_later(&caller.principal, session);
        self.pass_on_change(caller.principal.clone(), session);
        if is_answered {
            self.continue_later(&caller, session);
        }
    }

    /// Returns the sessions of a caller in which a turn runs, here or elsewhere.
    pub(super) fn running(&self, caller: &Caller) -> std::collections::HashSet<Uuid> {
        let mut running = self.channels.running(&caller.principal);
        let elsewhere = self.replicas.as_ref().map(|replicas| replicas.running(owner_of(&caller.principal)));
        running.extend(elsewhere.and_then(Result::ok).unwrap_or_default());
        running
    }
}

/// Returns whether another attempt to open a session may succeed: it is neither damaged nor gone.
fn may_be_repaired(caller: &Caller, session: Uuid) -> bool {
    let read = sessions::store(&caller.world).map(|store| store.read_waiting(session).map(drop));
    matches!(read, Some(Ok(()) | Err(SessionError::Io { .. } | SessionError::InUse { .. })))
}
