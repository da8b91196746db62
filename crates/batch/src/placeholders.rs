//! `{{name}}` in a prompt, replaced by the variables of a line.

use serde_json::{Map, Value};

/// Returns the text with each `{{name}}` replaced, once: what a variable contains is not read again. A string is inserted
/// as it is, any other value as JSON. Braces around anything but a name are text.
///
/// # Errors
///
/// The name that has no variable.
pub(crate) fn filled(text: &str, variables: &Map<String, Value>) -> Result<String, String> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("{{") {
        let (before, from) = rest.split_at(at);
        filled.push_str(before);
        let Some((name, after)) = named(from) else {
            filled.push('{');
            rest = &from[1..];
            continue;
        };
        match variables.get(name) {
            Some(Value::String(text)) => filled.push_str(text),
            Some(value) => filled.push_str(&value.to_string()),
            None => return Err(name.to_owned()),
        }
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

/// The name in braces at the beginning, and what follows.
fn named(text: &str) -> Option<(&str, &str)> {
    let (name, after) = text.strip_prefix("{{")?.split_once("}}")?;
    let name = name.trim();
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    (!name.is_empty() && name.chars().all(is_name)).then_some((name, after))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_are_replaced_once_and_other_braces_stay() {
        let variables = json!({ "city": "{{n}}", "n": 7, "list": ["a"] });
        let variables = variables.as_object().unwrap();
        for (text, expected) in [
            ("{{city}} {{ n }}{{list}}", Ok("{{n}} 7[\"a\"]")),
            ("{{{n}}} {{}} {{a b}} {{n", Ok("{7} {{}} {{a b}} {{n")),
            ("é{{n}}é", Ok("é7é")),
            ("{{city}} {{gone}}", Err("gone")),
        ] {
            assert_eq!(filled(text, variables).as_deref().map_err(String::as_str), expected, "{text}");
        }
    }
}
