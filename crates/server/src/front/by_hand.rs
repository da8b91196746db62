//! Calls of tools by a person, without a model: the gate, the limits and the audit log are those of every call.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use converse_canister::{Arguments, Decision, Digest};
use converse_engine::{ApprovalPolicy, AskApprover, InvocationReport, PolicyDecision};
use converse_ensemble::{Pending, Roster};
use converse_host::audit::AuditSink;
use converse_host::context::RunContext;
use converse_host::failure::{Failure, Kind};
use converse_host::interrupt::Interrupt;
use converse_host::single_call::Caller;
use converse_host::world::World;
use converse_session::new_id;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::question::question_digest;
use super::turns::Place;

/// One call. It goes on if its client leaves, so that its end is recorded.
pub(crate) struct CallJob {
    pub(crate) roster: Roster,
    /// The directories of the principal, with its audit log.
    pub(crate) world: Arc<World>,
    pub(crate) audits: bool,
    /// The name that models see.
    pub(crate) tool: String,
    pub(crate) arguments: Arguments,
    /// The question that the person has seen and approves.
    pub(crate) approved: Option<Digest>,
    pub(crate) answer: oneshot::Sender<Result<InvocationReport, Failure>>,
    pub(crate) place: Place,
}

impl CallJob {
    /// Runs the call until `stop`, which interrupts it.
    pub(super) async fn run(self, context: &RunContext, stop: CancellationToken) {
        let Self { roster, world, audits, tool, arguments, approved, answer, place } = self;
        let _place = place;
        // Ids of calls are unique only within a session, so that each call has one of its own in the log.
        let session = format!("by-hand-{}", new_id(World::now(), &World::random_bytes()));
        let audit = AuditSink::new(audits, Some(session), context, &world);
        let (interrupt, policy) = (Interrupt::default(), Person { approved });
        let caller = Caller::new(&roster, &audit, &interrupt);
        let call = AssertUnwindSafe(caller.call(&tool, arguments, &policy, None)).catch_unwind();
        let mut call = std::pin::pin!(call);
        let ended = tokio::select! {
            ended = &mut call => ended,
            () = stop.cancelled() => {
                interrupt.tell(15);
                call.await
            }
        };
        let crashed = |_| Err(Failure::new(Kind::Internal, "internal", "the call crashed"));
        let _ = answer.send(ended.unwrap_or_else(crashed));
    }
}

/// The person who calls the tool.
struct Person {
    /// The question that was approved.
    approved: Option<Digest>,
}

impl ApprovalPolicy for Person {
    fn decide<'a>(&'a self, pending: &'a Pending) -> BoxFuture<'a, PolicyDecision> {
        if self.approved != Some(question_digest(pending)) {
            // A rule or a file has changed since the call was judged.
            let nobody = AskApprover(None);
            return async move { nobody.decide(pending).await }.boxed();
        }
        let decision = Decision::Allow { rule: "user".to_owned() };
        std::future::ready(PolicyDecision { decision, refusal: String::new() }).boxed()
    }
}
