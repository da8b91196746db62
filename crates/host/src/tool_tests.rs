//! Runs the tests of descriptors, and calls generated from schemas, without a model.
//!
//! A test takes the steps of every invocation: judge, decide, audit, run. Running the tests counts as approval for trusted
//! ensembles; what a rule denies stays denied. No result comes from a cache.

mod call;
mod generated;
mod selection;
mod verdict;

use converse_config::{EnsemblePlan, Policy, TestPlan};
use converse_ensemble::tool_tests::{TestKind, TestOutcome, TestStatus, verdict as misses_of};

use crate::audit::AuditSink;
use crate::catalogue::Catalogue;
use crate::contents::Kept;
use crate::context::RunContext;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::options::RuleOptions;
use crate::settings::Files;
use crate::single_call::Caller;
use crate::wiring::{Connected, Wiring, eager};
use crate::world::World;

use call::Call;
use selection::Selected;

pub use verdict::{HOW_TO_ADD_TESTS, verdict};

/// The tests to run.
#[derive(Debug)]
pub struct ToolTests<'a> {
    /// Ensembles, or tools as `ensemble.invoker`; empty: all tests of the user.
    pub names: &'a [String],
    /// Also make calls from the schemas of tools.
    pub generate: bool,
    pub rules: &'a RuleOptions,
    pub context: &'a RunContext,
    pub world: &'a World,
    pub interrupt: &'a Interrupt,
}

/// Receives outcomes while the tests run.
pub trait TestReport {
    /// A declared test, or an ensemble that could not be connected.
    fn add(&mut self, outcome: TestOutcome) -> Result<(), Failure>;

    /// All calls that were generated from the schema of one tool.
    fn add_generated(&mut self, outcomes: Vec<TestOutcome>) -> Result<(), Failure>;
}

impl ToolTests<'_> {
    /// Runs the tests. A failed test is an outcome, not an error.
    pub async fn run(&self, catalogue: &Catalogue, report: &mut dyn TestReport) -> Result<(), Failure> {
        let (context, world, interrupt) = (self.context, self.world, self.interrupt);
        let selected = selection::selected(self.names, self.generate, catalogue)?;
        context.warn_all(catalogue.notes());
        let (files, rules) = Files::for_tools(self.rules, context, world)?;
        let audit = AuditSink::new(files.audit.unwrap_or(true), None, context, world);
        if selected.is_empty() {
            return Ok(());
        }
        let plans: Vec<EnsemblePlan> = selected.iter().map(|selected| uncached(selected.plan)).collect();
        let (contents, lockfiles) = (&Kept::new(None), &catalogue.lockfiles());
        let protected = catalogue.protected();
        let wiring = Wiring { protected, lockfiles, ..Wiring::looking(world, context, interrupt, contents) };
        let connected = wiring.connect(&plans.iter().collect::<Vec<_>>(), rules).await?;
        let ran = self.each(&selected, &connected, &audit, report).await;
        connected.disconnect(context).await;
        if interrupt.number().is_some() { Err(interrupt.failure()) } else { ran }
    }

    async fn each(
        &self,
        selected: &[Selected<'_>],
        connected: &Connected,
        audit: &AuditSink,
        report: &mut dyn TestReport,
    ) -> Result<(), Failure> {
        let caller = Caller::new(&connected.roster, audit, self.interrupt);
        for selected in selected {
            let name = selected.plan.name.as_str();
            for failure in connected.failures.iter().filter(|failure| failure.ensemble == name) {
                let status = TestStatus::Error(failure.reason.clone());
                report.add(TestOutcome::of_ensemble(selected.plan, status))?;
            }
            if connected.roster.tools_of(name).is_none() {
                continue;
            }
            selected.check_tools(&connected.roster)?;
            for (tool, tests) in selected.tests() {
                for (number, test) in tests.iter().enumerate() {
                    report.add(declared(selected.plan, tool, number, test, &caller).await?)?;
                }
            }
            if self.generate {
                generated::run(selected, &caller, report).await?;
            }
        }
        Ok(())
    }
}

/// Runs one declared test. Tests of one tool may build on each other.
async fn declared(
    plan: &EnsemblePlan,
    tool: &str,
    number: usize,
    test: &TestPlan,
    caller: &Caller<'_>,
) -> Result<TestOutcome, Failure> {
    let tools = caller.roster.tools_of(plan.name.as_str()).unwrap_or_default();
    let found = tools.iter().find(|found| found.invoker.as_str() == tool);
    // The call of a tool that does not exist is answered as such.
    let shown =
        found.map_or_else(|| format!("{}.{tool}", plan.name), |found| found.declaration.name.to_string());
    let (arguments, within) = (&test.arguments, test.expect.within);
    let call = Call { shown: &shown, arguments, approved: plan.trusted, within };
    let called = call.run(caller).await?;
    let misses = misses_of(test, called.outcome, &called.content, called.took);
    let name = test.name.clone().unwrap_or_else(|| format!("test {}", number + 1));
    Ok(TestOutcome {
        file: test.origin.file.clone(),
        line: test.origin.line,
        outcome: Some(called.outcome),
        took: called.took,
        arguments: test.arguments.clone(),
        ..TestOutcome::of_tool(plan, tool, TestKind::Written, &name, TestStatus::of(misses))
    })
}

/// The plan without caches.
fn uncached(plan: &EnsemblePlan) -> EnsemblePlan {
    let mut plan = eager(plan);
    let uncached = |policy: &mut Policy| policy.cache = None;
    uncached(&mut plan.defaults);
    plan.tools.values_mut().for_each(uncached);
    plan.invokers.iter_mut().for_each(|invoker| uncached(&mut invoker.policy));
    plan
}
