//! `[connection]` and `[tools]`.

use serde_json::{Value, json};

use super::field::{and, choice, duration, flag, named_texts, table, text, texts};
use super::{policy, trial};
use crate::connection::{PROTOCOLS, TRANSPORTS};
use crate::grants::{LOG_LEVELS, MAX_ROOTS};
use crate::oauth::{AUTHS, MAX_SCOPES};
use crate::policy::MAX_TIMEOUT;
use crate::program::MAX_WORDS;

pub(super) fn connection() -> Value {
    let keys = json!({
        "transport": choice("How the server is reached", &TRANSPORTS, json!({})),
        "command": texts(
            "For `stdio`: program and arguments, no shell; each word is an element of its own",
            json!({ "minItems": 1, "maxItems": MAX_WORDS, "examples": [["npx", "-y", "some-server@1.2.3"]] }),
        ),
        "environment": environment(),
        "cwd": cwd(),
        "url": text("For `http`: its address; `${VAR}` is a variable", json!({ "examples": ["https://example.com/mcp"] })),
        "headers": named_texts(
            "For `http`: sent with each request; `${VAR}` is a variable",
            json!({ "Authorization": "Bearer ${TOKEN}" }),
        ),
        "connect_timeout": duration("From starting it to its list of tools", MAX_TIMEOUT),
        "protocol": choice("Which era of MCP it speaks; `auto` finds out", &PROTOCOLS, json!({ "default": "auto" })),
        "auth": choice("For `http`: how it is told who you are; `oauth` needs one `converse ensembles login`", &AUTHS, json!({})),
        "oauth": oauth(),
        "roots": texts(
            "Directories that the server is told of, relative to the one converse is started in",
            json!({ "maxItems": MAX_ROOTS, "examples": [["."]] }),
        ),
        "elicitation": flag("May it have you asked something, on a terminal?", true),
        "sampling": flag("May it ask the model? Under your rules, limits and audit", false),
        "log_level": choice("From which level on its log is kept", &LOG_LEVELS, json!({})),
    });
    let none = |keys: &[&str]| -> Value {
        keys.iter().map(|key| ((*key).to_owned(), json!({ "not": {} }))).collect()
    };
    let transport = |word: &str| json!({ "transport": { "enum": [word] } });
    let ways = json!([
        { "required": ["command"], "properties": and(transport("stdio"), none(&["url", "headers", "auth", "oauth"])) },
        { "required": ["url"], "properties": and(transport("http"), none(&["command", "environment", "cwd"])) },
    ]);
    let server = table("A server that speaks MCP; its tools are those of the ensemble", keys, &["transport"]);
    and(server, json!({ "oneOf": ways }))
}

fn oauth() -> Value {
    let keys = json!({
        "client_id": text("Of a client that was registered by hand", json!({ "examples": ["env:CLIENT_ID"] })),
        "client_secret": text("Its secret", json!({ "examples": ["env:CLIENT_SECRET"] })),
        "scopes": texts("What to ask for; what the server names, if empty", json!({ "maxItems": MAX_SCOPES })),
        "client_metadata_url": text("The address of a document that describes the client", json!({ "pattern": "^https://" })),
        "redirect_port": json!({
            "description": "The port on this machine where the browser comes back to; any free one without it",
            "type": "integer", "minimum": 1, "maximum": 65535,
        }),
    });
    table("For `auth = \"oauth\"`: what the server cannot say itself", keys, &[])
}

/// `[command]` says it alike.
pub(super) fn environment() -> Value {
    named_texts(
        "Variables for the program; `env:NAME` or `${NAME}` is one of your own",
        json!({ "API_KEY": "env:API_KEY" }),
    )
}

pub(super) fn cwd() -> Value {
    let rest = json!({ "minLength": 1, "examples": ["notes"] });
    text("Its directory, relative to the one converse is started in; nothing is filled in", rest)
}

pub(super) fn tools() -> Value {
    let globs = |description: &str| texts(description, json!({ "examples": [["get_*"]] }));
    let keys = json!({
        "include": globs("Only tools whose name matches one of these; all, if empty"),
        "exclude": globs("Not those whose name matches one of these"),
    });
    let of_tool = policy::keys_and(json!({ "tests": trial::tests() }));
    let chosen = table("Which of the discovered tools are used, and how", keys, &[]);
    and(chosen, json!({ "additionalProperties": table("One discovered tool, by its name", of_tool, &[]) }))
}
