//! On a terminal, through a real pseudo-terminal: the question before a tool runs, the lines on stderr, the answer.

use std::time::Duration;

use converse_testkit::hang_guard::Deadline;
use converse_testkit::pty::{Heard, Line};
use serde_json::json;

use crate::body::{calls, text};
use crate::env::{TestEnv, wait};
use crate::provider::Provider;

/// The end of a question about one call, and about several, that keys answer.
pub(crate) const ASKED: &str = "= no, and why";
pub(crate) const SEVERAL_ASKED: &str = "= none, and why";

/// As most terminals begin.
const COLUMNS: u16 = 80;
const ROWS: u16 = 24;

pub(crate) struct Terminal {
    line: Line,
    seen: String,
    child: std::process::Child,
}

impl Terminal {
    pub(crate) fn run(env: &TestEnv, args: &[&str]) -> Self {
        Self::with_columns(env, args, COLUMNS)
    }

    pub(crate) fn with_columns(env: &TestEnv, args: &[&str], columns: u16) -> Self {
        let mut command = env.command(args);
        command.env("TERM", "xterm");
        let (line, child) = Line::run(command, columns, ROWS, crate::screen::tap()).unwrap();
        Self { line, seen: String::new(), child }
    }

    /// Everything shown so far, once it holds the words.
    #[track_caller]
    pub(crate) fn shows(&mut self, words: &str) -> &str {
        let deadline = Deadline::begin();
        while !self.seen.contains(words) {
            deadline.check(|| format!("no {words:?} in {:?}", self.seen));
            if let Heard::Bytes(bytes) = self.line.hears(Duration::from_millis(50)) {
                self.seen.push_str(&String::from_utf8_lossy(&bytes));
            }
        }
        &self.seen
    }

    pub(crate) fn types(&mut self, keys: &str) {
        self.line.types(keys.as_bytes()).unwrap();
    }

    /// Answers a question that is answered by keys with words: they are sent when they are there.
    pub(crate) fn answers(&mut self, words: &str) {
        self.forgets();
        self.types(words);
        self.shows(&format!(": \x1b[0m{words}"));
        self.types("\r");
    }

    /// Awaits its end: how it ended, and everything that was shown.
    pub(crate) fn ends_showing(self) -> (i32, String) {
        let Self { line, mut seen, child } = self;
        let code = wait(child).code;
        // Nobody holds the other end any more, so this ends too.
        while let Heard::Bytes(bytes) = line.hears(Duration::from_secs(5)) {
            seen.push_str(&String::from_utf8_lossy(&bytes));
        }
        (code, seen)
    }

    /// What is shown from now on is looked at alone.
    pub(crate) fn forgets(&mut self) {
        self.seen.clear();
    }

    /// As Ctrl-C does.
    pub(crate) fn interrupts(&self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    }

    pub(crate) fn ends(self) -> i32 {
        wait(self.child).code
    }
}

fn asked(provider: &Provider) -> Terminal {
    let env = provider.env(TestEnv::new());
    let terminal = Terminal::run(&env, &["ask", "go", "-m", provider.model(), "--ephemeral"]);
    // The directory must outlive the run.
    std::mem::forget(env);
    terminal
}

fn writes(path: &str) -> crate::body::Says {
    calls([("io__write_file", json!({ "path": path, "content": "one\u{202e}\u{1b}[31m two" }))])
}

#[test]
fn a_question_shows_everything_and_a_yes_runs_it() {
    let provider = Provider::chat([writes("new.txt"), text("Written.")]);
    let mut terminal = asked(&provider);
    let question = terminal.shows(ASKED).to_owned();
    for part in ["allow io.write_file?", "writes", "new.txt", "one", " two"] {
        assert!(question.contains(part), "no {part:?} in {question:?}");
    }
    assert!(!question.contains('\u{202e}') && !question.contains("\u{1b}[31m two"), "{question:?}");
    // What is unclear is asked again.
    terminal.types("1\n");
    terminal.shows("please answer y or n");
    terminal.types("y\n");
    terminal.shows("Written.");
    assert_eq!(terminal.ends(), 0);
    provider.is_content();
    let told = provider.requests()[1]["messages"].to_string();
    assert!(told.contains("wrote"), "{told}");
}

#[test]
fn a_no_is_told_to_the_model_with_its_reason() {
    let provider = Provider::chat([writes("new.txt"), text("I will not.")]);
    let mut terminal = asked(&provider);
    terminal.shows(ASKED);
    terminal.answers("n not in this directory");
    let screen = terminal.shows("I will not.").replace("\x1b[91m", "").replace("\x1b[0m", "");
    assert!(screen.contains("refused by the user: not in this directory"), "{screen:?}");
    assert_eq!(terminal.ends(), 0, "a refusal by the user is an answer");
    provider.is_content();
    let told = provider.requests()[1]["messages"].to_string();
    assert!(told.contains("refused by the user: not in this directory"), "{told}");
}

#[test]
fn words_of_a_model_cannot_act_on_a_terminal() {
    let provider = Provider::chat([text("red \x1b[31m and \x1b]52;c;aGk=\x07 clip \u{202e}evil, done")]);
    let mut terminal = asked(&provider);
    let screen = terminal.shows("done").to_owned();
    assert!(screen.contains("\\x1b[31m") && screen.contains("\\u{202e}"), "{screen:?}");
    assert!(
        !screen.contains("\x1b[31m") && !screen.contains("\x1b]52") && !screen.contains('\u{202e}'),
        "{screen:?}"
    );
    assert_eq!(terminal.ends(), 0);
}

#[test]
fn invocations_have_their_line_and_the_answer_its_own() {
    let provider = Provider::chat([
        calls([("essentials__calculator", json!({ "expression": "6*7" }))]),
        text("It is 42."),
    ]);
    let mut terminal = asked(&provider);
    let screen = terminal.shows("It is 42.").to_owned();
    assert!(
        screen.contains("essentials.calculator") && screen.contains("6*7") && screen.contains('✓'),
        "{screen:?}"
    );
    assert_eq!(terminal.ends(), 0);
}
