//! What is in the binary is right, complete, and what the built-ins expect.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers may panic")]

use std::collections::BTreeSet;
use std::path::Path;

use converse_config::{
    ArgumentsSchema, BuiltinSpec, Effects, EnsemblePlan, Environment, Given, InvokerKind, Permission, load,
    resolve, shipped,
};
use serde_json::{Value, json};

const BUILTINS: [BuiltinSpec<'static>; 5] = [
    BuiltinSpec { name: "calculator", effects: Effects::None },
    BuiltinSpec { name: "current_datetime", effects: Effects::None },
    BuiltinSpec { name: "read_file", effects: Effects::Read },
    BuiltinSpec { name: "write_file", effects: Effects::Write },
    BuiltinSpec { name: "list_directory", effects: Effects::Read },
];

fn plans() -> Vec<EnsemblePlan> {
    let loaded = load(&[], shipped());
    let environment = Environment::default();
    let given = Given {
        builtins: &BUILTINS,
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

#[test]
fn shipped_descriptors_are_right() {
    let plans = plans();
    let tools: Vec<_> = plans
        .iter()
        .flat_map(|plan| {
            plan.invokers.iter().map(move |invoker| {
                let InvokerKind::Builtin(builtin) = &invoker.kind else { panic!("{invoker:?}") };
                assert_eq!(invoker.policy.permission, None::<Permission>);
                (format!("{}.{}", plan.name, invoker.name), builtin.clone(), invoker.policy.effects)
            })
        })
        .collect();
    let tool = |name: &str, builtin: &str, effects| (name.to_owned(), builtin.to_owned(), effects);
    assert_eq!(
        tools,
        [
            tool("essentials.calculator", "calculator", Effects::None),
            tool("essentials.current_datetime", "current_datetime", Effects::None),
            tool("io.read_file", "read_file", Effects::Read),
            tool("io.write_file", "write_file", Effects::Write),
            tool("io.list_directory", "list_directory", Effects::Read),
        ]
    );
    assert_eq!(Value::Object(plans[1].configuration.clone()), json!({ "root": "." }));
    assert_eq!(plans[1].origin.file, "builtin:io.toml");
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
                assert!(property["type"].is_string(), "{name}");
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
