//! The explicit form: `@ensemble.invoker key=value …`. Nothing is guessed.
//!
//! An unknown name is called too, so that the loop answers "no such tool". Arguments that begin with `{` are sent byte for
//! byte, even if they are not valid JSON: the tool's own check answers them.

use converse_canister::ToolName;
use serde_json::{Map, Value};

use crate::route::Toolbox;
use crate::tokens;
use crate::tool::{Takes, Tool};
use crate::value::written;

/// A part of the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part<'a> {
    Explicit { name: &'a str, rest: &'a str },
    Natural(&'a str),
}

/// Returns the parts of a text in order. An explicit one ends with its line or where the next one begins.
pub(crate) fn parts<'a>(text: &'a str, toolbox: &Toolbox) -> Vec<Part<'a>> {
    let mut parts = Vec::new();
    let mut natural = 0..0;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let marks = marks(line, toolbox);
        let first = marks.first().map_or(line.len(), |(start, _)| *start);
        natural.end = at + first;
        if !marks.is_empty() {
            parts.push(Part::Natural(&text[natural.clone()]));
            natural = at + line.len()..at + line.len();
        }
        for (index, (start, end)) in marks.iter().enumerate() {
            let until = marks.get(index + 1).map_or(line.len(), |(next, _)| *next);
            let name = &line[start + 1..*end];
            parts.push(Part::Explicit { name, rest: line[*end..until].trim() });
        }
        at += line.len();
    }
    parts.push(Part::Natural(&text[natural]));
    parts.retain(|part| !matches!(part, Part::Natural(text) if text.trim().is_empty()));
    parts
}

/// Returns the spans of `@name` in a line, outside quotes and brackets.
fn marks(line: &str, toolbox: &Toolbox) -> Vec<(usize, usize)> {
    if !line.contains('@') {
        return Vec::new();
    }
    let shielded = tokens::shielded(line);
    let mut spans = Vec::new();
    for (at, _) in line.match_indices('@') {
        let begins = line[..at].is_empty() || line[..at].ends_with(char::is_whitespace);
        let rest = &line[at + 1..];
        let length =
            rest.find(|c: char| !(c.is_ascii_alphanumeric() || "_-./".contains(c))).unwrap_or(rest.len());
        let name = rest[..length].trim_end_matches(['.', '/']);
        if begins
            && !shielded[at]
            && (is_qualified(name) || toolbox.tools.iter().any(|tool| tool.name == name))
        {
            spans.push((at, at + 1 + name.len()));
        }
    }
    spans
}

fn is_qualified(name: &str) -> bool {
    let cut = name.split_once('.').or_else(|| name.split_once("__"));
    cut.is_some_and(|(ensemble, invoker)| !ensemble.is_empty() && !invoker.is_empty())
}

/// Returns the name and the arguments (JSON text) of an explicit call.
pub(crate) fn call(name: &str, rest: &str, toolbox: &Toolbox) -> (String, String) {
    let tool = find(name, toolbox);
    let offered = tool.map_or_else(|| mangled(name), |tool| tool.name.clone());
    if rest.starts_with('{') {
        return (offered, rest.to_owned());
    }
    (offered, Value::Object(arguments(rest, tool)).to_string())
}

fn find<'a>(name: &str, toolbox: &'a Toolbox) -> Option<&'a Tool> {
    let mangled = mangled(name);
    toolbox.named(name).or_else(|| toolbox.named(&mangled))
}

fn mangled(name: &str) -> String {
    let name = if name.contains("__") { name.to_owned() } else { name.replacen('.', "__", 1) };
    ToolName::cleaned(&name).as_str().to_owned()
}

fn arguments(rest: &str, tool: Option<&Tool>) -> Map<String, Value> {
    let mut arguments = Map::new();
    let mut positional = String::new();
    let mut at = 0;
    while let Some(c) = rest[at..].chars().next() {
        let begins = rest[..at].is_empty() || rest[..at].ends_with(char::is_whitespace);
        if let Some((key, length)) = begins.then(|| key(&rest[at..])).flatten() {
            let (value, quoted, taken) = value(&rest[at + length..]);
            let schema = tool.and_then(|tool| tool.schema_of(key));
            arguments.insert(key.to_owned(), written(schema, value, quoted));
            at += length + taken;
        } else {
            positional.push(c);
            at += c.len_utf8();
        }
    }
    let positional = positional.trim();
    if let Some(parameter) = tool.and_then(positional_of).filter(|_| !positional.is_empty()) {
        let quoted = tokens::quoted_front(positional)
            .filter(|(_, end)| *end == positional.len())
            .map(|(inside, _)| inside);
        arguments.entry(parameter).or_insert_with(|| Value::String(quoted.unwrap_or(positional).to_owned()));
    }
    arguments
}

/// `key=`, and its length with the sign.
fn key(text: &str) -> Option<(&str, usize)> {
    let (key, rest) = text.split_once('=')?;
    let good = key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && key.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
    (good && !rest.starts_with('=')).then_some((key, key.len() + 1))
}

/// A value: quoted, in brackets, or up to the next blank; whether it was quoted; the bytes it takes.
fn value(text: &str) -> (&str, bool, usize) {
    if let Some((inside, end)) = tokens::quoted_front(text) {
        return (inside, true, end);
    }
    if text.starts_with(['[', '{']) {
        let mut whole = serde_json::Deserializer::from_str(text).into_iter::<Value>();
        if let Some(Ok(_)) = whole.next() {
            let end = whole.byte_offset();
            return (&text[..end], false, end);
        }
    }
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    (&text[..end], false, end)
}

/// Where a value without a key goes: the one required text, else the one that comes first.
fn positional_of(tool: &Tool) -> Option<String> {
    let texts =
        || tool.parameters.iter().filter(|one| one.kind() == Some("string") || one.takes == Takes::Choice);
    let mut required = texts().filter(|one| one.required);
    match (required.next(), required.next()) {
        (Some(one), None) => Some(one.name.clone()),
        (None, _) => texts().next().map(|one| one.name.clone()),
        _ => None,
    }
}
