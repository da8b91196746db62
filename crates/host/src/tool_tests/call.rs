//! The calls of tests.

use std::time::Duration;

use converse_canister::{Arguments, Canister, Content, Decision, InvocationResult, Outcome};
use converse_engine::{ApprovalPolicy, Event, PolicyDecision, Sink as _};
use converse_ensemble::{Pending, Verdict};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::single_call::Caller;

/// A call to make.
pub(super) struct Call<'a> {
    /// The name under which a model sees the tool.
    pub(super) shown: &'a str,
    pub(super) arguments: &'a Map<String, Value>,
    /// The permission `ask` counts as approved.
    pub(super) approved: bool,
    /// The call is stopped when it takes longer.
    pub(super) within: Option<Duration>,
}

/// The result of a call.
pub(super) struct Called {
    pub(super) outcome: Outcome,
    pub(super) content: Vec<Content>,
    pub(super) took: Duration,
    /// False if the call was answered before the tool ran.
    pub(super) ran: bool,
}

impl Call<'_> {
    /// Runs the call. Fails only if the run must end.
    pub(super) async fn run(&self, caller: &Caller<'_>) -> Result<Called, Failure> {
        let policy = Approval { approved: self.approved };
        let arguments = Arguments::from_object(self.arguments.clone());
        let answered = caller.call(self.shown, arguments, &policy, self.within).await?;
        let InvocationResult { outcome, content, .. } = answered.result;
        let (took, ran) = (answered.elapsed.unwrap_or_default(), answered.elapsed.is_some());
        Ok(Called { outcome, content, took, ran })
    }

    /// Judges the call without running it: the outcome of a refusal, or `Success` if the call would run.
    pub(super) fn judge(&self, caller: &Caller<'_>) -> Result<Outcome, Failure> {
        let invocation = caller.invocation(self.shown, Arguments::from_object(self.arguments.clone()));
        caller.audit.emit(&Event::Appended(&Canister::Invocation(invocation.clone())))?;
        caller.check_interrupt()?;
        let Verdict::Answered(denied) = caller.roster.judge(&invocation) else {
            return Ok(Outcome::Success);
        };
        caller.audit.emit(&Event::Appended(&Canister::Result(denied.result.clone())))?;
        caller.check_interrupt()?;
        Ok(denied.result.outcome)
    }
}

/// Running the tests is the approval.
struct Approval {
    approved: bool,
}

impl ApprovalPolicy for Approval {
    fn decide<'a>(&'a self, pending: &'a Pending) -> BoxFuture<'a, PolicyDecision> {
        let rule = pending.rule();
        let refusal = format!(
            "the call needs an approval, which a test of an untrusted ensemble does not give ({rule})"
        );
        let decision = match self.approved {
            true => Decision::Allow { rule: format!("asked for by `ensembles test` ({rule})") },
            false => Decision::Deny { rule: rule.to_owned(), comment: Some("not trusted".to_owned()) },
        };
        std::future::ready(PolicyDecision { decision, refusal }).boxed()
    }
}
