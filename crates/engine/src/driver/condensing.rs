//! Makes room in the context window before each model call, also within a turn: see [`crate::context`].
//!
//! The summary is requested on the current route, with retries, and costs like any reply. If there is no summary, the
//! conversation continues and more of the results is left out.

use std::borrow::Cow;

use converse_canister::{Canister, Condensed, Declaration, PreparedTools};
use converse_ensemble::Offer;
use converse_provider::Prompt;
use tokio_util::sync::CancellationToken;

use super::Driver;
use crate::context::{self, Ledger, Room, Trims, bounded, cut, summary_request, weight};
use crate::{Conversation, Ending, Engine, EngineError, Event, Ports, Route, SinkError};

/// Words that the request asks for, and bytes of the summary that are kept.
const WORDS: u64 = 1_200;
const BYTES: u64 = 16 * 1024;
/// Summaries in one turn of the user: each is a call of a model, and counts as one.
const MOST: u32 = 3;
/// Of what may be sent, for documents that were handed over with a question and outlive the summary.
const DOCUMENTS: u64 = 4;

/// The outcome of a request to summarise the conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum CondenseOutcome {
    /// Tokens of a request before and after, by estimate.
    Done {
        before: u64,
        after: u64,
    },
    /// Nothing is old enough to be summarised.
    Nothing,
    /// There is no summary, for this reason. The conversation is unchanged.
    Failed(String),
    Ended(Ending),
}

/// Summarises the older part of the conversation now, regardless of the size of the window. Used between two turns. `focus`:
/// what the user wants kept above all.
///
/// # Errors
///
/// Only those of a sink: a model call that fails is [`CondenseOutcome::Failed`].
pub async fn condense_now(
    conversation: &mut Conversation,
    engine: &Engine<'_>,
    ports: Ports<'_>,
    cancel: &CancellationToken,
    focus: Option<&str>,
) -> Result<CondenseOutcome, EngineError> {
    if conversation.transcript().has_open() {
        return Ok(CondenseOutcome::Nothing);
    }
    let offer = engine.roster.offer();
    let mut driver = Driver::new(conversation, engine, ports, cancel);
    let tools = context::offered(
        &offer,
        driver.conversation.transcript().as_slice(),
        &engine.compaction,
        &engine.route.facts,
    );
    driver.condense(OfferedTools { declarations: &tools, prepared: None }, 0, focus).await
}

/// Returns what fills the next request of this conversation.
pub fn ledger(conversation: &Conversation, engine: &Engine<'_>) -> Ledger {
    let offer = engine.roster.offer();
    let route = &engine.route;
    let tools =
        context::offered(&offer, conversation.transcript().as_slice(), &engine.compaction, &route.facts);
    let factor = conversation.context_state().scale.of(&route.id());
    measured(conversation, engine, route, &tools).scaled(factor)
}

fn measured(
    conversation: &Conversation,
    engine: &Engine<'_>,
    route: &Route<'_>,
    tools: &[Declaration],
) -> Ledger {
    let extras = route.request_extras(!tools.is_empty(), engine.note.as_deref());
    let prompt = Prompt {
        model: &route.model,
        view: &conversation.view(),
        tools,
        controls: &extras.controls,
        facts: &route.facts,
        blobs: engine.blobs,
    };
    Ledger::of(&prompt, &route.endpoint).with_note(extras.note.as_deref())
}

/// The tools that a model is shown.
#[derive(Clone, Copy)]
pub(super) struct OfferedTools<'o> {
    pub(super) declarations: &'o [Declaration],
    /// Belongs to these tools.
    pub(super) prepared: Option<&'o PreparedTools>,
}

impl OfferedTools<'_> {
    fn tokens(&self) -> u64 {
        let count = || context::declared_tokens(self.declarations);
        self.prepared.map_or_else(count, |prepared| prepared.tokens(count))
    }
}

