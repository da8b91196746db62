//! Responses whose turns run: their state, who follows them, and how they are saved at the end.

use std::sync::Arc;

use bytes::Bytes;
use converse_canister::Transcript;
use converse_host::Event;
use converse_host::failure::Failure;
use converse_host::interrupt::Interrupt;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::approver::{Asked, approval_id};
use super::files::{Record, ResponseFiles};
use crate::front::body::EventSender;
use crate::front::completions::now;
use crate::front::observing::Narrator;
use crate::front::turns::Observer;
use converse_openai::{ApiError, Finish, ResponsesStream, ToolCall, TurnEvent};

/// A response whose turn runs.
pub(in crate::front) struct Live {
    state: Mutex<LiveState>,
    pub(super) interrupt: Interrupt,
    /// Cancelled when the turn has ended and the response is saved.
    pub(super) ended: CancellationToken,
    pub(super) background: bool,
    /// The events are kept: a client may come back for them.
    pub(super) keeps_events: bool,
}

struct LiveState {
    stream: ResponsesStream,
    /// Events so far; the index is the sequence number.
    events: Vec<Bytes>,
    followers: Vec<EventSender>,
    failed: Option<ApiError>,
    cancelled: bool,
    deleted: bool,
}

impl Live {
    pub(super) fn new(stream: ResponsesStream, background: bool, keeps_events: bool) -> Self {
        let state = LiveState {
            stream,
            events: Vec::new(),
            followers: Vec::new(),
            failed: None,
            cancelled: false,
            deleted: false,
        };
        let (interrupt, ended) = (Interrupt::default(), CancellationToken::new());
        Self { state: Mutex::new(state), interrupt, ended, background, keeps_events }
    }

    /// Returns the response so far.
    pub(super) fn body(&self) -> Vec<u8> {
        self.state.lock().stream.state().body()
    }

    /// Returns how the turn failed.
    pub(super) fn failed(&self) -> Option<ApiError> {
        self.state.lock().failed.clone()
    }

    /// Sends the events after a sequence number, and all later ones.
    pub(super) fn follow(&self, after: Option<usize>, follower: EventSender) {
        let mut state = self.state.lock();
        let kept = state.events.iter().skip(after.map_or(0, |after| after.saturating_add(1)));
        for event in kept {
            follower.send_earlier(event.clone());
        }
        state.followers.push(follower);
    }

    pub(super) fn cancel(&self) {
        self.state.lock().cancelled = true;
        self.interrupt.tell(2);
    }

    pub(super) fn delete(&self) {
        self.state.lock().deleted = true;
        self.cancel();
    }

    /// Writes the first events.
    pub(super) fn begin(&self) {
        let mut out = Vec::new();
        let mut state = self.state.lock();
        state.stream.begin(&mut out);
        state.send(&out, self.keeps_events);
    }

    fn push(&self, event: &TurnEvent) {
        let mut out = Vec::new();
        let mut state = self.state.lock();
        state.stream.push(event, now(), &mut out);
        state.send(&out, self.keeps_events);
    }
}

impl LiveState {
    fn send(&mut self, bytes: &[u8], keeps: bool) {
        if bytes.is_empty() {
            return;
        }
        let bytes = Bytes::copy_from_slice(bytes);
        self.followers.retain(|follower| follower.send(bytes.clone()));
        if keeps {
            self.events.extend(split(&bytes));
        }
    }
}

/// Returns the events of a stream, each with its end.
pub(super) fn split(bytes: &[u8]) -> Vec<Bytes> {
    let text = String::from_utf8_lossy(bytes);
    text.split_inclusive("\n\n").map(|event| Bytes::from(event.to_owned())).collect()
}

/// Where a response is saved.
pub(super) struct Keeper {
    pub(super) files: ResponseFiles,
    pub(super) record: Record,
}

/// Passes a turn on to a response.
pub(super) struct ResponseObserver {
    pub(super) id: String,
    pub(super) live: Arc<Live>,
    pub(super) narrator: Narrator,
    pub(super) keeper: Option<Keeper>,
    pub(super) asked: Arc<Mutex<Vec<Asked>>>,
    /// Forgets the response among those that run.
    pub(super) forget: Box<dyn FnOnce() + Send>,
}

impl Observer for ResponseObserver {
    fn began(&mut self, transcript: &Transcript) {
        self.narrator.continues(transcript);
    }

    fn event(&mut self, event: Event) {
        if let (Event::Appended(canister), Some(keeper)) = (&event, &mut self.keeper)
            && let Err(error) = keeper.record.transcript.push((**canister).clone())
        {
            tracing::warn!(%error, "a message of a response was not kept");
        }
        let Self { narrator, live, .. } = self;
        narrator.event(event, |event| live.push(&event));
    }

