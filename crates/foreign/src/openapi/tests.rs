//! Small documents become tools.

use super::*;

mod bodies;
mod requests;

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
        let place = one.line.zip(one.column).map(|(line, column)| format!("{line}:{column}"));
        format!("{} {} {}", one.code, place.unwrap_or_else(|| one.file.clone()), one.message)
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
fn objects_in_a_path_and_a_header_are_pairs_if_they_are_exploded() {
    let parameter = |place: &str, explode: bool| {
        format!(
            "{{ name: {place}, in: {place}, required: true, explode: {explode}, schema: {{ type: object }} }}"
        )
    };
    for (explode, style) in [(true, "repeat"), (false, "comma")] {
        let (path, header) = (parameter("path", explode), parameter("header", explode));
        let tools =
            tools(&format!("paths: {{ '/x/{{path}}': {{ get: {{ parameters: [{path}, {header}] }} }} }}\n"));
        for name in ["path", "header"] {
            assert_eq!(tools[0]["http"]["styles"][name].as_str(), Some(style), "{name}");
        }
    }
    let tools = tools(
        "paths: { '/x/{p}': { get: { parameters: [{ name: p, in: path, required: true, content: { application/json: { schema: { type: object } } } }] } } }\n",
    );
    assert!(tools[0]["http"].get("styles").is_none(), "JSON stays JSON");
}

#[test]
fn a_path_has_no_query_and_other_letters_are_encoded() {
    let paths = "paths: { '/x?a=b': { get: {} }, '/y#z': { get: {} }, '/gr\u{f6}\u{df}e': { get: {} } }\n";
    let found = imported(&format!("{HEAD}{paths}"), &ApiOptions::default());
    assert_eq!((found.files.len(), found.findings.len()), (2, 2), "{:?}", found.findings);
    assert!(found.files[1].text.contains("url = \"https://pets.example/v1/gr%C3%B6%C3%9Fe\""));
}

#[test]
fn a_result_is_found_in_parts_elements_and_choices() {
    let schema = "{ allOf: [{ oneOf: [{ properties: { data: { type: array, items: { properties: { n: {} } } } } }, { type: string }] }] }";
    let results = |pointer: &str, responses: &str| {
        let text = format!("{HEAD}paths: {{ /x: {{ get: {{ responses: {responses} }} }} }}\n");
        let found =
            imported(&text, &ApiOptions { result: Some(pointer.to_owned()), ..ApiOptions::default() });
        (
            found.files.get(1).is_some_and(has_result),
            found.findings.iter().map(|one| one.message.clone()).collect::<Vec<_>>(),
        )
    };
    let ok =
        format!("{{ '204': {{}}, '200': {{ content: {{ application/json: {{ schema: {schema} }} }} }} }}");
    for pointer in ["/data", "/data/0/n"] {
        assert_eq!(results(pointer, &ok), (true, Vec::new()), "{pointer}");
    }
    assert!(results("/data", &ok.replace("application/json", "'*/*'")).0);
    assert!(results("/data", &ok.replace("'200'", "default").replace("'204': {}, ", "")).0);
    let (has, said) = results("/dta", &ok);
    assert!(!has && said == ["no response has `/dta`, so all responses are passed on whole"], "{said:?}");
    let (_, said) = results("data", &ok);
    assert_eq!(said, ["expected a JSON pointer, which begins with `/`, found `data`"]);
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
