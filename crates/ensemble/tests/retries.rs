//! What is tried again, and what is not.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers may panic")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use converse_canister::{Arguments, Digest, Invocation, InvocationId, Outcome, TurnId};
use converse_config::{EnsemblePlan, Origin, Permission, Policy, Rule, Scope};
use converse_ensemble::{
    Answer, Artefacts, ConnectError, Connection, Context, Ensemble, Halt, Host, Invocable, InvokeError,
    Roster, Tool, Verdict,
};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// Fails once, then works.
struct Once(Mutex<Option<InvokeError>>, Arc<Mutex<u32>>);

impl Invocable for Once {
    fn invoke<'a>(&'a self, _: Context, _: &'a Arguments) -> BoxFuture<'a, Result<Answer, InvokeError>> {
        *self.1.lock().unwrap() += 1;
        let outcome = self.0.lock().unwrap().take().map_or_else(|| Ok(Answer::text("done")), Err);
        std::future::ready(outcome).boxed()
    }
}

/// One tool `x`.
struct Given(Mutex<Option<Arc<dyn Invocable>>>, Policy);

impl Connection for Given {
    fn connect<'a>(&'a self, ensemble: &'a Ensemble) -> BoxFuture<'a, Result<Vec<Tool>, ConnectError>> {
        let invocable = self.0.lock().unwrap().take().unwrap();
        let name = "x".to_owned().try_into().unwrap();
        let schema = json!({ "type": "object" });
        let tool = ensemble.tool(&name, String::new(), schema, self.1.clone(), false, invocable);
        std::future::ready(Ok(vec![tool])).boxed()
    }

    fn disconnect(&self) -> BoxFuture<'_, ()> {
        std::future::ready(()).boxed()
    }
}

struct Nowhere;

impl Artefacts for Nowhere {
    fn keep(&self, _: &[u8]) -> Option<Digest> {
        None
    }
}

/// What became of it, and how often it was tried.
async fn run(error: InvokeError, policy: Policy) -> (Outcome, u32) {
    let plan = EnsemblePlan::bare(
        "t".to_owned().try_into().unwrap(),
        Origin { scope: Scope::User, file: "x.toml".into(), line: 1 },
    );
    let tries = Arc::new(Mutex::new(0));
    let invocable: Arc<dyn Invocable> = Arc::new(Once(Mutex::new(Some(error)), Arc::clone(&tries)));
    let ensemble = Ensemble::new(&plan, Box::new(Given(Mutex::new(Some(invocable)), policy)));
    let rules = vec![Rule::new("*", Permission::Allow, "test").unwrap()];
    let (roster, _) = Roster::connect(vec![ensemble], rules, Arc::new(Nowhere)).await;
    let turn = TurnId(1);
    let invocation = Invocation {
        turn,
        id: InvocationId::of(turn, 0),
        wire_id: None,
        tool: "t__x".into(),
        arguments: Arguments::parse("{}"),
        seal: None,
    };
    let Verdict::Allowed(approved) = roster.judge(&invocation) else { panic!() };
    let halt = Halt::below(&CancellationToken::new());
    let turn = roster.turn(&approved, &halt).await.unwrap();
    let result = roster.invoke(&approved, turn, Host::default(), &halt.now).await;
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