    fn ended(&mut self, ended: Result<(), Failure>) {
        let asked = std::mem::take(&mut *self.asked.lock());
        let mut last = Vec::new();
        match &ended {
            Err(failure) if failure.code == "waiting" && !asked.is_empty() => {
                last.extend(asked.iter().map(|asked| {
                    let (ensemble, tool) = asked.tool.split_once('.').unwrap_or(("", &asked.tool));
                    let id = approval_id(&self.id, &asked.id);
                    let (ensemble, tool) = (ensemble.to_owned(), tool.to_owned());
                    let call = ToolCall { id, ensemble, tool, approval: None };
                    TurnEvent::ApprovalNeeded { call, arguments: asked.arguments.clone() }
                }));
                last.push(TurnEvent::Done(Finish::Stop));
            }
            _ => std::mem::take(&mut self.narrator).ended(ended, |event| last.push(event)),
        }
        let mut out = Vec::new();
        let (body, events, is_deleted) = {
            let mut state = self.live.state.lock();
            for event in &last {
                match event {
                    TurnEvent::Failed(_) if state.cancelled => state.stream.cancel(&mut out),
                    event => {
                        if let TurnEvent::Failed(error) = event {
                            state.failed = Some(error.clone());
                        }
                        state.stream.push(event, now(), &mut out);
                    }
                }
            }
            (state.stream.state().body(), state.events.concat(), state.deleted)
        };
        if let Some(Keeper { files, .. }) = self.keeper.take_if(|_| is_deleted) {
            // The turn may have saved content after the response was removed.
            files.remove(&self.id);
        }
        // A client that reads the end can continue at once.
        if let Some(Keeper { files, mut record }) = self.keeper.take() {
            record.running = false;
            record.body = String::from_utf8(body).unwrap_or_default();
            record.questions = asked.iter().map(|asked| (asked.id.clone(), asked.question)).collect();
            record.asked = asked.into_iter().map(|asked| asked.id).collect();
            let events = [events, out.clone()].concat();
            let written = match self.live.keeps_events {
                true => files.write_events(&self.id, &events),
                false => Ok(()),
            };
            if let Err(error) = written.and_then(|()| files.write(&self.id, &record)) {
                tracing::warn!(%error, "a response was not saved");
            }
            // It may have been deleted meanwhile.
            if self.live.state.lock().deleted {
                files.remove(&self.id);
            }
        }
        {
            let mut state = self.live.state.lock();
            state.send(&out, self.live.keeps_events);
            state.followers.clear();
        }
        std::mem::replace(&mut self.forget, Box::new(|| ()))();
        self.live.ended.cancel();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front::body::event_channel;
    use converse_openai::ResponseHead;
    use converse_openai::ResponsesRequest;

    fn live(id: &str) -> Arc<Live> {
        let request = ResponsesRequest::parse(br#"{"model":"m","input":"Hello"}"#).unwrap();
        let head = ResponseHead {
            id: id.to_owned(),
            created_at: 0,
            model: "m".to_owned(),
            parameters: request.parameters(),
            last_reply_only: false,
        };
        Arc::new(Live::new(ResponsesStream::new(head, true), true, true))
    }

    #[tokio::test]
    async fn a_number_after_every_event_gets_none() {
        let live = live("resp_a");
        live.begin();
        for (after, count) in [(None, 1), (Some(usize::MAX), 0)] {
            let (sender, body) = event_channel(None);
            live.follow(after, sender);
            live.state.lock().followers.clear();
            let read = http_body_util::BodyExt::collect(body).await.unwrap().to_bytes();
            assert_eq!(split(&read).len().min(1), count, "{after:?}");
        }
    }

    #[test]
    fn what_a_turn_saves_after_its_response_was_deleted_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let (files, id) = (ResponseFiles::at(dir.path()), format!("resp_{}", "a".repeat(32)));
        let live = live(&id);
        let record = Record {
            running: true,
            background: true,
            streamed: true,
            body: "{}".to_owned(),
            input: Vec::new(),
            transcript: Transcript::new(),
            asked: Vec::new(),
            questions: std::collections::HashMap::new(),
        };
        files.write(&id, &record).unwrap();
        let mut observer = ResponseObserver {
            id: id.clone(),
            live: Arc::clone(&live),
            narrator: Narrator::default(),
            keeper: Some(Keeper { files: files.clone(), record }),
            asked: Arc::default(),
            forget: Box::new(|| ()),
        };
        live.delete();
        assert!(files.remove(&id));
        files.contents(&id).put(b"the content of a result").unwrap();
        observer.ended(Err(Failure::new(
            converse_host::failure::Kind::Signal(2),
            "interrupted",
            "cancelled",
        )));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
