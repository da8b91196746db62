//! Which invocations were started: what came back alone does not say whether a call that was cancelled did anything.

use std::collections::HashSet;

use converse_canister::{Canister, InvocationId, Outcome};
use converse_engine::{Event, Sink, SinkError};
use parking_lot::Mutex;

#[derive(Debug, Default)]
pub(super) struct Ran(Mutex<HashSet<InvocationId>>);

impl Ran {
    pub(super) fn of(started: HashSet<InvocationId>) -> Self {
        Self(Mutex::new(started))
    }

    /// Did it run, or may it have? A fork knows of none that it was started, so an outcome that only a run has counts too.
    pub(super) fn has(&self, id: &InvocationId, outcome: Option<Outcome>) -> bool {
        let ran = matches!(
            outcome,
            Some(Outcome::Success | Outcome::Failed | Outcome::Timeout | Outcome::Interrupted)
        );
        ran || self.0.lock().contains(id)
    }

    /// The calls are no longer part of the conversation, and their numbers may be used again.
    pub(super) fn forget(&self, turn: &[Canister]) {
        let mut started = self.0.lock();
        for canister in turn {
            if let Canister::Invocation(invocation) = canister {
                started.remove(&invocation.id);
            }
        }
    }
}

impl Sink for Ran {
    fn emit(&self, event: &Event<'_>) -> Result<(), SinkError> {
        if let Event::Started { invocations, .. } = event {
            self.0.lock().extend(invocations.iter().map(|invocation| invocation.id.clone()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use converse_canister::{Arguments, Invocation, TurnId};

    use super::*;

    #[test]
    fn a_cancelled_call_ran_only_if_it_was_started() {
        let id = |index| InvocationId::of(TurnId(1), index);
        let call = |index| Invocation {
            turn: TurnId(1),
            id: id(index),
            wire_id: None,
            tool: "io__write_file".into(),
            arguments: Arguments::parse("{}"),
            seal: None,
        };
        let ran = Ran::of(HashSet::from([id(0)]));
        ran.emit(&Event::Started { invocations: &[call(1)], has_effects: true }).unwrap();
        let cancelled = Some(Outcome::Cancelled);
        assert!(ran.has(&id(0), cancelled) && ran.has(&id(1), cancelled) && ran.has(&id(1), None));
        assert!(!ran.has(&id(2), cancelled) && !ran.has(&id(2), Some(Outcome::Refused)));
        assert!(ran.has(&id(2), Some(Outcome::Failed)), "a fork knows it by its result");
        ran.forget(&[Canister::Invocation(call(1))]);
        assert!(!ran.has(&id(1), cancelled), "the number is another's now");
    }
}
