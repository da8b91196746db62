//! Recognises text that looks like an invocation: JSON with a name and arguments, or a call in Python syntax.

use converse_canister::Declaration;
use serde_json::{Map, Value};

/// How much evidence is required.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Trust {
    /// A marker announces an invocation, so the name is enough.
    Marked,
    /// Plain JSON: it must be an invocation in every respect, and all there is.
    Bare,
}

const NAMES: [&str; 4] = ["name", "tool", "tool_name", "function"];
const ARGUMENTS: [&str; 4] = ["arguments", "parameters", "args", "input"];
/// Keys that are allowed beside them.
const BESIDE: [&str; 2] = ["id", "type"];

/// The offered tool that a model means: exactly, without the prefix and the number that some forms add, or by its
/// unqualified name.
pub(super) fn offered(name: &str, tools: &[Declaration]) -> Option<String> {
    let name = ["functions.", "default_api.", "tools."]
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))
        .unwrap_or(name);
    let name = match name.rsplit_once(':') {
        Some((name, number)) if number.bytes().all(|digit| digit.is_ascii_digit()) => name,
        _ => name.strip_suffix(".call").unwrap_or(name),
    };
    let exact = tools.iter().find(|tool| tool.name.as_str() == name);
    let unqualified = || {
        tools.iter().find(|tool| tool.name.as_str().rsplit_once("__").is_some_and(|(_, short)| short == name))
    };
    exact.or_else(unqualified).map(|tool| tool.name.to_string())
}

/// The tools that JSON at the start of a text invokes: an object, a list, or several with blanks or `;` between.
pub(super) fn calls_in_json(text: &str, tools: &[Declaration], trust: Trust) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = text;
    loop {
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        let Some(Ok(value)) = values.next() else { break };
        let calls = calls_of(&value, tools, trust);
        if calls.is_empty() {
            // Other text means that this is an answer.
            return if trust == Trust::Bare { Vec::new() } else { names };
        }
        names.extend(calls);
        let read = values.byte_offset();
        rest = rest.get(read..).unwrap_or_default().trim_start_matches([';', ',']).trim_start();
        if rest.is_empty() {
            return names;
        }
    }
    if trust == Trust::Bare { Vec::new() } else { names }
}

fn calls_of(value: &Value, tools: &[Declaration], trust: Trust) -> Vec<String> {
    match value {
        Value::Array(list) => {
            let calls: Vec<String> = list.iter().filter_map(|value| call_of(value, tools, trust)).collect();
            let all = calls.len() == list.len();
            if all || trust == Trust::Marked { calls } else { Vec::new() }
        }
        Value::Object(object) if object.len() == 1 => match object.get("tool_calls") {
            Some(list @ Value::Array(_)) => calls_of(list, tools, trust),
            _ => call_of(value, tools, trust).into_iter().collect(),
        },
        _ => call_of(value, tools, trust).into_iter().collect(),
    }
}

fn call_of(value: &Value, tools: &[Declaration], trust: Trust) -> Option<String> {
    let object = value.as_object()?;
    // OpenAI's own form: `{"type": "function", "function": {"name": …, "arguments": …}}`.
    if let Some(Value::Object(function)) = object.get("function") {
        return plain_call(function, tools, trust);
    }
    plain_call(object, tools, trust)
}

fn plain_call(object: &Map<String, Value>, tools: &[Declaration], trust: Trust) -> Option<String> {
    let name = NAMES.iter().find_map(|key| object.get(*key)?.as_str())?;
    let tool = offered(name, tools)?;
    if trust == Trust::Marked {
        return Some(tool);
    }
    let known = |key: &String| NAMES.iter().chain(&ARGUMENTS).chain(&BESIDE).any(|known| key == known);
    let arguments = ARGUMENTS.iter().find_map(|key| object.get(*key))?;
    let declared = tools.iter().find(|declared| declared.name.as_str() == tool)?;
    (object.keys().all(known) && fits(arguments, declared)).then_some(tool)
}

/// Returns whether a value fits as arguments of the tool: not its schema, not a list, and no unknown parameter.
fn fits(arguments: &Value, tool: &Declaration) -> bool {
    let read: Value;
    let arguments = match arguments {
        Value::String(text) => match serde_json::from_str(text) {
            Ok(value) => {
                read = value;
                &read
            }
            Err(_) => return false,
        },
        other => other,
    };
    let Some(arguments) = arguments.as_object() else { return false };
    let properties = tool.arguments.get("properties").and_then(Value::as_object);
    arguments.keys().all(|key| properties.is_some_and(|properties| properties.contains_key(key)))
}

/// The offered tools that are called `so(…)`, bare or within `print(…)`: at the start of a line, of the text, or of an
/// item of a list.
pub(super) fn calls_in_python(text: &str, tools: &[Declaration]) -> Vec<String> {
    let mut names = Vec::new();
    for line in text.lines() {
        let mut rest = line.trim_start().trim_start_matches('[');
        rest = rest.strip_prefix("print(").unwrap_or(rest);
        // The items after the first begin behind `), `.
        for item in rest.split("), ") {
            let Some((name, _)) = item.split_once('(') else { continue };
            names.extend(offered(name.trim(), tools));
        }
    }
    names
}
