use std::sync::atomic::{AtomicBool, Ordering};

use converse_canister::{Invocation, InvocationId, Outcome, TurnId};
use converse_config::{Permission, Rule};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::{CancelScope, Host, NoArtefacts, Roster, Verdict};

/// Tools `(name, description)`; one more after a change.
struct Listed(Vec<(&'static str, &'static str)>, AtomicBool);

struct Quiet;

impl Invocable for Quiet {
    fn invoke<'a>(&'a self, _: Context, _: &'a Arguments) -> BoxFuture<'a, Result<Answer, InvokeError>> {
        std::future::ready(Ok(Answer::text("done"))).boxed()
    }
}

impl Listed {
    fn tools(&self, ensemble: &Ensemble) -> Vec<Tool> {
        let tool = |(name, description): &(&str, &str)| {
            let name = (*name).to_owned().try_into().unwrap();
            let schema = json!({ "type": "object", "properties": { "city": {} } });
            ensemble.tool(&name, (*description).to_owned(), schema, Policy::default(), false, Arc::new(Quiet))
        };
        self.0.iter().map(tool).collect()
    }
}

impl Connection for Listed {
    fn connect<'a>(&'a self, ensemble: &'a Ensemble) -> BoxFuture<'a, Result<Vec<Tool>, ConnectError>> {
        std::future::ready(Ok(self.tools(ensemble))).boxed()
    }

    fn refresh<'a>(&'a self, ensemble: &'a Ensemble) -> BoxFuture<'a, Option<Vec<Tool>>> {
        let news = self.1.swap(false, Ordering::Relaxed).then(|| {
            let late = Self(vec![("late_comer", "Came later")], AtomicBool::new(false));
            [self.tools(ensemble), late.tools(ensemble)].concat_tools()
        });
        std::future::ready(news).boxed()
    }
}

trait Concat {
    fn concat_tools(self) -> Vec<Tool>;
}

impl Concat for [Vec<Tool>; 2] {
    fn concat_tools(self) -> Vec<Tool> {
        self.into_iter().flatten().collect()
    }
}

const TOOLS: [(&str, &str); 6] = [
    ("send_message", "Sends an e-mail to somebody"),
    ("list_messages", "Lists the messages of a folder"),
    ("forecast", "The weather of the next days"),
    ("delete_message", "Deletes a message for good"),
    ("getUserById", "Looks up a person"),
    ("ping", ""),
];

async fn roster(rules: &[(&str, Permission)]) -> Roster {
    let origin = Origin { scope: Scope::Explicit, file: "t.toml".into(), line: 1 };
    let plan = EnsemblePlan::new("mail".to_owned().try_into().unwrap(), origin);
    let rules = rules.iter().map(|(pattern, permission)| Rule::new(*pattern, *permission, "test").unwrap());
    let listed = Listed(TOOLS.to_vec(), AtomicBool::new(true));
    let ensembles = vec![Ensemble::new(&plan, Box::new(listed))];
    let (roster, _) = Roster::connect(ensembles, rules.collect::<Vec<_>>(), Arc::new(NoArtefacts)).await;
    roster.searchable();
    roster
}

async fn call(roster: &Roster, arguments: Value) -> InvocationResult {
    let turn = TurnId(1);
    let invocation = Invocation {
        turn,
        id: InvocationId::of(turn, 0),
        wire_id: None,
        tool: SEARCH.into(),
        arguments: Arguments::from_object(arguments.as_object().unwrap().clone()),
        seal: None,
    };
    match roster.judge(&invocation) {
        Verdict::Allowed(approved) => {
            let cancel = CancellationToken::new();
            let turn = roster.turn(&approved, &CancelScope::below(&cancel)).await.unwrap();
            roster.invoke(&approved, turn, Host::default(), &cancel).await.result
        }
        Verdict::Answered(denied) => denied.result,
        Verdict::Ask(pending) => panic!("{pending:?}"),
    }
}

