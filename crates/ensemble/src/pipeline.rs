//! Runs one approved invocation: gate, run in its own task under its timeout, retry, limit the size, result.
//!
//! The steps before (parse, schema, rules, approval, journal) are in `Roster::judge`, the approver and the sinks. The order
//! is the same for the loop, `ensembles call` and the MCP server. Nothing here can fail: a timeout, a crash, a
//! cancellation and a refused connection are results that the model reads.

use std::sync::Arc;
use std::time::Duration;

use converse_canister::{Cost, InvocationResult, Outcome};
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::bounding::{bound_content, bound_text};
use crate::cost_meter::CostMeter;
use crate::invoker::{Answer, Context, Host, Invocable, InvokeError};
use crate::labelling::labels;
use crate::pausable_clock::PausableClock;
use crate::roster::Roster;
use crate::rules::CallRules;
use crate::shared::shared;
use crate::tool::Tool;
use crate::verdict::Approved;

/// How long a cancelled tool may clean up before it is dropped.
const CANCEL_GRACE: Duration = Duration::from_secs(2);
/// How long a result waits for pending costs.
const SETTLING: Duration = Duration::from_secs(60);

/// The text of the result of a tool that panicked.
pub const CRASHED: &str = "the tool crashed";

/// A failed attempt, in words for the model.
struct Failure {
    outcome: Outcome,
    text: String,
    /// Whether nothing had been sent: a retry cannot do anything twice.
    harmless: bool,
    /// Whether this is the failure of another call: nothing has run for this one.
    kept: bool,
    lacks_descriptors: bool,
}

impl Failure {
    fn new(outcome: Outcome, text: impl Into<String>) -> Self {
        Self { outcome, text: text.into(), harmless: false, kept: false, lacks_descriptors: false }
    }
}

/// What became of an invocation.
#[derive(Debug, Clone)]
pub struct Invoked {
    pub result: InvocationResult,
    /// The result as its MCP server wrote it, unless something of it was cut or removed.
    pub verbatim: Option<Arc<str>>,
    /// The tool could not be started, because this process has no file descriptor left.
    pub lacks_descriptors: bool,
}

/// Ends running invocations. One scope for all that run together.
#[derive(Debug, Clone)]
pub struct CancelScope {
    /// Stops running invocations, and prevents new ones.
    pub now: CancellationToken,
    /// Prevents waiting invocations from starting. Running ones go on.
    pub hold: CancellationToken,
}

impl CancelScope {
    /// Makes a scope that is cancelled whenever `cancel` is.
    pub fn below(cancel: &CancellationToken) -> Self {
        let now = cancel.child_token();
        Self { hold: now.child_token(), now }
    }
}

/// Where the calls of a tool wait for others that may not run at the same time.
#[derive(Debug, Clone)]
pub struct Gate {
    lock: Arc<RwLock<()>>,
    is_parallel: bool,
}

/// The right to run now, in parallel or alone. Others wait while it is held.
#[derive(Debug)]
pub struct Turn {
    gate: Gate,
    _guard: GateGuard,
}

#[derive(Debug)]
enum GateGuard {
    Shared { _guard: OwnedRwLockReadGuard<()> },
    Alone { _guard: OwnedRwLockWriteGuard<()> },
}

impl Gate {
    /// Waits until a call of the tool may run.
    pub async fn pass(self) -> Turn {
        let lock = Arc::clone(&self.lock);
        let guard = match self.is_parallel {
            true => GateGuard::Shared { _guard: lock.read_owned().await },
            false => GateGuard::Alone { _guard: lock.write_owned().await },
        };
        Turn { gate: self, _guard: guard }
    }
}

impl Turn {
    /// Returns whether it is a turn at this gate. The gate of a tool changes if the tool does.
    pub fn is_at(&self, gate: &Gate) -> bool {
        Arc::ptr_eq(&self.gate.lock, &gate.lock) && self.gate.is_parallel == gate.is_parallel
    }
}

impl Roster {
    /// Returns where calls of the tool with this name wait, if there is one.
    pub fn gate(&self, tool: &str) -> Option<Gate> {
        self.offer().find(tool).map(|tool| self.gate_of(tool))
    }

