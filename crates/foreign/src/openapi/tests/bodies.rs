//! Bodies and their schemas.

use super::*;

#[test]
fn bodies_are_json_forms_parts_and_files() {
    let body = |kind: &str, schema: &str| {
        format!(
            "  /x:\n    post:\n      requestBody: {{ required: true, content: {{ '{kind}': {{ schema: {schema} }} }} }}\n"
        )
    };
    let object = "{ type: object, required: [a], properties: { a: { type: string }, f: { type: string, format: binary }, \
                  id: { type: string, readOnly: true }, l: { type: array, items: { type: integer } } } }";
    for (kind, schema, expected) in [
        ("application/json", object, "body = { a = '{a}', f = '{f}', l = '{l}' }"),
        (
            "application/json",
            "{ type: array }",
            "body = '{body}'\nheaders = { Content-Type = 'application/json' }",
        ),
        (
            "application/x-www-form-urlencoded",
            object,
            "form = { a = '{a}', f = '{f}', l = '{l}' }\nstyles = { l = 'repeat' }",
        ),
        (
            "multipart/form-data",
            object,
            "multipart = { a = '{a}', f = { file = '{f}' }, l = '{l}' }\nstyles = { l = 'repeat' }",
        ),
        ("image/png", "{}", "file = '{file}'\nheaders = { Content-Type = 'image/png' }"),
    ] {
        let tools = tools(&format!("paths:\n{}", body(kind, schema)));
        let expected: toml::Table = expected.parse().unwrap();
        for (key, value) in &expected {
            assert_eq!(&tools[0]["http"][key], value, "{kind} {key}");
        }
        assert_eq!(tools[0]["invoker"]["name"].as_str(), Some("post_x"));
        assert_eq!(tools[0]["invoker"]["effects"].as_str(), Some("external"));
    }
}

