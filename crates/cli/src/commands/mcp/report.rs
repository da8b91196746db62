//! The output of a probe.

use std::collections::BTreeMap;

use converse_canister::Outcome;
use converse_config::{EnsemblePlan, TransportPlan};
use converse_ensemble::MAX_INSTRUCTIONS;
use converse_foreign::without_values;
use serde_json::{Value, json};

use converse_host::probe::{ProbeCall, ProbeResult, ToolObjection};
use converse_host::world::World;
use converse_terminal::render::result_text;
use converse_text::safe_line;
use converse_text::wording::counted;

/// The number of entries of a list; the rest is counted. `--json` has all.
const MOST: usize = 20;
/// The number of tools that are named in one line.
const MOST_TOOLS: usize = 5;
const LINE: usize = 300;
/// The number of lines of stderr, from its end.
const LAST_LINES: usize = 10;

pub(super) struct Report<'a> {
    pub(super) result: &'a ProbeResult,
    /// As `{"way", "url" | "command"}`.
    pub(super) reached: Value,
}

fn instructions(bytes: usize) -> String {
    let shown = if bytes > MAX_INSTRUCTIONS {
        format!("models see the first {MAX_INSTRUCTIONS}")
    } else {
        "models see them".to_owned()
    };
    format!("{bytes} bytes, {shown}")
}

impl Report<'_> {
    pub(super) fn text(&self) -> String {
        let mut lines = self.head();
        lines.extend(list("left out", self.result.survey.skipped.iter().cloned()));
        lines.extend(list("problems", self.result.counts.problems.iter().cloned()));
        lines.extend(list("what providers object to", objection_lines(&self.result.objections).into_iter()));
        lines.extend(list("calls", self.result.calls.iter().map(call_line)));
        let stderr: Vec<&str> = self.result.stderr.lines().collect();
        let end = stderr.iter().skip(stderr.len().saturating_sub(LAST_LINES)).map(ToString::to_string);
        lines.extend(list("end of stderr", end));
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    fn head(&self) -> Vec<String> {
        let survey = &self.result.survey;
        let way = match self.reached["url"].as_str() {
            Some(url) => safe_line(url, LINE),
            None => {
                let words = self.reached["command"].as_array().into_iter().flatten();
                let words: Vec<&str> = words.filter_map(|word| word.as_str()).collect();
                safe_line(&words.join(" "), LINE)
            }
        };
        let row = |name: &str, text: String| format!("  {name:<13} {text}");
        let mut lines = vec![
            format!("{} {}", safe_line(&survey.server, 80), safe_line(&survey.version, 40)),
            row("reached", way),
            row("protocol", format!("{} ({})", safe_line(&survey.protocol, 20), survey.era.label())),
            row("capabilities", safe_line(&survey.capabilities.join(", "), LINE)),
            row("tools", self.tools()),
        ];
        lines.extend(self.result.counts.resources.map(|count| {
            let templates = self.result.counts.templates;
            let templates =
                templates.map_or_else(String::new, |count| format!(", {}", counted(count, "template")));
            row("resources", format!("{count}{templates}"))
        }));
        lines.extend(self.result.counts.prompts.map(|count| row("prompts", count.to_string())));
        if survey.instructions > 0 {
            lines.push(row("instructions", instructions(survey.instructions)));
        }
        lines.push(row("ready", format!("in {:.2} s", survey.took.as_secs_f64())));
        lines.extend(self.result.listing_times().map(|(least, middle)| {
            let (least, middle) = (least.as_secs_f64() * 1e3, middle.as_secs_f64() * 1e3);
            row(
                "listing",
                format!("{middle:.1} ms (median of {}; {least:.1} ms at best)", self.result.listings.len()),
            )
        }));
        lines
    }

    fn tools(&self) -> String {
        let left_out = match self.result.survey.skipped.len() {
            0 => String::new(),
            count => format!(" of {} ({count} left out)", self.result.survey.offered),
        };
        let mut text = format!("{}{left_out}, about {} tokens", self.result.tools.len(), self.result.tokens);
        if !self.result.tools.is_empty() {
            let names: Vec<&str> = self.result.tools.iter().take(MOST).map(String::as_str).collect();
            let more = if self.result.tools.len() > MOST { ", …" } else { "" };
            text.push_str(&format!(": {}{more}", safe_line(&names.join(", "), 1000)));
        }
        text
    }
}

