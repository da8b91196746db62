//! The explicit form: `@ensemble.invoker key=value …`. Nothing is guessed; what was typed is what is called.
//!
//! An unknown name is called all the same, so that the loop answers "no such tool". Arguments that begin with `{` go out
//! byte for byte, even if they are broken JSON: scripts and tests want to see what the tool's check says to them.

use converse_canister::ToolName;
use serde_json::{Map, Value};

use crate::tokens;
use crate::tool::{Tool, Wants};
use crate::toolbox::Toolbox;
use crate::value::written;

/// A part of the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part<'a> {
    Explicit { name: &'a str, rest: &'a str },
    Natural(&'a str),
}

/// The parts of a text in order; an explicit one ends with its line or where the next begins.
pub(crate) fn parts<'a>(text: &'a str, toolbox: &Toolbox) -> Vec<Part<'a>> {
    let mut found = Vec::new();
    let mut natural = 0..0;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let marks = marks(line, toolbox);
        let first = marks.first().map_or(line.len(), |(start, _)| *start);
        natural.end = at + first;
        if !marks.is_empty() {
            found.push(Part::Natural(text.get(natural.clone()).unwrap_or_default()));
            natural = at + line.len()..at + line.len();
        }
        for (index, (start, end)) in marks.iter().enumerate() {
            let until = marks.get(index + 1).map_or(line.len(), |(next, _)| *next);
            let name = line.get(start + 1..*end).unwrap_or_default();
            found.push(Part::Explicit { name, rest: line.get(*end..until).unwrap_or_default().trim() });
        }
        at += line.len();
    }
    found.push(Part::Natural(text.get(natural).unwrap_or_default()));
    found.retain(|part| !matches!(part, Part::Natural(text) if text.trim().is_empty()));
    found
}

/// Where `@name` stands in a line, outside quotes and braces.
fn marks(line: &str, toolbox: &Toolbox) -> Vec<(usize, usize)> {
    if !line.contains('@') {
        return Vec::new();
    }
    let quoted = tokens::quoted(line);
    let braces = tokens::brackets(line);
    let mut found = Vec::new();
    for (at, _) in line.match_indices('@') {
        let begins =
            line.get(..at).is_some_and(|before| before.is_empty() || before.ends_with(char::is_whitespace));
        let covered = quoted.iter().any(|(_, start, end)| *start < at && at < *end)
            || braces.iter().any(|(start, end)| *start < at && at < *end);
        let rest = line.get(at + 1..).unwrap_or_default();
        let length =
            rest.find(|c: char| !(c.is_ascii_alphanumeric() || "_-./".contains(c))).unwrap_or(rest.len());
        let name = rest.get(..length).unwrap_or_default().trim_end_matches(['.', '/']);
        if begins && !covered && (is_qualified(name) || toolbox.tools.iter().any(|tool| tool.name == name)) {
            found.push((at, at + 1 + name.len()));
        }
    }
    found
}

fn is_qualified(name: &str) -> bool {
    let cut = name.split_once('.').or_else(|| name.split_once("__"));
    cut.is_some_and(|(ensemble, invoker)| !ensemble.is_empty() && !invoker.is_empty())
}

/// Name and arguments (JSON text) of the call that was written.
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
    let at = toolbox.named(name).or_else(|| toolbox.named(&mangled))?;
    toolbox.tools.get(at)
}

fn mangled(name: &str) -> String {
    let name = if name.contains("__") { name.to_owned() } else { name.replacen('.', "__", 1) };
    ToolName::cleaned(&name).as_str().to_owned()
}

fn arguments(rest: &str, tool: Option<&Tool>) -> Map<String, Value> {
    let mut found = Map::new();
    let mut positional = String::new();
    let mut at = 0;
    while let Some(tail) = rest.get(at..).filter(|tail| !tail.is_empty()) {
        if let Some((key, length)) = key(tail).filter(|_| {
            rest.get(..at).is_some_and(|before| before.is_empty() || before.ends_with(char::is_whitespace))
        }) {
            let (value, quoted, taken) = value(tail.get(length..).unwrap_or_default());
            let schema = tool.and_then(|tool| tool.schema_of(key));
            found.insert(key.to_owned(), written(schema, value, quoted));
            at += length + taken;
        } else {
            let c = tail.chars().next().map_or(1, char::len_utf8);
            positional.push_str(tail.get(..c).unwrap_or_default());
            at += c;
        }
    }
    let positional = positional.trim();
    if let Some(parameter) = tool.and_then(positional_of).filter(|_| !positional.is_empty()) {
        let quoted = tokens::quoted_front(positional)
            .filter(|(_, end)| *end == positional.len())
            .map(|(inside, _)| inside);
        found.entry(parameter).or_insert_with(|| Value::String(quoted.unwrap_or(positional).to_owned()));
    }
    found
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
            return (text.get(..end).unwrap_or(text), false, end);
        }
    }
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    (text.get(..end).unwrap_or(text), false, end)
}

