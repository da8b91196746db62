//! One model call: translate → send → decode → retry.
//!
//! A reply counts only if it is complete. The shown part of a reply that broke off is taken back if the output allows that
//! ([`Engine::can_take_back`]). Otherwise the partial text is kept and the call fails, since a second answer after half of
//! a first one would be worse than none.

use std::borrow::Cow;
use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use converse_canister::{Assistant, Canister, Content, Declaration, PreparedTools, Stop, Supervisor, TurnId};
use converse_provider::{
    Controls, DecodeError, Decoder, Delta, Facts, KeptMessages, Prepared, Prompt, RefusalClass, Reply,
    ReplyError, ReplyOrigin, RetryAdvice, TranslateError, request_id,
};
use futures_util::StreamExt as _;
use parking_lot::Mutex;
use tokio::time::{Instant, timeout, timeout_at};

use crate::bill::Bill;
use crate::response_body::{Body, feed_ready};
use crate::retry::{self, FailedAttempt, RetryDecision};
use crate::route::request_extras;
use crate::withheld_reasoning::WithheldReasoning;
use crate::{AttemptError, Engine, Event, ExchangeError, Ports, Restart, Route, SinkError};

/// Time without content after which sinks are told that the reply pauses.
const STALL: Duration = Duration::from_secs(1);

pub(crate) struct Exchange<'a> {
    pub(crate) engine: &'a Engine<'a>,
    pub(crate) route: &'a Route<'a>,
    pub(crate) ports: Ports<'a>,
    /// The conversation as the model is shown it.
    pub(crate) view: &'a [Canister],
    /// The controls of the route, except for requests that are not part of the conversation.
    pub(crate) controls: &'a Controls,
    /// As [`Engine::note`].
    pub(crate) note: Option<&'a str>,
    /// As [`Engine::can_take_back`].
    pub(crate) can_take_back: bool,
    pub(crate) tools: &'a [Declaration],
    /// Belongs to these tools.
    pub(crate) prepared: Option<&'a PreparedTools>,
    /// Belongs to the view, if no earlier message of it has changed in this turn.
    pub(crate) kept: Option<&'a Mutex<KeptMessages>>,
    pub(crate) turn: TurnId,
    /// The id of this route, if it is not the first.
    pub(crate) instead: Option<&'a str>,
}

