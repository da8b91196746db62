//! Questions on a terminal: all that would run can be seen, several are answered at once, arguments are edited, and what
//! was approved is what runs.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::body::{Says, calls, text};
use crate::env::TestEnv;
use crate::provider::Provider;
use crate::terminal::{ASKED, SEVERAL_ASKED, Terminal};

fn asked(env: TestEnv, script: Vec<Says>) -> (TestEnv, Terminal, Provider) {
    let provider = Provider::chat(script);
    let env = provider.env(env);
    let terminal = Terminal::run(&env, &["ask", "go", "-m", provider.model(), "--ephemeral"]);
    (env, terminal, provider)
}

fn writes(path: &str, content: &str) -> (&'static str, Value) {
    ("io__write_file", json!({ "path": path, "content": content }))
}

/// An editor that runs a line of shell on its file, `$1`.
fn editor(env: TestEnv, line: &str) -> TestEnv {
    let script = env.write("home/editor", &format!("#!/bin/sh\n{line}\n"));
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    env.var("VISUAL", script.display().to_string())
}

fn in_full(env: &TestEnv, path: &str) -> Option<String> {
    std::fs::read_to_string(env.path(&format!("work/{path}"))).ok()
}

#[test]
fn edited_arguments_are_shown_again_and_are_what_runs() {
    let env = editor(TestEnv::new(), "stat -c %a \"$1\" > mode; sed -i 's/secret.txt/notes.txt/' \"$1\"");
    let (env, mut terminal, provider) = asked(env, vec![calls([writes("secret.txt", "x")]), text("Done.")]);
    terminal.shows(ASKED);
    terminal.forgets();
    terminal.types("e\n");
    let again = terminal.shows(ASKED).to_owned();
    assert!(again.contains("\"notes.txt\"") && !again.contains("secret.txt"), "{again}");
    assert!(!again.contains("always"), "a yes to what was edited is for this once: {again}");
    assert_eq!(in_full(&env, "notes.txt"), None, "nothing runs before the second question is answered");
    terminal.types("y\n");
    terminal.shows("Done.");
    assert_eq!(terminal.ends(), 0);
    provider.is_content();
    let told = provider.requests()[1].to_string();
    let (asked, note) = (told.find("secret.txt"), told.find("the user changed the arguments of this call"));
    assert!(asked.is_some() && asked < note, "its own words stay as they were: {told}");
    assert!(told.get(note.unwrap()..).is_some_and(|note| note.contains("notes.txt")), "{told}");
    assert_eq!((in_full(&env, "notes.txt").as_deref(), in_full(&env, "secret.txt")), (Some("x"), None));
    assert_eq!(in_full(&env, "mode").as_deref(), Some("600\n"));
    let left = std::fs::read_dir(env.path("home/.local/state/converse")).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with("entry-")), "{left:?}");
}

#[test]
fn without_an_editor_a_line_is_asked_for_and_judged() {
    let env = TestEnv::new();
    env.write(
        "home/.config/converse/config.toml",
        "[[rules]]\ntools = \"io\"\ndecision = \"deny\"\narguments = { path = \"forbidden\" }\n",
    );
    let (env, mut terminal, _provider) = asked(env, vec![calls([writes("a", "x")]), text("Done.")]);
    terminal.shows(ASKED);
    for (line, why) in [
        ("{", "not JSON"),
        ("[1]", "must be a JSON object"),
        ("{\"path\": 1}", "invalid arguments"),
        ("{\"path\": \"forbidden\", \"content\": \"y\"}", "not allowed by the rule"),
        ("", ASKED),
    ] {
        terminal.types("e\n");
        terminal.shows("one line of JSON");
        terminal.forgets();
        terminal.types(&format!("{line}\n"));
        terminal.shows(why);
        terminal.shows(ASKED);
    }
    terminal.types("e\n");
    terminal.shows("one line of JSON");
    terminal.forgets();
    terminal.types("{\"path\": \"b\", \"content\": \"y\"}\n");
    terminal.shows(ASKED);
    terminal.answers("n rather not");
    terminal.shows("Done.");
    assert_eq!(terminal.ends(), 0);
    assert_eq!((in_full(&env, "a"), in_full(&env, "b")), (None, None));
}