#[tokio::test]
async fn the_best_stand_first_and_the_order_is_always_the_same() {
    let roster = roster(&[]).await;
    for (query, limit, expected) in [
        ("send mail", 1, &["mail__send_message"][..]),
        ("weather", 20, &["mail__forecast"]),
        ("WEATHERS in the city", 1, &["mail__forecast"]),
        ("message", 20, &["mail__list_messages", "mail__send_message", "mail__delete_message"]),
        ("user by id", 20, &["mail__getUserById"]),
        ("mail.ping", 1, &["mail__ping"]),
        ("quantum", 20, &[]),
        ("", 20, &[]),
    ] {
        let result = call(&roster, json!({ "query": query, "limit": limit })).await;
        let names: Vec<&str> = search_matches(&result).collect();
        let mut sorted = names.clone();
        sorted.sort_unstable();
        let mut wanted = expected.to_vec();
        if query == "message" {
            wanted.sort_unstable();
            assert_eq!(sorted, wanted);
        } else {
            assert_eq!(names, wanted, "{query}");
        }
        let again = call(&roster, json!({ "query": query, "limit": limit })).await;
        assert_eq!(result.content, again.content, "{query}");
    }
    let nothing = call(&roster, json!({ "query": "quantum" })).await;
    let Content::Structured { value } = &nothing.content[0] else { panic!("{nothing:?}") };
    assert!(value["hint"].as_str().unwrap().ends_with("mail"), "{value}");
}

#[tokio::test]
async fn what_can_never_run_is_not_found() {
    let deny = ("mail.delete_*", Permission::Deny);
    let names = |result: &InvocationResult| search_matches(result).map(str::to_owned).collect::<Vec<_>>();
    let search_matches = names(&call(&roster(&[deny]).await, json!({ "query": "delete message" })).await);
    assert!(
        !search_matches.is_empty() && !search_matches.contains(&"mail__delete_message".to_owned()),
        "{search_matches:?}"
    );
    let all = names(&call(&roster(&[]).await, json!({ "query": "delete message" })).await);
    assert_eq!(all[0], "mail__delete_message");
    // The search is a tool like any other.
    let refused = call(&roster(&[("*", Permission::Deny)]).await, json!({ "query": "mail" })).await;
    assert_eq!(refused.outcome, Outcome::Refused);
    let invalid = call(&roster(&[]).await, json!({ "query": 5 })).await;
    assert_eq!(invalid.outcome, Outcome::Invalid);
}

#[tokio::test]
async fn it_looks_through_what_is_offered_by_then_and_is_no_part_of_it() {
    let roster = roster(&[]).await;
    let names = |result: &InvocationResult| search_matches(result).map(str::to_owned).collect::<Vec<_>>();
    assert!(names(&call(&roster, json!({ "query": "late comer" })).await).is_empty());
    roster.refresh().await;
    assert_eq!(names(&call(&roster, json!({ "query": "late comer" })).await), ["mail__late_comer"]);
    let offer = roster.offer();
    assert!(offer.find(SEARCH).is_some() && offer.search().is_some());
    assert!(offer.declarations.iter().all(|one| one.name.as_str() != SEARCH));
    assert!(offer.tools().all(|tool| tool.qualified != "tools.search"));
}

#[tokio::test]
async fn what_may_not_run_can_not_search() {
    for (rules, interactive, can) in [
        (&[][..], false, true),
        (&[("tools.*", Permission::Deny)], false, false),
        (&[("tools.*", Permission::Deny)], true, false),
        (&[("*", Permission::Ask)], false, false),
        (&[("*", Permission::Ask)], true, true),
    ] {
        let origin = Origin { scope: Scope::Explicit, file: "t.toml".into(), line: 1 };
        let plan = EnsemblePlan::new("mail".to_owned().try_into().unwrap(), origin);
        let listed = Listed(TOOLS.to_vec(), AtomicBool::new(false));
        let list =
            rules.iter().map(|(pattern, permission)| Rule::new(*pattern, *permission, "test").unwrap());
        let rules_of_run = Rules::new(list.collect()).interactive(interactive);
        let ensembles = vec![Ensemble::new(&plan, Box::new(listed))];
        let (roster, _) = Roster::connect(ensembles, rules_of_run, Arc::new(NoArtefacts)).await;
        assert!(!roster.offer().can_search(), "there is none");
        roster.searchable();
        assert_eq!(roster.offer().can_search(), can, "{rules:?} {interactive}");
    }
    // By the rules of now.
    let roster = roster(&[]).await;
    let offer = roster.offer();
    roster.rules().add(Rule::new("tools.search", Permission::Deny, "said so").unwrap());
    assert!(!offer.can_search());
}
