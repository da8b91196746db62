//! Parses JSON with comments, or TOML, to a JSON value.
//!
//! Errors name a place and what was expected. The text itself is not shown, since it may be a secret.

use jsonc_parser::ast::{Object, Value as Node};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::{Map, Number, Value};

use crate::note::{Notes, quoted};
use crate::server::ForeignError;

/// Comments and trailing commas are common; other features of JSON5 are mistakes.
pub(crate) const LENIENT: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Whether the text begins like JSON or a comment. TOML does not begin with `{` or `/`.
pub(crate) fn looks_like_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '/'])
}

pub(crate) fn json(text: &str, notes: &mut Notes) -> Result<Map<String, Value>, ForeignError> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &LENIENT).map_err(|error| {
        let (line, column) = (error.line_display(), error.column_display());
        let reason = error.kind().to_string().to_lowercase();
        ForeignError::Syntax { what: "JSON", line, column, reason }
    })?;
    match parsed.value {
        Some(Node::Object(root)) => Ok(object(&root, notes)),
        Some(_) => Err(ForeignError::Unknown),
        None => Err(ForeignError::Empty),
    }
}

/// The last value of a duplicate key counts, as in the other programs.
fn object(node: &Object<'_>, notes: &mut Notes) -> Map<String, Value> {
    let mut map = Map::new();
    for property in &node.properties {
        let name = property.name.as_str();
        if map.insert(name.to_owned(), value(&property.value, notes)).is_some() {
            notes.file(format!(
                "the key {} is given twice in one object; the last value counts",
                quoted(name)
            ));
        }
    }
    map
}

fn value(node: &Node<'_>, notes: &mut Notes) -> Value {
    match node {
        Node::StringLit(text) => Value::String(text.value.to_string()),
        // A number that JSON cannot represent becomes a text.
        Node::NumberLit(number) => match number.value.parse::<Number>() {
            Ok(parsed) => Value::Number(parsed),
            Err(_) => Value::String(number.value.to_owned()),
        },
        Node::BooleanLit(boolean) => Value::Bool(boolean.value),
        Node::NullKeyword(_) => Value::Null,
        Node::Array(array) => array.elements.iter().map(|element| value(element, notes)).collect(),
        Node::Object(inner) => Value::Object(object(inner, notes)),
    }
}

pub(crate) fn toml(text: &str) -> Result<Map<String, Value>, ForeignError> {
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let start = error.span().map_or(0, |span| span.start);
        let (line, column) = position(text, start);
        let reason = error.message().lines().next().unwrap_or_default().to_owned();
        ForeignError::Syntax { what: "TOML", line, column, reason }
    })?;
    Ok(table.into_iter().map(|(key, value)| (key, of_toml(value))).collect())
}

fn of_toml(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(integer) => integer.into(),
        toml::Value::Float(float) => float.into(),
        toml::Value::Boolean(boolean) => boolean.into(),
        toml::Value::Datetime(date) => Value::String(date.to_string()),
        toml::Value::Array(array) => array.into_iter().map(of_toml).collect(),
        toml::Value::Table(table) => {
            Value::Object(table.into_iter().map(|(key, value)| (key, of_toml(value))).collect())
        }
    }
}

fn position(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..text.floor_char_boundary(at)).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line, column)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn comments_and_trailing_commas_are_read_and_duplicates_are_told() {
        let text = "// c\n{ /* c */ \"a\": [1, 2.5e1, true, null,], \"a\": { \"b\": \"x//y\", }, }";
        let mut notes = Notes::default();
        assert_eq!(Value::Object(json(text, &mut notes).unwrap()), json!({ "a": { "b": "x//y" } }));
        let notes = notes.into_list();
        assert!(notes.len() == 1 && notes[0].message.contains("`a` is given twice"), "{notes:?}");
    }

    #[test]
    fn errors_name_the_place_and_never_the_text() {
        for (text, line) in [
            ("{\n \"k\": \"sk-s3cret\" x }", 2),
            ("{\"k\": 'sk-s3cret'}", 1),
            ("{\"sk-s3cret\"", 1),
            ("[", 1),
        ] {
            let error = json(text, &mut Notes::default()).unwrap_err();
            assert!(matches!(&error, ForeignError::Syntax { line: at, .. } if *at == line), "{error:?}");
            assert!(!format!("{error} {error:?}").contains("s3cret"), "{error}");
        }
        for text in
            ["k = sk-s3cret", "k = \"sk-s3cret", "[a]\nk = \"x\" sk-s3cret", "k = 1\nk = \"sk-s3cret\""]
        {
            let error = toml(text).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("s3cret"), "{error}");
        }
        let deep = "[".repeat(100_000);
        assert!(json(&format!("{{\"a\":{deep}"), &mut Notes::default()).is_err());
        assert!(toml(&format!("a = {deep}")).is_err());
    }
}
