//! Calls generated from the schemas of tools. Valid arguments are used only for tools that change nothing. Broken arguments
//! must be refused before the tool runs.

use converse_canister::Outcome;
use converse_config::{Effects, EnsemblePlan};
use converse_ensemble::tool_tests::{
    Miss, Sample, TestKind, TestOutcome, TestStatus, result_text, synthesise,
};
use converse_ensemble::{CRASHED, KILLED, Tool};

use super::TestReport;
use super::call::{Call, Called};
use super::selection::Selected;
use crate::failure::Failure;
use crate::single_call::Caller;
use converse_text::safe_line;

/// The length of an answer in a message, in characters.
const SHOWN: usize = 200;
/// The name of outcomes about all calls of one schema.
const NAME: &str = "made from the schema";

pub(super) async fn run(
    selected: &Selected<'_>,
    caller: &Caller<'_>,
    report: &mut dyn TestReport,
) -> Result<(), Failure> {
    let plan = selected.plan;
    let tools = caller.roster.tools_of(plan.name.as_str()).unwrap_or_default();
    for tool in tools.iter().filter(|tool| selected.has(tool.invoker.as_str())) {
        let mut outcomes = Vec::new();
        let ran = Generated { plan, tool, caller }.all(&mut outcomes).await;
        // A run that is stopped keeps its outcomes.
        report.add_generated(outcomes)?;
        ran?;
    }
    Ok(())
}

struct Generated<'a> {
    plan: &'a EnsemblePlan,
    tool: &'a Tool,
    caller: &'a Caller<'a>,
}

impl Generated<'_> {
    /// Adds every outcome, even if the run has to end.
    async fn all(&self, outcomes: &mut Vec<TestOutcome>) -> Result<(), Failure> {
        if let Some(held) = self.tool.held {
            let words = format!("held back by the lockfile: {}", held.reason());
            outcomes.push(self.outcome(TestKind::Fitting, NAME, TestStatus::Failed(vec![miss(words)])));
            return Ok(());
        }
        let made = match synthesise(&self.tool.declaration.arguments) {
            Ok(made) => made,
            Err(error) => {
                let words = format!("the schema cannot be used: {error}");
                outcomes.push(self.outcome(
                    TestKind::Fitting,
                    "the schema",
                    TestStatus::Failed(vec![miss(words)]),
                ));
                return Ok(());
            }
        };
        self.fitting(&made.fitting, outcomes).await?;
        for sample in &made.broken {
            outcomes.push(self.broken(sample)?);
        }
        outcomes.extend(made.gaps.into_iter().map(|gap| self.skipped(gap)));
        Ok(())
    }

    async fn fitting(&self, samples: &[Sample], outcomes: &mut Vec<TestOutcome>) -> Result<(), Failure> {
        if self.tool.policy.effects > Effects::Read {
            let why = "not called: the tool may change something; its descriptor has no `effects = \"read\"`";
            outcomes.push(self.skipped(why.to_owned()));
            return Ok(());
        }
        for (number, sample) in samples.iter().enumerate() {
            let called = self.call(sample).run(self.caller).await?;
            let (status, again) = judge(&called);
            outcomes.push(TestOutcome {
                took: called.took,
                ..self.sample(TestKind::Fitting, sample, status, called.outcome)
            });
            if !again {
                let left = samples.len() - number - 1;
                outcomes.extend(
                    (left > 0).then(|| self.skipped(format!("{left} more valid calls were not made"))),
                );
                break;
            }
        }
        Ok(())
    }

    fn broken(&self, sample: &Sample) -> Result<TestOutcome, Failure> {
        let outcome = self.call(sample).judge(self.caller)?;
        let status = match outcome {
            Outcome::Invalid => TestStatus::Passed,
            Outcome::Success => TestStatus::Failed(vec![miss("invalid arguments were accepted".to_owned())]),
            other => {
                let words =
                    format!("invalid arguments must have the outcome `invalid`, not `{}`", other.label());
                TestStatus::Failed(vec![miss(words)])
            }
        };
        Ok(self.sample(TestKind::Broken, sample, status, outcome))
    }

    fn call<'s>(&'s self, sample: &'s Sample) -> Call<'s> {
        let shown = self.tool.declaration.name.as_str();
        Call { shown, arguments: &sample.arguments, approved: self.plan.trusted, within: None }
    }

    fn sample(&self, kind: TestKind, sample: &Sample, status: TestStatus, outcome: Outcome) -> TestOutcome {
        let arguments = sample.arguments.clone();
        TestOutcome { outcome: Some(outcome), arguments, ..self.outcome(kind, &sample.what, status) }
    }

    fn skipped(&self, why: String) -> TestOutcome {
        self.outcome(TestKind::Fitting, NAME, TestStatus::Skipped(why))
    }

    fn outcome(&self, kind: TestKind, name: &str, status: TestStatus) -> TestOutcome {
        TestOutcome::of_tool(self.plan, self.tool.invoker.as_str(), kind, name, status)
    }
}

fn miss(words: String) -> Miss {
    Miss { key: "outcome", words }
}

/// The status of a call with valid arguments, and whether another one makes sense. A tool may answer with an error, but it
/// must answer.
fn judge(called: &Called) -> (TestStatus, bool) {
    let text = result_text(&called.content);
    let answer = safe_line(text.trim(), SHOWN);
    let failed = |what: &str| TestStatus::Failed(vec![miss(format!("{what}: {answer}"))]);
    match called.outcome {
        Outcome::Failed if text == CRASHED || text.starts_with(KILLED) => (failed("the tool crashed"), true),
        Outcome::Success | Outcome::Failed => (TestStatus::Passed, true),
        Outcome::Invalid if called.ran => (TestStatus::Passed, true),
        Outcome::Refused => (TestStatus::Skipped(format!("not called: {answer}")), false),
        Outcome::Timeout => (failed("timeout: no answer"), false),
        Outcome::Unreachable | Outcome::Interrupted => (failed("the tool was lost while it ran"), false),
        other => (failed(&format!("the outcome is `{}`", other.label())), true),
    }
}
