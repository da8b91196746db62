use converse_testkit::hang_guard;
use serde_json::json;

use super::*;
use crate::pages::{MAX_ENTRY, page};

fn listed(tools: &Value) -> Listed {
    sift(Entries(page(&json!({ "tools": tools }).to_string(), Kind::Tools).unwrap().0.items))
}

fn names(listed: &Listed) -> Vec<&str> {
    listed.tools.iter().map(|tool| tool.name.as_str()).collect()
}

#[test]
fn an_invalid_tool_is_skipped_alone() {
    let long = "x".repeat(129);
    for (bad, name, reason) in [
        (json!({ "name": "bad" }), "bad", "missing field `inputSchema`"),
        (json!({ "name": "bad", "inputSchema": [] }), "bad", "invalid type: sequence"),
        (json!({ "name": "bad", "inputSchema": true }), "bad", "invalid type: boolean"),
        (json!({ "name": "bad", "inputSchema": { "type": "string" } }), "bad", "not of type object"),
        (json!({ "name": "bad", "inputSchema": { "type": ["object"] } }), "bad", "not of type object"),
        (json!({ "name": "bad", "inputSchema": {}, "description": 1 }), "bad", "invalid type: integer"),
        (json!({ "inputSchema": {} }), "#2", "missing field `name`"),
        (json!("bad"), "#2", "invalid type: string"),
        (json!(null), "#2", "invalid type: null"),
        (json!({ "name": "a b", "inputSchema": {} }), "a b", "the name is not 1 to 128"),
        (json!({ "name": "", "inputSchema": {} }), "", "the name is not 1 to 128"),
        (json!({ "name": "a\u{202e}b", "inputSchema": {} }), "a\u{202e}b", "the name is not 1 to 128"),
        (
            json!({ "name": long, "inputSchema": {} }),
            &*format!("{}…", &long[1..]),
            "the name is not 1 to 128",
        ),
    ] {
        let good = |name: &str| json!({ "name": name, "inputSchema": { "type": "object" } });
        let listed = listed(&json!([good("first"), bad, good("last")]));
        assert_eq!(names(&listed), ["first", "last"], "{bad}");
        assert_eq!(listed.offered, 3);
        assert_eq!(listed.skipped.len(), 1, "{bad}");
        assert_eq!(listed.skipped[0].0, name);
        assert!(listed.skipped[0].1.contains(reason), "{bad}: {:?}", listed.skipped);
    }
}

#[test]
fn schemas_say_that_they_are_of_objects() {
    for (schema, wanted) in [
        (json!({}), json!({ "type": "object" })),
        (json!({ "properties": { "a": {} } }), json!({ "properties": { "a": {} }, "type": "object" })),
        (json!({ "type": "object", "x": 1 }), json!({ "type": "object", "x": 1 })),
    ] {
        assert_eq!(listed(&json!([{ "name": "t", "inputSchema": schema }])).tools[0].arguments, wanted);
    }
}

#[test]
fn schema_bombs_are_left_out() {
    let mut bomb = json!({ "type": "object", "$defs": { "a0": { "type": "string" } } });
    for depth in 0..40 {
        let below = format!("#/$defs/a{depth}");
        bomb["$defs"][format!("a{}", depth + 1)] = json!({ "allOf": [{ "$ref": below }, { "$ref": below }] });
    }
    bomb["properties"] = json!({ "x": { "$ref": "#/$defs/a40" } });
    let mut deep = json!({ "type": "object" });
    for _ in 0..40 {
        deep = json!({ "type": "object", "properties": { "x": deep } });
    }
    let wide = json!({ "type": "object", "description": "x".repeat(70_000) });
    for schema in [bomb, deep, wide] {
        let tools = json!([{ "name": "bomb", "inputSchema": schema }, { "name": "t", "inputSchema": {} }]);
        let listed = hang_guard::run("weighing a schema", move || listed(&tools));
        assert_eq!(names(&listed), ["t"]);
        assert!(listed.skipped[0].1.starts_with("`inputSchema`: "), "{:?}", listed.skipped);
    }
}

#[test]
fn an_invalid_list_is_reported_briefly() {
    let error = page(
        &json!({ "tools": format!("A\u{1b}]0;x\u{7}{}", "B".repeat(3_000_000)) }).to_string(),
        Kind::Tools,
    );
    let error = error.err().unwrap();
    assert!(error.starts_with("the list of tools could not be read: invalid type: string"), "{error}");
    assert!(error.len() < 400 && !error.contains(char::is_control), "{} bytes", error.len());
}

