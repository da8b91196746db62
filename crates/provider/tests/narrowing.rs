#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test's helpers may panic and read its files"
)]
//! What each wire is told of schemas as MCP servers write them. One file of `schemas/` is one schema and what becomes
//! of it, by wire; `unchanged` where nothing does, `none` where no schema is sent.
//!
//! `CONVERSE_BLESS=1` (or a part of a file's path) writes the files as they come out; read the difference before you
//! keep it. The checks of arguments use the original and are not asked here.

use std::path::Path;
use std::{env, fs};

use converse_canister::{Declaration, ToolName};
use converse_provider::{Dialect, processor, row};
use serde_json::{Map, Value, json};

/// A provider of each wire, and where its tools have the schema.
const WIRES: [(&str, &str); 5] = [
    ("anthropic", "/input_schema"),
    ("openai", "/function/parameters"),
    ("openai-responses", "/parameters"),
    ("gemini", "/parametersJsonSchema"),
    ("ollama-native", "/function/parameters"),
];

fn narrowed(provider: &str, pointer: &str, schema: &Value) -> Value {
    let endpoint = row(provider).unwrap().endpoint(None);
    let tool = Declaration {
        name: ToolName::new("t").unwrap(),
        description: "A tool".to_owned(),
        arguments: schema.clone().into(),
    };
    match processor(endpoint.dialect).prepare_tools(&[tool], &endpoint) {
        Err(error) => json!({ "error": error.to_string() }),
        Ok(tools) => match tools[0].pointer(pointer) {
            None => json!("none"),
            // As texts: the order of keys counts.
            Some(narrowed) if format!("{narrowed}") == format!("{schema}") => json!("unchanged"),
            Some(narrowed) => narrowed.clone(),
        },
    }
}

#[test]
fn each_wire_is_told_this_of_a_schema() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schemas");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 20, "{}", files.len());
    let mut wrong = Vec::new();
    for file in files {
        let written = fs::read_to_string(&file).unwrap();
        let golden: Value = serde_json::from_str(&written).unwrap();
        let mut actual = Map::new();
        actual.insert("schema".to_owned(), golden["schema"].clone());
        for (provider, pointer) in WIRES {
            let dialect = row(provider).unwrap().dialect.label().to_owned();
            actual.insert(dialect, narrowed(provider, pointer, &golden["schema"]));
        }
        assert_eq!(actual.len(), 1 + Dialect::ALL.len());
        let actual = format!("{}\n", serde_json::to_string_pretty(&actual).unwrap());
        match env::var("CONVERSE_BLESS") {
            Ok(part) if part == "1" || file.to_string_lossy().contains(&part) => {
                fs::write(&file, &actual).unwrap()
            }
            Ok(_) => {}
            Err(_) if actual != written => wrong.push(format!("{}\n{actual}", file.display())),
            Err(_) => {}
        }
    }
    assert!(wrong.is_empty(), "came out differently:\n{}", wrong.join("\n"));
}

/// Each definition refers to the next one twice: written out in full this would be two to the power of sixty schemas.
#[test]
fn a_schema_that_would_explode_does_not() {
    let definitions: Map<String, Value> = (0..60)
        .map(|number| {
            let next = json!({ "$ref": format!("#/$defs/d{}", number + 1) });
            let schema = json!({ "type": "object", "properties": { "a": next, "b": next }, "title": "T" });
            (format!("d{number}"), schema)
        })
        .collect();
    let schema =
        json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/d0" } }, "$defs": definitions });
    let narrowed = narrowed("gemini", "/parametersJsonSchema", &schema).to_string();
    assert!(narrowed.len() < 400_000, "{}", narrowed.len());
    assert!(narrowed.contains("\"title\"") && !narrowed.contains("$ref") && !narrowed.contains("$defs"));
}
