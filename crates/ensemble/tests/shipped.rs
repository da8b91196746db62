//! What is in the binary is right, complete, and what the built-ins expect.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers may panic")]

use std::collections::BTreeSet;
use std::path::Path;

use converse_config::{
    ArgumentsSchema, BuiltinSpec, Effects, EnsemblePlan, Environment, InvokerKind, InvokerPlan, Permission,
    ResolveInput, SandboxAccess, SandboxLevel, load, resolve, shipped,
};
use converse_ensemble::builtins;
use serde_json::{Value, json};

fn plans() -> Vec<EnsemblePlan> {
    let loaded = load(&[], shipped());
    let environment = Environment::default();
    let builtins: Vec<_> =
        builtins().iter().map(|one| BuiltinSpec { name: one.name, effects: one.effects }).collect();
    let given = ResolveInput {
        builtins: &builtins,
        environment: &environment,
        project_trusted: false,
        compile_schemas: true,
        require_env: false,
    };
    let resolved = resolve(&loaded.sources, &loaded.descriptors, &given);
    let problems: Vec<_> = loaded.diagnostics.iter().chain(&resolved.diagnostics).collect();
    let shown: Vec<_> = problems.iter().map(|problem| problem.render(&loaded.sources)).collect();
    assert!(shown.is_empty(), "{}", shown.join("\n"));
    resolved.plans
}

fn files_below(dir: &Path, prefix: &str, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{prefix}{}", entry.file_name().into_string().unwrap());
        if entry.path().is_dir() {
            files_below(&entry.path(), &format!("{name}/"), found);
        } else {
            found.insert(name);
        }
    }
}

