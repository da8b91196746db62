//! The crate arrows of `docs/architecture.md`, held.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;

const TEXT: &str = "converse-text";

/// Who may depend on whom, within the workspace. An arrow that is not here is a decision to be made first.
/// The crate `converse-text` is not listed: it is pure, so every crate may use it.
const ARROWS: &[(&str, &[&str])] = &[
    (TEXT, &[]),
    ("converse-canister", &[]),
    ("converse-editor", &[]),
    ("converse-screen", &[]),
    ("converse-process", &[]),
    ("converse-project", &[]),
    ("converse-config", &["converse-canister"]),
    ("converse-provider", &["converse-canister"]),
    ("converse-session", &["converse-canister"]),
    ("converse-openai", &["converse-canister", "converse-provider"]),
    ("converse-understudy", &["converse-canister"]),
    ("converse-postgres", &["converse-session"]),
    ("converse-foreign", &["converse-canister", "converse-config"]),
    ("converse-ensemble", &["converse-canister", "converse-config", "converse-process"]),
    ("converse-mcp", &["converse-canister", "converse-config", "converse-ensemble", "converse-process"]),
    ("converse-engine", &["converse-canister", "converse-ensemble", "converse-provider"]),
    ("converse-telemetry", &["converse-canister", "converse-engine", "converse-session"]),
    ("converse-gateway", &["converse-canister", "converse-config", "converse-engine", "converse-ensemble"]),
    (
        "converse-server",
        &[
            "converse-canister",
            "converse-config",
            "converse-engine",
            "converse-ensemble",
            "converse-gateway",
            "converse-host",
            "converse-openai",
            "converse-provider",
            "converse-session",
        ],
    ),
    (
        "converse-host",
        &[
            "converse-canister",
            "converse-config",
            "converse-engine",
            "converse-ensemble",
            "converse-mcp",
            "converse-postgres",
            "converse-process",
            "converse-project",
            "converse-provider",
            "converse-session",
            "converse-telemetry",
            // With its feature `test-fakes` alone.
            "converse-testkit",
            "converse-understudy",
        ],
    ),
    (
        "converse-terminal",
        &[
            "converse-canister",
            "converse-config",
            "converse-editor",
            "converse-engine",
            "converse-ensemble",
            "converse-host",
            "converse-mcp",
            "converse-process",
            "converse-project",
            "converse-provider",
            "converse-screen",
            "converse-session",
        ],
    ),
    (
        "converse-batch",
        &[
            "converse-canister",
            "converse-config",
            "converse-engine",
            "converse-host",
            "converse-mcp",
            "converse-provider",
            "converse-session",
            "converse-terminal",
        ],
    ),
    ("converse-doctor", &["converse-config", "converse-host", "converse-process"]),
    (
        "converse-eval",
        &[
            "converse-batch",
            "converse-canister",
            "converse-config",
            "converse-host",
            "converse-mcp",
            "converse-session",
            "converse-terminal",
        ],
    ),
    // A program of its own: the binary does not link the SDK of Restate.
    (
        "converse-worker",
        &[
            "converse-batch",
            "converse-canister",
            "converse-engine",
            "converse-ensemble",
            "converse-host",
            "converse-mcp",
            "converse-session",
            "converse-terminal",
        ],
    ),
    (
        "converse",
        &[
            "converse-batch",
            "converse-canister",
            "converse-config",
            "converse-doctor",
            "converse-engine",
            "converse-ensemble",
            "converse-eval",
            "converse-foreign",
            "converse-gateway",
            "converse-host",
            "converse-mcp",
            "converse-provider",
            "converse-screen",
            "converse-server",
            "converse-session",
            "converse-terminal",
            // With its feature `test-fakes` alone.
            "converse-testkit",
        ],
    ),
    // Of tests and chores only: for the others it is a development dependency, which is no arrow.
    (
        "converse-testkit",
        &[
            "converse-canister",
            "converse-config",
            "converse-engine",
            "converse-ensemble",
            "converse-provider",
        ],
    ),
    ("xtask", &["converse-config"]),
];

/// Heavy or worldly crates, and the only ones of ours that may use them.
const CONFINED: &[(&str, &[&str])] = &[
    // The servers of one ensemble are reached by a client that the host builds.
    ("reqwest", &["converse-host", "converse-mcp"]),
    ("rmcp", &["converse-gateway", "converse-mcp", "converse-server"]),
    ("hyper", &["converse-server"]),
    // A database is reached by its own protocol.
    ("rustls", &["converse-host", "converse-postgres"]),
    ("tokio-postgres", &["converse-postgres"]),
    ("clap", &["converse", "converse-worker"]),
    ("restate-sdk", &["converse-worker"]),
    ("jsonwebtoken", &["converse-server", "converse-worker"]),
    ("indicatif", &["converse-terminal"]),
    ("jsonschema", &["converse-config"]),
    ("landlock", &["converse-process"]),
    ("html5gum", &["converse-text"]),
    ("reedline", &["converse-editor"]),
    ("crossterm", &["converse-editor"]),
    ("pulldown-cmark", &["converse-screen"]),
    ("unicode-width", &["converse-text"]),
    ("strsim", &["converse-text"]),
    ("vt100", &["converse-testkit"]),
    ("jsonc-parser", &["converse-foreign"]),
    ("saphyr-parser", &["converse-foreign", "converse-project"]),
    (
        "tokio",
        &[
            "converse",
            "converse-batch",
            "converse-doctor",
            "converse-editor",
            "converse-engine",
            "converse-ensemble",
            "converse-eval",
            "converse-gateway",
            "converse-host",
            "converse-mcp",
            "converse-postgres",
            "converse-process",
            "converse-server",
            "converse-terminal",
            "converse-testkit",
            "converse-worker",
        ],
    ),
];

fn metadata() -> Value {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version=1", "--no-deps", "--offline", "--manifest-path"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Package → its ordinary (not development) dependencies.
fn dependencies() -> BTreeMap<String, Vec<String>> {
    let name = |value: &Value| value["name"].as_str().unwrap().to_owned();
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap();
    packages
        .iter()
        .map(|package| {
            let ordinary = package["dependencies"].as_array().unwrap().iter().filter(|d| d["kind"].is_null());
            (name(package), ordinary.map(name).collect())
        })
        .collect()
}

#[test]
fn crates_depend_only_as_the_architecture_says() {
    let dependencies = dependencies();
    let known: Vec<&String> = dependencies.keys().collect();
    for (package, uses) in &dependencies {
        let allowed = ARROWS.iter().find(|(name, _)| name == package);
        let (_, allowed) = allowed.unwrap_or_else(|| panic!("{package} is not in the table of arrows"));
        for used in uses.iter().filter(|used| known.contains(used)) {
            assert!(*used == TEXT || allowed.contains(&used.as_str()), "{package} may not depend on {used}");
        }
    }
    assert_eq!(known.len(), ARROWS.len(), "{known:?}");
}

#[test]
fn heavy_crates_stay_where_they_belong() {
    for (package, uses) in dependencies() {
        for (heavy, allowed) in CONFINED {
            let confined = !uses.iter().any(|used| used == heavy) || allowed.contains(&package.as_str());
            assert!(confined, "{package} may not use {heavy}");
        }
    }
}
