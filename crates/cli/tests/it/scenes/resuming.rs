//! `/resume` and `/transcript`: another conversation is found by what was said in it, and read as a whole.

use std::os::unix::fs::PermissionsExt as _;

use super::person::Person;
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
    let shown = person.sees("which one?");
    for words in ["1 ", "just now", "❯ and pears?", "About pears.", "❯ what about apples?"] {
        assert!(shown.contains(words), "no {words:?} in {shown}");
    }
    assert!(!shown.contains("not of this project"), "{shown}");
    // Words instead of a number search.
    person.types("apples\r");
    person.until("one session is left", |person| person.screen().matches("which one?").count() == 2);
    person.types("1\r");
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
    person.until("the question", |person| person.screen().ends_with("Enter: none)"));
    assert!(person.screen().contains("❯ not of this project"), "{}", person.screen());
    person.types("\r");
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
