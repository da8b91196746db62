//! `!command`: what it writes is shown as it comes, and goes to the model with the next message.

use super::person::{Key, Person};
use super::talking;
use crate::body::text;
use crate::env::TestEnv;
use crate::provider::{KEY, Line, Provider};

/// What the model was sent last, as text.
fn sent(provider: &Provider) -> String {
    provider.requests().last().unwrap()["messages"].to_string()
}

fn leaves(mut person: Person, provider: &Provider) {
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
    provider.is_content();
}

#[test]
fn a_command_runs_in_the_project_and_its_output_goes_with_the_next_message() {
    let provider = Provider::chat([text("I see."), text("Nothing new."), text("Very.")].map(Line::from));
    let env = provider.env(TestEnv::new());
    env.write("work/n", &format!("key {KEY} end\n"));
    let mut person = talking(&provider, &env);
    person.says("!ls; printf 'er%s\\n' ror >&2; cat n; rm n; exit 3");
    person.sees("`/attach -` drops it");
    let screen = person.screen();
    for part in ["\nn\nerror\nkey [redacted] end\n", "\nexit 3\n", "the output goes with the next message"] {
        assert!(screen.contains(part), "no {part:?} in\n{screen}");
    }
    person.says("/context");
    person.sees("with the next message: ");
    person.says("what is there?");
    person.sees("I see.");
    let request = sent(&provider);
    for part in ["$ ls; printf", "\\nn\\nerror\\nkey [redacted] end\\n[exit 3]"] {
        assert!(request.contains(part), "no {part:?} in {request}");
    }
    assert!(!request.contains(KEY) && !person.raw().contains(KEY), "a key: {request}");
    person.says("and now?");
    person.sees("Nothing new.");
    person.says("!!important");
    person.sees("Very.");
    assert!(sent(&provider).contains("\"!important\""), "{}", sent(&provider));
    person.says("/export talk.json");
    person.sees("written: talk.json");
    let kept = std::fs::read_to_string(env.path("work/talk.json")).unwrap();
    assert!(kept.contains("\"document\"") && kept.contains("[exit 3]"), "{kept}");
    leaves(person, &provider);
}

#[test]
fn a_command_that_is_pasted_without_brackets_waits_for_enter() {
    let provider = Provider::chat([text("I see."), text("Done.")].map(Line::from));
    let env = provider.env(TestEnv::new());
    let mut person = talking(&provider, &env);
    person.prompts();
    person.types("!touch ran\r");
    person.until("another line", |person| person.screen().ends_with('…'));
    assert!(!env.path("work/ran").exists());
    person.presses(Key::Enter);
    person.sees("exit 0");
    assert!(env.path("work/ran").exists());
    // Lines that come while a turn runs.
    person.says("go");
    person.types("wait\r!touch more\r");
    person.sees("Done.");
    person.until("the line", |person| person.screen().ends_with('…'));
    assert!(!env.path("work/more").exists());
    person.presses(Key::Ctrl('c'));
    leaves(person, &provider);
}

#[test]
fn a_line_that_changes_what_may_run_waits_for_enter_like_a_command() {
    let provider = Provider::chat([text("Done.")].map(Line::from));
    let env = provider.env(TestEnv::new());
    let mut person = talking(&provider, &env);
    person.prompts();
    for line in ["/allow io.write_file", "/mode accept-edits"] {
        person.types(&format!("{line}\r"));
        person.until("another line", |person| person.screen().ends_with('…'));
        person.presses(Key::Ctrl('c'));
        person.prompts();
    }
    // Lines that come while a turn runs.
    person.says("go");
    person.types("/allow io.write_file\r");
    person.sees("Done.");
    person.until("the line", |person| person.screen().ends_with('…'));
    person.presses(Key::Ctrl('c'));
    person.says("/allow");
    person.sees("there is no such rule");
    person.prompts();
    person.types("/allow io.write_file\r");
    person.until("another line", |person| person.screen().ends_with('…'));
    person.presses(Key::Enter);
    person.sees("the rule applies to later tools");
    leaves(person, &provider);
}

#[test]
fn output_cannot_act_on_the_terminal_and_is_bounded() {
    let provider = Provider::chat([text("I see.")].map(Line::from));
    let env = provider.env(TestEnv::new());
    let mut person = talking(&provider, &env);
    person.says("!printf '\\033]0;owned\\007\\033[2Jx\\n10 %%\\r20 %%\\nopen'");
    person.sees("exit 0");
    for part in ["\\x1b]0;owned\\x07\\x1b[2Jx", "\n20 %", "\nopen"] {
        assert!(person.screen().contains(part), "no {part:?} in\n{}", person.screen());
    }
    assert!(!person.raw().contains("\x1b]0;owned"), "{:?}", person.raw());
    person.says("!seq 100000");
    person.sees("99,500 more lines not shown");
    person.says("go");
    person.sees("I see.");
    let request = sent(&provider);
    assert!(
        request.contains("$ seq 100000\\n1\\n2\\n") && request.contains("\\n100000\\n[exit 0]"),
        "both ends"
    );
    assert!(request.contains("bytes are left out") && request.len() < 150_000, "{}", request.len());
    leaves(person, &provider);
}

#[test]
fn ctrl_c_stops_a_command_and_nothing_else() {
    let provider = Provider::chat([text("I see.")].map(Line::from));
    let env = provider.env(TestEnv::new());
    let mut person = talking(&provider, &env);
    person.says("!printf 'be%s\\n' gun; sleep 1000 & sleep 1000");
    person.sees("\nbegun");
    person.presses(Key::Ctrl('c'));
    person.sees("\nstopped");
    person.says("!printf 'ag%s\\n' ain; sleep 1000");
    person.sees("\nagain");
    person.types("\x1b");
    person.until("its end", |person| person.screen().matches("\nstopped").count() == 2);
    person.says("go");
    person.sees("I see.");
    assert!(sent(&provider).contains("begun\\n[stopped]"), "{}", sent(&provider));
    leaves(person, &provider);
}
