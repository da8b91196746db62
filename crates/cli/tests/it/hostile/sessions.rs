//! Words in sessions that are kept, on a terminal and in files for others to read.

use serde_json::json;

use super::shown::{Manner, each, holds, is_clean, lasting, parts, without_nul, words};
use crate::body::{Says, text};
use crate::env::TestEnv;
use crate::provider::Provider;

/// Sessions that hold the words as question, answer, thought, name and argument of a tool, result, name and tag.
fn kept() -> (TestEnv, String) {
    let parts = parts(12);
    let mut script = Vec::new();
    for part in &parts {
        let said = lasting(format!("needle {part}"));
        let calls = vec![(lasting(part), json!({ part: part }).to_string())];
        script.push(Says { calls, ..text(said).thinking(said) });
        script.push(text(said).thinking(said));
    }
    let provider = Provider::chat(script);
    let env = provider.env(TestEnv::new());
    let mut last = String::new();
    for part in &parts {
        let part = without_nul(part);
        let ran = env.run(&["ask", &part, "-m", provider.model(), "-o", "json"]).exits(0);
        last = ran.json()["session"].as_str().unwrap().to_owned();
        env.run(&["sessions", "tag", &last, &part.replace(['\n', ','], " ")]);
        env.run(&["sessions", "rename", &last, &part]);
    }
    (env, last)
}

#[test]
fn what_is_kept_is_listed_shown_and_found() {
    let (env, id) = kept();
    for args in [
        &["sessions", "list"][..],
        &["sessions", "list", "--json"],
        &["sessions", "search", "needle"],
        &["sessions", "search", "needle", "--json"],
        &["sessions", "show", &id],
        &["sessions", "show", &id, "--full"],
        &["sessions", "show", &id, "--json"],
        &["sessions", "export", &id],
        &["sessions", "export", &id, "--format", "json"],
        &["sessions", "export", &id, "--format", "html"],
        &["sessions", "check"],
        &["sessions", "fork", &id],
        &["sessions", "gc", "--dry-run", "--keep", "1"],
        &["stats"],
        &["stats", "--json"],
    ] {
        is_clean(&env, args, "");
    }
    is_clean(&env, &["sessions", "show", &id, "--full"], "⟦");
    is_clean(&env, &["sessions", "search", "needle"], "⟦");
    let wrong = without_nul(&words());
    for args in [
        &["sessions", "rename", &id, &wrong][..],
        &["sessions", "tag", &id, &wrong],
        &["sessions", "tag", &id, "--remove", &wrong],
        &["sessions", "list", "--tag", &wrong],
        &["sessions", "search", &wrong],
        &["sessions", "fork", &id, "--name", &wrong],
        &["sessions", "delete", &wrong],
        &["sessions", "export", &id, "-o", &wrong],
    ] {
        is_clean(&env, args, "");
    }
}

#[test]
fn files_for_others_to_read_act_on_nothing() {
    let (env, id) = kept();
    for format in ["md", "html"] {
        env.run(&["sessions", "export", &id, "--format", format, "-o", "out", "--force"]).exits(0);
        let bytes = std::fs::read(env.path("work/out")).unwrap();
        holds(&bytes, Manner::Plain, &["export", format], "⟦");
        let text = String::from_utf8(bytes).unwrap();
        if format == "html" {
            assert!(!text.contains("<script>alert") && !text.contains("<img src=x"), "{text}");
        }
    }
}

#[test]
fn a_journal_that_somebody_else_wrote() {
    let env = TestEnv::new();
    env.run(&["ask", "What is 6*7?"]).exits(0);
    let dir = crate::env::files(&env.path("home/.local/share/converse/sessions"));
    let journal = dir.iter().find(|file| file.extension().is_some_and(|end| end == "jsonl")).unwrap();
    let good = std::fs::read(journal).unwrap();
    for evil in [
        words().into_bytes(),
        super::shown::all_bytes(),
        json!({ "v": words(), "type": words() }).to_string().into_bytes(),
    ] {
        std::fs::write(journal, [&good, evil.as_slice(), b"\n"].concat()).unwrap();
        for args in [
            &["sessions", "check"][..],
            &["sessions", "list"],
            &["sessions", "show", "last"],
            &["ask", "-c", "2+2"],
        ] {
            is_clean(&env, args, "");
        }
    }
    let metadata = journal.parent().unwrap().join("metadata.toml");
    for evil in each().iter().step_by(40) {
        std::fs::write(&metadata, evil).unwrap();
        is_clean(&env, &["sessions", "list"], "");
        is_clean(&env, &["sessions", "check"], "");
    }
}
