//! What came of the tests: lines as they end, or one document at the end.

use std::time::Duration;

use converse_canister::Outcome;
use serde_json::{Map, Value, json};

use super::done::{Done, End, Sort};
use crate::args::{TestArgs, TestFormat};
use converse_host::failure::Failure;
use converse_terminal::console::Console;
use converse_terminal::render::junit::{self, Case, Fault, Suite, junit};
use converse_terminal::render::output::{write_json, write_stdout};
use converse_text::{safe, safe_line};

/// Bytes of arguments that a document repeats.
const MOST_ARGUMENTS: usize = 4 * 1024;
/// Characters of arguments in a line, and of names.
const SHOWN: usize = 200;
/// Of a JUnit document, and of what in it is about the whole run.
const NAME: &str = "converse ensembles test";

pub(super) struct Report<'a> {
    format: TestFormat,
    console: &'a Console,
    done: Vec<Done>,
}

impl<'a> Report<'a> {
    pub(super) fn new(args: &TestArgs, console: &'a Console) -> Self {
        let format = if args.json { TestFormat::Json } else { args.format };
        Self { format, console, done: Vec::new() }
    }

    pub(super) fn done(&self) -> &[Done] {
        &self.done
    }

    pub(super) fn add(&mut self, done: Done) -> Result<(), Failure> {
        let done = self.cleaned(done);
        self.tell(&lines(&done))?;
        self.done.push(done);
        Ok(())
    }

    /// What was made from one schema: in text, a line for all that is well.
    pub(super) fn add_made(&mut self, made: Vec<Done>) -> Result<(), Failure> {
        let made: Vec<Done> = made.into_iter().map(|done| self.cleaned(done)).collect();
        let notable = made.iter().filter(|done| done.end != End::Passed);
        let mut text: String = notable.map(lines).collect();
        text.push_str(&summed(&made));
        self.tell(&text)?;
        self.done.extend(made);
        Ok(())
    }

    /// The last thing that there is to say; in text, the failure itself says it.
    pub(super) fn stopped(&mut self, failure: &Failure) {
        self.done.push(self.cleaned(Done::of_run(failure)));
    }

    pub(super) fn finish(&self) -> Result<(), Failure> {
        match self.format {
            TestFormat::Text if self.done.iter().all(|done| done.sort == Sort::Run) => Ok(()),
            TestFormat::Text => Ok(write_stdout(&self.summary())?),
            TestFormat::Json => Ok(write_json(&self.done.iter().map(row).collect::<Value>())?),
            TestFormat::Junit => Ok(write_stdout(&junit(NAME, &self.suites()))?),
        }
    }

    fn tell(&self, text: &str) -> Result<(), Failure> {
        match self.format {
            TestFormat::Text => Ok(write_stdout(text)?),
            TestFormat::Json | TestFormat::Junit => Ok(()),
        }
    }

    /// Without secrets, those of the test itself too: a report goes to places where a descriptor would not.
    fn cleaned(&self, done: Done) -> Done {
        let redactor = &self.console.context.redactor;
        let clean = |text: &str| redactor.clean(text);
        let done = Done { name: clean(&done.name), tool: clean(&done.tool), ..done };
        let end = match done.end {
            // Nobody asks what it was called with.
            End::Passed => return Done { arguments: Map::new(), ..done },
            End::Failed(mut misses) => {
                misses.iter_mut().for_each(|miss| miss.words = clean(&miss.words));
                End::Failed(misses)
            }
            End::Skipped(why) => End::Skipped(clean(&why)),
            End::Error(why) => End::Error(clean(&why)),
        };
        let mut value = Value::Object(done.arguments);
        redactor.clean_json(&mut value);
        // What is only a secret once it is written out, like a number, leaves nothing that can be told.
        let arguments = serde_json::from_str(&clean(&value.to_string())).unwrap_or_default();
        Done { end, arguments, ..done }
    }

    fn summary(&self) -> String {
        let count = |word: &str| self.done.iter().filter(|done| done.end.as_str() == word).count();
        let (passed, failed, skipped) = (count("passed"), count("failed"), count("skipped"));
        let lost = self.done.iter().filter(|done| done.sort == Sort::Connecting).count();
        let mut summary = format!("{passed} passed, {failed} failed");
        if lost > 0 {
            summary.push_str(&format!(", {lost} not connected"));
        }
        if skipped > 0 {
            summary.push_str(&format!(", {skipped} skipped"));
        }
        if self.done.iter().any(|done| done.sort == Sort::Run) {
            summary.push_str(", stopped before its end");
        }
        summary + "\n"
    }

