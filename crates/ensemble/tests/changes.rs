//! Ensembles that misbehave or change while a run goes on.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers may panic")]

use std::collections::VecDeque;
use std::future::{pending, ready};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use converse_canister::{Outcome, SeenData};
use converse_config::{ConnectionPlan, EnsemblePlan, Permission, Policy, TransportPlan};
use converse_ensemble::{
    Answer, CancelScope, ConnectError, Connection, Ensemble, NoArtefacts, Roster, Tool, Verdict,
};
use converse_testkit::tools::{self, invocation, names, plan, rule, run, tool};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// What a connection does when it is asked for its tools.
#[derive(Clone)]
enum Does {
    Tells(Vec<&'static str>),
    Fails,
    Panics,
    PanicsAtOnce,
    Hangs,
    /// Only when asked anew: nothing has changed.
    Same,
}

/// Connects by the first of the script, is refreshed by the rest. Its tools say which telling they are of.
struct Scripted {
    script: Mutex<VecDeque<Does>>,
    asked: Arc<Mutex<usize>>,
}

impl Scripted {
    fn next(&self, ensemble: &Ensemble) -> BoxFuture<'static, Option<Result<Vec<Tool>, ConnectError>>> {
        let does = self.script.lock().unwrap().pop_front().unwrap_or(Does::Same);
        let telling = {
            let mut asked = self.asked.lock().unwrap();
            *asked += 1;
            *asked
        };
        let tool = |name: &&str| {
            let says = move |_, _| ready(Ok(Answer::text(format!("telling {telling}"))));
            tool(ensemble, name, Policy::default(), Arc::new(tools::Does(says)))
        };
        match does {
            Does::Tells(names) => ready(Some(Ok(names.iter().map(tool).collect::<Vec<_>>()))).boxed(),
            Does::Fails => {
                let reason = "no route".to_owned();
                ready(Some(Err(ConnectError { ensemble: ensemble.name.to_string(), reason }))).boxed()
            }
            Does::Panics => async { panic!("on purpose") }.boxed(),
            Does::PanicsAtOnce => panic!("on purpose"),
            Does::Hangs => pending().boxed(),
            Does::Same => ready(None).boxed(),
        }
    }
}

impl Connection for Scripted {
    fn connect<'a>(&'a self, ensemble: &'a Ensemble) -> BoxFuture<'a, Result<Vec<Tool>, ConnectError>> {
        let next = self.next(ensemble);
        async move { next.await.unwrap() }.boxed()
    }

    fn refresh<'a>(&'a self, ensemble: &'a Ensemble) -> BoxFuture<'a, Option<Vec<Tool>>> {
        let next = self.next(ensemble);
        async move { next.await?.ok() }.boxed()
    }

    fn disconnect(&self) -> BoxFuture<'_, ()> {
        match self.script.lock().unwrap().pop_front() {
            Some(Does::Panics) => async { panic!("on purpose") }.boxed(),
            Some(Does::Hangs) => pending().boxed(),
            _ => ready(()).boxed(),
        }
    }
}

/// An ensemble, and how often it was asked for its tools. `prefix` is empty for bare names.
fn ensemble(name: &str, prefix: Option<&str>, script: Vec<Does>) -> (Ensemble, Arc<Mutex<usize>>) {
    let way = TransportPlan::Stdio { command: Vec::new(), environment: Vec::new(), cwd: None };
    let connect_timeout = Some(Duration::from_secs(7));
    let plan = EnsemblePlan {
        prefix: prefix.map(str::to_owned),
        connection: Some(ConnectionPlan { connect_timeout, ..ConnectionPlan::new(way) }),
        ..plan(name)
    };
    let asked = Arc::new(Mutex::new(0));
    let connection = Scripted { script: Mutex::new(script.into()), asked: Arc::clone(&asked) };
    (Ensemble::new(&plan, Box::new(connection)), asked)
}

async fn roster(ensembles: Vec<Ensemble>) -> (Roster, Vec<String>) {
    let rules = vec![rule("*", Permission::Allow)];
    let (roster, failures) = Roster::connect(ensembles, rules, Arc::new(NoArtefacts)).await;
    (roster, failures.iter().map(ToString::to_string).collect())
}

fn judged(roster: &Roster, tool: &str) -> Verdict {
    roster.judge(&invocation(tool, "{}"))
}

use Does::{Fails, Hangs, Panics, PanicsAtOnce, Same, Tells};

