//! Small documents become tools.

use converse_config::Severity;

use super::*;

const HEAD: &str = "openapi: 3.1.0\ninfo: { title: Pet Store, version: '1' }\nservers: [{ url: 'https://pets.example/v1/' }]\n";

fn imported(text: &str, options: &ApiOptions) -> ImportedApi {
    read_openapi("api.yaml", text.as_bytes(), options)
}

fn tools(paths: &str) -> Vec<toml::Table> {
    let imported = imported(&format!("{HEAD}{paths}"), &ApiOptions::default());
    assert!(imported.findings.is_empty(), "{:?}", imported.findings);
    imported.files[1..].iter().map(|file| file.text.parse().unwrap()).collect()
}

fn errors(text: &str, options: &ApiOptions) -> Vec<String> {
    let found = imported(text, options);
    let has_error = found.findings.iter().any(|one| one.severity == Severity::Error);
    assert_eq!(found.files.is_empty(), has_error, "{:?}", found.files);
    let shown = |one: &Finding| {
        let (line, column) = (one.line.unwrap(), one.column.unwrap());
        format!("{} {line}:{column} {}", one.code, one.message)
    };
    found.findings.iter().filter(|one| one.severity == Severity::Error).map(shown).collect()
}

#[test]
fn parameters_go_to_their_places_in_their_styles() {
    let tools = tools(
        "paths:\n  /pets/{id}/{ids}:\n    parameters:\n    - { name: id, in: path, required: true, schema: { type: integer } }\n    \
         - { name: ids, in: path, required: true, style: matrix, schema: { type: array, items: { type: string } } }\n    \
         get:\n      operationId: list/pets\n      summary: List pets.\n      description: With tags\n      parameters:\n      \
         - { name: tag, in: query, schema: { type: array, items: { type: string } } }\n      \
         - { name: csv, in: query, explode: false, schema: { type: array } }\n      \
         - { name: 'filter[x]', in: query, style: deepObject, schema: { type: object } }\n      \
         - { name: X-Trace, in: header, required: true, schema: { type: string }, description: 'a  trace' }\n",
    );
    let tool = &tools[0];
    assert_eq!(tool["invoker"]["name"].as_str(), Some("list_pets"));
    assert_eq!(tool["invoker"]["description"].as_str(), Some("List pets. With tags"));
    assert_eq!(tool["invoker"]["effects"].as_str(), Some("read"));
    let http = &tool["http"];
    assert_eq!(http["url"].as_str(), Some("https://pets.example/v1/pets/{id}/;ids={ids}"));
    let expected: toml::Table = "styles = { ids = 'comma', tag = 'repeat', csv = 'comma', filter_x = 'brackets' }\n\
         query = { tag = '{tag}', csv = '{csv}', 'filter[x]' = '{filter_x}' }\nheaders = { X-Trace = '{X-Trace}' }"
        .parse()
        .unwrap();
    for (key, value) in &expected {
        assert_eq!(&http[key], value, "{key}");
    }
    assert_eq!(tool["arguments"]["required"].to_string(), r#"["id", "ids", "X-Trace"]"#);
    assert_eq!(tool["arguments"]["properties"]["X-Trace"]["description"].as_str(), Some("a trace"));
}

#[test]
fn requests_go_to_the_nearest_server() {
    let paths = "paths:\n  /a:\n    servers: [{ url: 'https://{of}.example/a/', variables: { of: { default: b } } }]\n    get: {}\n    \
                 put: { servers: [{ url: 'https://c.example' }] }\n  /d: { get: { servers: [{ url: '/v2' }] } }\n";
    let imported = |server: Option<&str>, address: Option<&str>| {
        let options = ApiOptions {
            server: server.map(str::to_owned),
            address: address.map(str::to_owned),
            ..ApiOptions::default()
        };
        let imported = imported(&format!("{HEAD}{paths}"), &options);
        let url = |file: &SketchFile| {
            let line = file.text.lines().find_map(|line| line.strip_prefix("url = "));
            line.unwrap().trim_matches('"').to_owned()
        };
        imported.files.iter().skip(1).map(url).collect::<Vec<_>>()
    };
    assert_eq!(
        imported(None, Some("http://d.example:81/x/api.yaml")),
        ["https://b.example/a/a", "https://c.example/a", "http://d.example:81/v2/d"]
    );
    assert_eq!(
        imported(Some("https://e.example/"), None),
        ["https://e.example/a", "https://e.example/a", "https://e.example/d"]
    );
    assert_eq!(imported(None, None), [""; 0]);
}

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

/// A parameter with the name of a credential would let the model choose it, or nobody.
#[test]
fn credentials_count_more_than_parameters() {
    let text = format!(
        "{HEAD}security: [{{ h: [], q: [], c: [], d: [], b: [], e: [] }}]\ncomponents: {{ securitySchemes: {{ h: {{ type: apiKey, in: header, name: X-Key }}, \
         q: {{ type: apiKey, in: query, name: k }}, c: {{ type: apiKey, in: cookie, name: c }}, d: {{ type: apiKey, in: cookie, name: d }}, \
         b: {{ type: http, scheme: bearer }}, e: {{ type: http, scheme: basic }} }} }}\npaths: {{ /a: {{ get: {{ parameters: [\
         {{ name: x-key, in: header, required: true, schema: {{}} }}, {{ name: k, in: query, required: true }}, {{ name: c, in: cookie, required: true }}, \
         {{ name: f, in: cookie }}, {{ name: K, in: query }}] }} }} }}\n"
    );
    let found = imported(&text, &ApiOptions::default());
    let tool: toml::Table = found.files[1].text.parse().unwrap();
    let expected: toml::Table =
        "query = { K = '{K}', k = '${API_PET_STORE_Q}' }\n[headers]\nX-Key = '${API_PET_STORE_H}'\n\
         Cookie = 'c=${API_PET_STORE_C}; d=${API_PET_STORE_D}'\nAuthorization = 'Bearer ${API_PET_STORE_B}'"
            .parse()
            .unwrap();
    for (key, value) in &expected {
        assert_eq!(&tool["http"][key], value, "{key}");
    }
    let said: Vec<&str> = found.findings.iter().map(|one| one.message.as_str()).collect();
    assert_eq!(
        said,
        [
            "`get_a` is sent without the credential `e`: it cannot be sent, or not beside another one",
            "the optional cookie parameter `f` of `get_a` is left out: cookies cannot be sent"
        ]
    );
}

#[test]
fn credentials_are_variables() {
    let text = format!(
        "{HEAD}security: [{{ key: [] }}, {{ token: [] }}]\ncomponents: {{ securitySchemes: {{ key: {{ type: apiKey, in: query, name: k }}, \
         token: {{ type: http, scheme: bearer }} }} }}\npaths:\n  /a: {{ get: {{ responses: {{}} }} }}\n  /b: {{ get: {{ security: [] }} }}\n"
    );
    let first = imported(&text, &ApiOptions::default());
    assert!(first.files[1].text.contains("k = \"${API_PET_STORE_KEY}\""), "{}", first.files[1].text);
    assert!(!first.files[2].text.contains("${"), "{}", first.files[2].text);
    assert_eq!(first.variables, [("API_PET_STORE_KEY".to_owned(), "the key for the query `k`".to_owned())]);
    let chosen = imported(&text, &ApiOptions { security: Some("token".to_owned()), ..ApiOptions::default() });
    assert!(chosen.files[1].text.contains("Authorization = \"Bearer ${API_PET_STORE_TOKEN}\""));
}

#[test]
fn references_are_followed_and_cycles_are_open() {
    let text = format!(
        "{HEAD}paths:\n  /a:\n    post:\n      requestBody: {{ content: {{ application/json: {{ schema: {{ $ref: '#/components/schemas/A' }} }} }} }}\n\
         components:\n  schemas:\n    A: {{ type: object, properties: {{ next: {{ $ref: '#/components/schemas/A' }}, far: {{ $ref: 'other.yaml#/B' }}, n: {{ type: string, nullable: true }} }} }}\n"
    );
    let found = imported(&text, &ApiOptions::default());
    let tool: toml::Table = found.files[1].text.parse().unwrap();
    let properties = &tool["arguments"]["properties"];
    assert_eq!(properties["next"].to_string(), "{}");
    assert_eq!(properties["far"].to_string(), "{}");
    assert_eq!(properties["n"]["type"].to_string(), r#"["string", "null"]"#);
    let codes: Vec<&str> = found.findings.iter().map(|one| one.code.as_str()).collect();
    assert_eq!(codes, ["openapi-simplified", "openapi-simplified"], "{:?}", found.findings);
}

#[test]
fn names_are_different_and_do_not_depend_on_the_choice() {
    let paths = "paths:\n  /a: { get: { operationId: 'x y', tags: [t] } }\n  /b: { get: { operationId: X_y, tags: [u] } }\n";
    let text = format!("{HEAD}{paths}");
    let names = |options: &ApiOptions| {
        imported(&text, options).files.iter().skip(1).map(|file| file.path.clone()).collect::<Vec<_>>()
    };
    assert_eq!(
        names(&ApiOptions::default()),
        ["pet-store/invokers/x_y.toml", "pet-store/invokers/X_y_2.toml"]
    );
    let only = ApiOptions { tags: vec!["u".to_owned()], ..ApiOptions::default() };
    assert_eq!(names(&only), ["pet-store/invokers/X_y_2.toml"]);
    let wrong = ApiOptions { tags: vec!["w".to_owned()], ..ApiOptions::default() };
    assert_eq!(errors(&text, &wrong), ["openapi-document 1:1 the document has no tag `w`"]);
}

#[test]
fn what_is_not_a_document_is_refused_with_its_place() {
    let bomb: String = (1..20)
        .map(|n| {
            format!("a{n}: &a{n} [*a{0}, *a{0}, *a{0}, *a{0}, *a{0}, *a{0}, *a{0}, *a{0}, *a{0}]\n", n - 1)
        })
        .collect();
    let deep = format!("{{\"a\": {}", "[".repeat(500));
    for (text, expected) in [
        ("swagger: '2.0'\n".to_owned(), "openapi-document 1:10 this is Swagger 2.0"),
        (
            "\nopenapi: 4.0.0\n".to_owned(),
            "openapi-document 2:10 expected `openapi` with the version 3.0 or 3.1, found `4.0.0`",
        ),
        ("a: [1\nb: 2".to_owned(), "openapi-document 2:"),
        ("{\n \"a\" 1}".to_owned(), "openapi-document 2:"),
        (String::new(), "openapi-document 1:1 the document is empty"),
        (format!("a0: &a0 [x, x, x]\n{bomb}"), "openapi-document 6:"),
        ("a: &a [*a]".to_owned(), "openapi-document 1:8 "),
        (deep, "openapi-document "),
        ("openapi: 3.0.0\npaths: { /a: { get: {} } }\n".to_owned(), "openapi-server 1:1 "),
        (
            "openapi: 3.0.0\nservers: [{ url: 'ftp://x' }]\npaths: { /a: { get: {} } }\n".to_owned(),
            "openapi-server 2:11 ",
        ),
        (format!("{HEAD}paths: {{}}\n"), "openapi-document 1:1 no operation"),
    ] {
        let found = errors(&text, &ApiOptions::default());
        assert!(found.len() == 1 && found[0].starts_with(expected), "{expected}: {found:?}");
    }
    let large = read_openapi("x", &vec![b' '; MAX_DOCUMENT + 1], &ApiOptions::default());
    assert!(large.files.is_empty() && large.findings[0].message.contains("larger than"));
}

#[test]
fn foreign_text_is_one_clean_line_and_no_secret() {
    let text = format!(
        "{HEAD}paths:\n  /a:\n    get:\n      operationId: a\n      description: \"x\\n\\ny \\e[31m\\u202e {}\"\n  /b:\n    get:\n      operationId: b\n      \
         description: use ghp_16C7e42F292c6912E7710c838347Ae178B4a\n",
        "z".repeat(3000)
    );
    let found = imported(&text, &ApiOptions::default());
    let tool: toml::Table = found.files[1].text.parse().unwrap();
    let description = tool["invoker"]["description"].as_str().unwrap();
    assert!(description.starts_with("x y [31m z") && description.len() <= 1000, "{description}");
    assert!(found.files[2].text.contains("description = \"GET /b\""), "{}", found.files[2].text);
}

/// The document cannot continue the host of the server, which gets the credential.
#[test]
fn a_path_does_not_change_the_host() {
    let paths = "paths: { .evil.example/x: { get: {} }, ':8443/x': { get: {} }, '@evil.example/x': { get: {} }, '{h}': { get: {} }, /y: { get: {} } }\n";
    for server in [None, Some("https://api.user.example/v1")] {
        let options = ApiOptions { server: server.map(str::to_owned), ..ApiOptions::default() };
        let found = imported(&format!("{HEAD}{paths}"), &options);
        assert_eq!(found.files.len(), 2, "{:?}", found.files);
        let origin = if server.is_some() { "https://api.user.example" } else { "https://pets.example" };
        assert_eq!(found.servers.into_iter().collect::<Vec<_>>(), [origin]);
        assert_eq!(found.findings.len(), 4);
        assert!(found.findings.iter().all(|one| one.message.contains("does not begin with `/`")));
    }
    let text = format!("{HEAD}paths: {{ //evil.example/x: {{ get: {{}} }} }}\n");
    let options = ApiOptions { server: Some("https://".to_owned()), ..ApiOptions::default() };
    let found = errors(&text, &options);
    assert!(
        found[0].starts_with("openapi-server")
            && found[0].contains("begins with") | found[0].contains("no host"),
        "{found:?}"
    );
}

/// A title and the name of a scheme cannot spell a variable that is set for another server.
#[test]
fn a_document_does_not_choose_whose_variable_is_sent() {
    for (title, scheme) in [("OpenAI", "api_key"), ("aws", "SECRET_ACCESS_KEY"), ("key", "_")] {
        let text = format!(
            "openapi: 3.1.0\ninfo: {{ title: {title} }}\nservers: [{{ url: 'https://x.example' }}]\nsecurity: [{{ {scheme}: [] }}]\n\
             components: {{ securitySchemes: {{ {scheme}: {{ type: http, scheme: bearer }} }} }}\npaths: {{ /a: {{ get: {{}} }} }}\n"
        );
        let variable = imported(&text, &ApiOptions::default()).variables[0].0.clone();
        let start = format!("API_{}_", title.to_uppercase());
        assert!(variable.starts_with(&start) && variable.len() > start.len(), "{variable}");
    }
}

#[test]
fn variables_of_a_server_are_replaced_once() {
    let server = |url: &str, variables: &str| {
        let text = format!(
            "openapi: 3.1.0\ninfo: {{ title: t }}\nservers: [{{ url: '{url}', variables: {{ {variables} }} }}]\npaths: {{ /a: {{ get: {{}} }} }}\n"
        );
        let found = errors(&text, &ApiOptions::default());
        found.into_iter().next().unwrap_or_default()
    };
    let grows: Vec<String> =
        (0..25).map(|n| format!("v{n}: {{ default: '{}' }}", format!("{{v{}}}", n + 1).repeat(4))).collect();
    let inserted = server("https://a.example/{v0}", &grows.join(", "));
    assert!(inserted.contains("has more than a host and a path"), "{inserted}");
    let long = format!("v: {{ default: '{}' }}", "x".repeat(500));
    assert_eq!(server("https://a.example/{v}", &long), "");
    assert!(server("https://a.example/{v}{v}{v}{v}", &long).contains("more than 2000 bytes"));
}

#[test]
fn aliases_repeat_few_bytes_and_few_levels() {
    let error = |text: &str| {
        let found = errors(text, &ApiOptions::default());
        found.into_iter().next().unwrap_or_default()
    };
    let text = format!("a: &a {}\nb: [{}*a]\n", "x".repeat(1 << 20), "*a, ".repeat(60));
    assert!(error(&text).contains("repeat more than 41943040 bytes"), "{}", error(&text));
    let nested: String = (0..60).map(|n| format!("&n{n} [")).collect();
    let text = format!("{nested}{}{}", "x".repeat(1 << 20), "]".repeat(60));
    assert!(error(&text).contains("repeat more than 41943040 bytes"), "{}", error(&text));
    let chain: String = (1..40).map(|n| format!("a{n}: &a{n} [[[*a{}]]]\n", n - 1)).collect();
    let text = format!("a0: &a0 x\n{chain}");
    assert!(error(&text).contains("more than 100 levels"), "{}", error(&text));
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

#[test]
fn operations_and_parameters_are_counted() {
    let operations = |count: usize| -> String {
        (0..count).map(|n| format!("  /p{n}: {{ get: {{ operationId: a }} }}\n")).collect()
    };
    let one = ApiOptions { paths: vec!["/p9999".to_owned()], ..ApiOptions::default() };
    let found = imported(&format!("{HEAD}paths:\n{}", operations(10_000)), &one);
    assert_eq!(found.files[1].path, "pet-store/invokers/a_10000.toml");
    let found = errors(&format!("{HEAD}paths:\n{}", operations(10_001)), &one);
    assert!(found[0].contains("more than 10000 operations"), "{found:?}");

    let parameters: Vec<String> = (0..201).map(|n| format!("{{ name: p{n}, in: query }}")).collect();
    let paths = format!(
        "paths: {{ /a: {{ get: {{ parameters: [{}] }} }}, /b: {{ get: {{}} }} }}\n",
        parameters.join(", ")
    );
    let found = imported(&format!("{HEAD}{paths}"), &ApiOptions::default());
    assert_eq!(found.files.len(), 2);
    assert!(found.findings[0].message.contains("more than 200 parameters"), "{:?}", found.findings);
}
