//! What the documentation of each program looks_secret, in our own words where words are free.

use std::time::Duration;

use super::{found, noted, server};
use crate::{Format, Reach, read};

fn stdio(server: &crate::Server) -> (Vec<&str>, Vec<(&str, &str)>) {
    let Reach::Stdio { command, environment, .. } = &server.reach else { panic!("{server:?}") };
    let environment = environment.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    (command.iter().map(String::as_str).collect(), environment)
}

fn http(server: &crate::Server) -> (&str, Vec<(&str, &str)>) {
    let Reach::Http { url, headers } = &server.reach else { panic!("{server:?}") };
    (url, headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect())
}

/// `~/.claude.json`: `claude mcp add` writes servers of one project by default.
#[test]
fn servers_of_claude_codes_projects() {
    let projects = r#""numStartups": 7, "projects": {
        "/home/me/shop": { "allowedTools": [], "mcpServers": {
            "db": { "type": "stdio", "command": "db-server", "args": [], "env": { "DB_TOKEN": "s3cr3t-0123456789abcdef" } },
            "same": { "type": "http", "url": "https://m.example.com/mcp" } } },
        "/home/me/blog": { "mcpServers": {
            "db": { "command": "other-server", "cwd": "/srv" },
            "same": { "type": "http", "url": "https://m.example.com/mcp" } } },
        "/home/me/none": { "mcpServers": {} } }"#;
    for (global, wanted) in [
        ("", vec!["db", "same", "db-2"]),
        (
            r#""mcpServers": { "same": { "type": "http", "url": "https://m.example.com/mcp" } },"#,
            vec!["same", "db", "db-2"],
        ),
    ] {
        let found = found(&format!("{{ {global} {projects} }}"), Format::McpServers);
        let names: Vec<_> = found.servers.iter().map(|server| server.name.as_str()).collect();
        assert_eq!(names, wanted);
        let cwd = |name: &str| match &server(&found, name).reach {
            Reach::Stdio { cwd, .. } => cwd.clone(),
            Reach::Http { .. } => None,
        };
        assert_eq!((cwd("db").as_deref(), cwd("db-2").as_deref()), (Some("/home/me/shop"), Some("/srv")));
        assert!(noted(&found, Some("db"), "the project `/home/me/shop` and starts there"), "{found:#?}");
        assert!(!format!("{found:?}").contains("s3cr3t"));
    }
    let found = read(&format!("{{ {projects} }}"), None).unwrap();
    assert_eq!(found.servers.len(), 3, "it is recognised by its projects");
}

#[test]
fn mcp_servers_of_claude_cursor_and_windsurf() {
    let found = found(
        r#"{ "mcpServers": {
            "files": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/me/Desk"] },
            "db": { "type": "stdio", "command": "${BIN:-/opt}/db", "args": ["--config", "${CONF}"],
                    "env": { "DB_URL": "${DB_URL}", "CACHE": "/tmp", "PORT": 8080 }, "alwaysAllow": ["query"] },
            "api": { "type": "http", "url": "${API:-https://api.example.com}/mcp",
                     "headers": { "Authorization": "Bearer ${API_KEY}" }, "timeout": 60000 },
            "old": { "type": "sse", "url": "https://mcp.example.com/sse" },
            "cursor": { "url": "https://c.example.com/mcp", "headers": { "X-Key": "${env:MY_KEY}" } },
            "here": { "command": "python", "args": ["${workspaceFolder}/tools/s.py"], "envFile": "${userHome}/.env",
                      "cwd": "${workspaceFolder}/tools" },
            "surf": { "serverUrl": "https://w.example.com/mcp", "disabled": true, "disabledTools": ["rm[x]"] } } }"#,
        Format::McpServers,
    );
    assert_eq!(stdio(server(&found, "files")).0[2], "@modelcontextprotocol/server-filesystem");
    assert_eq!(
        stdio(server(&found, "db")),
        (
            vec!["${BIN:-/opt}/db", "--config", "env:CONF"],
            vec![("DB_URL", "env:DB_URL"), ("CACHE", "/tmp"), ("PORT", "8080")]
        )
    );
    let api = server(&found, "api");
    assert_eq!(
        http(api),
        ("${API:-https://api.example.com}/mcp", vec![("Authorization", "Bearer ${API_KEY}")])
    );
    assert_eq!(api.timeout, Some(Duration::from_secs(60)));
    assert!(server(&found, "old").enabled && noted(&found, Some("old"), "HTTP+SSE"));
    assert_eq!(http(server(&found, "cursor")).1, [("X-Key", "env:MY_KEY")]);
    let Reach::Stdio { cwd, command, .. } = &server(&found, "here").reach else { panic!() };
    assert_eq!((cwd.as_deref(), command[1].as_str()), (Some("tools"), "${PWD}/tools/s.py"));
    assert!(noted(&found, Some("here"), "`envFile`") && noted(&found, Some("db"), "`alwaysAllow`"));
    let surf = server(&found, "surf");
    assert!(!surf.enabled);
    assert_eq!(surf.exclude, ["rm[[]x[]]"]);
    assert!(found.servers.iter().all(|server| server.variables.is_empty()), "{found:#?}");
}

