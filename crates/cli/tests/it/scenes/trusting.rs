//! Whether a project is trusted: one key answers, and what is asked about fits a screen.

use super::looks::is_screen_from;
use super::person::{Key, Kind, Person};
use crate::env::TestEnv;

const RUNS: &str = "[ensemble]\nname = \"greeter\"\ndescription = \"greets\"\n[[invokers]]\nname = \"greet\"\ndescription = \"greets\"\ncommand = { argv = [\"echo\", \"hello\"] }\narguments = { type = \"object\", properties = {} }\n";
const HINT: &str = "Esc = no";

fn project() -> TestEnv {
    let env = TestEnv::new();
    env.write("work/ensembles/greeter.toml", RUNS);
    env.write("work/AGENTS.md", &"Use tabs.\n".repeat(300));
    env.write("work/.converse/commands/review.md", "Review $ARGUMENTS.");
    env
}

/// Starts, and waits for the question.
#[track_caller]
fn asked(kind: Kind, env: &TestEnv) -> Person {
    let mut person = Person::at(kind, env, &["-m", "understudy"]);
    person.until("a question", |person| person.screen().ends_with(HINT));
    person
}

fn leaves(mut person: Person) {
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
}

#[test]
fn no_is_selected_and_esc_is_no() {
    let env = project();
    for key in ["\x1b", "\r", "n"] {
        let mut person = asked(Kind::default(), &env);
        assert!(person.screen().contains("❯ n  no"), "{}", person.screen());
        person.types(key);
        person.sees("trust exactly this? no");
        person.sees("the project stays untrusted");
        person.prompts();
        leaves(person);
    }
    let mut person = asked(Kind::default(), &env);
    person.types("maybe");
    person.sees("answer: maybe");
    person.presses(Key::Enter);
    person.until("a reminder", |person| person.screen().ends_with("please answer y or n, v"));
    person.types("y\r");
    person.sees("trust exactly this? yes");
    person.prompts();
    leaves(person);
    // Once it is trusted, what has changed is named, and shown on demand.
    env.write("work/.converse/commands/review.md", "Review it all.");
    env.write("work/.converse/commands/fix.md", "Fix it.");
    let mut person = asked(Kind::default(), &env);
    assert!(person.screen().contains("  .converse/commands/fix.md"), "{}", person.screen());
    is_screen_from("trust-changed", &person, "  .converse/commands/review.md");
    assert!(!person.screen().contains("sha256"), "{}", person.screen());
    person.types("v");
    person.until("all of it", |person| {
        person.screen().contains("sha256 of all") && person.screen().ends_with(HINT)
    });
    let shown = person.history().join("\n");
    assert!(shown.contains("+Review it all.") && shown.contains("  | Use tabs."), "{shown}");
    person.types("y\r");
    person.sees("trust exactly this? yes");
    person.prompts();
    leaves(person);
}

#[test]
fn on_the_usual_screen_and_on_a_narrow_one() {
    for (columns, name) in [(80, "trust-80x24"), (40, "trust-40x24")] {
        let env = project();
        let mut person = asked(Kind { columns, rows: 24, ..Kind::default() }, &env);
        is_screen_from(name, &person, "  .converse");
        person.types("\x1b");
        person.prompts();
        leaves(person);
    }
}