#[test]
fn several_are_answered_at_once_and_exactly() {
    let env = TestEnv::new();
    let script = vec![calls([writes("a", "1"), writes("b", "2"), writes("c", "3")]), text("Done.")];
    let (env, mut terminal, provider) = asked(env, script);
    let list = terminal.shows(SEVERAL_ASKED).to_owned();
    for part in [
        "allow these 3 calls?",
        "path = \"a\", content = \"1\"",
        "path = \"c\"",
        "1 of 3  ",
        "writes; asked because of",
    ] {
        assert!(list.contains(part), "no {part:?} in {list}");
    }
    for unclear in ["1,4", "0", "1-3", "y 1"] {
        terminal.answers(unclear);
        terminal.shows("please answer y, n, numbers");
    }
    terminal.answers("1,3");
    terminal.shows("Done.");
    assert_eq!(terminal.ends(), 0);
    provider.is_content();
    let files = ["a", "b", "c"].map(|path| in_full(&env, path));
    assert_eq!(files, [Some("1".to_owned()), None, Some("3".to_owned())]);
}

#[test]
fn a_yes_to_what_was_not_shown_shows_it_first() {
    let env = TestEnv::new();
    let long = format!("{}the end of it", "word ".repeat(60));
    let script = vec![calls([writes("a", &long), writes("b", "2")]), text("Done.")];
    let (env, mut terminal, _provider) = asked(env, script);
    let list = terminal.shows(SEVERAL_ASKED).to_owned();
    assert!(!list.contains("the end of it"), "{list}");
    terminal.forgets();
    terminal.types("y\n");
    let again = terminal.shows(SEVERAL_ASKED).to_owned();
    assert!(again.contains("not everything was shown") && again.contains("the end of it"), "{again}");
    assert_eq!((in_full(&env, "a"), in_full(&env, "b")), (None, None));
    terminal.types("y\n");
    terminal.shows("Done.");
    assert_eq!(terminal.ends(), 0);
    assert_eq!((in_full(&env, "a"), in_full(&env, "b")), (Some(long), Some("2".to_owned())));
}

#[test]
fn nothing_hides_in_a_question_and_long_texts_are_viewed() {
    let env = TestEnv::new();
    let lines: String = (1..=90).map(|number| format!("line {number}\n")).collect();
    let content =
        format!("if a:\n        b(){}; evil()  \n\u{202e}x\u{200d}\u{a0}\u{1b}[8m\n{lines}", " ".repeat(40));
    let (env, mut terminal, _provider) = asked(env, vec![calls([writes("a.py", &content)]), text("Done.")]);
    let question = terminal.shows(ASKED).to_owned();
    for part in [
        "b()␣×40; evil()␣×2",
        "\\u{202e}x\\u{200d}\\u{a0}\\u{1b}[8m",
        "1 │",
        "93 lines",
        "… 86 more lines",
        "always, with just these arguments",
    ] {
        assert!(question.contains(part), "no {part:?} in {question}");
    }
    assert!(
        !question.contains(['\u{202e}', '\u{200d}', '\u{a0}']) && !question.contains("line 90"),
        "{question}"
    );
    terminal.forgets();
    terminal.types("v\n");
    let all = terminal.shows(ASKED).to_owned();
    assert!(all.contains("line 90") && !all.contains("more lines"), "{all}");
    terminal.types("y\n");
    terminal.shows("Done.");
    assert_eq!(terminal.ends(), 0);
    assert_eq!(in_full(&env, "a.py"), Some(content));
}

#[test]
fn an_interrupt_at_a_question_runs_nothing() {
    let script = || vec![calls([writes("a", "1"), writes("b", "2")])];
    for typed in ["", "o\n", "1,"] {
        let (env, mut terminal, _provider) = asked(TestEnv::new(), script());
        terminal.shows(SEVERAL_ASKED);
        terminal.types(typed);
        if typed == "o\n" {
            terminal.shows(ASKED);
        }
        terminal.interrupts();
        assert_eq!(terminal.ends(), 130, "{typed:?}");
        assert_eq!((in_full(&env, "a"), in_full(&env, "b")), (None, None));
    }
}

#[test]
fn the_same_question_without_colours() {
    let env = TestEnv::new();
    let (_env, mut terminal, _provider) = {
        let provider = Provider::chat(vec![calls([writes("a", "1\n2\n")]), text("Done.")]);
        let env = provider.env(env.var("NO_COLOR", "1"));
        let terminal = Terminal::run(&env, &["ask", "go", "-m", provider.model(), "--ephemeral"]);
        (env, terminal, provider)
    };
    let question = terminal.shows(ASKED).to_owned();
    let question = question.split("allow io").nth(1).unwrap_or_default();
    assert!(question.contains("2 │ 2") && !question.contains("\x1b[1m"), "{question:?}");
    assert!(!question.contains("\x1b[2m") && !question.contains("\x1b[36m"), "{question:?}");
    terminal.types("n\n");
    terminal.shows("Done.");
    assert_eq!(terminal.ends(), 0);
}
