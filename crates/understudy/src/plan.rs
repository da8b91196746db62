//! Turns a prompt into the calls that it requests, in order, and the clauses that no tool fits.
//!
//! Only the first paragraph (after a greeting) is a request. What follows a blank line, such as a piped file, and attached
//! documents are material: they start no tool. Every round of a turn makes the same plan from the same prompt.

use serde_json::{Map, Value};

use crate::clause::{Clause, clauses};
use crate::explicit::{Part, call, parts};
use crate::route::Toolbox;
use crate::words::{front, is_stop, words};

#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) calls: Vec<Call>,
    /// Clauses that no tool fits, as they were written.
    pub(crate) unrouted: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    /// The tool's name as offered.
    pub(crate) tool: String,
    pub(crate) arguments: Arguments,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Arguments {
    /// JSON text.
    Ready(String),
    /// To be completed by the text of the answer before.
    Carry { arguments: Map<String, Value>, parameter: String },
}

/// Calls of one turn, over all its rounds.
const CALLS: usize = 64;
/// Bytes of a prompt that are considered.
const PROMPT: usize = 64 * 1024;

pub(crate) fn plan(prompt: &str, toolbox: &Toolbox) -> Plan {
    let (request, material) = request_and_material(front(prompt, PROMPT));
    let mut plan = Plan::default();
    for part in parts(request, toolbox) {
        match part {
            Part::Explicit { name, rest } => {
                let (tool, arguments) = call(name, rest, toolbox);
                plan.calls.push(Call { tool, arguments: Arguments::Ready(arguments) });
            }
            Part::Natural(text) => {
                clauses(text).into_iter().for_each(|clause| plan.add(clause, material, toolbox))
            }
        }
    }
    plan.calls.truncate(CALLS);
    plan
}

fn request_and_material(prompt: &str) -> (&str, &str) {
    let mut rest = prompt.trim_start();
    let mut attached = "";
    while let Some((document, behind)) = document(rest) {
        (attached, rest) = (document, behind.trim_start());
    }
    // The first paragraph that is more than a greeting.
    loop {
        let (paragraph, behind) = paragraph(rest);
        let says = words(front(paragraph, 4096)).iter().any(|word| !is_stop(&word.text));
        if says || paragraph.contains('@') || behind.is_empty() {
            let material = behind.trim();
            return (paragraph, if material.is_empty() { attached } else { material });
        }
        rest = behind.trim_start();
    }
}

/// An attached document at the front: a line that names it, then its text between fences; and what is behind it.
fn document(text: &str) -> Option<(&str, &str)> {
    let (head, rest) = text.split_once('\n')?;
    let (fence, body) = rest.split_once('\n')?;
    let is_fence = fence.len() >= 3 && fence.bytes().all(|byte| byte == b'`');
    let named = head.starts_with("Document \"") && head.ends_with("\":");
    let end = body.find(&format!("\n{fence}")).filter(|_| named && is_fence)?;
    Some((&body[..end], &body[end + 1 + fence.len()..]))
}

/// Splits at the first blank line.
fn paragraph(text: &str) -> (&str, &str) {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if at > 0 && line.trim().is_empty() {
            return (&text[..at], &text[at + line.len()..]);
        }
        at += line.len();
    }
    (text, "")
}

impl Plan {
    fn add(&mut self, text: String, material: &str, toolbox: &Toolbox) {
        let clause = Clause::read(&text);
        let mut routed = false;
        if let Some((tool, filled)) = toolbox.best(&clause) {
            for arguments in filled.arguments {
                let arguments = match filled.carry.clone() {
                    None => Arguments::Ready(Value::Object(arguments).to_string()),
                    // "It" is the material if there is any, else the answer before.
                    Some(parameter) if !material.is_empty() => {
                        let mut arguments = arguments;
                        arguments.insert(parameter, Value::String(material.to_owned()));
                        Arguments::Ready(Value::Object(arguments).to_string())
                    }
                    Some(_) if self.calls.is_empty() => continue,
                    Some(parameter) => Arguments::Carry { arguments, parameter },
                };
                routed = true;
                // "The date and the day of the week" are one question to one tool.
                let call = Call { tool: tool.name.clone(), arguments };
                if self.calls.last() != Some(&call) {
                    self.calls.push(call);
                }
            }
        }
        if !routed && clause.says_something() {
            self.unrouted.push(text);
        }
    }
}
