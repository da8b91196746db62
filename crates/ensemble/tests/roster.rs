//! The roster: what is offered, what is judged, in which order.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers may panic")]

use std::future::ready;
use std::sync::Arc;

use converse_canister::{Arguments, InvocationResult, Outcome};
use converse_config::{Binding, EnsemblePlan, Permission, Policy, Rule};
use converse_ensemble::{
    Answer, CancelScope, ConnectError, Connection, Context, Ensemble, NoArtefacts, Roster, Rules, Tool,
    Verdict,
};
use converse_testkit::tools::{Does, call, invocation, names, one_tool, plan, rule, run};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// Tools that say the arguments they were given.
struct Given(Vec<&'static str>, Result<(), &'static str>);

impl Connection for Given {
    fn connect<'a>(&'a self, ensemble: &'a Ensemble) -> BoxFuture<'a, Result<Vec<Tool>, ConnectError>> {
        let schema = json!({ "type": "object", "required": ["n"], "additionalProperties": false,
            "properties": { "n": { "type": "integer", "minimum": 1 }, "unit": { "type": "string", "default": "m" } } });
        let tool = |name: &&str| {
            let policy = Policy { parallel: *name != "alone", ..Policy::default() };
            let name = (*name).to_owned().try_into().unwrap();
            let mirror =
                Does(|_, arguments: Arguments| ready(Ok(Answer::structured(arguments.object.into()))));
            ensemble.tool(&name, String::new(), schema.clone(), policy, false, Arc::new(mirror))
        };
        let outcome = match self.1 {
            Ok(()) => Ok(self.0.iter().map(tool).collect()),
            Err(reason) => {
                Err(ConnectError { ensemble: ensemble.name.to_string(), reason: reason.to_owned() })
            }
        };
        ready(outcome).boxed()
    }
}

