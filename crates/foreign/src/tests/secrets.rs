//! No secret byte comes out, wherever it went in.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{Imported, read};

/// Everything that anybody will ever see of it.
fn shown(found: &Imported) -> String {
    let texts: Vec<String> = found.servers.iter().map(|server| server.toml()).collect();
    let notes: Vec<String> = found.notes.iter().map(ToString::to_string).collect();
    format!("{}\n{}\n{found:?}", texts.join("\n"), notes.join("\n"))
}

/// Every place a secret is known to stand in, with `S` for it.
fn places(s: &str) -> Vec<Value> {
    let env = |name: &str, value: String| json!({ "command": "x", "env": { name: value } });
    let args = |args: &[String]| json!({ "command": "x", "args": args });
    let header = |name: &str, value: String| json!({ "type": "http", "url": "https://a.example/mcp", "headers": { name: value } });
    let url = |url: String| json!({ "url": url });
    let own = |text: &str| text.to_owned();
    vec![
        env("API_KEY", own(s)),
        env("githubToken", own(s)),
        env("DB_PASSWORD", own(s)),
        env("DB_PASS", own(s)),
        env("GITHUB_PAT", own(s)),
        env("MY_APIKEY", own(s)),
        env("PGPASSWORD", own(s)),
        env("my-secret", own(s)),
        env("DATABASE_URL", format!("postgres://me:{s}@db.example/x")),
        env("CONNECTION", format!("Server=x;Password={s};")),
        env("API_KEY", format!("${{API_KEY:-{s}}}")),
        env("API_KEY", format!("${{PREFIX}}{s}")),
        env("ANYTHING", format!("ghp_0123456789abcdef{s}")),
        env("OPTIONS", format!("{{\"apiKey\": \"{s}\"}}")),
        args(&[format!("--api-key={s}")]),
        args(&[own("--token"), own(s)]),
        args(&[own("-e"), format!("SECRET={s}")]),
        args(&[format!("--env=SECRET={s}")]),
        args(&[own("--header"), format!("Authorization: Bearer {s}")]),
        args(&[own("-H"), format!("X-Api-Key:{s}")]),
        args(&[format!("--header=Authorization: Bearer {s}")]),
        args(&[format!("https://a.example/mcp?api_key={s}&b=1")]),
        args(&[format!("--url=https://a.example/mcp?token={s}")]),
        args(&[format!("redis://:{s}@cache.example:6379")]),
        args(&[own("-c"), format!("API_TOKEN={s} node server.js")]),
        args(&[own("--config"), format!("{{\"nested\": {{\"password\": \"{s}\"}}}}")]),
        args(&[format!("API_KEY={s}")]),
        args(&[format!("${{A:-https://a.example/?key={s}}}")]),
        header("Authorization", format!("Bearer {s}")),
        header("authorization", own(s)),
        header("X-API-Key", own(s)),
        header("Cookie", format!("session={s}")),
        header("Authorization", format!("Token token={s}")),
        header("Authorization", format!("Bearer ${{T:-{s}}}")),
        header("X-Any", format!("Bearer {s}")),
        header("X-Any", format!("basic {s}")),
        env("ANYTHING", format!("Bearer {s}")),
        env("AUTH_HEADER", format!("Bearer {s}-x")),
        env("ANYTHING", format!("--verbose --api-key {s} --token {s}")),
        env("OPTIONS", format!("password=${s}")),
        env("WEBHOOK_PATH", format!("/services/T024BE7LH/B024BE7LH/{s}")),
        args(&[own("--with-token"), own(s)]),
        args(&[own("--auth-provider"), own(s)]),
        args(&[own("-c"), format!("npx -y srv --api-key {s} --token {s}")]),
        args(&[own("-c"), format!("srv 'X-Any: Bearer {s}'")]),
        args(&[format!("--args=--api-key {s}")]),
        args(&[own("-H"), format!("X-Any: Bearer {s}")]),
        args(&[format!("https://a.example/mcp%3Fapi_key%3D{s}%26x=1")]),
        url(format!("https://a.example/mcp?to=https%3A%2F%2Fb.example%2F%3Fapi_key%3D{s}")),
        url(format!("https://a.example/mcp?to=b%253Fapi_key%253D{s}")),
        url(format!("https://a.example/mcp?api%5Fkey={s}")),
        url(format!("https://a.example/mcp?pw={s}&b=1")),
        url(format!("https://a.example/mcp?token=x/{s}")),
        json!({ "command": "x", "description": format!("start it with --token {s}") }),
        header("X-Other", format!("Bearer sk-0123456789ABCDEF{s}")),
        url(format!("https://a.example/mcp?token={s}")),
        url(format!("https://a.example/mcp?a=1&client_secret={s}#x")),
        url(format!("https://me:{s}@a.example/mcp")),
        url(format!("https://a.example/s/sk-0123456789abcdef{s}/mcp")),
        url(format!("${{BASE:-https://a.example/?key={s}}}")),
        url(format!("not a url, key={s}")),
        json!({ "command": "x", "description": format!("password: {s}") }),
        json!({ "command": "x", "cwd": format!("/x?password={s}") }),
        json!({ "command": "x", "oauth": { "clientSecret": s } }),
        json!({ "url": "https://a.example/mcp", "oauth": { "clientId": "me", "clientSecret": s } }),
        json!({ "url": "https://a.example/mcp", "oauth": { "clientId": "me", "clientSecret": format!("${{A:-{s}}}") } }),
        json!({ "url": "https://a.example/mcp", "oauth": { "clientId": format!("ghp_0123456789abcdef{s}") } }),
        json!({ "url": "https://a.example/mcp", "oauth": { "scopes": format!("password={s}"), "redirectUri": s } }),
        json!({ "command": "x", "unknown": s, "timeout": s, "disabled": s }),
        json!({ "command": { "apiKey": s } }),
        json!({ "command": "x", "args": ["--header", "Authorization:${A}"], "env": { "A": format!("Bearer {s}") } }),
        json!({ "command": "x", "args": ["--token", "${A_KEY}"], "env": { "A_KEY": s } }),
        json!(s),
    ]
}

