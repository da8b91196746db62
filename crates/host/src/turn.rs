//! What goes with a turn of the user: the system text before it, where it is kept, how it ended.

pub mod ending;
pub mod keys;
pub mod sessions;

use converse_canister::{Canister, Supervisor, Transcript};

/// The system text, if it is new to the conversation, and what the user says. Nothing precedes a turn without a message,
/// which continues with open invocations.
pub fn opening(transcript: &Transcript, system: Option<&str>, said: Vec<Canister>) -> Vec<Canister> {
    let last = transcript.as_slice().iter().rev().find_map(|canister| match canister {
        Canister::Supervisor(supervisor) => Some(supervisor.text.as_str()),
        _ => None,
    });
    let new = system.filter(|text| !said.is_empty() && Some(*text) != last);
    let supervisor = new.map(|text| Canister::Supervisor(Supervisor { text: text.to_owned() }));
    supervisor.into_iter().chain(said).collect()
}
