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
    Canister, Cost, Decision, InvocationId, InvocationResult, Outcome, Transcript, TurnId, Usage,
};
use serde_json::{Map, Value};

use crate::scan::Scan;
use crate::{Body, Entry, Header, SessionError};

const INTERRUPTED: &str = "interrupted: it was started and its outcome is unknown; it was not run again";
const NOT_STARTED: &str = "not run: the session was interrupted before it started";

/// A session as it is after repairs.
#[derive(Debug)]
pub struct Loaded {
    pub header: Header,
    /// Nothing in it is open.
    pub transcript: Transcript,
    /// In the order they were made.
    pub decisions: Vec<(InvocationId, Decision)>,
    /// Of all replies together.
    pub usage: Usage,
    /// Of the replies whose price was known.
    pub cost: Cost,
    /// Each name with the last value it was given.
    pub settings: Map<String, Value>,
    pub repairs: Vec<Repair>,
    /// The number of the next line, and the bytes of those there are.
    pub(crate) next_seq: u64,
    pub(crate) length: u64,
    pub(crate) torn: Vec<u8>,
}

/// What was not as a finished session is, and is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repair {
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
            Self::TornLine { .. } | Self::IncompleteReply { .. } => None,
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
            settings: Map::new(),
            repairs: Vec::new(),
            next_seq: 2,
            length: 0,
            torn: Vec::new(),
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
    let mut loaded = Loaded { next_seq, length, torn, ..Loaded::empty(header) };
    if !loaded.torn.is_empty() {
        loaded.repairs.push(Repair::TornLine { bytes: loaded.torn.len() });
    }
    let mut incomplete: HashSet<TurnId> = entries.iter().filter_map(said_incomplete).collect();
    if let Some(turn) = unfinished_reply(&entries)
        && incomplete.insert(turn)
    {
        loaded.repairs.push(Repair::IncompleteReply { turn });
    }
    let mut started = HashSet::new();
    for Entry { seq, body, .. } in entries {
        match body {
            Body::Canister { canister } => {
                loaded.transcript.push(without_native(canister, &incomplete)).map_err(|breach| {
                    SessionError::Corrupt { path: path.to_owned(), line: seq, reason: breach.to_string() }
                })?;
            }
            Body::Decided { id, decision } => loaded.decisions.push((id, decision)),
            Body::Started { id } => {
                started.insert(id);
            }
            Body::Used { usage, cost, .. } => {
                loaded.usage += usage;
                loaded.cost.0 = loaded.cost.0.saturating_add(cost.unwrap_or_default().0);
            }
            Body::Settings { settings } => loaded.settings.extend(settings),
            Body::Opened(_) | Body::Incomplete { .. } | Body::Note { .. } | Body::Other(_) => {}
        }
    }
    loaded.answer_open(&started);
    Ok(loaded)
}

impl Loaded {
    fn answer_open(&mut self, started: &HashSet<InvocationId>) {
        let open: Vec<_> =
            self.transcript.open().into_iter().map(|invocation| invocation.id.clone()).collect();
        for id in open {
            let repair =
                if started.contains(&id) { Repair::Interrupted { id } } else { Repair::NotStarted { id } };
            // A result of an open invocation breaks no law.
            if let Some(result) = repair.result()
                && self.transcript.push(Canister::Result(result)).is_ok()
            {
                self.repairs.push(repair);
            }
        }
    }
}

fn said_incomplete(entry: &Entry) -> Option<TurnId> {
    match entry.body {
        Body::Incomplete { turn } => Some(turn),
        _ => None,
    }
}

/// The reply that the journal ends in, if it has a native form that may say more than its canisters.
fn unfinished_reply(entries: &[Entry]) -> Option<TurnId> {
    let turn = canister(entries.last()?)?.turn()?;
    let of_turn = |canister: &&Canister| canister.turn() == Some(turn);
    let native = |canister: &Canister| matches!(canister, Canister::Assistant(a) if a.native.is_some());
    entries.iter().rev().map_while(canister).take_while(of_turn).any(native).then_some(turn)
}

fn canister(entry: &Entry) -> Option<&Canister> {
    match &entry.body {
        Body::Canister { canister } => Some(canister),
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
