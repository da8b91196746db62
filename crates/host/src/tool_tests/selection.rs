//! Which tests of which tools are run.

use converse_config::{EnsemblePlan, Scope, TestPlan};
use converse_ensemble::Roster;

use crate::catalogue::Catalogue;
use crate::failure::Failure;

/// An ensemble to test.
pub(super) struct Selected<'c> {
    pub(super) plan: &'c EnsemblePlan,
    /// `None`: all tools.
    tools: Option<Vec<String>>,
}

/// The named ensembles and tools. Without names: all enabled ensembles of the user that have something to test. Those in
/// the binary are left out: they were tested with it, and some need other programs or the network.
///
/// # Errors
///
/// A broken or untrusted ensemble stops the run: its tests would be missing silently.
pub(super) fn selected<'c>(
    names: &[String],
    generate: bool,
    catalogue: &'c Catalogue,
) -> Result<Vec<Selected<'c>>, Failure> {
    let is_worth_it =
        |selected: &Selected<'_>| generate || selected.tests().any(|(_, tests)| !tests.is_empty());
    if names.is_empty() {
        catalogue.stop_for_own_errors()?;
        catalogue.stop_for_errors_of_the_project()?;
        let is_own = |plan: &&EnsemblePlan| plan.enabled && plan.origin.scope != Scope::Shipped;
        let plans = catalogue.plans.iter().filter(is_own).map(|plan| Selected { plan, tools: None });
        let usable = |selected: Selected<'c>| {
            Ok(Selected { plan: catalogue.named(selected.plan.name.as_str())?, ..selected })
        };
        return plans.filter(is_worth_it).map(usable).collect();
    }
    let mut all: Vec<Selected<'c>> = Vec::new();
    for name in names {
        let (ensemble, tool) =
            name.split_once('.').map_or((name.as_str(), None), |(e, tool)| (e, Some(tool)));
        let plan = catalogue.named(ensemble)?;
        if plan.connection.is_none() {
            let known: Vec<&str> = plan.invokers.iter().map(|invoker| invoker.name.as_str()).collect();
            tool.map_or(Ok(()), |tool| check_tool(plan, tool, &known))?;
        }
        match (all.iter_mut().find(|selected| selected.plan.name == plan.name), tool) {
            (Some(Selected { tools: Some(tools), .. }), Some(tool)) => tools.push(tool.to_owned()),
            (Some(known), None) => known.tools = None,
            (Some(_), Some(_)) => {}
            (None, tool) => all.push(Selected { plan, tools: tool.map(|tool| vec![tool.to_owned()]) }),
        }
    }
    all.retain(is_worth_it);
    Ok(all)
}

impl<'c> Selected<'c> {
    /// Whether this tool is to be tested.
    pub(super) fn has(&self, tool: &str) -> bool {
        self.tools.as_ref().is_none_or(|tools| tools.iter().any(|one| one == tool))
    }

    /// The declared tests of each tool, in their order.
    pub(super) fn tests(&self) -> impl Iterator<Item = (&'c str, &'c [TestPlan])> {
        tests(self.plan).filter(|(tool, _)| self.has(tool))
    }

    /// Checks the names of tools that are known only after connecting.
    pub(super) fn check_tools(&self, roster: &Roster) -> Result<(), Failure> {
        let found = roster.tools_of(self.plan.name.as_str()).unwrap_or_default();
        let found = found.iter().map(|tool| tool.invoker.as_str());
        let known: Vec<&str> = found.chain(tests(self.plan).map(|(tool, _)| tool)).collect();
        self.tools.iter().flatten().try_for_each(|tool| check_tool(self.plan, tool, &known))
    }
}

fn tests(plan: &EnsemblePlan) -> impl Iterator<Item = (&str, &[TestPlan])> {
    let declared = plan.invokers.iter().map(|invoker| (invoker.name.as_str(), invoker.tests.as_slice()));
    declared.chain(plan.tests.iter().map(|(name, tests)| (name.as_str(), tests.as_slice())))
}

fn check_tool(plan: &EnsemblePlan, tool: &str, known: &[&str]) -> Result<(), Failure> {
    if known.contains(&tool) {
        return Ok(());
    }
    let otherwise = format!("`converse ensembles show {}` lists its tools", plan.name);
    let failure = Failure::usage("unknown-tool", format!("there is no tool `{}.{tool}`", plan.name));
    Err(failure.did_you_mean(tool, known.iter().copied(), &otherwise))
}
