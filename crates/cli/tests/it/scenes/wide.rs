//! More than fits: wide letters, wide tables, an answer that comes while the window becomes another.

use super::looks::is_screen;
use super::person::{Key, Kind, Person};
use super::tools::WAITING;
use crate::body::{calls, text};
use crate::env::TestEnv;
use crate::provider::{Line, Provider};
use serde_json::json;

const TABLE: &str = "| name | what it is for, in a few words | 場所 | 👩‍👩‍👧 |\n| --- | --- | :---: | ---: |\n| lighthouse | it tells ships where the rocks are, at night and in fog | 北の岬 | 1 234 567 |\n| 灯台 | `the same`, in another language, with an_unbreakable_word_of_forty_letters | 東京湾 | 2 |\n\n日本語の長い文は、空白がなくても、どこででも折り返すことができます。これはその例です。\n\n- 👩‍🚀 one\n- 🇳🇴 two and a few more words to break the line\n";

fn narrow() -> Kind {
    Kind { columns: 40, rows: 60, ..Kind::default() }
}

#[track_caller]
fn fits(person: &Person) {
    let shown: String = person.screen().chars().filter(|c| !c.is_whitespace()).collect();
    for part in ["北の岬", "東京湾", "その例です。"] {
        assert!(shown.contains(part), "no {part} in\n{}", person.screen());
    }
}

#[test]
fn a_table_and_letters_that_are_wide_in_forty_columns() {
    let provider = Provider::chat([text(TABLE), text("はい。")]);
    let env = provider.env(TestEnv::new());
    let mut person = Person::at(narrow(), &env, &["-m", provider.model(), "--no-tools"]);
    person.prompts();
    // Longer than a line of this terminal, with a letter that would stand on its edge.
    let typed = "灯台はどこにありますか、そして何のためにあるのですか？";
    person.types(typed);
    person.until("all of it", |person| {
        let shown: String = person.screen().chars().filter(|c| !c.is_whitespace()).collect();
        shown.contains(typed)
    });
    person.presses(Key::Enter);
    person.sees("two and a few");
    person.prompts();
    fits(&person);
    is_screen("wide-40", &person);
    assert_eq!(provider.requests()[0]["messages"][0]["content"], typed);
    person.says("もう一度");
    person.sees("はい。");
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
}

#[test]
fn a_window_that_becomes_narrow_and_wide_while_something_moves() {
    let waits = calls(["one", "two"].map(|name| ("wait__for", json!({ "name": name }))));
    let provider = Provider::chat([Line::from(waits), text(TABLE).into()]);
    let env = provider.env(TestEnv::new());
    env.write("tools/wait.toml", WAITING);
    let tools = env.path("tools").display().to_string();
    let kind = Kind { rows: 60, ..Kind::default() };
    let mut person = Person::at(kind, &env, &["-m", provider.model(), "--ensembles", &tools, "-e", "wait"]);
    person.says("wait for them");
    let runs = |person: &Person, name: &str| {
        let line = format!("wait.for name=\"{name}\"");
        person.screen().lines().filter(|shown| shown.contains(&line) && shown.ends_with(" s")).count()
    };
    let both = |person: &Person| runs(person, "one") == 1 && runs(person, "two") == 1;
    person.until("two lines", both);
    for columns in [40, 120, 60, 40] {
        person.resizes(columns, 60);
        // Once each, however often it is drawn.
        person.until("two lines", both);
    }
    env.write("work/go-one", "");
    person.until("one that is done", |person| person.screen().contains('✓') && runs(person, "two") == 1);
    person.resizes(40, 60);
    env.write("work/go-two", "");
    person.sees("two and a few");
    person.prompts();
    fits(&person);
    assert_eq!(person.screen().matches('✓').count(), 2, "{}", person.screen());
    is_screen("resized-40", &person);
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
    provider.is_content();
}
