//! Conversations that go on: `-c`, `--session`, repair after an interruption, `--ephemeral`.

use std::path::PathBuf;

use converse_testkit::hang_guard::wait_until;
use serde_json::{Value, json};

use crate::body::{Dialect, calls, text};
use crate::env::{TestEnv, files, wait};
use crate::http::Answer;
use crate::provider::{Line, Provider};
use crate::signals::send;

fn journals(env: &TestEnv) -> Vec<PathBuf> {
    let mut found = files(&env.path("home"));
    found.retain(|path| path.ends_with("journal.jsonl"));
    found.sort();
    found
}

fn entries(journal: &PathBuf) -> Vec<Value> {
    let text = std::fs::read_to_string(journal).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_conversation_goes_on() {
    for dialect in Dialect::ALL {
        let first =
            calls([("essentials__calculator", json!({ "expression": "6*7" }))]).with_text("Let me see.");
        let provider =
            Provider::new(dialect, [first, text("It is 42."), text("You asked for 6*7."), text("Again.")]);
        let env = provider.env(TestEnv::new());
        let model = provider.model();
        let session = env.run(&["ask", "6*7?", "-m", model, "-o", "json"]).exits(0).json()["session"]
            .as_str()
            .unwrap()
            .to_owned();
        env.run(&["ask", "-c", "What did I ask?"]).exits(0);
        env.run(&["ask", "--session", &session[..13], "And again?"]).exits(0);
        provider.is_content();
        let requests = provider.requests();
        let [before, after] = [&requests[1], &requests[2]].map(|request| dialect.history(request));
        assert_eq!(before[..], after[..before.len()], "the history is byte-stable across runs");
        assert!(requests[3].to_string().contains("You asked for 6*7."));
        assert_eq!(journals(&env).len(), 1);
    }
}

#[test]
fn an_invocation_is_on_disk_before_it_runs() {
    let env = TestEnv::new();
    env.run(&["ask", "What is 15% of 2500?"]).exits(0);
    let entries = entries(&journals(&env)[0]);
    let position = |kind: &str, role: &str| {
        entries
            .iter()
            .position(|entry| {
                entry["type"] == kind
                    && (role.is_empty() || entry["role"] == role || entry["canister"]["role"] == role)
            })
            .unwrap_or_else(|| panic!("no {kind} {role} in {entries:#?}"))
    };
    assert_eq!(position("opened", ""), 0);
    let order = [
        position("canister", "user"),
        position("canister", "invocation"),
        position("started", ""),
        position("canister", "result"),
    ];
    assert!(order.is_sorted(), "{order:?}");
}

#[test]
fn a_torn_tail_and_an_open_invocation_are_repaired() {
    let call = || calls([("essentials__calculator", json!({ "expression": "6*7" }))]);
    let provider = Provider::chat([Line::from(call()), text("42.").into(), text("Fine.").into()]);
    let env = provider.env(TestEnv::new());
    env.run(&["ask", "6*7?", "-m", provider.model()]).exits(0);
    let journal = journals(&env).remove(0);
    // As after a crash between the start of the tool and its result: the rest of the journal never came.
    let text = std::fs::read_to_string(&journal).unwrap();
    let started = text.lines().position(|line| line.contains("\"started\"")).unwrap();
    let kept: Vec<&str> = text.lines().take(started + 1).collect();
    std::fs::write(&journal, kept.join("\n") + "\n{\"seq\":99,\"at\":\"20").unwrap();
    let ran = env.run(&["ask", "-c", "Are you there?", "-m", provider.model()]).exits(0);
    assert_eq!(ran.stdout, "Fine.\n");
    provider.is_content();
    let told = provider.requests()[2]["messages"].to_string();
    assert!(told.contains("interrupted"), "{told}");
}

#[test]
fn words_shown_before_a_kill_are_kept_as_a_reply_that_was_cut() {
    let never_ends = |answer: &mut Answer| {
        let text = String::from_utf8(answer.body.clone()).unwrap();
        let end = text.find("\"finish_reason\":\"stop\"").unwrap();
        answer.cut_at = text[..end].rfind("data: ");
        answer.stall = true;
    };
    let provider =
        Provider::chat([Line::Bent(text("Words that were shown."), never_ends), text("Fine.").into()]);
    let env = provider.env(TestEnv::new());
    let child = env.command(["ask", "go", "-m", provider.model()]).spawn().unwrap();
    let is_kept =
        |journal: &PathBuf| std::fs::read_to_string(journal).is_ok_and(|text| text.contains("\"partial\""));
    wait_until("the text was not written", || journals(&env).iter().any(is_kept));
    send("KILL", &child);
    assert_eq!(wait(child).exits(137).stdout, "Words that were shown.");
    let shown = env.run(&["sessions", "show", "last"]).exits(0).stdout;
    assert!(shown.contains("Words that were shown.\n(cut short)\n"), "{shown}");
    env.run(&["sessions", "check"]).exits(0);
    let exported = |format| env.run(&["sessions", "export", "last", "--format", format]).exits(0).stdout;
    assert!(exported("md").contains("(cut short)") && exported("json").contains("\"cut\""));

    let ran = env.run(&["ask", "-c", "Go on.", "-m", provider.model()]).exits(0);
    assert_eq!(ran.stdout, "Fine.\n");
    assert!(ran.stderr.contains("reply 1 was interrupted; the 22 bytes that had arrived"), "{}", ran.stderr);
    provider.is_content();
    let history = Dialect::Chat.history(&provider.requests()[1]);
    let told = history.iter().filter(|one| one.to_string().contains("Words that were shown.")).count();
    assert_eq!(told, 1, "{history:?}");
    let text = exported("md");
    assert_eq!(text.matches("Words that were shown.").count(), 1, "{text}");
    let found = env.run(&["sessions", "search", "words", "shown", "--json"]).exits(0).json();
    assert_eq!(found["total"], 1, "{found}");
}

#[test]
fn a_damaged_journal_is_refused_and_left_alone() {
    let env = TestEnv::new();
    env.run(&["ask", "2+2"]).exits(0);
    let journal = journals(&env).remove(0);
    let damaged = std::fs::read_to_string(&journal).unwrap().replacen("\"user\"", "\"us\u{0}r\"", 1);
    std::fs::write(&journal, &damaged).unwrap();
    let ran = env.run(&["ask", "-c", "2+3"]).exits(9);
    assert!(ran.stderr.contains("error[session]"), "{}", ran.stderr);
    assert_eq!(std::fs::read_to_string(&journal).unwrap(), damaged);
}

#[test]
fn ephemeral_keeps_no_session_and_unknown_sessions_are_said() {
    let env = TestEnv::new();
    env.run(&["ask", "2+2", "--ephemeral"]).exits(0);
    assert!(files(&env.path("home")).iter().all(|file| file.ends_with("audit.jsonl")));
    env.run(&["ask", "-c", "2+2"]).exits(2);
    let ran = env.run(&["ask", "--session", "0123", "2+2"]).exits(2);
    assert!(ran.stderr.contains("error[no-such-session]"), "{}", ran.stderr);
    env.run(&["ask", "--session", "../../etc", "2+2"]).exits(2);
}

#[test]
fn what_is_kept_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let env = TestEnv::new();
    env.shell(r#"umask 0; "$converse" ask "2+2""#).exits(0);
    for file in files(&env.path("home")) {
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{}", file.display());
        assert_eq!(file.parent().unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }
}
