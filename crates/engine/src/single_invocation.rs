//! One invocation without a model, for `ensembles call`, descriptor tests and the MCP server.
//!
//! The order is the same as in a turn: judge, decide, journal, wait for a turn, sync, run, report. An invocation that the
//! sink has not accepted does not run.

use std::sync::Arc;
use std::time::{Duration, Instant};

use converse_canister::{Arguments, Canister, Decision, Invocation, InvocationResult, Outcome};
use converse_ensemble::{Approved, CancelScope, Host, Invoked, Pending, Roster, Turn, Verdict};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use crate::{Approver, Event, Sink, SinkError};

/// Decides about invocations for which a rule or a permission requires an approval.
pub trait ApprovalPolicy: Send + Sync {
    fn decide<'a>(&'a self, pending: &'a Pending) -> BoxFuture<'a, PolicyDecision>;
}

/// A decision, and the text for the caller if it is a refusal.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyDecision {
    pub decision: Decision,
    pub refusal: String,
}

/// Asks an approver if a person is available. Otherwise refuses with a message that names what would allow the invocation.
pub struct AskApprover<'a>(pub Option<&'a dyn Approver>);

impl std::fmt::Debug for AskApprover<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("AskApprover").field(&self.0.is_some()).finish()
    }
}

impl ApprovalPolicy for AskApprover<'_> {
    fn decide<'a>(&'a self, pending: &'a Pending) -> BoxFuture<'a, PolicyDecision> {
        let Some(approver) = self.0.filter(|approver| approver.can_ask()) else {
            return std::future::ready(nobody(pending)).boxed();
        };
        async move {
            let decisions = approver.decide(std::slice::from_ref(pending)).await;
            let silence = || deny("nobody answered", None);
            let decision = decisions.into_iter().next().unwrap_or_else(silence);
            PolicyDecision { decision, refusal: "it was not approved".to_owned() }
        }
        .boxed()
    }
}

fn nobody(pending: &Pending) -> PolicyDecision {
    let rule = pending.rule();
    // No flag overrides a rule that asks.
    let way = match pending.by_rule() {
        true => pending.reason().unwrap_or("a rule that asks takes precedence over `--allow`").to_owned(),
        false => format!("`--allow '{}'` gives it", pending.tool()),
    };
    let refusal = format!("it needs an approval and nobody can be asked here ({rule}); {way}");
    PolicyDecision { decision: deny(rule, Some("nobody could be asked")), refusal }
}

fn deny(rule: &str, comment: Option<&str>) -> Decision {
    Decision::Deny { rule: rule.to_owned(), comment: comment.map(str::to_owned) }
}

/// The configuration of one invocation.
pub struct SingleInvocation<'a> {
    pub roster: &'a Roster,
    pub policy: &'a dyn ApprovalPolicy,
    pub sink: &'a dyn Sink,
    pub scope: &'a CancelScope,
    /// Time limit of the run, in addition to the timeout of the tool.
    pub within: Option<Duration>,
}

/// The result of one invocation.
#[derive(Debug, Clone, PartialEq)]
pub struct InvocationReport {
    pub result: InvocationResult,
    /// The result as its MCP server wrote it, unless something of it was cut or removed.
    pub verbatim: Option<Arc<str>>,
    /// How long the tool ran; `None` if it did not run.
    pub elapsed: Option<Duration>,
    /// The tool could not be started, because this process has no file descriptor left.
    pub lacks_descriptors: bool,
}

impl std::fmt::Debug for SingleInvocation<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SingleInvocation").field("within", &self.within).finish_non_exhaustive()
    }
}

