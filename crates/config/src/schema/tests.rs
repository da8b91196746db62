use serde_json::{Value, json};

use super::*;

fn compiled(schema: &Value) -> ArgumentsSchema {
    ArgumentsSchema::compile(schema).unwrap()
}

fn refusal(schema: &Value) -> String {
    ArgumentsSchema::compile(schema).map(|_| schema.to_string()).unwrap_err().message
}

fn check(schema: &ArgumentsSchema, arguments: Value) -> Result<Value, Vec<(String, String)>> {
    let Value::Object(arguments) = arguments else { panic!("an object is needed") };
    match schema.check(&arguments) {
        Ok(filled) => Ok(Value::Object(filled)),
        Err(faults) => Err(faults.into_iter().map(|fault| (fault.pointer, fault.message)).collect()),
    }
}

fn object(properties: Value) -> Value {
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

/// `allOf` of two references, each level twice the work of the next.
fn bomb(levels: usize) -> Value {
    let mut defs = serde_json::Map::new();
    defs.insert(format!("l{levels}"), json!({ "type": "string" }));
    for level in 0..levels {
        let next = json!({ "$ref": format!("#/$defs/l{}", level + 1) });
        defs.insert(format!("l{level}"), json!({ "allOf": [next, next] }));
    }
    json!({ "type": "object", "properties": { "x": { "$ref": "#/$defs/l0" } }, "$defs": defs })
}

#[test]
fn faults_say_what_to_change_and_never_echo() {
    let schema = compiled(&json!({
        "type": "object",
        "required": ["expression"],
        "additionalProperties": false,
        "properties": {
            "expression": { "type": "string", "maxLength": 5 },
            "decimals": { "type": "integer", "minimum": 0, "maximum": 50 },
            "mode": { "enum": ["a", "b"] },
            "tags": { "type": "array", "items": { "type": ["string", "null"], "pattern": "^x" } },
            "any": { "anyOf": [{ "type": "null" }, { "type": "boolean" }] },
        }
    }));
    for (arguments, pointer, message) in [
        (json!({}), "", "`expression` is missing"),
        (json!({ "expression": "1", "expresion": 2 }), "", "unknown: `expresion`"),
        (json!({ "expression": 7 }), "/expression", "must be string, not number"),
        (json!({ "expression": "123456" }), "/expression", "must have at most 5 characters"),
        (json!({ "expression": "1", "decimals": -1 }), "/decimals", "must be at least 0"),
        (json!({ "expression": "1", "decimals": 51 }), "/decimals", "must be at most 50"),
        (json!({ "expression": "1", "decimals": 1.5 }), "/decimals", "must be integer, not number"),
        (json!({ "expression": "1", "mode": "c" }), "/mode", "must be one of \"a\", \"b\""),
        (json!({ "expression": "1", "tags": ["x", 5] }), "/tags/1", "must be null or string, not number"),
        (json!({ "expression": "1", "tags": ["y"] }), "/tags/0", "must match the pattern `^x`"),
        (json!({ "expression": "1", "any": "s" }), "/any", "does not match any schema in `anyOf`"),
    ] {
        let faults = check(&schema, arguments.clone()).unwrap_err();
        assert_eq!(faults, [(pointer.to_owned(), message.to_owned())], "{arguments}");
    }
    assert!(check(&schema, json!({ "expression": "1+1" })).is_ok());
}

#[test]
fn faults_are_few_and_short() {
    let schema =
        compiled(&object(json!({ "list": { "type": "array", "items": { "const": "y".repeat(5000) } } })));
    let faults = check(&schema, json!({ "list": vec!["z".repeat(9000); 30] })).unwrap_err();
    assert_eq!(faults.len(), MAX_FAULTS);
    assert!(faults.iter().all(|(_, message)| message.len() <= 300 && !message.contains("zzz")), "{faults:?}");

    let nasty = "k\u{1b}[31m\u{202e}".repeat(60);
    let faults = check(&schema, json!({ nasty: 1 })).unwrap_err();
    assert!(faults[0].1.len() <= 300 && !faults[0].1.contains('\u{1b}'), "{faults:?}");
}

#[test]
fn defaults_are_filled_in_before_the_check() {
    let schema = compiled(&json!({
        "type": "object",
        "required": ["format"],
        "properties": {
            "format": { "type": "string", "default": "human" },
            "paging": { "$ref": "#/$defs/paging" },
            "list": { "type": "array", "items": { "$ref": "#/$defs/paging" } },
            "odd": { "anyOf": [{ "default": 1 }] },
        },
        "$defs": { "paging": { "type": "object", "properties": { "size": { "default": 10 }, "page": { "default": 1 } } } }
    }));
    assert_eq!(check(&schema, json!({})).unwrap(), json!({ "format": "human" }));
    assert_eq!(
        check(&schema, json!({ "format": "iso", "paging": { "page": 3 }, "list": [{}, 7] })).unwrap_err()[0]
            .0,
        "/list/1"
    );
    assert_eq!(
        check(&schema, json!({ "format": "iso", "paging": { "page": 3 }, "list": [{}] })).unwrap(),
        json!({ "format": "iso", "paging": { "page": 3, "size": 10 }, "list": [{ "size": 10, "page": 1 }] })
    );
    assert!(schema.faults_of_defaults().is_empty());
    let bad =
        compiled(&object(json!({ "n": { "type": "integer", "default": "three" }, "m": { "default": 1 } })));
    assert_eq!(bad.faults_of_defaults().len(), 1);
    assert_eq!(bad.faults_of_defaults()[0].pointer, "/n");
}

/// `x: str = None` in Python becomes `{"type": "string", "default": null}`.
#[test]
fn a_default_that_the_schema_refuses_is_not_filled_in() {
    let schema = compiled(&json!({
        "type": "object",
        "required": ["q", "must"],
        "properties": {
            "q": { "type": "string" },
            "must": { "type": "string", "default": null },
            "page": { "type": "string", "default": null },
            "a/b~c": { "type": "integer", "default": null },
            "deep": { "type": "object", "default": { "n": null }, "properties": { "n": { "type": "integer" } } },
            "free": { "default": null },
            "maybe": { "type": ["string", "null"], "default": null },
            "limit": { "type": "integer", "default": 10 },
            "inner": { "type": "object", "properties": { "x": { "type": "string", "default": null } } },
            "list": { "type": "array", "items": { "properties": { "x": { "type": "string", "default": null } } } },
        },
    }));
    let given = json!({ "q": "x", "must": "m", "inner": {}, "list": [{}] });
    assert_eq!(
        check(&schema, given).unwrap(),
        json!({ "q": "x", "must": "m", "free": null, "maybe": null, "limit": 10, "inner": {}, "list": [{}] })
    );
    let faults = check(&schema, json!({ "q": "x" })).unwrap_err();
    assert_eq!(faults.len(), 1, "only what the caller can change: {faults:?}");
    assert!(faults[0].1.contains("must"), "{faults:?}");
    let faults = check(&schema, json!({ "q": "x", "must": "m", "page": null })).unwrap_err();
    assert_eq!(faults[0].0, "/page", "a value of the caller is not forgiven");
    let faults: Vec<_> = schema.faults_of_defaults().into_iter().map(|fault| fault.pointer).collect();
    assert_eq!(faults, ["/must", "/page", "/a~1b~0c", "/deep/n"]);
}

#[test]
fn defaults_that_contradict_each_other_are_left_to_the_tool() {
    let schema = compiled(&json!({
        "type": "object",
        "properties": { "id": { "default": null }, "name": { "default": null } },
        "maxProperties": 1,
    }));
    assert_eq!(check(&schema, json!({ "id": 5 })).unwrap(), json!({ "id": 5 }));
    assert!(check(&schema, json!({ "id": 5, "name": 6 })).is_err());
}

#[test]
fn only_objects_describe_arguments() {
    for schema in [json!(true), json!({}), json!({ "type": "string" }), json!({ "type": ["object", "null"] })]
    {
        assert!(refusal(&schema).contains("type = \"object\""), "{schema}");
    }
}

#[test]
fn drafts_are_known_or_taken_for_the_latest() {
    for uri in ["http://json-schema.org/draft-07/schema#", "https://example.com/mine", "urn:x", ""] {
        let schema =
            compiled(&json!({ "$schema": uri, "$id": "https://example.com/tool.json", "type": "object",
            "properties": { "a": { "$ref": "#/$defs/a" } }, "$defs": { "a": { "type": "string" } } }));
        assert!(check(&schema, json!({ "a": 1 })).is_err(), "{uri}");
        assert!(check(&schema, json!({ "a": "x" })).is_ok(), "{uri}");
    }
    // Nothing is looked up at an `$id`, so it may be nonsense.
    let odd = json!({ "$id": "http://[nonsense", "type": "object", "properties": { "a": { "$ref": "#/$defs/a" } },
        "$defs": { "a": { "type": "string", "$schema": "https://example.com/mine" } } });
    assert!(check(&compiled(&odd), json!({ "a": 1 })).is_err());
    // A list of `items` is draft 7; in 2020-12 it is no schema.
    let tuple = |uri: &str| json!({ "$schema": uri, "type": "object", "properties": { "a": { "items": [{ "type": "string" }] } } });
    let seven = compiled(&tuple("http://json-schema.org/draft-07/schema#"));
    assert!(check(&seven, json!({ "a": [1] })).is_err());
    assert!(refusal(&tuple("https://json-schema.org/draft/2020-12/schema")).contains("not a valid schema"));
}

#[test]
fn what_is_wrong_in_a_schema_is_pointed_at() {
    let error = ArgumentsSchema::compile(&object(json!({ "a": { "type": "strin" } }))).unwrap_err();
    assert_eq!(error.pointer, "/properties/a/type");
    let error = ArgumentsSchema::compile(&object(json!({ "a/b": { "$ref": "#/nowhere" } }))).unwrap_err();
    assert_eq!(error.pointer, "/properties/a~1b/$ref");
    let error = ArgumentsSchema::compile(&object(json!({ "a": { "pattern": "(" } }))).unwrap_err();
    assert_eq!(error.pointer, "/properties/a/pattern");
}

#[test]
fn references_stay_inside() {
    for reference in ["http://127.0.0.1:9/x", "file:///etc/passwd", "other.json", "other.json#/a", "//host/x"]
    {
        let message = refusal(&object(json!({ "a": { "$ref": reference } })));
        assert!(message.contains("outside the schema"), "{message}");
    }
    for reference in ["#/$defs/none", "#name", "#/%zz", "#/%ff"] {
        let message = refusal(&object(json!({ "a": { "$ref": reference } })));
        assert!(message.contains("does not exist"), "{message}");
    }
    let inner = object(json!({ "a": { "$id": "http://x/y", "$ref": "#" } }));
    assert!(refusal(&inner).contains("`$id` inside"));
    // A property may well be called `$ref` or `$id`.
    let named = compiled(&object(json!({ "$ref": { "type": "string" }, "$id": { "type": "string" } })));
    assert!(check(&named, json!({ "$ref": 1 })).is_err());
    let anchored = compiled(&json!({ "type": "object", "properties": { "a": { "$ref": "#word" } },
        "$defs": { "w": { "$anchor": "word", "type": "string" } } }));
    assert!(check(&anchored, json!({ "a": 1 })).is_err());
}

#[test]
fn a_schema_has_a_budget() {
    assert!(refusal(&bomb(40)).contains("50000 steps"));
    assert!(refusal(&bomb(17)).contains("50000 steps"));
    assert!(check(&compiled(&bomb(8)), json!({ "x": "y" })).is_ok());

    let mut deep = json!({ "type": "string" });
    for _ in 0..70 {
        deep = json!({ "not": deep });
    }
    assert!(refusal(&object(json!({ "a": deep }))).contains("64 levels"));

    let many: serde_json::Map<_, _> = (0..2600).map(|at| (format!("p{at}"), json!({ "a": 1 }))).collect();
    assert!(refusal(&object(Value::Object(many))).contains("the limit is 5000"));
    let long = object(json!({ "a": { "description": "x".repeat(70_000) } }));
    assert!(refusal(&long).contains("the limit is 65536"));

    let mut chain = serde_json::Map::new();
    for at in 0..1000 {
        chain.insert(format!("c{at}"), json!({ "$ref": format!("#/$defs/c{}", at + 1) }));
    }
    chain.insert("c1000".into(), json!({}));
    let chain = json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/c0" } }, "$defs": chain });
    assert!(refusal(&chain).contains("1001 targets"));
}

#[test]
fn the_longest_allowed_chain_of_references_fits_a_small_stack() {
    let mut chain = serde_json::Map::new();
    for at in 0..398 {
        chain.insert(format!("c{at}"), json!({ "not": { "$ref": format!("#/$defs/c{}", at + 1) } }));
    }
    chain.insert("c398".into(), json!({ "type": "string" }));
    let chain = json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/c0" } }, "$defs": chain });
    let checked = std::thread::Builder::new().stack_size(2 * 1024 * 1024);
    let checked = checked.spawn(move || check(&compiled(&chain), json!({ "a": "x" })).is_ok()).unwrap();
    assert!(checked.join().unwrap());
}

#[test]
fn recursion_is_fine_as_long_as_the_arguments_are_small() {
    let loops = json!({ "type": "object", "allOf": [{ "$ref": "#" }] });
    assert!(refusal(&loops).contains("refers to itself"));

    let tree =
        compiled(&json!({ "type": "object", "properties": { "root": { "$ref": "#/$defs/node" } }, "$defs": {
        "node": { "type": "object", "additionalProperties": false, "properties": {
            "left": { "$ref": "#/$defs/node" }, "right": { "$ref": "#/$defs/node" } } } } }));
    let mut node = json!({});
    for _ in 0..60 {
        node = json!({ "left": node, "right": {} });
    }
    assert!(check(&tree, json!({ "root": node.clone() })).is_ok());
    let deeper = json!({ "left": { "left": { "left": { "left": node } } } });
    assert!(check(&tree, json!({ "root": deeper })).unwrap_err()[0].1.contains("64 levels"));
    assert!(check(&tree, json!({ "root": { "left": { "middle": {} } } })).is_err());

    // Two ways down at each level: 2^depth, which is hours at depth 40.
    let forked =
        compiled(&json!({ "type": "object", "properties": { "x": { "$ref": "#/$defs/f" } }, "$defs": {
        "f": { "properties": { "x": { "allOf": [{ "$ref": "#/$defs/f" }, { "$ref": "#/$defs/f" }] } } } } }));
    let nested = |levels| (0..levels).fold(json!({}), |inner, _| json!({ "x": inner }));
    assert!(check(&forked, nested(10)).is_ok());
    assert!(check(&forked, nested(40)).unwrap_err()[0].1.contains("too deeply nested"));
}

#[test]
fn patterns_are_bounded() {
    let schema = compiled(&object(
        json!({ "a": { "pattern": "^(a+)+$" }, "b": { "pattern": "^(?=x)(a+)+\\1$|^(?!y)z" } }),
    ));
    let long = format!("{}!", "a".repeat(5000));
    assert_eq!(check(&schema, json!({ "a": long })).unwrap_err()[0].0, "/a");
    assert!(check(&schema, json!({ "b": "z" })).is_ok());
    assert!(check(&schema, json!({ "b": "yz" })).is_err());
    let slow = compiled(&object(json!({ "a": { "pattern": "^(?=a)(a|aa)+\\1b$" } })));
    assert!(check(&slow, json!({ "a": "a".repeat(16) })).unwrap_err()[0].1.contains("must match"));
    // Well within the engine's own limit of a million.
    assert!(check(&slow, json!({ "a": "a".repeat(22) })).unwrap_err()[0].1.contains("takes too long"));
    // A pattern too large for the linear engine runs on the other one, within its limit.
    let large = compiled(&object(json!({ "a": { "pattern": "^a{1000}{1000}{1000}$" } })));
    assert_eq!(check(&large, json!({ "a": "a".repeat(50_000) })).unwrap_err()[0].0, "/a");
}

#[test]
fn a_type_that_is_none_is_told_with_those_that_are() {
    const ALL: &str = "`array`, `boolean`, `integer`, `null`, `number`, `object`, `string`";
    for (found, said) in [
        (json!("strin"), format!("`strin` is not a type: {ALL}; did you mean `string`?")),
        (json!(["string", "nul"]), format!("`nul` is not a type: {ALL}; did you mean `null`?")),
        (json!("uuid"), format!("`uuid` is not a type: {ALL}")),
        (json!(5), format!("`type` must be one of {ALL}, or a list of them")),
    ] {
        for draft in ["2020-12", "2019-09"] {
            let schema = json!({
                "$schema": format!("https://json-schema.org/draft/{draft}/schema"), "type": "object",
                "properties": { "a": { "type": found } },
            });
            let error = ArgumentsSchema::compile(&schema).unwrap_err();
            assert_eq!(error.message, format!("not a valid schema: {said}"));
            assert_eq!(error.pointer, "/properties/a/type");
        }
    }
}

#[test]
fn all_that_is_wrong_is_told_at_once() {
    let pointers = |schema: Value| -> Vec<String> {
        ArgumentsSchema::problems(&schema).into_iter().map(|problem| problem.pointer).collect()
    };
    let schema = |properties: Value| json!({ "type": "object", "properties": properties });
    assert_eq!(pointers(schema(json!({ "a": { "type": "string" } }))), [""; 0]);
    let two = schema(json!({ "a": { "type": "strin" }, "b": { "items": { "minLength": "x" } } }));
    assert_eq!(pointers(two), ["/properties/a/type", "/properties/b/items/minLength"]);
    assert_eq!(pointers(schema(json!({ "a": { "pattern": "(" } }))), ["/properties/a/pattern"]);
    let many: serde_json::Map<String, Value> =
        (0..100).map(|n| (format!("p{n}"), json!({ "type": 5 }))).collect();
    assert_eq!(pointers(schema(Value::Object(many))).len(), MAX_FAULTS);
    assert_eq!(pointers(json!({ "type": "array" })), [""]);
}

/// Compiling costs as much as the rest of a call.
#[test]
fn a_plain_schema_is_compiled_for_the_first_arguments_that_do_not_fit() {
    let is_compiled = |schema: &ArgumentsSchema| schema.validator.get().is_some();
    let plain = compiled(&object(json!({ "a": { "type": "integer", "default": 1 } })));
    assert_eq!(check(&plain, json!({})).unwrap(), json!({ "a": 1 }));
    assert!(!is_compiled(&plain));
    assert_eq!(check(&plain, json!({ "a": "x" })).unwrap_err()[0].1, "must be integer, not string");
    assert!(is_compiled(&plain));
    // Neither this module nor its message says that the value does not fit.
    assert_eq!(check(&plain, json!({ "a": 1.0 })).unwrap(), json!({ "a": 1.0 }));
    assert!(is_compiled(&compiled(&object(json!({ "a": { "pattern": "x" } })))));
}