impl Exchange<'_> {
    /// Calls the model until it gives a complete reply or the retries end. `shown` is what was shown of the last attempt
    /// and `bill` its cost, also if this future is dropped.
    pub(crate) async fn run(
        &self,
        shown: &mut ShownReply,
        withheld: &mut WithheldReasoning,
        bill: &mut Bill,
    ) -> Result<Reply, ExchangeError> {
        let mut attempts = 0;
        let mut waited = Duration::ZERO;
        loop {
            attempts += 1;
            *shown = ShownReply::default();
            let mut request_id = None;
            let mut admitted = self.route.wire.admit().await;
            let cause = match self.attempt(shown, withheld, bill, &mut request_id).await {
                Ok(reply) => {
                    bill.close();
                    return Ok(reply);
                }
                Err(cause) => cause,
            };
            if cause.is_too_fast() {
                admitted.refused(cause.advice().after);
            }
            drop(admitted);
            let stuck = shown.is_final(self.can_take_back);
            let this = FailedAttempt {
                failed: attempts,
                waited,
                retryable: cause.retryable() && !stuck,
                advice: if stuck { RetryAdvice::default() } else { cause.advice() },
            };
            let failed = |cause, asked_to_wait| ExchangeError {
                cause,
                route: self.route.id(),
                routes_before: 0,
                attempts,
                waited,
                asked_to_wait,
                kept: false,
                request_id,
            };
            if !stuck
                && bill.reaches().is_none()
                && withheld.leave_out(&cause, (self.view, self.turn), self.route)
            {
                let reported =
                    self.pay(bill).and_then(|()| self.report_withheld_reasoning(&cause, attempts, shown));
                match reported {
                    Ok(()) => continue,
                    Err(error) => return Err(failed(error.into(), None)),
                }
            }
            let delay = match retry::decide(&cause.policy(self.engine.retry), this, (self.ports.jitter)()) {
                RetryDecision::Wait(delay) => delay,
                RetryDecision::TooLong(wait) => return Err(failed(cause, Some(wait))),
                RetryDecision::GiveUp => return Err(failed(cause, None)),
            };
            if bill.bars_another() {
                return Err(failed(cause, None));
            }
            let reason = cause.to_string();
            let pause = if self.engine.retry.waits { delay } else { Duration::ZERO };
            let restart = Restart { reason: &reason, attempt: attempts, delay: pause, discard: shown.any };
            let reported = self.pay(bill).and_then(|()| self.ports.emit(&Event::Restarted(restart)));
            if let Err(error) = reported {
                return Err(failed(error.into(), None));
            }
            tokio::time::sleep(pause).await;
            waited += delay;
        }
    }

    fn pay(&self, bill: &mut Bill) -> Result<(), SinkError> {
        bill.pay(self.ports, self.route, self.instead)
    }

    /// Retracts the shown text, and warns that the model no longer gets its earlier reasoning.
    fn report_withheld_reasoning(
        &self,
        cause: &AttemptError,
        attempt: u32,
        shown: &ShownReply,
    ) -> Result<(), SinkError> {
        let reason = cause.to_string();
        if shown.any {
            let restart = Restart { reason: &reason, attempt, delay: Duration::ZERO, discard: true };
            self.ports.emit(&Event::Restarted(restart))?;
        }
        let who = self.route.id();
        self.ports.emit(&Event::Warned(&format!(
            "{who} does not take back its reasoning of earlier turns: {reason}; asking again without it"
        )))
    }

    /// Sends one request and reads its reply. `named` becomes the provider's id of the request.
    async fn attempt(
        &self,
        shown: &mut ShownReply,
        withheld: &WithheldReasoning,
        bill: &mut Bill,
        named: &mut Option<String>,
    ) -> Result<Reply, AttemptError> {
        let Self { engine, route, .. } = self;
        let sent = route.wire.send(self.request(withheld)?, &route.endpoint.auth);
        let first_byte = engine.timeouts.first_byte;
        let response = timeout(first_byte, sent)
            .await
            .map_err(|_| AttemptError::Timeout { what: "response", after: first_byte })??;
        let (head, body) = response.into_parts();
        *named = request_id(&head);
        if head.status.is_success() {
            bill.begin(&route.facts);
        }
        let origin =
            ReplyOrigin { turn: self.turn, model: route.model.clone(), endpoint: route.endpoint.clone() };
        let decoder = route.processor.normalize(&head, origin);
        drop(head);
        self.read(decoder, body.fuse(), (shown, bill)).await
    }

    /// Returns the request. What it is made of is not kept while the reply is read.
    fn request(&self, withheld: &WithheldReasoning) -> Result<http::Request<Bytes>, TranslateError> {
        let Self { engine, route, .. } = self;
        let offers = !self.tools.is_empty();
        let extras = request_extras(self.controls, &route.endpoint, &route.facts, offers, self.note);
        let view = withheld.view(with_note(self.view, extras.note.as_deref()));
        let prompt = Prompt {
            model: &route.model,
            view: &view,
            tools: self.tools,
            controls: &extras.controls,
            facts: &route.facts,
            blobs: engine.blobs,
        };
        let kept = self.kept.filter(|_| withheld.is_nothing());
        let mut kept = kept.map(|kept| kept.lock());
        let prepared = Prepared { tools: self.prepared, messages: kept.as_deref_mut() };
        route.processor.nativize_prepared(&prompt, &route.endpoint, prepared)
    }

    async fn read(
        &self,
        decoder: Box<dyn Decoder>,
        mut body: Body,
        (shown, bill): (&mut ShownReply, &mut Bill),
    ) -> Result<Reply, AttemptError> {
        let mut reading = Reading { decoder: Some(decoder), bill, facts: &self.route.facts };
        let mut deltas = Vec::new();
        let mut last_content = Instant::now();
        // Whether something was shown since the last `Stalled`.
        let mut fresh = false;
        let broken = loop {
            let Some(decoder) = reading.decoder.as_deref_mut().filter(|decoder| !decoder.is_complete())
            else {
                break None;
            };
            let fed = match self.next_piece(&mut body, last_content, &mut fresh).await {
                Ok(Some(piece)) => feed_ready(decoder, piece, &mut body, &mut deltas).await,
                Ok(None) => break None,
                Err(cause) => break Some(cause),
            };
            if !deltas.is_empty() {
                last_content = Instant::now();
                shown.any = true;
                fresh = true;
            }
            self.show(&mut deltas, shown)?;
            if let Err(cause) = fed {
                break Some(cause);
            }
        };
        let finished = reading.finish();
        if matches!(finished, Err(ReplyError::Refusal(_))) && broken.is_none() && !shown.any {
            reading.bill.close();
        }
        let reply = settle(finished, broken)?;
        if is_empty(&reply) && !self.answers_results() {
            return Err(AttemptError::Empty);
        }
        if !shown.any {
            self.show(&mut whole(&reply), shown)?;
        }
        Ok(reply)
    }

    /// Returns whether the model has its results already: a model that returns no text after them is done.
    fn answers_results(&self) -> bool {
        matches!(self.view.last(), Some(Canister::Result(_)))
    }

    async fn next_piece(
        &self,
        body: &mut Body,
        last_content: Instant,
        fresh: &mut bool,
    ) -> Result<Option<Bytes>, AttemptError> {
        let timeouts = &self.engine.timeouts;
        let content_left = timeouts.stream_content.saturating_sub(last_content.elapsed());
        let (what, limit, after) = if content_left < timeouts.stream_idle {
            ("content in the stream", content_left, timeouts.stream_content)
        } else {
            ("byte in the stream", timeouts.stream_idle, timeouts.stream_idle)
        };
        let mut next = pin!(timeout(limit, body.next()));
        let stalled = match *fresh {
            true => timeout_at(last_content + STALL, next.as_mut()).await.ok(),
            false => Some(next.as_mut().await),
        };
        let next = match stalled {
            Some(next) => next,
            None => {
                *fresh = false;
                self.ports.emit(&Event::Stalled)?;
                next.await
            }
        };
        let next = next.map_err(|_| AttemptError::Timeout { what, after })?;
        next.transpose().map_err(AttemptError::from)
    }

    /// Emits the deltas of one piece of the body. Neighbouring texts are joined, so that they are written at once.
    fn show(&self, deltas: &mut Vec<Delta>, shown: &mut ShownReply) -> Result<(), SinkError> {
        let mut text = String::new();
        for delta in deltas.drain(..) {
            match delta {
                Delta::Text(more) => text.push_str(&more),
                delta => {
                    self.show_text(&mut text, shown)?;
                    self.ports.emit(&Event::Delta(&delta))?;
                }
            }
        }
        self.show_text(&mut text, shown)
    }

    fn show_text(&self, text: &mut String, shown: &mut ShownReply) -> Result<(), SinkError> {
        if text.is_empty() {
            return Ok(());
        }
        shown.text.push_str(text);
        self.ports.emit(&Event::Delta(&Delta::Text(std::mem::take(text))))
    }
}

