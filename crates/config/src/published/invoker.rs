//! Schemas of one invoker: as a file, or as an `[[invokers]]` entry.

use serde_json::{Value, json};

use super::connection::{cwd, environment};
use super::field::{
    INVOKER_NAME, and, choice, described, description, flag, named_texts, schema, table, text, texts,
};
use super::{policy, trial};
use crate::command::MAX_OPENINGS;
use crate::program::MAX_WORDS;
use crate::request::METHODS;

/// Returns the properties of an invoker file, and the constraints between them.
pub(super) fn file() -> (Value, Value) {
    let head = table("Name and policy of the tool", policy::keys_and(names()), &["name"]);
    let is_builtin = json!({ "properties": { "invoker": { "required": ["builtin"] } } });
    let rest = json!({
        "required": ["invoker"],
        "oneOf": [is_builtin, { "required": ["command"] }, { "required": ["http"] }],
    });
    (and(json!({ "invoker": head }), bodies()), rest)
}

/// Returns the schema of one `[[invokers]]` entry: a `source`, or the content of an invoker file.
pub(super) fn entry() -> Value {
    let source = text(
        "File that declares the tool, relative to this file. Policy keys next to it take precedence over the file",
        json!({ "pattern": "^[^/\\\\:][^\\\\:]*$", "maxLength": 1024, "examples": ["notes/invokers/read_note.toml"] }),
    );
    let keys = and(policy::keys_and(and(json!({ "source": source }), names())), bodies());
    let forms = ["source", "builtin", "command", "http"].map(|key| json!({ "required": [key] }));
    let only_inline = ["description", "arguments", "builtin", "command", "http"];
    let dependencies: Value = only_inline.iter().map(|key| ((*key).to_owned(), json!(["name"]))).collect();
    // A file says its name itself.
    let dependencies = and(dependencies, json!({ "name": { "not": { "required": ["source"] } } }));
    let entry = table("One tool: a `source`, or the content of an invoker file", keys, &[]);
    and(entry, json!({ "oneOf": forms, "dependencies": dependencies }))
}

fn names() -> Value {
    json!({
        "name": text("Name of the tool, the part after the dot in `ensemble.tool`", json!({ "pattern": INVOKER_NAME })),
        "description": description("Description by which models choose the tool"),
        "builtin": text("Name of the built-in that implements the tool", json!({ "examples": ["read_file"] })),
    })
}

fn bodies() -> Value {
    json!({
        "command": command(),
        "http": request(),
        "arguments": schema("Arguments of the tool: a JSON Schema of `type = \"object\"`, written as TOML"),
        "tests": trial::tests(),
    })
}

fn command() -> Value {
    let word = json!({ "type": "string" });
    let argv = json!({
        "type": "array",
        "minItems": 1,
        "maxItems": MAX_WORDS,
        "items": { "anyOf": [word, { "type": "array", "minItems": 1, "items": word }] },
        "examples": [["git", "log", "-n", "{count}"]],
    });
    let paths = |description: &str| {
        let item = json!({ "type": "string", "pattern": "^[^~${]" });
        texts(description, json!({ "maxItems": MAX_OPENINGS, "items": item, "examples": [["data"]] }))
    };
    let keys = json!({
        "argv": described(
            "Program and arguments, without a shell; `{name}` is an argument of the call. A list inside is left out as a whole",
            argv,
        ),
        "environment": environment(),
        "cwd": cwd(),
        "stdin": text("Standard input of the program; `{name}` is an argument of the call", json!({})),
        "reads": paths("Paths that the sandbox allows to read, in addition to the working directory"),
        "writes": paths("Paths that the sandbox allows to change"),
        "network": flag("Allow network connections in the sandbox", false),
    });
    table("A program as a tool", keys, &["argv"])
}

fn request() -> Value {
    let fields = |description: &str| named_texts(description, json!({ "q": "{q}" }));
    let keys = json!({
        "method": choice("Method of the request", &METHODS, json!({ "default": "GET" })),
        "url": text(
            "URL; `{name}` after the host is an argument of the call",
            json!({ "examples": ["https://example.com/{id}"] }),
        ),
        "query": fields("Query parameters of the URL"),
        "headers": fields("Headers of the request"),
        "form": fields("Form fields, sent as the body"),
        "body": described(
            "Body: a text, or a table or list that is sent as JSON",
            json!({ "type": ["string", "object", "array"], "examples": [{ "q": "{q}" }] }),
        ),
    });
    let request = table("An HTTP request as a tool", keys, &["url"]);
    and(request, json!({ "not": { "required": ["form", "body"] } }))
}
