//! What a probe has found, for people.

use converse_canister::Outcome;

use super::calls::Called;
use super::found::{ProbeResult, era};
use super::lint;
use converse_host::wording::counted;
use converse_terminal::render::result_text;
use converse_text::safe_line;

/// Of each list; the rest is counted. `--json` has them all.
const MOST: usize = 20;
const LINE: usize = 300;
/// Lines of stderr, from its end.
const LAST_LINES: usize = 10;

impl ProbeResult {
    pub(super) fn text(&self) -> String {
        let mut lines = self.head();
        lines.extend(list("left out", self.survey.skipped.iter().cloned()));
        lines.extend(list("problems", self.counts.problems.iter().cloned()));
        lines.extend(list("what providers object to", lint::lines(&self.objections).into_iter()));
        lines.extend(list("calls", self.calls.iter().map(call)));
        let said: Vec<&str> = self.last_words.lines().collect();
        let said = said.iter().skip(said.len().saturating_sub(LAST_LINES)).map(ToString::to_string);
        lines.extend(list("last words on stderr", said));
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    fn head(&self) -> Vec<String> {
        let survey = &self.survey;
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
            row("protocol", format!("{} ({})", safe_line(&survey.protocol, 20), era(survey.era))),
            row("capabilities", safe_line(&survey.capabilities.join(", "), LINE)),
            row("tools", self.tools()),
        ];
        lines.extend(self.counts.resources.map(|count| {
            let templates = self
                .counts
                .templates
                .map_or_else(String::new, |count| format!(", {}", counted(count, "template")));
            row("resources", format!("{count}{templates}"))
        }));
        lines.extend(self.counts.prompts.map(|count| row("prompts", count.to_string())));
        if survey.instructions > 0 {
            lines
                .push(row("instructions", format!("{} bytes, which no model is shown", survey.instructions)));
        }
        lines.push(row("ready", format!("in {:.2} s", survey.took.as_secs_f64())));
        lines.extend(self.list_times().map(|(least, middle)| {
            let (least, middle) = (least.as_secs_f64() * 1e3, middle.as_secs_f64() * 1e3);
            row("listing", format!("{middle:.1} ms (median of {}; {least:.1} ms at best)", self.lists.len()))
        }));
        lines
    }

    fn tools(&self) -> String {
        let left_out = match self.survey.skipped.len() {
            0 => String::new(),
            count => format!(" of {} ({count} left out)", self.survey.offered),
        };
        let mut text = format!("{}{left_out}, about {} tokens", self.tools.len(), self.tokens);
        if !self.tools.is_empty() {
            let names: Vec<&str> = self.tools.iter().take(MOST).map(String::as_str).collect();
            let more = if self.tools.len() > MOST { ", …" } else { "" };
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

fn call(called: &Called) -> String {
    let mark = if called.result.outcome == Outcome::Success { "✓" } else { "✗" };
    let text = result_text(&called.result);
    let label = called.result.outcome.label();
    format!("{mark} {} {label} in {:.3} s: {}", called.tool, called.took.as_secs_f64(), text.trim())
}