/// A reply that is being read. However the reading ends, also by a drop, the tokens that were reported are on the bill.
struct Reading<'a> {
    decoder: Option<Box<dyn Decoder>>,
    bill: &'a mut Bill,
    facts: &'a Facts,
}

impl Reading<'_> {
    fn finish(&mut self) -> Result<Reply, ReplyError> {
        let gone = || ReplyError::Decode(DecodeError::Malformed("it was read before".to_owned()));
        let finished = self.decoder.take().ok_or_else(gone)?.finish();
        match &finished {
            Ok(reply) => self.bill.breaks_off(reply, self.facts),
            Err(ReplyError::CutShort { partial: reply } | ReplyError::Empty { reply }) => {
                self.bill.breaks_off(reply, self.facts);
            }
            Err(ReplyError::Refusal(_) | ReplyError::Decode(_)) => {}
        }
        finished
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        if self.decoder.is_some() {
            let _ = self.finish();
        }
    }
}

/// The part of an unfinished reply that the user has seen.
#[derive(Debug, Default)]
pub(crate) struct ShownReply {
    pub(crate) text: String,
    /// Whether anything was shown, reasoning included.
    pub(crate) any: bool,
}

impl ShownReply {
    /// Whether text was shown that cannot be retracted. A second answer after half of a first one would be worse than
    /// none.
    pub(crate) fn is_final(&self, can_take_back: bool) -> bool {
        !self.text.is_empty() && !can_take_back
    }

