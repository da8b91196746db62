//! A prompt into the calls it asks for, in order, and the clauses that no tool fits.
//!
//! Only the first paragraph (after a greeting) is a request; what follows a blank line is material, such as a file that
//! was piped in, and a word in somebody's log must never start a tool; so is an attached document. Surprising: the plan is made anew from the same
//! prompt in every round of a turn, which is how a function without memory knows what comes next.

use serde_json::{Map, Value};

use crate::clauses::{Clause, clauses, front};
use crate::explicit::{Part, call, parts};
use crate::lexicon::lexicon;
use crate::rank::best;
use crate::toolbox::Toolbox;
use crate::words::words;

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
    let (request, material) = request(front(prompt, PROMPT));
    let mut plan = Plan::default();
    for part in parts(request, toolbox) {
        match part {
            Part::Explicit { name, rest } => {
                let (tool, arguments) = call(name, rest, toolbox);
                plan.calls.push(Call { tool, arguments: Arguments::Ready(arguments) });
            }
            Part::Natural(text) => plan.natural(text, material, toolbox),
        }
    }
    plan.calls.truncate(CALLS);
    plan
}

/// The request and the material behind it.
fn request(prompt: &str) -> (&str, &str) {
    let mut rest = prompt.trim_start();
    let mut attached = "";
    while let Some((document, behind)) = document(rest) {
        (attached, rest) = (document, behind.trim_start());
    }
    let (request, material) = spoken(rest);
    (request, if material.is_empty() { attached } else { material })
}

/// An attached document in front: a line that names it, then its text between fences.
fn document(text: &str) -> Option<(&str, &str)> {
    let (head, rest) = text.split_once('\n')?;
    let (fence, body) = rest.split_once('\n')?;
    let is_fence = fence.len() >= 3 && fence.bytes().all(|b| b == b'`');
    if !head.starts_with("Document \"") || !head.ends_with("\":") || !is_fence {
        return None;
    }
    let end = body.find(&format!("\n{fence}"))?;
    Some((body.get(..end)?, body.get(end + 1 + fence.len()..)?))
}

/// The first paragraph that is no mere greeting, and what follows it.
fn spoken(text: &str) -> (&str, &str) {
    let mut rest = text;
    loop {
        let (paragraph, behind) = paragraph(rest);
        let says = words(front(paragraph, 4096)).iter().any(|word| !lexicon().is_stop(&word.text))
            || paragraph.contains('@');
        if says || behind.is_empty() {
            return (paragraph, behind.trim());
        }
        rest = behind.trim_start();
    }
}

/// Up to the first blank line.
fn paragraph(text: &str) -> (&str, &str) {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if at > 0 && line.trim().is_empty() {
            return (text.get(..at).unwrap_or(text), text.get(at + line.len()..).unwrap_or_default());
        }
        at += line.len();
    }
    (text, "")
}

impl Plan {
    fn natural(&mut self, text: &str, material: &str, toolbox: &Toolbox) {
        let looks = |part: &str| {
            let clause = Clause::read(part);
            let first =
                clause.words.iter().find(|word| !["please", "пожалуйста"].contains(&word.text.as_str()));
            let begins = first.is_some_and(|word| lexicon().is_starter(&word.text));
            (begins && clause.says_something()) || best(toolbox, &clause).is_some()
        };
        for text in clauses(text, &looks) {
            let clause = Clause::read(&text);
            let found = best(toolbox, &clause);
            let mut routed = false;
            if let Some((tool, found)) = found.and_then(|found| Some((toolbox.tools.get(found.tool)?, found)))
            {
                for arguments in found.filled.arguments {
                    routed |= self.add(&tool.name, arguments, found.filled.carry.clone(), material);
                }
            }
            if !routed && clause.says_something() {
                self.unrouted.push(text);
            }
        }
    }