/// Words that names of secrets are made of, and others beside them.
const TELLING: [&str; 17] = [
    "pass",
    "password",
    "passwd",
    "passcode",
    "passphrase",
    "pw",
    "pwd",
    "token",
    "key",
    "apikey",
    "cred",
    "creds",
    "credentials",
    "auth",
    "secret",
    "bearer",
    "cookie",
];
const OTHERS: [&str; 12] =
    ["db", "my", "app", "client", "header", "value", "provider", "path", "name", "url", "v2", "prod"];

/// `DB_PASS`, `dbPass`, `x-pass-db`, `DBPASS`: a telling word, others before it and behind it, in some casing.
fn name() -> impl Strategy<Value = String> {
    let others = || proptest::collection::vec(proptest::sample::select(&OTHERS[..]), 0..3);
    (others(), proptest::sample::select(&TELLING[..]), others(), 0..7_u8).prop_map(
        |(before, telling, behind, casing)| {
            // Without any seam only the last word can be told from the others.
            let behind = if casing < 5 { behind } else { Vec::new() };
            let words: Vec<&str> = before.into_iter().chain([telling]).chain(behind).collect();
            let capital = |word: &&str| format!("{}{}", word[..1].to_uppercase(), &word[1..]);
            match casing {
                0 => words.join("_").to_uppercase(),
                1 => words.join("_"),
                2 => words.join("-"),
                3 => words.iter().map(capital).collect::<Vec<_>>().join("-"),
                4 => words.iter().map(capital).collect(),
                5 => words.concat(),
                _ => words.concat().to_uppercase(),
            }
        },
    )
}

fn survives(found: &Imported, secret: &str) -> bool {
    shown(found).contains(secret)
}

#[test]
fn every_known_place_is_covered() {
    for place in places("Zq7xW9") {
        let file = json!({ "mcpServers": { "a": place } }).to_string();
        let found = read(&file, None).unwrap();
        assert!(!survives(&found, "Zq7xW9"), "{file}\n{}", shown(&found));
        assert!(found.servers.len() == 1 || !found.notes.is_empty());
    }
}

