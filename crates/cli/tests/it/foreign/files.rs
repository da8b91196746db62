//! Configuration files in the shapes that six programs document; pages checked 2026-11.

pub(crate) struct Program {
    /// As the program calls it.
    pub(crate) file: &'static str,
    pub(crate) text: &'static str,
    /// What becomes of it, sorted, and which of these are enabled.
    pub(crate) names: &'static [&'static str],
    pub(crate) enabled: &'static [bool],
    pub(crate) notes: &'static [&'static str],
}

pub(crate) const PROGRAMS: &[Program] = &[
    // https://modelcontextprotocol.io/docs/develop/connect-local-servers
    Program {
        file: "claude_desktop_config.json",
        text: r#"{
  "mcpServers": {
    "filesystem": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "/Users/me/Desktop", "/Users/me/Downloads"]
    },
    "brave-search": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-brave-search"],
      "env": { "BRAVE_API_KEY": "SECRET" }
    },
    "db": { "command": "uvx", "args": ["db-server", "postgresql://me:SECRET@localhost/mydb"] }
  }
}"#,
        names: &["brave-search", "db", "filesystem"],
        enabled: &[true, true, true],
        notes: &["brave-search: possible secrets", "`BRAVE_API_KEY`", "`DB_PASSWORD`"],
    },
    // https://code.claude.com/docs/en/mcp, https://cursor.com/docs/mcp
    Program {
        file: ".mcp.json",
        text: r#"{
  "mcpServers": {
    "api-server": {
      "type": "http",
      "url": "${API_BASE_URL:-https://api.example.com}/mcp",
      "headers": { "Authorization": "Bearer ${API_KEY}" }
    },
    "events": { "type": "sse", "url": "https://mcp.example.com/sse", "headers": { "X-API-Key": "SECRET" } },
    "cursor-style": {
      "command": "python", "args": ["${workspaceFolder}/tools/server.py"],
      "env": { "API_KEY": "${env:API_KEY}" }, "envFile": "${userHome}/.env"
    }
  }
}"#,
        names: &["api-server", "cursor-style", "events"],
        enabled: &[true, true, true],
        notes: &[
            "events: it uses the old HTTP+SSE transport",
            "`EVENTS_X_API_KEY`",
            "cursor-style: `envFile`",
        ],
    },
    // https://code.visualstudio.com/docs/agents/reference/mcp-configuration
    Program {
        file: "mcp.json",
        text: r#"{
  // asked for when a server starts for the first time
  "inputs": [
    { "type": "promptString", "id": "api-key", "description": "API key", "password": true },
  ],
  "servers": {
    "memory": { "type": "stdio", "command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"] },
    "keyed": {
      "type": "stdio", "command": "npx", "args": ["-y", "keyed-server"],
      "env": { "API_KEY": "${input:api-key}", "OTHER_TOKEN": "SECRET" }, "envFile": "${workspaceFolder}/.env",
    },
    "remote": { "type": "http", "url": "https://api.example.com/mcp/", "headers": { "Authorization": "Bearer ${input:api-key}" } },
  },
}"#,
        names: &["keyed", "memory", "remote"],
        enabled: &[true, true, true],
        notes: &[
            "VS Code asks for the input `api-key`; set the variable `API_KEY`",
            "`OTHER_TOKEN`",
            "`envFile`",
        ],
    },
    // https://developers.openai.com/codex/mcp
    Program {
        file: "config.toml",
        text: r#"
model = "gpt-5.5"
approval_policy = "on-request"

[mcp_servers.context7]
command = "npx"
args = ["-y", "@upstash/context7-mcp", "--api-key", "SECRET"]
env_vars = ["LOCAL_TOKEN"]

[mcp_servers.context7.env]
MY_ENV_VAR = "MY_ENV_VALUE"

[mcp_servers.figma]
url = "https://mcp.figma.example/mcp"
bearer_token_env_var = "FIGMA_OAUTH_TOKEN"
http_headers = { "X-Figma-Region" = "us-east-1" }

[mcp_servers.chrome_devtools]
url = "http://localhost:3000/mcp"
enabled_tools = ["open", "screenshot"]
disabled_tools = ["screenshot"]
default_tools_approval_mode = "prompt"
startup_timeout_sec = 20
tool_timeout_sec = 45
enabled = false

[mcp_servers.chrome_devtools.tools.open]
approval_mode = "approve"
"#,
        names: &["chrome_devtools", "context7", "figma"],
        enabled: &[false, true, true],
        notes: &["`default_tools_approval_mode`", "`tools` is not imported", "`CONTEXT7_API_KEY`"],
    },
    // https://geminicli.com/docs/tools/mcp-server
    Program {
        file: "settings.json",
        text: r#"{
  "selectedAuthType": "oauth-personal",
  "mcp": { "allowed": ["pythonTools", "httpServer", "sseServer"] },
  "mcpServers": {
    "pythonTools": {
      "command": "python", "args": ["-m", "my_mcp_server", "--port", "8080"], "cwd": "./mcp-servers/python",
      "env": { "DATABASE_URL": "$DB_CONNECTION_STRING", "API_KEY": "${EXTERNAL_API_KEY}" }, "timeout": 15000
    },
    "nodeServer": { "command": "node", "args": ["dist/server.js", "--verbose"], "trust": true },
    "httpServer": {
      "httpUrl": "http://localhost:3000/mcp", "timeout": 5000,
      "headers": { "Authorization": "Bearer SECRET", "X-Custom-Header": "custom-value", "Content-Type": "application/json" },
      "includeTools": ["safe_tool", "file_reader"], "excludeTools": ["file_deleter"]
    },
    "sseServer": { "url": "http://localhost:8080/sse" }
  }
}"#,
        names: &["httpServer", "nodeServer", "pythonTools", "sseServer"],
        enabled: &[true, false, true, true],
        notes: &[
            "nodeServer: `trust` is not imported",
            "`HTTPSERVER_AUTHORIZATION`",
            "sseServer: it uses the old",
        ],
    },
    // https://opencode.ai/v1/docs/mcp-servers/
    Program {
        file: "opencode.jsonc",
        text: r#"{
  "$schema": "https://opencode.ai/config.json",
  "mcp": {
    "everything": {
      "type": "local",
      // or ["bun", "x", "…"]
      "command": ["npx", "-y", "@modelcontextprotocol/server-everything"],
      "enabled": true,
      "environment": { "MY_ENV_VAR": "my_env_var_value", "MY_TOKEN": "SECRET" },
    },
    "context7": {
      "type": "remote", "url": "https://mcp.context7.example/mcp", "enabled": false, "timeout": 20000,
      "headers": { "CONTEXT7_API_KEY": "{env:CONTEXT7_API_KEY}" },
    },
    "sentry": { "type": "remote", "url": "https://mcp.sentry.example/mcp", "oauth": { "clientId": "me", "clientSecret": "SECRET" } },
  },
}"#,
        names: &["context7", "everything", "sentry"],
        enabled: &[false, true, true],
        notes: &["`converse ensembles login sentry`", "`SENTRY_CLIENT_SECRET`", "`MY_TOKEN`"],
    },
    // The plain list of an older converse.
    Program {
        file: "mcp-servers.json",
        text: r#"{"servers": [
  {"id": "fetch", "enabled": true, "transport": "stdio", "command": "uvx", "args": ["mcp-server-fetch"], "env": {}},
  {"id": "search", "enabled": false, "transport": "stdio", "command": "npx", "args": ["-y", "tavily-mcp"], "env": {"TAVILY_API_KEY": "SECRET"}}
]}"#,
        names: &["fetch", "search"],
        enabled: &[true, false],
        notes: &["`TAVILY_API_KEY`"],
    },
];
