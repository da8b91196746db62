//! Calls made from the schemas of tools. What fits is called, of tools that change nothing; what is broken must be
//! refused before anything runs, of every tool.

use converse_canister::Outcome;
use converse_config::{Effects, EnsemblePlan};
use converse_ensemble::tool_tests::{Miss, Sample, result_text, synthesise};
use converse_ensemble::{CRASHED, KILLED, Tool};

use super::attempt::{Call, Called, Stage};
use super::done::{Done, End, Sort};
use super::report::Report;
use converse_host::failure::Failure;
use converse_text::safe_line;

/// Characters of an answer that are shown.
const SHOWN: usize = 200;
/// Of what is about all calls that are made from one schema.
const NAME: &str = "made from the schema";

pub(super) async fn run(
    plan: &EnsemblePlan,
    chosen: impl Fn(&str) -> bool,
    stage: &Stage<'_>,
    report: &mut Report<'_>,
) -> Result<(), Failure> {
    let tools = stage.roster.tools_of(plan.name.as_str()).unwrap_or_default();
    for tool in tools.iter().filter(|tool| chosen(tool.invoker.as_str())) {
        let synth = Synth { plan, tool, stage };
        let mut made = Vec::new();
        let ran = synth.all(&mut made).await;
        // Also of a run that is stopped.
        report.add_made(made)?;
        ran?;
    }
    Ok(())
}

struct Synth<'a> {
    plan: &'a EnsemblePlan,
    tool: &'a Tool,
    stage: &'a Stage<'a>,
}

impl Synth<'_> {
    /// What is done is added, also if the run must end.
    async fn all(&self, done: &mut Vec<Done>) -> Result<(), Failure> {
        if let Some(held) = self.tool.held {
            let words = format!("it is held back by the lockfile: {}", held.reason());
            done.push(self.done(Sort::Fitting, NAME, End::Failed(vec![amiss(words)])));
            return Ok(());
        }
        let made = match synthesise(&self.tool.declaration.arguments) {
            Ok(made) => made,
            Err(error) => {
                let words = format!("its schema cannot be used: {error}");
                done.push(self.done(Sort::Fitting, "the schema", End::Failed(vec![amiss(words)])));
                return Ok(());
            }
        };
        self.fitting(&made.fitting, done).await?;
        for sample in &made.broken {
            done.push(self.broken(sample)?);
        }
        done.extend(made.gaps.into_iter().map(|gap| self.skipped(gap)));
        Ok(())
    }

    async fn fitting(&self, samples: &[Sample], done: &mut Vec<Done>) -> Result<(), Failure> {
        if self.tool.policy.effects > Effects::Read {
            let why = "not called: it may change something (`effects = \"read\"` in its descriptor says that it does not)";
            done.push(self.skipped(why.to_owned()));
            return Ok(());
        }
        for (number, sample) in samples.iter().enumerate() {
            let called = self.stage.call(&self.call(sample)).await?;
            let (end, go_on) = judged(&called);
            done.push(Done { took: called.took, ..self.sample(Sort::Fitting, sample, end, called.outcome) });
            if !go_on {
                let left = samples.len() - number - 1;
                done.extend(
                    (left > 0).then(|| self.skipped(format!("{left} more fitting calls were not made"))),
                );
                break;
            }
        }
        Ok(())
    }

    fn broken(&self, sample: &Sample) -> Result<Done, Failure> {
        let refusal = self.stage.refusal(&self.call(sample))?;
        let outcome = refusal.map_or(Outcome::Success, |called| called.outcome);
        let end = match outcome {
            Outcome::Invalid => End::Passed,
            Outcome::Success => End::Failed(vec![amiss("broken arguments were accepted".to_owned())]),
            other => {
                let words = format!("broken arguments must be `invalid`, not `{}`", other.label());
                End::Failed(vec![amiss(words)])
            }
        };
        Ok(self.sample(Sort::Broken, sample, end, outcome))
    }

    fn call<'s>(&'s self, sample: &'s Sample) -> Call<'s> {
        let shown = self.tool.declaration.name.as_str();
        Call { shown, arguments: &sample.arguments, agreed: self.plan.trusted, within: None }
    }

    fn sample(&self, sort: Sort, sample: &Sample, end: End, outcome: Outcome) -> Done {
        let arguments = sample.arguments.clone();
        Done { outcome: Some(outcome), arguments, ..self.done(sort, &sample.what, end) }
    }

    fn skipped(&self, why: String) -> Done {
        self.done(Sort::Fitting, NAME, End::Skipped(why))
    }

    fn done(&self, sort: Sort, name: &str, end: End) -> Done {
        Done::of_tool(self.plan, self.tool.invoker.as_str(), sort, name, end)
    }
}

fn amiss(words: String) -> Miss {
    Miss { key: "outcome", words }
}

/// How a fitting call ended, and whether there is any sense in another. A tool may say no; it may not fall silent.
fn judged(called: &Called) -> (End, bool) {
    let text = result_text(&called.content);
    let said = safe_line(text.trim(), SHOWN);
    let failed = |what: &str| End::Failed(vec![amiss(format!("{what}: {said}"))]);
    match called.outcome {
        Outcome::Failed if text == CRASHED || text.starts_with(KILLED) => (failed("the tool crashed"), true),
        Outcome::Success | Outcome::Failed => (End::Passed, true),
        Outcome::Invalid if called.ran => (End::Passed, true),
        Outcome::Refused => (End::Skipped(format!("not called: {said}")), false),
        Outcome::Timeout => (failed("no answer within its time"), false),
        Outcome::Unreachable | Outcome::Interrupted => (failed("it was lost while it ran"), false),
        other => (failed(&format!("the outcome is `{}`", other.label())), true),
    }
}
