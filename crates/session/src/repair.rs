//! From entries to a conversation that can go on. Pure: what is to be written about it is only said.
//!
//! The surprising part: a process may die in the middle of saving one reply. The first canister of a reply holds the
//! whole of it in the provider's own form; replayed, that would contain calls which have no canister and so no result,
//! and the provider would refuse the conversation for good. A `used` line follows every reply, so a reply that is the
//! last thing in a journal is not known to be whole: its canisters stay, its native form goes.

use std::collections::HashSet;
use std::fmt;
use std::path::Path;

use converse_canister::{
    Canister, Condensed, Cost, Decision, InvocationId, InvocationResult, Outcome, Transcript, TurnId, Usage,
};
use jiff::Timestamp;

use crate::course::{Course, unfinished_reply};
use crate::scan::{Damage, Scan};
use crate::{Body, Entry, Header, SessionError};

const INTERRUPTED: &str = "interrupted: it was started and its outcome is unknown; it was not run again";
const NOT_STARTED: &str = "not run: the session was interrupted before it started";

/// A session as it is after repairs.
#[derive(Debug)]
pub struct Loaded {
    pub header: Header,
    /// Nothing in it is open.
    pub transcript: Transcript,
    /// About invocations of the transcript, in the order they were made.
    pub decisions: Vec<(InvocationId, Decision)>,
    /// Of all replies there ever were, those that were gone back behind included: they were paid for.
    pub usage: Usage,
    /// Of those of them whose price was known.
    pub cost: Cost,
    /// There was a reply whose price was not known.
    pub unpriced: bool,
    /// Of all tools that this session ran, whatever was gone back behind.
    pub paid: Cost,
    /// Invocations of the transcript that were started, as this journal says: one of a fork says it of none.
    pub started: HashSet<InvocationId>,
    /// What models are shown instead of the beginning: the last one that was said and still holds.
    pub condensed: Option<Condensed>,
    /// Where each canister of the transcript stands in the journal. Those that a repair added stand where it writes them.
    pub places: Vec<Place>,
    pub repairs: Vec<Repair>,
    /// The number of the next line, and the bytes of those there are.
    pub(crate) next_seq: u64,
    pub(crate) length: u64,
    pub(crate) torn: Vec<u8>,
    /// The steps back that the conversation as it is now rests on.
    pub(crate) steps: Vec<(u64, u64)>,
}

/// Where a canister stands in the journal, and when it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub seq: u64,
    pub at: Timestamp,
}

/// What was not as a finished session is, and is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repair {
    /// So much was noted to be at its end, and is not there: no crash of ours, and nobody knows what it was.
    Shortened { bytes: u64 },
    /// What people added to it could not be read, and is kept under another name.
    Metadata { kept: String },
    /// The last line was never finished.
    TornLine { bytes: usize },
    /// A reply may lack its end; it is replayed without its native form.
    IncompleteReply { turn: TurnId },
    /// It was started; nobody knows what it did.
    Interrupted { id: InvocationId },
    /// It never ran.
    NotStarted { id: InvocationId },
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shortened { bytes } => write!(f, "{bytes} bytes that were at its end are gone"),
            Self::Metadata { kept } => {
                write!(f, "its name, tags and model could not be read; that file is kept as `{kept}`")
            }
            Self::TornLine { bytes } => write!(f, "an unfinished last line of {bytes} bytes was set aside"),
            Self::IncompleteReply { turn } => write!(f, "reply {} was cut while being saved", turn.0),
            Self::Interrupted { id } => write!(f, "`{id}` was interrupted, outcome unknown"),
            Self::NotStarted { id } => write!(f, "`{id}` was never run"),
        }
    }
}

impl Repair {
    fn result(&self) -> Option<InvocationResult> {
        match self {
            Self::Interrupted { id } => {
                Some(InvocationResult::new(id.clone(), Outcome::Interrupted, INTERRUPTED))
            }
            Self::NotStarted { id } => {
                Some(InvocationResult::new(id.clone(), Outcome::Cancelled, NOT_STARTED))
            }
            Self::Shortened { .. }
            | Self::Metadata { .. }
            | Self::TornLine { .. }
            | Self::IncompleteReply { .. } => None,
        }
    }
}

