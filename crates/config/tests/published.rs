//! The published JSON Schemas accept what the parser accepts, and refuse what they can of what it refuses.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers may panic")]

mod schemas;

use converse_config::{
    BuiltinSpec, Effects, Environment, ResolveInput, ensemble_schema, invoker_schema, load, resolve, shipped,
};
use schemas::{Kind, faults};

const BUILTINS: [BuiltinSpec<'static>; 1] = [BuiltinSpec { name: "read_file", effects: Effects::Read }];

/// Does the parser find an error in it?
fn is_refused(kind: Kind, text: &str) -> bool {
    let file = "[ensemble]\nname = \"e\"\n[[invokers]]\nsource = \"i/i.toml\"\n";
    let files = match kind {
        Kind::Ensemble => {
            vec![("e.toml", text), ("i/i.toml", "[invoker]\nname = \"i\"\nbuiltin = \"read_file\"\n")]
        }
        Kind::Invoker => vec![("e.toml", file), ("i/i.toml", text)],
    };
    let loaded = load(&[], &files);
    let environment = Environment::default();
    let given = ResolveInput {
        builtins: &BUILTINS,
        environment: &environment,
        project_trusted: true,
        compile_schemas: true,
        require_env: false,
    };
    let resolved = resolve(&loaded.sources, &loaded.descriptors, &given);
    loaded.diagnostics.iter().chain(&resolved.diagnostics).any(converse_config::Diagnostic::is_error)
}

#[test]
fn the_schemas_are_schemas() {
    for schema in [ensemble_schema(), invoker_schema()] {
        assert_eq!(schema["$schema"], "http://json-schema.org/draft-07/schema#");
        assert!(jsonschema::meta::is_valid(&schema));
    }
}

#[test]
fn all_that_is_shipped_is_right_by_the_schemas() {
    for (path, text) in shipped() {
        let kind = if path.contains('/') { Kind::Invoker } else { Kind::Ensemble };
        assert_eq!(faults(kind, text), [""; 0], "{path}");
    }
}

const HEAD: &str = "[ensemble]\nname = \"e\"\n";

/// One invoker beside `rest`.
fn inline(rest: &str) -> (Kind, String) {
    (Kind::Ensemble, format!("{HEAD}[[invokers]]\nname = \"i\"\n{rest}\n"))
}

fn ensemble(rest: &str) -> (Kind, String) {
    (Kind::Ensemble, format!("{HEAD}{rest}\n"))
}

fn server(rest: &str) -> (Kind, String) {
    ensemble(&format!("[connection]\ntransport = \"stdio\"\ncommand = [\"x\"]\n{rest}"))
}

fn invoker(rest: &str) -> (Kind, String) {
    (Kind::Invoker, format!("[invoker]\nname = \"i\"\n{rest}\n"))
}

#[test]
fn what_is_right_is_right_for_both() {
    for (kind, text) in [
        inline("builtin = \"read_file\"\ntimeout = \"5 m\"\nresult_limit = \"1 MiB\"\nsandbox = \"off\""),
        inline(
            "builtin = \"read_file\"\ntimeout = 0x10\nresult_limit = 0o1000\ncost = 0b1\nmax_retries = 0x1",
        ),
        inline(
            "command.argv = [\"x\", [\"-n\", \"1\"]]\nsandbox = \"require\"\ncommand.reads = [\"a\", \"b/c\"]\ncommand.network = true",
        ),
        inline("http = { url = \"https://x/\", method = \"POST\", body = { a = [1] } }"),
        inline(
            "http = { url = \"https://x/\", method = \"POST\", result = \"/a~1b/0\", \
             multipart = { a = \"b\", c = { value = \"d\", type = \"text/plain; charset=utf-8\" }, e = { file = \"{f}\" } } }\n\
             arguments = { type = \"object\", properties.f.type = \"string\" }",
        ),
        inline(
            "http = { url = \"https://x/\", method = \"PUT\", file = \"{a.b-c}\" }\n\
             arguments = { type = \"object\", properties = { \"a.b-c\" = {} } }",
        ),
        inline(
            "builtin = \"read_file\"\n[[invokers.tests]]\nexpect = { contains = [\"a\"], json = { \"/a~1b\" = 1, \"\" = 2 } }",
        ),
        ensemble(
            "[[invokers]]\nsource = \"i/i.toml\"\ntimeout = 0.5\nidempotent = true\ncache = 60\n[[invokers.tests]]\nname = \"t\"",
        ),
        server(
            "environment = { A = \"b\" }\ncwd = \"x\"\n[tools]\ninclude = [\"a*\"]\n[tools.\"a/b.c\"]\ncost = 0.01",
        ),
        server(
            "[tools.x]\neffects = \"read\"\n[[tools.x.tests]]\nexpect.within = \"5s\"\nexpect.outcome = \"failed\"",
        ),
        ensemble(
            "[connection]\ntransport = \"http\"\nurl = \"https://x\"\nheaders = { A = \"b\" }\nprotocol = \"modern\"",
        ),
        invoker(
            "builtin = \"read_file\"\n[arguments]\ntype = \"object\"\n[[tests]]\nexpect.outcome = \"invalid\"",
        ),
        invoker("[command]\nargv = [\"x\"]\nstdin = \"y\"\nenvironment = { A = \"env:B\" }"),
        invoker("[http]\nurl = \"https://x\"\nquery = { a = \"b\" }"),
    ] {
        assert_eq!(faults(kind, &text), [""; 0], "{text}");
        assert!(!is_refused(kind, &text), "{text}");
    }
}

#[test]
fn what_is_wrong_is_wrong_for_both() {
    let wrong = [
        // keys
        (Kind::Ensemble, "[[invokers]]\nsource = \"i/i.toml\"\n".to_owned()),
        (Kind::Ensemble, HEAD.replace("name = \"e\"\n", "[[invokers]]\nsource = \"i/i.toml\"\n")),
        ensemble(""),
        inline("builtin = \"read_file\"\ntimout = 3"),
        inline("builtin = \"read_file\"\n[defaults]\nname = \"x\""),
        inline("builtin = \"read_file\"\n[default]\ntimeout = 3"),
        // types and ranges
        inline("builtin = \"read_file\"\ntimeout = true"),
        inline("builtin = \"read_file\"\ntimeout = 0"),
        inline("builtin = \"read_file\"\ntimeout = 601"),
        inline("builtin = \"read_file\"\ntimeout = \"soon\""),
        inline("builtin = \"read_file\"\nmax_retries = 11"),
        inline("builtin = \"read_file\"\nmax_retries = 1.5"),
        inline("builtin = \"read_file\"\nresult_limit = \"1 giga\""),
        inline("builtin = \"read_file\"\nresult_limit = 16777217"),
        inline("builtin = \"read_file\"\nresult_limit = 1.5"),
        inline("builtin = \"read_file\"\ntimeout = 0xfff"),
        inline("builtin = \"read_file\"\npermission = \"maybe\""),
        inline("builtin = \"read_file\"\neffects = \"reads\""),
        inline("builtin = \"read_file\"\nsandbox = \"on\""),
        inline("builtin = \"read_file\"\ncost = -1"),
        inline("builtin = \"read_file\"\ncache = \"forever\""),
        inline("builtin = \"read_file\"\nidempotent = \"yes\""),
        // what belongs together
        inline(""),
        inline("builtin = \"read_file\"\ncommand.argv = [\"x\"]"),
        inline("builtin = \"read_file\"\nsource = \"i/i.toml\""),
        ensemble("[[invokers]]\nsource = \"i/i.toml\"\nname = \"x\""),
        ensemble("[[invokers]]\nsource = \"i/i.toml\"\ndescription = \"x\""),
        ensemble("[[invokers]]\nsource = \"/etc/passwd\""),
        ensemble("[[invokers]]\nsource = \"i/i.toml\"\n[tools]\ninclude = [\"a\"]"),
        server("[[invokers]]\nsource = \"i/i.toml\""),
        // connections
        server("url = \"https://x\""),
        server("auth_token = \"x\""),
        server("auth = \"oauth\""),
        server("log_level = \"warn\""),
        server("roots = \".\""),
        ensemble("[connection]\ntransport = \"http\"\nurl = \"https://x\"\nauth = \"basic\""),
        ensemble(
            "[connection]\ntransport = \"http\"\nurl = \"https://x\"\nauth = \"oauth\"\noauth.token = \"x\"",
        ),
        server("connect_timeout = 700"),
        server("environment = { A = 1 }"),
        server("[tools.x]\ninclude = []"),
        server("[tools]\nonly = []"),
        ensemble("[connection]\ntransport = \"http\"\ncommand = [\"x\"]"),
        ensemble("[connection]\ntransport = \"sse\"\nurl = \"https://x\""),
        ensemble("[connection]\ncommand = [\"x\"]"),
        ensemble("[connection]\ntransport = \"stdio\"\ncommand = []"),
        ensemble("[connection]\ntransport = \"stdio\"\ncommand = \"npx x\""),
        // names
        (Kind::Ensemble, "[ensemble]\nname = \"a b\"\n[[invokers]]\nsource = \"i/i.toml\"\n".to_owned()),
        (
            Kind::Ensemble,
            "[ensemble]\nname = \"e\"\nprefix = \".\"\n[[invokers]]\nsource = \"i/i.toml\"\n".to_owned(),
        ),
        (Kind::Ensemble, format!("{HEAD}[[invokers]]\nname = \"i i\"\nbuiltin = \"read_file\"\n")),
        // invoker files
        invoker(""),
        invoker("builtin = \"read_file\"\n[command]\nargv = [\"x\"]"),
        invoker("source = \"x\"\nbuiltin = \"read_file\""),
        invoker("builtin = \"read_file\"\narguments = 3"),
        invoker("[command]\nargv = []"),
        invoker("[command]\nargv = [3]"),
        invoker("[command]\nargv = [[\"x\", []]]"),
        invoker("[command]\nargv = [\"x\"]\nenv = { A = \"b\" }"),
        invoker("[command]\nargv = [\"x\"]\nreads = [\"~/a\"]"),
        invoker("[command]\nargv = [\"x\"]\nwrites = \"a\""),
        invoker("[http]\nmethod = \"GETT\"\nurl = \"https://x\""),
        invoker("[http]\nmethod = \"POST\""),
        invoker("[http]\nmethod = \"POST\"\nurl = \"https://x\"\nbody = \"a\"\nform = { a = \"b\" }"),
        invoker("[http]\nurl = \"https://x\"\nquery = { a = 1 }"),
        invoker("[http]\nmethod = \"POST\"\nurl = \"https://x\"\nfile = \"a\"\nform = { a = \"b\" }"),
        invoker("[http]\nmethod = \"POST\"\nurl = \"https://x\"\nmultipart = { a = 1 }"),
        invoker(
            "[http]\nmethod = \"POST\"\nurl = \"https://x\"\nmultipart = { a = { type = \"text/plain\" } }",
        ),
        invoker(
            "[http]\nmethod = \"POST\"\nurl = \"https://x\"\nmultipart.a = { value = \"b\", file = \"c\" }",
        ),
        invoker("[http]\nmethod = \"PUT\"\nurl = \"https://x\"\nfile = \"a.bin\""),
        invoker("[http]\nmethod = \"POST\"\nurl = \"https://x\"\nmultipart.a = { file = \"out/{b}\" }"),
        invoker("[http]\nurl = \"https://x\"\nstyles = { a = \"dots\" }"),
        invoker("[http]\nurl = \"https://x\"\nresult = \"data\""),
        // tests
        invoker("builtin = \"read_file\"\n[[tests]]\nargs = {}"),
        invoker("builtin = \"read_file\"\n[[tests]]\narguments = 3"),
        invoker("builtin = \"read_file\"\n[[tests]]\nexpect.outcome = \"cancelled\""),
        invoker("builtin = \"read_file\"\n[[tests]]\nexpect.contains = 3"),
        invoker("builtin = \"read_file\"\n[[tests]]\nexpect.contains = \"\""),
        invoker("builtin = \"read_file\"\n[[tests]]\nexpect.json = { a = 1 }"),
        invoker("builtin = \"read_file\"\n[[tests]]\nexpect.within = \"11 weeks\""),
        invoker("builtin = \"read_file\"\n[[tests]]\nname = \"\""),
        invoker("builtin = \"read_file\"\n[tests]\nname = \"x\""),
    ];
    for (kind, text) in wrong {
        assert!(!faults(kind, &text).is_empty(), "the schema takes this:\n{text}");
        assert!(is_refused(kind, &text), "the parser takes this:\n{text}");
    }
}
