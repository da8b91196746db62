//! BrokenEnsemble files: each mistake has its code and is pointed at; none hides another; no text at all breaks the reader.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers may panic")]

use converse_config::{
    BuiltinSpec, Code, Effects, Environment, Finding, ResolveInput, Scope, SourceMap, load, parse_ensemble,
    parse_invoker, parse_settings, resolve,
};
use proptest::prelude::*;

const BUILTINS: [BuiltinSpec<'static>; 2] = [
    BuiltinSpec { name: "calculator", effects: Effects::None },
    BuiltinSpec { name: "read_file", effects: Effects::Read },
];

/// `code line:column` of everything found in an ensemble and the invoker file it names `i.toml`.
fn check(ensemble: &str, invoker: &str) -> Vec<String> {
    let loaded = load(&[], &[("e.toml", ensemble), ("sub/i.toml", invoker)]);
    let environment = Environment::default();
    let given = ResolveInput {
        builtins: &BUILTINS,
        environment: &environment,
        project_trusted: false,
        compile_schemas: true,
        require_env: false,
    };
    let resolved = resolve(&loaded.sources, &loaded.descriptors, &given);
    let all = loaded.diagnostics.iter().chain(&resolved.diagnostics);
    all.map(|diagnostic| {
        let finding = diagnostic.finding(&loaded.sources);
        // Each can be drawn, too.
        assert!(diagnostic.render(&loaded.sources).contains(finding.code.as_str()));
        assert!(has_own_hint(&finding), "{finding:?}");
        let at = finding.line.zip(finding.column).map(|(line, column)| format!(" {line}:{column}"));
        let file = if finding.file.ends_with("i.toml") { " in i.toml" } else { "" };
        format!("{}{}{file}", finding.code, at.unwrap_or_default())
    })
    .collect()
}

/// A finding about a value says what to write instead, not where to look.
fn has_own_hint(finding: &Finding) -> bool {
    let is_of_value = matches!(finding.code, Code::BadValue | Code::OutOfRange);
    !is_of_value || finding.hint.as_deref() != Some(finding.code.hint())
}

/// An ensemble that is right, with more lines after its `[ensemble]` (which ends in line 3).
fn with_head(rest: &str) -> String {
    format!("[ensemble]\nname = \"e\"\ndescription = \"d\"\n{rest}")
}

/// The same with an inline invoker that is right, from line 4; `rest` begins in line 8 and belongs to the invoker.
fn with_invoker(rest: &str) -> String {
    with_head(&format!(
        "[[invokers]]\nname = \"calc\"\ndescription = \"d\"\nbuiltin = \"calculator\"\n{rest}"
    ))
}

#[test]
fn a_key_of_the_other_transport_is_not_said_to_be_none() {
    for (transport, key, other) in [("stdio", "url", "http"), ("http", "environment", "stdio")] {
        let text = with_head(&format!("[connection]\ntransport = \"{transport}\"\n{key} = \"x\"\n"));
        let loaded = load(&[], &[("e.toml", &text)]);
        let findings = loaded.diagnostics.iter().map(|found| found.finding(&loaded.sources));
        let found = findings.filter(|found| found.line == Some(6)).collect::<Vec<_>>();
        let message = format!(
            "`{key}` is a key of `transport = \"{other}\"`, but this connection has another transport"
        );
        assert_eq!(found.iter().map(|found| &found.message).collect::<Vec<_>>(), [&message]);
        assert_eq!(
            found[0].hint.as_deref(),
            Some(&*format!("remove it, or write `transport = \"{other}\"`"))
        );
    }
}

const GOOD_INVOKER: &str = "[invoker]\nname = \"i\"\ndescription = \"d\"\nbuiltin = \"read_file\"\n";

#[test]
fn what_is_right_has_no_problems() {
    assert_eq!(check(&with_invoker(""), ""), [""; 0]);
    assert_eq!(
        check(&with_head("[[invokers]]\nsource = \"sub/i.toml\"\ntimeout = \"5m\"\n"), GOOD_INVOKER),
        [""; 0]
    );
}

