//! Commands and HTTP requests as tools: what they mean, which mistakes in them are found, what a stranger may not do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers may panic")]

use std::time::Duration;

use converse_config::{
    ArgvPart, BodyPlan, BuiltinSpec, Code, CommandPlan, Effects, EnsemblePlan, Environment, Finding,
    InvokerKind, JsonTemplate, PartPlan, Protocol, RequestPlan, ResolveInput, SandboxAccess, Scope,
    SecretRef, SourceMap, Style, Template, TemplatePiece, load, parse_ensemble, resolve,
};
use serde_json::json;

const BUILTINS: [BuiltinSpec<'static>; 1] = [BuiltinSpec { name: "peek_file", effects: Effects::Read }];

fn run(scope: Scope, trusted: bool, text: &str) -> (Option<EnsemblePlan>, Vec<Finding>) {
    let mut sources = SourceMap::new();
    let id = sources.add("e.toml", scope, text);
    let parsed = parse_ensemble(&sources, id);
    let environment = Environment::new([("SET".to_owned(), "s3cret".to_owned())]);
    let given = ResolveInput {
        builtins: &BUILTINS,
        environment: &environment,
        project_trusted: trusted,
        compile_schemas: true,
        require_env: false,
    };
    let mut resolved = resolve(&sources, &[parsed.value], &given);
    let all = parsed.diagnostics.iter().chain(&resolved.diagnostics);
    (resolved.plans.pop(), all.map(|diagnostic| diagnostic.finding(&sources)).collect())
}

/// One invoker whose `name` stands in line 5, so that `rest` begins in line 7.
fn with(rest: &str) -> String {
    format!(
        "[ensemble]\nname = \"e\"\ndescription = \"d\"\n[[invokers]]\nname = \"i\"\ndescription = \"d\"\n{rest}"
    )
}

/// With arguments `a` (required), `b` and `list` that are used by what stands before them.
fn with_arguments(rest: &str) -> String {
    with(&format!(
        "{rest}\n[invokers.arguments]\ntype = \"object\"\nrequired = [\"a\"]\nproperties = {{ a.type = \"string\", b.type = \"integer\", list.type = \"array\" }}\n"
    ))
}

fn plan(text: &str) -> EnsemblePlan {
    let (plan, findings) = run(Scope::User, false, text);
    assert_eq!(findings, [], "{text}");
    plan.unwrap()
}

fn kind(text: &str) -> InvokerKind {
    plan(text).invokers.pop().unwrap().kind
}

fn literal(text: &str) -> Template {
    Template { pieces: vec![TemplatePiece::Text(text.to_owned())] }
}

fn argument(name: &str) -> TemplatePiece {
    TemplatePiece::Argument(name.to_owned())
}

fn sole(name: &str) -> Template {
    Template { pieces: vec![argument(name)] }
}

#[test]
fn a_command_is_planned() {
    let text = with_arguments(
        "[invokers.command]\nargv = [\"git\", [\"-n\", \"{b}\"], \"--x={a}\", \"{list}\", \"{{}}\"]\n\
         environment = { TOKEN = \"env:SET\", MODE = \"plain\" }\ncwd = \"sub\"\nstdin = \"{a}\\n\"\n",
    );
    let expected = CommandPlan {
        argv: vec![
            ArgvPart::One(literal("git")),
            ArgvPart::Group(vec![literal("-n"), sole("b")]),
            ArgvPart::One(Template { pieces: vec![TemplatePiece::Text("--x=".into()), argument("a")] }),
            ArgvPart::One(sole("list")),
            ArgvPart::One(literal("{}")),
        ],
        environment: vec![
            ("MODE".to_owned(), SecretRef::Literal("plain".into())),
            ("TOKEN".to_owned(), SecretRef::Environment("SET".into())),
        ],
        cwd: Some("sub".into()),
        stdin: Some(Template { pieces: vec![argument("a"), TemplatePiece::Text("\n".into())] }),
        sandbox_access: SandboxAccess::default(),
    };
    let InvokerKind::Command(found) = kind(&text) else { panic!() };
    let mut found = CommandPlan::clone(&found);
    found.environment.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(found, expected);
}

#[test]
fn a_command_without_arguments_takes_none_and_is_external() {
    let plan = plan(&with("command = { argv = [\"date\"] }\n"));
    let invoker = &plan.invokers[0];
    assert_eq!(invoker.arguments, Some(json!({ "type": "object", "properties": {} }).into()));
    assert_eq!(invoker.policy.effects, Effects::External);
    assert!(invoker.kind.reaches_out() && plan.reaches_out());
    let said = with("effects = \"read\"\ncommand = { argv = [\"date\"] }\n");
    assert_eq!(self::plan(&said).invokers[0].policy.effects, Effects::Read, "its author knows it");
}

#[test]
fn a_request_is_planned() {
    let text = with_arguments(
        "[invokers.http]\nmethod = \"POST\"\nurl = \"https://a.example/{a}\"\nquery = { q = \"{b}\" }\n\
         headers = { Authorization = \"Bearer ${SET}\" }\n\
         body = { one = \"{list}\", two = [1, true, \"x {a}\"], three = 1979-05-27 }\n",
    );
    let InvokerKind::Http(mut found) = kind(&text) else { panic!() };
    if let Some(BodyPlan::Json(JsonTemplate::Object(entries))) = &mut found.body {
        entries.sort_by(|a, b| a.0.cmp(&b.0));
    }
    let text_and = |text: &str, piece| Template { pieces: vec![TemplatePiece::Text(text.into()), piece] };
    let variable = TemplatePiece::Variable { name: "SET".into(), default: None };
    let body = JsonTemplate::Object(vec![
        ("one".into(), JsonTemplate::Text(sole("list"))),
        ("three".into(), JsonTemplate::Text(literal("1979-05-27"))),
        (
            "two".into(),
            JsonTemplate::Array(vec![
                JsonTemplate::Fixed(json!(1)),
                JsonTemplate::Fixed(json!(true)),
                JsonTemplate::Text(text_and("x ", argument("a"))),
            ]),
        ),
    ]);
    let expected = RequestPlan {
        method: "POST".into(),
        url: text_and("https://a.example/", argument("a")),
        query: vec![("q".into(), sole("b"))],
        headers: vec![("Authorization".into(), text_and("Bearer ", variable))],
        styles: Vec::new(),
        body: Some(BodyPlan::Json(body)),
        result: None,
    };
    assert_eq!(found, expected);

    let form = "http = { method = \"POST\", url = \"https://a\", form = { q = \"{a}\", n = \"{b}{list}\" } }";
    let InvokerKind::Http(post) = kind(&with_arguments(form)) else { panic!() };
    let Some(BodyPlan::Form(mut entries)) = post.body else { panic!() };
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    let both = Template { pieces: vec![argument("b"), argument("list")] };
    assert_eq!(entries, [("n".to_owned(), both), ("q".to_owned(), sole("a"))]);

    let InvokerKind::Http(get) = kind(&with("http = { url = \"${SET}/x\" }\n")) else { panic!() };
    assert_eq!((get.method.as_str(), get.body), ("GET", None));
    let text = with("http = { method = \"PUT\", url = \"https://a\", body = \"{{ {{\" }\n");
    let InvokerKind::Http(put) = kind(&text) else { panic!() };
    assert_eq!(put.body, Some(BodyPlan::Text(literal("{ {"))));
    let list = "http = { method = \"PUT\", url = \"https://a\", body = [[1]] }\n";
    let InvokerKind::Http(list) = kind(&with(list)) else { panic!() };
    let inner = JsonTemplate::Array(vec![JsonTemplate::Fixed(json!(1))]);
    assert_eq!(list.body, Some(BodyPlan::Json(JsonTemplate::Array(vec![inner]))));
}

#[test]
fn styles_parts_and_a_part_of_the_response_are_planned() {
    let text = with_arguments(
        "[invokers.http]\nmethod = \"POST\"\nurl = \"https://a.example/{a}\"\nquery = { tag = \"{list}\" }\n\
         styles = { list = \"repeat\" }\nresult = \"/data/0\"\n\
         [invokers.http.multipart]\na = \"x{a}\"\nb = { value = \"{b}\", type = \"application/json\" }\nc = { file = \"{b}\" }\n",
    );
    let InvokerKind::Http(found) = kind(&text) else { panic!() };
    assert_eq!(found.styles, [("list".to_owned(), Style::Repeat)]);
    assert_eq!(found.result.as_deref(), Some("/data/0"));
    let text_and = |text: &str, piece| Template { pieces: vec![TemplatePiece::Text(text.into()), piece] };
    let part = |name: &str, value, is_file, media_type: Option<&str>| PartPlan {
        name: name.into(),
        value,
        is_file,
        media_type: media_type.map(str::to_owned),
    };
    let Some(BodyPlan::Multipart(mut parts)) = found.body else { panic!() };
    parts.sort_by(|a, b| a.name.cmp(&b.name));
    let expected = [
        part("a", text_and("x", argument("a")), false, None),
        part("b", sole("b"), false, Some("application/json")),
        part("c", sole("b"), true, None),
    ];
    assert_eq!(parts, expected);
    let file = "http = { method = \"PUT\", url = \"https://a/{a}\", query = { l = \"{list}\" }, file = \"{b}\", styles = { list = \"comma\" } }";
    let InvokerKind::Http(put) = kind(&with_arguments(file)) else { panic!() };
    assert_eq!(put.body.as_ref().and_then(BodyPlan::file), Some(&sole("b")));
}

#[test]
fn an_ensemble_may_mix_all_kinds() {
    let text = with(
        "builtin = \"peek_file\"\n\
         [[invokers]]\nname = \"j\"\ndescription = \"d\"\ncommand = { argv = [\"date\"] }\n\
         [[invokers]]\nname = \"k\"\ndescription = \"d\"\nhttp = { url = \"https://a\" }\n",
    );
    let kinds: Vec<_> = plan(&text)
        .invokers
        .iter()
        .map(|invoker| (invoker.kind.reaches_out(), invoker.policy.effects))
        .collect();
    assert_eq!(kinds, [(false, Effects::Read), (true, Effects::External), (true, Effects::External)]);
}

#[test]
fn mistakes_in_commands_and_requests_are_pointed_at() {
    let command = |argv: &str| with(&format!("command = {{ argv = {argv} }}\n"));
    let script = |argv: &str| {
        with(&format!(
            "command = {{ argv = {argv} }}\narguments = {{ type = \"object\", properties.x.type = \"string\" }}\n"
        ))
    };
    let http = |rest: &str| with(&format!("[invokers.http]\n{rest}"));
    let post = |rest: &str| http(&format!("method = \"POST\"\nurl = \"https://a\"\n{rest}"));
    let send = |rest: &str| {
        let arguments = "[invokers.arguments]\ntype = \"object\"\nproperties.x = {}\n";
        http(&format!("method = \"PUT\"\nurl = \"https://a\"\n{rest}\n{arguments}"))
    };
    let mut wrong = Vec::new();
    for (text, expected) in [
        // which kind
        (with(""), "missing-key 4:1"),
        (with("command = 3\n"), "wrong-type 7:11"),
        (with("command = { argv = [\"x\"] }\nhttp = { url = \"https://a\" }\n"), "mixed-invoker 8:1"),
        (with("builtin = \"peek_file\"\ncommand = { argv = [\"x\"] }\n"), "mixed-invoker 8:1"),
        // commands
        (with("[invokers.command]\n"), "missing-key 7:11"),
        (command("[]"), "bad-value 7:20"),
        (command("\"git log\""), "wrong-type 7:20"),
        (command("[\"git\", 3]"), "wrong-type 7:28"),
        (command("[\"git\", [\"a\", []]]"), "wrong-type 7:34"),
        (command("[\"git\", []]"), "bad-value 7:28"),
        (command("[\" \"]"), "bad-value 7:21"),
        (command("[[\"git\", \"log\"]]"), "bad-value 7:22"),
        (command("[\"git\", \"a\\u0000b\"]"), "bad-value 7:28"),
        (command("[\"git\", \"{a\"]"), "bad-template 7:28"),
        (command("[\"git\", \"}\"]"), "bad-template 7:28"),
        (command("[\"git\", \"${A${B}}\"]"), "bad-template 7:28"),
        (command("[\"git\", \"{count}\", \"{count}\"]"), "unknown-argument 7:28"),
        (command("[\"git\", \"${UNSET} ${UNSET} ${NO:-x}\"]"), "unset-variable 7:28"),
        (script("[\"{x}\"]"), "argument-in-program 7:21"),
        (script("[\"/bin/{x}\", \"{x}\"]"), "argument-in-program 7:21"),
        (script("[\"sh\", \"-c\", \"echo {x}\"]"), "argument-in-script 7:33"),
        (script("[\"sh\", [\"-c\", \"echo {x}\"]]"), "argument-in-script 7:34"),
        (script("[\"date\"]"), "unused-argument 8:43"),
        (script("[\"sh\", \"{x}\"]"), "argument-in-script 7:27"),
        (script("[\"env\", \"-S\", \"ls {x}\"]"), "argument-in-script 7:34"),
        (script("[\"python3\", [\"-c\", \"{x}\"]]"), "argument-in-script 7:39"),
        (script("[\"bash\"], stdin = \"{x}\""), "argument-in-script 7:38"),
        (command("[\"git log\"]"), "one-word 7:21"),
        (command(&format!("[\"x\"{}]", ", \"y\"".repeat(1024))), "too-many 7:5141"),
        (command(&format!("[\"x\", [\"y\"{}]]", ", \"y\"".repeat(1023))), "too-many 7:26"),
        (
            with_arguments("command = { argv = [\"x\", [\"-b{b}\", \"-l={list}\", \"{a}\"]] }"),
            "bad-value 7:36",
        ),
        (with("[invokers.command]\nargv = [\"x\"]\nenv = {}\n"), "unknown-key 9:1"),
        (with("[invokers.command]\nargv = [\"x\"]\ncwd = \"$HOME\"\n"), "bad-value 9:7"),
        (with("[invokers.command]\nargv = [\"x\"]\ncwd = \"{a}\"\n"), "bad-value 9:7"),
        (with("[invokers.command]\nargv = [\"x\"]\ncwd = \"env:HOME\"\n"), "bad-value 9:7"),
        (with("[invokers.command]\nargv = [\"x\"]\ncwd = \"\"\n"), "bad-value 9:7"),
        (with("[invokers.command]\nargv = [\"x\"]\nstdin = \"{y}\"\n"), "unknown-argument 9:9"),
        (with("[invokers.command]\nargv = [\"x\"]\nenvironment.A = 1\n"), "wrong-type 9:17"),
        (with("[invokers.command]\nargv = [\"x\"]\nenvironment.\"A=\" = \"1\"\n"), "bad-name 9:13"),
        (with("[invokers.command]\nargv = [\"x\"]\nenvironment.A = \"1\\u0000\"\n"), "bad-value 9:17"),
        (with("[invokers.command]\nargv = [\"x\"]\nenvironment.A = \"${B\"\n"), "bad-template 9:17"),
        (with("[invokers.command]\nargv = [\"x\"]\nenvironment.A = \"env:B\"\n"), "unset-variable 9:17"),
        // requests
        (http(""), "missing-key 7:11"),
        (http("url = \"https://a\"\nmethod = \"get\"\n"), "bad-value 9:10"),
        (http("url = \"a.example/x\"\n"), "bad-value 8:7"),
        (http("url = \"https:///x\"\n"), "bad-value 8:7"),
        (http("url = \"https://a/{y}\"\n"), "unknown-argument 8:7"),
        (http("url = \"https://a/${UNSET}\"\n"), "unset-variable 8:7"),
        (http("url = \"https://a/{\"\n"), "bad-template 8:7"),
        (http("url = \"https://a\"\nbody = \"x\"\n"), "bad-value 9:1"),
        (http("url = \"https://a\"\nmethod = \"HEAD\"\nbody = {}\n"), "bad-value 10:1"),
        (http("url = \"https://a\"\nmethod = \"GETT\"\nbody = {}\n"), "bad-value 9:10"),
        (http("url = \"https://a\"\nquery = { a = \"{y}\" }\n"), "unknown-argument 9:15"),
        (http("url = \"https://a\"\nquery = { a = 1 }\n"), "wrong-type 9:15"),
        (http("url = \"https://a\"\nquery = { \"\" = \"1\" }\n"), "bad-name 9:11"),
        (http("url = \"https://a\"\nheaders = { A = \"{y}\" }\n"), "unknown-argument 9:17"),
        (http("url = \"https://a\"\nheaders = { A = \"1\\nB: 2\" }\n"), "bad-value 9:17"),
        (http("url = \"https://a\"\nheaders = { A = \"${SET:-\\r}\" }\n"), "bad-value 9:17"),
        (http("url = \"https://a\"\nheaders = { \"{a}\" = \"1\" }\n"), "bad-name 9:13"),
        (http("url = \"https://a\"\nheaders = { \"A b\" = \"1\" }\n"), "bad-name 9:13"),
        (http("url = \"https://a\"\nheaders = { hOST = \"b\" }\n"), "bad-name 9:13"),
        (http("url = \"https://a\"\nheaders = { A = \"1\", a = \"2\" }\n"), "bad-value 9:26"),
        (http("url = \"https://a\"\nheaders = { A = \"1\\t2\" }\n"), "bad-value 9:17"),
        (http("url = \"https://a\"\nheaders = { proxy-Authorization = \"b\" }\n"), "bad-name 9:13"),
        (http("url = \"https://a\"\nheaders = { expect = \"b\" }\n"), "bad-name 9:13"),
        (http("url = \"https://a:65536/\"\n"), "bad-value 8:7"),
        (http("url = \"https://a/\"\nform = { a = \"b\" }\n"), "bad-value 9:1"),
        (post("form = \"a\"\n"), "wrong-type 10:8"),
        (post("form = { \"\" = \"a\" }\n"), "bad-name 10:10"),
        (post("form = { a = \"{y}\" }\n"), "unknown-argument 10:14"),
        (post("form = {}\nbody = {}\n"), "bad-value 10:1"),
        (send("file = \"{x}\"\nbody = \"{x}\""), "bad-value 10:1"),
        (send("file = \"out/{x}\""), "bad-value 10:8"),
        (send("multipart = { a = { file = \"{x}{x}\" } }"), "bad-value 10:28"),
        (post("file = \"a\"\n"), "bad-value 10:8"),
        (send("file = \"{x}\"").replace("PUT", "GET"), "bad-value 10:1"),
        (post("file = \"{y}\"\n"), "unknown-argument 10:8"),
        (post("multipart = { a = 1 }\n"), "wrong-type 10:19"),
        (post("multipart = { a = {} }\n"), "missing-key 10:15"),
        (post("multipart = { a = { value = \"x\", type = \"a/b\\n\" } }\n"), "bad-value 10:41"),
        (send("multipart = { a = { file = \"{x}\" }, b = { file = \"{x}\" } }"), "bad-value 10:50"),
        (post("styles = { y = \"repeat\" }\n"), "unknown-argument 10:12"),
        (post("styles = { y = \"dots\" }\n"), "bad-value 10:16"),
        (post("result = \"data\"\n"), "bad-value 10:10"),
        (
            with_arguments("http = { url = \"https://a/{a}/{b}\", query = { b = \"{list}\" } }"),
            "optional-in-url 7:16",
        ),
        (
            with_arguments("http = { method = \"PUT\", url = \"https://a\", body = \"a={a}&{b}{list}\" }"),
            "argument-in-body 7:52",
        ),
        (post("body = 3\n"), "wrong-type 10:8"),
        (post("body = { a = \"{y}\" }\n"), "unknown-argument 10:14"),
        (post("body = { a = [1, \"{\"] }\n"), "bad-template 10:18"),
        (post("body = { a = [inf] }\n"), "out-of-range 10:15"),
        (post("[invokers.http.body.a]\nb = [{ c = \"{y}\" }]\n"), "unknown-argument 11:12"),
        (post("json = {}\n"), "unknown-key 10:1"),
        (
            with(
                "[invokers.http]\nurl = \"https://{x}/\"\n[invokers.arguments]\ntype = \"object\"\nproperties.x = {}\n",
            ),
            "argument-in-host 8:7",
        ),
        // one mistake is one finding
        (with("command = { argv = [\"x\", \"{a}\"] }\narguments = 3\n"), "wrong-type 8:13"),
        (
            with(
                "[invokers.command]\nargv = [\"x\", \"{a\"]\n[invokers.arguments]\ntype = \"object\"\nproperties.a = {}\n",
            ),
            "bad-template 8:14",
        ),
        (with("command = { argv = [\"x\", \"{a}\"] }\n[invokers.arguments\n"), "syntax 8:20"),
    ] {
        let (plan, findings) = run(Scope::User, false, &text);
        let found: Vec<_> = findings
            .iter()
            .map(|f| format!("{} {}:{}", f.code, f.line.unwrap_or(0), f.column.unwrap_or(0)))
            .collect();
        let only_warned =
            findings.iter().all(|finding| finding.severity == converse_config::Severity::Warning);
        if found != [expected] || plan.is_some() != only_warned {
            wrong.push(format!("{text}\n  expected {expected}\n  found    {found:?}\n"));
        }
        assert!(findings.iter().all(|finding| finding.hint.is_some()), "{text}");
        let is_generic = |finding: &Finding| finding.hint.as_deref() == Some(finding.code.hint());
        let of_values = |finding: &&Finding| matches!(finding.code, Code::BadValue | Code::OutOfRange);
        assert!(!findings.iter().filter(of_values).any(is_generic), "{text}: {findings:?}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn hints_say_what_to_write() {
    for (text, hint) in [
        (with_arguments("command = { argv = [\"x\", \"{lst}\", \"{a}{b}{list}\"] }"), "did you mean `list`?"),
        (with("http = { url = \"https://a\", method = \"post\" }\n"), "did you mean `POST`?"),
        (with("command = { argv = [\"x\"], stdn = \"\" }\n"), "did you mean `stdin`?"),
        (with("command = { argv = [\"x\"], env = {} }\n"), "did you mean `environment`?"),
        (with("command = { args = [\"x\"], argv = [\"x\"] }\n"), "did you mean `argv`?"),
        (with("http = { url = \"https://a\", body = \"\" }\n"), "write `method = \"POST\"`, or use `query`"),
        (with(""), "add `builtin`, a `[command]` or an `[http]`"),
    ] {
        let (_, findings) = run(Scope::User, false, &text);
        let hints: Vec<_> = findings.iter().map(|finding| finding.hint.as_deref()).collect();
        assert_eq!(hints, [Some(hint)], "{text}");
    }
    let script = with(
        "command = { argv = [\"sh\", \"-c\", \"{x}\"] }\narguments = { type = \"object\", properties.x = {} }\n",
    );
    let (_, findings) = run(Scope::User, false, &script);
    assert!(findings[0].hint.as_ref().unwrap().contains("\"$1\""), "{findings:?}");
}

#[test]
fn what_is_right_is_not_complained_of() {
    for text in [
        // An argument of a URL that is always there.
        with(
            "http = { url = \"https://a/{x}?y={y}\" }\n[invokers.arguments]\ntype = \"object\"\nrequired = [\"x\"]\n\
             properties = { x.type = \"string\", y = { type = \"integer\", default = 3 } }\n",
        ),
        with_arguments(
            "command = { argv = [\"x\", \"{list}\", \"-l={list}\", [\"-m\", \"{list}\"], [\"-{a}\", \"{b}\"]] }",
        ),
        with_arguments(
            "http = { method = \"PUT\", url = \"https://a\", body = \"{a}\", query = { b = \"{b}{list}\" } }",
        ),
        with("command = { argv = [\"/opt/my tools/x\"] }\n"),
        with("command = { argv = [\"my tool\", \"x\"] }\n"),
        with("command = { argv = [\"date\"], cwd = \"a b\" }\n"),
    ] {
        plan(&text);
    }
}

#[test]
fn all_words_of_a_long_command_count() {
    for (argv, fits) in [
        (format!("\"x\"{}", ", \"y\"".repeat(1023)), true),
        (format!("\"x\", [\"y\"{}]", ", \"y\"".repeat(1022)), true),
        (format!("\"x\"{}", ", [\"y\", \"z\"]".repeat(512)), false),
    ] {
        let (plan, findings) = run(Scope::User, false, &with(&format!("command = {{ argv = [{argv}] }}\n")));
        assert_eq!(plan.is_some(), fits, "{findings:?}");
    }
}

#[test]
fn no_flood_of_findings() {
    let many: String = (0..5000).map(|at| format!("{{a{at}}}${{V{at}}}")).collect();
    let properties: String = (0..500).map(|at| format!("p{at} = {{}}\n")).collect();
    let text = with(&format!(
        "command = {{ argv = [\"x\", \"{many}\"] }}\n[invokers.arguments]\ntype = \"object\"\n[invokers.arguments.properties]\n{properties}"
    ));
    let (_, findings) = run(Scope::User, false, &text);
    assert_eq!(findings.len(), 3 * 32);
}

#[test]
fn secrets_beside_references_are_not_shown() {
    for rest in [
        "http = { url = \"https://a/?key=hunter2&x={y}\" }\n",
        "http = { url = \"https://hunter2:{y}@a/\" }\n",
        "http = { url = \"https://a\", headers = { A = \"hunter2 {\" } }\n",
        "http = { url = \"https://a\", headers = { A = \"{hunter2\" } }\n",
        "http = { url = \"https://a\", headers = { A = \"hunter2 {y}\" } }\n",
        "http = { url = \"https://a\", headers = { A = \"hunter2\\n\" } }\n",
        "http = { method = \"PUT\", url = \"https://a\", file = \"hunter2/{y}\" }\n",
        "command = { argv = [\"x\", \"hunter2 {y}\"] }\n",
        "command = { argv = [\"x\"], environment = { A = \"hunter2 ${NO}\" } }\n",
    ] {
        let text = with(rest);
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
        let all = loaded.diagnostics.iter().chain(&resolved.diagnostics);
        let shown: String = all.map(|diagnostic| diagnostic.render(&loaded.sources)).collect();
        assert!(!shown.is_empty() && !shown.contains("hunter2"), "{shown}");
    }
}

#[test]
fn of_a_stranger_they_are_inert() {
    let builtin = "[[invokers]]\nname = \"b\"\ndescription = \"d\"\nbuiltin = \"peek_file\"\n";
    for kind in ["command = { argv = [\"rm\"] }\n", "http = { url = \"https://a\" }\n"] {
        let text = with(kind).replacen("[[invokers]]", &format!("{builtin}[[invokers]]"), 1);
        let (plan, findings) = run(Scope::Project, false, &text);
        let found: Vec<_> = findings.iter().map(|f| format!("{} {}", f.code, f.line.unwrap_or(0))).collect();
        assert_eq!(found, ["untrusted-connection 8"], "{text}");
        assert!(findings[0].message.contains("starts a program or sends a request"));
        let plan = plan.unwrap();
        assert!(plan.reaches_out() && !plan.trusted);
        for (scope, trusted) in [(Scope::Project, true), (Scope::User, false), (Scope::Explicit, false)] {
            let (plan, findings) = run(scope, trusted, &text);
            assert_eq!(findings, []);
            assert!(plan.unwrap().trusted);
        }
    }
    let (plan, findings) = run(Scope::Project, false, &with("builtin = \"peek_file\"\n"));
    assert!(findings.is_empty() && !plan.unwrap().reaches_out());
}

#[test]
fn times_and_protocol_of_a_connection() {
    let text = "[ensemble]\nname = \"e\"\ndescription = \"d\"\n[connection]\ntransport = \"http\"\nurl = \"https://a\"\n";
    let plain = plan(text);
    assert_eq!(plain.connection.as_ref().unwrap().connect_timeout, None);
    assert_eq!(plain.connection.unwrap().protocol, Protocol::Auto);
    assert_eq!(plain.defaults.idle_timeout, Duration::from_secs(60));
    for (word, protocol) in
        [("auto", Protocol::Auto), ("modern", Protocol::Modern), ("legacy", Protocol::Legacy)]
    {
        let said = format!(
            "{text}connect_timeout = \"1m\"\nprotocol = \"{word}\"\n[defaults]\nidle_timeout = 5\n[tools.t]\nidle_timeout = 7\n"
        );
        let plan = plan(&said);
        let connection = plan.connection.unwrap();
        assert_eq!(
            (connection.connect_timeout, connection.protocol),
            (Some(Duration::from_secs(60)), protocol)
        );
        assert_eq!(plan.defaults.idle_timeout, Duration::from_secs(5));
        let idle: Vec<_> = plan.tools.values().map(|policy| policy.idle_timeout.as_secs()).collect();
        assert_eq!(idle, [7]);
    }
}