#[test]
fn other_shapes_are_covered_too() {
    for (file, format) in [
        (
            "[mcp_servers.a]\nurl = \"https://a.example\"\nbearer_token = \"Zq7xW9\"\nhttp_headers = { \"X-Key\" = \"Zq7xW9\" }",
            "codex",
        ),
        (
            "[mcp_servers.a]\ncommand = \"x\"\nenv = { API_KEY = \"Zq7xW9\" }\nargs = [\"--key\", \"Zq7xW9\"]",
            "codex",
        ),
        (
            r#"{"servers": {"a": {"command": "x", "env": {"API_KEY": "Zq7xW9"}}}, "inputs": [{"id": "k", "default": "Zq7xW9"}]}"#,
            "vscode",
        ),
        (
            r#"{"mcp": {"a": {"type": "local", "command": ["x", "--key=Zq7xW9"], "environment": {"TOKEN": "Zq7xW9"}}}}"#,
            "opencode",
        ),
        (
            r#"{"context_servers": {"a": {"command": {"path": "x", "args": ["--key", "Zq7xW9"]}, "settings": {"k": "Zq7xW9"}}}}"#,
            "zed",
        ),
        (r#"{"servers": [{"id": "a", "command": "x", "env": {"API_KEY": "Zq7xW9"}}]}"#, "list"),
        (
            r#"{"mcpServers": {"a": {"httpUrl": "https://a.example", "trust": true, "headers": {"X-Token": "Zq7xW9"}}}}"#,
            "gemini",
        ),
    ] {
        let found = read(file, None).unwrap();
        assert_eq!(found.format.name(), format);
        assert!(found.servers.len() == 1 && !survives(&found, "Zq7xW9"), "{}", shown(&found));
        assert!(!found.servers[0].variables.is_empty());
    }
}

proptest! {
    #[test]
    fn no_literal_secret_survives(secret in "[A-Za-z0-9]{8,40}", at in 0..64_usize) {
        // Words that stand in descriptors anyway say nothing.
        prop_assume!(secret.chars().any(|c| c.is_ascii_digit()));
        let places = places(&secret);
        let place = places[at % places.len()].clone();
        let file = json!({ "mcpServers": { "a": place } }).to_string();
        let found = read(&file, None).unwrap();
        prop_assert!(!survives(&found, &secret), "{}\n{}", file, shown(&found));
    }

    #[test]
    fn whatever_its_name_is_made_of(name in name(), secret in "[A-Za-z0-9]{3}[0-9][A-Za-z][A-Za-z0-9]{4,30}") {
        for server in [
            json!({ "command": "x", "env": { name.as_str(): secret } }),
            json!({ "command": "x", "env": { "OPTIONS": format!("--x 1 --{name} {secret}") } }),
            json!({ "command": "x", "args": [format!("--{name}"), secret] }),
            json!({ "command": "x", "args": [format!("--{name}={secret}")] }),
            json!({ "command": "x", "args": ["-c", format!("srv --{name} {secret} run")] }),
            json!({ "command": "x", "args": ["-e", format!("{name}={secret}")] }),
            json!({ "command": "x", "args": [format!("{{\"{name}\": \"{secret}\"}}")] }),
            json!({ "url": format!("https://a.example/mcp?a=1&{name}={secret}") }),
            json!({ "url": "https://a.example", "headers": { name.as_str(): secret } }),
        ] {
            let file = json!({ "mcpServers": { "a": server } }).to_string();
            let found = read(&file, None).unwrap();
            prop_assert!(!survives(&found, &secret), "{}\n{}", file, shown(&found));
        }
    }

    #[test]
    fn random_keys_are_seen_wherever_they_stand(secret in "[A-Za-z]{4}[0-9][A-Z][a-z][0-9][A-Z][a-z][0-9]{2}[a-z][A-Z][0-9][A-Za-z0-9]{9,30}") {
        for server in [
            json!({ "command": "x", "args": [secret] }),
            json!({ "command": "x", "env": { "WHATEVER": secret } }),
            json!({ "url": format!("https://a.example/{secret}/mcp") }),
            json!({ "url": "https://a.example", "headers": { "X-Whatever": secret } }),
        ] {
            let found = read(&json!({ "mcpServers": { "a": server } }).to_string(), None).unwrap();
            prop_assert!(!survives(&found, &secret), "{}", shown(&found));
        }
    }

    /// Nor does any text make it panic, or write what `check` refuses (which `read` looks at itself).
    #[test]
    fn any_text_is_read(name in ".{0,12}", command in ".{0,20}", argument in ".{0,20}", value in ".{0,20}") {
        let server = json!({ "command": command, "args": [argument], "env": { "A": value }, "headers": { "B": value } });
        let file = json!({ "mcpServers": { name.as_str(): server, "h": { "url": command, "headers": { "B": value } } } }).to_string();
        let found = read(&file, None).unwrap();
        prop_assert!(found.servers.len() == 2 || !found.notes.is_empty());
        let _ = read(&command, None);
    }
}
