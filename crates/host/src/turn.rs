//! A turn of the user, as `ask` and the REPL have it: what is said first, who is asked with what, how it ended.

pub mod ending;
pub mod keys;
pub mod sayings;
pub mod sessions;

use std::time::Instant;

use converse_canister::{Canister, Supervisor, Transcript};
use converse_engine::{AnswerCheck, Conversation, Engine, Event, Ports, Sink as _};
use converse_ensemble::Roster;

use crate::contents::Kept;
use crate::failure::{Failure, Kind};
use crate::journal::JournalSink;
use crate::routes::Wires;
use crate::settings::Settings;

/// What a model is asked with.
pub struct Asking<'a> {
    pub settings: &'a Settings,
    pub roster: &'a Roster,
    pub contents: &'a Kept,
    pub note: Option<String>,
    /// Words of a reply that breaks off can be taken back.
    pub can_take_back: bool,
    pub deadline: Option<Instant>,
}

crate::opaque_debug!(Asking<'_>);

impl<'a> Asking<'a> {
    pub fn engine(self, wires: &'a Wires) -> Engine<'a> {
        let Self { settings, roster, contents, note, can_take_back, deadline } = self;
        let (route, fallbacks) = settings.routes(wires);
        Engine {
            route,
            fallbacks,
            roster,
            blobs: contents,
            note,
            answer: settings.answer.as_ref().map(|wanted| wanted as &dyn AnswerCheck),
            timeouts: settings.timeouts,
            retry: settings.retry,
            compaction: settings.compaction,
            can_take_back,
            deadline: deadline.map(tokio::time::Instant::from_std),
        }
    }
}

/// The system text, if it is new to the conversation, and what the user says.
pub fn opening(transcript: &Transcript, system: Option<&str>, said: Vec<Canister>) -> Vec<Canister> {
    let last = transcript.as_slice().iter().rev().find_map(|canister| match canister {
        Canister::Supervisor(supervisor) => Some(supervisor.text.as_str()),
        _ => None,
    });
    let new = system.filter(|text| Some(*text) != last);
    let supervisor = new.map(|text| Canister::Supervisor(Supervisor { text: text.to_owned() }));
    supervisor.into_iter().chain(said).collect()
}

/// Says it: the sinks first, then the conversation.
pub fn say(
    conversation: &mut Conversation,
    canisters: Vec<Canister>,
    ports: Ports<'_>,
    journal: Option<&JournalSink>,
) -> Result<(), Failure> {
    for canister in canisters {
        match (&canister, journal) {
            // Words that a prompt puts into the assistant's mouth: no answer of this run.
            (Canister::Assistant(_), None) => {}
            (Canister::Assistant(_), Some(journal)) => journal.emit(&Event::Appended(&canister))?,
            _ => ports.append(&canister)?,
        }
        let said = conversation.say(canister);
        said.map_err(|error| Failure::new(Kind::Internal, "internal", error.to_string()))?;
    }
    Ok(())
}
