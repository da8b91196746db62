//! Tools: several at once, and the questions about them.

use serde_json::json;

use super::looks::{is_screen, is_screen_from};
use super::person::{Key, Kind, Person};
use crate::body::{calls, text};
use crate::env::TestEnv;
use crate::provider::{Line, Provider};

/// Each waits until a file is there that says it may go on.
pub(super) const WAITING: &str = "[ensemble]\nname = \"wait\"\ndescription = \"x\"\n[defaults]\npermission = \"allow\"\n[[invokers]]\nname = \"for\"\ndescription = \"x\"\nparallel = true\ncommand = { argv = [\"sh\", \"-c\", \"until [ -e go-$0 ]; do sleep 0.05; done; echo there is $0\", \"{name}\"] }\narguments = { type = \"object\", properties = { name = { type = \"string\" } }, required = [\"name\"] }\n";

/// A person whose model may call [`WAITING`] and these other tools.
pub(super) fn with_waiting(provider: &Provider, env: &TestEnv, others: &[&str]) -> Person {
    at_with_waiting(Kind::default(), provider, env, others)
}

/// The same, at another terminal.
pub(super) fn at_with_waiting(kind: Kind, provider: &Provider, env: &TestEnv, others: &[&str]) -> Person {
    env.write("tools/wait.toml", WAITING);
    let tools = env.path("tools").display().to_string();
    Person::at(kind, env, &[&["-m", provider.model(), "--ensembles", &tools, "-e", "wait"], others].concat())
}

#[test]
fn three_at_once_have_a_line_each() {
    let three = calls(["one", "two", "three"].map(|name| ("wait__for", json!({ "name": name }))));
    let provider = Provider::chat([Line::from(three), text("All three.").into()]);
    let env = provider.env(TestEnv::new());
    let mut person = with_waiting(&provider, &env, &[]);
    person.says("wait for them");
    let running = |person: &Person, name: &str| {
        let line = format!("wait.for name=\"{name}\"");
        person.screen().lines().any(|shown| shown.contains(&line) && shown.ends_with(" s"))
    };
    person.until("three lines", |person| ["one", "two", "three"].iter().all(|name| running(person, name)));
    assert!(person.hides_cursor());
    env.write("work/go-two", "");
    person.until("one is done", |person| {
        person.screen().contains("✓")
            && running(person, "one")
            && !running(person, "two")
            && running(person, "three")
    });
    env.write("work/go-one", "");
    person.until("two are done", |person| person.screen().matches('✓').count() == 2);
    env.write("work/go-three", "");
    person.sees("All three.");
    person.prompts();
    is_screen("three-tools", &person);
    person.says("/show 2");
    person.sees("\"name\": \"two\"");
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
    provider.is_content();
}

fn writes(path: &'static str) -> (&'static str, serde_json::Value) {
    ("io__write_file", json!({ "path": path, "content": "words" }))
}

#[test]
fn questions_and_their_answers() {
    let provider = Provider::chat([
        Line::from(calls([writes("a.txt")])),
        text("First.").into(),
        calls([writes("b.txt")]).into(),
        text("Second.").into(),
        calls([writes("c.txt"), writes("d.txt"), writes("e.txt")]).into(),
        text("Third.").into(),
        calls([writes("f.txt")]).into(),
        text("Fourth.").into(),
    ]);
    let env = provider.env(TestEnv::new());
    let editor = env.write("home/editor", "#!/bin/sh\nsed -i s/f.txt/g.txt/ \"$1\"\n");
    std::fs::set_permissions(&editor, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let env = env.var("VISUAL", editor.display().to_string());
    let mut person = Person::runs(&env, &["-m", provider.model(), "-e", "io"]);
    let there = |name: &str| env.path("work").join(name).exists();
    person.says("one");
    person.sees("= no, and why");
    is_screen("question", &person);
    person.types("y\r");
    person.sees("First.");
    assert!(there("a.txt"));
    person.says("two");
    person.until("a question", |person| person.screen().matches("allow io.write_file?").count() == 3);
    person.answers("n not there");
    person.sees("Second.");
    assert!(!there("b.txt"));
    assert!(provider.requests()[3].to_string().contains("not there"));
    person.says("three");
    person.sees("= none, and why");
    is_screen_from("questions", &person, "allow these");
    person.answers("1 3");
    person.sees("Third.");
    assert_eq!((there("c.txt"), there("d.txt"), there("e.txt")), (true, false, true));
    person.says("four");
    person.sees("f.txt");
    person.types("e\r");
    person.sees("g.txt");
    person.types("y\r");
    person.sees("Fourth.");
    assert!(there("g.txt") && !there("f.txt"));
    person.prompts();
    person.presses(Key::Ctrl('d'));
    assert_eq!(person.ends().code, 0);
    provider.is_content();
}
