use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::table::known;
use crate::{Checked, Code, Diagnostic, Scope, SourceMap, parse_ensemble, parse_invoker};

/// The way to a table, from the root of a file.
#[derive(Debug, Clone)]
enum Step {
    Key(String),
    /// One of a list of tables.
    Item(String),
}

/// One table of a schema.
struct Spot<'s> {
    /// As the parser's messages call it.
    name: String,
    way: Vec<Step>,
    keys: &'s Map<String, Value>,
}

fn spots<'s>(name: &str, way: &[Step], schema: &'s Value, found: &mut Vec<Spot<'s>>) {
    let keys = schema["properties"].as_object();
    found.extend(keys.map(|keys| Spot { name: name.to_owned(), way: way.to_vec(), keys }));
    let called = |key: &str| match name.starts_with('[') {
        true => format!("[{}.{key}]", name.trim_matches(['[', ']'])),
        false => format!("[{key}]"),
    };
    let with = |step: Step| [way, &[step]].concat();
    for (key, inner) in keys.into_iter().flatten() {
        spots(&called(key), &with(Step::Key(key.clone())), inner, found);
        spots(&format!("[[{key}]]"), &with(Step::Item(key.clone())), &inner["items"], found);
    }
    if schema["additionalProperties"].is_object() {
        spots(&called("x"), &with(Step::Key("x".into())), &schema["additionalProperties"], found);
    }
}

/// A file with this one thing in it.
fn file(way: &[Step], value: Value) -> String {
    let nested = way.iter().rev().fold(value, |inner, step| match step {
        // A body, which not every method has.
        Step::Key(key) if key == "multipart" => json!({ key: inner, "method": "POST" }),
        Step::Key(key) => json!({ key: inner }),
        Step::Item(key) => json!({ key: [inner] }),
    });
    toml::to_string(&nested).unwrap()
}

fn sample(schema: &Value) -> Value {
    let said = [&schema["examples"][0], &schema["default"], &schema["enum"][0]];
    if let Some(said) = said.into_iter().find(|said| !said.is_null()) {
        return said.clone();
    }
    match schema["type"].as_str() {
        Some("integer") => schema["minimum"].clone(),
        Some("object") => json!({}),
        Some("array") => json!([]),
        // Not yet supported, or a plain text.
        _ => json!("a"),
    }
}

/// What may have to stand beside a key for it to mean anything.
fn companies(spot: &Spot<'_>) -> Vec<Map<String, Value>> {
    let company = |key: &str, word: &str| Map::from_iter([(key.to_owned(), json!(word))]);
    match spot.keys {
        keys if keys.contains_key("transport") => {
            vec![company("transport", "stdio"), company("transport", "http"), Map::new()]
        }
        keys if keys.contains_key("method") => vec![company("method", "POST")],
        _ => vec![Map::new()],
    }
}

fn problems(is_ensemble: bool, text: &str) -> Vec<Diagnostic> {
    let mut sources = SourceMap::new();
    let id = sources.add("x.toml", Scope::User, text);
    let found = match is_ensemble {
        true => parse_ensemble(&sources, id).diagnostics,
        false => parse_invoker(&sources, id).diagnostics,
    };
    // One key alone is not a whole file.
    let lacks = |found: &Diagnostic| matches!(found.code, Code::MissingKey | Code::MissingDescription);
    found.into_iter().filter(|found| !lacks(found)).collect()
}

