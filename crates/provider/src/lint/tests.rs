//! Golden objections to many schemas, and that each remedy is what the processors really do.

use std::collections::BTreeMap;

use converse_canister::{Declaration, ToolName};
use serde_json::{Value, json};

use super::*;
use crate::{processor, row};

/// Schemas, and `remedy kind pointer` of each objection by provider.
const GOLDEN: &str = include_str!("golden.json");

fn tool(schema: &Value) -> Declaration {
    let name = ToolName::new("t__x").unwrap();
    Declaration { name, description: "What it does.".into(), arguments: schema.clone().into() }
}

fn golden() -> Vec<Value> {
    serde_json::from_str(GOLDEN).unwrap()
}

fn lines(which: LintTarget, schema: &Value) -> Vec<String> {
    let line =
        |objection: Objection| format!("{:?} {} {}", objection.remedy, objection.kind, objection.pointer);
    lint(which, &tool(schema)).into_iter().map(line).collect()
}

/// What a request would carry, through the door that requests use.
fn body(which: LintTarget, schema: &Value) -> Option<Value> {
    let (provider, pointer) = match which {
        LintTarget::Anthropic => ("anthropic", "/input_schema"),
        LintTarget::OpenAi => ("openai", "/function/parameters"),
        LintTarget::Gemini => ("gemini", "/parametersJsonSchema"),
    };
    let row = row(provider).unwrap();
    let tools = processor(row.dialect).prepare_tools(&[tool(schema)], &row.endpoint(None)).ok()?;
    Some(tools[0].pointer(pointer).cloned().unwrap_or_default())
}

#[test]
fn the_objections_to_many_schemas_are_these() {
    let rows = golden();
    assert!(rows.len() >= 40, "{}", rows.len());
    let mut different = Vec::new();
    for row in rows {
        let schema = &row["schema"];
        let [anthropic, openai, gemini] = LintTarget::ALL.map(|which| lines(which, schema));
        let actual = json!({
            "name": row["name"], "schema": schema, "anthropic": anthropic, "openai": openai, "gemini": gemini
        });
        if actual != row {
            different.push(actual.to_string());
        }
    }
    assert!(different.is_empty(), "found:\n{}", different.join("\n"));
}

#[test]
fn what_is_said_to_be_adapted_is_adapted_in_the_request_and_the_rest_is_not() {
    let mut seen = BTreeMap::new();
    for row in golden() {
        let schema = &row["schema"];
        for which in [LintTarget::Anthropic, LintTarget::OpenAi] {
            for objection in lint(which, &tool(schema)) {
                let (kind, pointer) = (objection.kind, objection.pointer.as_str());
                let name = format!("{} {which:?} {kind}", row["name"]);
                *seen.entry((objection.remedy, kind)).or_insert(0) += 1;
                let Some(body) = body(which, schema) else {
                    assert_eq!((objection.remedy, kind), (Remedy::MustChange, "not-an-object"), "{name}");
                    continue;
                };
                match (objection.remedy, kind) {
                    (Remedy::Adapted, "root-type") => assert_eq!(body["type"], "object", "{name}"),
                    (Remedy::Adapted, "root-reference") => assert!(body.get("$ref").is_none(), "{name}"),
                    (Remedy::Adapted, "root-combinator" | "root-keyword") => {
                        assert!(body.pointer(pointer).is_none(), "{name}")
                    }
                    (Remedy::Adapted, "no-properties") => assert!(body["properties"].is_object(), "{name}"),
                    (Remedy::Adapted, "array-without-items") => {
                        assert!(body.pointer(&format!("{pointer}/items")).is_some(), "{name}");
                    }
                    (Remedy::Adapted, "invalid-schema") => {
                        assert!(body.pointer(pointer) != schema.pointer(pointer), "{name}");
                    }
                    (Remedy::Adapted, _) => panic!("{name}: who says that this is adapted?"),
                    (Remedy::MustChange | Remedy::Ignored, _) => {
                        let passed =
                            body.pointer(pointer).or(body.pointer(pointer.trim_start_matches("/$defs/A")));
                        assert!(passed.is_some(), "{name}");
                        assert!(pointer.is_empty() || passed == schema.pointer(pointer), "{name}");
                    }
                }
            }
        }
    }
    let of = |remedy| {
        seen.iter().filter(|((of, _), _)| *of == remedy).map(|((_, kind), _)| *kind).collect::<Vec<_>>()
    };
    assert_eq!(
        of(Remedy::Adapted),
        [
            "array-without-items",
            "invalid-schema",
            "no-properties",
            "root-combinator",
            "root-keyword",
            "root-reference",
            "root-type"
        ]
    );
    assert_eq!(of(Remedy::MustChange), ["invalid-schema", "not-an-object", "property-name"]);
}

