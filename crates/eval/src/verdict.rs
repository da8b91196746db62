//! Compares a finished conversation with what is expected of it. Pure.

use std::fmt::Write as _;

use converse_canister::canonical;
use converse_text::shorten;
use converse_text::wording::tool_name;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::suite::{CallExpect, Expect, Tools};

/// Characters of foreign text in a message.
const SHOWN: usize = 160;
/// Calls that a message lists.
const LISTED: usize = 12;
/// How a model may end a conversation badly. Any other failure says nothing about the model or the prompt.
const FAULTS: [&str; 8] = [
    "limit",
    "stopped",
    "unapproved",
    "waiting",
    "unfit-answer",
    "empty-reply",
    "odd-ending",
    "model-refused",
];

/// A finished conversation: the object of `ask -o json`, as far as it is judged.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Finished {
    pub answer: String,
    #[serde(default)]
    pub cost: Option<f64>,
    #[serde(default)]
    pub invocations: Vec<Called>,
    pub exit: u8,
    pub reason: String,
    #[serde(default)]
    pub error: Option<Problem>,
    #[serde(default)]
    pub milliseconds: Option<u64>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Called {
    /// As people write it: `ensemble.tool`.
    #[serde(deserialize_with = "tool")]
    pub tool: String,
    pub arguments: Value,
}

/// Reads the name of a tool, which is recorded as it is shown to models.
fn tool<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    String::deserialize(deserializer).map(|shown| tool_name(&shown))
}

#[derive(Debug, Clone, Deserialize)]
pub struct Problem {
    pub message: String,
}

/// The verdict on one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    Passed,
    Failed(Vec<Miss>),
    /// The run could not be judged.
    Error(Miss),
}

/// An expectation that is not met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Miss {
    /// The key of the case, such as `tools.must`; the code of an error.
    pub key: String,
    pub message: String,
}

impl Miss {
    pub fn new(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { key: key.into(), message: message.into() }
    }
}

impl Status {
    /// Passed if there are no misses.
    pub fn of(misses: Vec<Miss>) -> Self {
        if misses.is_empty() { Self::Passed } else { Self::Failed(misses) }
    }

    /// Returns the word for it in reports.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed(_) => "failed",
            Self::Error(_) => "error",
        }
    }

    /// Returns what is reported of it.
    pub fn misses(&self) -> &[Miss] {
        match self {
            Self::Passed => &[],
            Self::Failed(misses) => misses,
            Self::Error(miss) => std::slice::from_ref(miss),
        }
    }
}

/// Compares a conversation with all expectations but the judge's.
pub fn verdict(expect: &Expect, finished: &Finished) -> Status {
    let mut misses = Vec::new();
    if finished.exit != 0 {
        let message = finished.error.as_ref().map_or("", |problem| problem.message.as_str());
        if !FAULTS.contains(&finished.reason.as_str()) {
            return Status::Error(Miss::new(finished.reason.clone(), message));
        }
        misses.push(Miss::new("ending", format!("{}: {message}", finished.reason)));
    }
    of_tools(expect, &finished.invocations, &mut misses);
    for call in &expect.calls {
        misses.extend(of_call(call, &finished.invocations));
    }
    of_answer(expect, &finished.answer, &mut misses);
    Status::of(misses)
}

impl Tools {
    fn is(&self, call: &Called) -> bool {
        self.pattern.matches(&call.tool)
    }
}

fn of_tools(expect: &Expect, calls: &[Called], misses: &mut Vec<Miss>) {
    let names = || names(calls);
    let absent = expect.must.iter().filter(|tools| !calls.iter().any(|call| tools.is(call)));
    misses.extend(absent.map(|tools| {
        Miss::new("tools.must", format!("`{}` was not called; calls: {}", tools.text, names()))
    }));
    for tools in &expect.must_not {
        if let Some(call) = calls.iter().find(|call| tools.is(call)) {
            let arguments = shortened(&call.arguments.to_string());
            let which = if tools.text == call.tool { "" } else { &format!(" (`{}`)", tools.text) };
            let message = format!("`{}`{which} was called with {arguments}", shortened(&call.tool));
            misses.push(Miss::new("tools.must_not", message));
        }
    }
    if let Some(may) = &expect.may {
        let known = || {
            let of_calls = expect.calls.iter().map(|call| &call.tool);
            may.iter().chain(&expect.must).chain(&expect.order).chain(of_calls)
        };
        let mut others: Vec<&str> = Vec::new();
        for call in calls.iter().filter(|call| !known().any(|tools| tools.is(call))) {
            if !others.contains(&call.tool.as_str()) {
                others.push(&call.tool);
            }
        }
        misses.extend(others.into_iter().map(|tool| {
            Miss::new("tools.may", format!("`{}` was called, which is not allowed here", shortened(tool)))
        }));
    }
    let mut rest = calls.iter();
    if let Some(tools) = expect.order.iter().find(|tools| !rest.any(|call| tools.is(call))) {
        let order: Vec<&str> = expect.order.iter().map(|tools| tools.text.as_str()).collect();
        let message = format!("expected {}; `{}` is missing in: {}", order.join(", "), tools.text, names());
        misses.push(Miss::new("tools.order", message));
    }
}

