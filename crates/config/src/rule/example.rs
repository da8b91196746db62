//! Examples in a rule: calls that it must match, and calls that it must not match.
//!
//! Only the tool and its arguments are compared: effects and the presence of a person are not known here.

use converse_canister::Arguments;
use serde_json::{Map, Value};

use super::{BaseDirs, Rule};
use crate::diagnostic::quoted;

/// A call such as `io.write_file path=README.md` or `io.write_file {"path": "README.md"}`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Example {
    tool: String,
    arguments: Map<String, Value>,
}

impl Example {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (tool, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        if !tool.contains('.') || tool.contains(['{', '=', '*']) {
            return Err(format!(
                "{} is not a tool name: expected `ensemble.invoker`, followed by arguments",
                quoted(tool)
            ));
        }
        let rest = rest.trim();
        let arguments = if rest.starts_with('{') { object(rest)? } else { words(rest)? };
        Ok(Self { tool: tool.to_owned(), arguments })
    }
}

fn object(text: &str) -> Result<Map<String, Value>, String> {
    let Arguments { object, malformed, .. } = Arguments::parse(text);
    malformed.map_or(Ok(object), |malformed| Err(malformed.to_string()))
}

/// Parses `key=value` words. A value in quotes, brackets or braces is JSON; another value is JSON if possible, else text.
fn words(mut rest: &str) -> Result<Map<String, Value>, String> {
    let mut arguments = Map::new();
    while !rest.is_empty() {
        let no_pair =
            || format!("{} is not an argument: expected key=value, or one JSON object", quoted(rest));
        let (key, after) = rest.split_once('=').ok_or_else(no_pair)?;
        if key.is_empty() || key.contains(char::is_whitespace) {
            return Err(no_pair());
        }
        let (value, after) = value(after).map_err(|error| format!("{error} of {}", quoted(key)))?;
        if arguments.insert(key.to_owned(), value).is_some() {
            return Err(format!("{} is given twice", quoted(key)));
        }
        rest = after.trim_start();
    }
    Ok(arguments)
}

fn value(text: &str) -> Result<(Value, &str), String> {
    if text.starts_with(['"', '[', '{']) {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
        let value = values.next().and_then(Result::ok).ok_or("invalid JSON in the value")?;
        return Ok((value, text.get(values.byte_offset()..).unwrap_or_default()));
    }
    let (word, rest) = text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()));
    Ok((serde_json::from_str(word).unwrap_or_else(|_| Value::from(word)), rest))
}

impl Rule {
    /// Returns why the rule does not match a call, or `None` if it does.
    pub(crate) fn mismatch(&self, example: &Example) -> Option<String> {
        if !self.matches(&example.tool) {
            return Some(format!("{} is not the tool {}", quoted(&self.pattern), quoted(&example.tool)));
        }
        let unmet = self.unmet(&example.arguments, BaseDirs::default());
        (!unmet.is_empty()).then(|| unmet.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn calls_are_read_as_people_write_them() {
        for (text, expected) in [
            ("io.x", json!({})),
            (
                " io.x  path=a/b n=3 t=true s=\"two words\" l=[1, \"x y\"] e= ",
                json!({ "path": "a/b", "n": 3, "t": true,
                "s": "two words", "l": [1, "x y"], "e": "" }),
            ),
            ("io.x {\"a\": {\"b\": null}}", json!({ "a": { "b": null } })),
            ("io.x url=https://a.example/?q=1", json!({ "url": "https://a.example/?q=1" })),
        ] {
            let example = Example::parse(text).unwrap();
            assert_eq!(
                (example.tool.as_str(), Value::Object(example.arguments)),
                ("io.x", expected),
                "{text}"
            );
        }
        for bad in [
            "",
            "io",
            "path=a",
            "io.x path",
            "io.x {\"a\": 1",
            "io.x {\"a\": 1, \"a\": 2}",
            "io.x a=1 a=2",
            "io.x =1",
            "io.x a b=c",
            "io.x a=\"b",
            "io.*",
        ] {
            assert!(Example::parse(bad).is_err(), "{bad}");
        }
    }
}
