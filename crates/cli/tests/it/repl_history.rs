//! What stays of what is typed in the REPL: not what was to be forgotten, and no key.

use crate::env::TestEnv;
use crate::screen::Screen;

const HISTORY: &str = "home/.local/state/converse/history";
const KEY: &str = "tok-0123456789abcdef";

fn leaves(mut screen: Screen) {
    screen.says("/quit");
    assert_eq!(screen.ends(), 0);
}

#[test]
fn of_a_conversation_that_is_not_kept_no_line_is() {
    let asked = TestEnv::new();
    let configured = TestEnv::new();
    configured.write("home/.config/converse/config.toml", "[session]\nephemeral = true\n");
    for (env, flags) in [(&asked, &["--ephemeral"][..]), (&configured, &[])] {
        let mut screen = Screen::run(env, flags);
        screen.says("nobody is to know");
        leaves(screen);
        assert!(!env.path(HISTORY).exists(), "{flags:?}");
    }
}

#[test]
fn ask_tells_of_a_key_in_the_same_words() {
    let env = TestEnv::new().var("PIZZA_TOKEN", KEY);
    let said = format!("my key is {KEY}");
    let told = "warning: that looks like the key in PIZZA_TOKEN; it goes to the model";
    for (flags, expected) in [
        (&[][..], vec![format!("{told} and into the session")]),
        (&["--ephemeral"], vec![told.to_owned()]),
        (&["--dry-run"], vec![]),
        (&["--quiet"], vec![]),
    ] {
        let ran = env.run(&[&["ask", &said, "-m", "understudy", "--no-tools"], flags].concat()).exits(0);
        let lines: Vec<&str> = ran.stderr.lines().filter(|line| line.contains("looks like")).collect();
        assert_eq!(lines, expected, "{flags:?}: {}", ran.stderr);
        assert!(!ran.stderr.contains(KEY));
    }
    let piped = env.run_with_stdin(&["ask", "see", "-m", "understudy", "--no-tools"], said.as_bytes());
    assert!(piped.stderr.contains(told), "{}", piped.stderr);
}

#[test]
fn a_key_that_is_said_is_in_no_list_and_is_told_of_once() {
    let env = TestEnv::new().var("PIZZA_TOKEN", KEY);
    let mut screen = Screen::run(&env, &["--no-tools"]);
    screen.says(&format!("my key is {KEY}"));
    screen.shows("that looks like the key in PIZZA_TOKEN; it goes to the model and into the session");
    screen.says(&format!("again: {KEY}"));
    screen.prompts();
    assert_eq!(screen.text().matches("that looks like").count(), 1, "{}", screen.text());
    leaves(screen);
    let history = std::fs::read_to_string(env.path(HISTORY)).unwrap();
    assert_eq!(history, "my key is [redacted]\nagain: [redacted]\n/quit\n");
    let sessions = env.path("home/.local/share/converse/sessions");
    let session =
        std::fs::read_dir(sessions).unwrap().map(|one| one.unwrap().path()).find(|one| one.is_dir());
    let metadata = std::fs::read_to_string(session.unwrap().join("metadata.toml")).unwrap();
    assert_eq!(metadata.matches("my key is [redacted]").count(), 2, "name and words: {metadata}");
    assert!(!metadata.contains("tok-"), "{metadata}");
}