    /// Waits until the invocation may run. The error is the result of an invocation that will not run.
    pub async fn turn(&self, approved: &Approved, scope: &CancelScope) -> Result<Turn, InvocationResult> {
        self.turn_after(None, approved, scope).await
    }

    /// The same; a `turn` that was waited for before counts if it is a turn of the tool.
    pub async fn turn_after(
        &self,
        turn: Option<Turn>,
        approved: &Approved,
        scope: &CancelScope,
    ) -> Result<Turn, InvocationResult> {
        let gate = self.gate_of(&approved.tool);
        if let Some(turn) = turn.filter(|turn| turn.is_at(&gate)) {
            return Ok(turn);
        }
        let turn = gate.pass();
        tokio::select! {
            biased;
            () = scope.hold.cancelled() => {
                let text = "not run: the turn was ended before it began";
                Err(InvocationResult::new(approved.id.clone(), Outcome::Cancelled, text))
            }
            turn = turn => Ok(turn),
        }
    }

    fn gate_of(&self, tool: &Tool) -> Gate {
        let lock = if self.serves_many { &tool.calls.gate } else { &self.gate };
        Gate { lock: Arc::clone(lock), is_parallel: tool.policy.parallel }
    }

    /// Runs the invocation and returns its result. The timeout covers all attempts.
    pub async fn invoke(
        &self,
        approved: &Approved,
        _turn: Turn,
        host: Host,
        cancel: &CancellationToken,
    ) -> Invoked {
        self.run(approved, host.called_by(self.caller), cancel).await
    }

    /// The same, and the result as its MCP server wrote it.
    pub async fn invoke_verbatim(
        &self,
        approved: &Approved,
        _turn: Turn,
        host: Host,
        cancel: &CancellationToken,
    ) -> Invoked {
        self.run(approved, host.called_by(self.caller).verbatim(), cancel).await
    }

    async fn run(&self, approved: &Approved, host: Host, cancel: &CancellationToken) -> Invoked {
        let policy = &approved.tool.policy;
        let (tool, arguments) = (Arc::clone(&approved.tool), approved.arguments.object.clone());
        let host = host.judging(CallRules::new(self.rules().clone(), tool, arguments));
        let deadline = Instant::now() + policy.timeout;
        let mut tries_left = policy.max_retries;
        let (clock, meter) = (PausableClock::default(), CostMeter::default());
        let invocable = self.shared.as_ref().map(|runs| shared(&approved.tool, runs));
        let invocable = invocable.unwrap_or_else(|| Arc::clone(&approved.tool.invocable));
        let mut cost = None;
        loop {
            let attempt = attempt(approved, &invocable, (&host, &clock, &meter), cancel, deadline).await;
            if attempt
                .as_ref()
                .map_or_else(|failure| !failure.harmless && !failure.kept, |answer| !answer.kept)
            {
                cost = sum(cost, policy.cost);
            }
            match attempt {
                Ok(mut answer) => {
                    let verbatim = answer.verbatim.take();
                    let cost = sum(cost, meter.settle(SETTLING).await);
                    let result = self.labelled(approved, self.bounded(approved, answer));
                    let result = InvocationResult { cost, ..result };
                    let whole = result.truncated.is_none();
                    let verbatim = verbatim.filter(|_| whole);
                    return Invoked { result, verbatim, lacks_descriptors: false };
                }
                Err(failure) => {
                    let again = tries_left > 0
                        && (policy.idempotent || failure.harmless)
                        && matches!(failure.outcome, Outcome::Failed | Outcome::Unreachable)
                        && clock.now() < deadline;
                    if !again {
                        let text = bound_text(failure.text, policy.result_limit);
                        let result = InvocationResult::new(approved.id.clone(), failure.outcome, text);
                        let result = self.labelled(approved, result);
                        let cost = sum(cost, meter.settle(SETTLING).await);
                        let result = InvocationResult { cost, ..result };
                        let lacks_descriptors = failure.lacks_descriptors;
                        return Invoked { result, verbatim: None, lacks_descriptors };
                    }
                    tries_left -= 1;
                }
            }
        }
    }

