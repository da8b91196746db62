//! One model call: translate → send → decode → retry.
//!
//! A reply counts only when it is whole. What was shown of one that broke off can be taken back where the output allows
//! it ([`Engine::can_take_back`]); where it does not, the partial text is kept and the call fails, since a second answer
//! after half of a first one would be worse than none.

use std::borrow::Cow;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use converse_canister::{Assistant, Canister, Content, Declaration, Stop, Supervisor, Transcript, TurnId};
use converse_provider::{
    DecodeError, Decoder, Delta, Prompt, Refusal, RefusalClass, Reply, ReplyError, ReplyOrigin, RetryAdvice,
    TranslateError,
};
use futures_util::stream::Fuse;
use futures_util::{FutureExt as _, StreamExt as _};
use tokio::time::{Instant, timeout};

use crate::ports::ByteStream;
use crate::retry::{Next, Try, may_pass, next};
use crate::{Engine, Event, Ports, Restart, SinkError, WireError, WireErrorKind};

/// May be asked again after its end.
type Body = Fuse<ByteStream>;

/// Pieces of a body that are shown together, if they have come together.
const MOST_AT_ONCE: usize = 256;

/// A model call that gave no whole reply, after all retries.
#[derive(Debug, thiserror::Error)]
#[error("{trouble}")]
pub struct ExchangeError {
    pub trouble: Trouble,
    /// Tries that were made.
    pub attempts: u32,
    /// Time spent waiting between them.
    pub waited: Duration,
    /// The provider asked for a longer wait than the whole patience.
    pub asked_to_wait: Option<Duration>,
    /// Words of the last try had been shown, and are in the transcript.
    pub kept: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    #[error(transparent)]
    Translate(#[from] TranslateError),
    #[error(transparent)]
    Wire(#[from] WireError),
    #[error("no {what} for {} s", .after.as_secs_f64())]
    Silent { what: &'static str, after: Duration },
    #[error("the response ended before the reply did")]
    CutShort,
    #[error(transparent)]
    Refusal(#[from] Refusal),
    #[error(transparent)]
    Decode(#[from] DecodeError),
    #[error(transparent)]
    Sink(#[from] SinkError),
}

impl Trouble {
    fn retryable(&self) -> bool {
        match self {
            Self::Wire(error) => error.kind == WireErrorKind::Connection,
            Self::Silent { .. } | Self::CutShort => true,
            Self::Refusal(refusal) => may_pass(refusal.class, refusal.status),
            Self::Translate(_) | Self::Decode(_) | Self::Sink(_) => false,
        }
    }

    fn advice(&self) -> RetryAdvice {
        match self {
            Self::Refusal(refusal) => refusal.retry,
            _ => RetryAdvice::default(),
        }
    }
}

/// What the user has seen of a reply that is not whole yet.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    text: String,
    /// Anything at all, reasoning included.
    any: bool,
}

impl Shown {
    /// Words that will not be completed, as a reply of their own; `None` if there were none.
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

pub(crate) struct Exchange<'a> {
    pub(crate) engine: &'a Engine<'a>,
    pub(crate) ports: Ports<'a>,
    pub(crate) transcript: &'a Transcript,
    pub(crate) tools: &'a [Declaration],
    pub(crate) turn: TurnId,
}

impl Exchange<'_> {
    /// `shown` is what was shown of the last try, also when this future is dropped.
    pub(crate) async fn run(&self, shown: &mut Shown) -> Result<Reply, ExchangeError> {
        let mut attempts = 0;
        let mut waited = Duration::ZERO;
        loop {
            attempts += 1;
            *shown = Shown::default();
            let trouble = match self.attempt(shown).await {
                Ok(reply) => return Ok(reply),
                Err(trouble) => trouble,
            };
            let stuck = !shown.text.is_empty() && !self.engine.can_take_back;
            let this = Try {
                failed: attempts,
                waited,
                retryable: trouble.retryable() && !stuck,
                advice: if stuck { RetryAdvice::default() } else { trouble.advice() },
            };
            let failed = |trouble, asked_to_wait| ExchangeError {
                trouble,
                attempts,
                waited,
                asked_to_wait,
                kept: false,
            };
            let delay = match next(&self.engine.retry, this, (self.ports.jitter)()) {
                Next::Wait(delay) => delay,
                Next::TooLong(asked) => return Err(failed(trouble, Some(asked))),
                Next::GiveUp => return Err(failed(trouble, None)),
            };
            let reason = trouble.to_string();
            let restart = Restart { reason: &reason, attempt: attempts, delay, discard: shown.any };
            self.ports.emit(&Event::Restarted(restart)).map_err(|error| failed(error.into(), None))?;
            tokio::time::sleep(delay).await;
            waited += delay;
        }
    }

    async fn attempt(&self, shown: &mut Shown) -> Result<Reply, Trouble> {
        let engine = self.engine;
        let view = noted(self.transcript.as_slice(), engine.note.as_deref());
        let prompt = Prompt {
            model: &engine.model,
            view: &view,
            tools: self.tools,
            controls: &engine.controls,
            blobs: engine.blobs,
        };
        let request = engine.processor.nativize(&prompt, &engine.endpoint)?;
        let sent = self.ports.wire.send(request, &engine.endpoint.auth);
        let first_byte = engine.timeouts.first_byte;
        let response = timeout(first_byte, sent)
            .await
            .map_err(|_| Trouble::Silent { what: "response", after: first_byte })??;
        let (head, body) = response.into_parts();
        let origin =
            ReplyOrigin { turn: self.turn, model: engine.model.clone(), endpoint: engine.endpoint.clone() };
        self.read(engine.processor.normalize(&head, origin), body.fuse(), shown).await
    }

    async fn read(
        &self,
        mut decoder: Box<dyn Decoder>,
        mut body: Body,
        shown: &mut Shown,
    ) -> Result<Reply, Trouble> {
        let mut deltas = Vec::new();
        let mut last_content = Instant::now();
        let broken = loop {
            if decoder.is_complete() {
                break None;
            }
            let fed = match self.next_piece(&mut body, last_content).await {
                Ok(Some(piece)) => feed_ready(decoder.as_mut(), piece, &mut body, &mut deltas).await,
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
        let reply = settle(decoder.finish(), broken)?;
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

/// Feeds a piece and whatever else has come already: servers send each event as a piece of its own, and showing them
/// one by one would cost a system call each. A flood is cut into batches.
async fn feed_ready(
    decoder: &mut dyn Decoder,
    first: Bytes,
    body: &mut Body,
    deltas: &mut Vec<Delta>,
) -> Result<(), Trouble> {
    decoder.feed(&first, deltas)?;
    for _ in 1..MOST_AT_ONCE {
        if decoder.is_complete() {
            break;
        }
        // Nothing more yet, or nothing more at all: the stream will say so again.
        let Some(Some(piece)) = ready(body).await else { break };
        decoder.feed(&piece?, deltas)?;
    }
    Ok(())
}

/// The next piece, if it is there. The connection hands them over one at a time, so it is given one turn; the network is
/// not waited for.
async fn ready(body: &mut Body) -> Option<Option<Result<Bytes, WireError>>> {
    if let Some(next) = body.next().now_or_never() {
        return Some(next);
    }
    let mut turned = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut turned, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
    body.next().now_or_never()
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