#[test]
fn each_mistake_has_its_code_and_place() {
    let connection = |rest: &str| with_head(&format!("[connection]\n{rest}"));
    let stdio = |rest: &str| connection(&format!("transport = \"stdio\"\ncommand = [\"x\"]\n{rest}"));
    let http = |rest: &str| connection(&format!("transport = \"http\"\nurl = \"https://x\"\n{rest}"));
    let schema = |rest: &str| with_invoker(&format!("[invokers.arguments]\ntype = \"object\"\n{rest}"));
    let test = |rest: &str| with_invoker(&format!("[[invokers.tests]]\n{rest}"));
    // A command that takes an integer `a`, with a test from line 12.
    let contradicting = |rest: &str| {
        let arguments =
            "[invokers.arguments]\ntype = \"object\"\nrequired = [\"a\"]\nproperties.a.type = \"integer\"\n";
        with_invoker(&format!("{arguments}[[invokers.tests]]\n{rest}"))
            .replace("builtin = \"calculator\"", "command.argv = [\"x\", \"{a}\"]")
    };
    let table: Vec<(String, &str)> = vec![
        // the text
        (with_invoker("a = \n"), "syntax 8:5"),
        (with_invoker("= 3\n"), "syntax 8:1"),
        // what comes of it is no other mistake
        (with_invoker("").replace("[[invokers]]", "[[invokers]"), "syntax 4:12"),
        (with_invoker("[defaults\ntimeout = 3\nbogus = 1\n"), "syntax 8:10"),
        (schema("required = [\"a\", properties = { a = { type = \"string\" } }\n"), "syntax 10:29"),
        (schema("required = [\n\"a\"\nproperties.a = { type = \"string\" }\n"), "syntax 12:1"),
        (with_invoker("parallel = true\nparallel = true\n"), "duplicate-key 9:1"),
        (with_invoker("[ensemble]\n"), "duplicate-key 8:2"),
        // keys
        (with_invoker("timout = 3\n"), "unknown-key 8:1"),
        (with_invoker("[default]\n"), "unknown-key 8:2"),
        (with_invoker("[defaults]\n\"a\\u0007b\" = 1\n"), "unknown-key 9:1"),
        (with_invoker("").replace("name = \"e\"", "enabeld = true\nname = \"e\""), "unknown-key 2:1"),
        (
            "[[invokers]]\nname = \"c\"\ndescription = \"d\"\nbuiltin = \"calculator\"\n".into(),
            "missing-key 1:1",
        ),
        (with_invoker("").replace("name = \"e\"\n", ""), "missing-key 1:2"),
        (with_invoker("").replace("builtin = \"calculator\"", ""), "missing-key 4:1"),
        (with_invoker("[invokers.command]\nargv = [\"git\"]\n"), "mixed-invoker 8:11"),
        (with_invoker("[invokers.http]\nurl = \"https://x\"\n"), "mixed-invoker 8:11"),
        (with_invoker("").replace("name = \"calc\"\n", ""), "missing-key 4:1"),
        // types
        (with_invoker("timeout = true\n"), "wrong-type 8:11"),
        (with_invoker("parallel = \"yes\"\n"), "wrong-type 8:12"),
        (with_invoker("max_retries = 1.5\n"), "wrong-type 8:15"),
        (with_invoker("").replace("name = \"e\"", "name = 7"), "wrong-type 2:8"),
        (with_invoker("[configuration]\n").replace("[configuration]", "[[configuration]]"), "wrong-type 8:1"),
        (with_head("").replace("[ensemble]", "invokers = 3\n[ensemble]"), "wrong-type 1:12"),
        // values
        (with_invoker("timeout = 0\n"), "out-of-range 8:11"),
        (with_invoker("timeout = 601\n"), "out-of-range 8:11"),
        (with_invoker("timeout = inf\n"), "out-of-range 8:11"),
        (with_invoker("timeout = \"soon\"\n"), "bad-value 8:11"),
        (with_invoker("max_retries = -1\n"), "out-of-range 8:15"),
        (with_invoker("max_invocations = 99999999999999999999\n"), "out-of-range 8:19"),
        (with_invoker("result_limit = \"1 GiB\"\n"), "out-of-range 8:16"),
        (with_invoker("result_limit = \"1 giga\"\n"), "bad-value 8:16"),
        (with_invoker("result_limit = 1.5\n"), "wrong-type 8:16"),
        (with_invoker("timeout = 0xfff\n"), "out-of-range 8:11"),
        (with_invoker("permission = \"alow\"\n"), "bad-value 8:14"),
        (with_invoker("on_failure = \"panic\"\n"), "bad-value 8:14"),
        (with_invoker("[configuration]\nx = [1, nan]\n"), "out-of-range 9:9"),
        // names
        (with_invoker("").replace("\"e\"", "\"a b\""), "bad-name 2:8"),
        (with_invoker("").replace("\"calc\"", "\"ca lc\""), "bad-name 5:8"),
        (with_invoker("").replace("name = \"e\"", "name = \"e\"\nprefix = \".\""), "bad-name 3:10"),
        (
            with_invoker("[[invokers]]\nname=\"calc\"\ndescription=\"d\"\nbuiltin=\"calculator\"\n"),
            "duplicate-invoker 9:6",
        ),
        // built-ins
        (with_invoker("").replace("\"calculator\"", "\"calculater\""), "unknown-builtin 7:11"),
        (
            with_invoker("effects = \"none\"\n").replace("\"calculator\"", "\"read_file\""),
            "effects-lowered 8:11",
        ),
        (
            with_invoker("[defaults]\neffects = \"none\"\n").replace("\"calculator\"", "\"read_file\""),
            "effects-lowered 9:11",
        ),
        // what belongs together
        (with_head(""), "empty-ensemble 1:2"),
        (with_invoker("[connection]\ntransport = \"stdio\"\ncommand = [\"x\"]\n"), "mixed-connection 4:1"),
        (with_invoker("[tools]\ninclude = [\"a\"]\n"), "tools-without-connection 8:2"),
        // sources
        (with_head("[[invokers]]\nsource = \"../x.toml\"\n"), "bad-source 5:10"),
        (with_head("[[invokers]]\nsource = \"/etc/passwd\"\n"), "bad-source 5:10"),
        (with_head("[[invokers]]\nsource = 'a\\b.toml'\n"), "bad-source 5:10"),
        (with_head("[[invokers]]\nsource = \"\"\n"), "bad-source 5:10"),
        (with_head("[[invokers]]\nsource = \"none.toml\"\n"), "unreadable 5:10"),
        (with_head("[[invokers]]\nsource = \"sub/i.toml\"\nname = \"x\"\n"), "unknown-key 6:1"),
        // descriptions
        (with_invoker("").replace("\"d\"\n[[", &format!("\"{}\"\n[[", "d".repeat(4097))), "too-large 3:15"),
        (
            with_invoker("").replace("\"d\"\nbuiltin", &format!("\"{}\"\nbuiltin", "d".repeat(4097))),
            "too-large 6:15",
        ),
        (stdio("").replace("\"d\"", &format!("\"{}\"", "d".repeat(4097))), "too-large 3:15"),
        // schemas
        (with_invoker("[invokers.arguments]\nproperties.a.type = \"string\"\n"), "bad-schema 8:11"),
        (with_invoker("[invokers.arguments]\ntype = \"array\"\n"), "bad-schema 9:8"),
        (schema("properties.a.type = \"strin\"\n"), "bad-schema 10:21"),
        (
            schema("properties.a.type = \"strin\"\nproperties.b.minLength = \"x\"\n"),
            "bad-schema 10:21 bad-schema 11:26",
        ),
        (schema("properties.a.pattern = \"(\"\n"), "bad-schema 10:24"),
        (schema("properties.a.\"$ref\" = \"http://x/y\"\n"), "bad-schema 10:23"),
        (schema("properties.a = { type = \"integer\", default = \"x\" }\n"), "bad-schema 10:46"),
        (schema("required = [\"b\", \"a\"]\nproperties.b.type = \"string\"\n"), "required-unknown 10:18"),
        // connections
        (connection("command = [\"x\"]\n"), "missing-key 4:2"),
        (connection("transport = \"sse\"\nurl = \"https://x\"\n"), "bad-value 5:13"),
        (connection("transport = \"stdio\"\n"), "missing-key 4:2"),
        (connection("transport = \"stdio\"\ncommand = []\n"), "bad-value 6:11"),
        (connection("transport = \"stdio\"\ncommand = \"npx x\"\n"), "wrong-type 6:11"),
        (connection("transport = \"stdio\"\ncommand = [\"x\", 1]\n"), "wrong-type 6:17"),
        (connection("transport = \"http\"\nurl = \"ftp://x\"\n"), "bad-value 6:7"),
        (connection("transport = \"http\"\nurl = \"https://x\"\nheaders = { A = 1 }\n"), "wrong-type 7:17"),
        (
            connection("transport = \"http\"\nurl = \"https://x\"\nheaders = { \"A:\" = \"1\" }\n"),
            "bad-name 7:13",
        ),
        (stdio("environment = { A = \"env:B\" }\n"), "unset-variable 7:21"),
        (
            stdio("environment = { A = \"env:B\" }\n")
                .replace("[ensemble]\n", "[ensemble]\nenabled = false\n"),
            "",
        ),
        (stdio("environment = { A = \"x ${B} ${C:-d}\" }\n"), "unset-variable 7:21"),
        (stdio("environment = { A = \"${A${B}}\" }\n"), "bad-template 7:21"),
        (stdio("url = \"https://x\"\n"), "unknown-key 7:1"),
        (http("command = [5]\n"), "unknown-key 7:1"),
        (connection("transport = \"stdio\"\ncommand = [5]\n"), "wrong-type 6:12"),
        (stdio("cwd = \"${HOME}/a\"\n"), "bad-value 7:7"),
        (stdio("cwd = \"\"\n"), "bad-value 7:7"),
        (stdio("environment = { A = \"\\u0000\" }\n"), "bad-value 7:21"),
        (connection("transport = \"stdio\"\ncommand = [\"npx -y x\"]\n"), "one-word 6:12"),
        (connection("transport = \"stdio\"\ncommand = [\"x\", \"a\\u0000\"]\n"), "bad-value 6:17"),
        (
            connection(&format!("transport = \"stdio\"\ncommand = [\"x\"{}]\n", ", \"y\"".repeat(1024))),
            "too-many 6:5132",
        ),
        (connection("transport = \"http\"\nurl = \"https://x:99999/\"\n"), "bad-value 6:7"),
        (connection("transport = \"http\"\nurl = \"https://x y/\"\n"), "bad-value 6:7"),
        (
            connection("transport = \"http\"\nurl = \"https://x\"\nheaders = { Host = \"y\" }\n"),
            "bad-name 7:13",
        ),
        (
            connection("transport = \"http\"\nurl = \"https://x\"\nheaders = { mcp-Session-id = \"y\" }\n"),
            "bad-name 7:13",
        ),
        (
            connection("transport = \"http\"\nurl = \"https://x\"\nheaders = { A = \"1\", a = \"2\" }\n"),
            "bad-value 7:26",
        ),
        (stdio("protocol = \"new\"\n"), "bad-value 7:12"),
        (stdio("connect_timeout = 601\n"), "out-of-range 7:19"),
        (stdio("connect_timeout = 0\n"), "out-of-range 7:19"),
        (stdio("[defaults]\nidle_timeout = \"11m\"\n"), "out-of-range 8:16"),
        (
            connection("transport = \"http\"\nurl = \"https://x\"\nheaders = { A = \"1\\r\\nB: 2\" }\n"),
            "bad-value 7:17",
        ),
        (stdio("[tools]\ninclude = [\"a[\"]\n"), "bad-pattern 8:12"),
        (stdio("[tools.get]\nefects = \"read\"\n"), "unknown-key 8:1"),
        (stdio("[tools.\"a b\"]\n"), "bad-name 7:8"),
        (stdio("[tools]\ninclud = []\n"), "unknown-key 8:1"),
        (
            connection("transport = \"sse\"\nurl = 3\nconect_timeout = 5\n"),
            "bad-value 5:13 wrong-type 6:7 unknown-key 7:1",
        ),
        (connection("transport = \"sse\"\nconnect_timeout = 0\n"), "bad-value 5:13 out-of-range 6:19"),
        // a wrong type, transport or table hides nothing below it
        (
            with_invoker(
                "[invokers.arguments]\ntype = \"array\"\nrequird = []\nproperties.a.type = \"strin\"\n",
            ),
            "bad-schema 9:8 unknown-keyword 10:1 bad-schema 11:21",
        ),
        (
            with_invoker("[[invokers.tests]]\nexpect.schema.type = \"x\"\n")
                .replace("\"calculator\"", "\"x\""),
            "unknown-builtin 7:11 bad-schema 9:22",
        ),
        (
            connection("command = [\"npx\", \"~/x\"]\ncwd = 3\n"),
            "missing-key 4:2 wrong-type 6:7 unexpanded-tilde 5:19",
        ),
        (connection("transport = \"sse\"\nurl = \"ftp://x\"\n"), "bad-value 5:13 bad-value 6:7"),
        (
            connection("transport = \"stdio\"\ncommand = [3, \"~/x\"]\n"),
            "wrong-type 6:12 unexpanded-tilde 6:15",
        ),
        (
            stdio("").replace("[connection]", "[[connection]]") + "timout = 1\n",
            "wrong-type 4:1 unknown-key 7:1",
        ),
        (
            with_invoker("timout = 3\n").replace("[[invokers]]", "[invokers]"),
            "wrong-type 4:1 unknown-key 8:1",
        ),
        (
            with_head("[[defaults]]\ntimeout = 0\n[[invokers]]\nsource = \"sub/i.toml\"\n"),
            "wrong-type 4:1 out-of-range 5:11",
        ),
        (
            with_invoker("[[invokers.arguments]]\ntype = \"object\"\nproperties.a.type = \"strin\"\n"),
            "wrong-type 8:1 bad-schema 10:21",
        ),
        // text that only a shell would change
        (http("headers = { Authorization = \"Bearer $TOKEN\" }\n"), "unexpanded-variable 7:29"),
        (http("headers = { Authorization = \"Bearer $(cat token)\" }\n"), "shell-syntax 7:29"),
        (stdio("environment = { PATH = \"$HOME/bin\" }\n"), "unexpanded-variable 7:24"),
        (stdio("environment = { FILE = \"~/x\" }\n"), "unexpanded-tilde 7:24"),
        (stdio("environment = { PASS = \"pa$SWORD\", FILTER = \"$filter\" }\n"), ""),
        (stdio("cwd = \"~/x\"\n"), "unexpanded-tilde 7:7"),
        (stdio("cwd = \"~x\"\n"), ""),
        (
            with_invoker("[invokers.command]\nargv = [\"x\"]\ncwd = \"~\"\n")
                .replace("builtin = \"calculator\"\n", ""),
            "unexpanded-tilde 9:7",
        ),
        (
            connection("transport = \"stdio\"\ncommand = [\"x\", \"~/x\", \"--to=~\"]\n"),
            "unexpanded-tilde 6:17 unexpanded-tilde 6:24",
        ),
        (
            connection("transport = \"stdio\"\ncommand = [\"x\", \"--to=$HOME/x\"]\n"),
            "unexpanded-variable 6:17",
        ),
        (connection("transport = \"stdio\"\ncommand = [\"x\", \"a\", \"|\", \"y\"]\n"), "shell-syntax 6:22"),
        (connection("transport = \"stdio\"\ncommand = [\"sh\", \"-c\", \"x ~/a $HOME | y\", \"|\"]\n"), ""),
        (connection("transport = \"stdio\"\ncommand = [\"ssh\", \"h\", \"x\", \"|\", \"y\"]\n"), ""),
        (connection("transport = \"stdio\"\ncommand = [\"npx -y @scope/server@1.2.3\"]\n"), "one-word 6:12"),
        (connection("transport = \"stdio\"\ncommand = [\"/opt/My App/x\"]\n"), ""),
        // packages
        (
            connection("transport = \"stdio\"\ncommand = [\"sh\", \"-c\", \"npx -y x\"]\n"),
            "unpinned-package 6:24",
        ),
        (
            connection("transport = \"stdio\"\ncommand = [\"go\", \"run\", \"h/x@latest\"]\n"),
            "unpinned-package 6:25",
        ),
        // keywords and limits of schemas
        (
            schema("requird = [\"a\"]\nproperties.a.maxlength = 3\n"),
            "unknown-keyword 10:1 unknown-keyword 11:14",
        ),
        (schema("additionalproperties = false\nx-order = 1\nunit = 3\n"), "unknown-keyword 10:1"),
        (
            schema("properties.a = { type = \"integer\", minimum = 5, maximum = 1 }\n"),
            "schema-fits-nothing 10:46",
        ),
        (
            schema("properties.a = { type = \"string\", minLength = 5, maxLength = 1 }\n"),
            "schema-fits-nothing 10:47",
        ),
        (
            schema("properties.a = { type = \"array\", minItems = 5, maxItems = 1 }\n"),
            "schema-fits-nothing 10:45",
        ),
        (schema("properties.a.enum = []\n"), "schema-fits-nothing 10:21"),
        (test("expect.schema.maxlength = 3\n"), "unknown-keyword 9:15"),
        // what is kept, confined and paid for
        (with_invoker("cache = \"8d\"\n"), "bad-value 8:9"),
        (with_invoker("cache = \"169h\"\n"), "out-of-range 8:9"),
        (with_invoker("cost = -0.1\n"), "out-of-range 8:8"),
        (with_invoker("cost = \"1\"\n"), "wrong-type 8:8"),
        (with_invoker("sandbox = \"on\"\n"), "bad-value 8:11"),
        (with_invoker("sandbox = \"require\"\n"), "sandbox-without-command 8:11"),
        (with_invoker("[defaults]\nsandbox = \"require\"\n"), "sandbox-without-command 9:11"),
        (stdio("[defaults]\nsandbox = \"require\"\n"), "sandbox-without-command 8:11"),
        (stdio("[tools.get]\nsandbox = \"off\"\n"), "sandbox-without-command 8:11"),
        (with_invoker("cache = \"5m\"\neffects = \"write\"\n"), "cached-effects 8:9"),
        (with_invoker("effects = \"write\"\n[defaults]\ncache = \"5m\"\n"), "cached-effects 10:9"),
        (stdio("[defaults]\ncache = \"5m\"\n[tools.get]\nidempotent = false\n"), "cached-effects 8:9"),
        (stdio("[tools.get]\ncache = \"5m\"\n"), "cached-effects 8:9"),
        // tests
        (test("args = {}\n"), "unknown-key 9:1"),
        (test("name = \" \"\n"), "bad-value 9:8"),
        (test(&format!("name = \"{}\"\n", "n".repeat(201))), "bad-value 9:8"),
        (test("arguments = 3\n"), "wrong-type 9:13"),
        (test("arguments = { a = nan }\n"), "out-of-range 9:19"),
        (test("expect = \"success\"\n"), "wrong-type 9:10"),
        (test("expect.outcom = \"success\"\n"), "unknown-key 9:8"),
        (test("expect.outcome = \"sucess\"\n"), "bad-value 9:18"),
        (test("expect.outcome = \"cancelled\"\n"), "bad-value 9:18"),
        (test("expect.text = 3\n"), "wrong-type 9:15"),
        (test("expect.contains = 3\n"), "wrong-type 9:19"),
        (test("expect.contains = [\"a\", 3]\n"), "wrong-type 9:25"),
        (test("expect.contains = [\"a\", \"\"]\n"), "bad-value 9:25"),
        (test("expect.matches = \"(\"\n"), "bad-pattern 9:18"),
        (test("expect.matches = '\\w{1000}{1000}'\n"), "bad-pattern 9:18"),
        (test("expect.json = { a = 1 }\n"), "bad-value 9:17"),
        (test("expect.json = { \"/a~2\" = 1 }\n"), "bad-value 9:17"),
        (test("expect.json = { \"/a\" = inf }\n"), "out-of-range 9:24"),
        (test("expect.schema = 3\n"), "wrong-type 9:17"),
        (test("expect.schema = { type = \"numbr\" }\n"), "bad-schema 9:26"),
        (test("expect.schema = { \"$ref\" = \"http://x/y\" }\n"), "bad-schema 9:28"),
        (test("expect.within = 0\n"), "out-of-range 9:17"),
        (test("expect.within = \"11m\"\n"), "out-of-range 9:17"),
        (with_invoker("[invokers.tests]\nname = \"x\"\n"), "wrong-type 8:1"),
        (with_invoker(&"[[invokers.tests]]\n".repeat(101)), "too-many 108:1"),
        (stdio("[[tools.get.tests]]\nexpect.outcome = \"x\"\n"), "bad-value 8:18"),
        (stdio("[[tools.get.tests]]\nexpect.schema.type = \"x\"\n"), "bad-schema 8:22"),
        (
            with_head("[[invokers]]\nsource = \"sub/i.toml\"\n[[invokers.tests]]\nexpct = 1\n"),
            "unknown-key 7:1",
        ),
        (contradicting("arguments.a = \"x\"\n"), "test-contradicts 13:1"),
        (contradicting("expect.outcome = \"failed\"\n"), "test-contradicts 12:1"),
        (contradicting("arguments.a = 1\nexpect.outcome = \"invalid\"\n"), "test-contradicts 14:18"),
        // who we are, and what may be asked of us
        (stdio("auth = \"oauth\"\n"), "unknown-key 7:1"),
        (stdio("[connection.oauth]\nscopes = [\"a\"]\n"), "unknown-key 7:13"),
        (http("auth = \"basic\"\n"), "bad-value 7:8"),
        (http("headers = { Authorization = \"x\" }\nauth = \"oauth\"\n"), "bad-value 7:29"),
        (http("[connection.oauth]\nscopes = [\"a\"]\n"), "bad-value 7:13"),
        (http("auth = \"oauth\"\n[connection.oauth]\nscopes = [\"a b\"]\n"), "bad-value 9:11"),
        (http("auth = \"oauth\"\n[connection.oauth]\nscopes = [\"\"]\n"), "bad-value 9:11"),
        (
            http("auth = \"oauth\"\n[connection.oauth]\nclient_secret = \"env:S\"\n"),
            "bad-value 9:17 unset-variable 9:17",
        ),
        (
            http("auth = \"oauth\"\n[connection.oauth]\nclient_metadata_url = \"http://x/\"\n"),
            "bad-value 9:23",
        ),
        (http("auth = \"oauth\"\n[connection.oauth]\nredirect_port = 0\n"), "out-of-range 9:17"),
        (http("auth = \"oauth\"\n[connection.oauth]\ntoken = \"x\"\n"), "unknown-key 9:1"),
        (stdio("roots = \".\"\n"), "wrong-type 7:9"),
        (stdio("roots = [\".\", \"$HOME\"]\n"), "bad-value 7:15"),
        (stdio("sampling = \"yes\"\n"), "wrong-type 7:12"),
        (stdio("elicitation = 1\n"), "wrong-type 7:15"),
        (stdio("log_level = \"warn\"\n"), "bad-value 7:13"),
        // descriptions
        (
            with_invoker("").replace("name = \"e\"\ndescription = \"d\"\n", "name = \"e\"\n"),
            "missing-description 1:2",
        ),
        (
            with_invoker("")
                .replace("name = \"calc\"\ndescription = \"d\"", "name = \"calc\"\ndescription = \" \""),
            "missing-description 4:1",
        ),
    ];
    assert!(table.len() >= 40);
    let mut wrong = Vec::new();
    for (text, expected) in table {
        let found = check(&text, GOOD_INVOKER).join(" ");
        if found != expected {
            wrong.push(format!("{text}\n  expected {expected}\n  found    {found}\n"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn mistakes_in_an_invokers_file_are_pointed_at_there() {
    let ensemble = with_head("[[invokers]]\nsource = \"sub/i.toml\"\n");
    for (invoker, expected) in [
        ("", "missing-key 1:1 in i.toml"),
        (&GOOD_INVOKER.replace("builtin", "buildin"), "missing-key 1:2 in i.toml unknown-key 4:1 in i.toml"),
        (&format!("{GOOD_INVOKER}[argumens]\n"), "unknown-key 5:2 in i.toml"),
        (&format!("{GOOD_INVOKER}timeout = 0\n"), "out-of-range 5:11 in i.toml"),
        (&format!("{GOOD_INVOKER}effects = \"none\"\n"), "effects-lowered 5:11 in i.toml"),
        (
            &format!("{GOOD_INVOKER}[arguments]\ntype = \"object\"\n[arguments.properties.a]\ntype = 3\n"),
            "bad-schema 8:8 in i.toml",
        ),
        (&format!("{GOOD_INVOKER}[command]\nargv = [\"x\"]\n"), "mixed-invoker 5:2 in i.toml"),
        (&format!("{GOOD_INVOKER}[[tests]]\nexpect.outcome = \"x\"\n"), "bad-value 6:18 in i.toml"),
        (&format!("{GOOD_INVOKER}[[tests]]\nexpect.schema.type = \"x\"\n"), "bad-schema 6:22 in i.toml"),
    ] {
        assert_eq!(check(&ensemble, invoker).join(" "), expected, "{invoker}");
    }
}

#[test]
fn ten_mistakes_are_ten_findings_in_one_run() {
    let text = "[ensemble]
name = \"a b\"
prefx = \"x\"
enabled = \"yes\"
description = \"d\"

[defaults]
timeout = 9000
permission = \"maybe\"
cache = \"5 minutes\"

[[invokers]]
name = \"one\"
description = \"d\"
builtin = \"calculatr\"

[[invokers]]
name = \"two\"
description = = \"d\"
builtin = \"read_file\"
effects = \"none\"

[[invokers]]
name = \"two\"
description = \"d\"
builtin = \"calculator\"
arguments = { type = \"object\", properties.a.type = \"nothing\" }
";
    let mut found = check(text, "");
    found.sort();
    assert_eq!(
        found,
        [
            "bad-name 2:8",
            "bad-schema 27:52",
            "bad-value 10:9",
            "bad-value 9:14",
            "duplicate-invoker 24:8",
            "effects-lowered 21:11",
            "out-of-range 8:11",
            "syntax 19:15",
            "unknown-builtin 15:11",
            "unknown-key 3:1",
            "wrong-type 4:11",
        ]
    );
}

#[test]
fn deep_nesting_is_refused_and_needs_no_stack() {
    let key = vec!["a"; 79].join(".");
    let deep = format!("{key} = {{ ").repeat(70) + "x = 1" + &" }".repeat(70);
    for text in [
        with_invoker(&format!("[configuration]\n{key} = 1\n")),
        with_invoker(&format!("[configuration]\n{deep}\n")),
        with_invoker(&format!("[invokers.arguments]\ntype = \"object\"\n{deep}\n")),
        with_invoker(&format!(
            "[invokers.arguments]\ntype = \"object\"\ndefault = {}1{}\n",
            "[".repeat(70),
            "]".repeat(70)
        )),
    ] {
        let small = std::thread::Builder::new().stack_size(1024 * 1024);
        let found = small.spawn(move || check(&text, "")).unwrap().join().unwrap();
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("too-many "), "{found:?}");
    }
}

#[test]
fn slips_of_the_pen_are_recognised() {
    for (text, hint) in [
        (with_invoker("timout = 3\n"), "did you mean `timeout`?"),
        (with_invoker("permission = \"Alow\"\n"), "did you mean `allow`?"),
        (with_invoker("").replace("\"calculator\"", "\"Calculater\""), "did you mean `calculator`?"),
        (with_head("[[invoker]]\n"), "did you mean `invokers`?"),
        (
            with_head("[connection]\ntransport = \"stdio\"\ncommand = [\"x\"]\nenv = {}\n"),
            "did you mean `environment`?",
        ),
    ] {
        let loaded = load(&[], &[("e.toml", &text)]);
        let environment = Environment::default();
        let given = ResolveInput {
            builtins: &BUILTINS,
            environment: &environment,
            project_trusted: true,
            compile_schemas: true,
            require_env: false,
        };
        let resolved = resolve(&loaded.sources, &loaded.descriptors, &given);
        let hints: Vec<_> =
            loaded.diagnostics.iter().chain(&resolved.diagnostics).flat_map(|d| d.hints.clone()).collect();
        assert_eq!(hints, [hint], "{text}");
    }
}

/// The hint of each of these mistakes can be pasted, and the findings that no run survives are errors.
#[test]
fn hints_can_be_pasted() {
    let connection = |rest: &str| with_head(&format!("[connection]\n{rest}"));
    let stdio = |rest: &str| connection(&format!("transport = \"stdio\"\n{rest}"));
    let http = |headers: &str| {
        connection(&format!("transport = \"http\"\nurl = \"https://x\"\nheaders = {{ {headers} }}\n"))
    };
    let schema = |rest: &str| with_invoker(&format!("[invokers.arguments]\ntype = \"object\"\n{rest}\n"));
    for (text, is_error, hint) in [
        (http("Authorization = \"Bearer $TOKEN\""), true, "write `Authorization = \"Bearer ${TOKEN}\"`"),
        (http("X-Url = \"h?t=$TOKEN\""), false, "write `${TOKEN}`"),
        (
            stdio("command = [\"npx -y @scope/server@1.2.3\"]\n"),
            true,
            "write `[\"npx\", \"-y\", \"@scope/server@1.2.3\"]`",
        ),
        (
            stdio("command = \"npx -y @scope/server@1.2.3\"\n"),
            true,
            "write `command = [\"npx\", \"-y\", \"@scope/server@1.2.3\"]`",
        ),
        (stdio("command = [\"x\", \"--to=~/notes\"]\n"), false, "write `\"--to=${HOME}/notes\"`"),
        (stdio("command = [\"x\", \"$HOME/notes\"]\n"), false, "write `\"${HOME}/notes\"`"),
        (
            stdio("command = [\"cat\", \"a\", \"|\", \"wc\"]\n"),
            false,
            "to use a shell: `[\"sh\", \"-c\", \"cat a | wc\"]`",
        ),
        (stdio("command = [\"x\"]\ncwd = \"~/notes\"\n"), true, "write `cwd = \"/home/me/notes\"`"),
        (connection("command = [\"x\"]\n"), true, "add `transport = \"stdio\"`"),
        (connection("transport = \"sse\"\nurl = \"https://x\"\n"), true, "did you mean `http`?"),
        (connection("transport = \"pigeon\"\n"), true, "for example: `transport = \"stdio\"`"),
        (stdio("command = [\"x\"]\nargs = [\"y\"]\n"), true, "move its content to `command`"),
        (with_invoker("").replace("[[invokers]]", "[invokers]"), true, "write `[[invokers]]`"),
        (with_invoker("[[defaults]]\n"), true, "write `[defaults]`"),
        (with_invoker("timeout = \"30 seconds\"\n"), true, "for example: `timeout = \"5m\"`"),
        (with_invoker("timeout = 0\n"), true, "for example: `timeout = 600`"),
        (
            connection("transport = \"http\"\nurl = \"x.example/mcp\"\n"),
            true,
            "for example: `url = \"https://api.example.com/v1\"`",
        ),
        (
            stdio("command = []\n"),
            true,
            "for example: `command = [\"npx\", \"-y\", \"@scope/server@1.2.3\"]`",
        ),
        (
            connection(
                "transport = \"http\"\nurl = \"https://x\"\nauth = \"oauth\"\noauth.scopes = [\"a:r a:w\"]\n",
            ),
            true,
            "write each scope as an element of its own: `\"a:r\", \"a:w\"`",
        ),
        (schema("requird = []"), false, "did you mean `required`?"),
        (
            schema("properties.a = { type = \"integer\", minimum = 5, maximum = 1 }"),
            true,
            "write `minimum = 1` and `maximum = 5`",
        ),
        (
            schema("properties.a = { minimum = 5, maximum = 1 }"),
            false,
            "write `minimum = 1` and `maximum = 5`",
        ),
        (
            schema("properties.a.enum = []"),
            true,
            "list the allowed values, such as `enum = [\"a\", \"b\"]`, or remove `enum`",
        ),
    ] {
        let loaded = load(&[], &[("e.toml", &text)]);
        let environment = Environment::new([("HOME".to_owned(), "/home/me".to_owned())]);
        let given = ResolveInput {
            builtins: &BUILTINS,
            environment: &environment,
            project_trusted: true,
            compile_schemas: true,
            require_env: false,
        };
        let resolved = resolve(&loaded.sources, &loaded.descriptors, &given);
        let found: Vec<_> = loaded
            .diagnostics
            .iter()
            .chain(&resolved.diagnostics)
            .map(|found| (found.is_error(), found.finding(&loaded.sources).hint.unwrap_or_default()))
            .collect();
        assert_eq!(found, [(is_error, hint.to_owned())], "{text}");
    }
}

/// Neither the picture nor a message nor a hint repeats a secret, whatever is wrong with its line.
#[test]
fn no_finding_repeats_a_secret() {
    let secret = "a8Kd02LqZx7Vb3Nm5Tp9Rw1Yc4Ue6Hs0Jf2Gk";
    let token = format!("ghp_{secret}");
    let connection =
        |rest: &str| with_head(&format!("[connection]\ntransport = \"http\"\nurl = \"https://x\"\n{rest}"));
    let stdio = |rest: &str| with_head(&format!("[connection]\ntransport = \"stdio\"\n{rest}"));
    for text in [
        connection(&format!("tokn = \"{secret}\"\n")),
        connection(&format!("headrs = {{ Authorization = \"Bearer {secret}\" }}\n")),
        connection(&format!("Authorizaton = \"Bearer {secret}\"\n")),
        connection(&format!("headers = \"Authorization: Bearer {secret}\"\n")),
        connection(&format!("protocol = \"{token}\"\n")),
        connection(&format!("\"{token}\" = 1\n")),
        connection(&format!("headers = {{ Authorization = \"Bearer {secret} }}\n")),
        connection(&format!("headers = {{ Authorization = \"Bearer $TOKEN {secret}\" }}\n")),
        stdio(&format!("command = [\"npx -y server --token {secret}\"]\n")),
        stdio(&format!("command = \"npx -y server --token {secret}\"\n")),
        stdio(&format!("command = [\"x\", \"--token\", \"{secret}\", \"|\", 3]\n")),
        stdio(&format!("command = [\"x\", \"~/{token}\"]\n")),
        stdio(&format!("command = [\"x\"]\nenv = {{ API_KYE = \"{secret}\" }}\n")),
        with_invoker(&format!(
            "[invokers.arguments]\ntype = \"object\"\nproperties.a.enun = [\"{token}\"]\n"
        )),
    ] {
        let loaded = load(&[], &[("e.toml", &text)]);
        let environment = Environment::default();
        let given = ResolveInput {
            builtins: &BUILTINS,
            environment: &environment,
            project_trusted: true,
            compile_schemas: true,
            require_env: false,
        };
        let resolved = resolve(&loaded.sources, &loaded.descriptors, &given);
        let mut count = 0;
        for diagnostic in loaded.diagnostics.iter().chain(&resolved.diagnostics) {
            count += 1;
            let shown = diagnostic.render(&loaded.sources)
                + &diagnostic.finding(&loaded.sources).to_json().to_string();
            assert!(!shown.contains(&secret[..8]), "{shown}");
        }
        assert!(count > 0, "{text}");
    }
}

#[test]
fn nothing_treacherous_is_repeated() {
    let nasty = "\\u001b]0;x\\u0007\\u202e";
    for text in [
        with_invoker(&format!("\"{nasty}\" = 1\n")),
        with_invoker(&format!("permission = \"{nasty}\"\n")),
        with_invoker("").replace("\"calc\"", &format!("\"{nasty}\"")),
        with_invoker(&format!("\u{202e}\u{1b}[2J = 1 # {}\n", "x".repeat(9000))),
    ] {
        let loaded = load(&[], &[("e\u{1b}.toml", &text)]);
        let environment = Environment::default();
        let given = ResolveInput {
            builtins: &BUILTINS,
            environment: &environment,
            project_trusted: true,
            compile_schemas: true,
            require_env: false,
        };
        let resolved = resolve(&loaded.sources, &loaded.descriptors, &given);
        let mut count = 0;
        for diagnostic in loaded.diagnostics.iter().chain(&resolved.diagnostics) {
            count += 1;
            let shown = diagnostic.render(&loaded.sources)
                + &diagnostic.finding(&loaded.sources).to_json().to_string();
            let bad = shown
                .chars()
                .find(|c| *c != '\n' && (c.is_control() || ('\u{202a}'..='\u{202e}').contains(c)));
            assert_eq!(bad, None, "{shown}");
            assert!(shown.len() < 2000, "{shown}");
        }
        assert!(count > 0, "{text}");
    }
}

fn any_reader(text: &str) {
    let mut sources = SourceMap::new();
    let id = sources.add("x.toml", Scope::Project, text);
    let ensemble = parse_ensemble(&sources, id);
    let invoker = parse_invoker(&sources, id);
    let settings = parse_settings(&sources, id);
    let environment = Environment::default();
    let given = ResolveInput {
        builtins: &BUILTINS,
        environment: &environment,
        project_trusted: false,
        compile_schemas: true,
        require_env: false,
    };
    let resolved = resolve(&sources, &[ensemble.value], &given);
    let lists = [ensemble.diagnostics, invoker.diagnostics, settings.diagnostics, resolved.diagnostics];
    for diagnostic in lists.iter().flatten() {
        let finding = diagnostic.finding(&sources);
        assert!(finding.line.is_none_or(|line| line <= text.lines().count() + 1));
        assert!(!diagnostic.render(&sources).contains('\u{1b}'));
    }
}

/// Pieces of real files, so that random texts get past the first line.
fn piece() -> impl Strategy<Value = String> {
    let words = [
        "[ensemble]\n",
        "[[invokers]]\n",
        "[defaults]\n",
        "[connection]\n",
        "[tools.x]\n",
        "[invokers.arguments]\n",
        "[arguments]\n",
        "name = ",
        "\"e\"\n",
        "timeout = ",
        "3\n",
        "inf\n",
        "[1, \"a\"]\n",
        "{ a = 1 }\n",
        "type = \"object\"\n",
        "properties.a.\"$ref\" = \"#\"\n",
        "source = \"x\"\n",
        "builtin = \"read_file\"\n",
        "[command]\n",
        "[invokers.command]\n",
        "argv = [\"sh\", \"-c\", \"{a}\"]\n",
        "argv = [[\"${A}\"], 1]\n",
        "stdin = ",
        "[http]\n",
        "[invokers.http]\n",
        "headers = { A = \"{a}\" }\n",
        "body = ",
        "\"{a}${B:-c}{{\"\n",
        "\"${B}//{a\"\n",
        "\n",
        "transport = \"http\"\n",
        "url = \"${A:-${B}}\"\n",
        "\"\"\"",
        "'",
        "[permissions]\nallow = [\"*\"]\n",
        "1979-05-27\n",
        "\u{202e}",
        "\u{1b}",
        "é",
    ];
    prop_oneof![4 => prop::sample::select(words.to_vec()).prop_map(str::to_owned), 1 => ".{0,6}"]
}

fn template_piece() -> impl Strategy<Value = String> {
    let words = [
        "{", "}", "{{", "}}", "$", "${", "{a}", "{b.c-d}", "${A}", "${A:-}", "${A:-b}", "env:", "env:A",
        "http://", "https://", "//", "/", "?", "#", "sh", "-c", "\\", "\0", "\r\n", "é",
    ];
    prop_oneof![8 => prop::sample::select(words.to_vec()).prop_map(str::to_owned), 1 => ".{0,3}"]
}

proptest! {
    #[test]
    fn any_text_is_read_without_a_panic(text in "(.|\n){0,300}") {
        any_reader(&text);
    }

    #[test]
    fn any_heap_of_pieces_is_read_without_a_panic(pieces in prop::collection::vec(piece(), 0..40)) {
        any_reader(&pieces.concat());
    }

    #[test]
    fn any_template_is_read_without_a_panic(pieces in prop::collection::vec(template_piece(), 0..12)) {
        let text = serde_json::Value::from(pieces.concat()).to_string();
        let body = format!("{{ a = [{text}], b = {{ c = {text}, d = 1 }} }}");
        any_reader(&format!("[invoker]\nname = \"i\"\n[command]\nargv = [\"sh\", {text}, [\"-c\", {text}]]\nstdin = {text}\ncwd = {text}\nenvironment.A = {text}\n"));
        any_reader(&format!("[invoker]\nname = \"i\"\n[http]\nmethod = \"PUT\"\nurl = {text}\nquery.a = {text}\nheaders.a = {text}\nbody = {body}\n"));
        let head = with_head("[[invokers]]\nname = \"i\"\n");
        any_reader(&format!("{head}command = {{ argv = [{text}] }}\n[[invokers]]\nname = \"j\"\nhttp = {{ url = {text}, body = {text} }}\n"));
    }

    #[test]
    fn a_right_file_cut_anywhere_is_read_without_a_panic(cut in 0usize..2000) {
        for (_, text) in converse_config::shipped() {
            any_reader(&text[..text.floor_char_boundary(cut.min(text.len()))]);
        }
    }
}

/// Large files of the worst kinds: no recursion on them, and no work that grows with their square.
#[test]
fn no_large_file_is_too_much() {
    let fill = |line: &str| line.repeat(200_000 / line.len());
    let numbered = |line: &str| (0..8_000).map(|at| line.replace('#', &at.to_string())).collect::<String>();
    for text in [
        fill("= \n"),
        fill("[[invokers]]\n"),
        numbered("key_#_that_is_not_known = 1\n"),
        with_head(&numbered("[tools.x#]\n")),
        with_invoker(&format!("[configuration]\nx = [{}]\n", fill("[[1]],"))),
        with_invoker(&format!(
            "[invokers.arguments]\ntype = \"object\"\nrequired = [{}]\n[invokers.arguments.properties]\n{}",
            numbered("\"r#\","),
            numbered("p# = {}\n")
        )),
        format!("a = \"{}\"\n", "\u{202e}".repeat(60_000)),
        with_head(&format!(
            "[[invokers]]\nname = \"i\"\ncommand = {{ argv = [\"x\", \"{}\"] }}\n[invokers.arguments]\ntype = \"object\"\n[invokers.arguments.properties]\n{}",
            numbered("{a#}${B#}"),
            numbered("p# = {}\n")
        )),
        with_head(&numbered("[[invokers]]\nname = \"i#\"\ncommand.argv = [\"x\", \"{a}\", \"{b}\"]\n")),
        with_head(&format!(
            "[[invokers]]\nname = \"i\"\n[invokers.http]\nmethod = \"POST\"\nurl = \"https://x\"\nbody = [{}]\n",
            fill("[[{a=1}]],")
        )),
        fill("["),
        fill("a."),
        fill("a = {"),
    ] {
        assert!(text.len() <= 1024 * 1024);
        any_reader(&text);
    }
}