/// What the lint relies on for Gemini is the field that schemas go in, and what is gone from them.
#[test]
fn for_gemini_what_is_said_to_be_adapted_is_in_the_other_field_or_gone() {
    for row in golden() {
        for objection in lint(LintTarget::Gemini, &tool(&row["schema"])) {
            let body = body(LintTarget::Gemini, &row["schema"]);
            let passed = body.as_ref().and_then(|body| body.pointer(&objection.pointer));
            let name = format!("{} {objection:?}", row["name"]);
            let other_field =
                objection.message.contains("converse sends the schema as `parametersJsonSchema`");
            match objection.remedy {
                Remedy::Adapted if other_field => assert!(body.is_some(), "{name}"),
                // The name is still required, and has a property now; or it is not required any more.
                Remedy::Adapted if objection.kind == "required-unknown" => {
                    let Some(still) = passed.and_then(Value::as_str) else { continue };
                    let (node, _) = objection.pointer.split_once("/required/").unwrap();
                    let property = format!("{node}/properties/{still}");
                    assert!(body.as_ref().unwrap().pointer(&property).is_some(), "{name}");
                }
                Remedy::Adapted => {
                    let written = row["schema"].pointer(&objection.pointer);
                    assert!(passed.is_none() || passed != written, "{name}");
                }
                Remedy::MustChange => assert!(body.is_none() || passed.is_some(), "{name}"),
                Remedy::Ignored => {}
            }
        }
    }
}

#[test]
fn descriptions_are_looked_at_too() {
    let with = |description: &str| Declaration {
        description: description.to_owned(),
        ..tool(&json!({"type": "object", "properties": {"a": {"type": "string"}}}))
    };
    let kinds = |which, description: &str| {
        lint(which, &with(description)).into_iter().map(|o| (o.kind, o.remedy)).collect::<Vec<_>>()
    };
    for which in LintTarget::ALL {
        assert_eq!(kinds(which, " \n"), [("no-description", Remedy::Ignored)]);
        assert_eq!(kinds(which, &"é".repeat(1024)), []);
        let long =
            if which == LintTarget::OpenAi { vec![("long-description", Remedy::Ignored)] } else { vec![] };
        assert_eq!(kinds(which, &"é".repeat(1025)), long);
    }
}

#[test]
fn one_matter_at_many_places_is_said_once() {
    let properties: serde_json::Map<String, Value> =
        (0..300).map(|number| (format!("p{number}"), json!({"type": "array"}))).collect();
    let objections = lint(LintTarget::OpenAi, &tool(&json!({"type": "object", "properties": properties})));
    assert_eq!(objections.len(), 1);
    assert_eq!(objections[0].pointer, "/properties/p0");
    assert!(objections[0].message.ends_with("(and 299 more)"), "{}", objections[0].message);
    let odd: serde_json::Map<String, Value> =
        (0..300).map(|number| (format!("p {number}"), json!({}))).collect();
    let objections = lint(LintTarget::Anthropic, &tool(&json!({"type": "object", "properties": odd})));
    assert_eq!(objections.len(), MAX_OBJECTIONS);
}

/// A stranger's schema must not make the lint slow.
#[test]
fn a_schema_full_of_references_is_soon_looked_at() {
    let definitions: serde_json::Map<String, Value> = (0..1000)
        .map(|number| {
            (
                format!("d{number}"),
                json!({"anyOf": [{"$ref": format!("#/$defs/d{}", (number + 1) % 1000)}, {}]}),
            )
        })
        .collect();
    let schema = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": definitions});
    let objections = lint(LintTarget::Gemini, &tool(&schema));
    assert!(objections.iter().any(|objection| objection.kind == "required-circle"));
}