#[tokio::test(start_paused = true)]
async fn one_that_hangs_or_panics_fails_alone() {
    let began = Instant::now();
    let scripts =
        [("a", vec![Panics]), ("b", vec![PanicsAtOnce]), ("c", vec![Hangs]), ("d", vec![Tells(vec!["x"])])];
    let ensembles = scripts.map(|(name, script)| ensemble(name, None, script).0);
    let (roster, failures) = roster(ensembles.into()).await;
    assert_eq!(names(&roster), ["d__x"]);
    assert_eq!(
        failures,
        [
            "ensemble `a` could not be connected: connecting it crashed",
            "ensemble `b` could not be connected: connecting it crashed",
            "ensemble `c` could not be connected: it was not done within 12 s",
        ]
    );
    assert_eq!(began.elapsed(), Duration::from_secs(12), "its own limit and a margin");
}

#[tokio::test(start_paused = true)]
async fn disconnecting_ends_whatever_the_connections_do() {
    let scripts = [vec![Tells(vec![]), Panics], vec![Tells(vec![]), Hangs], vec![Tells(vec![])]];
    let ensembles = scripts.map(|script| ensemble("a", None, script).0);
    let (roster, _) = roster(ensembles.into()).await;
    let began = Instant::now();
    roster.disconnect().await;
    assert_eq!(began.elapsed(), Duration::from_secs(10));
}