/// Each list of a page, in any order of its fields, and nothing else of it.
#[test]
fn a_page_is_read_for_one_list() {
    for (text, expected) in [
        (r#"{"tools":[{"a":1},5],"nextCursor":"n"}"#, Ok((2, Some("n")))),
        (r#"{"x":{"tools":[]},"nextCursor":null,"prompts":"no list","tools":[]}"#, Ok((0, None))),
        (r#"{"nextCursor":"n","t\u006fols":[1]}"#, Ok((1, Some("n")))),
        (r#"{"prompts":[]}"#, Err("missing field `tools`")),
        (r#"{"tools":null}"#, Err("missing field `tools`")),
        (r#"{"tools":[],"tools":[1]}"#, Err("duplicate field `tools`")),
        (r#"{"tools":[],"nextCursor":5}"#, Err("invalid type: integer `5`")),
        (r#"{"tools":[1,]}"#, Err("trailing comma")),
        (r#"{"tools":[]}]"#, Err("trailing characters")),
        (r#"[[]]"#, Err("invalid type: sequence, expected an object")),
    ] {
        let read = page(text, Kind::Tools);
        let read = read.as_ref().map(|(list, cursor)| (list.items.len(), cursor.as_deref()));
        match (read, expected) {
            (Ok(read), Ok(expected)) => assert_eq!(read, expected, "{text}"),
            (Err(error), Err(part)) => assert!(error.contains(part), "{text}: {error}"),
            (read, _) => panic!("{text}: {read:?}"),
        }
    }
    let (list, _) = page(r#"{"tools":[],"resourceTemplates":[ {"a": 1.0} ]}"#, Kind::Templates).unwrap();
    assert_eq!(list.items[0].get(), r#"{"a": 1.0}"#, "as it was written");
}

#[test]
fn an_overlong_declaration_is_not_parsed() {
    let long = "x".repeat(MAX_ENTRY);
    let listed = listed(&json!([
        { "name": "long", "inputSchema": { "type": "object" }, "_meta": long },
        { "name": "short", "inputSchema": { "type": "object" }, "_meta": long[..MAX_ENTRY - 100] },
    ]));
    assert_eq!(names(&listed), ["short"]);
    assert_eq!(listed.skipped[0].0, "long");
    assert!(listed.skipped[0].1.starts_with("the declaration has 2622"), "{:?}", listed.skipped);
}

#[test]
fn an_overlarge_output_schema_is_ignored() {
    for (output, kept) in [
        (json!({ "type": "object", "enum": vec![0; 1000] }), true),
        (json!({ "type": "object", "enum": vec![0; 10_000] }), false),
        (json!([]), false),
    ] {
        let listed = listed(&json!([{ "name": "t", "inputSchema": {}, "outputSchema": output }]));
        assert_eq!(listed.tools[0].output.is_some(), kept);
    }
}

#[test]
fn tools_with_the_same_name_are_all_skipped() {
    let tool = |name: &str| json!({ "name": name, "inputSchema": {} });
    let listed = listed(&json!([tool("a"), tool("b"), tool("a"), tool("c"), tool("a")]));
    assert_eq!(names(&listed), ["b", "c"]);
    assert_eq!(listed.skipped, [("a".to_owned(), "the server lists 3 tools with this name".to_owned())]);
}

#[test]
fn descriptions_are_bounded_and_titles_stand_in() {
    let described = |tool: Value| {
        let mut whole = json!({ "name": "t", "inputSchema": {} });
        whole.as_object_mut().unwrap().extend(tool.as_object().unwrap().clone());
        listed(&json!([whole])).tools[0].description.clone()
    };
    assert_eq!(described(json!({ "description": "d", "title": "t" })), "d");
    assert_eq!(described(json!({ "description": " ", "title": "t" })), "t");
    assert_eq!(described(json!({ "annotations": { "title": "a" } })), "a");
    assert_eq!(described(json!({})), "");
    let cut = described(json!({ "description": "ж".repeat(20_000) }));
    assert!(cut.len() <= MAX_DESCRIPTION && cut.ends_with(CUT), "{}", cut.len());
}
