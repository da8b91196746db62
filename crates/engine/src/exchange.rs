//! One model call: translate → send → decode → retry.
//!
//! A reply counts only when it is whole. What was shown of one that broke off can be taken back where the output allows
//! it ([`Engine::can_take_back`]); where it does not, the partial text is kept and the call fails, since a second answer
//! after half of a first one would be worse than none.

use std::borrow::Cow;
use std::time::Duration;

use bytes::Bytes;
use converse_canister::{Canister, Content, Declaration, Supervisor, TurnId};
use converse_provider::{
    Controls, DecodeError, Decoder, Delta, Facts, Prompt, RefusalClass, Reply, ReplyError, ReplyOrigin,
    RetryAdvice, request_id,
};
use futures_util::StreamExt as _;
use tokio::time::{Instant, timeout};

use crate::bill::Bill;
use crate::feeding::{Body, feed_ready};
use crate::retry::{Next, Try, next};
use crate::route::request_extras;
use crate::shown::Shown;
use crate::withheld_reasoning::WithheldReasoning;
use crate::{Engine, Event, ExchangeError, Ports, Restart, Route, SinkError, Trouble};

pub(crate) struct Exchange<'a> {
    pub(crate) engine: &'a Engine<'a>,
    pub(crate) route: &'a Route<'a>,
    pub(crate) ports: Ports<'a>,
    /// What the model is shown of the conversation.
    pub(crate) view: &'a [Canister],
    /// The route's own, but for a request that is no turn of the conversation.
    pub(crate) controls: &'a Controls,
    /// As [`Engine::note`].
    pub(crate) note: Option<&'a str>,
    /// As [`Engine::can_take_back`].
    pub(crate) can_take_back: bool,
    pub(crate) tools: &'a [Declaration],
    pub(crate) turn: TurnId,
    /// This route, if it is not the first.
    pub(crate) instead: Option<&'a str>,
}

