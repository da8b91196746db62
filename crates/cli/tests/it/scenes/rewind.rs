//! `/rewind`: back to an earlier message, with the files as they were then, also in another run of the program.

use std::fs;

use serde_json::json;

use super::person::{Key, Person};
use crate::body::{Says, calls, text};
use crate::env::TestEnv;
use crate::provider::{Line, Provider};
use crate::rules::own;

fn write(path: &'static str, content: &'static str) -> Says {
    calls([("io__write_file", json!({ "path": path, "content": content }))])
}

fn edit(path: &'static str, old: &'static str, new: &'static str) -> Says {
    calls([("io__edit_file", json!({ "path": path, "old_text": old, "new_text": new }))])
}

/// Somebody whose models may edit.
fn editing(provider: &Provider, env: &TestEnv, flags: &[&str]) -> Person {
    let args = ["-m", provider.model(), "-e", "io", "--mode", "accept-edits"];
    Person::runs(env, &[&args, flags].concat())
}

fn read(env: &TestEnv, name: &str) -> Option<String> {
    fs::read_to_string(env.path("work").join(name)).ok()
}

#[test]
fn files_and_conversation_are_restored_also_by_another_run() {
    let script = [
        write("a.txt", "one\n"),
        text("First."),
        edit("a.txt", "one", "two"),
        write("new.txt", "x"),
        text("Second."),
        text("Third."),
    ];
    let provider = Provider::chat(script.map(Line::from));
    let env = provider.env(TestEnv::new());
    env.write("work/a.txt", "old\n");
    let mut person = editing(&provider, &env, &[]);
    for (line, answer) in [("make it one", "First."), ("make it two", "Second.")] {
        person.says(line);
        person.sees(answer);
    }
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
    assert_eq!((read(&env, "a.txt"), read(&env, "new.txt")), (Some("two\n".into()), Some("x".into())));

    let mut person = editing(&provider, &env, &["-c"]);
    person.says("/rewind");
    person.until("a list", |person| person.screen().ends_with("Esc leaves"));
    let screen = person.screen();
    for part in ["make it two  a.txt, new.txt", "make it one  a.txt"] {
        assert!(screen.contains(part), "no {part:?} in\n{screen}");
    }
    person.presses(Key::Down);
    person.sees("❯ 2  make it one");
    person.presses(Key::Enter);
    person.sees("❯ n  nothing");
    person.types("b");
    person.sees("restored a.txt\nremoved new.txt");
    assert!(person.screen().contains("restore what? both\n"), "{}", person.screen());
    person.until("the message", |person| person.screen().ends_with("❯ make it one"));
    assert_eq!((read(&env, "a.txt"), read(&env, "new.txt")), (Some("old\n".into()), None));
    assert!(!person.screen().contains("effects of these tools remain"), "{}", person.screen());
    person.types("!\r");
    person.sees("Third.");
    let requests = provider.requests();
    let messages = requests.last().unwrap()["messages"].to_string();
    assert!(messages.contains("make it one!") && !messages.contains("make it two"), "{messages}");
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
    env.run(&["sessions", "check"]).exits(0);
    provider.is_content();
}

#[test]
fn what_others_changed_is_asked_about_and_what_remains_is_named() {
    let runs = calls([("own__tool", json!({}))]);
    let script = [write("a.txt", "new"), write("b.txt", "new"), runs, text("Done."), text("I see.")];
    let provider = Provider::chat(script.map(Line::from));
    let env = provider.env(TestEnv::new());
    own(&env, "tools", "d");
    env.write("work/a.txt", "old");
    let tools = env.path("tools").display().to_string();
    let flags = ["--ensembles", &tools, "-e", "own", "--allow", "own.tool"];
    let mut person = editing(&provider, &env, &flags);
    person.says("go");
    person.sees("Done.");
    env.write("work/a.txt", "by hand");
    for (answer, expected) in [("n", "by hand"), ("y", "old")] {
        person.says("/rewind");
        person.until("a list", |person| person.screen().ends_with("Esc leaves"));
        person.types("1\r");
        person.until("a choice", |person| person.screen().ends_with("Esc = nothing"));
        person.types("f");
        person.sees("changed by somebody else since then: a.txt");
        person.until("a question", |person| person.screen().ends_with("Esc = restore nothing"));
        person.types(answer);
        let remain = match expected {
            "old" => "effects of these tools remain: own.tool",
            _ => "effects of these tools remain: io.write_file, own.tool",
        };
        person.until("what remains", |person| person.screen().contains(&format!("{remain}\n")));
        assert_eq!((read(&env, "a.txt").as_deref(), read(&env, "b.txt")), (Some(expected), None));
    }
    person.says("and now?");
    person.sees("I see.");
    let requests = provider.requests();
    let messages = requests.last().unwrap()["messages"].to_string();
    assert!(messages.contains("restored a.txt") && messages.contains("\"go\""), "{messages}");
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
    provider.is_content();
}

/// As somebody does who pressed Esc once too often.
#[test]
fn esc_leaves_the_list_and_each_question() {
    let provider = Provider::chat([write("a.txt", "new"), text("Done.")].map(Line::from));
    let env = provider.env(TestEnv::new());
    env.write("work/a.txt", "old");
    let mut person = editing(&provider, &env, &[]);
    person.says("go");
    person.sees("Done.");
    env.write("work/a.txt", "by hand");
    for steps in 0..=2 {
        person.says("/rewind");
        person.until("a list", |person| person.screen().ends_with("Esc leaves"));
        for (step, end) in ["Esc = nothing", "Esc = restore nothing"].into_iter().take(steps).enumerate() {
            person.types(if step == 0 { "\r" } else { "b" });
            person.until("a question", |person| person.screen().ends_with(end));
        }
        person.types("\x1b");
        person.prompts();
        assert!(!person.screen().contains("^["), "{}", person.screen());
    }
    for key in [Key::Ctrl('c'), Key::Ctrl('d')] {
        person.says("/rewind");
        person.until("a list", |person| person.screen().ends_with("Esc leaves"));
        person.presses(key);
        person.prompts();
    }
    assert_eq!(read(&env, "a.txt").as_deref(), Some("by hand"));
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
    provider.is_content();
}

/// Where nothing is drawn, a line is an answer.
#[test]
fn in_plain_mode_lines_answer() {
    let provider = Provider::chat([write("a.txt", "new"), text("Done.")].map(Line::from));
    let env = provider.env(TestEnv::new());
    env.write("work/a.txt", "old");
    let mut person = editing(&provider, &env, &["--plain"]);
    person.says("go");
    person.sees("Done.");
    person.says("/rewind");
    person.until("a list", |person| {
        person.screen().ends_with("back to which message? (its number, or words to search for; Enter: none)")
    });
    person.types("1\n");
    person.until("a choice", |person| person.screen().ends_with("nothing)"));
    person.types("x\n");
    person.sees("please answer b, c, f, n:");
    person.types("f\n");
    person.sees("restored a.txt");
    assert_eq!(read(&env, "a.txt").as_deref(), Some("old"));
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
    provider.is_content();
}
