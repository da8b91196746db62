//! A call for which a person is asked: its limits stand still meanwhile, and it pays what it ran up.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers may panic")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use converse_canister::{Arguments, Cost, Digest, Invocation, InvocationId, Outcome, TurnId};
use converse_config::{EnsemblePlan, Origin, Permission, Policy, Rule, Scope};
use converse_ensemble::{
    Answer, Artefacts, ConnectError, Connection, Context, Ensemble, Halt, Host, Invocable, InvokeError,
    Roster, Tool, Verdict,
};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::json;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

/// Asks somebody who takes so long, works so long, and costs so much.
struct Asks(Duration, Duration, Option<u64>);

impl Invocable for Asks {
    fn invoke<'a>(
        &'a self,
        context: Context,
        _: &'a Arguments,
    ) -> BoxFuture<'a, Result<Answer, InvokeError>> {
        async move {
            let paused = context.patience.pause();
            sleep(self.0).await;
            drop(paused);
            self.2.into_iter().for_each(|cost| context.tab.add(Cost(cost)));
            sleep(self.1).await;
            Ok(Answer::text("done"))
        }
        .boxed()
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

/// What became of it, what it cost, and after how many seconds. It is ended after so many.
async fn run(asks: Asks, policy: Policy, ended: Option<u64>) -> (Outcome, Option<Cost>, u64) {
    let origin = Origin { scope: Scope::User, file: "x.toml".into(), line: 1 };
    let plan = EnsemblePlan::bare("t".to_owned().try_into().unwrap(), origin);
    let invocable: Arc<dyn Invocable> = Arc::new(asks);
    let ensemble = Ensemble::new(&plan, Box::new(Given(Mutex::new(Some(invocable)), policy)));
    let rules = vec![Rule::new("*", Permission::Allow, "test").unwrap()];
    let (roster, _) = Roster::connect(vec![ensemble], rules, Arc::new(Nowhere)).await;
    let turn = TurnId(1);
    let (id, arguments) = (InvocationId::of(turn, 0), Arguments::parse("{}"));
    let invocation = Invocation { turn, id, wire_id: None, tool: "t__x".into(), arguments, seal: None };
    let Verdict::Allowed(approved) = roster.judge(&invocation) else { panic!() };
    let halt = Halt::below(&CancellationToken::new());
    let turn = roster.turn(&approved, &halt).await.unwrap();
    let begun = Instant::now();
    if let Some(seconds) = ended {
        let cancel = halt.now.clone();
        tokio::spawn(async move {
            sleep(Duration::from_secs(seconds)).await;
            cancel.cancel();
        });
    }
    let result = roster.invoke(&approved, turn, Host::default(), &halt.now).await;
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
