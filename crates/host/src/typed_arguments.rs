//! Arguments of a tool as people type them.

use converse_canister::Arguments;
use serde_json::Value;

use crate::failure::Failure;

/// Parses one JSON object, or `key=value` words. A property that is not a string by the schema may be written as JSON.
///
/// Both are read like the arguments of a model, so a duplicate key or a number that would change is malformed here too.
pub fn parse(words: &[String], schema: &Value) -> Result<Arguments, Failure> {
    if let [one] = words
        && one.trim_start().starts_with('{')
    {
        return Ok(Arguments::parse(one));
    }
    let mut members = Vec::new();
    for word in words {
        let (key, text) = word.split_once('=').ok_or_else(|| {
            Failure::usage(
                "bad-argument",
                format!("`{word}` is not an argument: expected key=value, or one JSON object"),
            )
        })?;
        check_name(key, schema)?;
        let readable = !is_textual(&schema["properties"][key]) && serde_json::from_str::<Value>(text).is_ok();
        let value = if readable { text.to_owned() } else { Value::from(text).to_string() };
        members.push(format!("{}: {value}", Value::from(key)));
    }
    Ok(Arguments::parse(&format!("{{{}}}", members.join(", "))))
}

/// A name that is not a property is a typing error, unless the schema allows others.
fn check_name(key: &str, schema: &Value) -> Result<(), Failure> {
    let Some(properties) = schema["properties"].as_object() else { return Ok(()) };
    let open = schema["additionalProperties"].as_bool().unwrap_or(schema["additionalProperties"].is_object());
    if open || schema["patternProperties"].is_object() || properties.contains_key(key) {
        return Ok(());
    }
    let names = properties.keys().map(String::as_str);
    let message = format!("the tool has no argument `{key}`");
    let known: Vec<&str> = properties.keys().map(String::as_str).take(20).collect();
    let otherwise = match known.is_empty() {
        true => "the tool has no arguments".to_owned(),
        false => format!("its arguments are: {}", known.join(", ")),
    };
    Err(Failure::usage("unknown-argument", message).did_you_mean(key, names, &otherwise))
}

/// Whether a string is a valid value.
fn is_textual(property: &Value) -> bool {
    let kind = &property["type"];
    let typed =
        kind == "string" || kind.as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "string"));
    let listed = property["enum"].as_array().is_some_and(|values| values.iter().all(Value::is_string));
    typed || listed
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_become_the_arguments_that_the_schema_wants() {
        let schema = json!({ "properties": { "name": { "type": "string" }, "size": { "enum": [1, 2] },
            "kind": { "enum": ["1"] }, "other": {}, "list": { "type": "array" }, "either": { "type": ["string", "integer"] } } });
        let words = ["name=5", "size=2", "kind=1", "list=[1,2]", "either=7", "other=a b"].map(str::to_owned);
        let read = parse(&words, &schema).unwrap();
        let wanted =
            json!({ "name": "5", "size": 2, "kind": "1", "list": [1, 2], "either": "7", "other": "a b" });
        assert_eq!((Value::Object(read.object), read.malformed), (wanted, None));
        assert!(parse(&["name=1".into(), "name=2".into()], &schema).unwrap().malformed.is_some());
        let slip = parse(&["nmae=x".into()], &schema).unwrap_err();
        assert!(slip.lines().contains("did you mean `name`"), "{}", slip.lines());
        let open = json!({ "properties": { "a": {} }, "additionalProperties": true });
        assert!(parse(&["b=x".into()], &open).is_ok());
        assert!(parse(&["loose".into()], &schema).is_err());
        assert_eq!(parse(&[r#"{"a": 1}"#.into()], &schema).unwrap().object["a"], 1);
    }
}
