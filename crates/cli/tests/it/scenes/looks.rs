//! What is on the screen: whole screens, as wide as terminals are; and what is not there where a terminal cannot show it.
//!
//! The screens are snapshots: `cargo insta review` shows what changed.

use super::person::{Key, Kind, Person};
use super::talking;
use crate::body::{Says, text};
use crate::env::TestEnv;
use crate::http::Answer;
use crate::provider::{Line, Provider};

const ANSWER: &str = "# Two cities\n\nOslo lies on a *fjord*, and **Bergen** between seven mountains, which is why it is the wetter one by far:\n\n| city | people | rain in a year |\n| --- | ---: | ---: |\n| Oslo | 717 710 | 763 mm |\n| Bergen | 291 940 | 2 250 mm |\n\n1. Take the train.\n2. Take a coat:\n   - a long one\n   - with a hood\n\n```rust\nfn main() {\n    println!(\"{}\", 6 * 7); // the answer, and a line that is too long for it\n}\n```\n\n> It rains on 239 days.\n\nSee [the weather](https://www.yr.no/en) and `man rain`. 日本語も。\n";

/// The beginning of a session's name, where it has no other.
fn is_id(word: &str) -> bool {
    let is_hex = |part: &str| part.chars().all(|c| c.is_ascii_hexdigit());
    matches!(word.split_once('-'), Some((time, rest)) if (time.len(), rest.len()) == (8, 4) && is_hex(time) && is_hex(rest))
}

