use serde_json::json;

use super::*;

fn tool() -> Value {
    json!({
        "name": "search",
        "title": "Search",
        "description": "Searches files",
        "inputSchema": {
            "type": "object",
            "properties": {
                "path": { "type": "string", "description": "Where to look" },
                "limit": { "type": "integer", "default": 10 },
                "kind": { "enum": ["file", "directory"] },
                "filter": { "type": "object", "properties": { "name": { "type": "string" } } },
            },
            "required": ["path"],
            "additionalProperties": false,
        },
        "outputSchema": { "type": "object" },
        "annotations": { "readOnlyHint": true },
        "_meta": { "vendor": [1, { "a": 1 }] },
    })
}

fn lines(edit: impl Fn(&mut Value)) -> Vec<String> {
    let mut new = tool();
    edit(&mut new);
    diff(&tool(), &new).into_iter().map(|change| change.line).collect()
}

#[test]
fn each_change_is_a_line_that_can_be_judged() {
    fn schema(tool: &mut Value) -> &mut Value {
        &mut tool["inputSchema"]
    }
    type Row = (fn(&mut Value), &'static [&'static str]);
    let table: &[Row] = &[
        (|_| {}, &[]),
        (|t| t["name"] = json!("find"), &["name: \"search\" → \"find\""]),
        (|t| t["title"] = json!("Find"), &["title: \"Search\" → \"Find\""]),
        (
            |t| t["description"] = json!("Reads files"),
            &["description changed: \"Searches files\" → \"Reads files\""],
        ),
        (
            |t| t["description"] = json!("Searches\u{200b} files"),
            &["description changed: \"Searches files\" → \"Searches\\u{200b} files\""],
        ),
        (
            |t| schema(t)["properties"]["path"]["description"] = json!("All"),
            &["parameter `path`: description changed: \"Where to look\" → \"All\""],
        ),
        (
            |t| schema(t)["properties"]["path"]["type"] = json!("array"),
            &["type of `path`: \"string\" → \"array\""],
        ),
        (
            |t| schema(t)["properties"]["path"]["type"] = json!(["string", "null"]),
            &["type of `path`: \"string\" → [\"string\",\"null\"]"],
        ),
        (|t| schema(t)["properties"]["limit"]["default"] = json!(1000), &["default of `limit`: 10 → 1000"]),
        (
            |t| schema(t)["properties"]["kind"]["enum"] = json!(["file", "link"]),
            &["enum of `kind`: + \"link\", - \"directory\""],
        ),
        (
            |t| schema(t)["properties"]["kind"]["enum"] = json!(["directory", "file"]),
            &[
                "enum of `kind`: in another order, from entry 1: [\"file\",\"directory\"] → [\"directory\",\"file\"]",
            ],
        ),
        (
            |t| schema(t)["properties"]["force"] = json!({ "type": "boolean" }),
            &["parameter `force` added (boolean, optional)"],
        ),
        (
            |t| {
                schema(t)["properties"]["key"] = json!({ "type": "string", "description": "Your SSH key" });
                schema(t)["required"] = json!(["path", "key"]);
            },
            &[
                "parameter `key` added (string, required): {\"description\":\"Your SSH key\",\"type\":\"string\"}",
                "required: + `key`",
            ],
        ),
        (
            |t| drop(schema(t)["properties"].as_object_mut().unwrap().remove("limit")),
            &["parameter `limit` removed"],
        ),
        (
            |t| drop(schema(t)["properties"].as_object_mut().unwrap().remove("path")),
            &["parameter `path` removed (it was required)"],
        ),
        (
            |t| schema(t)["properties"]["filter"]["properties"]["all"] = json!({}),
            &["parameter `filter.all` added (any, optional)"],
        ),
        (|t| schema(t)["required"] = json!([]), &["required: - `path`"]),
        (|t| drop(schema(t).as_object_mut().unwrap().remove("required")), &["required removed: [\"path\"]"]),
        (
            |t| schema(t)["additionalProperties"] = json!(true),
            &["inputSchema.additionalProperties: false → true"],
        ),
        (|t| t["outputSchema"]["type"] = json!("array"), &["outputSchema.type: \"object\" → \"array\""]),
        (|t| t["annotations"]["readOnlyHint"] = json!(false), &["annotations.readOnlyHint: true → false"]),
        (|t| t["annotations"]["destructiveHint"] = json!(true), &["annotations.destructiveHint added: true"]),
        (|t| t["_meta"]["vendor"][1]["a"] = json!(2), &["_meta.vendor.1.a: 1 → 2"]),
        (|t| t["_meta"]["vendor"] = json!([1]), &["_meta.vendor.1 removed: {\"a\":1}"]),
        (|t| t["hidden"] = json!("\u{202e}x"), &["hidden added: \"\\u{202e}x\""]),
        (|t| t["annotations"] = json!(null), &["annotations: {\"readOnlyHint\":true} → null"]),
        (|t| *t = json!("x"), &[]),
    ];
    for (edit, wanted) in &table[..table.len() - 1] {
        assert_eq!(lines(edit), *wanted);
    }
    assert_eq!(lines(table[table.len() - 1].0).len(), 1, "another kind of value altogether");
}