#[test]
fn every_file_in_ensembles_is_shipped() {
    let mut found = BTreeSet::new();
    files_below(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../ensembles")), "", &mut found);
    let shipped: BTreeSet<_> = shipped().iter().map(|(path, _)| (*path).to_owned()).collect();
    assert_eq!(shipped, found);
}

fn plan(name: &str) -> EnsemblePlan {
    plans().into_iter().find(|plan| plan.name.as_str() == name).unwrap()
}

/// What a tool runs, for short.
fn kind(invoker: &InvokerPlan) -> String {
    match &invoker.kind {
        InvokerKind::Builtin(builtin) => builtin.clone(),
        InvokerKind::Command(command) => {
            format!("{:?}", command.argv[0].templates()[0].literals().next().unwrap())
        }
        InvokerKind::Http(_) => panic!("{invoker:?}"),
    }
}

#[test]
fn shipped_descriptors_are_right() {
    use Effects::{External, None, Read, Write};
    let rows: Vec<_> = plans()
        .iter()
        .flat_map(|plan| {
            plan.invokers.iter().map(move |invoker| {
                assert_eq!(invoker.policy.permission, Option::<Permission>::None);
                (format!("{}.{}", plan.name, invoker.name), kind(invoker), invoker.policy.effects)
            })
        })
        .collect();
    let row =
        |(name, kind, effects): &(&str, &str, Effects)| ((*name).to_owned(), (*kind).to_owned(), *effects);
    let wanted = [
        ("code.python", "\"python3\"", External),
        ("code.javascript", "\"node\"", External),
        ("code.shell", "\"sh\"", External),
        ("essentials.calculator", "calculator", None),
        ("essentials.current_datetime", "current_datetime", None),
        ("git.status", "\"git\"", Read),
        ("git.log", "\"git\"", Read),
        ("git.diff", "\"git\"", Read),
        ("git.show", "\"git\"", Read),
        ("git.blame", "\"git\"", Read),
        ("git.branches", "\"git\"", Read),
        ("io.read_file", "read_file", Read),
        ("io.write_file", "write_file", Write),
        ("io.edit_file", "edit_file", Write),
        ("io.list_directory", "list_directory", Read),
        ("io.search_files", "search_files", Read),
        ("shell.run", "\"sh\"", External),
        ("web.web_search", "web_search", External),
        ("web.fetch", "fetch", External),
    ];
    let wanted: Vec<_> = wanted.iter().map(row).collect();
    let missing: Vec<_> = wanted.iter().filter(|row| !rows.contains(row)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    // A row that is not listed is a built-in under its own name and with its own effects.
    for (name, kind, effects) in rows.iter().filter(|row| !wanted.contains(row)) {
        let builtin = builtins().iter().find(|builtin| builtin.name == kind);
        assert_eq!(builtin.map(|builtin| builtin.effects), Some(*effects), "{name}");
        assert_eq!(name.rsplit('.').next(), Some(kind.as_str()));
    }
    let io = plan("io");
    assert_eq!(Value::Object(io.configuration), json!({ "root": "." }));
    assert_eq!(io.origin.file, "builtin:io.toml");
}

#[test]
fn code_runs_in_a_sandbox_or_not_at_all_and_only_when_named() {
    let code = plan("code");
    assert!(!code.enabled);
    for invoker in code.invokers {
        assert_eq!(invoker.policy.sandbox, SandboxLevel::Require);
        let InvokerKind::Command(command) = invoker.kind else { panic!("not a command") };
        assert_eq!(command.sandbox_access, SandboxAccess::default());
    }
}

#[test]
fn every_tool_has_tests() {
    for plan in plans() {
        let untested = plan.invokers.iter().filter(|invoker| invoker.tests.is_empty());
        assert_eq!(
            untested.map(|invoker| invoker.name.as_str()).collect::<Vec<_>>(),
            [""; 0],
            "{}",
            plan.name
        );
    }
}

/// Models choose and fill by these words, so every property has some.
#[test]
fn every_property_is_described() {
    for plan in plans() {
        for invoker in plan.invokers {
            assert!(invoker.description.len() > 30, "{}", invoker.name);
            let schema = invoker.arguments.unwrap();
            assert_eq!(schema["additionalProperties"], json!(false));
            for (name, property) in schema["properties"].as_object().unwrap() {
                assert!(property["description"].as_str().unwrap().len() > 20, "{name}");
                assert!(property["type"].is_string() || property["enum"].is_array(), "{name}");
            }
        }
    }
}

#[test]
fn arguments_are_checked_and_filled_in() {
    let plans = plans();
    let check = |tool: &str, arguments: Value| {
        let invoker =
            plans.iter().flat_map(|plan| &plan.invokers).find(|invoker| invoker.name.as_str() == tool);
        let schema = ArgumentsSchema::compile(invoker.unwrap().arguments.as_ref().unwrap()).unwrap();
        schema.check(arguments.as_object().unwrap()).map(Value::Object)
    };
    assert_eq!(check("current_datetime", json!({})), Ok(json!({ "format": "human" })));
    assert_eq!(
        check("write_file", json!({ "path": "a", "content": "" })),
        Ok(
            json!({ "path": "a", "content": "", "encoding": "utf-8", "append": false, "create_directories": false })
        )
    );
    assert_eq!(
        check("list_directory", json!({})),
        Ok(json!({ "path": ".", "recursive": false, "hidden": false }))
    );
    assert_eq!(check("read_file", json!({ "path": "a" })), Ok(json!({ "path": "a", "encoding": "utf-8" })));
    for (tool, arguments) in [
        ("calculator", json!({})),
        ("calculator", json!({ "expression": "1".repeat(1001) })),
        ("calculator", json!({ "expression": "1", "decimals": 51 })),
        ("current_datetime", json!({ "format": "short" })),
        ("current_datetime", json!({ "timezome": "UTC" })),
        ("read_file", json!({ "path": "a", "limit": 0 })),
        ("read_file", json!({ "path": "a", "offset": -1 })),
        ("write_file", json!({ "path": "a" })),
        ("list_directory", json!({ "recursive": "yes" })),
    ] {
        assert!(check(tool, arguments.clone()).is_err(), "{tool} {arguments}");
    }
}
