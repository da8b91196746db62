//! Files that want to be misread.

use converse_testkit::hang_guard;
use serde_json::json;

use super::{found, noted, server};
use crate::{ForeignError, Format, MAX_BYTES, MAX_SERVERS, read};

#[test]
fn names_that_are_no_names_become_some() {
    let found = found(
        "\u{feff}{\"mcpServers\": { \"../../evil\": {\"command\": \"x\"}, \"a b\": {\"command\": \"x\"}, \
         \"a-b\": {\"command\": \"x\"}, \"A-B\": {\"command\": \"x\"}, \"погода\": {\"command\": \"x\"}, \
         \"\u{1b}[2J\": {\"command\": \"x\"}, \"\": {\"command\": \"x\"}, \"io\": {\"command\": \"x\"} } }",
        Format::McpServers,
    );
    let names: Vec<&str> = found.servers.iter().map(|server| server.name.as_str()).collect();
    assert_eq!(names, ["evil", "a-b-2", "a-b", "A-B-3", "server", "2J", "server-2", "io"]);
    assert!(
        noted(&found, Some("a b"), "`a-b-2`")
            && noted(&found, Some("io"), "replaces the built-in ensemble `io`")
    );
    assert!(!found.notes.iter().any(|note| note.to_string().contains('\u{1b}')));
}

#[test]
fn nothing_is_lost_in_silence() {
    let found = found(
        r#"{ "mcpServers": {
            "a": { "command": "x", "args": "not a list", "env": { "N": null, "BAD=NAME": "v" }, "cwd": 7, "surprise": 1 },
            "b": { "url": "https://b.example/mcp", "headers": { "Host": "evil", "x y": "v", "X-A": "1", "x-a": "2",
                   "X-Lines": "a\r\nb" }, "timeout": -1 },
            "c": { "command": "x", "url": "https://c.example" },
            "d": {}, "e": 5, "f": { "url": "not a url" }, "g": { "command": "x", "args": ["a\u0000b"] } },
            "servers": {} }"#,
        Format::McpServers,
    );
    for (name, part) in [
        ("a", "`args`"),
        ("a", "`N`"),
        ("a", "`BAD=NAME`"),
        ("a", "`cwd`"),
        ("a", "`surprise`"),
        ("b", "`Host`"),
        ("b", "`x y`"),
        ("b", "`x-a`"),
        ("b", "`X-Lines`"),
        ("b", "`timeout`"),
        ("c", "the program counts"),
        ("d", "neither"),
        ("e", "not an object"),
        ("f", "left out"),
        ("g", "left out"),
    ] {
        assert!(noted(&found, Some(name), part), "{name} {part} {:#?}", found.notes);
    }
    assert!(noted(&found, None, "`servers`"));
    let names: Vec<&str> = found.servers.iter().map(|server| server.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert!(server(&found, "b").toml().contains(
        "
X-A = \"1\"
"
    ));
}

#[test]
fn what_is_no_configuration_is_an_error() {
    let many: serde_json::Map<_, _> =
        (0..=MAX_SERVERS).map(|number| (format!("s{number}"), json!({ "command": "x" }))).collect();
    for (text, format, expected) in [
        ("", None, "empty"),
        ("  \n", None, "empty"),
        ("// only a comment", None, "empty"),
        ("{}", None, "recognised"),
        ("{\"a\": 1}", None, "recognised"),
        ("[]", Some(Format::Gemini), "recognised"),
        ("{\"mcpServers\": {\"a\": ", None, "line 1"),
        ("x = 1", None, "`mcp_servers`"),
        ("x = = 1", None, "TOML"),
        ("{\"mcpServers\": {}}", Some(Format::VsCode), "`servers`"),
        (&json!({ "mcpServers": many }).to_string(), None, "256 servers"),
    ] {
        let error = read(text, format).unwrap_err().to_string();
        assert!(error.contains(expected), "{text:.40} {error}");
    }
    let large = " ".repeat(MAX_BYTES + 1);
    assert_eq!(read(&large, None), Err(ForeignError::TooLarge { most: MAX_BYTES }));
}

#[test]
fn two_values_never_share_a_variable() {
    let found = found(
        r#"{ "mcpServers": {
            "work": { "command": "x", "env": { "TOKEN": "aaaa1111" } },
            "home": { "command": "x", "env": { "TOKEN": "bbbb2222" } },
            "same": { "command": "x", "env": { "TOKEN": "aaaa1111" } },
            "refers": { "command": "x", "env": { "K": "${API_TOKEN}" } },
            "lifts": { "command": "x", "env": { "API_TOKEN": "cccc3333" } },
            "path": { "command": "x", "env": { "PATH": "/opt/Ab3dE6gH9jK2mN5pQ8sT1/bin:/usr/bin" } } } }"#,
        Format::McpServers,
    );
    let variables: Vec<String> = found.servers.iter().map(|server| server.variables.join(" ")).collect();
    assert_eq!(variables, ["TOKEN", "HOME_TOKEN", "TOKEN", "", "LIFTS_API_TOKEN", ""]);
}