impl Exchange<'_> {
    /// `shown` is what was shown of the last try, and `bill` what it took, also when this future is dropped.
    pub(crate) async fn run(
        &self,
        shown: &mut Shown,
        withheld: &mut WithheldReasoning,
        bill: &mut Bill,
    ) -> Result<Reply, ExchangeError> {
        let mut attempts = 0;
        let mut waited = Duration::ZERO;
        loop {
            attempts += 1;
            *shown = Shown::default();
            let mut request_id = None;
            let trouble = match self.attempt(shown, withheld, bill, &mut request_id).await {
                Ok(reply) => {
                    bill.close();
                    return Ok(reply);
                }
                Err(trouble) => trouble,
            };
            let stuck = shown.is_final(self.can_take_back);
            let this = Try {
                failed: attempts,
                waited,
                retryable: trouble.retryable() && !stuck,
                advice: if stuck { RetryAdvice::default() } else { trouble.advice() },
            };
            let failed = |trouble, asked_to_wait| ExchangeError {
                trouble,
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
                && withheld.leave_out(&trouble, (self.view, self.turn), self.route)
            {
                let reported =
                    self.pay(bill).and_then(|()| self.report_withheld_reasoning(&trouble, attempts, shown));
                match reported {
                    Ok(()) => continue,
                    Err(error) => return Err(failed(error.into(), None)),
                }
            }
            let delay = match next(&trouble.policy(self.engine.retry), this, (self.ports.jitter)()) {
                Next::Wait(delay) => delay,
                Next::TooLong(asked) => return Err(failed(trouble, Some(asked))),
                Next::GiveUp => return Err(failed(trouble, None)),
            };
            if bill.bars_another() {
                return Err(failed(trouble, None));
            }
            let reason = trouble.to_string();
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

    /// What was shown is taken back, and the user hears what the model does not get any more.
    fn report_withheld_reasoning(
        &self,
        trouble: &Trouble,
        attempt: u32,
        shown: &Shown,
    ) -> Result<(), SinkError> {
        let reason = trouble.to_string();
        if shown.any {
            let restart = Restart { reason: &reason, attempt, delay: Duration::ZERO, discard: true };
            self.ports.emit(&Event::Restarted(restart))?;
        }
        let who = self.route.id();
        self.ports.emit(&Event::Warned(&format!(
            "{who} does not take back its reasoning of earlier turns: {reason}; asking again without it"
        )))
    }

    /// `named` is how the provider names the request, as soon as it does.
    async fn attempt(
        &self,
        shown: &mut Shown,
        withheld: &WithheldReasoning,
        bill: &mut Bill,
        named: &mut Option<String>,
    ) -> Result<Reply, Trouble> {
        let Self { engine, route, .. } = self;
        let offers = !self.tools.is_empty();
        let extras = request_extras(self.controls, &route.endpoint, &route.facts, offers, self.note);
        let view = withheld.view(noted(self.view, extras.note.as_deref()));
        let prompt = Prompt {
            model: &route.model,
            view: &view,
            tools: self.tools,
            controls: &extras.controls,
            facts: &route.facts,
            blobs: engine.blobs,
        };
        let request = route.processor.nativize(&prompt, &route.endpoint)?;
        let sent = route.wire.send(request, &route.endpoint.auth);
        let first_byte = engine.timeouts.first_byte;
        let response = timeout(first_byte, sent)
            .await
            .map_err(|_| Trouble::Silent { what: "response", after: first_byte })??;
        let (head, body) = response.into_parts();
        *named = request_id(&head);
        if head.status.is_success() {
            bill.begin(&route.facts);
        }
        let origin =
            ReplyOrigin { turn: self.turn, model: route.model.clone(), endpoint: route.endpoint.clone() };
        self.read(route.processor.normalize(&head, origin), body.fuse(), (shown, bill)).await
    }

    async fn read(
        &self,
        decoder: Box<dyn Decoder>,
        mut body: Body,
        (shown, bill): (&mut Shown, &mut Bill),
    ) -> Result<Reply, Trouble> {
        let mut reading = Reading { decoder: Some(decoder), bill, facts: &self.route.facts };
        let mut deltas = Vec::new();
        let mut last_content = Instant::now();
        let broken = loop {
            let Some(decoder) = reading.decoder.as_deref_mut().filter(|decoder| !decoder.is_complete())
            else {
                break None;
            };
            let fed = match self.next_piece(&mut body, last_content).await {
                Ok(Some(piece)) => feed_ready(decoder, piece, &mut body, &mut deltas).await,
                Ok(None) => break None,
                Err(trouble) => break Some(trouble),
            };
            if !deltas.is_empty() {
                last_content = Instant::now();
                shown.any = true;
            }
            self.show(&mut deltas, shown)?;
            if let Err(trouble) = fed {
                break Some(trouble);
            }
        };
        let finished = reading.finish();
        if matches!(finished, Err(ReplyError::Refusal(_))) && broken.is_none() && !shown.any {
            reading.bill.close();
        }
        let reply = settle(finished, broken)?;
        if !shown.any {
            self.show(&mut whole(&reply), shown)?;
        }
        Ok(reply)
    }

    async fn next_piece(&self, body: &mut Body, last_content: Instant) -> Result<Option<Bytes>, Trouble> {
        let timeouts = &self.engine.timeouts;
        let content_left = timeouts.stream_content.saturating_sub(last_content.elapsed());
        let (what, limit, after) = if content_left < timeouts.stream_idle {
            ("content in the stream", content_left, timeouts.stream_content)
        } else {
            ("byte in the stream", timeouts.stream_idle, timeouts.stream_idle)
        };
        let next = timeout(limit, body.next()).await.map_err(|_| Trouble::Silent { what, after })?;
        next.transpose().map_err(Trouble::from)
    }

    /// Emits what one piece of the body told; neighbouring texts are joined, so that they are written at once.
    fn show(&self, deltas: &mut Vec<Delta>, shown: &mut Shown) -> Result<(), SinkError> {
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

    fn show_text(&self, text: &mut String, shown: &mut Shown) -> Result<(), SinkError> {
        if text.is_empty() {
            return Ok(());
        }
        shown.text.push_str(text);
        self.ports.emit(&Event::Delta(&Delta::Text(std::mem::take(text))))
    }
}

/// A reply that is being read. However the reading ends, also when nobody waits for it any more, what had been told of
/// its tokens is on the bill.
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
            Err(ReplyError::CutShort { partial }) => self.bill.breaks_off(partial, self.facts),
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

/// The transcript with the note behind the system text that it begins with.
pub fn noted<'a>(transcript: &'a [Canister], note: Option<&str>) -> Cow<'a, [Canister]> {
    let Some(note) = note else { return Cow::Borrowed(transcript) };
    let leading =
        transcript.iter().take_while(|canister| matches!(canister, Canister::Supervisor(_))).count();
    let mut view = transcript.to_vec();
    view.insert(leading, Canister::Supervisor(Supervisor { text: note.to_owned() }));
    Cow::Owned(view)
}

/// What the decoder makes of the body, and what broke the connection, to one verdict.
fn settle(finished: Result<Reply, ReplyError>, broken: Option<Trouble>) -> Result<Reply, Trouble> {
    match (finished, broken) {
        // Or: everything had come before the connection broke.
        (Ok(reply), None | Some(Trouble::Wire(_) | Trouble::Silent { .. })) => Ok(reply),
        (Ok(_), Some(trouble)) => Err(trouble),
        // A body that never came is no nonsense of the provider's.
        (Err(ReplyError::Refusal(refusal)), Some(trouble)) if refusal.class == RefusalClass::Nonsense => {
            Err(trouble)
        }
        (Err(ReplyError::Refusal(refusal)), _) => Err(refusal.into()),
        (Err(ReplyError::CutShort { .. }), broken) => Err(broken.unwrap_or(Trouble::CutShort)),
        (Err(ReplyError::Decode(error)), broken) => Err(broken.unwrap_or_else(|| error.into())),
    }
}

/// A reply that came in one piece, as the one piece it is.
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