impl Loaded {
    /// A session that has only begun.
    pub(crate) fn empty(header: Header) -> Self {
        Self {
            header,
            transcript: Transcript::new(),
            decisions: Vec::new(),
            usage: Usage::default(),
            cost: Cost::default(),
            unpriced: false,
            paid: Cost::default(),
            started: HashSet::new(),
            condensed: None,
            places: Vec::new(),
            repairs: Vec::new(),
            next_seq: 2,
            length: 0,
            torn: Vec::new(),
            steps: Vec::new(),
        }
    }

    /// What to append so that the next load has nothing to repair.
    pub(crate) fn amendments(&self) -> Vec<Body> {
        if self.repairs.is_empty() {
            return Vec::new();
        }
        // The incomplete reply first: behind any other line its canisters would pass for a whole reply.
        let incomplete = self.repairs.iter().filter_map(|repair| match repair {
            Repair::IncompleteReply { turn } => Some(Body::Incomplete { turn: *turn }),
            _ => None,
        });
        let results = self.repairs.iter().filter_map(Repair::result);
        let results = results.map(|result| Canister::Result(result).into());
        let said: Vec<_> = self.repairs.iter().map(Repair::to_string).collect();
        let note = Body::Note { text: format!("repaired: {}", said.join("; ")) };
        incomplete.chain(results).chain([note]).collect()
    }
}

/// `path` is for the errors only.
pub(crate) fn load(scan: Scan, path: &Path) -> Result<Loaded, SessionError> {
    let Scan { header, entries, length, torn } = scan;
    let next_seq = entries.len() as u64 + 2;
    let last = entries.last().map_or(header.created, |entry| entry.at);
    let Course { live, steps, cut } = Course::of(&entries);
    let mut loaded = Loaded { next_seq, length, torn, steps, ..Loaded::empty(header) };
    if !loaded.torn.is_empty() {
        loaded.repairs.push(Repair::TornLine { bytes: loaded.torn.len() });
    }
    let told = entries.iter().zip(&live).filter(|(_, live)| **live);
    let mut incomplete: HashSet<TurnId> = told.filter_map(|(entry, _)| said_incomplete(entry)).collect();
    incomplete.extend(cut);
    if let Some(turn) = unfinished_reply(&entries)
        && incomplete.insert(turn)
    {
        loaded.repairs.push(Repair::IncompleteReply { turn });
    }
    // Whatever was gone back behind: it ran.
    let mut ran = HashSet::new();
    for (entry, live) in entries.into_iter().zip(live) {
        let place = Place { seq: entry.seq, at: entry.at };
        loaded.pay(&entry.body, &mut ran);
        match entry.body {
            Body::Used { usage, cost, .. } => {
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
            // One that would cover what is not there does not hold.
            Body::Condensed { condensed } if condensed.covers <= loaded.places.len() => {
                loaded.condensed = Some(condensed);
            }
            _ => {}
        }
    }
    loaded.answer_open(last);
    Ok(loaded)
}

impl Loaded {
    /// A fork copies results that were paid for elsewhere; only what was started here was paid for here.
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

    /// The places are those of the amendments: behind what is said of incomplete replies.
    fn answer_open(&mut self, at: Timestamp) {
        let incomplete =
            self.repairs.iter().filter(|repair| matches!(repair, Repair::IncompleteReply { .. }));
        let mut seq = self.next_seq + incomplete.count() as u64;
        let open: Vec<_> =
            self.transcript.open().into_iter().map(|invocation| invocation.id.clone()).collect();
        for id in open {
            let repair = if self.started.contains(&id) {
                Repair::Interrupted { id }
            } else {
                Repair::NotStarted { id }
            };
            // A result of an open invocation breaks no law.
            if let Some(result) = repair.result()
                && self.transcript.push(Canister::Result(result)).is_ok()
            {
                self.repairs.push(repair);
                self.places.push(Place { seq, at });
                seq += 1;
            }
        }
    }

    /// What the repairs added is written now.
    pub(crate) fn mended(&mut self, now: Timestamp) {
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