#[test]
fn a_default_that_is_a_secret_goes_and_its_variable_stays() {
    let found = found(
        r#"{ "mcpServers": { "a": { "command": "x", "env": { "API_KEY": "${MY_KEY:-hunter2}", "MODE": "${MODE:-fast}" } } } }"#,
        Format::McpServers,
    );
    let toml = found.servers[0].toml();
    assert!(toml.contains("API_KEY = \"env:MY_KEY\"\nMODE = \"${MODE:-fast}\"\n"), "{toml}");
    assert!(noted(&found, Some("a"), "default of `MY_KEY`"));
}

/// A megabyte that is made to be looked through again and again is looked through once.
#[test]
fn texts_that_mean_nothing_are_not_read() {
    let pieces = [
        "$a",
        "${",
        "key=",
        "://a:b@",
        "key: Bearer ",
        "a-1B",
        "a://",
        "${A:-",
        "://a@",
        "a=a:",
        "%3D%253D",
        "\"'",
        "--key ",
        "Bearer ",
        "{env:a}",
        "?key=$",
        "a@b",
    ];
    for piece in pieces {
        let long = piece.repeat(MAX_BYTES / 2 / piece.len());
        let file =
            json!({ "mcpServers": { "a": { "command": "x", "trust": true, "args": [long], "url": long } } });
        let found = read(&file.to_string(), Some(Format::Gemini));
        assert!(found.is_err() || found.is_ok_and(|found| noted(&found, Some("a"), "16 KiB")));
        let many: Vec<String> = vec![piece.repeat(16 * 1024 / piece.len()); 4];
        for format in [Format::Gemini, Format::OpenCode] {
            let key = if format == Format::OpenCode { "mcp" } else { "mcpServers" };
            let file = json!({ key: { "a": { "command": "x", "args": many, "env": { "A": many[0] } } } });
            let _ = hang_guard::run(piece, move || read(&file.to_string(), Some(format)));
        }
    }
}

#[test]
fn many_secrets_are_named_in_no_time() {
    let server = |of: usize| {
        let args: Vec<String> = (0..1024).map(|at| format!("--key=a{of}-{at}")).collect();
        (format!("s{of}"), json!({ "command": "x", "args": args }))
    };
    let servers: serde_json::Map<_, _> = (0..30).map(server).collect();
    let file = json!({ "mcpServers": servers }).to_string();
    let found = hang_guard::run("naming many secrets", move || found(&file, Format::McpServers));
    assert!(found.servers.iter().all(|server| server.variables.len() == 1024));
    let args = vec!["a"; 1025];
    let found = super::found(
        &json!({ "mcpServers": { "a": { "command": "x", "args": args } } }).to_string(),
        Format::McpServers,
    );
    assert!(noted(&found, Some("a"), "at most 1024"));
}

#[test]
fn what_allows_nothing_allows_nothing_here() {
    for (file, excluded) in [
        ("[mcp_servers.a]\ncommand = \"x\"\nenabled_tools = []", true),
        ("[mcp_servers.a]\ncommand = \"x\"\nenabled_tools = [[]]", true),
        ("[mcp_servers.a]\ncommand = \"x\"\ndisabled_tools = []", false),
        (r#"{"mcpServers": {"a": {"command": "x", "tools": []}}}"#, true),
        (r#"{"mcpServers": {"a": {"command": "x", "tools": ["*"]}}}"#, false),
        (r#"{"mcpServers": {"a": {"command": "x", "tools": null}}}"#, false),
        (r#"{"mcpServers": {"a": {"command": "x", "includeTools": []}}}"#, true),
        (r#"{"mcpServers": {"a": {"command": "x", "includeTools": "get"}}}"#, true),
        (r#"{"mcpServers": {"a": {"command": "x", "includeTools": ["b"], "tools": ["c"]}}}"#, true),
    ] {
        let found = read(file, None).unwrap();
        let server = server(&found, "a");
        assert!(server.include.is_empty());
        assert_eq!(server.exclude == ["*"], excluded, "{file}");
        assert_eq!(noted(&found, Some("a"), "`exclude = [\"*\"]`"), excluded, "{file}");
        assert_eq!(server.toml().contains("[tools]\nexclude = [\"*\"]\n"), excluded, "{}", server.toml());
    }
}