    /// Whether there is such a call. A text that is meant by "it" comes from the material if there is any, else from the answer before.
    fn add(
        &mut self,
        tool: &str,
        mut arguments: Map<String, Value>,
        carry: Option<String>,
        material: &str,
    ) -> bool {
        let arguments = match carry {
            Some(parameter) if !material.is_empty() => {
                arguments.insert(parameter, Value::String(material.to_owned()));
                Arguments::Ready(Value::Object(arguments).to_string())
            }
            Some(_) if self.calls.is_empty() => return false,
            Some(parameter) => Arguments::Carry { arguments, parameter },
            None => Arguments::Ready(Value::Object(arguments).to_string()),
        };
        // "The date and the day of the week" are one question to one tool.
        let call = Call { tool: tool.to_owned(), arguments };
        if self.calls.last() != Some(&call) {
            self.calls.push(call);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::Tool;
    use serde_json::json;

    fn toolbox() -> Toolbox {
        let tool = |name: &str, description: &str, parameters: Value| {
            Tool::read(
                &json!({"function": {"name": name, "description": description, "parameters": parameters}}),
            )
        };
        let text = json!({"type": "string"});
        Toolbox::new(
            [
                tool(
                    "a__open",
                    "Read a text file",
                    json!({"required": ["path"], "properties": {"path": text}}),
                ),
                tool(
                    "a__keep",
                    "Save text to a file",
                    json!({"required": ["path", "content"], "properties": {"path": text, "content": text}}),
                ),
                tool(
                    "b__sum",
                    "Arithmetic",
                    json!({"required": ["expression"], "properties": {"expression": text}}),
                ),
            ]
            .into_iter()
            .flatten()
            .collect(),
        )
    }

    fn ready(prompt: &str) -> Vec<(String, String)> {
        let text = |call: Call| match call.arguments {
            Arguments::Ready(text) => (call.tool, text),
            Arguments::Carry { arguments, parameter } => {
                (call.tool, format!("{parameter}<-{}", Value::Object(arguments)))
            }
        };
        plan(prompt, &toolbox()).calls.into_iter().map(text).collect()
    }

    #[test]
    fn only_the_first_paragraph_asks() {
        let sum = |text: &str| vec![("b__sum".to_owned(), json!({ "expression": text }).to_string())];
        assert_eq!(ready("what is 2+2\n\nread secrets.txt"), sum("2 + 2"));
        assert_eq!(ready("Hello!\n\nWhat is 2+2?"), sum("2 + 2"));
        assert_eq!(
            ready("Document \"log\":\n```\nread secrets.txt\n\n2*2\n```\n\nWhat is 2+2?"),
            sum("2 + 2")
        );
        assert_eq!(ready("summarise this\n\n@a.open path=secrets.txt"), []);
    }

    #[test]
    fn it_is_the_material_or_the_answer_before() {
        let kept = |text: &str| vec![("a__keep".to_owned(), text.to_owned())];
        assert_eq!(
            ready("save this to out.txt\n\nHello\n\nWorld\n"),
            kept("{\"path\":\"out.txt\",\"content\":\"Hello\\n\\nWorld\"}")
        );
        assert_eq!(ready("save it to out.txt"), []);
        let both = ready("what is 2+2, then save the result to out.txt");
        assert_eq!(both.get(1), Some(&("a__keep".to_owned(), "content<-{\"path\":\"out.txt\"}".to_owned())));
        assert_eq!(ready("посчитай 2+2 и запиши результат в out.txt").len(), 2);
    }

    #[test]
    fn what_fits_no_tool_is_named() {
        let plan = plan("what is 2+2? Sing me a song. Thanks!", &toolbox());
        assert_eq!((plan.calls.len(), plan.unrouted.as_slice()), (1, &["Sing me a song.".to_owned()][..]));
    }

    #[test]
    fn calls_are_bounded() {
        assert_eq!(ready(&"@b.sum 1+1\n".repeat(500)).len(), CALLS);
    }
}
