//! What a shared call costs counts once, also where it fails or is not waited for.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers may panic")]

use std::time::Duration;

use converse_canister::{Cost, Outcome};
use converse_config::{Effects, Policy};
use converse_ensemble::{Answer, InvokeError, Roster, Shared, SharedRuns};
use converse_testkit::tools::{self, Does, invocation, one_tool};
use futures_util::FutureExt as _;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// A shared tool that takes so long, and answers so.
async fn roster(time: Duration, answer: Result<Answer, InvokeError>) -> Roster {
    let slow = Does(move |_, _| {
        let answer = answer.clone();
        sleep(time).map(|()| answer)
    });
    let policy = Policy {
        cost: Some(Cost(10)),
        effects: Effects::None,
        timeout: Duration::from_secs(5),
        ..Policy::default()
    };
    let inner = Box::new(one_tool("dear", policy, slow));
    tools::roster(Shared { inner, runs: SharedRuns::default() }).await
}

async fn call(roster: &Roster, cancel: &CancellationToken) -> (Outcome, Option<Cost>) {
    let result = tools::call(roster, &invocation("t__dear", "{}"), cancel).await;
    (result.outcome, result.cost)
}

#[tokio::test(start_paused = true)]
async fn a_shared_call_is_paid_for_once() {
    let second = Duration::from_secs(1);
    for (time, answer, outcome) in [
        (second, Ok(Answer::text("here")), Outcome::Success),
        (second, Ok(Answer::error("no")), Outcome::Failed),
        (second, Err(InvokeError::Failed("no".to_owned())), Outcome::Failed),
        (second * 60, Ok(Answer::text("too late")), Outcome::Timeout),
    ] {
        let first = roster(time, answer.clone()).await;
        let (other, never) = (first.for_caller(1), CancellationToken::new());
        let both = tokio::join!(call(&first, &never), call(&other, &never));
        assert_eq!(both, ((outcome, Some(Cost(10))), (outcome, None)), "{answer:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_only_waits_and_is_cancelled_pays_nothing() {
    let first = roster(Duration::from_secs(3), Ok(Answer::text("here"))).await;
    let (other, never, ended) = (first.for_caller(1), CancellationToken::new(), CancellationToken::new());
    let end = async {
        sleep(Duration::from_secs(1)).await;
        ended.cancel();
    };
    let (paid, free, ()) = tokio::join!(call(&first, &never), call(&other, &ended), end);
    assert_eq!(paid, (Outcome::Success, Some(Cost(10))));
    assert_eq!(free, (Outcome::Cancelled, None));
}
