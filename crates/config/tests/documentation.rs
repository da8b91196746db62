//! Checks the TOML examples of the README, the guides and the reference pages: the first line of each names its file, and it parses as that file.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers may panic")]

mod schemas;

use std::collections::BTreeSet;

use converse_config::{
    BuiltinSpec, Diagnostic, Effects, Environment, ResolveInput, Scope, SourceMap, load, parse_settings,
    resolve,
};

const SETTINGS: &str = include_str!("../../../docs/reference/settings.md");
const README: &str = include_str!("../../../README.md");
const TOOLS: &str = include_str!("../../../docs/guides/tools.md");
const SERVERS: &str = include_str!("../../../docs/guides/mcp.md");
const TEAM: &str = include_str!("../../../docs/guides/team.md");
const GATEWAY: &str = include_str!("../../../docs/guides/gateway.md");
const OPENAI: &str = include_str!("../../../docs/guides/openai-api.md");
const TESTING: &str = include_str!("../../../docs/guides/testing-tools.md");
const DESCRIPTORS: &str = include_str!("../../../docs/reference/descriptors.md");

const BUILTINS: [BuiltinSpec<'static>; 5] = [
    BuiltinSpec { name: "calculator", effects: Effects::None },
    BuiltinSpec { name: "current_datetime", effects: Effects::None },
    BuiltinSpec { name: "read_file", effects: Effects::Read },
    BuiltinSpec { name: "write_file", effects: Effects::Write },
    BuiltinSpec { name: "list_directory", effects: Effects::Read },
];

/// The file an example says it is, and the example itself.
type Example = (&'static str, &'static str);

/// Every block of TOML of these pages.
fn examples() -> Vec<Example> {
    let mut examples = Vec::new();
    for page in [README, SETTINGS, TOOLS, SERVERS, TEAM, GATEWAY, OPENAI, TESTING, DESCRIPTORS] {
        let blocks: Vec<_> = page.split("```toml\n").skip(1).collect();
        let fences = page.lines().filter(|line| line.contains("```") && line.contains("toml"));
        assert_eq!(blocks.len(), fences.count(), "a fence is written in another way");
        for block in blocks {
            let (text, _) = block.split_once("\n```\n").expect("an example has an end");
            let first = text.lines().next().unwrap_or_default();
            let file = first.strip_prefix("# ").expect("an example says which file it is");
            examples.push((file, text));
        }
    }
    examples
}

/// Those of one kind, and that there are some.
fn examples_of(kind: fn(&str) -> bool) -> Vec<Example> {
    let found: Vec<_> = examples().into_iter().filter(|(file, _)| kind(file)).collect();
    assert!(!found.is_empty());
    found
}

fn is_ensemble(file: &str) -> bool {
    file.starts_with("ensembles/") && file.matches('/').count() == 1
}

fn is_invoker(file: &str) -> bool {
    file.starts_with("ensembles/") && file.matches('/').count() > 1
}

fn shown<'d>(problems: impl IntoIterator<Item = &'d Diagnostic>, sources: &SourceMap) -> String {
    problems.into_iter().map(|problem| problem.render(sources)).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_example_says_what_it_is() {
    for (file, _) in examples() {
        let settings = matches!(file, "config.toml" | "converse.toml");
        assert!(settings || is_ensemble(file) || is_invoker(file), "{file}");
        assert!(file.ends_with(".toml"), "{file}");
    }
}

#[test]
fn settings_examples_are_right() {
    for (scope, kind) in [
        (Scope::User, (|file| file == "config.toml") as fn(&str) -> bool),
        (Scope::Project, |file| file == "converse.toml"),
    ] {
        for (file, text) in examples_of(kind) {
            let mut sources = SourceMap::new();
            let id = sources.add(file, scope, text);
            let checked = parse_settings(&sources, id);
            assert_eq!(shown(&checked.diagnostics, &sources), "", "{text}");
        }
    }
}

#[test]
fn descriptor_examples_are_right_by_the_published_schemas() {
    for (kind, files) in [
        (schemas::Kind::Ensemble, examples_of(is_ensemble)),
        (schemas::Kind::Invoker, examples_of(is_invoker)),
    ] {
        for (file, text) in files {
            assert_eq!(schemas::faults(kind, text), [""; 0], "{file}");
        }
    }
}

/// All of them as one directory: each ensemble with the invokers it names, resolved with compiled schemas.
#[test]
fn descriptor_examples_are_right() {
    let files = [examples_of(is_ensemble), examples_of(is_invoker)].concat();
    let files: Vec<Example> =
        files.into_iter().map(|(file, text)| (file.trim_start_matches("ensembles/"), text)).collect();
    let loaded = load(&[], &files);
    let environment = Environment::new(
        ["WEATHER_TOKEN", "PAGES_TOKEN", "TICKETS_TOKEN", "FILES_DEBUG"]
            .map(|name| (name.to_owned(), "x".to_owned())),
    );
    let given = ResolveInput {
        builtins: &BUILTINS,
        environment: &environment,
        project_trusted: false,
        compile_schemas: true,
        require_env: false,
    };
    let resolved = resolve(&loaded.sources, &loaded.descriptors, &given);
    let problems = loaded.diagnostics.iter().chain(&resolved.diagnostics);
    assert_eq!(shown(problems, &loaded.sources), "");
    assert!(resolved.broken.is_empty());
    assert_eq!(resolved.plans.len(), files.iter().filter(|(file, _)| !file.contains('/')).count());
    assert!(resolved.plans.iter().any(|plan| plan.connection.is_some()));

    let read: BTreeSet<_> = loaded.sources.iter().map(|(_, source)| source.path.clone()).collect();
    let given: BTreeSet<_> = files.iter().map(|(file, _)| format!("builtin:{file}")).collect();
    assert_eq!(read, given, "every invoker file belongs to an ensemble of the page");
}
