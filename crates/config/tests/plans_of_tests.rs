//! Tests of tools, what a sandbox leaves open, and what is kept: what a descriptor says of them reaches the plan, and what
//! contradicts itself is told.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers may panic")]

use std::time::Duration;

use converse_canister::{Cost, Outcome};
use converse_config::{
    BuiltinSpec, Effects, EnsemblePlan, Environment, Expectation, InvokerKind, Origin, ResolveInput,
    SandboxAccess, SandboxLevel, Scope, SourceMap, TestPlan, load, parse_ensemble, resolve,
};
use serde_json::{Map, Value, json};

const BUILTINS: [BuiltinSpec<'static>; 1] = [BuiltinSpec { name: "peek_file", effects: Effects::Read }];

fn given(environment: &Environment) -> ResolveInput<'_> {
    ResolveInput {
        builtins: &BUILTINS,
        environment,
        project_trusted: true,
        compile_schemas: true,
        require_env: false,
    }
}

/// The plan, if there is one, and `code line` of what was found.
fn run(scope: Scope, text: &str) -> (Option<EnsemblePlan>, Vec<String>) {
    let mut sources = SourceMap::new();
    let id = sources.add("e.toml", scope, text);
    let parsed = parse_ensemble(&sources, id);
    let mut resolved = resolve(&sources, &[parsed.value], &given(&Environment::default()));
    let all = parsed.diagnostics.iter().chain(&resolved.diagnostics).map(|found| found.finding(&sources));
    let found = all.map(|found| format!("{} {}", found.code, found.line.unwrap_or(0))).collect();
    (resolved.plans.pop(), found)
}

fn plan(text: &str) -> EnsemblePlan {
    let (plan, found) = run(Scope::User, text);
    assert_eq!(found, [""; 0], "{text}");
    plan.unwrap()
}

const HEAD: &str = "[ensemble]\nname = \"e\"\ndescription = \"d\"\n";

