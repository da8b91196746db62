//! One invocation without a model: for whoever calls tools by hand or for others (`ensembles call`, its tests, a gateway).
//!
//! The order is the loop's: judge → decide → written down → its turn → started, durable → run → finished. What the sink
//! has not accepted does not run.

use std::sync::Arc;
use std::time::{Duration, Instant};

use converse_canister::{Arguments, Canister, Decision, Invocation, InvocationResult, Outcome};
use converse_ensemble::{Approved, CancelScope, Host, Pending, Roster, Verdict};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use crate::{Approver, Event, Sink, SinkError};

/// What becomes of an invocation that must be asked about.
pub trait Ruling: Send + Sync {
    fn on<'a>(&'a self, pending: &'a Pending) -> BoxFuture<'a, Ruled>;
}

/// A decision, and the words to whoever called if it is a refusal.
#[derive(Debug, Clone, PartialEq)]
pub struct Ruled {
    pub decision: Decision,
    pub refusal: String,
}

/// Asks, if somebody can be asked; else it is refused, and told what would allow it.
pub struct Asking<'a>(pub Option<&'a dyn Approver>);

impl std::fmt::Debug for Asking<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Asking").field(&self.0.is_some()).finish()
    }
}

impl Ruling for Asking<'_> {
    fn on<'a>(&'a self, pending: &'a Pending) -> BoxFuture<'a, Ruled> {
        let Some(approver) = self.0.filter(|approver| approver.can_ask()) else {
            return std::future::ready(nobody(pending)).boxed();
        };
        async move {
            let decisions = approver.decide(std::slice::from_ref(pending)).await;
            let silence = || deny("nobody answered", None);
            let decision = decisions.into_iter().next().unwrap_or_else(silence);
            Ruled { decision, refusal: "it was not approved".to_owned() }
        }
        .boxed()
    }
}

fn nobody(pending: &Pending) -> Ruled {
    let rule = pending.rule();
    // No flag outdoes a rule that asks.
    let way = match pending.by_rule() {
        true => pending.reason().unwrap_or("a rule that asks is not outdone by `--allow`").to_owned(),
        false => format!("`--allow '{}'` gives it", pending.tool()),
    };
    let refusal = format!("it needs an approval and nobody can be asked here ({rule}); {way}");
    Ruled { decision: deny(rule, Some("nobody could be asked")), refusal }
}

fn deny(rule: &str, comment: Option<&str>) -> Decision {
    Decision::Deny { rule: rule.to_owned(), comment: comment.map(str::to_owned) }
}

/// What one invocation is run with.
pub struct SingleInvocation<'a> {
    pub roster: &'a Roster,
    pub ruling: &'a dyn Ruling,
    pub sink: &'a dyn Sink,
    pub scope: &'a CancelScope,
    /// It is stopped when it runs longer; its tool's own limit holds beside.
    pub within: Option<Duration>,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    pub result: InvocationResult,
    /// As its server wrote it, if it is from one and nothing of it was cut or cleaned.
    pub verbatim: Option<Arc<str>>,
    /// How long it ran; `None` if it was answered before anything did.
    pub elapsed: Option<Duration>,
}

impl std::fmt::Debug for SingleInvocation<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SingleInvocation").field("within", &self.within).finish_non_exhaustive()
    }
}

impl SingleInvocation<'_> {
    /// Fails only if the sink does: what had not started then never will.
    pub async fn run(&self, invocation: Invocation, host: Host) -> Result<Answered, SinkError> {
        self.sink.emit(&Event::Appended(&Canister::Invocation(invocation.clone())))?;
        let approved = match self.judged(&invocation).await? {
            Ok(approved) => approved,
            Err(answer) => return self.unrun(*answer),
        };
        let turn = match self.roster.turn(&approved, self.scope).await {
            Ok(turn) => turn,
            Err(answer) => return self.unrun(answer),
        };
        // With the arguments it runs with: defaults filled in, and as they were edited.
        let invocation = Invocation { arguments: approved.arguments().clone(), ..invocation };
        self.sink.emit(&Event::Started(std::slice::from_ref(&invocation)))?;
        self.sink.settle().await?;
        let began = Instant::now();
        let running = self.roster.invoke_verbatim(&approved, turn, host, &self.scope.now);
        let (result, verbatim) = self.in_time(running).await;
        let elapsed = began.elapsed();
        self.sink.emit(&Event::Finished { invocation: &invocation, result: &result, elapsed })?;
        Ok(Answered { result, verbatim, elapsed: Some(elapsed) })
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

    fn unrun(&self, result: InvocationResult) -> Result<Answered, SinkError> {
        self.sink.emit(&Event::Appended(&Canister::Result(result.clone())))?;
        Ok(Answered { result, verbatim: None, elapsed: None })
    }

    /// The leave to run it, or its answer without.
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
                    ruled = self.ruling.on(&pending) => ruled,
                    () = self.scope.hold.cancelled() => Ruled {
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
        ruled: Ruled,
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