#[test]
fn vs_code() {
    let found = found(
        r#"{ // asked for once
          "inputs": [{ "type": "promptString", "id": "perplexity-key", "description": "Key", "password": true }],
          "servers": {
            "perplexity": { "type": "stdio", "command": "npx", "args": ["-y", "server-perplexity-ask"],
                            "env": { "PERPLEXITY_API_KEY": "${input:perplexity-key}" }, "envFile": "${workspaceFolder}/.env" },
            "github": { "type": "http", "url": "https://api.example.com/mcp/" },
            "legacy": { "type": "sse", "url": "http://localhost:3001/sse" },
            "socket": { "type": "http", "url": "unix:///path/to/server.sock" },
            "boxed": { "command": "python", "sandboxEnabled": true, "dev": { "watch": "x" } }, } }"#,
        Format::VsCode,
    );
    assert_eq!(stdio(server(&found, "perplexity")).1, [("PERPLEXITY_API_KEY", "env:PERPLEXITY_KEY")]);
    assert!(noted(&found, None, "`PERPLEXITY_KEY`"), "{:#?}", found.notes);
    assert!(server(&found, "legacy").enabled && noted(&found, Some("legacy"), "HTTP+SSE"));
    assert!(noted(&found, Some("socket"), "left out"));
    assert_eq!(found.servers.len(), 4);
    let settings = r#"{ "editor.fontSize": 14, "mcp": { "servers": { "a": { "command": "x" } } } }"#;
    assert_eq!(super::found(settings, Format::VsCode).servers[0].name, "a");
}

#[test]
fn codex() {
    let found = found(
        r#"
model = "gpt-5"

[mcp_servers.context7]
command = "npx"
args = ["-y", "@upstash/context7-mcp"]
env_vars = ["LOCAL_TOKEN", { name = "OTHER", source = "local" }]
startup_timeout_sec = 20
[mcp_servers.context7.env]
MY_VAR = "${not a reference}"

[mcp_servers.figma]
url = "https://mcp.example.com/mcp"
bearer_token_env_var = "FIGMA_TOKEN"
http_headers = { "X-Region" = "us-east-1" }
env_http_headers = { "X-Team" = "TEAM" }
enabled = false
tool_timeout_sec = 0.5

[mcp_servers."chrome devtools"]
url = "http://localhost:3000/mcp"
enabled_tools = ["open", "screenshot"]
disabled_tools = ["screenshot"]
default_tools_approval_mode = "approve"
required = true
tool_timeout_sec = 6000
"#,
        Format::Codex,
    );
    let context7 = server(&found, "context7");
    assert_eq!(context7.connect_timeout, Some(Duration::from_secs(20)));
    let (_, environment) = stdio(context7);
    assert_eq!(
        environment,
        [("MY_VAR", "env:MY_VAR"), ("LOCAL_TOKEN", "env:LOCAL_TOKEN"), ("OTHER", "env:OTHER")]
    );
    let figma = server(&found, "figma");
    assert!(!figma.enabled && figma.timeout == Some(Duration::from_millis(500)));
    assert_eq!(
        http(figma).1,
        [("X-Region", "us-east-1"), ("X-Team", "env:TEAM"), ("Authorization", "Bearer ${FIGMA_TOKEN}")]
    );
    let chrome = server(&found, "chrome-devtools");
    assert!(chrome.required && chrome.timeout == Some(Duration::from_secs(600)));
    assert_eq!((chrome.include.len(), chrome.exclude.len()), (2, 1));
    assert!(noted(&found, Some("chrome devtools"), "`default_tools_approval_mode`"));
}