/// A command whose `name` stands in line 5; `rest` begins in line 8.
fn command(rest: &str) -> String {
    format!("{HEAD}[[invokers]]\nname = \"i\"\ndescription = \"d\"\ncommand.argv = [\"x\"]\n{rest}")
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

#[test]
fn a_test_is_planned_as_it_is_written() {
    let text = command(
        "[[invokers.tests]]\n\
         [[invokers.tests]]\nname = \"all of it\"\narguments = { a = [1, { b = 1979-05-27 }] }\n\
         [invokers.tests.expect]\noutcome = \"failed\"\ntext = \"t\"\ncontains = \"c\"\nmatches = '^\\d+$'\n\
         json = { \"\" = 1, \"/a/0\" = { b = true } }\nschema.type = \"array\"\nwithin = \"1.5s\"\n\
         [[invokers.tests]]\nexpect.contains = [\"c\", \"d\"]\n",
    );
    let origin = |line| Origin { scope: Scope::User, file: "e.toml".into(), line };
    let plain = |line| TestPlan {
        name: None,
        arguments: Map::new(),
        expect: Expectation::default(),
        origin: origin(line),
    };
    let mut found = plan(&text).invokers.remove(0).tests;
    found[1].expect.json.sort_by(|a, b| a.0.cmp(&b.0));
    let all = Expectation {
        outcome: Outcome::Failed,
        text: Some("t".into()),
        contains: vec!["c".into()],
        matches: Some("^\\d+$".into()),
        json: vec![(String::new(), json!(1)), ("/a/0".into(), json!({ "b": true }))],
        schema: Some(json!({ "type": "array" })),
        within: Some(Duration::from_millis(1500)),
    };
    let both = Expectation { contains: vec!["c".into(), "d".into()], ..Expectation::default() };
    assert_eq!(Expectation::default().outcome, Outcome::Success);
    assert_eq!(
        found,
        [
            plain(8),
            TestPlan {
                name: Some("all of it".into()),
                arguments: object(json!({ "a": [1, { "b": "1979-05-27" }] })),
                expect: all,
                ..plain(9)
            },
            TestPlan { expect: both, ..plain(20) },
        ]
    );
}

#[test]
fn every_outcome_of_a_call_can_be_expected() {
    for (word, outcome) in [
        ("success", Outcome::Success),
        ("refused", Outcome::Refused),
        ("timeout", Outcome::Timeout),
        ("unreachable", Outcome::Unreachable),
        ("failed", Outcome::Failed),
        ("invalid", Outcome::Invalid),
    ] {
        let text = command(&format!("[[invokers.tests]]\nexpect.outcome = \"{word}\"\n"));
        assert_eq!(plan(&text).invokers[0].tests[0].expect.outcome, outcome);
    }
}

/// Names of tests, or their lines.
fn names(tests: &[TestPlan]) -> Vec<String> {
    tests.iter().map(|test| test.name.clone().unwrap_or_else(|| test.origin.line.to_string())).collect()
}

#[test]
fn tests_beside_a_source_and_in_its_file_add_up() {
    let ensemble = |tests: usize| {
        let tests = "[[invokers.tests]]\nname = \"beside\"\n".repeat(tests);
        format!("{HEAD}[[invokers]]\nsource = \"i/i.toml\"\n{tests}")
    };
    let invoker = |tests: usize| {
        let tests = "[[tests]]\nname = \"within\"\n".repeat(tests);
        format!("[invoker]\nname = \"i\"\ndescription = \"d\"\nbuiltin = \"peek_file\"\n{tests}")
    };
    let resolved = |beside: usize, within: usize| {
        let (ensemble, invoker) = (ensemble(beside), invoker(within));
        let loaded = load(&[], &[("e.toml", ensemble.as_str()), ("i/i.toml", invoker.as_str())]);
        assert!(loaded.diagnostics.is_empty());
        let mut resolved = resolve(&loaded.sources, &loaded.descriptors, &given(&Environment::default()));
        let found = resolved.diagnostics.iter().map(|found| found.finding(&loaded.sources));
        let found = found.map(|found| format!("{} {}:{}", found.code, found.file, found.line.unwrap_or(0)));
        (found.collect::<Vec<_>>(), resolved.plans.pop().map(|mut plan| plan.invokers.remove(0).tests))
    };
    let (found, tests) = resolved(1, 2);
    assert_eq!(
        (found.len(), names(&tests.unwrap())),
        (0, vec!["beside".into(), "within".into(), "within".into()])
    );
    let (found, tests) = resolved(60, 40);
    assert_eq!((found.len(), tests.unwrap().len()), (0, 100));
    let (found, tests) = resolved(60, 41);
    assert_eq!((found, tests), (vec!["too-many builtin:i/i.toml:85".to_owned()], None));
}

#[test]
fn tests_of_discovered_tools_are_planned() {
    let text = format!(
        "{HEAD}[connection]\ntransport = \"stdio\"\ncommand = [\"x\"]\n[tools.a]\ncost = 0.5\n\
         [[tools.a.tests]]\n[[tools.a.tests]]\nname = \"n\"\n[[tools.b.tests]]\n"
    );
    let plan = plan(&text);
    let tests: Vec<_> = plan.tests.iter().map(|(name, tests)| (name.as_str(), names(tests))).collect();
    assert_eq!(tests, [("a", vec!["9".to_owned(), "n".to_owned()]), ("b", vec!["12".to_owned()])]);
    let policies: Vec<_> = plan.tools.iter().map(|(name, policy)| (name.as_str(), policy.cost)).collect();
    assert_eq!(policies, [("a", Some(Cost::of_dollars(0.5))), ("b", None)]);
}

#[test]
fn a_test_that_contradicts_the_schema_is_told_and_no_other() {
    let text = |invoker: &str, test: &str| {
        format!(
            "{HEAD}[[invokers]]\nname = \"i\"\ndescription = \"d\"\n{invoker}\n[invokers.arguments]\ntype = \"object\"\n\
             required = [\"a\"]\nproperties = {{ a.type = \"string\", n = {{ type = \"integer\", default = 1 }} }}\n\
             additionalProperties = false\n[[invokers.tests]]\n{test}"
        )
    };
    let (command, builtin) = ("command.argv = [\"x\", \"{a}{n}\"]", "builtin = \"peek_file\"");
    for (invoker, test, found) in [
        (command, "arguments.a = \"x\"", false),
        (command, "arguments = { a = \"x\", n = 2 }\nexpect.outcome = \"failed\"", false),
        (command, "expect.outcome = \"invalid\"", false),
        (command, "arguments = { a = 3 }\nexpect.outcome = \"invalid\"", false),
        // The command itself takes no word that would be an option.
        (command, "arguments.a = \"-x\"\nexpect.outcome = \"invalid\"", false),
        // What a built-in says of arguments is not in its schema.
        (builtin, "arguments.a = \"x\"\nexpect.outcome = \"invalid\"", false),
        (command, "", true),
        (builtin, "arguments.b = 1", true),
        (command, "arguments = { a = 3 }", true),
        (command, "arguments = { a = 3 }\nexpect.outcome = \"refused\"", true),
        (command, "arguments.a = \"x\"\nexpect.outcome = \"invalid\"", true),
    ] {
        let (plan, codes) = run(Scope::User, &text(invoker, test));
        assert_eq!(codes.iter().any(|code| code.starts_with("test-contradicts ")), found, "{invoker} {test}");
        assert_eq!((codes.len(), plan.is_some()), (usize::from(found), true), "a warning: {codes:?}");
    }
    // Of what could not be read nothing is known.
    for test in [
        "arguments = = 1",
        "[invokers.tests.arguments\na = \"x\"\n",
        "arguments.a = nan\nexpect.outcome = \"failed\"",
        "expect.outcome = \"x\"",
    ] {
        let (_, codes) = run(Scope::User, &text(command, test));
        assert!(
            !codes.is_empty() && !codes.iter().any(|code| code.contains("contradicts")),
            "{test}: {codes:?}"
        );
    }
}

#[test]
fn openings_are_planned_and_their_paths_are_plain() {
    let sandbox_access = |rest: &str| {
        let (plan, found) = run(Scope::User, &command(&format!("sandbox = \"require\"\n{rest}")));
        let sandbox_access = plan.map(|mut plan| match plan.invokers.remove(0).kind {
            InvokerKind::Command(command) => command.sandbox_access.clone(),
            other => panic!("{other:?}"),
        });
        (sandbox_access, found)
    };
    assert_eq!(sandbox_access(""), (Some(SandboxAccess::default()), Vec::new()));
    let said = sandbox_access(
        "command.reads = [\"a b\", \"/etc/hosts\", \"../x\"]\ncommand.writes = [\".\"]\ncommand.network = true\n",
    );
    let expected = SandboxAccess {
        reads: vec!["a b".into(), "/etc/hosts".into(), "../x".into()],
        writes: vec![".".into()],
        network: true,
    };
    assert_eq!(said, (Some(expected), Vec::new()));
    let many = format!("command.reads = [\"a\"{}]\n", ", \"a\"".repeat(64));
    for (rest, code) in [
        ("command.reads = \"a\"\n", "wrong-type 9"),
        ("command.reads = [1]\n", "wrong-type 9"),
        ("command.reads = [\" \"]\n", "bad-value 9"),
        ("command.writes = [\"a\\u0000\"]\n", "bad-value 9"),
        ("command.writes = [\"~/a\"]\n", "bad-value 9"),
        ("command.writes = [\"${HOME}\"]\n", "bad-value 9"),
        ("command.reads = [\"{a}\"]\n", "bad-value 9"),
        ("command.reads = [\"env:HOME\"]\n", "bad-value 9"),
        ("command.network = 1\n", "wrong-type 9"),
        ("command.netwrk = true\n", "unknown-key 9"),
        (many.as_str(), "too-many 9"),
    ] {
        assert_eq!(sandbox_access(rest), (None, vec![code.to_owned()]), "{rest}");
    }
}

#[test]
fn a_project_opens_nothing_outside_of_itself() {
    for (path, leads_out) in
        [("a", false), ("a/b", false), ("/etc", true), ("../a", true), ("a/../../b", true)]
    {
        for key in ["reads", "writes"] {
            let text = command(&format!("sandbox = \"require\"\ncommand.{key} = [\"{path}\"]\n"));
            for (scope, strict) in [(Scope::Project, true), (Scope::User, false), (Scope::Explicit, false)] {
                let (plan, found) = run(scope, &text);
                let expected = if strict && leads_out { vec!["bad-value 9".to_owned()] } else { Vec::new() };
                assert_eq!((plan.is_none(), found), (strict && leads_out, expected), "{scope:?} {path}");
            }
        }
    }
}

#[test]
fn openings_of_no_sandbox_are_told() {
    for (rest, found) in [
        ("command.network = false\n", vec!["openings-without-sandbox 8".to_owned()]),
        ("sandbox = \"off\"\ncommand.reads = []\n", vec!["openings-without-sandbox 9".to_owned()]),
        ("sandbox = \"best-effort\"\ncommand.reads = [\"a\"]\n", vec![]),
        ("command.writes = [\"a\"]\n[defaults]\nsandbox = \"require\"\n", vec![]),
        (
            "sandbox = \"off\"\ncommand.writes = [\"a\"]\n[defaults]\nsandbox = \"require\"\n",
            vec!["openings-without-sandbox 9".to_owned()],
        ),
    ] {
        let (plan, codes) = run(Scope::User, &command(rest));
        assert_eq!((plan.is_some(), codes), (true, found), "{rest}");
    }
}

#[test]
fn a_default_that_is_of_use_to_some_is_no_mistake() {
    let builtin = "[[invokers]]\nname = \"b\"\ndescription = \"d\"\nbuiltin = \"peek_file\"\n";
    let defaults = "[defaults]\nsandbox = \"require\"\ncache = \"1m\"\n";
    let mixed = plan(&command(&format!("effects = \"read\"\n{builtin}{defaults}")));
    let levels: Vec<_> = mixed.invokers.iter().map(|invoker| invoker.policy.sandbox).collect();
    assert_eq!(levels, [SandboxLevel::Require, SandboxLevel::Require]);
    // Said once, whatever number of tools it is about.
    let two = command(&format!("{}{defaults}", command("").replace(HEAD, "").replace("\"i\"", "\"j\"")));
    assert_eq!(run(Scope::User, &two).1, ["cached-effects 14"]);
    let (_, codes) = run(Scope::User, &command("cache = 5\n[defaults]\neffects = \"read\"\n"));
    assert_eq!(codes, [""; 0]);
    let (_, codes) = run(Scope::User, &command("cache = 5\nidempotent = true\n"));
    assert_eq!(codes, [""; 0]);
}