/// A call sends the body also where the document lets it out.
#[test]
fn what_an_optional_body_requires_is_required() {
    for kind in ["application/json", "application/x-www-form-urlencoded", "multipart/form-data"] {
        let tools = tools(&format!(
            "paths: {{ /x: {{ post: {{ requestBody: {{ content: {{ {kind}: {{ schema: {{ required: [a], properties: {{ a: {{ type: string }} }} }} }} }} }} }} }} }}\n"
        ));
        assert_eq!(tools[0]["arguments"]["required"].to_string(), r#"["a"]"#, "{kind}");
    }
}

#[test]
fn a_text_as_a_json_body_is_left_out() {
    let files = |schema: &str| {
        let paths = format!(
            "paths: {{ /x: {{ post: {{ requestBody: {{ content: {{ application/json: {{ schema: {schema} }} }} }} }} }} }}\n"
        );
        let found = imported(&format!("{HEAD}{paths}"), &ApiOptions::default());
        if found.files.is_empty() {
            assert!(found.findings[0].message.contains("body is a text"), "{:?}", found.findings);
            assert_eq!(found.findings[1].hint.as_deref(), Some("see the warnings above"));
        }
        found.files.len()
    };
    for schema in [
        "{ type: string }",
        "{}",
        "{ type: [string, 'null'] }",
        "{ type: string, nullable: true }",
        "{ oneOf: [{ type: object }, { type: string }] }",
        "{ anyOf: [{ type: array }, { allOf: [{ minLength: 1 }] }] }",
        "{ enum: [1, a] }",
    ] {
        assert_eq!(files(schema), 0, "{schema}");
    }
    for schema in [
        "{ type: [integer, 'null'] }",
        "{ oneOf: [{ type: object }, { type: array }] }",
        "{ allOf: [{ type: array }, { minItems: 1 }] }",
        "{ enum: [1, 2] }",
    ] {
        assert_eq!(files(schema), 2, "{schema}");
    }
}

#[test]
fn a_body_that_is_not_known_is_said() {
    for (body, files, expected) in [
        (
            "{ $ref: '#/components/requestBodies/A' }",
            2,
            "its body is a reference that is not in the document",
        ),
        ("{ content: {} }", 3, "the body of `post_x` is left out: the document has no content for it"),
        ("{ required: true }", 3, "the body of `post_x` is left out: the document has no content for it"),
    ] {
        let paths = format!("paths: {{ /x: {{ post: {{ requestBody: {body} }} }}, /y: {{ get: {{}} }} }}\n");
        let found = imported(&format!("{HEAD}{paths}"), &ApiOptions::default());
        assert_eq!((found.files.len(), found.findings.len()), (files, 1), "{body}");
        assert!(found.findings[0].message.contains(expected), "{}", found.findings[0].message);
    }
}

fn body_of(schema: &str, schemas: &str) -> (toml::Value, String) {
    let text = format!(
        "{HEAD}paths: {{ /x: {{ post: {{ requestBody: {{ content: {{ application/json: {{ schema: {schema} }} }} }} }} }} }}\n\
         components: {{ schemas: {{ {schemas} }} }}\n"
    );
    let found = imported(&text, &ApiOptions::default());
    let tool: toml::Table = found.files[1].text.parse().unwrap();
    let arguments = &tool["arguments"];
    (arguments["properties"].clone(), arguments["required"].to_string())
}

#[test]
fn a_part_requires_what_another_part_describes() {
    let base = "Base: { type: object, properties: { a: { type: string }, b: { type: string }, id: { type: string, readOnly: true } } }";
    for (schema, expected) in [
        ("{ allOf: [{ $ref: '#/components/schemas/Base' }, { required: [a, id, none] }] }", r#"["a"]"#),
        (
            "{ allOf: [{ required: [b] }, { $ref: '#/components/schemas/Base' }], required: [a] }",
            r#"["a", "b"]"#,
        ),
        ("{ allOf: [{ allOf: [{ required: [b] }] }, { $ref: '#/components/schemas/Base' }] }", r#"["b"]"#),
        ("{ allOf: [{ $ref: '#/components/schemas/Base' }, { description: More }] }", "[]"),
    ] {
        let (properties, required) = body_of(schema, base);
        assert_eq!(required, expected, "{schema}");
        assert_eq!(properties.as_table().unwrap().len(), 2, "{schema}");
    }
    let read_only = "{ properties: { n: { $ref: '#/components/schemas/Base', readOnly: true }, a: {} } }";
    assert_eq!(body_of(read_only, base).0.as_table().unwrap().len(), 1);
    let nested =
        "{ properties: { n: { allOf: [{ $ref: '#/components/schemas/Base' }, { required: [b] }] } } }";
    assert_eq!(body_of(nested, base).0["n"]["required"].to_string(), r#"["b"]"#);
    let choice = "{ properties: { a: {}, b: {} }, oneOf: [{ required: [a] }, { required: [b, none] }] }";
    let choices = body_of(choice, base).0["body"]["anyOf"].to_string();
    assert_eq!(choices, r#"[{ required = ["a"] }, { required = ["b"] }]"#);
}

#[test]
fn parts_that_are_not_objects_keep_what_they_say() {
    let (properties, _) = body_of(
        "{ properties: { a: { description: A, allOf: [{ $ref: '#/components/schemas/E' }] }, \
         b: { allOf: [{ type: string }, { maxLength: 5 }] }, \
         c: { allOf: [{ properties: { x: {} }, anyOf: [{ required: [x] }] }, { properties: { y: {} } }] }, \
         d: { type: string, enum: [1.5, true, two] } } }",
        "E: { type: string, enum: [x, y] }",
    );
    let expected: toml::Table = "a = { description = 'A', type = 'string', enum = ['x', 'y'] }\n\
         b = { type = 'string', maxLength = 5 }\n\
         c = { type = 'object', properties = { y = {} }, allOf = [{ type = 'object', properties = { x = {} }, anyOf = [{ required = ['x'] }] }] }\n\
         d = { type = 'string', enum = ['1.5', 'true', 'two'] }"
        .parse()
        .unwrap();
    for (name, schema) in &expected {
        assert_eq!(&properties[name], schema, "{name}");
    }
}

/// A style of a part means nothing in 3.0, and counts more than its media type since 3.1.
#[test]
fn parts_have_styles_since_3_1() {
    let paths = "paths: { /x: { post: { requestBody: { content: { multipart/form-data: { schema: { type: object, properties: { \
                 a: { type: array, items: { type: string } }, o: { type: object, properties: { k: {} } }, d: { type: object }, l: { type: array, items: { type: object } } } }, \
                 encoding: { a: { style: pipeDelimited }, o: { explode: true, contentType: text/plain }, d: { style: deepObject } } } } } } } }\n";
    for (version, expected) in [
        (
            "3.1.0",
            "styles = { a = 'pipe', d = 'brackets', l = 'repeat', o = 'repeat' }\nmultipart = { a = '{a}', d = '{d}', l = { value = '{l}', type = 'application/json' }, o = '{o}' }",
        ),
        (
            "3.0.3",
            "styles = { a = 'repeat', l = 'repeat' }\nmultipart = { a = '{a}', d = { value = '{d}', type = 'application/json' }, l = { value = '{l}', type = 'application/json' }, o = { value = '{o}', type = 'text/plain' } }",
        ),
    ] {
        let text = format!("{}{paths}", HEAD.replace("3.1.0", version));
        let found = imported(&text, &ApiOptions::default());
        let tool: toml::Table = found.files[1].text.parse().unwrap();
        let expected: toml::Table = expected.parse().unwrap();
        for (key, value) in &expected {
            assert_eq!(&tool["http"][key], value, "{version} {key}");
        }
    }
}

#[test]
fn files_are_known_however_they_are_written() {
    let is_file = |version: &str, part: &str, kind: &str| {
        let text = format!(
            "{}paths: {{ /x: {{ post: {{ requestBody: {{ content: {{ multipart/form-data: {{ \
             schema: {{ allOf: [{{ type: object, properties: {{ f: {part} }} }}] }}, encoding: {{ f: {{ {kind} }} }} }} }} }} }} }} }}\n",
            HEAD.replace("3.1.0", version)
        );
        let found = imported(&text, &ApiOptions::default());
        let tool: toml::Table = found.files[1].text.parse().unwrap();
        tool["http"]["multipart"]["f"].get("file").is_some()
    };
    for (version, part, kind, expected) in [
        ("3.0.3", "{ type: string, format: binary }", "", true),
        ("3.0.3", "{ type: array, items: { type: string, format: binary } }", "", true),
        ("3.0.3", "{ type: string }", "contentType: image/png", true),
        ("3.0.3", "{}", "", false),
        ("3.1.0", "{}", "", true),
        ("3.1.0", "{}", "contentType: text/plain", false),
        ("3.1.0", "{ anyOf: [{ type: string, format: binary }, { type: 'null' }] }", "", true),
        ("3.1.0", "{ type: string, contentEncoding: base64, contentMediaType: image/png }", "", false),
        ("3.1.0", "{ type: string }", "", false),
    ] {
        assert_eq!(is_file(version, part, kind), expected, "{version} {part} {kind}");
    }
}

#[test]
fn a_body_of_another_media_type_is_a_text_or_json() {
    let argument = |kind: &str, schema: &str| {
        let tools = tools(&format!(
            "paths: {{ /x: {{ post: {{ requestBody: {{ content: {{ '{kind}': {{ schema: {schema} }} }} }} }} }} }}\n"
        ));
        tools[0]["arguments"]["properties"].as_table().unwrap().clone()
    };
    let object = "{ type: object, properties: { a: { type: integer } } }";
    assert_eq!(argument("application/xml", object)["body"]["type"].as_str(), Some("string"));
    assert_eq!(argument("*/*", object)["a"]["type"].as_str(), Some("integer"));
    assert!(argument("*/*", "{ type: string }").contains_key("file"));
    let open = "{ type: object, properties: { a: { type: integer } }, additionalProperties: true }";
    assert!(argument("application/x-www-form-urlencoded", open).contains_key("a"));
}

#[test]
fn a_get_that_needs_a_body_is_left_out() {
    let paths = "paths: { /x: { get: { requestBody: { required: true, content: { application/json: {} } } } }, /y: { get: {} } }\n";
    let found = imported(&format!("{HEAD}{paths}"), &ApiOptions::default());
    assert_eq!(found.files.len(), 2);
    assert!(found.findings[0].message.contains("it needs a body, and a GET request has none"));
}

/// References repeat a part many times without a copy in the document.
#[test]
fn the_parts_of_a_schema_are_counted() {
    let many = "{ $ref: '#/components/schemas/A' }, ".repeat(50);
    let (made, _) = body_of(
        "{ $ref: '#/components/schemas/B' }",
        &format!("A: {{ allOf: [{many}] }}, B: {{ allOf: [{many} {{ properties: {{ a: {{}} }} }}] }}"),
    );
    assert!(made.get("a").is_some());
    let text = format!(
        "{HEAD}paths: {{ /x: {{ get: {{ responses: {{ '200': {{ content: {{ application/json: {{ schema: {{ $ref: '#/components/schemas/A' }} }} }} }} }} }} }} }}\n\
         components: {{ schemas: {{ A: {{ allOf: [{many}] }} }} }}\n"
    );
    let found = imported(&text, &ApiOptions { result: Some("/a".to_owned()), ..ApiOptions::default() });
    assert_eq!(found.files.len(), 2);
}

/// References repeat large texts without a copy in the document.
#[test]
fn schemas_of_a_tool_have_few_bytes() {
    let long = "x".repeat(1000);
    let schema = |big: &str| {
        let text = format!("{HEAD}components: {{ schemas: {{ A: {big} }} }}\n");
        let root = parse(&text).unwrap();
        let list = format!(
            "{{ type: object, properties: {{ {} }} }}",
            (0..400)
                .map(|n| format!("p{n}: {{ $ref: '#/components/schemas/A' }}"))
                .collect::<Vec<_>>()
                .join(", ")
        );
        let list = parse(&format!("a: {list}")).unwrap();
        let mut reader = schema::Reader::new(&root, schema::DETAILS[0]);
        let made = reader.schema(list.get("a").unwrap()).to_string();
        (made, reader.opened.len())
    };
    for big in [
        format!("{{ type: string, const: {long} }}"),
        format!("{{ type: string, enum: [{long}] }}"),
        format!("{{ type: string, default: {long} }}"),
        format!("{{ properties: {{ {long}: {{}} }} }}"),
    ] {
        let made = schema(&big).0;
        assert!(!made.contains(&long) && made.len() < 70_000, "{} {}", &big[..40], made.len());
    }
    let (made, opened) = schema(&format!("{{ type: string, const: {} }}", "y".repeat(450)));
    assert!(made.contains("yyy") && made.len() < 70_000 && opened > 0, "{}", made.len());
}