/// Where a value without a key goes: the one required text, else the one that comes first.
fn positional_of(tool: &Tool) -> Option<String> {
    let texts =
        || tool.parameters.iter().filter(|one| one.kind() == Some("string") || one.wants == Wants::Choice);
    let mut required = texts().filter(|one| one.required);
    match (required.next(), required.next()) {
        (Some(one), None) => Some(one.name.clone()),
        (None, _) => texts().next().map(|one| one.name.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn toolbox() -> Toolbox {
        let schema = json!({"type": "object", "required": ["text"], "properties": {
            "text": {"type": "string"}, "count": {"type": "integer"}, "on": {"type": "boolean"}, "tags": {"type": "array"}}});
        let tool = |name: &str| Tool::read(&json!({"function": {"name": name, "parameters": schema}}));
        Toolbox::new(["lab__probe", "bare"].iter().filter_map(|name| tool(name)).collect())
    }

    fn calls(text: &str) -> Vec<(String, String)> {
        let toolbox = toolbox();
        let explicit = |part: Part<'_>| match part {
            Part::Explicit { name, rest } => Some(call(name, rest, &toolbox)),
            Part::Natural(_) => None,
        };
        parts(text, &toolbox).into_iter().filter_map(explicit).collect()
    }

    #[test]
    fn values_are_typed_by_the_schema() {
        for (text, name, arguments) in [
            ("@lab.probe text=5 count=5 on=true", "lab__probe", r#"{"text":"5","count":5,"on":true}"#),
            ("@lab__probe text=\"a b = c\"", "lab__probe", r#"{"text":"a b = c"}"#),
            ("@lab.probe text='it is'", "lab__probe", r#"{"text":"it is"}"#),
            ("@lab.probe text=«раз два» other=x", "lab__probe", r#"{"text":"раз два","other":"x"}"#),
            ("@lab.probe hello wide world", "lab__probe", r#"{"text":"hello wide world"}"#),
            ("@lab.probe \"hello\" count=2", "lab__probe", r#"{"count":2,"text":"hello"}"#),
            (
                "@lab.probe text=x tags=[1,{\"a\":2}] count=3",
                "lab__probe",
                r#"{"text":"x","tags":[1,{"a":2}],"count":3}"#,
            ),
            ("@lab.probe {\"text\": 1, \"text\": 2}", "lab__probe", "{\"text\": 1, \"text\": 2}"),
            ("@lab.probe {broken", "lab__probe", "{broken"),
            ("@lab.probe", "lab__probe", "{}"),
            ("@bare 1 + 1 == 2", "bare", r#"{"text":"1 + 1 == 2"}"#),
            ("@no.such/tool x=1", "no__such_tool", r#"{"x":1}"#),
            ("@lab.probe text=\"\"", "lab__probe", r#"{"text":""}"#),
        ] {
            assert_eq!(calls(text), [(name.to_owned(), arguments.to_owned())], "{text}");
        }
    }

    #[test]
    fn several_stand_in_a_prompt_beside_plain_text() {
        let text = "What is it?\n@lab.probe a @lab.probe b\nand @bare c\nmore\ntext";
        let toolbox = toolbox();
        let shapes: Vec<_> = parts(text, &toolbox)
            .into_iter()
            .map(|part| match part {
                Part::Explicit { rest, .. } => format!("@{rest}"),
                Part::Natural(text) => text.trim().to_owned(),
            })
            .collect();
        assert_eq!(shapes, ["What is it?", "@a", "@b", "and", "@c", "more\ntext"]);
    }

    #[test]
    fn an_address_or_a_mention_is_no_call() {
        for text in
            ["mail ann@example.org", "ask @john about it", "say \"@lab.probe x\"", "@ alone", "@.x", "@x."]
        {
            assert!(calls(text).is_empty(), "{text}");
        }
    }
}
