//! `POST /v1/responses` with `stream: true`: events as Server-Sent Events.
//!
//! Source: `types/responses/response_stream_event.py`, PyPI `openai` 3.54.0, November 2026. There is no event for a
//! cancelled response: its stream ends with `response.incomplete`, whose response has the status `cancelled`. There is no
//! `[DONE]`.

use serde::Serialize;

use super::responses_object::{Object, ResponseHead, ResponseState, ResponseStatus};
use super::responses_output::{Body, Watch};
use super::{TurnEvent, sse};

/// Turns the events of a turn into the bytes of a stream.
#[derive(Debug)]
pub struct ResponsesStream {
    state: ResponseState,
    begun: bool,
    sequence: u64,
}

impl ResponsesStream {
    pub fn new(head: ResponseHead, queued: bool) -> Self {
        Self { state: ResponseState::new(head, queued), begun: false, sequence: 0 }
    }

    /// Returns the response so far, for storing.
    pub fn state(&self) -> &ResponseState {
        &self.state
    }

    /// Appends the first events. [`push`](Self::push) does it if it was not done.
    pub fn begin(&mut self, out: &mut Vec<u8>) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        self.response("response.created", out);
        if self.state.status() == ResponseStatus::Queued {
            self.response("response.queued", out);
        } else {
            self.response("response.in_progress", out);
        }
    }

    /// Appends the bytes of an event. `now` is the Unix time in seconds. Events after the end are left out.
    pub fn push(&mut self, event: &TurnEvent, now: u64, out: &mut Vec<u8>) {
        self.step(out, |state, watch| match event {
            TurnEvent::Discard if state.has_reported_text() => {
                state.watched(&ResponseState::void(), now, watch);
            }
            event => state.watched(event, now, watch),
        });
    }

    /// Appends the end of a response that was cancelled.
    pub fn cancel(&mut self, out: &mut Vec<u8>) {
        self.step(out, |state, watch| state.cancelled(watch));
    }

    fn step(&mut self, out: &mut Vec<u8>, step: impl FnOnce(&mut ResponseState, &mut dyn Watch)) {
        if self.state.is_over() {
            return;
        }
        self.begin(out);
        if self.state.status() == ResponseStatus::Queued {
            self.state.begin();
            self.response("response.in_progress", out);
        }
        let mut writer = Writer { out, sequence: &mut self.sequence };
        step(&mut self.state, &mut writer);
        match self.state.status() {
            ResponseStatus::Queued | ResponseStatus::InProgress => {}
            ResponseStatus::Completed => self.response("response.completed", out),
            ResponseStatus::Failed => self.response("response.failed", out),
            ResponseStatus::Incomplete | ResponseStatus::Cancelled => {
                self.response("response.incomplete", out)
            }
        }
    }

    fn response(&mut self, kind: &'static str, out: &mut Vec<u8>) {
        let number = number(&mut self.sequence);
        sse::named(out, kind, &WholeEvent { kind, sequence_number: number, response: self.state.object() });
    }
}

fn number(sequence: &mut u64) -> u64 {
    let number = *sequence;
    *sequence += 1;
    number
}

struct Writer<'a> {
    out: &'a mut Vec<u8>,
    sequence: &'a mut u64,
}

impl Watch for Writer<'_> {
    fn on(&mut self, kind: &'static str, body: &Body<'_>) {
        let sequence_number = number(self.sequence);
        sse::named(self.out, kind, &Event { kind, sequence_number, body });
    }
}

#[derive(Serialize)]
struct WholeEvent<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    sequence_number: u64,
    response: Object<'a>,
}

#[derive(Serialize)]
struct Event<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    sequence_number: u64,
    #[serde(flatten)]
    body: &'a Body<'a>,
}

#[cfg(test)]
mod tests;
