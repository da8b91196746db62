//! A call for which a person is asked: its limits stand still meanwhile, and it pays what it ran up.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers may panic")]

use std::time::Duration;

use converse_canister::{Cost, Outcome};
use converse_config::Policy;
use converse_ensemble::{Answer, Context};
use converse_testkit::tools::{Does, call, invocation, one_tool, roster};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

/// Asks somebody who takes so long, works so long, and costs so much.
struct Asks(Duration, Duration, Option<u64>);

/// What became of it, what it cost, and after how many seconds. It is ended after so many.
async fn run(asks: Asks, policy: Policy, ended: Option<u64>) -> (Outcome, Option<Cost>, u64) {
    let Asks(asks, works, cost) = asks;
    let tool = Does(move |context: Context, _| async move {
        let paused = context.clock.pause();
        sleep(asks).await;
        drop(paused);
        cost.into_iter().for_each(|cost| context.cost.add(Cost(cost)));
        sleep(works).await;
        Ok(Answer::text("done"))
    });
    let roster = roster(one_tool("x", policy, tool)).await;
    let (begun, cancel) = (Instant::now(), CancellationToken::new());
    if let Some(seconds) = ended {
        let cancel = cancel.clone();
        tokio::spawn(async move {
            sleep(Duration::from_secs(seconds)).await;
            cancel.cancel();
        });
    }
    let result = call(&roster, &invocation("t__x", "{}"), &cancel).await;
    (result.outcome, result.cost, begun.elapsed().as_secs())
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_question_is_not_the_call_s() {
    let seconds = Duration::from_secs;
    for (asks, works, ended, outcome, after) in [
        (500, 5, None, Outcome::Success, 505),
        (500, 50, None, Outcome::Timeout, 512),
        (0, 50, None, Outcome::Timeout, 12),
        (500, 5, Some(20), Outcome::Cancelled, 22),
    ] {
        let policy = Policy { timeout: seconds(10), ..Policy::default() };
        let (became, _, took) = run(Asks(seconds(asks), seconds(works), None), policy, ended).await;
        // Two seconds more: what is told to end may tidy up.
        assert_eq!((became, took), (outcome, after), "{asks} {works}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_it_ran_up_is_paid_with_its_own_price() {
    for (price, tab, paid) in
        [(None, None, None), (None, Some(3), Some(3)), (Some(2), None, Some(2)), (Some(2), Some(3), Some(5))]
    {
        let policy = Policy { cost: price.map(Cost), ..Policy::default() };
        let (_, cost, _) = run(Asks(Duration::ZERO, Duration::ZERO, tab), policy, None).await;
        assert_eq!(cost, paid.map(Cost));
    }
}
