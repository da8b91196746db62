//! Files that an earlier converse wrote are read by this one. `frozen/DATE` holds a home and a project as the program of
//! that date left them; they are never changed. An older journal is in `crates/session/tests/journals`.

use std::fs::DirBuilder;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;

use serde_json::{Value, json};

use crate::body::{Dialect, text};
use crate::env::{TestEnv, files};
use crate::provider::Provider;

const WRITTEN_IN: &str = "/tmp/frozen-project";
/// The address of the server whose answers are in the cassette; nothing connects to it.
const RECORDED_AT: &str = "http://127.0.0.1:47001";
const TRUST: &str = "home/.local/state/converse/trust.jsonl";

/// Copies the files of November 2026. Trust belongs to a directory, so the project's path is replaced in the trust store.
fn frozen() -> TestEnv {
    let env = TestEnv::new();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/frozen/2026-11");
    for file in files(&from) {
        let to = env.path(file.strip_prefix(&from).unwrap().to_str().unwrap());
        let private = DirBuilder::new().recursive(true).mode(0o700).create(to.parent().unwrap());
        private.unwrap();
        std::fs::copy(&file, &to).unwrap();
        std::fs::set_permissions(&to, PermissionsExt::from_mode(0o600)).unwrap();
    }
    let work = env.path("work").canonicalize().unwrap();
    let trust = std::fs::read_to_string(env.path(TRUST)).unwrap();
    assert!(trust.contains(WRITTEN_IN));
    env.write(TRUST, &trust.replace(WRITTEN_IN, work.to_str().unwrap()));
    env
}

#[test]
fn a_session_is_sound_shown_and_exported() {
    let env = frozen();
    let listed = env.run(&["sessions", "list", "--all", "--json"]).exits(0).json();
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
    assert_eq!((&listed[0]["name"], &listed[0]["tags"]), (&json!("frozen"), &json!(["work"])));
    let checked = env.run(&["sessions", "check"]).exits(0);
    assert!(checked.stdout.contains("checked 1 session: 0 problems"), "{checked:?}");
    let shown = env.run(&["sessions", "show", "frozen"]).exits(0).stdout;
    let exported = env.run(&["sessions", "export", "frozen", "--format", "json"]).exits(0).stdout;
    assert!(exported.contains("remember the milk"), "{exported}");
    for part in ["What is 6*7?", "notes.md", "pixel.png", "It is 42, and it is written.", "Wait a little."] {
        assert!(shown.contains(part), "no {part:?} in {shown}");
        assert!(exported.contains(part), "no {part:?} in {exported}");
    }
    env.run_with_stdin(&["sessions", "import", "-"], exported.as_bytes()).exits(0);
}

#[test]
fn a_session_with_an_interrupted_turn_continues() {
    let script = [text("It goes on.")];
    let provider = Provider::serving(Dialect::Anthropic, "anthropic", "claude-haiku-4-5", script);
    let env = provider.env(frozen());
    let ran = env.run(&["ask", "-c", "--all", "And now?"]).exits(0);
    assert_eq!(ran.stdout, "It goes on.\n");
    let request = provider.requests()[0].to_string();
    for part in ["remember the milk", "iVBORw0KGgpV", "Wait a little.", "slow__wait", "And now?"] {
        assert!(request.contains(part), "no {part:?} in {request}");
    }
    // Opaque reasoning goes back only to the address that issued it, and the recorded server had another port.
    assert!(!request.contains("signature-1"), "{request}");
    provider.is_content();
    env.run(&["sessions", "check"]).exits(0);
}

#[test]
fn a_lockfile_and_settings_are_accepted() {
    let env = frozen();
    let ran = env.run(&["ensembles", "check", "--locked"]).exits(0);
    assert!(!ran.stdout.contains("lock-") && ran.stdout.contains("0 errors"), "{ran:?}");
    let presets = env.run(&["ask", "2+2", "--preset", "pirate", "--ephemeral"]).exits(0);
    assert!(presets.stdout.contains('4'), "{presets:?}");
    // The record of trust is older than the trust in settings.
    let warnings: Vec<&str> = presets.stderr.lines().filter(|line| line.contains("warning")).collect();
    assert!(matches!(warnings[..], [one] if one.contains("`system`, `presets.review`")), "{presets:?}");
    // The lists and rules of both files count.
    for (call, decision) in [
        (["explain", "io.write_file", "path=.git/x"], "deny"),
        (["explain", "io.read_file", "path=secret.txt"], "deny"),
        (["explain", "git.status", "--json"], "deny"),
    ] {
        let ran = env.run(&call);
        assert!(ran.stdout.contains(decision), "{call:?}: {ran:?}");
    }
}

#[test]
fn a_project_stays_trusted() {
    let env = frozen();
    let ran = env.run(&["ensembles", "call", "sums.sum", "expression=6*7"]).exits(0);
    let trust = ran.stderr.lines().filter(|line| line.contains("trust") && !line.contains("converse.toml"));
    assert!(ran.stdout.contains("42") && trust.count() == 0, "{ran:?}");
    // An approval that is kept in a file counts for tools of a trusted project only.
    let again = env.run(&["ensembles", "trust", "--json"]).exits(3).json();
    assert_eq!(again["changes"], json!({ "changed": [], "added": ["converse.toml"], "removed": [] }));
}

#[test]
fn an_audit_log_holds_and_grows() {
    let env = frozen();
    let records = |env: &TestEnv| {
        let ran = env.run(&["audit", "verify", "--json"]).exits(0);
        ran.json()["records"].as_u64().unwrap()
    };
    let before = records(&env);
    assert_eq!(before, 18);
    env.run(&["ensembles", "call", "sums.sum", "expression=1+1"]).exits(0);
    assert!(records(&env) > before);
}

#[test]
fn a_cassette_is_replayed() {
    let env = frozen().var("ANTHROPIC_BASE_URL", RECORDED_AT);
    // Its settings have a system text, which was in the request that was recorded.
    let hash = env.run(&["ensembles", "trust", "--json"]).exits(3).json()["sha256"].clone();
    env.run(&["ensembles", "trust", "--hash", hash.as_str().unwrap()]).exits(0);
    let args = ["ask", "And 2+2?", "-m", "anthropic/claude-haiku-4-5", "-e", "sums", "--ephemeral"];
    let ran = env.run(&[&args[..], &["--replay", "sums.cassette"]].concat()).exits(0);
    assert!(ran.stdout.ends_with("It is 4.\n"), "{ran:?}");
}

#[test]
fn approvals_are_listed_and_count() {
    let env = frozen();
    let listed = env.run(&["approvals", "list", "--json"]).exits(0).json();
    let tools: Vec<&Value> = listed.as_array().unwrap().iter().map(|one| &one["tool"]).collect();
    assert_eq!(tools, [&json!("io.write_file"), &json!("io.write_file")], "{listed}");
    assert_eq!(listed[0]["arguments"]["path"], "a.txt");
    assert_eq!(listed[1]["where"]["path"], "docs/*");
}
