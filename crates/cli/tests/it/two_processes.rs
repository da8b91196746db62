//! Several processes on one session, and on one store.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Child;

use converse_testkit::hang_guard::wait_until;
use serde_json::json;

use crate::body::{calls, text};
use crate::env::{TestEnv, files, wait};
use crate::provider::{Line, Provider};
use crate::screen::Screen;
use crate::signals::{SLEEPER, send};

fn sessions(env: &TestEnv) -> PathBuf {
    env.path("home/.local/share/converse/sessions")
}

/// A run that holds its session, in the middle of a tool that does not end.
fn holding(env: &TestEnv, provider: &Provider) -> Child {
    let args = ["ask", "sleep", "-m", provider.model(), "--ensembles", "../fakes"];
    let child = env.command(args).spawn().unwrap();
    let is_started =
        |path: &Path| std::fs::read_to_string(path).is_ok_and(|text| text.contains("\"started\""));
    wait_until("no tool was started", || files(&sessions(env)).iter().any(|path| is_started(path)));
    child
}

fn held(script: impl IntoIterator<Item = Line>) -> (TestEnv, Provider, Child) {
    let sleep = Line::from(calls([("fakes__sleep", json!({}))]));
    let provider = Provider::chat([sleep].into_iter().chain(script));
    let env = provider.env(TestEnv::new());
    env.write("fakes/fakes.toml", SLEEPER);
    let child = holding(&env, &provider);
    (env, provider, child)
}

#[test]
fn a_session_in_use_is_read_by_others_and_changed_by_nobody_else() {
    let (env, provider, child) = held([text("Back.").into()]);
    let journal = files(&sessions(&env)).into_iter().find(|path| path.ends_with("journal.jsonl")).unwrap();
    let before = std::fs::read(&journal).unwrap();
    let holder = format!("in use by pid {} since 20", child.id());
    for words in [
        &["ask", "-c", "hello"][..],
        &["sessions", "delete", "last", "--yes"],
        &["sessions", "rename", "last", "mine"],
        &["sessions", "tag", "last", "work"],
    ] {
        let ran = env.run(words).exits(9);
        assert!(ran.stderr.contains(&holder), "{words:?}: {}", ran.stderr);
    }
    for words in [
        &["sessions", "list"][..],
        &["sessions", "show", "last"],
        &["sessions", "search", "sleep"],
        &["sessions", "export", "last"],
        &["sessions", "fork", "last"],
        // What is open in a session in use is no fault, and nothing of it is removed.
        &["sessions", "check", "--repair"],
        &["sessions", "gc", "--keep", "0", "--yes"],
    ] {
        env.run(words).exits(0);
    }
    assert_eq!(std::fs::read(&journal).unwrap(), before);
    send("INT", &child);
    wait(child).exits(130);
    let id = journal.parent().unwrap().file_name().unwrap().to_str().unwrap();
    let ran = env.run(&["ask", "--session", id, "hello", "--ensembles", "../fakes"]).exits(0);
    assert_eq!(ran.stdout, "Back.\n");
    provider.is_content();
}

/// The kernel's lock goes with the process: no file that it leaves keeps anybody out.
#[test]
fn who_was_killed_holds_nothing() {
    let (env, provider, child) = held([text("Back.").into()]);
    send("KILL", &child);
    wait(child).exits(137);
    let ran = env.run(&["ask", "-c", "hello", "--ensembles", "../fakes"]).exits(0);
    assert_eq!(ran.stdout, "Back.\n");
    assert!(provider.requests()[1].to_string().contains("interrupted: "));
    provider.is_content();
}

#[test]
fn what_the_repl_holds_it_holds_until_it_ends() {
    let provider = Provider::chat([text("Hello."), text("Again.")]);
    let env = provider.env(TestEnv::new());
    let mut screen = Screen::run(&env, &["-m", provider.model(), "--no-tools"]);
    screen.says("one");
    screen.shows("Hello.");
    screen.prompts();
    let ran = env.run(&["ask", "-c", "two"]).exits(9);
    assert!(ran.stderr.contains(&format!("in use by pid {}", screen.child.id())), "{}", ran.stderr);
    // A second one says so too, and does not take a new one instead.
    let mut second = Screen::run(&env, &["-c"]);
    second.shows("in use by pid");
    second.shows("converse sessions fork ");
    assert_eq!(second.ends(), 9);
    screen.says("/quit");
    assert_eq!(screen.ends(), 0);
    assert_eq!(env.run(&["ask", "-c", "two", "--no-tools"]).exits(0).stdout, "Again.\n");
    provider.is_content();
}

#[test]
fn twenty_begin_at_once_in_one_store() {
    let env = TestEnv::new();
    let ask = |number: usize| {
        let words = format!("{number} + {number}");
        env.command(["ask", &words, "-m", "understudy", "-o", "json"]).spawn().unwrap()
    };
    let children: Vec<Child> = (1..=20).map(ask).collect();
    // And while they write, others look.
    for words in [&["sessions", "list"][..], &["sessions", "search", "understudy"], &["sessions", "gc"]] {
        env.run(words).exits(0);
    }
    let ids: BTreeSet<String> = children
        .into_iter()
        .map(|child| wait(child).exits(0).json()["session"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids.len(), 20);
    let listed = env.run(&["sessions", "list", "--json", "--limit", "50"]).exits(0).json();
    let listed: BTreeSet<String> =
        listed.as_array().unwrap().iter().map(|one| one["session"].as_str().unwrap().to_owned()).collect();
    assert_eq!(listed, ids);
    env.run(&["sessions", "check"]).exits(0);
    let verified = env.run(&["audit", "verify"]).exits(0);
    assert!(!verified.stdout.is_empty());
}

/// Of two that go on with one session at once, each gets its turn or is told who has it: never half of each.
#[test]
fn two_go_on_with_one_session_at_once() {
    let env = TestEnv::new();
    env.run(&["ask", "1 + 1", "-m", "understudy"]).exits(0);
    let mut answered = 1;
    for _ in 0..5 {
        let ask = || env.command(["ask", "-c", "2 + 2", "-m", "understudy"]).spawn().unwrap();
        let codes = [ask(), ask(), ask()].map(|child| {
            let ran = wait(child);
            assert!(ran.code == 0 || ran.code == 9 && ran.stderr.contains("in use"), "{ran:?}");
            ran.code
        });
        assert!(codes.contains(&0), "one of them is the first");
        answered += codes.iter().filter(|code| **code == 0).count();
    }
    let shown = env.run(&["sessions", "show", "last", "--json"]).exits(0).json();
    let said = shown["canisters"].as_array().unwrap().iter().filter(|one| one["canister"]["role"] == "user");
    assert_eq!(said.count(), answered);
    env.run(&["sessions", "check"]).exits(0);
}
