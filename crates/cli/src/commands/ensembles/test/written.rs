//! The tests that stand in a descriptor, in their order: those of one tool may build upon each other.

use converse_config::{EnsemblePlan, TestPlan};
use converse_ensemble::tool_tests::verdict;

use super::attempt::{Call, Stage};
use super::done::{Done, End, Sort};
use super::report::Report;
use super::selection::tests;
use converse_host::failure::Failure;

pub(super) async fn run(
    plan: &EnsemblePlan,
    chosen: impl Fn(&str) -> bool,
    stage: &Stage<'_>,
    report: &mut Report<'_>,
) -> Result<(), Failure> {
    for (tool, tests) in tests(plan).filter(|(tool, _)| chosen(tool)) {
        for (number, test) in tests.iter().enumerate() {
            report.add(one(plan, tool, number, test, stage).await?)?;
        }
    }
    Ok(())
}

async fn one(
    plan: &EnsemblePlan,
    tool: &str,
    number: usize,
    test: &TestPlan,
    stage: &Stage<'_>,
) -> Result<Done, Failure> {
    let shown = shown(plan, tool, stage);
    let (arguments, within) = (&test.arguments, test.expect.within);
    let called = stage.call(&Call { shown: &shown, arguments, agreed: plan.trusted, within }).await?;
    let misses = verdict(test, called.outcome, &called.content, called.took);
    let name = test.name.clone().unwrap_or_else(|| format!("test {}", number + 1));
    Ok(Done {
        file: test.origin.file.clone(),
        line: test.origin.line,
        outcome: Some(called.outcome),
        took: called.took,
        arguments: test.arguments.clone(),
        ..Done::of_tool(plan, tool, Sort::Written, &name, End::of(misses))
    })
}

/// The name that a model would call it by; of one that is not there, its own, which is then told to be unknown.
fn shown(plan: &EnsemblePlan, tool: &str, stage: &Stage<'_>) -> String {
    let found = stage.roster.tools_of(plan.name.as_str()).unwrap_or_default();
    let found = found.iter().find(|found| found.invoker.as_str() == tool);
    found.map_or_else(|| format!("{}.{tool}", plan.name), |found| found.declaration.name.to_string())
}