impl Driver<'_> {
    /// Returns the tools that the model is shown. Says once if these are not all tools.
    pub(super) fn tools<'o>(
        &mut self,
        offer: &'o Offer,
        route: &Route<'_>,
    ) -> Result<Cow<'o, [Declaration]>, SinkError> {
        let canisters = self.conversation.transcript().as_slice();
        let tools = context::offered(offer, canisters, &self.engine.compaction, &route.facts);
        if matches!(tools, Cow::Owned(_)) && !self.conversation.context_state().search_reported {
            self.conversation.context_state_mut().search_reported = true;
            let (all, tokens) = (offer.declarations.len(), context::tokens_of(offer));
            if offer.can_search() {
                let message = format!(
                    "{all} tools of about {tokens} tokens are offered by a search; the model gets only the tools that it needs"
                );
                self.ports.emit(&Event::Noted(&message))?;
            } else {
                let shown = tools.len();
                let message = format!(
                    "{all} tools of about {tokens} tokens are too many for the model, and the search for them (tools.search) may not run, so the model gets {shown} of them"
                );
                self.ports.emit(&Event::Warned(&message))?;
            }
        }
        Ok(tools)
    }

    /// Returns the estimated tokens of the next request, before they are scaled: the total of its [`Ledger`]. The transcript
    /// only grows, so as long as it is shown unchanged only what is new is weighed.
    pub(super) fn estimate(&mut self, tools: OfferedTools<'_>) -> u64 {
        let route = self.engine.routes_from(self.route).0;
        let view = self.conversation.view();
        let Cow::Borrowed(canisters) = view else {
            return measured(self.conversation, self.engine, route, tools.declarations).total();
        };
        let extras = route.request_extras(!tools.declarations.is_empty(), self.engine.note.as_deref());
        let prompt = Prompt {
            model: &route.model,
            view: canisters,
            tools: tools.declarations,
            controls: &extras.controls,
            facts: &route.facts,
            blobs: self.engine.blobs,
        };
        self.sums.extend(&prompt, &route.endpoint);
        tools.tokens() + self.sums.tokens() + extras.note.as_deref().map_or(0, context::note_tokens)
    }

    fn factor(&self) -> f64 {
        let route = self.engine.routes_from(self.route).0;
        self.conversation.context_state().scale.of(&route.id())
    }

    fn size(&mut self, tools: OfferedTools<'_>) -> u64 {
        let estimated = self.estimate(tools);
        self.scaled(estimated)
    }

    fn scaled(&self, estimated: u64) -> u64 {
        context::share(estimated, self.factor())
    }

    fn may_summarise(&self) -> bool {
        !self.unsummarised && self.summaries < MOST && self.conversation.has_iterations_left()
    }

    /// Learns the ratio of the estimate and the provider's count.
    pub(super) fn counted(&mut self, estimated: u64, counted: Option<u64>) {
        let route = self.engine.routes_from(self.route).0.id();
        if let Some(counted) = counted {
            self.conversation.context_state_mut().scale.learn(&route, estimated, counted);
        }
    }

    fn room(&self) -> Option<Room> {
        let route = self.engine.routes_from(self.route).0;
        let refused = self.conversation.context_state().refused(&route.id());
        Room::of(&self.engine.compaction, &route.facts, &route.controls, refused)
    }

    /// Makes room after the provider has refused a request as too long, regardless of its estimate. Returns whether the next
    /// request is shorter.
    pub(super) async fn make_shorter(
        &mut self,
        tools: OfferedTools<'_>,
        estimated: u64,
    ) -> Result<bool, EngineError> {
        let route = self.engine.routes_from(self.route).0.id();
        self.conversation.context_state_mut().refused = Some((route, self.scaled(estimated)));
        Ok(self.make_room(tools).await?.is_some_and(|now| now < estimated))
    }

    /// Makes the next request fit. Returns its tokens before they are scaled, or `None` if the turn was ended meanwhile. Far
    /// from the limit of the window it is measured only once, because that takes time in proportion to the conversation.
    pub(super) async fn make_room(&mut self, tools: OfferedTools<'_>) -> Result<Option<u64>, EngineError> {
        let estimated = self.estimate(tools);
        let room =
            self.room().filter(|room| self.engine.compaction.compact && self.scaled(estimated) > room.most);
        let Some(room) = room else { return Ok(Some(estimated)) };
        let in_part = self.conversation.context_state().trims.shortened_inputs();
        self.trim(room);
        if self.size(tools) > room.target && self.may_summarise() {
            match self.condense(tools, room.worth, None).await? {
                CondenseOutcome::Done { .. } | CondenseOutcome::Nothing => {}
                CondenseOutcome::Failed(why) => {
                    self.unsummarised = true;
                    self.ports.emit(&Event::Warned(&format!(
                        "the conversation is close to the context limit of the model and could not be summarised: {why}; \
                         results are shortened instead"
                    )))?;
                }
                CondenseOutcome::Ended(ending) => {
                    self.conversation.end(ending);
                    return Ok(None);
                }
            }
            if let Some(limit) = self.conversation.bill().reaches() {
                self.conversation.end(Ending::Limit(limit));
                return Ok(None);
            }
        }
        let size = self.size(tools);
        if size > room.most {
            let bytes = context::share((size - room.target) * context::BYTES, 1.0 / self.factor());
            let places = (self.covers(), self.conversation.current());
            let mut trims = self.conversation.context_state().trims.clone();
            trims.squeeze(self.conversation.transcript().as_slice(), places, self.engine.blobs, bytes);
            self.retrim(trims);
        }
        if self.conversation.context_state().trims.shortened_inputs() > in_part {
            self.ports.emit(&Event::Warned(
                "the model gets only the beginning and the end of earlier questions and documents that are too long; \
                 the session keeps the whole text",
            ))?;
        }
        Ok(Some(self.estimate(tools)))
    }

    fn covers(&self) -> usize {
        self.conversation.condensed().map_or(0, |condensed| condensed.covers)
    }

    /// Shortens superseded results, large old results, and questions that were refused for their length. All of it at once,
    /// so that the prompt stays unchanged for a while afterwards.
    fn trim(&mut self, room: Room) {
        let offer = self.engine.roster.offer();
        let reads = |tool: &str| offer.find(tool).is_some_and(|tool| tool.reads());
        let blobs = self.engine.blobs;
        let mut trims = self.conversation.context_state().trims.clone();
        let canisters = self.conversation.transcript().as_slice();
        trims.superseded(canisters, blobs, reads);
        trims.old(canisters, blobs);
        trims.pinned(canisters, self.covers(), blobs, self.documents(room.most));
        let route = self.engine.routes_from(self.route).0.id();
        if self.conversation.context_state().refused(&route).is_some() {
            trims.unanswered(canisters, blobs, self.conversation.current());
        }
        self.retrim(trims);
    }

    /// Returns the bytes of documents that outlive a summary, for requests of at most this many tokens.
    fn documents(&self, most: u64) -> u64 {
        context::share(most / DOCUMENTS * context::BYTES, 1.0 / self.factor())
    }

    fn retrim(&mut self, trims: Trims) {
        if trims != self.conversation.context_state().trims {
            self.conversation.context_state_mut().trims = trims;
            self.conversation.changed();
        }
    }

    /// Has the older part summarised, if it has at least `worth` tokens.
    async fn condense(
        &mut self,
        tools: OfferedTools<'_>,
        worth: u64,
        focus: Option<&str>,
    ) -> Result<CondenseOutcome, EngineError> {
        let before = self.size(tools);
        let route = self.engine.routes_from(self.route).0;
        let factor = self.factor();
        let window = context::window(&route.facts).unwrap_or(before).max(1);
        let canisters = self.conversation.transcript().as_slice();
        let shown = context::shortened(canisters, &self.conversation.context_state().trims);
        let from = self.covers();
        let blobs = self.engine.blobs;
        let weigh =
            |canister: &Canister| context::share(weight(canister, blobs), factor / context::BYTES as f64);
        let Some(to) = cut(&shown, from, before.min(window) / 4, weigh) else {
            return Ok(CondenseOutcome::Nothing);
        };
        let old = shown.get(from..to).unwrap_or_default();
        if old.iter().map(weigh).sum::<u64>() < worth {
            return Ok(CondenseOutcome::Nothing);
        }
        // Half of what may be sent: the rest is for the answer, and for what the estimate is wrong by. Less, where nobody
        // knows what may be sent, only what may not.
        let part = if context::window(&route.facts).is_some() { 2 } else { 4 };
        let most = context::share(before.min(window) / part * context::BYTES, 1.0 / factor);
        let longest = usize::try_from(WORDS.min(window / 16).max(50)).unwrap_or(usize::MAX);
        let request = summary_request(
            self.conversation.condensed(),
            old,
            usize::try_from(most).unwrap_or(usize::MAX),
            longest,
            focus,
        );
        let written = match self.written(&request, window).await? {
            Ok(written) => written,
            Err(instead) => return Ok(instead),
        };
        let bytes = usize::try_from(BYTES.min(window / 8 * context::BYTES)).unwrap_or(usize::MAX);
        let summary = bounded(&written, bytes);
        if summary.is_empty() {
            return Ok(CondenseOutcome::Failed("the summary was empty".to_owned()));
        }
        let condensed = Condensed { covers: to, summary, model: route.id() };
        let mut trims = self.conversation.context_state().trims.clone();
        trims.pinned(
            self.conversation.transcript().as_slice(),
            to,
            blobs,
            self.documents(before.min(window)),
        );
        let mut tried = self.conversation.clone();
        tried.context_state_mut().trims = trims.clone();
        tried.condense(condensed.clone());
        let after = measured(&tried, self.engine, route, tools.declarations).total();
        let after = context::share(after, factor);
        if after >= before {
            return Ok(CondenseOutcome::Failed("the summary was no shorter".to_owned()));
        }
        self.ports.emit(&Event::Condensed { condensed: &condensed, before, after })?;
        self.conversation.context_state_mut().trims = trims;
        self.conversation.condense(condensed);
        Ok(CondenseOutcome::Done { before, after })
    }
}
