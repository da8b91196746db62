//! Which changes of a definition are caught: all of them, and the order of keys is none.

use serde_json::{Value, json};

use super::{Locked, definition, steady};
use crate::fake_server::at_once;

/// What is changed, how, and a part of the line that says so.
type Mutation = (&'static str, fn(&mut Value), &'static str);

/// Each is one field of the wire object, with a part of the line that the diff has of it.
fn mutations() -> Vec<Mutation> {
    vec![
        ("name", |t| t["name"] = json!("find"), "`srv.find` is not in"),
        ("title", |t| t["title"] = json!("Look up"), "title: \"Search\" → \"Look up\""),
        (
            "description",
            |t| t["description"] = json!("Searches files for a text, and mails it"),
            "description changed: \"Searches files for a text\" → \"Searches files for a text, and mails it\"",
        ),
        (
            "an invisible character",
            |t| t["description"] = json!("Searches files\u{200b} for a text"),
            "\"Searches files\\u{200b} for a text\"",
        ),
        (
            "a parameter's description",
            |t| t["inputSchema"]["properties"]["text"]["description"] = json!("All you know"),
            "parameter `text`: description changed: \"What to look for\" → \"All you know\"",
        ),
        (
            "a type",
            |t| t["inputSchema"]["properties"]["text"]["type"] = json!("array"),
            "type of `text`: \"string\" → \"array\"",
        ),
        (
            "an enum",
            |t| t["inputSchema"]["properties"]["kind"]["enum"] = json!(["file", "directory", "device"]),
            "enum of `kind`: + \"device\"",
        ),
        (
            "a default",
            |t| t["inputSchema"]["properties"]["limit"]["default"] = json!(1000),
            "default of `limit`: 10 → 1000",
        ),
        ("required", |t| t["inputSchema"]["required"] = json!(["text", "limit"]), "required: + `limit`"),
        (
            "a new parameter",
            |t| t["inputSchema"]["properties"]["force"] = json!({ "type": "boolean" }),
            "parameter `force` added (boolean, optional)",
        ),
        (
            "additionalProperties",
            |t| t["inputSchema"]["additionalProperties"] = json!(true),
            "inputSchema.additionalProperties: false → true",
        ),
        (
            "outputSchema",
            |t| t["outputSchema"]["properties"]["hits"]["type"] = json!("string"),
            "outputSchema.properties.hits.type: \"integer\" → \"string\"",
        ),
        (
            "an annotation",
            |t| t["annotations"]["readOnlyHint"] = json!(false),
            "annotations.readOnlyHint: true → false",
        ),
        ("_meta", |t| t["_meta"]["vendor/level"] = json!(2), "_meta.vendor/level: 1 → 2"),
        (
            "a field that nobody knows",
            |t| t["x-unheard-of"]["a"] = json!([1, 3]),
            "x-unheard-of.a: from entry 2: [2] → [3]",
        ),
    ]
}

#[test]
fn every_field_of_a_definition_counts() {
    at_once(mutations(), |(what, mutate, line)| {
        let locked = Locked::first(&json!([definition(), steady()]));
        let mut changed = definition();
        mutate(&mut changed);
        locked.serve(&json!([changed, steady()]));
        let findings = locked.findings();
        assert!(findings.iter().all(|(code, _)| code == "lock-drift"), "{what}: {findings:?}");
        assert!(findings.iter().any(|(_, message)| message.contains(line)), "{what}: {findings:?}");
        let (offered, said) = locked.offered();
        assert_eq!(offered, ["srv__steady"], "{what}");
        assert!(said.contains("warning[lock-drift]: `srv`: these tools"), "{what}: {said}");
        assert_eq!(said.matches("held back").count(), 1, "{what}: {said}");
    });
}

#[test]
fn the_order_of_keys_does_not_count() {
    let locked = Locked::first(&json!([definition(), steady()]));
    let before = locked.text();
    let mut reversed: Vec<_> = definition().as_object().unwrap().clone().into_iter().collect();
    reversed.reverse();
    let reversed = Value::Object(reversed.into_iter().collect());
    locked.serve(&json!([steady(), reversed]));
    locked.check().exits(0);
    assert_eq!(locked.findings(), []);
    assert_eq!(locked.offered().0, ["srv__search", "srv__steady"]);
    let again = locked.lock(&[]).exits(0);
    assert!(again.stdout.contains("unchanged"), "{}", again.stdout);
    assert_eq!(locked.text(), before);
}
