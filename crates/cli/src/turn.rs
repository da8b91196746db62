//! A turn of the user, as `ask` and the REPL have it: what is said first, who is asked with what, how it ended.

pub(crate) mod ending;
pub(crate) mod keys;
pub(crate) mod sayings;
pub(crate) mod sessions;

use std::time::Instant;

use converse_canister::{Canister, Supervisor, Transcript};
use converse_engine::{AnswerCheck, Conversation, Engine, Event, Ports, Sink as _};
use converse_ensemble::Roster;

use crate::adapters::contents::Kept;
use crate::adapters::journal::JournalSink;
use crate::failure::{Failure, Kind};
use crate::routes::Wires;
use crate::settings::Settings;

/// What a model is asked with.
pub(crate) struct Asking<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) roster: &'a Roster,
    pub(crate) contents: &'a Kept,
    pub(crate) note: Option<String>,
    /// Words of a reply that breaks off can be taken back.
    pub(crate) can_take_back: bool,
    pub(crate) deadline: Option<Instant>,
}

impl<'a> Asking<'a> {
    pub(crate) fn engine(self, wires: &'a Wires) -> Engine<'a> {
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
            care: settings.care,
            can_take_back,
            deadline: deadline.map(tokio::time::Instant::from_std),
        }
    }
}

/// The system text, if it is new to the conversation, and what the user says.
pub(crate) fn opening(transcript: &Transcript, system: Option<&str>, said: Vec<Canister>) -> Vec<Canister> {
    let last = transcript.as_slice().iter().rev().find_map(|canister| match canister {
        Canister::Supervisor(supervisor) => Some(supervisor.text.as_str()),
        _ => None,
    });
    let new = system.filter(|text| Some(*text) != last);
    let supervisor = new.map(|text| Canister::Supervisor(Supervisor { text: text.to_owned() }));
    supervisor.into_iter().chain(said).collect()
}

/// Says it: the sinks first, then the conversation.
pub(crate) fn say(
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
            _ => ports.tell(&canister)?,
        }
        let said = conversation.say(canister);
        said.map_err(|error| Failure::new(Kind::Internal, "internal", error.to_string()))?;
    }
    Ok(())
}
