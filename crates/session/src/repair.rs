//! Builds a valid conversation from entries. Pure: lines to write are only returned.
//!
//! A process may die while it saves a reply. The first canister of a reply contains the whole reply in the provider's
//! form. Replayed, it would contain calls without canisters and results, and the provider would refuse the conversation
//! for good. A `used` line follows every reply, so a reply at the end of a journal may be incomplete: its canisters stay,
//! and its native form is removed. If the reply was still arriving, its text up to there becomes a reply that was cut.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::Path;

use converse_canister::{
    Assistant, Canister, Condensed, Content, Cost, Decision, Invocation, InvocationId, InvocationResult,
    Outcome, Stop, Transcript, TurnId, Usage,
};
use jiff::Timestamp;

use crate::course::{Course, partial_reply, unfinished_reply};
use crate::scan::{Damage, Scan};
use crate::stats::{full, is_own, milliseconds};
use crate::{Body, Entry, FileChanges, Header, SessionError};

const INTERRUPTED: &str = "interrupted: it was started and its outcome is unknown; it was not run again";
const NOT_STARTED: &str = "not run: the session was interrupted before it started";

/// A session after repairs.
#[derive(Debug)]
pub struct Loaded {
    pub header: Header,
    /// Without open invocations, unless they wait ([`Store::resume`](crate::Store::resume)) or their turn goes on
    /// ([`Store::take_up`](crate::Store::take_up)).
    pub transcript: Transcript,
    /// Decisions about invocations of the transcript, in order.
    pub decisions: Vec<(InvocationId, Decision)>,
    /// Of all replies, including those that were left by going back.
    pub usage: Usage,
    /// Of all replies with a known price.
    pub cost: Cost,
    /// The price of a reply was not known.
    pub unpriced: bool,
    /// Cost of all tools that this session ran, including those left by going back.
    pub paid: Cost,
    /// Invocations of the transcript that were started here; a fork has none for copied messages.
    pub started: HashSet<InvocationId>,
    /// Files that its tools changed.
    pub changes: FileChanges,
    /// What models get instead of the beginning: the last valid one.
    pub condensed: Option<Condensed>,
    /// The position of each canister of the transcript in the journal. Canisters of repairs have the position where they
    /// will be written.
    pub places: Vec<Place>,
    /// What the replies of the transcript took; those of a fork or import were paid for elsewhere.
    pub replies: HashMap<TurnId, Reply>,
    pub repairs: Vec<Repair>,
    /// Open invocations that wait for a decision.
    pub(crate) waiting: HashSet<InvocationId>,
    /// The text of a reply that was arriving.
    pub(crate) partial: Option<(TurnId, String)>,
    /// Time of the last line.
    pub(crate) last: Timestamp,
    /// Number of the next line, and bytes of the existing ones.
    pub(crate) next_seq: u64,
    pub(crate) length: u64,
    pub(crate) torn: Vec<u8>,
    /// The steps back that lead to the current conversation.
    pub(crate) steps: Vec<(u64, u64)>,
}

/// The position of a canister in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub seq: u64,
    pub at: Timestamp,
}

/// What a reply took.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// `provider/model`, or the model alone if the provider is not known.
    pub model: String,
    pub usage: Usage,
    /// `None` if the price is not known.
    pub cost: Option<Cost>,
    /// Time from the message that it answers to its end; `None` if the clock went back.
    pub milliseconds: Option<u64>,
}

/// A repair of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repair {
    /// Bytes at the end are missing although they were noted. No crash explains this.
    Shortened { bytes: u64 },
    /// The metadata could not be read and is kept under another name.
    Metadata { kept: String },
    /// The last line is unfinished.
    TornLine { bytes: usize },
    /// A line that was not synced is unreadable after a power cut; the bytes from there on.
    TornTail { line: u64, bytes: usize },
    /// A reply may be incomplete and is replayed without its native form.
    IncompleteReply { turn: TurnId },
    /// The reply was still arriving. Its text up to there is kept as a reply that was cut.
    PartialReply { turn: TurnId, text: String },
    /// The invocation was started, and its outcome is unknown.
    Interrupted { id: InvocationId },
    /// The invocation never ran.
    NotStarted { id: InvocationId },
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shortened { bytes } => write!(f, "{bytes} bytes at the end are missing"),
            Self::Metadata { kept } => {
                write!(f, "its name, tags and model could not be read; that file is kept as `{kept}`")
            }
            Self::TornLine { bytes } => write!(f, "an unfinished last line of {bytes} bytes was set aside"),
            Self::TornTail { line, bytes } => write!(
                f,
                "{bytes} bytes from line {line} on, which a power cut left incomplete, were set aside as `torn-{line}`"
            ),
            Self::IncompleteReply { turn } => write!(f, "reply {} was cut while being saved", turn.0),
            Self::PartialReply { turn, text } => {
                write!(
                    f,
                    "reply {} was interrupted; the {} bytes that had arrived are kept",
                    turn.0,
                    text.len()
                )
            }
            Self::Interrupted { id } => write!(f, "`{id}` was interrupted, outcome unknown"),
            Self::NotStarted { id } => write!(f, "`{id}` was never run"),
        }
    }
}

