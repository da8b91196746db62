//! `[connection]` and `[tools]`.

use serde_json::{Value, json};

use super::field::{and, choice, duration, flag, named_texts, table, text, texts};
use super::invoker::{tests, with_policy_keys};
use crate::connection::{PROTOCOLS, TRANSPORTS};
use crate::grants::{LOG_LEVELS, MAX_ROOTS};
use crate::oauth::{AUTHS, MAX_SCOPES};
use crate::policy::MAX_TIMEOUT;
use crate::program::MAX_WORDS;

pub(super) fn connection() -> Value {
    let keys = json!({
        "transport": choice("How the server is reached", &TRANSPORTS, json!({})),
        "command": texts(
            "For `stdio`: program and arguments, without a shell; each word is an element of its own",
            json!({ "minItems": 1, "maxItems": MAX_WORDS, "examples": [["npx", "-y", "some-server@1.2.3"]] }),
        ),
        "environment": environment(),
        "cwd": cwd(),
        "url": text("For `http`: URL of the server; `${VAR}` is a variable", json!({ "examples": ["https://example.com/mcp"] })),
        "headers": named_texts(
            "For `http`: headers of every request; `${VAR}` is a variable",
            json!({ "Authorization": "Bearer ${TOKEN}" }),
        ),
        "connect_timeout": duration("Time from starting the server to its list of tools", MAX_TIMEOUT),
        "protocol": choice("Era of MCP that the server speaks; `auto` detects it", &PROTOCOLS, json!({ "default": "auto" })),
        "auth": choice("For `http`: how to authenticate; `oauth` needs `converse ensembles login` once", &AUTHS, json!({})),
        "oauth": oauth(),
        "roots": texts(
            "Directories to announce to the server, relative to the directory where converse starts",
            json!({ "maxItems": MAX_ROOTS, "examples": [["."]] }),
        ),
        "elicitation": flag("Allow the server to ask you for input on a terminal", true),
        "sampling": flag("Allow the server to ask the model, under your rules, limits and audit", false),
        "log_level": choice("Lowest level of the server's log messages", &LOG_LEVELS, json!({})),
    });
    let none = |keys: &[&str]| -> Value {
        keys.iter().map(|key| ((*key).to_owned(), json!({ "not": {} }))).collect()
    };
    let transport = |word: &str| json!({ "transport": { "enum": [word] } });
    let ways = json!([
        { "required": ["command"], "properties": and(transport("stdio"), none(&["url", "headers", "auth", "oauth"])) },
        { "required": ["url"], "properties": and(transport("http"), none(&["command", "environment", "cwd"])) },
    ]);
    let server = table("An MCP server; its tools are the tools of the ensemble", keys, &["transport"]);
    and(server, json!({ "oneOf": ways }))
}

fn oauth() -> Value {
    let keys = json!({
        "client_id": text("Id of a client that was registered by hand", json!({ "examples": ["env:CLIENT_ID"] })),
        "client_secret": text("Secret of that client", json!({ "examples": ["env:CLIENT_SECRET"] })),
        "scopes": texts("Scopes to request; if empty, the scopes that the server names", json!({ "maxItems": MAX_SCOPES })),
        "client_metadata_url": text("URL of a document that describes the client", json!({ "pattern": "^https://" })),
        "redirect_port": json!({
            "description": "Port on this machine to which the browser returns; by default any free port",
            "type": "integer", "minimum": 1, "maximum": 65535,
        }),
    });
    table("For `auth = \"oauth\"`: settings that the server does not announce", keys, &[])
}

/// Returns the schema of `environment`, also for `[command]`.
pub(super) fn environment() -> Value {
    named_texts(
        "Environment variables of the program; `env:NAME` or `${NAME}` is one of your own",
        json!({ "API_KEY": "env:API_KEY" }),
    )
}

pub(super) fn cwd() -> Value {
    let rest = json!({ "minLength": 1, "examples": ["notes"] });
    text("Working directory, relative to the directory where converse starts; no placeholders", rest)
}

pub(super) fn tools() -> Value {
    let globs = |description: &str| texts(description, json!({ "examples": [["get_*"]] }));
    let keys = json!({
        "include": globs("Use only tools whose name matches one of these globs; if empty, all tools"),
        "exclude": globs("Leave out tools whose name matches one of these globs"),
    });
    let of_tool = with_policy_keys(json!({ "tests": tests() }));
    let chosen = table("Selection and policy of the tools that the server offers", keys, &[]);
    and(
        chosen,
        json!({ "additionalProperties": table("Policy of one tool of the server, by its name", of_tool, &[]) }),
    )
}