/// Times are not twice the same, nor are sessions.
fn masked(screen: &str) -> String {
    let line = |line: &str| {
        let mut words: Vec<&str> = line.split(' ').collect();
        for at in 1..words.len() {
            if matches!(words[at], "ms" | "s") && words[at - 1].parse::<f64>().is_ok() {
                words[at - 1] = "0";
                words[at] = "s";
            }
        }
        words.iter_mut().filter(|word| is_id(word)).for_each(|word| *word = "SESSION");
        words.join(" ")
    };
    screen.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// The screen is the one that was looked at when it was written.
#[track_caller]
pub(super) fn is_screen(name: &str, person: &Person) {
    is_screen_from(name, person, "");
}

/// The same, from the last line on that has these words: how much of a line fits before a time differs.
#[track_caller]
pub(super) fn is_screen_from(name: &str, person: &Person, words: &str) {
    let whole = masked(&person.screen());
    let from = if words.is_empty() { 0 } else { whole.rfind(words).unwrap() };
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("screens");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.add_filter(r"converse \d+\.\d+\.\d+", "converse [VERSION]");
    // How much of the last argument fits before a time depends on the time.
    settings.add_filter(r" encod\S* 0 s →| en\S*… 0 s →", " en… 0 s →");
    settings.bind(|| insta::assert_snapshot!(name, &whole[from..]));
}

#[track_caller]
fn leaves(mut person: Person) {
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
}

#[test]
fn an_answer_with_a_table_a_list_and_code() {
    for columns in [40, 80, 120] {
        let provider = Provider::chat([text(ANSWER)]);
        let env = provider.env(TestEnv::new());
        let kind = Kind { columns, rows: 48, ..Kind::default() };
        let mut person = Person::at(kind, &env, &["-m", provider.model(), "--no-tools"]);
        person.says("Where does it rain more?");
        person.sees("man rain");
        person.prompts();
        is_screen(&format!("answer-{columns}"), &person);
        // The words are not only there, they look like what they are.
        assert!(person.cell("Bergen between").is_none_or(vt100::Cell::bold));
        assert!(person.cell("Two cities").unwrap().bold());
        assert!(person.cell("fjord").unwrap().italic());
        assert_ne!(person.cell("fn main").unwrap().fgcolor(), vt100::Color::Default);
        leaves(person);
    }
}

/// What a terminal replies that is white.
const WHITE: &str = "\x1b]11;rgb:ffff/ffff/ffff\x1b\\";
const QUESTION: &str = "\x1b]11;?\x1b\\";

#[test]
fn colours_are_those_for_the_background() {
    let (dark, light) = (vt100::Color::Idx(13), vt100::Color::Idx(5));
    let plain = vt100::Color::Default;
    for (background, variable, theme, is_asked, keyword) in [
        (WHITE, ("A", ""), "auto", true, light),
        ("\x1b]11;rgb:1e/1e/2e\x07", ("COLORFGBG", "0;15"), "auto", true, dark),
        ("", ("COLORFGBG", "0;15"), "auto", true, light),
        ("", ("A", ""), "auto", true, dark),
        (WHITE, ("A", ""), "dark", false, dark),
        ("", ("A", ""), "light", false, light),
        (WHITE, ("NO_COLOR", "1"), "auto", false, plain),
    ] {
        let provider = Provider::chat([text("```rust\nfn main() {}\n```\n")]);
        let env = provider.env(TestEnv::new()).var(variable.0, variable.1);
        env.write("home/.config/converse/config.toml", &format!("[repl]\ntheme = \"{theme}\"\n"));
        let kind = Kind { background, ..Kind::default() };
        let mut person = Person::at(kind, &env, &["-m", provider.model(), "--no-tools"]);
        person.says("hello");
        person.sees("fn main");
        person.prompts();
        assert_eq!(person.cell("fn main").unwrap().fgcolor(), keyword, "{background:?} {variable:?} {theme}");
        assert_eq!(person.raw().contains(QUESTION), is_asked, "{background:?} {variable:?} {theme}");
        leaves(person);
    }
}

/// A terminal may say what its background is when a line is read already.
#[test]
fn a_late_reply_is_not_typed_into_the_line() {
    let provider = Provider::chat([text("I see."), text("Again.")]);
    let env = provider.env(TestEnv::new());
    let mut person = talking(&provider, &env);
    for (end, answer) in [("\x1b\\", "I see."), ("\x07", "Again.")] {
        person.prompts();
        person.types(&format!("\x1b]11;rgb:ffff/FFFF/ffff{end}"));
        person.says("hello");
        person.sees(answer);
    }
    let last = provider.requests().pop().unwrap();
    assert_eq!(last["messages"].as_array().unwrap().last().unwrap()["content"], "hello", "{last}");
    leaves(person);
}

fn thinks() -> Says {
    text("Forty-two.")
        .thinking("The user asks for the answer. It is known: it has been computed before, at some cost.")
}

#[test]
fn thoughts_are_folded_or_shown() {
    let provider = Provider::serving(
        crate::body::Dialect::Anthropic,
        "anthropic",
        "claude-haiku-4-5",
        [thinks(), thinks()],
    );
    let env = provider.env(TestEnv::new());
    let mut person = talking(&provider, &env);
    person.says("What is the answer?");
    person.sees("Forty-two.");
    person.says("/reasoning on");
    person.says("And why?");
    person.until("the second one", |person| person.screen().matches("Forty-two.").count() == 2);
    person.prompts();
    is_screen("thoughts", &person);
    leaves(person);
}

#[test]
fn a_stream_that_is_cut_is_told_and_asked_for_again() {
    let cut = |answer: &mut Answer| answer.cut_at = answer.body.windows(4).position(|part| part == b"dogs");
    let words = text("It rains cats.\n\nAnd dogs.");
    let provider = Provider::chat([Line::Bent(words.clone(), cut), words.into()]);
    let env = provider.env(TestEnv::hasty());
    let mut person = talking(&provider, &env);
    person.says("What rains?");
    person.sees("And dogs.");
    person.prompts();
    let screen = person.screen();
    assert!(screen.contains("asking again") && screen.matches("And dogs.").count() == 1, "{screen}");
    let requests = provider.requests();
    assert_eq!((requests.len(), &requests[0]["messages"]), (2, &requests[1]["messages"]));
    leaves(person);
}

/// All that is written until the words are there and the sitting is over.
fn written(kind: Kind, env: &TestEnv, args: &[&str], words: &str) -> String {
    let mut person = Person::at(kind, env, args);
    person.says("Where does it rain more?");
    person.sees(words);
    person.says("/tools");
    person.says("/help");
    person.sees("Start a new conversation");
    person.says("/quit");
    person.until("the end", |person| person.program().is_none());
    while person.listens() {}
    let raw = person.raw();
    assert_eq!(person.ends().code, 0);
    raw
}

#[test]
fn plain_is_plain() {
    let dumb = Kind { term: "dumb", ..Kind::default() };
    for (kind, flag) in [(dumb, "-v"), (Kind::default(), "--plain")] {
        let provider = Provider::chat([text(ANSWER)]);
        let env = provider.env(TestEnv::new());
        let raw = written(kind, &env, &["-m", provider.model(), flag], "**Bergen**");
        assert!(!raw.contains('\x1b'), "{raw:?}");
    }
}

#[test]
fn without_colour_nothing_is_coloured() {
    let provider = Provider::chat([text(ANSWER)]);
    let env = provider.env(TestEnv::new()).var("NO_COLOR", "1");
    let raw = written(Kind::default(), &env, &["-m", provider.model()], "man rain");
    let colours = raw.match_indices("\x1b[").filter(|(at, _)| {
        let inner: String = raw[at + 2..].chars().take_while(|c| c.is_ascii_digit() || *c == ';').collect();
        raw[at + 2 + inner.len()..].starts_with('m') && !matches!(inner.as_str(), "" | "0")
    });
    let coloured: Vec<&str> = colours.map(|(at, _)| &raw[at..(at + 12).min(raw.len())]).collect();
    assert_eq!(coloured, [""; 0]);
}

#[test]
fn a_terminal_of_letters_gets_letters() {
    let provider =
        Provider::chat([text("# Rain\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n- one\n- two\n\n> so.\n")]);
    let env = provider.env(TestEnv::new()).var("LANG", "C");
    let raw = written(Kind::default(), &env, &["-m", provider.model()], "so.");
    let strange: Vec<char> = raw.chars().filter(|c| !c.is_ascii()).collect();
    assert!(strange.is_empty(), "{strange:?} in {raw:?}");
}

#[test]
fn a_long_answer_streams_without_a_trace_of_what_moved() {
    let lines: Vec<String> = (1..=120).map(|number| format!("{number}. a line with a number")).collect();
    let long: &'static str = Box::leak(lines.join("\n").into_boxed_str());
    let provider = Provider::chat([text(long)]);
    let env = provider.env(TestEnv::new());
    let mut person = talking(&provider, &env);
    person.says("Count.");
    person.sees("120. a line");
    person.prompts();
    let screen = person.screen();
    let numbers: Vec<usize> =
        screen.lines().filter_map(|line| line.trim().split_once(". a line")?.0.parse().ok()).collect();
    let first = *numbers.first().unwrap();
    assert!(first > 50 && numbers == (first..=120).collect::<Vec<_>>(), "{screen}");
    person.presses(Key::Ctrl('d'));
    assert_eq!(person.ends().code, 0);
}
