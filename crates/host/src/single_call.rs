//! Calls of tools without a model: the steps of every invocation, one call at a time.

use std::cell::Cell;
use std::time::Duration;

use converse_canister::{Arguments, Invocation, InvocationId, TurnId};
use converse_engine::{ApprovalPolicy, InvocationReport, SingleInvocation};
use converse_ensemble::{CancelScope, Host, Roster};

use crate::audit::AuditSink;
use crate::failure::Failure;
use crate::interrupt::Interrupt;

const TURN: TurnId = TurnId(1);

/// Calls the tools of a roster.
pub struct Caller<'a> {
    pub roster: &'a Roster,
    pub(crate) audit: &'a AuditSink,
    interrupt: &'a Interrupt,
    calls: Cell<usize>,
}

crate::opaque_debug!(Caller<'_>);

impl<'a> Caller<'a> {
    pub fn new(roster: &'a Roster, audit: &'a AuditSink, interrupt: &'a Interrupt) -> Self {
        Self { roster, audit, interrupt, calls: Cell::new(0) }
    }

    /// Calls the tool that models see as `shown`. With `within`, a call that takes longer is stopped.
    ///
    /// # Errors
    ///
    /// Fails if the run is interrupted or the audit log cannot be written. A tool that fails is an answer.
    pub async fn call(
        &self,
        shown: &str,
        arguments: Arguments,
        policy: &dyn ApprovalPolicy,
        within: Option<Duration>,
    ) -> Result<InvocationReport, Failure> {
        let scope = CancelScope::below(&self.interrupt.token);
        let (roster, sink) = (self.roster, self.audit);
        let single = SingleInvocation { roster, policy, sink, scope: &scope, within };
        let answered = single.run(self.invocation(shown, arguments), Host::default()).await?;
        self.check_interrupt()?;
        Ok(answered)
    }

    pub(crate) fn invocation(&self, shown: &str, arguments: Arguments) -> Invocation {
        let number = self.calls.replace(self.calls.get() + 1);
        Invocation {
            turn: TURN,
            id: InvocationId::of(TURN, number),
            wire_id: None,
            tool: shown.to_owned(),
            arguments,
            seal: None,
        }
    }

    pub(crate) fn check_interrupt(&self) -> Result<(), Failure> {
        if self.interrupt.number().is_some() { Err(self.interrupt.failure()) } else { Ok(()) }
    }
}
