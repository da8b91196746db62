//! The transcript of a conversation and its rules.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::{Canister, Invocation, InvocationId, TurnId};

/// An append-only list of canisters in which
/// - each result answers one open invocation, exactly once;
/// - nothing else is said while an invocation is open, except the rest of the reply that holds it;
/// - one reply is one turn: it begins with an assistant canister, is contiguous, and its number is never used again.
///
/// Every `Transcript` follows these rules; reading one from JSON checks them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Canister>", into = "Vec<Canister>")]
pub struct Transcript {
    canisters: Vec<Canister>,
    /// Ids of all invocations so far, and those of them that have no result yet: `open()` must not search.
    seen: HashSet<InvocationId>,
    open: HashSet<InvocationId>,
    last_turn: Option<TurnId>,
}

/// The rule that a canister would break.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TranscriptError {
    #[error("result `{0}` answers no open invocation")]
    NotOpen(InvocationId),
    #[error("invocations are still open: {0}")]
    StillOpen(usize),
    #[error("invocation `{0}` already exists")]
    DuplicateInvocation(InvocationId),
    #[error("turn {} is over", .0.0)]
    TurnOver(TurnId),
    #[error("invocation `{0}` is outside a reply")]
    Stray(InvocationId),
    #[error("turn {} exceeds the limit {}", .0.0, TurnId::LAST.0)]
    TurnBeyond(TurnId),
}

impl Transcript {
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a canister.
    ///
    /// # Errors
    /// The rule that the canister breaks; the transcript is then unchanged.
    pub fn push(&mut self, canister: Canister) -> Result<(), TranscriptError> {
        match &canister {
            Canister::Supervisor(_) | Canister::User(_) | Canister::Document(_) => self.nothing_open()?,
            Canister::Assistant(assistant) => {
                if self.current_turn() != Some(assistant.turn) {
                    self.nothing_open()?;
                    self.is_new(assistant.turn)?;
                    self.last_turn = Some(assistant.turn);
                }
            }
            Canister::Invocation(invocation) => self.admit(invocation)?,
            Canister::Result(result) => {
                if !self.open.remove(&result.id) {
                    return Err(TranscriptError::NotOpen(result.id.clone()));
                }
            }
        }
        self.canisters.push(canister);
        Ok(())
    }

    fn admit(&mut self, invocation: &Invocation) -> Result<(), TranscriptError> {
        if self.seen.contains(&invocation.id) {
            return Err(TranscriptError::DuplicateInvocation(invocation.id.clone()));
        }
        if self.current_turn() != Some(invocation.turn) {
            return Err(TranscriptError::Stray(invocation.id.clone()));
        }
        self.seen.insert(invocation.id.clone());
        self.open.insert(invocation.id.clone());
        Ok(())
    }

    /// Returns the turn that may still grow: that of the last canister, if a model wrote it.
    fn current_turn(&self) -> Option<TurnId> {
        self.canisters.last().and_then(Canister::turn)
    }

    fn nothing_open(&self) -> Result<(), TranscriptError> {
        if self.open.is_empty() { Ok(()) } else { Err(TranscriptError::StillOpen(self.open.len())) }
    }

    fn is_new(&self, turn: TurnId) -> Result<(), TranscriptError> {
        if turn > TurnId::LAST {
            return Err(TranscriptError::TurnBeyond(turn));
        }
        if self.last_turn.is_none_or(|last| last < turn) {
            Ok(())
        } else {
            Err(TranscriptError::TurnOver(turn))
        }
    }

    /// Returns the number for the next reply.
    pub fn next_turn(&self) -> TurnId {
        TurnId(self.last_turn.map_or(1, |last| last.0.saturating_add(1)))
    }

    /// Returns the invocations without a result, in order.
    pub fn open(&self) -> Vec<&Invocation> {
        if self.open.is_empty() {
            return Vec::new();
        }
        // Open invocations belong to the last turn only: walk back no further than its first canister.
        let start =
            self.canisters.iter().rposition(|c| c.turn().is_some_and(|turn| Some(turn) != self.last_turn));
        self.canisters[start.map_or(0, |at| at + 1)..]
            .iter()
            .filter_map(|canister| match canister {
                Canister::Invocation(invocation) if self.open.contains(&invocation.id) => Some(invocation),
                _ => None,
            })
            .collect()
    }

    pub fn has_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Returns the first `canisters` canisters of the transcript.
    ///
    /// # Errors
    /// [`TranscriptError::StillOpen`] if an invocation was open at that point.
    pub fn shortened(mut self, canisters: usize) -> Result<Self, TranscriptError> {
        self.canisters.truncate(canisters);
        let shorter = Self::try_from(self.canisters)?;
        match shorter.open.len() {
            0 => Ok(shorter),
            open => Err(TranscriptError::StillOpen(open)),
        }
    }