impl SingleInvocation<'_> {
    /// Judges, decides and runs the invocation.
    ///
    /// # Errors
    ///
    /// Only those of the sink. A tool that had not started by then never does.
    pub async fn run(&self, invocation: Invocation, host: Host) -> Result<InvocationReport, SinkError> {
        self.run_in(None, invocation, host).await
    }

    /// The same in a turn that was waited for before, so that the invocation is judged when it may run.
    ///
    /// # Errors
    ///
    /// Only those of the sink. A tool that had not started by then never does.
    pub async fn run_in(
        &self,
        turn: Option<Turn>,
        invocation: Invocation,
        host: Host,
    ) -> Result<InvocationReport, SinkError> {
        self.sink.emit(&Event::Appended(&Canister::Invocation(invocation.clone())))?;
        let approved = match self.judged(&invocation).await? {
            Ok(approved) => approved,
            Err(answer) => return self.unrun(*answer),
        };
        let turn = match self.roster.turn_after(turn, &approved, self.scope).await {
            Ok(turn) => turn,
            Err(answer) => return self.unrun(answer),
        };
        // With the arguments it runs with: defaults filled in, and as they were edited.
        let invocation = Invocation { arguments: approved.arguments().clone(), ..invocation };
        let (invocations, has_effects) = (std::slice::from_ref(&invocation), approved.has_effects());
        self.sink.emit(&Event::Started { invocations, has_effects })?;
        self.sink.settle().await?;
        let began = Instant::now();
        let running = self.roster.invoke_verbatim(&approved, turn, host, &self.scope.now);
        let Invoked { result, verbatim, lacks_descriptors } = self.in_time(running).await;
        let elapsed = began.elapsed();
        self.sink.emit(&Event::Finished { invocation: &invocation, result: &result, elapsed })?;
        Ok(InvocationReport { result, verbatim, elapsed: Some(elapsed), lacks_descriptors })
    }

    async fn in_time<T>(&self, running: impl Future<Output = T>) -> T {
        let mut running = std::pin::pin!(running);
        if let Some(within) = self.within {
            if let Ok(ran) = tokio::time::timeout(within, &mut running).await {
                return ran;
            }
            self.scope.now.cancel();
        }
        running.await
    }

    fn unrun(&self, result: InvocationResult) -> Result<InvocationReport, SinkError> {
        self.sink.emit(&Event::Appended(&Canister::Result(result.clone())))?;
        Ok(InvocationReport { result, verbatim: None, elapsed: None, lacks_descriptors: false })
    }

    /// Returns the approval to run the invocation, or its result if it does not run.
    async fn judged(
        &self,
        invocation: &Invocation,
    ) -> Result<Result<Approved, Box<InvocationResult>>, SinkError> {
        let decided = |decision: &Decision| self.sink.emit(&Event::Decided { id: &invocation.id, decision });
        match self.roster.judge(invocation) {
            Verdict::Answered(denied) => {
                if let Some(rule) = denied.rule {
                    decided(&Decision::Deny { rule, comment: None })?;
                }
                Ok(Err(Box::new(denied.result)))
            }
            Verdict::Allowed(approved) => {
                decided(&Decision::Allow { rule: approved.rule.clone() })?;
                Ok(Ok(approved))
            }
            Verdict::Ask(pending) => {
                let ruled = tokio::select! {
                    ruled = self.policy.decide(&pending) => ruled,
                    () = self.scope.hold.cancelled() => PolicyDecision {
                        decision: deny("nobody answered", None),
                        refusal: "it was not approved".to_owned(),
                    },
                };
                decided(&ruled.decision)?;
                Ok(self.granted(pending, ruled, invocation))
            }
        }
    }

    fn granted(
        &self,
        pending: Pending,
        ruled: PolicyDecision,
        invocation: &Invocation,
    ) -> Result<Approved, Box<InvocationResult>> {
        match ruled.decision {
            Decision::Allow { .. } | Decision::Remember { .. } => Ok(pending.approve()),
            Decision::Deny { .. } => {
                let id = pending.id().clone();
                Err(Box::new(InvocationResult::new(id, Outcome::Refused, ruled.refusal)))
            }
            // Edited arguments are checked like any others; the approval is for them.
            Decision::AllowEdited { arguments } => {
                let arguments = Arguments::from_object(arguments);
                match self.roster.judge(&Invocation { arguments, ..invocation.clone() }) {
                    Verdict::Answered(denied) => Err(Box::new(denied.result)),
                    Verdict::Allowed(approved) => Ok(approved),
                    Verdict::Ask(pending) => Ok(pending.approve()),
                }
            }
        }
    }
}
