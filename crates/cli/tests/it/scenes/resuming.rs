//! `/resume` and `/transcript`: another conversation is found by what was said in it, and read as a whole.

use std::os::unix::fs::PermissionsExt as _;

use super::person::{Key, Person};
use super::talking;
use crate::body::text;
use crate::env::TestEnv;
use crate::provider::Provider;

/// An answer of many lines: all of it is shown again.
const LONG: &str =
    "line 1\n\nline 2\n\nline 3\n\nline 4\n\nline 5\n\nline 6\n\nline 7\n\nline 8\n\nline 9\n\nthe end";

fn ask(env: &TestEnv, directory: &str, words: &str, provider: &Provider) {
    std::fs::create_dir_all(env.path(directory)).unwrap();
    let mut command = env.command(["ask", words, "-m", provider.model(), "--no-tools"]);
    assert!(command.current_dir(env.path(directory)).output().unwrap().status.success());
}

/// Waits for a list.
#[track_caller]
fn is_listed(person: &mut Person) {
    person.until("a list", |person| {
        person.screen().split_whitespace().collect::<Vec<_>>().join(" ").ends_with("Esc leaves")
    });
}

fn leaves(mut person: Person) {
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
}

#[test]
fn a_session_is_searched_for_and_its_last_exchange_shown_in_full() {
    let provider = Provider::chat([text(LONG), text("About pears."), text("Elsewhere."), text("Yes.")]);
    let env = provider.env(TestEnv::new());
    ask(&env, "work", "what about apples?", &provider);
    ask(&env, "work", "and pears?", &provider);
    ask(&env, "work/../other", "not of this project", &provider);
    let mut person = talking(&provider, &env);
    person.says("/resume");
    is_listed(&mut person);
    let shown = person.screen();
    for words in ["1 ", "just now", "❯ and pears?", "About pears.", "❯ what about apples?"] {
        assert!(shown.contains(words), "no {words:?} in {shown}");
    }
    assert!(!shown.contains("not of this project"), "{shown}");
    // Words search as they are typed.
    person.types("apples");
    person.until("one session is left", |person| {
        person.screen().contains("which one? apples") && !person.screen().contains("and pears?")
    });
    person.presses(Key::Enter);
    person.sees("the end");
    person.prompts();
    let shown = person.screen();
    let again = shown.rsplit_once("messages\n").unwrap().1;
    let (question, answer) = (again.find("❯ what about apples?").unwrap(), again.find("line 1").unwrap());
    assert!(question < answer && again.contains("line 9"), "{shown}");
    person.says("are you there?");
    person.sees("Yes.");
    let request = provider.requests().pop().unwrap();
    assert_eq!(request["messages"].as_array().unwrap().len(), 3, "{request}");
    person.prompts();
    person.says("/resume --all");
    is_listed(&mut person);
    assert!(person.screen().contains("❯ not of this project"), "{}", person.screen());
    person.types("\x1b");
    person.sees("no session selected");
    person.prompts();
    leaves(person);
}

#[test]
fn the_whole_conversation_is_shown_in_a_pager() {
    let provider = Provider::chat([text(LONG), text("Bye. \u{202e}x")]);
    let env = provider.env(TestEnv::new());
    let script =
        "#!/bin/sh\ncat > \"$HOME/paged\"; stty -a < /dev/tty | grep -q ' icanon' && echo paged $1\n";
    let pager = env.write("home/bin/pager", script);
    std::fs::set_permissions(&pager, std::fs::Permissions::from_mode(0o755)).unwrap();
    let env = env.var("PAGER", format!("{} --now", pager.display()));
    for kept in [true, false] {
        let args = ["-m", provider.model(), "--no-tools", "--ephemeral"];
        let mut person = Person::runs(&env, &args[..if kept { 3 } else { 4 }]);
        person.says("question one");
        person.sees(if kept { "the end" } else { "Bye." });
        person.prompts();
        person.says("/transcript");
        person.sees("paged --now");
        let paged = std::fs::read_to_string(env.path("home/paged")).unwrap();
        for words in ["question one", if kept { "line 9" } else { "Bye. \\u{202e}x" }] {
            assert!(paged.contains(words), "no {words:?} in {paged}");
        }
        leaves(person);
    }
}

/// A row that is wrapped keeps its own preview.
#[test]
fn each_session_has_its_own_preview_on_a_narrow_terminal() {
    let provider = Provider::chat(["One.", "Two.", "Three."].map(text));
    let env = provider.env(TestEnv::new());
    let long = |word: &str| format!("{word} {}", "and all that belongs to it, in many words ".repeat(4));
    for (directory, word) in [("a-directory-with-a-long-name", "first"), ("b", "second"), ("c", "third")] {
        ask(&env, directory, &long(word), &provider);
    }
    let mut person = talking(&provider, &env);
    person.resizes(60, 50);
    person.says("/resume --all");
    is_listed(&mut person);
    let screen = person.screen();
    let list = screen.rsplit_once("which one? --all").unwrap().1.replacen("❯ 1", "  1", 1);
    let mut rows = list.split("❯ ").map(|piece| piece.to_owned());
    let mut row = rows.next().unwrap();
    for (place, (word, answer)) in
        [("third", "Three."), ("second", "Two."), ("first", "One.")].into_iter().enumerate()
    {
        assert!(row.contains(&format!("{}  ", place + 1)), "no row {} in {row}", place + 1);
        let next = rows.next().unwrap();
        assert!(next.starts_with(word) && next.contains(answer), "no {word} with {answer}: {screen}");
        row = next;
    }
    assert!(screen.lines().all(|line| line.chars().count() < 60), "{screen}");
    person.types("\x1b\x1b");
    person.presses(Key::Ctrl('c'));
    person.prompts();
    leaves(person);
}

/// `less` goes on after Ctrl-C, so the conversation must be there when it ends.
#[test]
fn an_interrupt_is_for_the_pager_as_long_as_it_runs() {
    let provider = Provider::chat([text("Short."), text("Still here.")]);
    let env = provider.env(TestEnv::new());
    let script = "#!/bin/sh\ncat > /dev/null\ntrap 'n=$((n + 1)); echo interrupt $n' INT\necho paging\n\
                  while [ ${n:-0} -lt 3 ]; do sleep 0.02; done\n";
    let pager = env.write("home/bin/pager", script);
    std::fs::set_permissions(&pager, std::fs::Permissions::from_mode(0o755)).unwrap();
    let env = env.var("PAGER", pager.display().to_string());
    let mut person = talking(&provider, &env);
    person.says("one");
    person.sees("Short.");
    person.prompts();
    person.says("/transcript");
    person.sees("paging");
    for count in 1..=3 {
        person.presses(Key::Ctrl('c'));
        person.sees(&format!("interrupt {count}"));
    }
    person.prompts();
    person.says("two");
    person.sees("Still here.");
    leaves(person);
}

#[test]
fn without_a_pager_it_is_printed() {
    let provider = Provider::chat([text("Short.")]);
    let env = provider.env(TestEnv::new()).var("PAGER", "");
    let mut person = talking(&provider, &env);
    person.says("one");
    person.sees("Short.");
    person.prompts();
    person.says("/transcript");
    person.until("it is there twice", |person| person.screen().matches("Short.").count() == 2);
    leaves(person);
}
