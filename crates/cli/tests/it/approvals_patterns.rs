//! "Always, where …" on a terminal: what is proposed, what is shown before it is kept, and which calls it covers after.

use serde_json::{Value, json};

use crate::body::{Says, calls, text};
use crate::env::{Ran, TestEnv};
use crate::provider::Provider;
use crate::terminal::{ASKED as KEYS, SEVERAL_ASKED, Terminal};

const APPROVALS: &str = "home/.local/state/converse/approvals.toml";
/// How the questions about a pattern end.
const HOW: &str = "= back: ";
const KEEP: &str = "no, back: ";

fn writes(path: &str, content: &str) -> (&'static str, Value) {
    ("io__write_file", json!({ "path": path, "content": content }))
}

fn asked(script: Vec<Says>, columns: u16, more: &[&str]) -> (TestEnv, Terminal, Provider) {
    let env = TestEnv::new();
    env.write("work/src/there", "");
    let provider = Provider::chat(script);
    let env = provider.env(env);
    let words = [&["ask", "go", "-m", provider.model(), "--ephemeral"], more].concat();
    let terminal = Terminal::with_columns(&env, &words, columns);
    (env, terminal, provider)
}

fn write_file(env: &TestEnv, path: &str, content: &str) -> Ran {
    env.run(&["ensembles", "call", "io.write_file", &json!({ "path": path, "content": content }).to_string()])
}

/// Types a line and waits for what comes then, alone.
#[track_caller]
fn says(terminal: &mut Terminal, line: &str, then: &str) -> String {
    terminal.forgets();
    terminal.types(&format!("{line}\n"));
    terminal.shows(then).to_owned()
}

#[test]
fn a_pattern_is_proposed_shown_and_kept() {
    let script = vec![
        calls([writes("src/a", "first")]),
        calls([writes("src/b", "second\nline")]),
        calls([writes("c", "third")]),
        text("Done."),
    ];
    let (env, mut terminal, provider) = asked(script, 80, &[]);
    let question = terminal.shows(KEYS).to_owned();
    assert!(question.contains("p  always, where a pattern fits"), "{question}");

    let proposed = says(&mut terminal, "p", HOW);
    assert!(proposed.contains("1  path=src/**") && proposed.contains("2  content=*"), "{proposed}");
    assert!(!proposed.contains("encoding="), "{proposed}");
    // Nothing said: as before.
    says(&mut terminal, "", KEYS);
    says(&mut terminal, "p", HOW);
    for (line, why) in [
        ("path=*", "match any path"),
        ("path=lib/**", "this call does not match: path"),
        ("append=*", "is not a string"),
        ("other=*", "no argument"),
        ("3", "write NAME=PATTERN"),
        ("path=src/\u{202e}*", "invisible characters"),
        ("src/**", "write NAME=PATTERN"),
    ] {
        let told = says(&mut terminal, line, HOW);
        let flat = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(why) && flat.contains("not kept:"), "{line}: {told}");
    }
    let kept = says(&mut terminal, "1,2", KEEP);
    for part in [
        "always allow io.write_file, where",
        "path=src/**",
        "content=*",
        "any text of any length",
        "and the rest is just as now:",
        "append = false",
        "encoding = \"utf-8\"",
        "wherever converse runs",
    ] {
        assert!(kept.contains(part), "no {part:?} in {kept}");
    }
    // Only a plain yes keeps it.
    says(&mut terminal, "maybe", HOW);
    assert!(!env.path(APPROVALS).exists() && !env.path("work/src/a").exists());
    says(&mut terminal, "path=src/** content=*", KEEP);
    // The second is not asked about, the third is.
    let third = says(&mut terminal, "y", KEYS);
    assert!(third.contains("\"third\""), "{third}");
    assert_eq!(third.matches("allow io.write_file?").count(), 1, "{third}");
    says(&mut terminal, "n", "Done.");
    assert_eq!(terminal.ends(), 0);
    provider.is_content();
    let text = |path: &str| std::fs::read_to_string(env.path(path)).ok();
    assert_eq!(text("work/src/a").as_deref(), Some("first"));
    assert_eq!((text("work/src/b").as_deref(), text("work/c")), (Some("second\nline"), None));
}