    fn bounded(&self, approved: &Approved, answer: Answer) -> InvocationResult {
        let outcome = if answer.is_error { Outcome::Failed } else { Outcome::Success };
        let (content, truncated) =
            bound_content(answer.content, approved.tool.policy.result_limit, self.artefacts.as_ref());
        InvocationResult { id: approved.id.clone(), content, outcome, truncated, cost: None, labels: None }
    }

    fn labelled(&self, approved: &Approved, result: InvocationResult) -> InvocationResult {
        let labels = labels(approved, &result.content, self.rules());
        InvocationResult { labels, ..result }
    }
}

async fn attempt(
    approved: &Approved,
    invocable: &Arc<dyn Invocable>,
    (host, clock, meter): (&Host, &PausableClock, &CostMeter),
    cancel: &CancellationToken,
    deadline: Instant,
) -> Result<Answer, Failure> {
    let invocable = Arc::clone(invocable);
    let arguments = approved.arguments.clone();
    let context = Context {
        invoker: approved.tool.qualified.clone(),
        cancel: cancel.child_token(),
        deadline: deadline.into_std(),
        clock: clock.clone(),
        cost: meter.clone(),
        host: host.clone(),
        paths: approved.paths.clone(),
    };
    let own_cancel = context.cancel.clone();
    // A task of its own, so that a panic is contained; and one that does not outlive its caller.
    let task = tokio::spawn(async move { invocable.invoke(context, &arguments).await });
    let mut task = AbortOnDropHandle::new(task);
    let failure = tokio::select! {
        joined = &mut task => {
            let answer = joined.map_or_else(
                |error| Err(crashed(error.is_panic())),
                |answer| answer.map_err(failure_of),
            );
            // A tool that gives up because it was cancelled has not failed.
            return match answer {
                Err(Failure { kept, .. }) if cancel.is_cancelled() => Err(Failure { kept, ..cancelled() }),
                answer => answer,
            };
        }
        () = clock.sleep_until(deadline) => Failure::new(Outcome::Timeout, format!("no answer within {} s; it was stopped", approved.tool.policy.timeout.as_secs_f64())),
        () = cancel.cancelled() => cancelled(),
    };
    own_cancel.cancel();
    // Its late answer does not count, except for whether anything has run.
    let late = timeout(CANCEL_GRACE, &mut task).await;
    let kept = matches!(late, Ok(Ok(Err(InvokeError::Kept(_)))));
    Err(Failure { kept, ..failure })
}

fn sum(so_far: Option<Cost>, more: Option<Cost>) -> Option<Cost> {
    more.map_or(so_far, |more| Some(so_far.unwrap_or_default().plus(more)))
}

fn cancelled() -> Failure {
    Failure::new(Outcome::Cancelled, "cancelled before it had answered")
}

fn crashed(panicked: bool) -> Failure {
    let text = if panicked { CRASHED } else { "the tool was stopped" };
    Failure::new(Outcome::Failed, text)
}

fn failure_of(error: InvokeError) -> Failure {
    match error {
        InvokeError::Invalid(text) => {
            Failure { harmless: true, ..Failure::new(Outcome::Invalid, format!("invalid arguments: {text}")) }
        }
        InvokeError::Unreachable { message, sent } => {
            Failure { harmless: !sent, ..Failure::new(Outcome::Unreachable, message) }
        }
        InvokeError::NoDescriptors(text) => {
            Failure { harmless: true, lacks_descriptors: true, ..Failure::new(Outcome::Unreachable, text) }
        }
        InvokeError::Failed(text) => Failure::new(Outcome::Failed, text),
        InvokeError::Interrupted(text) => Failure::new(Outcome::Interrupted, text),
        InvokeError::Unsandboxed(text) => Failure::new(Outcome::Refused, text),
        InvokeError::HeldBack(text) => Failure { harmless: true, ..Failure::new(Outcome::NoSuchTool, text) },
        InvokeError::Kept(error) => Failure { kept: true, ..failure_of(*error) },
        InvokeError::Timeout(text) => Failure::new(Outcome::Timeout, text),
    }
}
