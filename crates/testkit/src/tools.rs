//! Ensembles of tools that are functions, and calls of them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_debug_implementations,
    reason = "of tests"
)]

use std::sync::Arc;

use converse_canister::{Arguments, Invocation, InvocationId, InvocationResult, TurnId};
use converse_config::{EnsemblePlan, Origin, Permission, Policy, Rule, Scope};
use converse_ensemble::{
    Answer, Approved, CancelScope, ConnectError, Connection, Context, Ensemble, Host, Invocable, InvokeError,
    NoArtefacts, Roster, Tool, Verdict,
};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// The plan of an ensemble that has a name and nothing else, as of the user's file `x.toml`.
#[must_use]
pub fn plan(name: &str) -> EnsemblePlan {
    let origin = Origin { scope: Scope::User, file: "x.toml".into(), line: 1 };
    EnsemblePlan::new(name.to_owned().try_into().unwrap(), origin)
}

/// A connection with the tools that a function makes.
pub struct Offers<F>(pub F);

impl<F: Fn(&Ensemble) -> Vec<Tool> + Send + Sync> Connection for Offers<F> {
    fn connect<'a>(&'a self, ensemble: &'a Ensemble) -> BoxFuture<'a, Result<Vec<Tool>, ConnectError>> {
        std::future::ready(Ok((self.0)(ensemble))).boxed()
    }
}

/// A connection with one tool.
pub fn one_tool(name: &'static str, policy: Policy, invocable: impl Invocable + 'static) -> impl Connection {
    let invocable: Arc<dyn Invocable> = Arc::new(invocable);
    Offers(move |ensemble: &Ensemble| vec![tool(ensemble, name, policy.clone(), Arc::clone(&invocable))])
}

/// A tool without a description that takes any arguments.
pub fn tool(ensemble: &Ensemble, name: &str, policy: Policy, invocable: Arc<dyn Invocable>) -> Tool {
    let name = name.to_owned().try_into().unwrap();
    ensemble.tool(&name, String::new(), json!({ "type": "object" }), policy, false, invocable)
}

/// A tool that does what a function does.
pub struct Does<F>(pub F);

impl<F, A> Invocable for Does<F>
where
    F: Fn(Context, Arguments) -> A + Send + Sync,
    A: Future<Output = Result<Answer, InvokeError>> + Send + 'static,
{
    fn invoke<'a>(
        &'a self,
        context: Context,
        arguments: &'a Arguments,
    ) -> BoxFuture<'a, Result<Answer, InvokeError>> {
        (self.0)(context, arguments.clone()).boxed()
    }
}

/// A rule for the tools that match.
#[must_use]
pub fn rule(pattern: &str, permission: Permission) -> Rule {
    Rule::new(pattern, permission, "test").unwrap()
}

/// The roster of one ensemble `t`, of which everything is allowed.
pub async fn roster(connection: impl Connection + 'static) -> Roster {
    let ensemble = Ensemble::new(&plan("t"), Box::new(connection));
    let (roster, failures) =
        Roster::connect(vec![ensemble], vec![rule("*", Permission::Allow)], Arc::new(NoArtefacts)).await;
    assert_eq!(failures, []);
    roster
}

/// An invocation as a model writes it.
#[must_use]
pub fn invocation(tool: &str, arguments: &str) -> Invocation {
    let (turn, arguments) = (TurnId(1), Arguments::parse(arguments));
    Invocation {
        turn,
        id: InvocationId::of(turn, 0),
        wire_id: None,
        tool: tool.to_owned(),
        arguments,
        seal: None,
    }
}

/// Judges and runs a call, as the loop does.
///
/// # Panics
/// When the call is not allowed.
pub async fn call(roster: &Roster, invocation: &Invocation, cancel: &CancellationToken) -> InvocationResult {
    let Verdict::Allowed(approved) = roster.judge(invocation) else { panic!("not allowed") };
    run(roster, &approved, cancel).await
}

/// Runs what was approved.
pub async fn run(roster: &Roster, approved: &Approved, cancel: &CancellationToken) -> InvocationResult {
    let halt = CancelScope::below(cancel);
    let turn = roster.turn(approved, &halt).await.unwrap();
    roster.invoke(approved, turn, Host::default(), &halt.now).await.result
}

/// The names of the tools that are offered.
pub fn names(roster: &Roster) -> Vec<String> {
    roster.offer().declarations.iter().map(|declaration| declaration.name.to_string()).collect()
}