impl Repair {
    /// Returns whether a crash explains it.
    pub(crate) fn is_of_a_crash(&self) -> bool {
        match self {
            Self::Shortened { .. } | Self::Metadata { .. } => false,
            Self::TornLine { .. }
            | Self::TornTail { .. }
            | Self::IncompleteReply { .. }
            | Self::PartialReply { .. }
            | Self::Interrupted { .. }
            | Self::NotStarted { .. } => true,
        }
    }

    /// Returns the repair of an open invocation.
    pub(crate) fn of_open(id: InvocationId, started: &HashSet<InvocationId>) -> Self {
        if started.contains(&id) { Self::Interrupted { id } } else { Self::NotStarted { id } }
    }

    /// Returns the message that completes the conversation.
    pub(crate) fn canister(&self) -> Option<Canister> {
        let result = |id: &InvocationId, outcome, text: &str| {
            Some(Canister::Result(InvocationResult::new(id.clone(), outcome, text)))
        };
        match self {
            Self::Interrupted { id } => result(id, Outcome::Interrupted, INTERRUPTED),
            Self::NotStarted { id } => result(id, Outcome::Cancelled, NOT_STARTED),
            Self::PartialReply { turn, text } => Some(Canister::Assistant(Assistant {
                turn: *turn,
                content: vec![Content::text(text)],
                native: None,
                stop: Stop::Cut,
                response_id: None,
            })),
            Self::Shortened { .. }
            | Self::Metadata { .. }
            | Self::TornLine { .. }
            | Self::TornTail { .. }
            | Self::IncompleteReply { .. } => None,
        }
    }
}

impl Loaded {
    /// Returns a session without messages.
    pub(crate) fn empty(header: Header) -> Self {
        Self {
            last: header.created,
            header,
            transcript: Transcript::new(),
            decisions: Vec::new(),
            usage: Usage::default(),
            cost: Cost::default(),
            unpriced: false,
            paid: Cost::default(),
            started: HashSet::new(),
            changes: FileChanges::default(),
            condensed: None,
            places: Vec::new(),
            replies: HashMap::new(),
            repairs: Vec::new(),
            waiting: HashSet::new(),
            partial: None,
            next_seq: 2,
            length: 0,
            torn: Vec::new(),
            steps: Vec::new(),
        }
    }

    /// Returns the lines to append, so that the next load has nothing to repair.
    pub(crate) fn amendments(&self) -> Vec<Body> {
        if self.repairs.is_empty() {
            return Vec::new();
        }
        // The incomplete reply comes first: after any other line its canisters would count as a complete reply.
        let incomplete = self.repairs.iter().filter_map(|repair| match repair {
            Repair::IncompleteReply { turn } => Some(Body::Incomplete { turn: *turn }),
            _ => None,
        });
        let added = self.repairs.iter().filter_map(Repair::canister).map(Body::from);
        let reasons: Vec<_> = self.repairs.iter().map(Repair::to_string).collect();
        let note = Body::Note { text: format!("repaired: {}", reasons.join("; ")) };
        incomplete.chain(added).chain([note]).collect()
    }
}

/// Builds the conversation, with open invocations. `path` is for errors only.
pub(crate) fn load(scan: Scan, path: &Path) -> Result<Loaded, SessionError> {
    let Scan { header, entries, length, torn } = scan;
    let next_seq = entries.len() as u64 + 2;
    let last = entries.last().map_or(header.created, |entry| entry.at);
    let Course { live, steps, cut } = Course::of(&entries);
    let mut loaded = Loaded { last, next_seq, length, torn, steps, ..Loaded::empty(header) };
    let bytes = loaded.torn.len();
    if loaded.torn.contains(&b'\n') {
        loaded.repairs.push(Repair::TornTail { line: next_seq, bytes });
    } else if bytes > 0 {
        loaded.repairs.push(Repair::TornLine { bytes });
    }
    let live_entries = entries.iter().zip(&live).filter(|(_, live)| **live);
    let mut incomplete: HashSet<TurnId> =
        live_entries.filter_map(|(entry, _)| said_incomplete(entry)).collect();
    incomplete.extend(cut);
    if let Some(turn) = unfinished_reply(&entries)
        && incomplete.insert(turn)
    {
        loaded.repairs.push(Repair::IncompleteReply { turn });
    }
    let partial = partial_reply(&entries);
    // Tools that ran, even if the conversation went back behind them.
    let mut ran = HashSet::new();
    let (mut own, mut reply, mut since) = (false, None, None);
    for (entry, live) in entries.into_iter().zip(live) {
        let place = Place { seq: entry.seq, at: entry.at };
        loaded.pay(&entry.body, &mut ran);
        own |= is_own(&loaded.header, &entry);
        if let Body::Canister { canister } = &entry.body
            && live
        {
            reply = canister.turn();
            // The canisters of a reply do not wait for it.
            since = if reply.is_none() { Some(place.at) } else { since };
        }
        match entry.body {
            Body::Used { usage, cost, model, provider } => {
                if let Some(turn) = reply.take().filter(|_| live && own) {
                    let milliseconds = since.and_then(|since| milliseconds(since, place.at));
                    let model = full(provider.as_deref(), &model);
                    loaded.replies.insert(turn, Reply { model, usage, cost, milliseconds });
                }
                loaded.usage += usage;
                loaded.unpriced |= cost.is_none();
                loaded.cost = loaded.cost.plus(cost.unwrap_or_default());
            }
            _ if !live => {}
            Body::Canister { canister } => {
                let canister = without_native(canister, &incomplete);
                let lawful = loaded.transcript.push(canister);
                lawful.map_err(|breach| Damage { line: place.seq, reason: breach.to_string() }.at(path))?;
                loaded.places.push(place);
            }
            Body::Decided { id, decision } => loaded.decisions.push((id, decision)),
            Body::Started { id } => {
                loaded.started.insert(id);
            }
            Body::Changed { change } => loaded.changes.add(place.seq, change),
            Body::Waiting { ids } => loaded.waiting = ids.into_iter().collect(),
            // A summary of more messages than there are is not valid.
            Body::Condensed { condensed } if condensed.covers <= loaded.places.len() => {
                loaded.condensed = Some(condensed);
            }
            _ => {}
        }
    }
    loaded.partial = partial;
    Ok(loaded)
}