fn names(calls: &[Called]) -> String {
    let mut names: Vec<String> = calls.iter().take(LISTED).map(|call| shortened(&call.tool)).collect();
    if calls.len() > LISTED {
        names.push(format!("… ({} in all)", calls.len()));
    }
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Returns the miss of the call that comes nearest, the last one of several.
fn of_call(expect: &CallExpect, calls: &[Called]) -> Option<Miss> {
    let mut nearest: Option<(Vec<String>, &Called)> = None;
    for call in calls.iter().filter(|call| expect.tool.is(call)) {
        let faults = faults(expect, &call.arguments);
        if faults.is_empty() {
            return None;
        }
        if nearest.as_ref().is_none_or(|(fewest, _)| faults.len() <= fewest.len()) {
            nearest = Some((faults, call));
        }
    }
    let tool = &expect.tool.text;
    Some(match nearest {
        None => Miss::new("calls", format!("`{tool}` was not called; calls: {}", names(calls))),
        Some((faults, call)) => {
            let arguments = shortened(&call.arguments.to_string());
            Miss::new("calls", format!("`{tool}` was called with {arguments}: {}", faults.join("; ")))
        }
    })
}

fn faults(expect: &CallExpect, arguments: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    if let Some(expected) = &expect.arguments {
        differences(expected, arguments, &mut String::new(), &mut faults);
    }
    for fault in expect.schema.iter().flat_map(|schema| schema.check(arguments)) {
        let text = format!("{} {}", fault.pointer, shortened(&fault.message));
        faults.push(format!("schema: {}", text.trim()));
    }
    for (name, pattern) in &expect.patterns {
        let found =
            if name.starts_with('/') { arguments.pointer(name) } else { arguments.get(name.as_str()) };
        let text = found.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        match text {
            Some(text) if pattern.is_match(&text) => {}
            Some(text) => {
                faults.push(format!("`{name}` is {}, which does not match `{pattern}`", quoted(&text)));
            }
            None => faults.push(format!("`{name}` is missing")),
        }
    }
    faults
}

/// Lists where `expected` is not a part of `found`: objects may have more members, lists may not.
fn differences(expected: &Value, found: &Value, at: &mut String, faults: &mut Vec<String>) {
    let length = at.len();
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => {
            for (name, expected) in expected {
                let _ = write!(at, "/{}", name.replace('~', "~0").replace('/', "~1"));
                match found.get(name) {
                    Some(found) => differences(expected, found, at, faults),
                    None => faults.push(format!("`{at}` is missing")),
                }
                at.truncate(length);
            }
        }
        (Value::Array(expected), Value::Array(found)) if expected.len() == found.len() => {
            for (place, (expected, found)) in expected.iter().zip(found).enumerate() {
                let _ = write!(at, "/{place}");
                differences(expected, found, at, faults);
                at.truncate(length);
            }
        }
        // Numbers are compared by value: the canonical form of 7.0 is 7.
        _ if canonical(expected) == canonical(found) => {}
        _ => {
            let (expected, found) = (shortened(&expected.to_string()), shortened(&found.to_string()));
            faults.push(format!("`{at}` is {found}, expected {expected}"));
        }
    }
}

fn of_answer(expect: &Expect, answer: &str, misses: &mut Vec<Miss>) {
    let shown = || quoted(answer.trim());
    for text in expect.contains.iter().filter(|text| !answer.contains(text.as_str())) {
        let message = format!("the answer does not contain {}: {}", quoted(text), shown());
        misses.push(Miss::new("answer.contains", message));
    }
    for text in expect.not_contains.iter().filter(|text| answer.contains(text.as_str())) {
        let message = format!("the answer contains {}: {}", quoted(text), shown());
        misses.push(Miss::new("answer.not_contains", message));
    }
    if let Some(pattern) = expect.matches.as_ref().filter(|pattern| !pattern.is_match(answer)) {
        let message = format!("the answer does not match `{pattern}`: {}", shown());
        misses.push(Miss::new("answer.matches", message));
    }
}

fn shortened(text: &str) -> String {
    shorten::within_chars(text, SHOWN).into_owned()
}

fn quoted(text: &str) -> String {
    Value::from(shorten::within_chars(text, SHOWN).as_ref()).to_string()
}

#[cfg(test)]
mod tests;
