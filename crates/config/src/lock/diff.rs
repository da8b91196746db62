//! The differences between two definitions of one tool, one line per difference.

use std::collections::{BTreeSet, HashMap};

use converse_canister::canonical;
use converse_text::escape::exact;
use serde_json::{Map, Value};

use crate::lock::path::Path;

/// Characters shown before and after a difference.
const AROUND: usize = 30;
/// Limit on the characters of a text that is shown in full.
const SHORT: usize = 80;

/// One difference between two definitions. Invisible characters in the line are escaped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// An RFC 6901 pointer into the definition.
    pub pointer: String,
    /// For people, such as ``default of `limit`: 10 → 1000``.
    pub line: String,
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.line)
    }
}

/// Returns every difference, starting with what models read first. The order of keys does not matter.
pub fn diff(old: &Value, new: &Value) -> Vec<Change> {
    let mut diff = Diff { old, new, changes: Vec::new() };
    diff.values(&Path::default(), old, new);
    diff.changes
}

/// Returns the position of a top-level key in the report.
fn rank(key: &str) -> usize {
    const FIRST: [&str; 4] = ["name", "title", "description", "inputSchema"];
    let last = if key == "_meta" { FIRST.len() + 1 } else { FIRST.len() };
    FIRST.iter().position(|first| *first == key).unwrap_or(last)
}

/// Lists of a schema whose order does not matter.
const SETS: [&str; 3] = ["enum", "required", "type"];

struct Diff<'a> {
    old: &'a Value,
    new: &'a Value,
    changes: Vec<Change>,
}