    fn suites(&self) -> Vec<Suite> {
        let mut suites: Vec<Suite> = Vec::new();
        for done in &self.done {
            let name = if done.sort == Sort::Run { NAME } else { &done.ensemble };
            match suites.iter_mut().find(|suite| suite.name == name) {
                Some(suite) => suite.cases.push(case(done)),
                None => suites.push(Suite { name: name.to_owned(), cases: vec![case(done)] }),
            }
        }
        suites
    }
}

fn lines(done: &Done) -> String {
    let (subject, name) = (safe_line(&done.subject(), SHOWN), safe_line(&done.name, SHOWN));
    match &done.end {
        End::Passed => format!("ok      {subject}  {name}  {}\n", time(done.took)),
        End::Skipped(why) => format!("skipped {subject}  {}\n", safe_line(why, SHOWN)),
        End::Error(why) => format!("ERROR   {subject}  {}\n{}", safe(why), place(done)),
        End::Failed(misses) => {
            let mut text = format!("FAILED  {subject}  {name}  {}\n", time(done.took));
            misses
                .iter()
                .for_each(|miss| text.push_str(&format!("        {}: {}\n", miss.key, safe(&miss.words))));
            if done.sort != Sort::Written {
                text.push_str(&format!(
                    "        arguments: {}\n",
                    safe_line(&arguments(&done.arguments), SHOWN)
                ));
            }
            text + &place(done)
        }
    }
}

fn place(done: &Done) -> String {
    format!("        --> {}:{}\n", safe(&done.file), done.line)
}

fn summed(made: &[Done]) -> String {
    let well = |sort: Sort| made.iter().filter(|done| done.sort == sort && done.end == End::Passed).count();
    let (fitting, broken) = (well(Sort::Fitting), well(Sort::Broken));
    let took = made.iter().map(|done| done.took).sum();
    // It may say no to what fits its schema; that it did is worth knowing.
    let said_no = |done: &&Done| {
        done.sort == Sort::Fitting && done.end == End::Passed && done.outcome != Some(Outcome::Success)
    };
    let no = match made.iter().filter(said_no).count() {
        0 => String::new(),
        count => format!(" ({count} answered with an error)"),
    };
    match made.first() {
        Some(first) if fitting + broken > 0 => {
            let subject = safe_line(&first.subject(), SHOWN);
            format!(
                "ok      {subject}  {fitting} fitting{no} and {broken} broken calls made from its schema  {}\n",
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

fn said(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

fn row(done: &Done) -> Value {
    let (misses, reason) = match &done.end {
        End::Passed => (Vec::new(), None),
        End::Failed(misses) => {
            (misses.iter().map(|miss| json!({ "key": miss.key, "words": miss.words })).collect(), None)
        }
        End::Skipped(why) | End::Error(why) => (Vec::new(), Some(why)),
    };
    let told = matches!(done.end, End::Failed(_)) && arguments(&done.arguments).len() <= MOST_ARGUMENTS;
    json!({
        "ensemble": said(&done.ensemble),
        "tool": said(&done.tool),
        "test": done.name,
        "kind": done.sort.as_str(),
        "status": done.end.as_str(),
        "outcome": done.outcome,
        "took_s": done.took.as_secs_f64(),
        "misses": misses,
        "reason": reason,
        "arguments": told.then_some(&done.arguments),
        "file": said(&done.file),
        "line": said(&done.file).map(|_| done.line),
    })
}

fn case(done: &Done) -> Case {
    let fault = |sort, kind: &str, message: &str| {
        let mut text = message.to_owned();
        if done.sort != Sort::Run {
            let arguments = safe_line(&arguments(&done.arguments), SHOWN);
            text.push_str(&format!("\n{}:{}\narguments: {arguments}", done.file, done.line));
        }
        Fault { sort, kind: kind.to_owned(), message: message.to_owned(), text }
    };
    let faults = match &done.end {
        End::Passed => Vec::new(),
        End::Failed(misses) => {
            misses.iter().map(|miss| fault(junit::Sort::Failure, miss.key, &miss.words)).collect()
        }
        End::Skipped(why) => vec![fault(junit::Sort::Skipped, "skipped", why)],
        End::Error(why) => {
            let kind = if done.sort == Sort::Run { &done.name } else { "connect-failed" };
            vec![fault(junit::Sort::Error, kind, why)]
        }
    };
    let name = match done.sort {
        Sort::Fitting | Sort::Broken => format!("{}: {}", done.sort.as_str(), done.name),
        Sort::Run | Sort::Connecting | Sort::Written => done.name.clone(),
    };
    let class = if done.sort == Sort::Run { NAME.to_owned() } else { done.subject() };
    Case { class, name, took: Some(done.took), faults, output: String::new() }
}
