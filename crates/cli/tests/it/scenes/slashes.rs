//! Every command once, with its unhappy way.

use super::person::Person;
use crate::body::text;
use crate::env::TestEnv;
use crate::provider::{Line, Provider};

/// What is typed, and what is on the screen after it.
const BEFORE_A_WORD: &[(&str, &str)] = &[
    ("/usage", "total: about"),
    ("/cost", "USD"),
    ("/undo", "there is no message yet"),
    ("/rewind", "there is no message yet"),
    ("/retry", "there is no message yet"),
    ("/edit", "there is no message yet"),
    ("/copy", "there is no such answer"),
    ("/show", "no tool was called"),
    ("/fork", "nothing is saved yet"),
    ("/compact", "nothing"),
    ("/sessions", "there is no other session"),
    ("/resume --all", "there is no other session"),
    ("/transcript", "there is no message yet"),
    ("/context", "total: about"),
    ("/init x", "takes no argument"),
    ("/export x.md", "nothing is saved yet"),
];

const AFTER_IT: &[(&str, &str)] = &[
    ("/help", "/quit"),
    ("/help copy", "/copy [N]"),
    ("/help nope", "no command"),
    ("/mdoel", "did you mean `/model`?"),
    ("/new", "did you mean `/clear`?"),
    ("/plan", "did you mean `/mode read-only`?"),
    ("/theme", "it is set in `config.toml`"),
    ("/model nowhere/x", "error["),
    ("/system be brief", "with the next message"),
    ("/system @nothing.txt", "error["),
    ("/ensembles", "essentials"),
    ("/ensembles nope", "error["),
    ("/ensembles -io", "off"),
    ("/tools", "tools, about"),
    ("/tools nope", "no tool has this name"),
    ("/allow essentials.c*", "2 tools run without a question"),
    ("/allow", "essentials.c*"),
    ("/allow [", "error[bad-pattern]"),
    ("/deny essentials.calculator", "1 tool does not run"),
    ("/deny", "essentials.calculator"),
    ("/deny nosuch", "no tool has this name now"),
    ("/mode", "mode ask: the rules decide"),
    ("/mode plan", "error[unknown-mode]"),
    ("/usage", "tokens in"),
    ("/usage x", "takes no argument"),
    ("/cost", "cost unknown"),
    ("/compact", "nothing old enough"),
    ("/undo two", "write `/undo [N]`"),
    ("/rewind 2", "takes no argument"),
    ("/fork 99", "error["),
    ("/fork", "is unchanged"),
    ("/save my words", "saved as `my words`"),
    ("/sessions nobody-said-this", "no session of this project contains these"),
    ("/attach nothing.txt", "error[attachment]"),
    ("/attach", "write `/attach"),
    ("/editor", "error[editor]"),
    ("/edit", "error[editor]"),
    ("/copy 7", "there is no such answer"),
    ("/copy", "copied: 6 characters"),
    ("/reasoning on", "on"),
    ("/reasoning maybe", "write `/reasoning"),
    ("/show 3", "no tool was called"),
    ("/nope.prompt", "error["),
    ("/clear", "new conversation"),
];

#[track_caller]
fn all(person: &mut Person, table: &[(&str, &str)]) {
    for (typed, shown) in table {
        // On an empty screen nothing is there from before.
        person.prompts();
        person.presses(super::person::Key::Ctrl('l'));
        person.until("an empty screen", |person| {
            person.screen().lines().filter(|line| !line.is_empty()).count() == 1
        });
        person.says(typed);
        person.until(&format!("{shown} after {typed}"), |person| {
            person.screen().lines().any(|line| !line.contains('❯') && line.contains(shown))
        });
    }
}

#[test]
fn every_command_answers() {
    let provider = Provider::chat([Line::from(text("I see.")), text("Again.").into()]);
    let env = provider.env(TestEnv::new()).var("EDITOR", "false");
    let mut person = Person::runs(&env, &["-m", provider.model(), "-e", "essentials", "-e", "io"]);
    all(&mut person, BEFORE_A_WORD);
    person.says("hello");
    person.sees("I see.");
    all(&mut person, AFTER_IT);
    person.says("/quit now");
    person.sees("takes no argument");
    person.says("/retry");
    person.sees("there is no message yet");
    person.says("/exit");
    assert_eq!(person.ends().code, 0);
}

/// A row that nobody drives here is a command that nobody has tried.
#[test]
fn no_command_is_left_out() {
    let provider = Provider::chat([text("unused")]);
    let env = provider.env(TestEnv::new());
    let mut person = super::talking(&provider, &env);
    person.says("/help");
    person.sees("that begins with a slash");
    let shown = person.history().join("\n");
    let named =
        shown.lines().filter_map(|line| line.trim_start().strip_prefix('/')?.split_whitespace().next());
    let tried: Vec<&str> =
        BEFORE_A_WORD.iter().chain(AFTER_IT).map(|(typed, _)| *typed).chain(["/quit", "/exit"]).collect();
    let mut count = 0;
    for name in named {
        // How a prompt of a server is said is a row, and no command.
        if name.contains('.') {
            continue;
        }
        count += 1;
        assert!(tried.iter().any(|one| one[1..].split(' ').next() == Some(name)), "/{name}");
    }
    assert!(count > 25, "{shown}");
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
}
