//! The gate of the lockfile: what was not accepted is not offered, however its ensemble came by it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers may panic")]

use std::collections::{BTreeMap, VecDeque};
use std::future::ready;
use std::sync::{Arc, Mutex};

use converse_canister::Outcome;
use converse_config::{Permission, Policy};
use converse_ensemble::{
    Acceptance, Answer, ConnectError, Connection, Definition, Ensemble, HoldReason, NoArtefacts, Pins,
    Roster, Tool, Verdict,
};
use converse_testkit::tools::{Does, invocation, plan, rule, tool};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

/// Names and versions of tools, list by list.
type Lists = VecDeque<Vec<(&'static str, u32)>>;

struct Changing(Mutex<Lists>);

fn definition(name: &str, version: u32) -> Value {
    json!({ "name": name, "_meta": { "version": version } })
}

impl Changing {
    fn next(&self, ensemble: &Ensemble) -> Option<Vec<Tool>> {
        let list = self.0.lock().unwrap().pop_front()?;
        let tool = |(name, version): (&str, u32)| {
            let silent = Arc::new(Does(|_, _| ready(Ok(Answer::text("")))));
            tool(ensemble, name, Policy::default(), silent)
                .defined_as(Definition::of(&definition(name, version)))
        };
        Some(list.into_iter().map(tool).collect())
    }
}

impl Connection for Changing {
    fn connect<'a>(&'a self, ensemble: &'a Ensemble) -> BoxFuture<'a, Result<Vec<Tool>, ConnectError>> {
        std::future::ready(Ok(self.next(ensemble).unwrap())).boxed()
    }

    fn refresh<'a>(&'a self, ensemble: &'a Ensemble) -> BoxFuture<'a, Option<Vec<Tool>>> {
        std::future::ready(self.next(ensemble)).boxed()
    }
}

async fn roster<const N: usize>(pins: Pins, lists: [Vec<(&'static str, u32)>; N]) -> Roster {
    let ensemble = Ensemble::new(&plan("e"), Box::new(Changing(Mutex::new(lists.into())))).pinned(pins);
    let rules = vec![rule("*", Permission::Allow)];
    Roster::connect(vec![ensemble], rules, Arc::new(NoArtefacts)).await.0
}

fn accepted(tools: &[(&str, u32)]) -> Pins {
    let pin = |(name, version): &(&str, u32)| {
        ((*name).to_owned().try_into().unwrap(), Definition::of(&definition(name, *version)).digest())
    };
    Pins::Accepted(tools.iter().map(pin).collect())
}

fn offered(roster: &Roster) -> Vec<String> {
    roster.offer().declarations.iter().map(|one| one.name.to_string()).collect()
}

fn held(roster: &Roster) -> Vec<(String, HoldReason)> {
    roster.offer().held_back().map(|tool| (tool.qualified.clone(), tool.held.unwrap())).collect()
}

fn judged(roster: &Roster, tool: &str) -> Verdict {
    roster.judge(&invocation(tool, "{}"))
}

#[tokio::test]
async fn what_was_not_accepted_is_held_back() {
    let found = vec![("same", 1), ("changed", 2), ("new", 1)];
    let roster = roster(accepted(&[("same", 1), ("changed", 1), ("gone", 1)]), [found]).await;
    assert_eq!(offered(&roster), ["e__same"]);
    assert_eq!(
        held(&roster),
        [("e.changed".to_owned(), HoldReason::Changed), ("e.new".to_owned(), HoldReason::New)]
    );
    assert!(matches!(judged(&roster, "e__same"), Verdict::Allowed(_)));
    for (tool, why) in [("e__changed", "is not what it was"), ("e__new", "was never accepted")] {
        let Verdict::Answered(denied) = judged(&roster, tool) else { panic!("{tool} may run") };
        let said = denied.result.content[0].as_text().unwrap().to_owned();
        assert_eq!(denied.result.outcome, Outcome::NoSuchTool);
        assert!(said.contains(why) && said.contains("converse ensembles lock --accept"), "{said}");
    }
    assert_eq!(roster.tools_of("e").unwrap().len(), 3);
}

#[tokio::test]
async fn a_list_that_changes_passes_the_same_gate() {
    let lists = [vec![("a", 1), ("b", 1)], vec![("a", 2), ("b", 1), ("c", 1)], vec![("a", 1), ("b", 1)]];
    let roster = roster(accepted(&[("a", 1), ("b", 1)]), lists).await;
    assert_eq!(offered(&roster), ["e__a", "e__b"]);
    roster.refresh().await;
    assert_eq!(offered(&roster), ["e__b"]);
    assert_eq!(held(&roster), [("e.a".to_owned(), HoldReason::Changed), ("e.c".to_owned(), HoldReason::New)]);
    roster.refresh().await;
    assert_eq!(offered(&roster), ["e__a", "e__b"], "it is again what was accepted");
}

#[tokio::test]
async fn where_nobody_knows_what_was_accepted_nothing_is_offered() {
    let roster_with = async |pins| offered(&roster(pins, [vec![("a", 1)]]).await);
    assert_eq!(roster_with(Pins::Unknown).await, [] as [&str; 0]);
    assert_eq!(roster_with(Pins::Accepted(BTreeMap::new())).await, [] as [&str; 0]);
    assert_eq!(roster_with(Pins::Free).await, ["e__a"]);
}

#[tokio::test]
async fn what_is_accepted_later_is_offered_and_what_no_longer_is_accepted_is_held_back() {
    let roster = roster(accepted(&[("same", 1)]), [vec![("same", 1), ("new", 1)]]).await;
    let running = judged(&roster, "e__same");
    roster.accept(|_| None);
    roster.refresh().await;
    assert_eq!(offered(&roster), ["e__same"], "nothing was accepted");
    roster.accept(|_| Some(Acceptance { pins: accepted(&[("new", 1)]), instructions: None }));
    roster.refresh().await;
    assert_eq!(offered(&roster), ["e__new"]);
    assert_eq!(held(&roster), [("e.same".to_owned(), HoldReason::New)]);
    assert!(matches!(judged(&roster, "e__same"), Verdict::Answered(_)));
    assert!(matches!(running, Verdict::Allowed(_)), "it runs as it was approved");
}
