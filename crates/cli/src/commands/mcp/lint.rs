//! What providers have against the tools, as `ensembles check --connect --provider` has it.

use std::collections::BTreeMap;

use converse_ensemble::Tool;
use converse_host::wording::counted;
use converse_provider::{LintTarget, Remedy, lint, lint_name};
use serde_json::{Value, json};

/// Tools that are named in one line.
const MOST_TOOLS: usize = 5;

/// One of them.
#[derive(Debug)]
pub(super) struct Objected {
    provider: &'static str,
    tool: String,
    pointer: String,
    message: String,
    remedy: &'static str,
}

pub(super) fn linted<'t>(tools: impl Iterator<Item = &'t Tool>) -> Vec<Objected> {
    tools
        .flat_map(|tool| LintTarget::ALL.into_iter().flat_map(move |which| objections(which, tool)))
        .collect()
}

fn objections(which: LintTarget, tool: &Tool) -> Vec<Objected> {
    // The name as the server gives it: what stands before it is the probe's.
    let of_name = lint_name(which, tool.invoker.as_str(), &tool.declaration.name);
    let found = of_name.into_iter().chain(lint(which, &tool.declaration));
    let objected = found.map(|objection| Objected {
        provider: which.label(),
        tool: tool.invoker.to_string(),
        pointer: objection.pointer,
        message: objection.message,
        remedy: word(objection.remedy),
    });
    objected.collect()
}

fn word(remedy: Remedy) -> &'static str {
    match remedy {
        Remedy::Adapted => "adapted",
        Remedy::Ignored => "ignored",
        Remedy::MustChange => "must change",
    }
}

impl Objected {
    pub(super) fn json(&self) -> Value {
        json!({
            "provider": self.provider,
            "tool": self.tool,
            "pointer": self.pointer,
            "message": self.message,
            "remedy": self.remedy,
        })
    }
}

/// A line for what is objected to in the same words, with the tools that it is about.
pub(super) fn lines(objections: &[Objected]) -> Vec<String> {
    let mut alike: BTreeMap<(&str, &str, &str), Vec<&str>> = BTreeMap::new();
    for objection in objections {
        let tools = alike.entry((objection.provider, objection.remedy, &objection.message)).or_default();
        if !tools.contains(&objection.tool.as_str()) {
            tools.push(&objection.tool);
        }
    }
    let line = |((provider, remedy, message), tools): ((&str, &str, &str), Vec<&str>)| {
        let named: Vec<&str> = tools.iter().take(MOST_TOOLS).copied().collect();
        let more = if tools.len() > MOST_TOOLS { ", …" } else { "" };
        let count = counted(tools.len(), "tool");
        format!("{provider}, {remedy}: {count} ({}{more}): it {message}", named.join(", "))
    };
    alike.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_many_tools_is_said_once() {
        let objected = |provider, tool: &str, message: &str| Objected {
            provider,
            tool: tool.to_owned(),
            pointer: format!("/{tool}"),
            message: message.to_owned(),
            remedy: "adapted",
        };
        let all = [
            objected("Gemini", "a", "m"),
            objected("Gemini", "a", "m"),
            objected("Gemini", "b", "m"),
            objected("Gemini", "b", "n"),
            objected("OpenAI", "c", "m"),
        ];
        assert_eq!(
            lines(&all),
            [
                "Gemini, adapted: 2 tools (a, b): it m",
                "Gemini, adapted: 1 tool (b): it n",
                "OpenAI, adapted: 1 tool (c): it m",
            ]
        );
    }
}