fn ensemble(
    name: &str,
    prefix: Option<&str>,
    tools: &[&'static str],
    state: Result<(), &'static str>,
) -> Ensemble {
    let plan = EnsemblePlan { prefix: prefix.map(str::to_owned), ..plan(name) };
    Ensemble::new(&plan, Box::new(Given(tools.to_vec(), state)))
}

async fn roster(ensembles: Vec<Ensemble>, rules: &[(&str, Permission)]) -> (Roster, Vec<ConnectError>) {
    let rules = rules.iter().map(|(pattern, permission)| rule(pattern, *permission));
    Roster::connect(ensembles, rules.collect::<Vec<_>>(), Arc::new(NoArtefacts)).await
}

#[tokio::test]
async fn tools_are_offered_in_one_order_and_a_failing_ensemble_harms_nobody() {
    let ensembles = vec![
        ensemble("zoo", None, &["b", "a"], Ok(())),
        ensemble("down", None, &["x"], Err("no route")),
        ensemble("bare", Some(""), &["search"], Ok(())),
    ];
    let (roster, failures) = roster(ensembles, &[]).await;
    assert_eq!(names(&roster), ["search", "zoo__a", "zoo__b"]);
    assert_eq!(failures[0].to_string(), "ensemble `down` could not be connected: no route");
}

#[tokio::test]
async fn two_tools_of_one_name_are_both_left_out() {
    let bare = |name| ensemble(name, Some(""), &["search", "other"], Ok(()));
    let third = ensemble("three", None, &["x"], Ok(()));
    let (roster, failures) = roster(vec![bare("one"), bare("two"), third], &[]).await;
    assert_eq!(names(&roster), ["three__x"]);
    assert_eq!(failures.len(), 4, "{failures:?}");
}

#[tokio::test]
async fn arguments_are_checked_before_anybody_is_asked() {
    let (roster, _) = roster(vec![ensemble("t", None, &["x"], Ok(()))], &[("t.*", Permission::Ask)]).await;
    let answered = |tool: &str, arguments: &str| match roster.judge(&invocation(tool, arguments)) {
        Verdict::Answered(denied) => denied.result,
        verdict => panic!("{verdict:?}"),
    };
    let text = |result: &InvocationResult| result.content[0].as_text().unwrap().to_owned();
    for (arguments, telling) in [
        (r#"{"n": 0}"#, "/n"),
        (r#"{"n": "5"}"#, "/n"),
        (r#"{}"#, "n"),
        (r#"{"n": 1, "extra": true}"#, "extra"),
        (r#"{"n": 1, "n": 2}"#, "given twice"),
        (r#"{"n": 1"#, "not valid JSON"),
        (r#"{"n": 123456789012345678901234567890}"#, "cannot be held exactly"),
    ] {
        let result = answered("t__x", arguments);
        assert_eq!(result.outcome, Outcome::Invalid, "{arguments}");
        assert!(text(&result).contains(telling), "{arguments}: {}", text(&result));
    }
    // A near miss is never run: people's names for tools are not models'.
    for unknown in ["t__y", "t.x", "T__x", "", "t__x "] {
        assert_eq!(answered(unknown, "{}").outcome, Outcome::NoSuchTool, "{unknown:?}");
    }
    assert!(text(&answered("t__xx", "{}")).contains("t__x"));
    assert!(text(&answered(&"t".repeat(10_000), "{}")).len() < 200);
}

#[tokio::test]
async fn what_was_approved_is_what_runs() {
    let (roster, _) = roster(vec![ensemble("t", None, &["x"], Ok(()))], &[("t.x", Permission::Allow)]).await;
    let Verdict::Allowed(approved) = roster.judge(&invocation("t__x", r#"{"n": 3}"#)) else { panic!() };
    assert_eq!(approved.rule, "t.x (test)");
    let result = run(&roster, &approved, &CancellationToken::new()).await;
    let told = serde_json::to_string(&result.content).unwrap();
    assert!(told.contains(r#"{"n":3,"unit":"m"}"#), "the default is filled in before approval: {told}");
}

#[tokio::test]
async fn the_rules_decide() {
    let judged = async |rules: &[(&str, Permission)]| {
        let (roster, _) = roster(vec![ensemble("t", None, &["x"], Ok(()))], rules).await;
        match roster.judge(&invocation("t__x", r#"{"n": 1}"#)) {
            Verdict::Allowed(_) => "allowed".to_owned(),
            Verdict::Ask(pending) => format!("ask: {}", pending.rule()),
            Verdict::Answered(denied) => {
                format!("{}: {}", denied.result.outcome.label(), denied.rule.unwrap_or_default())
            }
        }
    };
    assert_eq!(judged(&[]).await, "ask: the default: it may change something");
    assert_eq!(judged(&[("t.*", Permission::Allow)]).await, "allowed");
    assert_eq!(judged(&[("t.*", Permission::Allow), ("*", Permission::Deny)]).await, "refused: * (test)");
}

/// Rules see the arguments as they will run, and what is added to them counts from the next call on.
#[tokio::test]
async fn rules_are_shared_and_look_at_what_runs() {
    let rules = Rules::new(vec![rule("t.*", Permission::Ask)]);
    let ensembles = vec![ensemble("t", None, &["x"], Ok(()))];
    let (roster, _) = Roster::connect(ensembles, Rules::new(Vec::new()), Arc::new(NoArtefacts)).await;
    let call = |n: u8| roster.judge(&invocation("t__x", &format!("{{\"n\": {n}}}")));
    let Verdict::Ask(pending) = call(1) else { panic!() };
    assert!(!pending.by_rule() && pending.is_trusted() && pending.reason().is_none());
    assert!(pending.defaults().is_empty(), "the default of a tool that is not built in may matter");
    assert_eq!(pending.judged_anew(&rules).permission, Permission::Ask);
    let (arguments, binding) = (pending.arguments().clone(), pending.binding());
    assert_eq!(arguments["unit"], "m", "the default is part of what is approved");
    let answer = Rule::exactly("t.x", Permission::Allow, "answer").unwrap();
    roster.rules().add(answer.with_arguments(arguments).bound_to(binding));
    assert_eq!(pending.judged_anew(roster.rules()).permission, Permission::Allow);
    assert!(matches!(call(1), Verdict::Allowed(_)));
    assert!(matches!(call(2), Verdict::Ask(_)), "other arguments");
    roster.rules().add(Rule::new("t", Permission::Ask, "later").unwrap());
    let Verdict::Ask(pending) = call(1) else { panic!() };
    assert!(pending.by_rule());
    let other = Binding { local: !binding.local, ..binding };
    roster.rules().add(Rule::exactly("t.x", Permission::Deny, "answer").unwrap().bound_to(other));
    assert!(matches!(call(1), Verdict::Ask(_)));
}

#[tokio::test]
async fn several_callers_share_a_roster_and_a_tool_is_told_whose_call_it_is() {
    let whose = Does(|context: Context, _| ready(Ok(Answer::text(context.host.caller().to_string()))));
    let tool = Box::new(one_tool("whose", Policy::default(), whose));
    let (first, _) = roster(vec![Ensemble::new(&plan("t"), tool)], &[]).await;
    let second = first.for_caller(1);
    // An answer for one is for all.
    first.rules().add(rule("t.*", Permission::Allow));
    for (roster, whose) in [(&first, "0"), (&second, "1")] {
        let result = call(roster, &invocation("t__whose", "{}"), &CancellationToken::new()).await;
        assert_eq!(result.content[0].as_text(), Some(whose));
    }
    assert!(Arc::ptr_eq(&first.offer(), &second.offer()));
}

#[tokio::test]
async fn a_tool_that_runs_alone_waits_for_its_ensemble_only_where_many_are_served() {
    let ensembles =
        vec![ensemble("a", None, &["slow"], Ok(())), ensemble("b", None, &["alone", "other"], Ok(()))];
    let (whole, _) = roster(ensembles, &[("a.*", Permission::Allow), ("b.*", Permission::Allow)]).await;
    let served = whole.for_caller(0).serving_many();
    let scope = CancelScope::below(&CancellationToken::new());
    let approved = |tool| match whole.judge(&invocation(tool, r#"{ "n": 1 }"#)) {
        Verdict::Allowed(approved) => approved,
        other => panic!("{other:?}"),
    };
    let [slow, alone, other] = ["a__slow", "b__alone", "b__other"].map(approved);
    for (roster, waits) in [(&whole, true), (&served, false)] {
        let running = roster.turn(&slow, &scope).await.unwrap();
        assert_eq!(roster.turn(&alone, &scope).now_or_never().is_none(), waits);
        let of_its_ensemble = roster.turn(&other, &scope).await.unwrap();
        assert!(roster.turn(&alone, &scope).now_or_never().is_none(), "another tool of its ensemble runs");
        drop((running, of_its_ensemble));
    }
}