impl Loaded {
    /// Adds the cost of results of invocations that were started here, because a fork copies paid results.
    fn pay(&mut self, body: &Body, ran: &mut HashSet<InvocationId>) {
        match body {
            Body::Started { id } => {
                ran.insert(id.clone());
            }
            Body::Canister { canister: Canister::Result(result) } if ran.remove(&result.id) => {
                self.paid = self.paid.plus(result.cost.unwrap_or_default());
            }
            _ => {}
        }
    }

    /// Returns whether the conversation can go on with its open invocations: some wait, and none was started.
    pub(crate) fn is_waiting(&self) -> bool {
        let open = self.transcript.open();
        open.iter().any(|one| self.waiting.contains(&one.id))
            && open.iter().all(|one| !self.started.contains(&one.id))
    }

    /// Adds results for invocations that were started and may not run again. The others stay open, and the text of a reply
    /// that was arriving is left out: the model is called again.
    #[must_use]
    pub(crate) fn taken_up(mut self, may_repeat: &dyn Fn(&Invocation) -> bool) -> Self {
        self.partial = None;
        let started = std::mem::take(&mut self.started);
        let is_closed = |one: &Invocation| started.contains(&one.id) && !may_repeat(one);
        let mut taken_up = self.answered_if(&started, is_closed);
        taken_up.started = started;
        taken_up
    }

    /// Adds results for open invocations, and the text of a reply that was arriving.
    #[must_use]
    pub(crate) fn answered(mut self) -> Self {
        let started = std::mem::take(&mut self.started);
        let mut answered = self.answered_if(&started, |_| true);
        answered.started = started;
        answered
    }

    /// The positions of what is added follow the lines about incomplete replies.
    fn answered_if(
        mut self,
        started: &HashSet<InvocationId>,
        is_closed: impl Fn(&Invocation) -> bool,
    ) -> Self {
        let (at, partial) = (self.last, self.partial.take());
        let incomplete =
            self.repairs.iter().filter(|repair| matches!(repair, Repair::IncompleteReply { .. }));
        let mut seq = self.next_seq + incomplete.count() as u64;
        let open = self.transcript.open().into_iter().filter(|one| is_closed(one));
        let open: Vec<_> = open.map(|one| Repair::of_open(one.id.clone(), started)).collect();
        let partial = partial.map(|(turn, text)| Repair::PartialReply { turn, text });
        for repair in open.into_iter().chain(partial) {
            // A result of an open invocation is always allowed, and a reply if its turn is new.
            if let Some(canister) = repair.canister()
                && self.transcript.push(canister).is_ok()
            {
                self.repairs.push(repair);
                self.places.push(Place { seq, at });
                seq += 1;
            }
        }
        self
    }

    /// Sets the time of the canisters that repairs added.
    pub(crate) fn set_repair_time(&mut self, now: Timestamp) {
        let added = self.places.iter_mut().rev().take_while(|place| place.seq >= self.next_seq);
        added.for_each(|place| place.at = now);
    }
}

fn said_incomplete(entry: &Entry) -> Option<TurnId> {
    match entry.body {
        Body::Incomplete { turn } => Some(turn),
        _ => None,
    }
}

fn without_native(mut canister: Canister, incomplete: &HashSet<TurnId>) -> Canister {
    if let Canister::Assistant(assistant) = &mut canister
        && incomplete.contains(&assistant.turn)
    {
        assistant.native = None;
    }
    canister
}

#[cfg(test)]
mod tests;