#[test]
fn gemini() {
    let found = found(
        r#"{ "selectedAuthType": "x", "mcp": { "excluded": ["off"] }, "mcpServers": {
            "python": { "command": "python", "args": ["-m", "server", "--port", "8080"], "cwd": "./servers",
                        "env": { "DATABASE_URL": "$DB_STRING", "API_KEY": "${EXTERNAL_KEY}" }, "timeout": 15000 },
            "trusting": { "command": "node", "args": ["dist/s.js"], "trust": true },
            "http": { "httpUrl": "http://localhost:3000/mcp", "timeout": 500,
                      "headers": { "Content-Type": "application/json" }, "includeTools": ["a"], "excludeTools": ["b"] },
            "sse": { "url": "http://localhost:8080/sse" },
            "typed": { "url": "http://localhost:8080/mcp", "type": "http" },
            "off": { "command": "x" } } }"#,
        Format::Gemini,
    );
    assert_eq!(
        stdio(server(&found, "python")).1,
        [("DATABASE_URL", "env:DB_STRING"), ("API_KEY", "env:EXTERNAL_KEY")]
    );
    assert!(noted(&found, Some("trusting"), "`trust`"));
    assert_eq!(server(&found, "http").timeout, Some(Duration::from_millis(500)));
    let enabled: Vec<bool> = found.servers.iter().map(|server| server.enabled).collect();
    assert_eq!(enabled, [true, true, true, true, true, false]);
}

#[test]
fn oauth_of_each_program() {
    let claude = r#"{ "mcpServers": { "a": { "type": "http", "url": "https://a.example/mcp",
        "oauth": { "clientId": "me", "callbackPort": 8080, "scopes": "x:read x:write",
                   "authServerMetadataUrl": "https://b.example/meta" } } } }"#;
    let gemini = r#"{ "mcpServers": { "a": { "httpUrl": "https://a.example/mcp",
        "oauth": { "enabled": true, "clientId": "me", "scopes": ["x:read", "x:write"],
                   "redirectUri": "http://localhost:8080/callback", "tokenUrl": "https://b.example/t" } } } }"#;
    let vscode = r#"{ "servers": { "a": { "type": "http", "url": "https://a.example/mcp",
        "oauth": { "clientId": "${input:me}", "callbackPort": 8080, "scopes": "x:read x:write", "other": 1 } } },
        "inputs": [{ "id": "me" }] }"#;
    let cursor = r#"{ "mcpServers": { "a": { "url": "https://a.example/mcp",
        "auth": { "CLIENT_ID": "me", "CLIENT_SECRET": "${env:SECRET}", "scopes": ["x:read", "x:write"],
                  "redirect_port": 8080, "audience": "x" } } } }"#;
    let opencode = r#"{ "mcp": { "a": { "type": "remote", "url": "https://a.example/mcp",
        "oauth": { "clientId": "me", "clientSecret": "{env:SECRET}", "scope": "x:read x:write", "callbackPort": 8080,
                   "more": {} } } } }"#;
    let codex = "[mcp_servers.a]\nurl = \"https://a.example/mcp\"\nscopes = [\"x:read\", \"x:write\"]\n\
                 oauth_resource = \"https://a.example\"\n[mcp_servers.a.oauth]\nclient_id = \"me\"\n\
                 callback_port = 8080\n";
    for (text, format, id, secret) in [
        (claude, Format::McpServers, "me", None),
        (gemini, Format::Gemini, "me", None),
        (vscode, Format::VsCode, "env:ME", None),
        (cursor, Format::McpServers, "me", Some("env:SECRET")),
        (opencode, Format::OpenCode, "me", Some("env:SECRET")),
        (codex, Format::Codex, "me", None),
    ] {
        let found = found(text, format);
        let oauth = server(&found, "a").oauth.as_ref().unwrap();
        assert_eq!(oauth.client_id.as_deref(), Some(id), "{format:?}");
        assert_eq!(oauth.client_secret.as_deref(), secret, "{format:?}");
        assert_eq!(oauth.scopes, ["x:read", "x:write"], "{format:?}");
        assert_eq!(oauth.redirect_port, Some(8080), "{format:?}");
        assert!(noted(&found, Some("a"), "not imported"), "each has a key without counterpart: {found:#?}");
        assert!(noted(&found, Some("a"), "`converse ensembles login a`"), "{found:#?}");
        let toml = server(&found, "a").toml();
        assert!(toml.contains("auth = \"oauth\"\n") && toml.contains("\n[connection.oauth]\n"), "{toml}");
    }
}

