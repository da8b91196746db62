//! The status line above the prompt.

use super::person::Person;
use crate::body::text;
use crate::env::TestEnv;
use crate::provider::{Line, Provider};

fn env(provider: &Provider, settings: &str) -> TestEnv {
    let env = provider.env(TestEnv::new());
    let model = provider.model();
    let settings = format!(
        "{settings}\n[models.\"{model}\"]\nwindow = 8000\nprice = {{ input = 1000, output = 1000 }}\n"
    );
    env.write("home/.config/converse/config.toml", &settings);
    env.write("work/.git/HEAD", "ref: refs/heads/blue\u{1b}[2J\n");
    env
}

fn rows(person: &Person, part: &str) -> Vec<String> {
    person.screen().lines().filter(|row| row.contains(part)).map(str::to_owned).collect()
}

#[test]
fn it_says_what_has_changed() {
    let provider = Provider::chat([Line::from(text("I see.")), Line::from(text("Again."))]);
    let env = env(&provider, "");
    let mut person = Person::runs(&env, &["-m", provider.model()]);
    person.prompts();
    assert_eq!(rows(&person, "blue"), ["blue\\x1b[2J"], "{}", person.screen());
    person.says("go");
    person.sees("I see.");
    person.until("a status", |person| person.screen().contains("context left · $"));
    person.prompts();
    let shown = rows(&person, "context left");
    assert!(shown.len() == 1 && shown[0].ends_with(" · blue\\x1b[2J"), "{}", person.screen());
    // Nothing has changed.
    person.says("/mode");
    person.sees("mode ask");
    person.prompts();
    assert_eq!(rows(&person, "context left").len(), 1, "{}", person.screen());
    person.says("more");
    person.sees("Again.");
    person.until("another status", |person| rows(person, "context left").len() == 2);
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
}

#[test]
fn it_is_as_the_settings_say() {
    let provider = Provider::chat([Line::from(text("I see."))]);
    for (template, expected) in
        [("{directory} on {branch}|{mode}|{cost}", Some("work on blue\\x1b[2J · ask")), ("", None)]
    {
        let env = env(&provider, &format!("[repl]\nstatus = \"{template}\""));
        let mut person = Person::runs(&env, &["-m", provider.model()]);
        person.prompts();
        let shown = rows(&person, "blue");
        assert_eq!(shown.first().map(String::as_str), expected, "{}", person.screen());
        person.says("/quit");
        assert_eq!(person.ends().code, 0);
    }
    let env = env(&provider, "");
    let mut person = Person::runs(&env, &["-m", provider.model(), "--plain"]);
    person.prompts();
    assert!(!person.screen().contains("blue"), "{}", person.screen());
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
}