    /// Returns the shown text as a reply that was cut, or `None` if no text was shown.
    pub(crate) fn cut(self, turn: TurnId) -> Option<Canister> {
        if self.text.trim().is_empty() {
            return None;
        }
        let content = vec![Content::text(self.text)];
        Some(Canister::Assistant(Assistant {
            turn,
            content,
            native: None,
            stop: Stop::Cut,
            response_id: None,
        }))
    }
}

/// Returns the transcript with the note inserted after its leading system texts.
pub fn with_note<'a>(transcript: &'a [Canister], note: Option<&str>) -> Cow<'a, [Canister]> {
    let Some(note) = note else { return Cow::Borrowed(transcript) };
    let leading =
        transcript.iter().take_while(|canister| matches!(canister, Canister::Supervisor(_))).count();
    let mut view = transcript.to_vec();
    view.insert(leading, Canister::Supervisor(Supervisor { text: note.to_owned() }));
    Cow::Owned(view)
}

/// Combines the result of the decoder and the error of the connection.
fn settle(finished: Result<Reply, ReplyError>, broken: Option<AttemptError>) -> Result<Reply, AttemptError> {
    match (finished, broken) {
        // Or: everything had come before the connection broke.
        (Ok(reply), None | Some(AttemptError::Wire(_) | AttemptError::Timeout { .. })) => Ok(reply),
        (Ok(_), Some(cause)) => Err(cause),
        // A missing body is not an invalid response of the provider.
        (Err(ReplyError::Refusal(refusal)), Some(cause)) if refusal.class == RefusalClass::Nonsense => {
            Err(cause)
        }
        (Err(ReplyError::Refusal(refusal)), _) => Err(refusal.into()),
        (Err(ReplyError::CutShort { .. }), broken) => Err(broken.unwrap_or(AttemptError::CutShort)),
        (Err(ReplyError::Empty { .. }), broken) => Err(broken.unwrap_or(AttemptError::Empty)),
        (Err(ReplyError::Decode(error)), broken) => Err(broken.unwrap_or_else(|| error.into())),
    }
}

/// Returns whether a reply that ended as it should has neither text nor invocations. Reasoning alone answers nothing.
fn is_empty(reply: &Reply) -> bool {
    let blank = |content: &Content| match content {
        Content::Text { text, .. } => text.trim().is_empty(),
        Content::Reasoning { .. } => true,
        _ => false,
    };
    matches!(reply.stop, Stop::End | Stop::Sequence)
        && reply.canisters.iter().all(|canister| match canister {
            Canister::Assistant(assistant) => assistant.content.iter().all(blank),
            _ => false,
        })
}

/// Returns the deltas of a reply that came in one piece.
fn whole(reply: &Reply) -> Vec<Delta> {
    let assistants = reply.canisters.iter().filter_map(|canister| match canister {
        Canister::Assistant(assistant) => Some(assistant),
        _ => None,
    });
    let delta = |content: &Content| match content {
        Content::Text { text, .. } => Some(Delta::Text(text.clone())),
        Content::Reasoning { text, .. } => Some(Delta::Reasoning(text.clone())),
        _ => None,
    };
    assistants.flat_map(|assistant| &assistant.content).filter_map(delta).collect()
}
