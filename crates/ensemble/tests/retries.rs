//! What is tried again, and what is not.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers may panic")]

use std::future::ready;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use converse_canister::Outcome;
use converse_config::Policy;
use converse_ensemble::{Answer, InvokeError};
use converse_testkit::tools::{Does, call, invocation, one_tool, roster};
use tokio_util::sync::CancellationToken;

/// What becomes of a tool that fails once, and how often it was tried.
async fn run(error: InvokeError, policy: Policy) -> (Outcome, u32) {
    let (tries, error) = (Arc::new(Mutex::new(0)), Mutex::new(Some(error)));
    let count = Arc::clone(&tries);
    let once = Does(move |_, _| {
        *count.lock().unwrap() += 1;
        ready(error.lock().unwrap().take().map_or_else(|| Ok(Answer::text("done")), Err))
    });
    let roster = roster(one_tool("x", policy, once)).await;
    let result = call(&roster, &invocation("t__x", "{}"), &CancellationToken::new()).await;
    let tries = *tries.lock().unwrap();
    (result.outcome, tries)
}

#[tokio::test(start_paused = true)]
async fn nothing_is_done_twice_unless_it_may_be() {
    let text = || "no".to_owned();
    let unreachable = |sent| InvokeError::Unreachable { message: text(), sent };
    for (error, unless_idempotent, if_idempotent) in [
        (unreachable(false), (Outcome::Success, 2), (Outcome::Success, 2)),
        (unreachable(true), (Outcome::Unreachable, 1), (Outcome::Success, 2)),
        (InvokeError::Failed(text()), (Outcome::Failed, 1), (Outcome::Success, 2)),
        (InvokeError::Invalid(text()), (Outcome::Invalid, 1), (Outcome::Invalid, 1)),
        // Nobody knows what came of it, and time was not enough: never.
        (InvokeError::Interrupted(text()), (Outcome::Interrupted, 1), (Outcome::Interrupted, 1)),
        (InvokeError::Timeout(text()), (Outcome::Timeout, 1), (Outcome::Timeout, 1)),
    ] {
        for (idempotent, expected) in [(false, unless_idempotent), (true, if_idempotent)] {
            let policy =
                Policy { max_retries: 3, idempotent, timeout: Duration::from_secs(30), ..Policy::default() };
            assert_eq!(run(error.clone(), policy).await, expected, "{error:?}, idempotent: {idempotent}");
        }
        let never = Policy { max_retries: 0, idempotent: true, ..Policy::default() };
        assert_eq!(run(error.clone(), never).await.1, 1, "{error:?}");
    }
}