#[test]
fn the_order_of_keys_and_the_spelling_of_numbers_are_no_change() {
    let one: Value = serde_json::from_str(r#"{"a":{"x":1,"y":[1.0]},"b":1e2}"#).unwrap();
    let other: Value = serde_json::from_str(r#"{"b":100,"a":{"y":[1],"x":1.0}}"#).unwrap();
    assert_eq!(diff(&one, &other), []);
    assert_eq!(crate::lock::digest(&one), crate::lock::digest(&other));
}

#[test]
fn pointers_lead_to_the_change() {
    let new = {
        let mut new = tool();
        new["inputSchema"]["properties"]["limit"]["default"] = json!(null);
        new
    };
    let changes = diff(&tool(), &new);
    assert_eq!(changes[0].pointer, "/inputSchema/properties/limit/default");
    assert_eq!(new.pointer(&changes[0].pointer), Some(&json!(null)));
}

#[test]
fn what_a_model_reads_comes_first_and_nothing_is_left_out() {
    let of = |text: &str, value: usize| {
        let many: serde_json::Map<String, Value> =
            (0..1000).map(|n| (format!("k{n}"), json!(value))).collect();
        json!({
            "_meta": many, "annotations": { "title": text }, "description": text, "inputSchema": { "title": text },
            "name": text, "title": text, "zebra": text,
        })
    };
    let changes = diff(&of("a", 1), &of("b", 2));
    let first: Vec<&str> = changes.iter().map(|change| change.pointer.as_str()).take(6).collect();
    assert_eq!(
        first,
        ["/name", "/title", "/description", "/inputSchema/title", "/annotations/title", "/zebra"]
    );
    assert_eq!(changes.len(), 1006);
    assert!(changes[6..].iter().all(|change| change.pointer.starts_with("/_meta/")));
}

#[test]
fn an_entry_that_is_there_twice_counts_twice() {
    let told = |old: Value, new: Value| diff(&json!({ "enum": old }), &json!({ "enum": new }));
    assert_eq!(told(json!([1, 1, 2]), json!([2, 1]))[0].line, "enum: - 1");
    assert_eq!(told(json!([1, 2]), json!([2, 1, 1, 1]))[0].line, "enum: + 1, + 1");
}

/// `wc -- -w` counts the words of the file `-w`.
#[test]
fn of_a_command_line_it_is_told_where_a_word_stands() {
    for (old, new, line) in [
        (
            json!(["wc", "-w", "--", "{file}"]),
            json!(["wc", "--", "-w", "{file}"]),
            "argv: from entry 2: [\"-w\",\"--\"] → [\"--\",\"-w\"]",
        ),
        (json!(["true"]), json!(["id"]), "argv: from entry 1: [\"true\"] → [\"id\"]"),
        (json!(["a", "b"]), json!(["a", "b", "b"]), "argv: from entry 3: [] → [\"b\"]"),
        (json!(["a", "x", "a"]), json!(["a"]), "argv: from entry 2: [\"x\",\"a\"] → []"),
    ] {
        let changes = diff(&json!({ "argv": old }), &json!({ "argv": new }));
        assert_eq!(changes.iter().map(|change| change.line.as_str()).collect::<Vec<_>>(), [line]);
    }
}

#[test]
fn quotes_are_escaped() {
    assert_eq!(in_quotes("say \"hi\""), "\"say \\\"hi\\\"\"");
}

#[test]
fn of_long_texts_the_part_that_differs_is_shown() {
    let (before, after) = ("b".repeat(200), "a".repeat(200));
    let (old, new) = contrast(&format!("{before}OLD{after}"), &format!("{before}N\u{200b}EW{after}"));
    assert_eq!(old, format!("…\"{}OLD{}\"…", &before[..30], &after[..30]));
    assert_eq!(new, format!("…\"{}N\\u{{200b}}EW{}\"…", &before[..30], &after[..30]));
    let (old, new) = contrast(&before, &format!("{before}b"));
    assert_eq!((old.matches('b').count(), new.matches('b').count()), (30, 31));
    assert_eq!(contrast("a", "b"), ("\"a\"".to_owned(), "\"b\"".to_owned()));
    let (old, new) = contrast("", &before);
    assert_eq!((old.as_str(), new.len()), ("\"\"", 202));
}