fn list(heading: &str, entries: impl ExactSizeIterator<Item = String>) -> Vec<String> {
    let count = entries.len();
    if count == 0 {
        return Vec::new();
    }
    let shown = entries.take(MOST).map(|entry| format!("  {}", safe_line(&entry, LINE)));
    let mut lines = vec![String::new(), format!("{heading}:")];
    lines.extend(shown);
    lines.extend((count > MOST).then(|| format!("  and {} more", count - MOST)));
    lines
}

fn call_line(called: &ProbeCall) -> String {
    let mark = if called.result.outcome == Outcome::Success { "✓" } else { "✗" };
    let text = result_text(&called.result);
    let label = called.result.outcome.label();
    format!("{mark} {} {label} in {:.3} s: {}", called.tool, called.took.as_secs_f64(), text.trim())
}

impl Report<'_> {
    pub(super) fn json(&self) -> Value {
        let ProbeResult { survey, counts, objections, calls, .. } = self.result;
        let times = self.result.listing_times();
        json!({
            "reached": self.reached,
            "server": { "name": survey.server, "version": survey.version },
            "protocol": survey.protocol,
            "era": survey.era.label(),
            "capabilities": survey.capabilities,
            "instructions_bytes": survey.instructions,
            "tools": self.result.tools,
            "tools_offered": survey.offered,
            "tools_left_out": survey.skipped,
            "tools_tokens": self.result.tokens,
            "resources": counts.resources,
            "templates": counts.templates,
            "prompts": counts.prompts,
            "problems": counts.problems,
            "connect_s": survey.took.as_secs_f64(),
            "list_min_s": times.map(|(least, _)| least.as_secs_f64()),
            "list_median_s": times.map(|(_, middle)| middle.as_secs_f64()),
            "lint": objections.iter().map(objection_json).collect::<Vec<_>>(),
            "calls": calls.iter().map(call_json).collect::<Vec<_>>(),
            "stderr": self.result.stderr,
        })
    }
}

fn objection_json(objection: &ToolObjection) -> Value {
    json!({
        "provider": objection.provider,
        "tool": objection.tool,
        "pointer": objection.pointer,
        "message": objection.message,
        "remedy": objection.remedy,
    })
}

fn call_json(called: &ProbeCall) -> Value {
    json!({
        "tool": called.tool,
        "arguments": called.arguments.object,
        "outcome": called.result.outcome,
        "content": called.result.content,
        "took_s": called.took.as_secs_f64(),
    })
}

/// One line for each kind of objection, with the tools that it is about.
fn objection_lines(objections: &[ToolObjection]) -> Vec<String> {
    let mut grouped: BTreeMap<(&str, &str, &str), Vec<&str>> = BTreeMap::new();
    for objection in objections {
        let tools = grouped.entry((objection.provider, objection.remedy, &objection.message)).or_default();
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
    grouped.into_iter().map(line).collect()
}

/// How the server is reached, as it was typed. A report is passed on, so the user, the password and the query of an address
/// are left out, as are secrets and variables of a command.
pub(super) fn reached(plan: &EnsemblePlan, world: &World) -> Value {
    match plan.connection.as_ref().map(|connection| &connection.transport) {
        Some(TransportPlan::Http { url, .. }) => {
            json!({ "way": "http", "url": without_secrets(&url.to_string()) })
        }
        Some(TransportPlan::Stdio { command, .. }) => {
            let words: Vec<String> = command.iter().map(ToString::to_string).collect();
            json!({ "way": "stdio", "command": without_values(&words), "cwd": world.cwd })
        }
        None => Value::Null,
    }
}

fn without_secrets(url: &str) -> String {
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
            assert_eq!(without_secrets(url), shown);
        }
    }

    #[test]
    fn equal_objections_share_one_line() {
        let objection = |provider, tool: &str, message: &str| ToolObjection {
            provider,
            tool: tool.to_owned(),
            pointer: format!("/{tool}"),
            message: message.to_owned(),
            remedy: "adapted",
        };
        let all = [
            objection("Gemini", "a", "m"),
            objection("Gemini", "a", "m"),
            objection("Gemini", "b", "m"),
            objection("Gemini", "b", "n"),
            objection("OpenAI", "c", "m"),
        ];
        assert_eq!(
            objection_lines(&all),
            [
                "Gemini, adapted: 2 tools (a, b): it m",
                "Gemini, adapted: 1 tool (b): it n",
                "OpenAI, adapted: 1 tool (c): it m",
            ]
        );
    }
}