#[test]
fn the_parser_takes_what_the_schemas_name_and_they_name_what_it_takes() {
    for (is_ensemble, root, schema) in
        [(true, "an ensemble file", ensemble_schema()), (false, "an invoker file", invoker_schema())]
    {
        let mut spots_of = Vec::new();
        spots(root, &[], &schema, &mut spots_of);
        assert!(spots_of.len() >= 6, "{root}");
        drop(known::take());
        let mut named: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        for spot in &spots_of {
            named.entry(spot.name.clone()).or_default().extend(spot.keys.keys().map(String::as_str));
            for (key, inner) in spot.keys {
                let tries: Vec<_> = companies(spot)
                    .into_iter()
                    .map(|mut table| {
                        table.insert(key.clone(), sample(inner));
                        let text = file(&spot.way, Value::Object(table));
                        let found = problems(is_ensemble, &text);
                        (text, found)
                    })
                    .collect();
                assert!(
                    tries.iter().any(|(_, found)| found.is_empty()),
                    "{key} of {}: {tries:#?}",
                    spot.name
                );
            }
        }
        let parsed: BTreeMap<String, BTreeSet<&str>> = known::take();
        assert_eq!(parsed, named);
    }
}

#[test]
fn every_key_says_what_it_is_for() {
    for schema in [ensemble_schema(), invoker_schema()] {
        let mut found = Vec::new();
        spots("root", &[], &schema, &mut found);
        for (key, inner) in found.iter().flat_map(|spot| spot.keys) {
            let text = inner["description"].as_str().unwrap_or_default();
            assert!(text.len() > 7 && !text.contains('\n') && !text.ends_with('.'), "{key}: {text}");
        }
    }
}

#[test]
fn the_published_schemas_are_current() {
    for (name, schema) in [("ensemble", ensemble_schema()), ("invoker", invoker_schema())] {
        let path = format!("{}/../../docs/reference/{name}.schema.json", env!("CARGO_MANIFEST_DIR"));
        let page = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            page == schema_text(&schema),
            "docs/reference/{name}.schema.json is out of date: run `cargo xtask codegen`"
        );
    }
}

/// The names that are checked by others are checked alike.
#[test]
fn patterns_of_names_are_those_of_names() {
    use converse_canister::{EnsembleName, InvokerName};
    let pattern = |pattern: &str| regex::Regex::new(pattern).unwrap();
    let (ensemble, invoker) = (pattern(ENSEMBLE_NAME), pattern(field::INVOKER_NAME));
    let long = "a".repeat(64);
    for name in
        ["a", "", "-a", "a-b_C9", "a b", "a.b", "a/b", ".a", "é", &long, &format!("{long}a"), &long.repeat(2)]
    {
        assert_eq!(ensemble.is_match(name), EnsembleName::new(name).is_ok(), "{name}");
        assert_eq!(invoker.is_match(name), InvokerName::new(name).is_ok(), "{name}");
    }
}

/// Texts with units are read as the patterns have it.
#[test]
fn patterns_of_units_are_those_of_the_parser() {
    let (duration, size) = (field::duration("d", std::time::Duration::MAX), field::size("d", usize::MAX));
    let matches = |schema: &Value, text: &str| {
        regex::Regex::new(schema["pattern"].as_str().unwrap()).unwrap().is_match(text)
    };
    for text in [
        "30s",
        "5 m",
        "500ms",
        "1.5s",
        "2H",
        ".5s",
        "5.s",
        "30",
        "",
        "s",
        "1.2.3s",
        "-3s",
        "30 seconds",
        "∞",
        "64 KiB",
        "64KB",
        "7b",
        "1 gib",
        "64 Kilo",
        "1 ib",
        ".s",
        ". s",
        " 3s ",
    ] {
        let value = toml::de::DeValue::String(text.into());
        assert_eq!(matches(&duration, text), crate::units::duration(&value).unwrap().is_ok(), "{text}");
        assert_eq!(matches(&size, text), crate::units::size(&value).unwrap().is_ok(), "{text}");
    }
}

#[test]
fn an_outcome_that_a_test_can_expect_is_called_as_everywhere() {
    for (word, outcome) in crate::tool_test::OUTCOMES {
        assert_eq!(word, outcome.label());
    }
    let checked: Checked<_> = {
        let mut sources = SourceMap::new();
        let id = sources.add("x.toml", Scope::User, "[[tests]]\nexpect.outcome = \"cancelled\"\n");
        parse_invoker(&sources, id)
    };
    assert!(checked.diagnostics.iter().any(|found| found.code == Code::BadValue));
}