#[test]
fn what_was_kept_covers_what_it_says_until_it_is_revoked() {
    let (env, mut terminal, _provider) =
        asked(vec![calls([writes("src/a", "first")]), text("Done.")], 80, &[]);
    terminal.shows(KEYS);
    says(&mut terminal, "p", HOW);
    says(&mut terminal, "1,2", KEEP);
    says(&mut terminal, "y", "Done.");
    assert_eq!(terminal.ends(), 0);

    write_file(&env, "src/x", "anything").exits(0);
    write_file(&env, "./src/there", "again").exits(0);
    for path in ["x", "src/../x", "src/%2e%2e/x", "SRC/x", "src/a;b", "/src/x"] {
        write_file(&env, path, "anything").exits(8);
    }
    let more = json!({ "path": "src/x", "content": "y", "append": true }).to_string();
    env.run(&["ensembles", "call", "io.write_file", &more]).exits(8);
    env.run(&["ensembles", "call", "io.write_file", "path=src/x", "content=y", "--ask", "io"]).exits(8);
    env.run(&["ensembles", "call", "io.edit_file", "path=src/x", "old_text=a", "new_text=b"]).exits(8);
    // A link within what was allowed leads nowhere else.
    std::fs::write(env.path("work/secret"), "s").unwrap();
    std::os::unix::fs::symlink("../secret", env.path("work/src/link")).unwrap();
    write_file(&env, "src/link", "overwritten");
    assert_eq!(std::fs::read_to_string(env.path("work/secret")).unwrap(), "s");

    let told = |path: &str| {
        env.run(&["explain", "io.write_file", &format!("path={path}"), "content=z", "--json"]).exits(0).json()
    };
    let yes = told("src/z");
    assert_eq!((&yes["fate"], &yes["by_rule"]), (&json!("runs"), &json!(true)), "{yes}");
    assert_eq!(yes["rule"], "io.write_file (approvals.toml:3)");
    let no = told("z");
    assert_eq!(no["rules"][0]["why_not"], json!(["`path` does not match `src/**`"]), "{no}");

    let listed = env.run(&["approvals", "list", "--json"]).exits(0).json();
    assert_eq!(listed[0]["where"], json!({ "path": "src/**", "content": "*" }), "{listed}");
    assert_eq!(listed[0]["arguments"]["append"], false);
    assert_eq!(listed[0]["arguments"].get("path"), None);
    let shown = env.run(&["approvals", "list"]).exits(0).stdout;
    assert!(shown.contains("content=*, path=src/**, {\"append\":false"), "{shown}");
    // A key that is not known: the whole file counts for nothing.
    let good = std::fs::read_to_string(env.path(APPROVALS)).unwrap();
    std::fs::write(env.path(APPROVALS), good.replace("where =", "whose =")).unwrap();
    assert!(write_file(&env, "src/x", "y").exits(8).stderr.contains("damaged in line"));
    std::fs::write(env.path(APPROVALS), good).unwrap();
    write_file(&env, "src/x", "y").exits(0);
    env.run(&["approvals", "revoke", "1"]).exits(0);
    write_file(&env, "src/x", "y").exits(8);
}

#[test]
fn others_that_wait_and_fit_are_not_asked_about_again() {
    let script = vec![
        calls([writes("src/a", "1"), writes("src/b", "2"), writes("c", "3"), writes("src/d", "4")]),
        text("Done."),
    ];
    let (env, mut terminal, provider) = asked(script, 80, &[]);
    terminal.shows(SEVERAL_ASKED);
    says(&mut terminal, "o", KEYS);
    says(&mut terminal, "p", HOW);
    says(&mut terminal, "1,2", KEEP);
    let next = says(&mut terminal, "y", KEYS);
    assert!(next.contains("allow io.write_file? (3 of 4)") && !next.contains("(2 of 4)"), "{next}");
    let end = says(&mut terminal, "n", "Done.");
    assert!(!end.contains("(4 of 4)"), "{end}");
    assert_eq!(terminal.ends(), 0);
    provider.is_content();
    let there = ["src/a", "src/b", "c", "src/d"].map(|path| env.path(&format!("work/{path}")).exists());
    assert_eq!(there, [true, true, false, true]);
}

#[test]
fn forty_columns_are_enough_and_plain_is_plain() {
    let (_env, mut terminal, _provider) =
        asked(vec![calls([writes("src/a", "first")]), text("Done.")], 40, &["--plain"]);
    let mut seen = terminal.shows("this run: ").to_owned();
    for line in ["p", "path=lib/**", "1,2"] {
        seen += &says(&mut terminal, line, "back: ");
    }
    let question = seen.split_once("allow io.write_file?").unwrap().1;
    assert!(!question.contains('\u{1b}'), "{question:?}");
    let long: Vec<&str> = question.lines().filter(|line| line.trim_end().chars().count() > 40).collect();
    assert!(long.is_empty(), "{long:#?}");
    for part in ["1  path=src/**", "  content=*", "append = false"] {
        assert!(question.contains(part), "no {part:?} in {question}");
    }
    says(&mut terminal, "y", "Done.");
    assert_eq!(terminal.ends(), 0);
}

#[test]
fn a_command_line_is_allowed_by_its_first_words() {
    let env = TestEnv::new().var("SOME_TOKEN", "spoken-0123456789");
    env.write(
        "home/.config/converse/ensembles/own.toml",
        "[ensemble]\nname = \"own\"\ndescription = \"d\"\n[[invokers]]\nname = \"tool\"\ndescription = \"d\"\n\
         arguments = { type = \"object\", properties = { command = { type = \"string\" } } }\n\
         command = { argv = [\"printf\", \"ran %s\", \"{command}\"] }\n",
    );
    let call = |command: &str| json!({ "command": command }).to_string();
    let words = |call: &str| ["ensembles", "call", "own.tool", call].map(str::to_owned);
    let run = |command: &str| {
        let words = words(&call(command));
        env.run(&words.each_ref().map(String::as_str))
    };
    let first = words(&call("git status -s"));
    let mut terminal = Terminal::run(&env, &first.each_ref().map(String::as_str));
    terminal.shows(KEYS);
    let proposed = says(&mut terminal, "p", HOW);
    assert!(proposed.contains("1  command=git status *"), "{proposed}");
    for (line, why) in [
        ("command=git*", "must be written out"),
        ("command=*", "match any command"),
        ("command=git status spoken-0123456789 *", "it contains a secret"),
    ] {
        let told = says(&mut terminal, line, HOW);
        assert!(told.contains(why), "{line}: {told}");
    }
    let kept = says(&mut terminal, "command=git status *", KEEP);
    assert!(kept.contains("command=git status *") && kept.contains("any further words"), "{kept}");
    says(&mut terminal, "y", "ran git status -s");
    assert_eq!(terminal.ends(), 0);
    run("git status").exits(0);
    run("git status src --short").exits(0);
    for other in
        ["git stash", "git status; rm x", "git status $(x)", "git status\nrm x", "git  status", "git"]
    {
        run(other).exits(8);
    }
}
