//! One invocation without a model: the order, what stops it, and what is written down on the way.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers may panic")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use converse_canister::{
    Arguments, Canister, Decision, Invocation, InvocationId, InvocationResult, Outcome, TurnId,
};
use converse_config::{Permission, Policy, Rule};
use converse_engine::{Approver, AskApprover, Event, InvocationReport, SingleInvocation, Sink, SinkError};
use converse_ensemble::{
    Answer, CancelScope, Connection, Context, Ensemble, Host, Invocable, NoArtefacts, Pending, Roster,
};
use converse_testkit::tools::{Does, Offers, plan, rule};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

#[derive(Default)]
struct Ear {
    heard: Mutex<Vec<&'static str>>,
    unsettled: bool,
    /// Refuses the event of this name.
    refuses: Option<&'static str>,
}

impl Sink for Ear {
    fn emit(&self, event: &Event<'_>) -> Result<(), SinkError> {
        let name = match event {
            Event::Appended(Canister::Invocation(_)) => "asked",
            Event::Appended(Canister::Result(_)) => "answered",
            Event::Decided { decision, .. } if decision.allows() => "allowed",
            Event::Decided { .. } => "denied",
            Event::Started { .. } => "started",
            Event::Finished { .. } => "finished",
            other => panic!("{other:?}"),
        };
        if self.refuses == Some(name) {
            return Err(SinkError::Audit(name.to_owned()));
        }
        self.heard.lock().unwrap().push(name);
        Ok(())
    }

    fn settle(&self) -> BoxFuture<'_, Result<(), SinkError>> {
        self.heard.lock().unwrap().push("settled");
        let settled = if self.unsettled { Err(SinkError::Audit("disk".to_owned())) } else { Ok(()) };
        std::future::ready(settled).boxed()
    }
}

/// Says the same of everything; nothing, if it is none.
struct Always(Option<Decision>);

impl Approver for Always {
    fn decide<'a>(&'a self, _: &'a [Pending]) -> BoxFuture<'a, Vec<Decision>> {
        std::future::ready(self.0.clone().into_iter().collect()).boxed()
    }

    fn can_ask(&self) -> bool {
        true
    }
}

/// Says what it was given; waits to be cancelled if that is `wait`.
fn says(runs: Arc<AtomicUsize>) -> impl Connection {
    let says = Does(move |context: Context, arguments: Arguments| {
        runs.fetch_add(1, Ordering::SeqCst);
        async move {
            let text = arguments.object.get("text").and_then(Value::as_str).unwrap_or_default();
            if text == "wait" {
                context.cancel.cancelled().await;
            }
            let verbatim = context.host.is_verbatim().then(|| "word for word".into());
            Ok(Answer { verbatim, ..Answer::text(text) })
        }
    });
    let says: Arc<dyn Invocable> = Arc::new(says);
    Offers(move |ensemble: &Ensemble| {
        let name = "say".to_owned().try_into().unwrap();
        let schema = json!({ "type": "object", "properties": { "text": { "type": "string" } } });
        vec![ensemble.tool(&name, String::new(), schema, Policy::default(), false, Arc::clone(&says))]
    })
}

struct Stage {
    roster: Roster,
    runs: Arc<AtomicUsize>,
}

/// A call without an approver: what needs approval is refused.
fn single<'a>(
    stage: &'a Stage,
    sink: &'a Ear,
    scope: &'a CancelScope,
    within: Option<Duration>,
) -> SingleInvocation<'a> {
    SingleInvocation { roster: &stage.roster, policy: &AskApprover(None), sink, scope, within }
}

async fn stage(permission: Option<Permission>) -> Stage {
    let runs = Arc::new(AtomicUsize::new(0));
    let rules: Vec<Rule> = permission.into_iter().map(|permission| rule("*", permission)).collect();
    let ensembles = vec![Ensemble::new(&plan("t"), Box::new(says(Arc::clone(&runs))))];
    let (roster, failures) = Roster::connect(ensembles, rules, Arc::new(NoArtefacts)).await;
    assert_eq!(failures, []);
    Stage { roster, runs }
}

fn invocation(text: Value) -> Invocation {
    let object = Map::from_iter([("text".to_owned(), text)]);
    let (turn, tool) = (TurnId(1), "t__say".to_owned());
    let arguments = Arguments::from_object(object);
    Invocation { turn, id: InvocationId::of(turn, 0), wire_id: None, tool, arguments, seal: None }
}

fn words(result: &InvocationResult) -> &str {
    result.content[0].as_text().unwrap()
}

const RAN: &[&str] = &["asked", "allowed", "started", "settled", "finished"];
const DENIED: &[&str] = &["asked", "denied", "answered"];

