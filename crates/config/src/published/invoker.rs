//! Schemas of one invoker (as a file, or as an `[[invokers]]` entry), of policy keys and of tests.

use serde_json::{Value, json};

use super::connection::{cwd, environment};
use super::field::{
    INVOKER_NAME, and, choice, count, described, description, duration, flag, named_texts, schema, size,
    table, text, texts,
};
use crate::command::MAX_ACCESS_PATHS;
use crate::policy::{
    EFFECTS, MAX_CACHE, MAX_COST, MAX_INVOCATIONS, MAX_RESULT, MAX_RETRIES, MAX_TIMEOUT, ON_FAILURE,
    PERMISSIONS, SANDBOX_LEVELS,
};
use crate::program::MAX_WORDS;
use crate::request::{METHODS, STYLES};
use crate::tool_test::{MAX_NAME, MAX_TESTS, OUTCOMES};

/// Returns the properties of an invoker file, and the constraints between them.
pub(super) fn file() -> (Value, Value) {
    let head = table("Name and policy of the tool", with_policy_keys(names()), &["name"]);
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
    let keys = and(with_policy_keys(and(json!({ "source": source }), names())), bodies());
    let forms = ["source", "builtin", "command", "http"].map(|key| json!({ "required": [key] }));
    let only_inline = ["description", "arguments", "builtin", "command", "http"];
    let dependencies: Value = only_inline.iter().map(|key| ((*key).to_owned(), json!(["name"]))).collect();
    // A file names its tool itself.
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
        "tests": tests(),
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
        texts(description, json!({ "maxItems": MAX_ACCESS_PATHS, "items": item, "examples": [["data"]] }))
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
    let style = choice(
        "`a,b`, `a b`, `a|b`, a field for each element (`tag=a&tag=b`), or the same with keys in brackets",
        &STYLES,
        json!({}),
    );
    let path = |description: &str| {
        text(description, json!({ "pattern": r"^\{[A-Za-z0-9_.-]+\}$", "examples": ["{path}"] }))
    };
    let part_keys = json!({
        "value": text("Content of the part", json!({})),
        "file": path("Argument with the path of the file with the content, below the working directory"),
        "type": text("Media type of the part", json!({ "examples": ["image/png"] })),
    });
    let part = and(
        table("One part: its content, or more about it", part_keys, &[]),
        json!({
            "type": ["string", "object"],
            "anyOf": [{ "type": "string" }, { "required": ["value"] }, { "required": ["file"] }],
            "not": { "type": "object", "required": ["value", "file"] },
        }),
    );
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
        "multipart": described(
            "Body of parts (`multipart/form-data`)",
            json!({
                "type": "object",
                "additionalProperties": part,
                "examples": [{ "title": "{title}" }],
            }),
        ),
        "file": path("Body: the content of the file below the working directory that this argument names"),
        "styles": described(
            "How an argument that is a list or an object is written outside of a JSON body",
            json!({ "type": "object", "additionalProperties": style, "examples": [{ "tags": "repeat" }] }),
        ),
        "result": text(
            "JSON pointer to the part of a JSON response that is the result",
            json!({ "pattern": "^(/([^~]|~[01])*)+$", "examples": ["/data/items"] }),
        ),
    });
    let request = table("An HTTP request as a tool", keys, &["url"]);
    let bodies = ["body", "form", "multipart", "file"];
    let pairs = bodies.iter().enumerate().flat_map(|(at, one)| {
        bodies.iter().skip(at + 1).map(move |other| json!({ "required": [one, other] }))
    });
    and(request, json!({ "not": { "anyOf": pairs.collect::<Vec<_>>() } }))
}

/// Returns the schema of every policy key.
pub(super) fn policy_keys() -> Value {
    json!({
        "timeout": and(duration("Wall-clock time of one call, including retries", MAX_TIMEOUT), json!({ "default": 30 })),
        "idle_timeout": and(
            duration("For a tool of a server: longest time without progress", MAX_TIMEOUT),
            json!({ "default": 60 }),
        ),
        "max_retries": and(
            count("Retries after a failure; only if `idempotent`, or if nothing had been sent", 0, MAX_RETRIES),
            json!({ "default": 0 }),
        ),
        "permission": choice("Decision if no rule matches the tool", &PERMISSIONS, json!({})),
        "effects": choice("Strongest effect of the tool", &EFFECTS, json!({})),
        "idempotent": flag("A repeated call has no further effect", false),
        "parallel": flag("If false, no other tool runs at the same time", true),
        "result_limit": and(size("Size of the part of a result that the model gets", MAX_RESULT), json!({ "default": "64 KiB" })),
        "on_failure": choice(
            "After a failure: `report` it to the model, or `stop` the turn (exit 7)",
            &ON_FAILURE,
            json!({ "default": "report" }),
        ),
        "max_invocations": count("Calls in one turn; further calls are answered without running", 1, MAX_INVOCATIONS),
        "cache": duration("Time for which a successful result answers equal calls without running the tool", MAX_CACHE),
        "sandbox": choice(
            "For a command: `require` a complete sandbox, use the `best-effort` of this machine, or none (`off`)",
            &SANDBOX_LEVELS,
            json!({ "default": "off" }),
        ),
        "cost": described(
            "Price of a call in US dollars",
            json!({ "type": "number", "minimum": 0, "maximum": MAX_COST, "examples": [0.008] }),
        ),
    })
}

/// Returns the policy keys and the keys of `others`.
pub(super) fn with_policy_keys(others: Value) -> Value {
    and(others, policy_keys())
}

/// Returns the schema of the tests of one tool.
pub(super) fn tests() -> Value {
    let keys = json!({
        "name": text("Name of the test", json!({ "minLength": 1, "maxLength": MAX_NAME })),
        "arguments": described("Arguments of the call", json!({ "type": "object", "default": {} })),
        "expect": expect(),
    });
    let shape = json!({
        "type": "array",
        "maxItems": MAX_TESTS,
        "items": table("One call, and its expected result", keys, &[]),
    });
    described("Tests that `converse ensembles test` runs, without a model", shape)
}

fn expect() -> Value {
    let pointers = json!({
        "type": "object",
        "propertyNames": { "pattern": "^(/([^~]|~[01])*)?$" },
        "examples": [{ "/items/0/name": "x" }],
    });
    let keys = json!({
        "outcome": choice("Outcome of the call", &OUTCOMES, json!({ "default": "success" })),
        "text": text("Whole text of the result, apart from white space at both ends", json!({})),
        "contains": described(
            "One or several texts that the result contains",
            json!({ "type": ["string", "array"], "minLength": 1, "items": { "type": "string", "minLength": 1 } }),
        ),
        "matches": text("Regular expression that matches somewhere in the text", json!({})),
        "json": described("JSON pointers into the result, and the values at those places", pointers),
        "schema": schema("JSON Schema that the result fits"),
        "within": duration("Longest duration of the call", MAX_TIMEOUT),
    });
    table("Expectations; all must be met", keys, &[])
}