impl Diff<'_> {
    fn values(&mut self, path: &Path, old: &Value, new: &Value) {
        match (old, new) {
            (Value::Object(old), Value::Object(new)) => self.objects(path, old, new),
            (Value::Array(old), Value::Array(new)) => self.arrays(path, old, new),
            (Value::String(old), Value::String(new)) if old != new => {
                let (old, new) = contrast(old, new);
                let changed = if path.ends_with("description") { " changed" } else { "" };
                self.say(path, format!("{}{changed}: {old} → {new}", path.name()));
            }
            // Numbers may be equal in value and be written differently.
            _ if canonical(old) != canonical(new) => {
                self.say(path, format!("{}: {} → {}", path.name(), shown(old), shown(new)));
            }
            _ => {}
        }
    }

    fn objects(&mut self, path: &Path, old: &Map<String, Value>, new: &Map<String, Value>) {
        let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        let mut keys: Vec<&String> = keys.into_iter().collect();
        if path.is_root() {
            keys.sort_by_key(|key| rank(key));
        }
        for key in keys {
            let below = path.join(key);
            match (old.get(key), new.get(key)) {
                (Some(old), Some(new)) => self.values(&below, old, new),
                (None, Some(value)) => self.say(&below, self.added(&below, value)),
                (Some(value), None) => self.say(&below, self.removed(&below, value)),
                (None, None) => {}
            }
        }
    }

    /// Compares lists of objects or lists by position.
    fn arrays(&mut self, path: &Path, old: &[Value], new: &[Value]) {
        if !old.iter().chain(new).all(is_simple) {
            return self.entries(path, old, new);
        }
        match SETS.iter().any(|set| path.ends_with(set)) {
            true => self.sets(path, old, new),
            false => self.stretch(path, old, new, ""),
        }
    }

    /// Reports the entries from the first to the last difference: in a command line the position of a word matters.
    fn stretch(&mut self, path: &Path, old: &[Value], new: &[Value], what: &str) {
        let same = |(one, other): &(&Value, &Value)| canonical(one) == canonical(other);
        let before = old.iter().zip(new).take_while(same).count();
        let most = old.len().min(new.len()) - before;
        let after = old.iter().rev().zip(new.iter().rev()).take(most).take_while(same).count();
        let between = |list: &[Value]| list.get(before..list.len() - after).unwrap_or_default().to_vec();
        let (old, new) = (between(old), between(new));
        if !(old.is_empty() && new.is_empty()) {
            let (old, new) = (shown(&Value::Array(old)), shown(&Value::Array(new)));
            self.say(path, format!("{}:{what} from entry {}: {old} → {new}", path.name(), before + 1));
        }
    }

    /// Reports added and removed entries, whatever their position.
    fn sets(&mut self, path: &Path, old: &[Value], new: &[Value]) {
        let only = |some: &[Value], others: &[Value], sign: &str| -> Vec<String> {
            let mut count: HashMap<String, usize> = HashMap::new();
            others.iter().for_each(|other| *count.entry(canonical(other)).or_default() += 1);
            let mut only = Vec::new();
            for value in some {
                match count.get_mut(&canonical(value)) {
                    Some(left) if *left > 0 => *left -= 1,
                    _ => only.push(format!("{sign} {}", self.named(path, value))),
                }
            }
            only
        };
        let mut changes = only(new, old, "+");
        changes.extend(only(old, new, "-"));
        match changes.is_empty() {
            false => self.say(path, format!("{}: {}", path.name(), changes.join(", "))),
            true => self.stretch(path, old, new, " in another order,"),
        }
    }

    fn entries(&mut self, path: &Path, old: &[Value], new: &[Value]) {
        for place in 0..old.len().max(new.len()) {
            let below = path.join(place);
            match (old.get(place), new.get(place)) {
                (Some(old), Some(new)) => self.values(&below, old, new),
                (None, Some(value)) => self.say(&below, self.added(&below, value)),
                (Some(value), None) => self.say(&below, self.removed(&below, value)),
                (None, None) => {}
            }
        }
    }

    /// Shows names of parameters as names and other values as JSON.
    fn named(&self, path: &Path, value: &Value) -> String {
        match value {
            Value::String(name) if path.ends_with("required") => format!("`{}`", exact(name)),
            value => shown(value),
        }
    }

    fn added(&self, path: &Path, value: &Value) -> String {
        let Some(parameter) = path.parameter() else {
            return format!("{} added: {}", path.name(), shown(value));
        };
        let kind = value["type"].as_str().map_or_else(|| "any".to_owned(), exact);
        let need = if path.is_required(self.new) { "required" } else { "optional" };
        let says_more = value.as_object().is_none_or(|schema| schema.keys().any(|key| key != "type"));
        let more = if says_more { format!(": {}", shown(value)) } else { String::new() };
        format!("parameter `{parameter}` added ({kind}, {need}){more}")
    }

    fn removed(&self, path: &Path, value: &Value) -> String {
        match path.parameter() {
            Some(parameter) if path.is_required(self.old) => {
                format!("parameter `{parameter}` removed (it was required)")
            }
            Some(parameter) => format!("parameter `{parameter}` removed"),
            None => format!("{} removed: {}", path.name(), shown(value)),
        }
    }

    fn say(&mut self, path: &Path, line: String) {
        self.changes.push(Change { pointer: path.pointer(), line });
    }
}

fn is_simple(value: &Value) -> bool {
    !value.is_object() && !value.is_array()
}

/// Returns JSON with invisible characters escaped.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => in_quotes(text),
        value => exact(&canonical(value)),
    }
}

/// Returns text in quotes with invisible characters escaped, because an invisible change is the one that matters.
fn in_quotes(text: &str) -> String {
    format!("\"{}\"", exact(text).replace('"', "\\\""))
}

/// Returns both texts in quotes; of long texts only the different part and its surroundings.
fn contrast(old: &str, new: &str) -> (String, String) {
    let (olds, news): (Vec<char>, Vec<char>) = (old.chars().collect(), new.chars().collect());
    if olds.len().max(news.len()) <= SHORT {
        return (in_quotes(old), in_quotes(new));
    }
    let before = olds.iter().zip(&news).take_while(|(a, b)| a == b).count();
    let shorter = olds.len().min(news.len()) - before;
    let after = olds.iter().rev().zip(news.iter().rev()).take(shorter).take_while(|(a, b)| a == b).count();
    let part = |chars: &[char]| {
        let (from, to) = (before.saturating_sub(AROUND), (chars.len() - after + AROUND).min(chars.len()));
        let text: String = chars.iter().take(to).skip(from).collect();
        let dots = |cut: bool| if cut { "…" } else { "" };
        format!("{}{}{}", dots(from > 0), in_quotes(&text), dots(to < chars.len()))
    };
    (part(&olds), part(&news))
}

#[cfg(test)]
mod tests;
