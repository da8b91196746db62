//! The facts of a model for people. An unknown fact is a dash, never a zero.

use converse_provider::{Facts, LongPromptPrice, Price, Thinking};

use converse_host::model::Lore;
use converse_terminal::render::models::{UNKNOWN, price};
use converse_text::wording::decimal;

/// One fact, and its source.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) name: &'static str,
    pub(super) value: String,
    pub(super) from: &'static str,
}

/// The name of a fact, and its text.
type Reading = (&'static str, fn(&Facts) -> Option<String>);

const READINGS: [Reading; 12] = [
    ("window", |facts| facts.window.map(|tokens| tokens.to_string())),
    ("longest reply", |facts| facts.max_output.map(|tokens| tokens.to_string())),
    ("takes pictures", |facts| facts.takes.images.map(yes_or_no)),
    ("takes documents", |facts| facts.takes.documents.map(yes_or_no)),
    ("takes audio", |facts| facts.takes.audio.map(yes_or_no)),
    ("calls tools", |facts| facts.tools.map(yes_or_no)),
    ("takes a temperature", |facts| facts.sampling.map(yes_or_no)),
    ("answers by a schema", |facts| facts.structured.map(yes_or_no)),
    ("thinks", |facts| facts.thinking.map(|thinking| word(thinking).to_owned())),
    ("price", |facts| facts.price.as_ref().map(price)),
    ("price of cached input", |facts| facts.price.as_ref().and_then(cached)),
    ("price of long requests", |facts| facts.price.as_ref().and_then(|price| price.above.as_ref()).map(long)),
];

/// All facts of a model, each with its source.
pub(super) fn lines(lore: &Lore) -> Vec<Line> {
    let all = lore.facts();
    let line = |(name, read): &Reading| {
        let has = |facts: Option<&Facts>| facts.and_then(read).is_some();
        let listed = lore.listed.as_ref().map(|listed| &listed.facts);
        let table = lore.table.as_ref().map(|known| &known.facts);
        let from = if has(lore.own.as_ref()) {
            "settings"
        } else if has(listed) {
            "provider"
        } else if has(table) {
            "table"
        } else {
            "this machine"
        };
        match read(&all) {
            Some(value) => Line { name, value, from },
            None => Line { name, value: UNKNOWN.to_owned(), from: "" },
        }
    };
    READINGS.iter().map(line).collect()
}

fn yes_or_no(yes: bool) -> String {
    if yes { "yes" } else { "no" }.to_owned()
}

fn word(thinking: Thinking) -> &'static str {
    match thinking {
        Thinking::None => "no",
        Thinking::Budget => "by a budget of tokens",
        Thinking::Effort => "by an effort",
    }
}

fn cached(price: &Price) -> Option<String> {
    let part = |rate: Option<u64>, what: &str| rate.map(|rate| format!("${} {what}", decimal(rate)));
    let parts: Vec<String> =
        [part(price.cache_read, "read"), part(price.cache_write, "written")].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn long(above: &LongPromptPrice) -> String {
    format!(
        "${} in, ${} out above {} tokens of input",
        decimal(above.input),
        decimal(above.output),
        above.tokens
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fact_has_its_source() {
        let own = Facts { window: Some(5), ..Facts::default() };
        let table = converse_provider::known("anthropic", "claude-haiku-5-5", "2026-11-22");
        let lore = Lore { own: Some(own), table, ..Lore::default() };
        let lines = lines(&lore);
        let line =
            |name: &str| lines.iter().find(|line| line.name == name).map(|l| (l.value.as_str(), l.from));
        assert_eq!(line("window"), Some(("5", "settings")));
        assert_eq!(line("price"), Some(("$0.1 in, $0.5 out", "table")));
        assert_eq!(line("price of long requests").map(|line| line.1), Some("table"));
        assert_eq!(lore.sources(), ["settings", "table"]);
        let free = super::lines(&Lore { free: true, ..Lore::default() });
        let line =
            |name: &str| free.iter().find(|line| line.name == name).map(|l| (l.value.as_str(), l.from));
        assert_eq!(line("price"), Some(("$0 in, $0 out", "this machine")));
        assert_eq!(line("window"), Some(("–", "")));
    }
}
