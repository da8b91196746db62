//! Streams that clients follow: what changes in any session of a principal, and what happens in one session.
//!
//! They end with the token that opened them, and at shutdown when no turn runs any more.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use converse_canister::InvocationId;
use converse_host::turn::sessions;
use converse_session::{Store, Uuid};
use serde_json::Value;
use tokio::time::timeout;

use super::Caller;
use super::channel::Stage;
use super::failure::ApiFailure;
use super::message::Markdown;
use super::narrator::{Position, missed, missed_end};
use crate::front::Front;
use crate::front::body::{EventBody, EventSender, StreamPlace, event_channel, event_stream};
use crate::http_server::Reply;

/// Time for a turn to read its session, while a client that follows it waits.
const BEGINNING: Duration = Duration::from_secs(30);
/// Readings of a session until no turn began or ended meanwhile.
const MAX_READINGS: usize = 64;

impl Front {
    pub(super) fn api_stream(&self, caller: &Caller) -> Result<Option<StreamPlace>, ApiFailure> {
        let place = self.stream_place(&caller.principal);
        place.map_err(|error| ApiFailure::too_many("too-many-streams", error.message))
    }

    fn followed(&self, caller: &Caller) -> Result<(EventSender, EventBody), ApiFailure> {
        let (sender, body) = event_channel(self.api_stream(caller)?);
        let admission = caller.admission.clone();
        let expired = async move { admission.expired().await };
        Ok((sender, body.until(expired, self.turns.over())))
    }

    /// `GET /api/events`.
    pub(super) fn everything(&self, caller: &Caller) -> Result<Reply, ApiFailure> {
        let (sender, body) = self.followed(caller)?;
        sender.send(Bytes::from_static(b": \n\n"));
        self.channels.follow_everything(&caller.principal, sender);
        Ok(event_stream(body))
    }

    /// `GET /api/sessions/{id}/events`: what happens in a session from a position on, or from now on.
    pub(super) async fn follow_session(
        self: &Arc<Self>,
        caller: &Caller,
        session: Uuid,
        after: Option<&str>,
    ) -> Result<Reply, ApiFailure> {
        let after = after.map(|text| text.parse::<Position>());
        let after = after.transpose().map_err(|()| ApiFailure::bad_request("the position is not valid"))?;
        let (sender, body) = self.followed(caller)?;
        let store = sessions::required(&caller.world)?;
        let channel = self.channels.of(&caller.principal, session);
        let is_running = channel.lock().turn.is_some();
        if !is_running && self.replicas.is_none() {
            // Also the check that the session exists.
            let store = store.clone();
            self.session_work.run(move || store.metadata(session)).await??;
        }
        // A session that is read while a turn begins or ends lacks a part.
        let mut left = MAX_READINGS;
        let (earlier, mut channel) = loop {
            left = left.checked_sub(1).ok_or_else(ApiFailure::busy)?;
            if self.follow_elsewhere(caller, session, (after, &sender)).await? {
                return Ok(event_stream(body));
            }
            let (stage, last, changed) = {
                let channel = channel.lock();
                (channel.stage(), channel.last(), channel.changed())
            };
            if self.replicas.is_some() && stage.began.is_none() {
                // The turn is about to read the session, or has ended meanwhile.
                if stage.is_running {
                    timeout(BEGINNING, changed).await.map_err(|_| ApiFailure::busy())?;
                }
                continue;
            }
            let earlier = match after {
                Some(position) => {
                    let (store, caller, markdown) = (store.clone(), caller.clone(), self.markdown);
                    let read = move || {
                        let waiting = caller.waiting_in(session)?.filter(|waiting| waiting.open() > 0);
                        let interrupts = waiting.map(|waiting| waiting.interrupts).unwrap_or_default();
                        let earlier = Earlier { session, position, stage, last, interrupts, markdown };
                        Ok::<_, ApiFailure>(earlier.events(&store))
                    };
                    self.session_work.run(read).await??
                }
                None => Vec::new(),
            };
            let channel = channel.lock();
            if channel.stage() == stage {
                break (earlier, channel);
            }
        };
        let kept = after.and_then(|position| channel.after(position));
        let events = kept.unwrap_or_else(|| earlier.into_iter().chain(channel.all().cloned()).collect());
        for bytes in events {
            sender.send_earlier(bytes);
        }
        channel.follow(sender);
        Ok(event_stream(body))
    }
}

/// The events of a session before those of the turn that runs.
struct Earlier {
    session: Uuid,
    position: Position,
    stage: Stage,
    /// The last event of the last turn.
    last: Option<Value>,
    interrupts: Vec<Value>,
    markdown: Markdown,
}

impl Earlier {
    fn events(self, store: &Store) -> Vec<Bytes> {
        let Self { session, position, stage, last, interrupts, markdown } = self;
        let loaded = store.read_waiting(session).ok();
        let shared: Vec<InvocationId> =
            store.metadata(session).map(|metadata| metadata.shared).unwrap_or_default();
        let canisters = loaded.as_ref().map_or(&[][..], |loaded| loaded.transcript.as_slice());
        // A turn that has not read the session yet has added nothing to it.
        let until = stage.began.unwrap_or(canisters.len()).min(canisters.len());
        let whole = canisters.get(..until).unwrap_or_default();
        let id = session.to_string();
        let mut batches = missed(whole, position, &id, markdown, &shared);
        if !stage.is_running {
            batches.extend(missed_end(whole, position, &id, last, &interrupts));
        }
        batches.into_iter().map(|batch| batch.bytes).collect()
    }
}