#[tokio::test]
async fn tools_that_change_are_offered_anew() {
    let (changes, _) = ensemble("t", None, vec![Tells(vec!["a", "b"]), Same, Tells(vec!["b", "c"])]);
    let (stays, _) = ensemble("u", None, vec![Tells(vec!["z"])]);
    let (roster, _) = roster(vec![changes, stays]).await;
    let first = roster.offer();
    let prepared = |text: &str| {
        let prepare = || Ok::<_, ()>(serde_json::value::to_raw_value(text).unwrap());
        roster.offer().prepared.get("wire", prepare).unwrap().get().to_owned()
    };
    assert_eq!(prepared("old"), r#""old""#);
    roster.refresh().await;
    assert!(Arc::ptr_eq(&first, &roster.offer()), "nothing changed");
    assert_eq!(prepared("new"), r#""old""#, "prepared once");
    let Verdict::Allowed(approved) = judged(&roster, "t__a") else { panic!() };

    roster.refresh().await;
    assert_eq!(names(&roster), ["t__b", "t__c", "u__z"]);
    assert_eq!(prepared("new"), r#""new""#, "prepared anew");
    assert_eq!(first.declarations.len(), 3, "who holds an offer keeps it");
    match judged(&roster, "t__a") {
        Verdict::Answered(denied) => assert_eq!(denied.result.outcome, Outcome::NoSuchTool),
        verdict => panic!("{verdict:?}"),
    }
    assert!(matches!(judged(&roster, "t__c"), Verdict::Allowed(_)));

    // What was approved runs as it was approved.
    let result = run(&roster, &approved, &CancellationToken::new()).await;
    assert_eq!(result.content[0].as_text(), Some("telling 1"));
}

#[tokio::test(start_paused = true)]
async fn whatever_goes_wrong_keeps_the_old_tools() {
    let scripts = [
        ("a", vec![Tells(vec!["x"]), Panics]),
        ("b", vec![Tells(vec!["x"]), PanicsAtOnce]),
        ("c", vec![Tells(vec!["x"]), Hangs]),
        ("d", vec![Tells(vec!["x"]), Fails]),
        ("e", vec![Tells(vec!["x"]), Tells(vec!["y"])]),
    ];
    let (roster, _) = roster(scripts.map(|(name, script)| ensemble(name, None, script).0).into()).await;
    let began = Instant::now();
    roster.refresh().await;
    assert_eq!(began.elapsed(), Duration::from_secs(5));
    assert_eq!(names(&roster), ["a__x", "b__x", "c__x", "d__x", "e__y"]);
}

#[tokio::test]
async fn one_that_was_not_connected_may_come_later() {
    let (down, _) = ensemble("down", None, vec![Fails, Same, Tells(vec!["x"])]);
    let (roster, failures) = roster(vec![down]).await;
    assert_eq!(failures.len(), 1);
    roster.refresh().await;
    assert!(names(&roster).is_empty() && roster.tools_of("down").is_none());
    roster.refresh().await;
    assert_eq!(names(&roster), ["down__x"]);
}

/// Whoever asks may leave while another one hangs.
#[tokio::test(start_paused = true)]
async fn a_change_is_kept_although_another_one_hangs_and_the_caller_leaves() {
    let changes = ensemble("changes", None, vec![Tells(vec!["x"]), Tells(vec!["y"])]).0;
    let hangs = ensemble("hangs", None, vec![Tells(vec!["x"]), Hangs]).0;
    let (roster, _) = roster(vec![changes, hangs]).await;
    assert!(tokio::time::timeout(Duration::from_secs(1), roster.refresh()).await.is_err());
    roster.refresh().await;
    assert_eq!(names(&roster), ["changes__y", "hangs__x"]);
}

#[tokio::test]
async fn names_that_meet_later_are_both_left_out_until_they_part() {
    let bare = |script| ensemble("t", Some(""), script).0;
    let changes = bare(vec![Tells(vec!["a"]), Tells(vec!["a", "b"]), Tells(vec!["a"])]);
    let stays = bare(vec![Tells(vec!["b", "c"])]);
    let (roster, failures) = roster(vec![changes, stays]).await;
    assert!(failures.is_empty());
    assert_eq!(names(&roster), ["a", "b", "c"]);
    roster.refresh().await;
    assert_eq!(names(&roster), ["a", "c"]);
    roster.refresh().await;
    assert_eq!(names(&roster), ["a", "b", "c"]);
}

#[tokio::test(start_paused = true)]
async fn a_view_has_its_own_rules_and_sees_changes_that_another_view_found() {
    let (ensembles, rules) = (
        vec![
            ensemble("a", None, vec![Tells(vec!["x"]), Tells(vec!["y"])]).0,
            ensemble("b", None, vec![Tells(vec!["x"])]).0,
        ],
        vec![rule("*", Permission::Deny)],
    );
    let (all, _) = roster(ensembles).await;
    let view = all.view(Some(&["a".to_owned()]), rules.into());
    assert_eq!(
        (names(&all), names(&view)),
        (vec!["a__x".to_owned(), "b__x".to_owned()], vec!["a__x".to_owned()])
    );
    assert!(matches!(judged(&all, "a__x"), Verdict::Allowed(_)));
    assert!(matches!(judged(&view, "a__x"), Verdict::Answered(_)), "by its own rules");
    assert!(matches!(judged(&view, "b__x"), Verdict::Answered(_)), "not of this view");
    // The news are told once only.
    all.refresh().await;
    view.refresh().await;
    assert_eq!(names(&view), ["a__y"]);
}

#[tokio::test]
async fn other_ensembles_are_offered_at_once() {
    let (roster, _) = roster(vec![ensemble("a", None, vec![Tells(vec!["old"])]).0]).await;
    let (others, _) = self::roster(vec![ensemble("a", None, vec![Tells(vec!["new"])]).0]).await;
    roster.replace(others.ensembles().to_vec());
    assert_eq!(names(&roster), ["a__new"]);
    assert!(matches!(judged(&roster, "a__old"), Verdict::Answered(_)));
}

#[tokio::test]
async fn what_is_gone_is_not_called_by_a_reply_that_was_being_written() {
    let (roster, _) = roster(vec![ensemble("a", None, vec![Tells(vec!["old"])]).0]).await;
    let turn = roster.view(None, vec![rule("*", Permission::Allow)].into());
    assert_eq!(names(&turn), ["a__old"]);
    roster.replace(Vec::new());
    let judged = turn.judge_after(&invocation("a__old", "{}"), &SeenData::default());
    assert!(matches!(judged, Verdict::Answered(_)));
}

#[tokio::test]
async fn a_tool_that_runs_alone_waits_for_the_calls_of_the_connection_that_it_replaces() {
    let alone = || {
        let does = |_, _| ready(Ok(Answer::text("done")));
        tools::one_tool("x", Policy { parallel: false, ..Policy::default() }, tools::Does(does))
    };
    let old = Ensemble::new(&plan("t"), Box::new(alone()));
    let new = Ensemble::new(&plan("t"), Box::new(alone())).succeeding(&old);
    let (roster, other) = (roster(vec![old]).await.0.serving_many(), roster(vec![new]).await.0);
    let Verdict::Allowed(before) = judged(&roster, "t__x") else { panic!("it is allowed") };
    let running = roster.turn(&before, &CancelScope::below(&CancellationToken::new())).await.unwrap();
    let replaced = roster.ensembles();
    roster.replace(other.ensembles().to_vec());
    let Verdict::Allowed(after) = judged(&roster, "t__x") else { panic!("it is allowed") };
    let scope = CancelScope::below(&CancellationToken::new());
    let mut turn = Box::pin(roster.turn(&after, &scope));
    assert!(turn.as_mut().now_or_never().is_none(), "a call of the old connection runs");
    drop(running);
    assert!(turn.await.is_ok());
    drop(before);
    assert!(replaced[0].is_idle(), "its own calls only");
}
