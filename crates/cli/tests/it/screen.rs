//! A terminal with a screen: what it shows is what a person would see, and it says where its cursor is.

use std::process::{Child, Command};

use converse_testkit::hang_guard::Deadline;
use converse_testkit::pty::{Setup, Tap, Terminal};
use rustix::termios::Termios;

use crate::env::{TestEnv, canary, wait};

const ROWS: u16 = 60;
const COLUMNS: u16 = 100;

/// Where what terminals show is kept, if it is.
pub(crate) fn tap() -> Option<Tap> {
    let mut kept = canary::screen();
    kept.is_some().then(|| Box::new(move |bytes: &[u8]| canary::saw(&mut kept, bytes)) as Tap)
}

pub(crate) struct Screen {
    terminal: Terminal,
    /// How often the program had asked where the cursor is when something was typed last: it does so for each line.
    typed: usize,
    draws: bool,
    pub(crate) child: Child,
}

impl Screen {
    pub(crate) fn run(env: &TestEnv, args: &[&str]) -> Self {
        Self::of("xterm-256color", env, args)
    }

    pub(crate) fn of(term: &str, env: &TestEnv, args: &[&str]) -> Self {
        Self::on(term, env.command(args))
    }

    pub(crate) fn on(term: &str, mut command: Command) -> Self {
        command.env("TERM", term);
        let setup = Setup { columns: COLUMNS, rows: ROWS, tap: tap(), ..Setup::default() };
        let (terminal, child) = Terminal::run(command, setup).unwrap();
        Self { terminal, typed: 0, draws: term != "dumb", child }
    }

    /// Everything that was ever written, as it was.
    pub(crate) fn raw(&self) -> String {
        self.terminal.raw()
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.terminal.bytes()
    }

    pub(crate) fn text(&self) -> String {
        self.terminal.screen().contents()
    }

    /// Waits until the words are on the screen.
    #[track_caller]
    pub(crate) fn shows(&mut self, words: &str) -> String {
        self.until(words, |screen| screen.text().contains(words))
    }

    /// Waits until the words are on the screen so many times.
    #[track_caller]
    pub(crate) fn shows_times(&mut self, words: &str, times: usize) -> String {
        self.until(words, |screen| screen.text().matches(words).count() >= times)
    }

    /// Waits for an empty prompt under the cursor.
    #[track_caller]
    pub(crate) fn prompts(&mut self) {
        self.until("a prompt", Self::awaits_words);
    }

    /// Types a line at the prompt.
    #[track_caller]
    pub(crate) fn says(&mut self, line: &str) {
        self.prompts();
        self.typed = self.terminal.cursor_queries();
        self.types(line);
        // What comes at once with its Enter may have been pasted.
        if line.starts_with('/') {
            self.until(line, |screen| screen.text().contains(line));
        }
        self.types("\r");
    }

    /// Waits for a line that begins with these words, and removes them.
    #[track_caller]
    #[allow(dead_code, reason = "of the kill loop, which shares this file")]
    pub(crate) fn clears(&mut self, words: &str) {
        self.until(words, |screen| screen.text().trim_end().ends_with(&format!("❯ {words}")));
        self.types("\x15");
    }

    /// Of the terminal, as the program has set them.
    pub(crate) fn modes(&self) -> Termios {
        self.terminal.modes().unwrap()
    }

    pub(crate) fn types(&mut self, keys: &str) {
        self.terminal.types(keys).unwrap();
    }

    /// Waits for the end, and listens till then.
    #[track_caller]
    pub(crate) fn finishes(&mut self) -> i32 {
        use std::os::unix::process::ExitStatusExt as _;
        let deadline = Deadline::begin();
        while self.listens() {
            deadline.check(|| format!("it does not end: {}", self.text()));
        }
        let status = self.child.wait().unwrap();
        status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap()
    }

    /// Waits for the end; what was written till then is in [`Screen::text`] no more.
    pub(crate) fn ends(self) -> i32 {
        let Self { child, terminal, .. } = self;
        let code = wait(child).code;
        drop(terminal);
        code
    }

    fn awaits_words(&self) -> bool {
        self.terminal.is_prompted() && (self.terminal.cursor_queries() > self.typed || !self.draws)
    }

    /// Types a line at the prompt; false if the program ends before there is one.
    #[track_caller]
    #[allow(dead_code, reason = "of the kill loop, which shares this file")]
    pub(crate) fn says_unless_over(&mut self, line: &str) -> bool {
        let prompted = self.comes(Self::awaits_words);
        if prompted {
            self.says(line);
        }
        prompted
    }

    /// Removes a line that the program has put back; false if it ends before.
    #[track_caller]
    #[allow(dead_code, reason = "of the kill loop, which shares this file")]
    pub(crate) fn clears_unless_over(&mut self, words: &str) -> bool {
        let line = format!("❯ {words}");
        let is_there = self.comes(|screen| screen.text().trim_end().ends_with(&line));
        if is_there {
            self.types("\x15");
        }
        is_there
    }

    /// Waits until the words are on the screen; false if the program ends before.
    #[track_caller]
    #[allow(dead_code, reason = "of the kill loop, which shares this file")]
    pub(crate) fn shows_unless_over(&mut self, words: &str) -> bool {
        self.comes(|screen| screen.text().contains(words))
    }

    #[track_caller]
    #[allow(dead_code, reason = "of the kill loop, which shares this file")]
    fn comes(&mut self, is_so: impl Fn(&Self) -> bool) -> bool {
        let deadline = Deadline::begin();
        while !is_so(self) {
            deadline.check(|| format!("it hangs at\n{}", self.text()));
            if !self.listens() {
                return is_so(self);
            }
        }
        true
    }

    #[track_caller]
    fn until(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) -> String {
        let deadline = Deadline::begin();
        while !is_so(self) {
            deadline.check(|| format!("no {what:?} in\n{}\n{:?}", self.text(), self.raw()));
            self.listens();
        }
        self.text()
    }

    /// False when nothing will come any more.
    pub(crate) fn listens(&mut self) -> bool {
        self.terminal.listens();
        !self.terminal.is_over()
    }
}
