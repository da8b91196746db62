//! `server.json` of the registry, and the entry for the gateway.

use converse_config::Code;
use serde_json::json;

use super::{found, noted, server};
use crate::{Client, Format, GatewayAddress, Reach, read};

fn command(text: &str) -> (Vec<String>, Vec<(String, String)>) {
    let found = found(text, Format::Registry);
    let Reach::Stdio { command, environment, .. } = found.servers[0].reach.clone() else {
        panic!("{found:?}")
    };
    (command, environment)
}

#[test]
fn packages_of_the_registry_are_started_in_their_version() {
    let package = |package: serde_json::Value| {
        json!({ "name": "io.github.me/weather", "description": "d", "version": "1.2.3", "packages": [package] }).to_string()
    };
    let (words, environment) = command(&package(json!({
        "registryType": "npm", "identifier": "@me/weather", "version": "1.2.3", "transport": { "type": "stdio" },
        "packageArguments": [
            { "type": "positional", "value": "start" },
            { "type": "named", "name": "--dir", "valueHint": "dir", "isRequired": true },
            { "type": "named", "name": "--port", "description": "optional" },
            { "type": "named", "name": "--mode", "default": "local" } ],
        "environmentVariables": [
            { "name": "WEATHER_KEY", "isRequired": true, "isSecret": true, "default": "never-written" },
            { "name": "UNITS", "default": "celsius" },
            { "name": "OPTIONAL" },
            { "name": "PLACE", "value": "{town}/x", "variables": { "town": { "isRequired": true } } } ],
    })));
    assert_eq!(
        words,
        ["npx", "-y", "@me/weather@1.2.3", "start", "--dir", "env:WEATHER_DIR", "--mode", "local"]
    );
    let environment: Vec<(&str, &str)> =
        environment.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(
        environment,
        [("WEATHER_KEY", "env:WEATHER_KEY"), ("UNITS", "${UNITS:-celsius}"), ("PLACE", "${WEATHER_TOWN}/x")]
    );
    let old = json!({ "registry_type": "pypi", "identifier": "weather", "version": "0.5.0", "runtime_hint": "uvx" });
    assert_eq!(command(&package(old)).0, ["uvx", "weather@0.5.0"]);
    let image = json!({ "registryType": "oci", "identifier": "docker.io/me/weather", "version": "2",
        "runtimeArguments": [{ "type": "named", "name": "--network", "value": "host" }],
        "environmentVariables": [{ "name": "A_KEY", "isRequired": true, "isSecret": true }] });
    let expected =
        ["docker", "run", "-i", "--rm", "--network", "host", "-e", "A_KEY", "docker.io/me/weather:2"];
    assert_eq!(command(&package(image)).0, expected);
    let wrapped = json!({ "server": { "name": "a/b", "remotes": [] }, "_meta": {} });
    assert!(found(&wrapped.to_string(), Format::Registry).servers.is_empty());
}

#[test]
fn a_server_of_the_registry_is_its_first_package_or_its_address() {
    let text = json!({ "name": "a/far", "packages": [
            { "registryType": "mcpb", "identifier": "https://h.example/x.mcpb", "fileSha256": "a".repeat(64) } ],
        "remotes": [
            { "type": "sse", "url": "https://h.example/sse" },
            { "type": "streamable-http", "url": "https://{tenant}.example/mcp", "variables": { "tenant": { "default": "eu" } },
              "headers": [{ "name": "X-Key", "isRequired": true, "isSecret": true }] } ] });
    let found = found(&text.to_string(), Format::Registry);
    let far = server(&found, "far");
    let Reach::Http { url, headers } = &far.reach else { panic!("{far:?}") };
    assert_eq!(url, "https://eu.example/mcp");
    assert_eq!(headers, &[("X-Key".to_owned(), "env:FAR_X_KEY".to_owned())]);
    assert!(noted(&found, Some("far"), &"a".repeat(64)), "{:#?}", found.notes);
    let unpinned = json!({ "name": "a/x", "packages": [
        { "registryType": "npm", "identifier": "x", "version": "latest", "fileSha256": "b".repeat(64) } ] });
    let found = read(&unpinned.to_string(), None).unwrap();
    assert!(noted(&found, Some("x"), "without an exact version"), "{found:?}");
    assert!(noted(&found, Some("x"), "digest"), "{found:?}");
}

#[test]
fn a_package_of_the_registry_without_an_exact_version_is_a_finding() {
    for (registry, version, exact) in [
        ("npm", Some("1.2.3"), true),
        ("npm", Some("1.2.3-beta.1"), true),
        ("npm", Some("1.2"), false),
        ("npm", Some("1.x"), false),
        ("npm", Some("1.2.3 - 2.0.0"), false),
        ("npm", Some("^1.2.3"), false),
        ("npm", Some("next"), false),
        ("npm", Some("latest"), false),
        ("npm", None, false),
        ("pypi", Some("2026.10.19"), true),
        ("pypi", Some(">=1.0"), false),
        ("pypi", Some("1.0,<2"), false),
        ("pypi", Some("1.*"), false),
        ("pypi", None, false),
        ("nuget", Some("1.2.3"), true),
        ("nuget", Some("[1.0,2.0)"), false),
        ("nuget", None, false),
        ("oci", Some("1.2"), true),
        ("oci", Some("latest"), false),
        ("oci", None, false),
    ] {
        let package = json!({ "registryType": registry, "identifier": "x", "version": version });
        let text = json!({ "name": "a/x", "packages": [package] }).to_string();
        let found = read(&text, None).unwrap();
        let codes: Vec<_> = found.notes.iter().filter_map(|note| note.code).collect();
        let expected = if exact { vec![] } else { vec![Code::UnpinnedPackage] };
        assert_eq!(codes, expected, "{registry} {version:?}: {:?}", found.notes);
        assert_eq!(found.servers.len(), 1);
    }
}

/// What is written for a program is what the reader of its format finds.
#[test]
fn the_entry_for_the_gateway_is_read_back() {
    let words = ["converse", "serve", "-e", "a \"b\""].map(str::to_owned).to_vec();
    for client in Client::ALL {
        assert_eq!(Client::named(client.name()), Some(client));
        let entry =
            client.entry(&GatewayAddress::Command { words: words.clone(), variables: vec![] }).unwrap();
        let found = read(&entry, None).unwrap();
        let Reach::Stdio { command, .. } = &server(&found, "converse").reach else { panic!("{entry}") };
        assert_eq!(command, &words, "{entry}");
        let url = "https://tools.example/mcp";
        let Ok(entry) = client.entry(&GatewayAddress::Url(url.to_owned())) else {
            assert!(matches!(client, Client::ClaudeDesktop | Client::Zed));
            continue;
        };
        let found = read(&entry, None).unwrap();
        let Reach::Http { url: read, headers } = &server(&found, "converse").reach else { panic!("{entry}") };
        let [(name, value)] = headers.as_slice() else { panic!("{entry}") };
        assert_eq!((read.as_str(), name.as_str()), (url, "Authorization"), "{entry}");
        assert_eq!(value, "Bearer ${CONVERSE_TOKEN}", "{entry}");
    }
}