#[test]
fn oauth_without_a_client_and_without_a_server() {
    let entry = |keys: &str| {
        let text = format!(r#"{{ "mcpServers": {{ "a": {{ "url": "https://a.example/mcp", {keys} }} }} }}"#);
        found(&text, Format::McpServers)
    };
    for (keys, is_oauth) in [
        (r#""oauth": {}"#, true),
        (r#""oauth": true"#, true),
        (r#""auth": "oauth""#, true),
        (r#""oauth": { "enabled": true }"#, true),
        (r#""oauth": false"#, false),
        (r#""oauth": null"#, false),
        (r#""oauth": { "enabled": false, "clientId": "x" }"#, false),
        (r#""auth": "saml""#, false),
        (r#""oauth": {}, "headers": { "authorization": "Bearer ${T}" }"#, false),
    ] {
        let found = entry(keys);
        let toml = server(&found, "a").toml();
        assert_eq!(toml.contains("auth = \"oauth\""), is_oauth, "{keys}: {toml}");
        assert!(!toml.contains("[connection.oauth]"), "{keys}: {toml}");
    }
    assert!(noted(&entry(r#""auth": "saml""#), Some("a"), "`auth` is not imported"));
    let both = entry(r#""oauth": {}, "headers": { "Authorization": "Bearer ${T}" }"#);
    assert!(noted(&both, Some("a"), "`Authorization`"), "{both:#?}");
    let program = found(
        r#"{ "mcpServers": { "a": { "command": "x", "oauth": { "clientId": "y" } } } }"#,
        Format::McpServers,
    );
    assert!(server(&program, "a").oauth.is_none() && noted(&program, Some("a"), "`oauth`"), "{program:#?}");
}

#[test]
fn opencode() {
    let one = found(
        r#"{ "$schema": "https://opencode.ai/config.json", "mcp": {
            "everything": { "type": "local", "command": ["npx", "-y", "@modelcontextprotocol/server-everything"],
                            "enabled": true, "environment": { "LEVEL": "{env:LEVEL}" }, "timeout": 10000 },
            "sentry": { "type": "remote", "url": "https://mcp.example.dev/mcp", "oauth": {}, "enabled": false,
                        "headers": { "X-Api-Key": "{env:CONTEXT7}" } },
            "keyed": { "type": "remote", "url": "https://k.example.dev/mcp", "headers": { "X-Key": "{file:~/.key}" } },
            "theirs": { "enabled": true } } }"#,
        Format::OpenCode,
    );
    let everything = server(&one, "everything");
    assert_eq!(stdio(everything).1, [("LEVEL", "env:LEVEL")]);
    assert_eq!(everything.connect_timeout, Some(Duration::from_secs(10)));
    let sentry = server(&one, "sentry");
    assert!(!sentry.enabled && http(sentry).1 == [("X-Api-Key", "env:CONTEXT7")]);
    assert_eq!(http(server(&one, "keyed")).1, [("X-Key", "env:KEYED_X_KEY")]);
    assert!(noted(&one, Some("theirs"), "neither"));
    let two = found(
        r#"{ "mcp": { "servers": { "a": { "type": "local", "command": ["x"], "cwd": ".", "disabled": true,
             "timeout": { "startup": 5000, "request": 7000 } } } } }"#,
        Format::OpenCode,
    );
    let a = server(&two, "a");
    assert!(!a.enabled && a.timeout == Some(Duration::from_secs(7)) && two.notes.is_empty(), "{two:#?}");
}

#[test]
fn zed_and_the_plain_list() {
    let zed = found(
        r#"{ "theme": "One", "context_servers": {
            "local": { "command": "some", "args": ["a"], "env": {} },
            "older": { "source": "custom", "command": { "path": "p", "args": ["b"], "env": { "A": "1" } } },
            "remote": { "url": "https://z.example/mcp" }, "extension": { "settings": { "x": 1 } } } }"#,
        Format::Zed,
    );
    assert_eq!(stdio(server(&zed, "older")), (vec!["p", "b"], vec![("A", "1")]));
    assert_eq!(zed.servers.len(), 3);
    let list = found(
        r#"{"servers":[{"id":"web","enabled":true,"transport":"stdio","command":"uvx","args":["mcp-server-fetch"],"env":{}},
            {"id":"off","enabled":false,"transport":"stdio","command":"x"},{"transport":"stdio"}]}"#,
        Format::List,
    );
    assert_eq!(stdio(server(&list, "web")).0, ["uvx", "mcp-server-fetch"]);
    assert!(!server(&list, "off").enabled && noted(&list, None, "no `id`"));
}

/// `mcp-remote` fills its variables into its own words; here they are one.
#[test]
fn what_a_server_is_given_stands_in_its_words_too() {
    let found = found(
        r#"{ "mcpServers": {
            "remote": { "command": "npx", "args": ["mcp-remote", "--header", "Authorization:${AUTH_HEADER}", "--port=${PORT}", "${OTHER:-x}", "${HOST}", "${SAME:-z}"],
                        "env": { "AUTH_HEADER": "Bearer abc0123456789", "PORT": "3000", "OTHER": "${HOME}/y", "SAME": "${SAME}" } },
            "plain": { "command": "x", "args": ["${PORT}"], "env": { "A_TOKEN": "${AUTH_HEADER}-0123456789abc" } } } }"#,
        Format::McpServers,
    );
    let of = |name: &str| match &server(&found, name).reach {
        Reach::Stdio { command, environment, .. } => (command.clone(), environment.clone()),
        Reach::Http { .. } => panic!("{found:#?}"),
    };
    let (command, environment) = of("remote");
    // Somebody else refers to a variable of that name, which is another.
    let header = "Authorization:${REMOTE_AUTH_HEADER}";
    assert_eq!(
        command,
        ["npx", "mcp-remote", "--header", header, "--port=3000", "${HOME}/y", "env:HOST", "${SAME:-z}"]
    );
    let wanted = [
        ("AUTH_HEADER", "env:REMOTE_AUTH_HEADER"),
        ("PORT", "3000"),
        ("OTHER", "${HOME}/y"),
        ("SAME", "env:SAME"),
    ];
    assert_eq!(environment, wanted.map(|(name, value)| (name.to_owned(), value.to_owned())));
    assert_eq!(server(&found, "remote").variables, ["REMOTE_AUTH_HEADER"]);
    assert_eq!(of("plain").0, ["x", "env:PORT"]);

    let alone = r#"{ "mcpServers": { "remote": { "command": "x", "args": ["--header", "Authorization:${AUTH_HEADER}"],
                                                 "env": { "AUTH_HEADER": "Bearer abc0123456789" } } } }"#;
    let found = read(alone, None).unwrap();
    assert_eq!(found.servers[0].variables, ["AUTH_HEADER"]);
    let Reach::Stdio { command, environment, .. } = &found.servers[0].reach else { panic!("{found:#?}") };
    assert_eq!(command[2], "Authorization:${AUTH_HEADER}");
    assert_eq!(environment[0].1, "env:AUTH_HEADER");
}

/// However often it is referred to.
#[test]
fn words_do_not_grow_without_end() {
    let word = "${A}".repeat(4000);
    let text = serde_json::json!({ "mcpServers": { "a": { "command": "x", "args": vec![word; 16], "env": { "A": "b".repeat(8000) } } } });
    let found = read(&text.to_string(), None).unwrap();
    assert!(format!("{found:?}").len() < 1_500_000);
}
