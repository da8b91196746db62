//! Which tests of which tools.

use converse_config::{EnsemblePlan, Scope, TestPlan};
use converse_ensemble::Roster;

use crate::args::TestArgs;
use converse_host::catalogue::Catalogue;
use converse_host::failure::Failure;

/// An ensemble to be tested.
pub(super) struct Wanted<'c> {
    pub(super) plan: &'c EnsemblePlan,
    /// `None`: all of them.
    pub(super) tools: Option<Vec<String>>,
}

/// What is named; without a name, all of one's own that is enabled and has something to test: what is in the binary was
/// tested with it, some of it needs programs that are not everywhere, and some goes to the network. What is broken or not trusted stops the
/// run either way: its tests would be missing, and nobody would know.
pub(super) fn wanted<'c>(args: &TestArgs, catalogue: &'c Catalogue) -> Result<Vec<Wanted<'c>>, Failure> {
    if args.names.is_empty() {
        catalogue.stop_for_own_errors()?;
        catalogue.stop_for_errors_of_the_project()?;
        let is_own = |plan: &EnsemblePlan| plan.enabled && plan.origin.scope != Scope::Shipped;
        let wanted = |plan: &&EnsemblePlan| is_own(plan) && (args.synth || has_tests(plan));
        let plans = catalogue.plans.iter().filter(wanted);
        let usable = plans.map(|plan| catalogue.named(plan.name.as_str()));
        return usable.map(|plan| Ok(Wanted { plan: plan?, tools: None })).collect();
    }
    let mut wanted: Vec<Wanted<'c>> = Vec::new();
    for name in &args.names {
        let (ensemble, tool) =
            name.split_once('.').map_or((name.as_str(), None), |(e, tool)| (e, Some(tool)));
        let plan = catalogue.named(ensemble)?;
        if plan.connection.is_none() {
            let tools = tool.map(|tool| [tool.to_owned()]);
            let known: Vec<&str> = plan.invokers.iter().map(|invoker| invoker.name.as_str()).collect();
            known_among(plan, tools.as_ref().map(<[String; 1]>::as_slice), &known)?;
        }
        match (wanted.iter_mut().find(|wanted| wanted.plan.name == plan.name), tool) {
            (Some(Wanted { tools: Some(tools), .. }), Some(tool)) => tools.push(tool.to_owned()),
            (Some(known), None) => known.tools = None,
            (Some(_), Some(_)) => {}
            (None, tool) => wanted.push(Wanted { plan, tools: tool.map(|tool| vec![tool.to_owned()]) }),
        }
    }
    wanted.retain(|wanted| args.synth || wanted.has_tests());
    Ok(wanted)
}

impl Wanted<'_> {
    fn has_tests(&self) -> bool {
        let chosen = |tool: &str| self.tools.as_ref().is_none_or(|tools| tools.iter().any(|one| one == tool));
        tests(self.plan).any(|(tool, tests)| chosen(tool) && !tests.is_empty())
    }
}

fn has_tests(plan: &EnsemblePlan) -> bool {
    tests(plan).any(|(_, tests)| !tests.is_empty())
}

/// The tests of each tool, in the order they are written in.
pub(super) fn tests(plan: &EnsemblePlan) -> impl Iterator<Item = (&str, &[TestPlan])> {
    let declared = plan.invokers.iter().map(|invoker| (invoker.name.as_str(), invoker.tests.as_slice()));
    declared.chain(plan.tests.iter().map(|(name, tests)| (name.as_str(), tests.as_slice())))
}

/// The tools of a server are known once it is connected.
pub(super) fn all_known(
    plan: &EnsemblePlan,
    tools: Option<&[String]>,
    roster: &Roster,
) -> Result<(), Failure> {
    let found = roster.tools_of(plan.name.as_str()).unwrap_or_default();
    let found = found.iter().map(|tool| tool.invoker.as_str());
    let known: Vec<&str> = found.chain(tests(plan).map(|(tool, _)| tool)).collect();
    known_among(plan, tools, &known)
}

fn known_among(plan: &EnsemblePlan, tools: Option<&[String]>, known: &[&str]) -> Result<(), Failure> {
    let Some(tool) = tools.into_iter().flatten().find(|tool| !known.contains(&tool.as_str())) else {
        return Ok(());
    };
    let otherwise = format!("`converse ensembles show {}` lists its tools", plan.name);
    let failure = Failure::usage("unknown-tool", format!("there is no tool `{}.{tool}`", plan.name));
    Err(failure.did_you_mean(tool, known.iter().copied(), &otherwise))
}
