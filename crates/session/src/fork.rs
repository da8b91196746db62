//! Forks: sessions that begin as copies of another.
//!
//! A fork contains copies of messages but no usage, so sums over all sessions count nothing twice.

use std::collections::HashSet;

use converse_canister::{Canister, Condensed, InvocationId};
use jiff::Timestamp;
use uuid::Uuid;

use crate::{Body, Header, Loaded, Metadata, Origin, Session, SessionError, Store};

/// The session to create.
#[derive(Debug, Clone)]
pub struct Fork {
    pub id: Uuid,
    /// The program that writes it, such as `converse 0.1.0`.
    pub program: String,
    /// Number of messages to copy; `None` for all.
    pub upto: Option<usize>,
    pub metadata: Metadata,
}

impl Store {
    /// Creates the new session completely or not at all. The source is only read, even if another process writes it.
    pub fn fork(&self, source: Uuid, fork: Fork, now: Timestamp) -> Result<(), SessionError> {
        let loaded = self.read(source)?;
        let upto = cut(&loaded, fork.upto)?;
        let seq = upto.checked_sub(1).and_then(|last| loaded.places.get(last)).map_or(1, |place| place.seq);
        let origin = Origin { session: source.to_string(), seq };
        let header = Header { forked: Some(origin), ..Header::new(fork.program, now) };
        let contents = self.contents(source);
        // A copy belongs where its source does.
        let project = self.metadata(source)?.project.or_else(|| fork.metadata.project.clone());
        self.place(fork.id, header, |session| {
            session.metadata = Metadata { project, ..fork.metadata };
            fill(session, &loaded, upto, now)?;
            session.contents.adopt(&contents, kept(&loaded, upto))
        })
    }
}

/// Returns the numbers of messages after which a fork can end: no invocation is open and no reply is cut.
pub fn cuts(canisters: &[Canister]) -> Vec<usize> {
    let mut open = 0usize;
    let mut possible = Vec::new();
    for (at, canister) in canisters.iter().enumerate() {
        match canister {
            Canister::Invocation(_) => open += 1,
            Canister::Result(_) => open = open.saturating_sub(1),
            _ => {}
        }
        let next = canisters.get(at + 1).and_then(Canister::turn);
        if open == 0 && (next.is_none() || next != canister.turn()) {
            possible.push(at + 1);
        }
    }
    possible
}

fn cut(loaded: &Loaded, wanted: Option<usize>) -> Result<usize, SessionError> {
    let canisters = loaded.transcript.as_slice();
    let Some(wanted) = wanted else { return Ok(canisters.len()) };
    let possible = cuts(canisters);
    if possible.contains(&wanted) {
        return Ok(wanted);
    }
    let before = possible.iter().copied().rfind(|number| *number < wanted);
    let after = possible.iter().copied().find(|number| *number > wanted);
    Err(SessionError::Uncuttable { at: wanted, before, after })
}

fn kept(loaded: &Loaded, upto: usize) -> &[Canister] {
    let canisters = loaded.transcript.as_slice();
    canisters.get(..upto).unwrap_or(canisters)
}

fn fill(session: &mut Session, loaded: &Loaded, upto: usize, now: Timestamp) -> Result<(), SessionError> {
    let canisters = kept(loaded, upto);
    let mut at = loaded.header.created;
    for (number, canister) in canisters.iter().enumerate() {
        at = loaded.places.get(number).map_or(at, |place| place.at);
        session.append(canister.clone().into(), at)?;
    }
    let invoked: HashSet<_> = canisters.iter().filter_map(invoked).collect();
    for (id, decision) in loaded.decisions.iter().filter(|(id, _)| invoked.contains(id)) {
        session.append(Body::Decided { id: id.clone(), decision: decision.clone() }, at)?;
    }
    let covers = |condensed: &&Condensed| condensed.covers <= upto;
    if let Some(condensed) = loaded.condensed.as_ref().filter(covers) {
        session.append(Body::Condensed { condensed: condensed.clone() }, at)?;
    }
    // After the last reply, because a reply at the end of a journal counts as cut while it was saved.
    session.append(Body::Note { text: "a fork".to_owned() }, now).map(drop)
}

fn invoked(canister: &Canister) -> Option<&InvocationId> {
    match canister {
        Canister::Invocation(invocation) => Some(&invocation.id),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use converse_canister::{
        Arguments, Assistant, Invocation, InvocationId, InvocationResult, Outcome, Stop, TurnId, User,
    };

    use super::*;

    fn assistant(turn: u64) -> Canister {
        let (turn, stop) = (TurnId(turn), Stop::End);
        Canister::Assistant(Assistant { turn, content: vec![], native: None, stop, response_id: None })
    }

    fn invocation(turn: u64, index: usize) -> Canister {
        let (turn, arguments) = (TurnId(turn), Arguments::parse(""));
        let id = InvocationId::of(turn, index);
        Canister::Invocation(Invocation { turn, id, wire_id: None, tool: "t".into(), arguments, seal: None })
    }

    fn result(turn: u64, index: usize) -> Canister {
        Canister::Result(InvocationResult::new(InvocationId::of(TurnId(turn), index), Outcome::Success, ""))
    }

    #[test]
    fn a_reply_is_never_cut() {
        let user = || Canister::User(User::text("x"));
        let talk = vec![
            user(),           // 1
            assistant(1),     // 2
            invocation(1, 0), // 3
            invocation(1, 1), // 4
            result(1, 1),     // 5
            result(1, 0),     // 6
            assistant(2),     // 7
            assistant(2),     // 8: more of the same reply
            user(),           // 9
            user(),           // 10
        ];
        assert_eq!(cuts(&talk), [1, 6, 8, 9, 10]);
        assert_eq!(cuts(&[]), [0; 0]);
    }
}
