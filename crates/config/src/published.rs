//! JSON Schemas of ensemble and invoker files, for editors and external validators.
//!
//! The parser is authoritative and reports more, with places and hints. The schemas cover what draft 7 can express,
//! without features that Taplo (used by Even Better TOML) does not support. Names and limits are the parser's own
//! constants, and a test checks that the parser and the schemas accept the same keys.

mod connection;
mod field;
mod invoker;

use serde_json::{Map, Value, json};

use crate::ensemble::MAX_INVOKERS;
use field::{ENSEMBLE_NAME, described, flag, table, text};

/// <https://json-schema.org/draft-07>, checked 2026-11. Taplo 0.9 reads drafts up to it.
const DRAFT: &str = "http://json-schema.org/draft-07/schema#";

/// Returns the schema of `ensembles/*.toml`.
pub fn ensemble_schema() -> Value {
    let properties = json!({
        "ensemble": head(),
        "defaults": table("Policy keys for all tools of the ensemble, unless a tool has its own", invoker::policy_keys(), &[]),
        "configuration": described("Settings of the ensemble, passed to its built-ins", json!({ "type": "object" })),
        "connection": connection::connection(),
        "tools": connection::tools(),
        "invokers": {
            "description": "The tools of the ensemble: built-ins, commands and HTTP requests",
            "type": "array",
            "minItems": 1,
            "maxItems": MAX_INVOKERS,
            "items": invoker::entry(),
        },
    });
    document(
        "Ensemble of converse",
        "A group of tools that connect and disconnect together",
        properties,
        json!({
            "required": ["ensemble"],
            "oneOf": [{ "required": ["invokers"] }, { "required": ["connection"] }],
            "dependencies": { "tools": ["connection"] },
        }),
    )
}

/// Returns the schema of the files that `source` names.
pub fn invoker_schema() -> Value {
    let (properties, rest) = invoker::file();
    document("Invoker of converse", "One tool of an ensemble", properties, rest)
}

/// Returns a schema as indented text with a final newline.
pub fn schema_text(schema: &Value) -> String {
    format!("{schema:#}\n")
}

fn document(title: &str, description: &str, properties: Value, rest: Value) -> Value {
    let mut schema = Map::new();
    schema.insert("$schema".to_owned(), json!(DRAFT));
    schema.insert("title".to_owned(), json!(title));
    let whole = described(description, json!({ "type": "object", "additionalProperties": false }));
    for part in [whole, rest, json!({ "properties": properties })] {
        if let Value::Object(part) = part {
            schema.extend(part);
        }
    }
    Value::Object(schema)
}

fn head() -> Value {
    let keys = json!({
        "name": text("Name of the ensemble, the part before the dot in `ensemble.tool`", json!({ "pattern": ENSEMBLE_NAME })),
        "description": field::description("Purpose of the ensemble"),
        "enabled": flag("If false, the ensemble is used only if `-e` or a preset names it", true),
        "required": flag("If true, the run stops (exit 10) if the ensemble cannot be connected", false),
        "lazy": flag("For a server: start it at the first call of one of its tools", false),
        "prefix": text(
            "Prefix that models see before the name of a tool, instead of the ensemble's name; empty for bare names",
            json!({ "pattern": format!("^$|{ENSEMBLE_NAME}") }),
        ),
    });
    table("Name of the ensemble, and when it is used", keys, &["name"])
}

#[cfg(test)]
mod tests;
