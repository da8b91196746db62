//! What is chosen, where requests go, and who they are from.

use super::*;

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
        "query = { K = '{K}', k = '${API_PET_STORE__Q}' }\n[headers]\nX-Key = '${API_PET_STORE__H}'\n\
         Cookie = 'c=${API_PET_STORE__C}; d=${API_PET_STORE__D}'\nAuthorization = 'Bearer ${API_PET_STORE__B}'"
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
    assert!(first.files[1].text.contains("k = \"${API_PET_STORE__KEY}\""), "{}", first.files[1].text);
    assert!(!first.files[2].text.contains("${"), "{}", first.files[2].text);
    assert_eq!(first.variables, [("API_PET_STORE__KEY".to_owned(), "the key for the query `k`".to_owned())]);
    let chosen = imported(&text, &ApiOptions { security: Some("token".to_owned()), ..ApiOptions::default() });
    assert!(chosen.files[1].text.contains("Authorization = \"Bearer ${API_PET_STORE__TOKEN}\""));
}

#[test]
fn schemes_with_almost_the_same_name_have_variables_of_their_own() {
    let text = format!(
        "{HEAD}security: [{{ a-b: [], a_b: [], '-': [] }}]\ncomponents: {{ securitySchemes: {{ a-b: {{ type: http, scheme: bearer }}, \
         a_b: {{ type: apiKey, in: header, name: X-Key }}, '-': {{ type: apiKey, in: query, name: k }} }} }}\npaths: {{ /a: {{ get: {{}} }} }}\n"
    );
    let found = imported(&text, &ApiOptions::default());
    let mut names: Vec<&str> = found.variables.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["API_PET_STORE__A_B", "API_PET_STORE__A_B_2", "API_PET_STORE__CREDENTIAL"]);
    for part in ["Bearer ${API_PET_STORE__A_B}\"", "X-Key = \"${API_PET_STORE__A_B_2}\""] {
        assert!(found.files[1].text.contains(part), "{part}: {}", found.files[1].text);
    }
}

#[test]
fn an_error_of_an_option_names_the_option() {
    let text = format!("{HEAD}paths: {{ /a: {{ get: {{}} }} }}\n");
    let options = ApiOptions::default;
    let some = |text: &str| Some(text.to_owned());
    for (options, expected) in [
        (
            ApiOptions { server: some("example.com"), ..options() },
            "openapi-server --server the address `example.com` does not begin with `http://` or `https://`",
        ),
        (
            ApiOptions { server: some("http://x/?a"), ..options() },
            "openapi-server --server the address `http://x/?a` has more",
        ),
        (
            ApiOptions { security: some("s"), ..options() },
            "openapi-security --security the document has no security scheme `s`",
        ),
        (ApiOptions { name: some("a b"), ..options() }, "bad-name --name "),
        (
            ApiOptions { paths: vec!["/b".to_owned()], ..options() },
            "openapi-document --path the document has no path `/b`",
        ),
        (
            ApiOptions { tags: vec!["t".to_owned()], ..options() },
            "openapi-document --tag the document has no tag `t`",
        ),
    ] {
        let found = errors(&text, &options);
        assert!(found.len() == 1 && found[0].starts_with(expected), "{expected}: {found:?}");
    }
    let hint =
        imported(&text, &ApiOptions { tags: vec!["t".to_owned()], ..options() }).findings[0].hint.clone();
    assert_eq!(hint.as_deref(), Some("the document has no tags: leave `--tag` out"));
}

#[test]
fn too_many_operations_are_an_error_that_names_tags_if_there_are_some() {
    for (tags, end) in [("", "or `--operation`"), ("tags: [t]", "; tags of the document: `t`")] {
        let paths: String = (0..257).map(|n| format!("  /p{n}: {{ get: {{ {tags} }} }}\n")).collect();
        let found = imported(&format!("{HEAD}paths:\n{paths}"), &ApiOptions::default());
        assert!(found.findings[0].hint.as_ref().unwrap().ends_with(end), "{:?}", found.findings[0].hint);
    }
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
    assert_eq!(errors(&text, &wrong), ["openapi-document --tag the document has no tag `w`"]);
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
            && found[0].contains("does not begin with") | found[0].contains("no host"),
        "{found:?}"
    );
}

#[test]
fn no_two_ensembles_have_a_variable_in_common() {
    let variable = |ensemble: &str, scheme: &str| {
        let text = format!(
            "{HEAD}security: [{{ {scheme}: [] }}]\ncomponents: {{ securitySchemes: {{ {scheme}: {{ type: http, scheme: bearer }} }} }}\n\
             paths: {{ /a: {{ get: {{}} }} }}\n"
        );
        let options = ApiOptions { name: Some(ensemble.to_owned()), ..ApiOptions::default() };
        imported(&text, &options).variables[0].0.clone()
    };
    assert_eq!(variable("acme-corp", "token"), "API_ACME_CORP__TOKEN");
    let odd = variable("acme_corp", "token");
    let digest = odd.strip_prefix("API_ACME_CORP__").unwrap().strip_suffix("__TOKEN").unwrap();
    let names = [
        variable("acme-corp", "token"),
        variable("acme", "corp_token"),
        variable("acme", "corp__token"),
        odd.clone(),
        variable("acme-corp", &format!("{digest}__token")),
        variable("Acme-corp", "token"),
        variable("acme--corp", "token"),
        variable("acme-corp-", "token"),
    ];
    let unique: std::collections::BTreeSet<_> = names.iter().collect();
    // `corp_token` and `corp__token` are of one ensemble, in two imports.
    assert_eq!(unique.len(), names.len() - 1, "{names:?}");
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
        let start = format!("API_{}__", title.to_uppercase());
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
    assert_eq!(server("https://a.example:{v}", "v: { default: 8443 }"), "", "a number");
    assert!(server("https://a.example/{v}", "v: {}").contains("has no default"));
    assert!(server("https://a.example/{v}{v}{v}{v}", &long).contains("more than 2000 bytes"));
}
