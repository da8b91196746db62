//! One call of a test: the way of every invocation, with a time of its own.

use std::cell::Cell;
use std::time::Duration;

use converse_canister::{
    Arguments, Canister, Content, Decision, Invocation, InvocationId, InvocationResult, Outcome, TurnId,
};
use converse_engine::{Event, Ruled, Ruling, SingleInvocation, Sink as _};
use converse_ensemble::{CancelScope, Host, Pending, Roster, Verdict};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use converse_host::audit::AuditSink;
use converse_host::failure::Failure;
use converse_host::interrupt::Interrupt;

const TURN: TurnId = TurnId(1);

pub(super) struct Stage<'a> {
    pub(super) roster: &'a Roster,
    audit: &'a AuditSink<'a>,
    interrupt: &'a Interrupt,
    calls: Cell<usize>,
}

/// What is to be called.
pub(super) struct Call<'a> {
    /// The name that a model would call it by.
    pub(super) shown: &'a str,
    pub(super) arguments: &'a Map<String, Value>,
    /// "Ask" counts as yes.
    pub(super) agreed: bool,
    /// It is stopped when it takes longer.
    pub(super) within: Option<Duration>,
}

pub(super) struct Called {
    pub(super) outcome: Outcome,
    pub(super) content: Vec<Content>,
    pub(super) took: Duration,
    /// False, if it was answered before anything ran.
    pub(super) ran: bool,
}

impl Called {
    fn not(result: InvocationResult) -> Self {
        Self { outcome: result.outcome, content: result.content, took: Duration::ZERO, ran: false }
    }
}

impl<'a> Stage<'a> {
    pub(super) fn new(roster: &'a Roster, audit: &'a AuditSink<'a>, interrupt: &'a Interrupt) -> Self {
        Self { roster, audit, interrupt, calls: Cell::new(0) }
    }

    /// Fails only if the run must end.
    pub(super) async fn call(&self, call: &Call<'_>) -> Result<Called, Failure> {
        let scope = CancelScope::below(&self.interrupt.token);
        let ruling = Leave { agreed: call.agreed };
        let (roster, sink, within) = (self.roster, self.audit, call.within);
        let single = SingleInvocation { roster, ruling: &ruling, sink, scope: &scope, within };
        let answered = single.run(self.asked_for(call), Host::default()).await?;
        self.go_on()?;
        let ran = answered.elapsed.is_some();
        Ok(Called { took: answered.elapsed.unwrap_or_default(), ran, ..Called::not(answered.result) })
    }

    /// Judges and does nothing more: `None`, if it would run.
    pub(super) fn refusal(&self, call: &Call<'_>) -> Result<Option<Called>, Failure> {
        let invocation = self.asked_for(call);
        self.audit.emit(&Event::Appended(&Canister::Invocation(invocation.clone())))?;
        self.go_on()?;
        match self.roster.judge(&invocation) {
            Verdict::Answered(denied) => self.answered(denied.result).map(Some),
            Verdict::Allowed(_) | Verdict::Ask(_) => Ok(None),
        }
    }

    fn asked_for(&self, call: &Call<'_>) -> Invocation {
        let number = self.calls.replace(self.calls.get() + 1);
        Invocation {
            turn: TURN,
            id: InvocationId::of(TURN, number),
            wire_id: None,
            tool: call.shown.to_owned(),
            arguments: Arguments::from_object(call.arguments.clone()),
            seal: None,
        }
    }

    fn answered(&self, answer: InvocationResult) -> Result<Called, Failure> {
        self.audit.emit(&Event::Appended(&Canister::Result(answer.clone())))?;
        self.go_on()?;
        Ok(Called::not(answer))
    }

    fn go_on(&self) -> Result<(), Failure> {
        if self.interrupt.number().is_some() { Err(self.interrupt.failure()) } else { Ok(()) }
    }
}

/// Whoever runs the tests has asked for them.
struct Leave {
    agreed: bool,
}

impl Ruling for Leave {
    fn on<'a>(&'a self, pending: &'a Pending) -> BoxFuture<'a, Ruled> {
        let rule = pending.rule();
        let refusal =
            format!("it needs an approval, which a test of what is not trusted does not give ({rule})");
        let decision = match self.agreed {
            true => Decision::Allow { rule: format!("asked for by `ensembles test` ({rule})") },
            false => Decision::Deny { rule: rule.to_owned(), comment: Some("not trusted".to_owned()) },
        };
        std::future::ready(Ruled { decision, refusal }).boxed()
    }
}
