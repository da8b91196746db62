//! The report of tests: lines while they run, or one document at the end.

use std::time::Duration;

use converse_canister::Outcome;
use converse_ensemble::tool_tests::{TestKind, TestOutcome, TestStatus};
use serde_json::{Map, Value, json};

use crate::args::{TestArgs, TestFormat};
use converse_host::failure::Failure;
use converse_host::tool_tests::TestReport;
use converse_terminal::console::Console;
use converse_terminal::render::output::{write_json, write_stdout};
use converse_text::junit::{self, Case, Fault, Suite, junit};
use converse_text::{safe, safe_line};

/// The largest arguments in a document, in bytes.
const MOST_ARGUMENTS: usize = 4 * 1024;
/// The length of arguments and names in a line, in characters.
const SHOWN: usize = 200;
/// The name of a JUnit document, and of its entries about the whole run.
const NAME: &str = "converse ensembles test";

pub(super) struct Report<'a> {
    format: TestFormat,
    console: &'a Console,
    outcomes: Vec<TestOutcome>,
}

impl<'a> Report<'a> {
    pub(super) fn new(args: &TestArgs, console: &'a Console) -> Self {
        let format = if args.json { TestFormat::Json } else { args.format };
        Self { format, console, outcomes: Vec::new() }
    }

    pub(super) fn outcomes(&self) -> &[TestOutcome] {
        &self.outcomes
    }

    /// Adds the failure that stopped the run. As text, the failure itself is shown.
    pub(super) fn stopped(&mut self, failure: &Failure) {
        self.outcomes.push(self.cleaned(TestOutcome::of_run(failure.code, &failure.message)));
    }

    pub(super) fn finish(&self) -> Result<(), Failure> {
        match self.format {
            TestFormat::Text if self.outcomes.iter().all(|outcome| outcome.kind == TestKind::Run) => Ok(()),
            TestFormat::Text => Ok(write_stdout(&self.summary())?),
            TestFormat::Json => Ok(write_json(&self.outcomes.iter().map(row).collect::<Value>())?),
            TestFormat::Junit => Ok(write_stdout(&junit(NAME, &self.suites()))?),
        }
    }

    fn write(&self, text: &str) -> Result<(), Failure> {
        match self.format {
            TestFormat::Text => Ok(write_stdout(text)?),
            TestFormat::Json | TestFormat::Junit => Ok(()),
        }
    }

    /// The outcome without secrets, also those of the test itself: a report goes further than a descriptor.
    fn cleaned(&self, outcome: TestOutcome) -> TestOutcome {
        let redactor = &self.console.context.redactor;
        let clean = |text: &str| redactor.clean(text);
        let outcome = TestOutcome { name: clean(&outcome.name), tool: clean(&outcome.tool), ..outcome };
        let status = match outcome.status {
            // The arguments of a passed test are not shown.
            TestStatus::Passed => return TestOutcome { arguments: Map::new(), ..outcome },
            TestStatus::Failed(mut misses) => {
                misses.iter_mut().for_each(|miss| miss.words = clean(&miss.words));
                TestStatus::Failed(misses)
            }
            TestStatus::Skipped(why) => TestStatus::Skipped(clean(&why)),
            TestStatus::Error(why) => TestStatus::Error(clean(&why)),
        };
        let mut value = Value::Object(outcome.arguments);
        redactor.clean_json(&mut value);
        // If only the written form is a secret, such as a number, no arguments are left.
        let arguments = serde_json::from_str(&clean(&value.to_string())).unwrap_or_default();
        TestOutcome { status, arguments, ..outcome }
    }

    fn summary(&self) -> String {
        let count =
            |word: &str| self.outcomes.iter().filter(|outcome| outcome.status.as_str() == word).count();
        let (passed, failed, skipped) = (count("passed"), count("failed"), count("skipped"));
        let lost = self.outcomes.iter().filter(|outcome| outcome.kind == TestKind::Connecting).count();
        let mut summary = format!("{passed} passed, {failed} failed");
        if lost > 0 {
            summary.push_str(&format!(", {lost} not connected"));
        }
        if skipped > 0 {
            summary.push_str(&format!(", {skipped} skipped"));
        }
        if self.outcomes.iter().any(|outcome| outcome.kind == TestKind::Run) {
            summary.push_str(", stopped before its end");
        }
        summary + "\n"
    }

    fn suites(&self) -> Vec<Suite> {
        let mut suites: Vec<Suite> = Vec::new();
        for outcome in &self.outcomes {
            let name = if outcome.kind == TestKind::Run { NAME } else { &outcome.ensemble };
            match suites.iter_mut().find(|suite| suite.name == name) {
                Some(suite) => suite.cases.push(case(outcome)),
                None => suites.push(Suite { name: name.to_owned(), cases: vec![case(outcome)] }),
            }
        }
        suites
    }
}

impl TestReport for Report<'_> {
    fn add(&mut self, outcome: TestOutcome) -> Result<(), Failure> {
        let outcome = self.cleaned(outcome);
        self.write(&lines(&outcome))?;
        self.outcomes.push(outcome);
        Ok(())
    }

    /// As text, one line for all calls that passed.
    fn add_generated(&mut self, outcomes: Vec<TestOutcome>) -> Result<(), Failure> {
        let outcomes: Vec<TestOutcome> = outcomes.into_iter().map(|outcome| self.cleaned(outcome)).collect();
        let notable = outcomes.iter().filter(|outcome| outcome.status != TestStatus::Passed);
        let text: String = notable.map(lines).collect();
        self.write(&(text + &generated_line(&outcomes)))?;
        self.outcomes.extend(outcomes);
        Ok(())
    }
}

