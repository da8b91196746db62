//! Permission modes: a key switches them, the prompt shows them, and they decide after the rules.

use serde_json::json;

use super::person::Person;
use super::tools::with_waiting;
use crate::body::{Says, calls, text};
use crate::env::TestEnv;
use crate::provider::{Line, Provider};

const SHIFT_TAB: &str = "\x1b[Z";

fn writes(path: &str) -> Says {
    calls([("io__write_file", json!({ "path": path, "content": "new" }))])
}

/// What the model was told of its last call.
fn told(provider: &Provider) -> String {
    let requests = provider.requests();
    let messages = requests.last().unwrap()["messages"].as_array().unwrap().clone();
    let result = messages.iter().rfind(|message| message["role"] == "tool");
    result.unwrap()["content"].to_string()
}

#[test]
fn shift_tab_switches_the_mode_and_keeps_the_line() {
    let script = [writes("a.txt"), text("First."), writes("a.txt"), text("Second."), writes("Makefile")];
    let provider = Provider::chat(script.into_iter().chain([text("Third.")]).map(Line::from));
    let env = provider.env(TestEnv::new());
    let mut person = Person::runs(&env, &["-m", provider.model(), "-e", "io"]);
    person.prompts();
    person.types("go");
    person.types(SHIFT_TAB);
    person.until("read-only", |person| person.screen().ends_with("stub read-only ❯ go"));
    person.types("\r");
    person.sees("First.");
    assert!(told(&provider).contains("not allowed by the rule mode read-only"), "{}", told(&provider));
    assert!(!env.path("work/a.txt").exists());
    person.prompts();
    person.types(SHIFT_TAB);
    person.until("accept-edits", |person| person.screen().ends_with("stub accept-edits ❯"));
    person.says("again");
    person.sees("Second.");
    assert_eq!(std::fs::read_to_string(env.path("work/a.txt")).unwrap(), "new");
    assert!(!person.screen().contains("allow io.write_file?"), "{}", person.screen());
    // What other programs execute is asked about in this mode too.
    person.says("and this");
    person.sees("make executes what it says");
    person.until("a question", Person::is_asked);
    person.types("n\r");
    person.sees("Third.");
    assert!(!env.path("work/Makefile").exists());
    person.prompts();
    person.types(SHIFT_TAB);
    person.until("the usual prompt", |person| person.screen().ends_with("stub ❯"));
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
    provider.is_content();
}

#[test]
fn mode_sets_and_shows_it_and_a_rule_comes_first() {
    let provider =
        Provider::chat([writes("a.txt"), text("No."), writes("b.txt"), text("Yes.")].map(Line::from));
    let env = provider.env(TestEnv::new());
    let flags = ["-m", provider.model(), "-e", "io", "--mode", "accept-edits", "--plain"];
    let mut person = Person::runs(&env, &flags);
    for (line, shown) in [
        ("/mode", "mode accept-edits: edits of files in the project run without a question"),
        ("/mode plan", "there is no mode `plan`"),
        ("/deny io.write_file", "1 tool does not run"),
        ("go", "No."),
        ("/mode read-only", "mode read-only: tools that do more than read are refused"),
        ("/usage", "permission mode: read-only"),
        ("again", "Yes."),
        ("/mode ask", "mode ask: the rules decide"),
        ("/quit", ""),
    ] {
        person.says(line);
        person.sees(shown);
        if line == "go" {
            assert!(told(&provider).contains("rule io.write_file (/deny)"), "{}", told(&provider));
        }
    }
    assert!(told(&provider).contains("rule io.write_file (/deny)"), "{}", told(&provider));
    assert!(!env.path("work/a.txt").exists() && !env.path("work/b.txt").exists());
    assert_eq!(person.ends().code, 0);
    provider.is_content();
}

#[test]
fn shift_tab_during_a_turn_counts_from_the_next_call_on() {
    let waits = calls([("wait__for", json!({ "name": "one" }))]);
    let provider = Provider::chat([waits, writes("new.txt"), text("Written?")].map(Line::from));
    let env = provider.env(TestEnv::new());
    let mut person = with_waiting(&provider, &env, &["-e", "io"]);
    person.says("go");
    person.until("a running line", |person| person.screen().contains("wait.for name=\"one\""));
    person.types(SHIFT_TAB);
    person.sees("mode read-only: tools that do more than read are refused");
    person.sees("esc interrupts · read-only");
    env.write("work/go-one", "");
    person.sees("Written?");
    assert!(told(&provider).contains("not allowed by the rule mode read-only"), "{}", told(&provider));
    assert!(!env.path("work/new.txt").exists());
    person.until("the mode", |person| person.screen().ends_with("stub read-only ❯"));
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
    provider.is_content();
}
