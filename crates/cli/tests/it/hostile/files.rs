//! Words in files and on the command line, on a terminal.

use serde_json::{Value, json};

use super::shown::{all_bytes, each, is_clean, lasting, parts, without_nul, words};
use crate::body::text;
use crate::env::TestEnv;
use crate::provider::Provider;

/// As a name of a file may be.
fn name(part: &str) -> String {
    without_nul(part).replace('/', "_").chars().take(60).collect()
}

fn names() -> Vec<String> {
    each().iter().map(|evil| name(evil)).collect()
}

#[test]
fn descriptors_and_settings() {
    let quoted =
        |text: &str| json!(text).to_string().replace("\\u007f", "\\u007F").replace('\u{7f}', "\\u007f");
    for part in parts(6) {
        let env = TestEnv::new();
        let evil = quoted(&part);
        let tables = format!(
            "[ensemble]\nname = {evil}\ndescription = {evil}\nversion = {evil}\n{evil} = 1\n[defaults]\npermission = {evil}\n\
             timeout = {evil}\n[[invokers]]\nname = {evil}\ndescription = {evil}\nbuiltin = {evil}\neffects = {evil}\n\
             command = {{ argv = [{evil}], environment = {{ {evil} = {evil} }} }}\n[[tests]]\nname = {evil}\n"
        );
        env.write("work/ensembles/evil.toml", &tables);
        let good = format!(
            "[ensemble]\nname = \"good\"\ndescription = {evil}\n[[invokers]]\nname = \"run\"\ndescription = {evil}\n\
             command = {{ argv = [\"/bin/echo\", {evil}], environment = {{ X = {evil} }} }}\n"
        );
        env.write("work/ensembles/good.toml", &good);
        env.write("work/ensembles/broken.toml", &format!("[ensemble]\nname = {}\n", part));
        for args in [
            &["ensembles", "check"][..],
            &["ensembles", "check", "--json"],
            &["ensembles", "check", "--format", "github"],
            &["ensembles", "list", "--tools"],
            &["ensembles", "trust"],
            &["ensembles", "show", "good"],
            &["doctor", "--offline"],
            &["doctor", "--offline", "--json"],
            &["-vvv", "doctor", "--offline"],
        ] {
            is_clean(&env, args, "");
        }
        env.write(
            "home/.config/converse/config.toml",
            &format!("model = {evil}\n{evil} = {evil}\n[presets.{evil}]\nx = 1\n"),
        );
        is_clean(&env, &["ask", "hello"], "error");
        is_clean(&env, &["doctor", "--offline"], "error");
    }
    // No TOML, and no text.
    let env = TestEnv::new();
    std::fs::create_dir_all(env.path("work/ensembles")).unwrap();
    std::fs::write(env.path("work/ensembles/bytes.toml"), all_bytes()).unwrap();
    for name in names().into_iter().filter(|name| name.len() < 200) {
        env.write(&format!("work/ensembles/{name}.toml"), "x = 1\n");
    }
    is_clean(&env, &["ensembles", "check"], "⟦");
    is_clean(&env, &["ensembles", "list"], "");
    is_clean(&env, &["ensembles", "trust"], "");
}

#[test]
fn attachments_prompts_and_flags() {
    let env = TestEnv::new();
    let answer = lasting(words());
    let wrong = without_nul(&words());
    for part in parts(8) {
        let name = name(&part);
        env.write(&format!("work/{name}"), "\0no picture");
        is_clean(&env, &["ask", "-m", "understudy", "hello", "-a", &name], "error");
    }
    for args in [
        &["ask", "hello", "-a", &wrong][..],
        &["ask", "hello", "-s", &format!("@{wrong}")],
        &["ask", "hello", "--preset", &wrong],
        &["ask", "hello", "-e", &wrong],
        &["ask", "hello", "--allow", &wrong],
        &["ask", "hello", "--session", &wrong],
        &["ask", "hello", "--schema", &wrong],
        &["ask", "hello", "--replay", &wrong],
        &["ask", "hello", &format!("--{wrong}")],
        &["ask", "hello", "-o", &wrong],
        &[&wrong],
        &["sessions", "show", &wrong],
        &["sessions", "import", &wrong],
        &["audit", "verify", &wrong],
        &["ensembles", "import", &wrong],
        &["completions", &wrong],
    ] {
        is_clean(&env, args, "error");
    }
    is_clean(&env, &["ask", "-m", "understudy", &wrong, "--dry-run"], "⟦");
    let provider = Provider::chat([text(answer), text(answer)]);
    let env = provider.env(TestEnv::new());
    is_clean(&env, &["ask", "-m", provider.model(), &wrong, "-s", &wrong], "⟦");
    let wild = provider.env(TestEnv::new()).var("OPENAI_BASE_URL", &wrong);
    is_clean(&wild, &["ask", "-m", provider.model(), "hello"], "error");
    is_clean(&wild, &["doctor", "--offline"], "");
    is_clean(&TestEnv::new().var("CONVERSE_MODEL", &wrong), &["ask", "hello"], "error");
}

#[test]
fn an_audit_log_approvals_and_what_others_configured() {
    let env = TestEnv::new();
    env.run(&["ask", "What is 15% of 2500?"]).exits(0);
    let log = env.path("home/.local/state/converse/audit.jsonl");
    let text = std::fs::read_to_string(&log).unwrap();
    for wrong in
        [json!({ "kind": words(), "tool": words(), "prev": words() }).to_string().into_bytes(), all_bytes()]
    {
        std::fs::write(&log, [text.as_bytes(), &wrong, b"\n"].concat()).unwrap();
        is_clean(&env, &["audit", "verify"], "");
        is_clean(&env, &["audit", "verify", "--json"], "");
    }
    let servers: serde_json::Map<String, Value> = parts(10)
        .into_iter()
        .map(|part| {
            (part.clone(), json!({ "command": part, "args": [part], "env": { &part: part }, "url": part }))
        })
        .collect();
    env.write("work/mcp.json", &json!({ "mcpServers": servers }).to_string());
    std::fs::write(env.path("work/bytes.json"), all_bytes()).unwrap();
    for file in ["mcp.json", "bytes.json"] {
        is_clean(&env, &["ensembles", "import", file], "");
    }
    let approvals = env.path("home/.local/state/converse/approvals.toml");
    let _ = std::fs::create_dir_all(approvals.parent().unwrap());
    std::fs::write(&approvals, all_bytes()).unwrap();
    is_clean(&env, &["approvals", "list"], "");
    env.write("work/evil.cassette", &words());
    is_clean(&env, &["ask", "hello", "--replay", "evil.cassette"], "error");
}

#[test]
fn what_a_cassette_lacks() {
    let answer = lasting(words());
    let provider = Provider::chat([text(answer)]);
    let env = provider.env(TestEnv::new());
    let (first, other) = (without_nul(&words()), without_nul(&parts(2).concat()));
    env.run(&["ask", &first, "-m", provider.model(), "--record", "f.cassette"]).exits(0);
    is_clean(&env, &["ask", &first, "-m", provider.model(), "--replay", "f.cassette"], "⟦");
    is_clean(&env, &["ask", &other, "-m", provider.model(), "--replay", "f.cassette"], "⟦");
}
