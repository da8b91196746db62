//! Prompts and resources in the lockfile.

use super::*;

const PROMPT: [&str; 3] = ["--prompt", "srv.guide", "city=Paris"];

/// The same server, with or without prompts.
fn with_prompts(locked: &Locked, flags: &[&str]) {
    let tools = format!("--tool-file={}", locked.tools.display());
    FakeServer::new("srv", &[&[tools.as_str()], flags].concat()).write(&locked.env);
}

fn prompt(locked: &Locked) -> Ran {
    let servers = locked.env.path("servers").display().to_string();
    locked.env.run(&[&["ask", "-m", "understudy", "--ensembles", &servers], &PROMPT[..]].concat())
}

#[test]
fn a_new_prompt_waits_for_a_yes() {
    let locked = Locked::first(&json!([steady()]));
    assert!(locked.text().contains("\"*prompts\""), "a list without entries is pinned: {}", locked.text());
    with_prompts(&locked, &["--prompts"]);
    let refused = prompt(&locked);
    assert_ne!(refused.code, 0, "{refused:?}");
    let held = "these prompts differ from the lockfile and are held back: guide, ";
    assert!(refused.stderr.contains(held), "{}", refused.stderr);
    let findings = locked.findings();
    assert!(
        findings.iter().any(|(code, message)| {
            code == "lock-drift" && message.starts_with("the prompts of `srv`: ") && message.contains("guide")
        }),
        "{findings:?}"
    );
    let shown = locked.lock(&[]).exits(3);
    assert!(shown.stdout.contains("~ the prompts of srv\n"), "{}", shown.stdout);
    let report = locked.lock(&["--json"]).exits(3).json();
    let drift = report["lockfiles"][0]["drift"].as_array().unwrap();
    assert!(drift.iter().any(|one| one["subject"] == "prompts" && one["kind"] == "changed"), "{report}");
    locked.lock(&["--accept"]).exits(0);
    locked.check().exits(0);
    prompt(&locked).exits(0);
}

#[test]
fn a_lockfile_without_lists_stays_valid_until_it_is_written_again() {
    let locked = Locked::new(&json!([steady()]));
    with_prompts(&locked, &["--prompts"]);
    locked.lock(&[]).exits(0);
    let mut old: Value = serde_json::from_str(&locked.text()).unwrap();
    let tools = old["ensembles"]["srv"]["tools"].as_object_mut().unwrap();
    tools.retain(|name, _| !name.starts_with('*'));
    locked.rewrite(&old.to_string());
    prompt(&locked).exits(0);
    let check = locked.check().exits(0).json();
    let warned: Vec<&Value> = check.as_array().unwrap().iter().collect();
    assert_eq!(warned.len(), 1, "{check}");
    assert_eq!((&warned[0]["code"], &warned[0]["severity"]), (&json!("lock-incomplete"), &json!("warning")));
    assert!(warned[0]["message"].as_str().unwrap().contains("does not pin the prompts of `srv`"), "{check}");
    locked.lock(&[]).exits(0);
    assert_eq!(locked.findings(), []);
}