    pub fn as_slice(&self) -> &[Canister] {
        &self.canisters
    }
}

/// A summary that replaces the first canisters of a transcript for a model. The transcript keeps them all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condensed {
    /// Number of canisters that the summary replaces, from the first.
    pub covers: usize,
    /// Text of the summary, for the model.
    pub summary: String,
    /// The model that wrote the summary: `provider/model`.
    pub model: String,
}

impl TryFrom<Vec<Canister>> for Transcript {
    type Error = TranscriptError;

    fn try_from(canisters: Vec<Canister>) -> Result<Self, TranscriptError> {
        canisters.into_iter().try_fold(Self::new(), |mut transcript, canister| {
            transcript.push(canister)?;
            Ok(transcript)
        })
    }
}

impl From<Transcript> for Vec<Canister> {
    fn from(transcript: Transcript) -> Self {
        transcript.canisters
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arguments, Assistant, InvocationResult, Outcome, Stop, User};

    fn user() -> Canister {
        Canister::User(User::text("hello"))
    }

    fn assistant(turn: u64) -> Canister {
        Canister::Assistant(Assistant {
            turn: TurnId(turn),
            content: vec![],
            native: None,
            stop: Stop::End,
            response_id: None,
        })
    }

    fn invocation(turn: u64, index: usize) -> Canister {
        let turn = TurnId(turn);
        let id = InvocationId::of(turn, index);
        let arguments = Arguments::parse("");
        Canister::Invocation(Invocation { turn, id, wire_id: None, tool: "t".into(), arguments, seal: None })
    }

    fn result(turn: u64, index: usize) -> Canister {
        Canister::Result(InvocationResult::new(InvocationId::of(TurnId(turn), index), Outcome::Success, "ok"))
    }

    fn transcript(canisters: Vec<Canister>) -> Result<Transcript, TranscriptError> {
        Transcript::try_from(canisters)
    }

    #[test]
    fn a_lawful_conversation_passes_and_reports_what_is_open() {
        let mut lawful =
            transcript(vec![user(), assistant(1), invocation(1, 0), assistant(1), invocation(1, 1)]).unwrap();
        let ids = |t: &Transcript| t.open().iter().map(|i| i.id.to_string()).collect::<Vec<_>>();
        assert_eq!(ids(&lawful), ["inv_1_0", "inv_1_1"]);
        lawful.push(result(1, 1)).unwrap();
        assert_eq!(ids(&lawful), ["inv_1_0"]);
        lawful.push(result(1, 0)).unwrap();
        assert!(!lawful.has_open());
        lawful.push(assistant(2)).unwrap();
        lawful.push(user()).unwrap();
        assert_eq!(lawful.next_turn(), TurnId(3));
    }

    #[test]
    fn each_breach_has_its_own_error_and_changes_nothing() {
        use TranscriptError::{DuplicateInvocation, NotOpen, StillOpen, Stray, TurnBeyond, TurnOver};
        let id = |turn, index| InvocationId::of(TurnId(turn), index);
        let open = vec![user(), assistant(1), invocation(1, 0)];
        let closed = [open.clone(), vec![result(1, 0)]].concat();
        for (before, canister, error) in [
            (vec![user()], result(1, 0), NotOpen(id(1, 0))),
            (closed.clone(), result(1, 0), NotOpen(id(1, 0))),
            (open.clone(), user(), StillOpen(1)),
            (open.clone(), assistant(2), StillOpen(1)),
            (open.clone(), invocation(1, 0), DuplicateInvocation(id(1, 0))),
            (open, invocation(2, 0), Stray(id(2, 0))),
            (vec![user()], invocation(1, 0), Stray(id(1, 0))),
            (closed.clone(), invocation(1, 1), Stray(id(1, 1))),
            (closed.clone(), assistant(1), TurnOver(TurnId(1))),
            (closed.clone(), assistant(0), TurnOver(TurnId(0))),
            (closed.clone(), assistant(1 << 53), TurnBeyond(TurnId(1 << 53))),
            (closed, assistant(u64::MAX), TurnBeyond(TurnId(u64::MAX))),
        ] {
            let mut transcript = transcript(before).unwrap();
            let untouched = transcript.clone();
            assert_eq!(transcript.push(canister), Err(error));
            assert_eq!(transcript, untouched);
        }
    }

    #[test]
    fn reading_checks_the_law() {
        let lawful = transcript(vec![user(), assistant(1), invocation(1, 0), result(1, 0)]).unwrap();
        let json = serde_json::to_string(&lawful).unwrap();
        assert_eq!(serde_json::from_str::<Transcript>(&json).unwrap(), lawful);
        let orphan = serde_json::to_string(&vec![result(1, 0)]).unwrap();
        assert!(
            serde_json::from_str::<Transcript>(&orphan)
                .unwrap_err()
                .to_string()
                .contains("no open invocation")
        );
    }
}