#[tokio::test]
async fn the_order_is_one_whoever_decides() {
    use Outcome::{Invalid, Refused, Success};
    let edited =
        |text: Value| Decision::AllowEdited { arguments: Map::from_iter([("text".to_owned(), text)]) };
    let yes = || Decision::Allow { rule: "user".to_owned() };
    let no = || Decision::Deny { rule: "user".to_owned(), comment: None };
    let (allow, deny) = (Some(Permission::Allow), Some(Permission::Deny));
    for (permission, approver, text, outcome, fragment, events) in [
        (allow, None, json!("hi"), Success, "hi", RAN),
        (deny, None, json!("hi"), Refused, "not allowed by the rule", DENIED),
        (allow, None, json!(5), Invalid, "/text", &["asked", "answered"]),
        (None, None, json!("hi"), Refused, "nobody can be asked here (", DENIED),
        (None, None, json!("hi"), Refused, "`--allow 't.say'` gives it", DENIED),
        (Some(Permission::Ask), None, json!("hi"), Refused, "takes precedence over `--allow`", DENIED),
        (None, Some(Some(yes())), json!("hi"), Success, "hi", RAN),
        (None, Some(Some(no())), json!("hi"), Refused, "it was not approved", DENIED),
        (None, Some(None), json!("hi"), Refused, "it was not approved", DENIED),
        (None, Some(Some(edited(json!("other")))), json!("hi"), Success, "other", RAN),
        (
            None,
            Some(Some(edited(json!(5)))),
            json!("hi"),
            Invalid,
            "/text",
            &["asked", "allowed", "answered"],
        ),
    ] {
        let stage = stage(permission).await;
        let (sink, scope) = (Ear::default(), CancelScope::below(&CancellationToken::new()));
        let always = approver.map(Always);
        let policy = AskApprover(always.as_ref().map(|always| always as &dyn Approver));
        let single = SingleInvocation {
            roster: &stage.roster,
            policy: &policy,
            sink: &sink,
            scope: &scope,
            within: None,
        };
        let answered = single.run(invocation(text), Host::default()).await.unwrap();
        let ran = outcome == Success;
        assert_eq!(answered.result.outcome, outcome, "{fragment}: {answered:?}");
        assert!(words(&answered.result).contains(fragment), "{fragment}: {answered:?}");
        assert_eq!(*sink.heard.lock().unwrap(), events, "{fragment}");
        assert_eq!(answered.elapsed.is_some(), ran, "{fragment}");
        assert_eq!(answered.verbatim.as_deref(), ran.then_some("word for word"), "{fragment}");
        assert_eq!(stage.runs.load(Ordering::SeqCst), usize::from(ran), "{fragment}");
    }
}

#[tokio::test]
async fn nothing_runs_that_is_not_written_down_and_durable() {
    for (refuses, unsettled, runs) in [
        (Some("asked"), false, 0),
        (Some("allowed"), false, 0),
        (Some("started"), false, 0),
        (None, true, 0),
        (Some("finished"), false, 1),
    ] {
        let stage = stage(Some(Permission::Allow)).await;
        let sink = Ear { refuses, unsettled, ..Ear::default() };
        let scope = CancelScope::below(&CancellationToken::new());
        let single = single(&stage, &sink, &scope, None);
        let failed = single.run(invocation(json!("hi")), Host::default()).await;
        assert!(matches!(failed, Err(SinkError::Audit(_))), "{refuses:?}: {failed:?}");
        assert_eq!(stage.runs.load(Ordering::SeqCst), runs, "{refuses:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn it_is_stopped_in_time_and_when_it_is_told() {
    for (within, cancelled) in [(Some(Duration::from_secs(3)), false), (None, true)] {
        let stage = stage(Some(Permission::Allow)).await;
        let (sink, cancel) = (Ear::default(), CancellationToken::new());
        let scope = CancelScope::below(&cancel);
        let single = single(&stage, &sink, &scope, within);
        let stopping = async {
            tokio::time::sleep(Duration::from_secs(2)).await;
            if cancelled {
                cancel.cancel();
            }
        };
        let (answered, ()) = tokio::join!(single.run(invocation(json!("wait")), Host::default()), stopping);
        let InvocationReport { result, .. } = answered.unwrap();
        assert_eq!(result.outcome, Outcome::Cancelled, "{within:?}");
        assert_eq!(*sink.heard.lock().unwrap(), RAN);
    }
    // Told before it began: not even its turn comes.
    let stage = stage(Some(Permission::Allow)).await;
    let (sink, cancel) = (Ear::default(), CancellationToken::new());
    cancel.cancel();
    let scope = CancelScope::below(&cancel);
    let single = single(&stage, &sink, &scope, None);
    let answered = single.run(invocation(json!("hi")), Host::default()).await.unwrap();
    assert_eq!((answered.result.outcome, stage.runs.load(Ordering::SeqCst)), (Outcome::Cancelled, 0));
    assert_eq!(*sink.heard.lock().unwrap(), ["asked", "allowed", "answered"]);
}
