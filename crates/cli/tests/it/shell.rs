//! `shell.run`: commands in the project. What they can change, when they are asked about, and what a prefix allows.

use std::net::TcpListener;

use serde_json::{Value, json};

use crate::body::{calls, text};
use crate::env::{Ran, TestEnv};
use crate::provider::Provider;
use crate::terminal::{ASKED as KEYS, Terminal};

/// How the questions end.
const HOW: &str = "= back: ";
const KEEP: &str = "no, back: ";

fn project() -> TestEnv {
    let env = TestEnv::new();
    for (path, text) in [
        ("work/src/old", "old\n"),
        ("work/file", "old\n"),
        ("work/AGENTS.md", "old\n"),
        ("work/.git/config", "old\n"),
        ("work/.git/hooks/pre-commit", "old\n"),
        ("work/converse.toml", "\n"),
        ("work/Makefile", "old:\n"),
        ("elsewhere", "old\n"),
    ] {
        env.write(path, text);
    }
    env
}

fn run(env: &TestEnv, command: &str, flags: &[&str]) -> Ran {
    let arguments = json!({ "command": command }).to_string();
    env.run(&[&["ensembles", "call", "shell.run", &arguments], flags].concat())
}

fn runs(command: &'static str) -> (&'static str, Value) {
    ("shell__run", json!({ "command": command }))
}

fn says(terminal: &mut Terminal, line: &str, then: &str) -> String {
    terminal.forgets();
    terminal.types(&format!("{line}\n"));
    terminal.shows(then).to_owned()
}

fn exists(env: &TestEnv, path: &str) -> bool {
    env.path(path).exists()
}

#[test]
fn a_command_changes_the_project_and_nothing_else() {
    let env = project();
    let allow = ["--allow", "shell.run"];
    let ran = run(&env, "pwd && cat src/old && echo new > src/new && echo new > file && rm src/old", &allow)
        .exits(0);
    assert!(ran.stdout.contains("/work\nold\n"), "{ran:?}");
    assert!(exists(&env, "work/src/new") && !exists(&env, "work/src/old"));
    assert_eq!(std::fs::read_to_string(env.path("work/file")).unwrap(), "new\n");
    for path in [
        "../elsewhere",
        "../new",
        "new",
        "AGENTS.md",
        ".git/config",
        ".git/hooks/pre-commit",
        "converse.toml",
        "Makefile",
        "ensembles.lock",
    ] {
        let before = std::fs::read(env.path("work").join(path)).ok();
        let ran = run(&env, &format!("echo x >> {path}"), &allow).exits(10);
        assert!(ran.stderr.to_lowercase().contains("permission denied"), "{path}: {ran:?}");
        assert_eq!(std::fs::read(env.path("work").join(path)).ok(), before, "{path}");
    }
    run(&env, "mv .git src/git", &allow).exits(10);
    run(&env, "cat ../elsewhere", &allow).exits(10);
}

#[test]
fn a_command_has_no_network() {
    let env = project();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let line = format!("python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}), 5)'");
    assert!(env.shell(&line).code == 0, "there is something to connect to");
    let ran = run(&env, &line, &["--allow", "shell.run"]).exits(10);
    assert!(ran.stderr.contains("not permitted"), "{ran:?}");
}

#[test]
fn no_mode_and_no_absence_of_a_person_runs_it() {
    let env = project();
    run(&env, "echo x > src/new", &[]).exits(8);
    assert!(!exists(&env, "work/src/new"));
    for (flags, fate) in [
        (&[][..], "asked"),
        (&["--mode", "accept-edits"], "asked"),
        (&["--mode", "read-only", "--allow", "shell.run"], "refused"),
    ] {
        let words = [&["explain", "shell.run", "command=echo x", "--json"], flags].concat();
        assert_eq!(env.run(&words).exits(0).json()["fate"], fate, "{flags:?}");
    }
    // Nobody has named it.
    let provider = Provider::chat([text("Done.")]);
    let env = provider.env(env);
    env.run(&["ask", "go", "-m", provider.model(), "--ephemeral"]).exits(0);
    assert!(!provider.requests()[0].to_string().contains("shell__run"));
}

#[test]
fn a_prefix_allows_single_commands_and_asks_about_others() {
    let script = [
        calls([runs("echo one")]),
        calls([runs("echo one and more")]),
        calls([runs("echo one; touch src/x")]),
        calls([runs("echo one && touch src/x")]),
        calls([runs("echo one $(touch src/x)")]),
        calls([runs("echo one\ntouch src/x")]),
        calls([runs("echo oneself")]),
        text("Done."),
    ];
    let provider = Provider::chat(script);
    let env = provider.env(project());
    let words = ["ask", "go", "-m", provider.model(), "--ephemeral", "-e", "shell"];
    let mut terminal = Terminal::with_columns(&env, &words, 80);
    let question = terminal.shows(KEYS).to_owned();
    assert!(question.contains("echo one") && question.contains("p  always, where a pattern fits"));
    let proposed = says(&mut terminal, "p", HOW);
    assert!(proposed.contains("1  command=echo one *"), "{proposed}");
    let kept = says(&mut terminal, "1", KEEP);
    assert!(kept.contains("any further words, without"), "{kept}");
    // The second call is not asked about; each of the others is.
    let mut asked = says(&mut terminal, "y", KEYS);
    for command in ["; touch", "&& touch", "$(touch", "touch src/x", "oneself"] {
        assert!(asked.contains(command), "{command}: {asked}");
        assert_eq!(asked.matches("allow shell.run?\x1b[0m").count(), 1, "{asked}");
        let then = if command == "oneself" { "Done." } else { KEYS };
        asked = says(&mut terminal, "n", then);
    }
    assert_eq!(terminal.ends(), 0);
    provider.is_content();
    assert!(!exists(&env, "work/src/x"));
    let results = provider.requests().last().unwrap().to_string();
    assert!(results.contains("one and more"), "{results}");
}