fn lines(outcome: &TestOutcome) -> String {
    let (subject, name) = (safe_line(&outcome.subject(), SHOWN), safe_line(&outcome.name, SHOWN));
    match &outcome.status {
        TestStatus::Passed => format!("ok      {subject}  {name}  {}\n", time(outcome.took)),
        TestStatus::Skipped(why) => format!("skipped {subject}  {}\n", safe_line(why, SHOWN)),
        TestStatus::Error(why) => format!("ERROR   {subject}  {}\n{}", safe(why), place(outcome)),
        TestStatus::Failed(misses) => {
            let mut text = format!("FAILED  {subject}  {name}  {}\n", time(outcome.took));
            misses
                .iter()
                .for_each(|miss| text.push_str(&format!("        {}: {}\n", miss.key, safe(&miss.words))));
            if outcome.kind != TestKind::Written {
                text.push_str(&format!(
                    "        arguments: {}\n",
                    safe_line(&arguments(&outcome.arguments), SHOWN)
                ));
            }
            text + &place(outcome)
        }
    }
}

fn place(outcome: &TestOutcome) -> String {
    format!("        --> {}:{}\n", safe(&outcome.file), outcome.line)
}

fn generated_line(made: &[TestOutcome]) -> String {
    let passed = |kind: TestKind| {
        made.iter().filter(|outcome| outcome.kind == kind && outcome.status == TestStatus::Passed).count()
    };
    let (fitting, broken) = (passed(TestKind::Fitting), passed(TestKind::Broken));
    let took = made.iter().map(|outcome| outcome.took).sum();
    // A tool may answer valid arguments with an error, which is worth knowing.
    let is_error = |outcome: &&TestOutcome| {
        outcome.kind == TestKind::Fitting
            && outcome.status == TestStatus::Passed
            && outcome.outcome != Some(Outcome::Success)
    };
    let errors = match made.iter().filter(is_error).count() {
        0 => String::new(),
        count => format!(" ({count} answered with an error)"),
    };
    match made.first() {
        Some(first) if fitting + broken > 0 => {
            let subject = safe_line(&first.subject(), SHOWN);
            format!(
                "ok      {subject}  {fitting} fitting{errors} and {broken} broken calls made from its schema  {}\n",
                time(took)
            )
        }
        _ => String::new(),
    }
}

fn time(took: Duration) -> String {
    match took.as_millis() {
        0 => "<1 ms".to_owned(),
        millis => format!("{millis} ms"),
    }
}

fn arguments(arguments: &Map<String, Value>) -> String {
    Value::Object(arguments.clone()).to_string()
}

fn non_empty(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

fn row(outcome: &TestOutcome) -> Value {
    let (misses, reason) = match &outcome.status {
        TestStatus::Passed => (Vec::new(), None),
        TestStatus::Failed(misses) => {
            (misses.iter().map(|miss| json!({ "key": miss.key, "words": miss.words })).collect(), None)
        }
        TestStatus::Skipped(why) | TestStatus::Error(why) => (Vec::new(), Some(why)),
    };
    let shown = matches!(outcome.status, TestStatus::Failed(_))
        && arguments(&outcome.arguments).len() <= MOST_ARGUMENTS;
    json!({
        "ensemble": non_empty(&outcome.ensemble),
        "tool": non_empty(&outcome.tool),
        "test": outcome.name,
        "kind": outcome.kind.as_str(),
        "status": outcome.status.as_str(),
        "outcome": outcome.outcome,
        "took_s": outcome.took.as_secs_f64(),
        "misses": misses,
        "reason": reason,
        "arguments": shown.then_some(&outcome.arguments),
        "file": non_empty(&outcome.file),
        "line": non_empty(&outcome.file).map(|_| outcome.line),
    })
}

fn case(outcome: &TestOutcome) -> Case {
    let fault = |sort, kind: &str, message: &str| {
        let mut text = message.to_owned();
        if outcome.kind != TestKind::Run {
            let arguments = safe_line(&arguments(&outcome.arguments), SHOWN);
            text.push_str(&format!("\n{}:{}\narguments: {arguments}", outcome.file, outcome.line));
        }
        Fault { sort, kind: kind.to_owned(), message: message.to_owned(), text }
    };
    let faults = match &outcome.status {
        TestStatus::Passed => Vec::new(),
        TestStatus::Failed(misses) => {
            misses.iter().map(|miss| fault(junit::Sort::Failure, miss.key, &miss.words)).collect()
        }
        TestStatus::Skipped(why) => vec![fault(junit::Sort::Skipped, "skipped", why)],
        TestStatus::Error(why) => {
            let kind = if outcome.kind == TestKind::Run { &outcome.name } else { "connect-failed" };
            vec![fault(junit::Sort::Error, kind, why)]
        }
    };
    let name = match outcome.kind {
        TestKind::Fitting | TestKind::Broken => format!("{}: {}", outcome.kind.as_str(), outcome.name),
        TestKind::Run | TestKind::Connecting | TestKind::Written => outcome.name.clone(),
    };
    let class = if outcome.kind == TestKind::Run { NAME.to_owned() } else { outcome.subject() };
    Case { class, name, took: Some(outcome.took), faults, output: String::new() }
}
