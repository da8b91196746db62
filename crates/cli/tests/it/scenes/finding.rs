//! `@`: files of the project are found as their names are typed.

use super::person::{Key, Person};
use super::talking;
use super::typing::answers;
use crate::env::TestEnv;
use crate::provider::Provider;

fn project(provider: &Provider) -> TestEnv {
    let env = provider.env(TestEnv::new());
    for name in
        ["src/main.rs", "src/schema.rs", "notes.txt", "two words.txt", "target/main.rs", ".hidden/main.rs"]
    {
        env.write(&format!("work/{name}"), name);
    }
    env.write("work/.gitignore", "target/\n");
    env
}

/// The rows below the line.
fn offered(person: &Person) -> Vec<String> {
    let screen = person.screen();
    let rows = screen.lines().skip_while(|line| !line.starts_with('❯') && !line.contains(" ❯ "));
    rows.skip(1).map(|line| line.trim().to_owned()).collect()
}

#[track_caller]
fn offers(person: &mut Person, names: &[&str]) {
    person.until(&names.join(" "), |person| offered(person) == names);
}

#[test]
fn names_are_offered_as_they_are_typed_and_taken() {
    let provider = answers(1);
    let env = project(&provider);
    let mut person = talking(&provider, &env);
    person.prompts();
    person.types("see @");
    offers(&mut person, &["@src/", "@notes.txt", "@\"two words.txt\"", "@src/main.rs", "@src/schema.rs"]);
    person.types("srcma");
    offers(&mut person, &["@src/main.rs", "@src/schema.rs"]);
    // Enter takes, and does not send.
    person.presses(Key::Down);
    person.presses(Key::Enter);
    person.sees("❯ see @src/schema.rs");
    offers(&mut person, &[]);
    person.types("and @two");
    offers(&mut person, &["@\"two words.txt\""]);
    person.presses(Key::Tab);
    person.sees("and @\"two words.txt\"");
    // With a space, nothing is offered any more.
    person.types("or @src");
    offers(&mut person, &["@src/", "@src/main.rs", "@src/schema.rs"]);
    person.types(" and ");
    offers(&mut person, &[]);
    assert_eq!(provider.requests().len(), 0);
    person.presses(Key::Enter);
    person.sees("I see.");
    let request = provider.requests()[0].to_string();
    assert!(request.contains("see @src/schema.rs and @"), "{request}");
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
}

#[test]
fn esc_closes_the_list_and_leaves_the_text() {
    let provider = answers(2);
    let env = project(&provider);
    let mut person = talking(&provider, &env);
    person.prompts();
    person.types("see @main");
    offers(&mut person, &["@src/main.rs"]);
    person.types("\x1b");
    offers(&mut person, &[]);
    person.sees("❯ see @main");
    // It stays closed for this word.
    person.types("x");
    person.sees("❯ see @mainx");
    person.presses(Key::Backspace);
    person.until("the word", |person| person.screen().ends_with("❯ see @main"));
    person.presses(Key::Enter);
    person.sees("I see.");
    // What is typed in one go is taken or sent as what is typed slowly.
    person.prompts();
    person.types("see @srcma\r");
    person.until("what was taken", |person| person.screen().ends_with("❯ see @src/main.rs"));
    assert_eq!(provider.requests().len(), 1);
    person.presses(Key::Enter);
    person.until("a second answer", |person| person.screen().matches("I see.").count() == 2);
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
}

#[test]
fn nothing_is_offered_for_an_address_or_where_nothing_is_found() {
    let provider = answers(3);
    let env = project(&provider);
    let mut person = talking(&provider, &env);
    for (line, count) in [("write to s@rc", 1), ("see @src/main.rs", 2), ("ask @nobody", 3)] {
        person.prompts();
        person.types(line);
        person.until(line, |person| person.screen().ends_with(&format!("❯ {line}")));
        person.presses(Key::Enter);
        person.until("an answer", |person| person.screen().matches("I see.").count() == count);
    }
    // What is hidden is there for Tab.
    person.prompts();
    person.types("@.hid");
    person.presses(Key::Tab);
    person.sees("❯ @.hidden/");
    person.presses(Key::Ctrl('c'));
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
}
