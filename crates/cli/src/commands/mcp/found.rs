//! What a probe has found, and the same as JSON.

use std::time::Duration;

use converse_config::{EnsemblePlan, Way};
use converse_ensemble::Offer;
use converse_mcp::{Era, Survey};
use serde_json::{Value, json};

use super::calls::Called;
use super::counts::Counts;
use super::lint::Objected;
use converse_host::world::World;

/// Times that its tools are listed to see how long it takes.
pub(super) const LISTS: usize = 5;
/// Of text in English and JSON, by which `ask --count-tokens` guesses too.
const BYTES_OF_A_TOKEN: usize = 4;

#[derive(Debug)]
pub(super) struct ProbeResult {
    /// As `{"way", "url" | "command"}`; secrets by the names of their variables.
    pub(super) reached: Value,
    pub(super) survey: Survey,
    /// Names, and what a model call with all of them pays for them.
    pub(super) tools: Vec<String>,
    pub(super) tokens: usize,
    pub(super) objections: Vec<Objected>,
    pub(super) counts: Counts,
    pub(super) lists: Vec<Duration>,
    pub(super) calls: Vec<Called>,
    pub(super) last_words: String,
}

impl ProbeResult {
    pub(super) fn new(reached: Value, survey: Survey, offer: &Offer) -> Self {
        let tool = |tool: &converse_ensemble::Tool| {
            let declaration = &tool.declaration;
            let written = json!([declaration.description, declaration.arguments]).to_string();
            tool.invoker.as_str().len() + written.len()
        };
        Self {
            reached,
            survey,
            tools: offer.tools().map(|tool| tool.invoker.to_string()).collect(),
            tokens: offer.tools().map(tool).sum::<usize>().div_ceil(BYTES_OF_A_TOKEN),
            objections: Vec::new(),
            counts: Counts::default(),
            lists: Vec::new(),
            calls: Vec::new(),
            last_words: String::new(),
        }
    }

    /// The shortest and the middle one of the times that its list took.
    pub(super) fn list_times(&self) -> Option<(Duration, Duration)> {
        let mut times = self.lists.clone();
        times.sort_unstable();
        Some((*times.first()?, *times.get(times.len() / 2)?))
    }

    pub(super) fn json(&self) -> Value {
        let times = self.list_times();
        let survey = &self.survey;
        json!({
            "reached": self.reached,
            "server": { "name": survey.server, "version": survey.version },
            "protocol": survey.protocol,
            "era": era(survey.era),
            "capabilities": survey.capabilities,
            "instructions_bytes": survey.instructions,
            "tools": self.tools,
            "tools_offered": survey.offered,
            "tools_left_out": survey.skipped,
            "tools_tokens": self.tokens,
            "resources": self.counts.resources,
            "templates": self.counts.templates,
            "prompts": self.counts.prompts,
            "problems": self.counts.problems,
            "connect_s": survey.took.as_secs_f64(),
            "list_min_s": times.map(|(least, _)| least.as_secs_f64()),
            "list_median_s": times.map(|(_, middle)| middle.as_secs_f64()),
            "lint": self.objections.iter().map(Objected::json).collect::<Vec<_>>(),
            "calls": self.calls.iter().map(call).collect::<Vec<_>>(),
            "stderr": self.last_words,
        })
    }
}

fn call(called: &Called) -> Value {
    json!({
        "tool": called.tool,
        "arguments": called.arguments.object,
        "outcome": called.result.outcome,
        "content": called.result.content,
        "took_s": called.took.as_secs_f64(),
    })
}

pub(super) fn era(era: Era) -> &'static str {
    match era {
        Era::Modern => "modern",
        Era::Legacy => "legacy",
    }
}

/// How it is reached, as it was typed: whoever typed a key into an address sees it on the terminal already, but a report
/// is passed on, so user, password and query are left out.
pub(super) fn reached(plan: &EnsemblePlan, world: &World) -> Value {
    match plan.connection.as_ref().map(|connection| &connection.way) {
        Some(Way::Http { url, .. }) => json!({ "way": "http", "url": bare(&url.to_string()) }),
        Some(Way::Stdio { command, .. }) => {
            let words: Vec<String> = command.iter().map(ToString::to_string).collect();
            json!({ "way": "stdio", "command": words, "cwd": world.cwd })
        }
        None => Value::Null,
    }
}

fn bare(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_shows_no_keys_of_an_address() {
        for (url, shown) in [
            ("https://host/mcp", "https://host/mcp"),
            ("https://user:word@host:81/mcp?key=x#y", "https://host:81/mcp"),
            ("http://host?key=a/b@c", "http://host"),
            ("http://host/a@b", "http://host/a@b"),
        ] {
            assert_eq!(bare(url), shown);
        }
    }
}
