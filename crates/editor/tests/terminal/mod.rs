//! A terminal: it shows what the program writes, answers where its cursor is, and has keys.

use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use converse_testkit::hang_guard::Deadline;
use converse_testkit::pty::Setup;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, kill_process_group, waitpid};
use rustix::termios::LocalModes;
use vt100::Color;

/// How the terminal answers the question where its cursor is.
#[derive(Clone, Copy)]
pub(crate) enum Manner {
    Answers,
    /// The same, and the program does not ask.
    Plain,
    Silent,
    /// Somebody typed this before the first answer.
    TypesFirst(&'static str),
}

pub(crate) struct Terminal {
    terminal: converse_testkit::pty::Terminal,
    manner: Manner,
    child: Child,
}

fn example() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.parent().unwrap().parent().unwrap().join("examples").join("typed");
    assert!(path.exists(), "run `cargo build -p converse-editor --examples` first");
    path
}

impl Terminal {
    pub(crate) fn run(words: &[&str], manner: Manner) -> Self {
        let mut command = Command::new(example());
        command.args(words).env("TERM", "xterm-256color").env_remove("NO_COLOR");
        // Of its own, as a shell gives it: what it tells its group, it tells nobody else.
        command.process_group(0);
        let lead = if let Manner::TypesFirst(keys) = manner { keys } else { "" };
        let answers = !matches!(manner, Manner::Silent);
        let setup = Setup { answers, lead, ..Setup::default() };
        let (terminal, child) = converse_testkit::pty::Terminal::run(command, setup).unwrap();
        Self { terminal, manner, child }
    }

    #[track_caller]
    fn until(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let deadline = Deadline::begin();
        while !is_so(self) {
            deadline.check(|| format!("no {what:?} in\n{}\n{:?}", self.screen(), self.text()));
            self.terminal.listens();
        }
    }

    /// Waits until the words are on the screen.
    #[track_caller]
    pub(crate) fn shows(&mut self, words: &str) {
        self.until(words, |terminal| terminal.has(words));
    }

    #[track_caller]
    pub(crate) fn shows_in_one_line(&mut self, words: &str) {
        self.until(words, |terminal| terminal.rows().iter().any(|row| row.contains(words)));
    }

    /// Types, and waits for the next prompt. What is typed before it is there goes other ways.
    #[track_caller]
    pub(crate) fn enters(&mut self, keys: &str) {
        let before = self.terminal.cursor_queries();
        self.types(keys);
        let is_new = move |terminal: &Self| match terminal.manner {
            Manner::Answers | Manner::TypesFirst(_) => terminal.terminal.cursor_queries() > before,
            Manner::Silent | Manner::Plain => true,
        };
        self.until("another prompt", |terminal| terminal.is_at_prompt() && is_new(terminal));
    }

    /// The first prompt: the program asked to see whether there is an answer, then for itself.
    #[track_caller]
    pub(crate) fn begins(&mut self) {
        self.until("the first prompt", |terminal| {
            terminal.is_at_prompt() && terminal.terminal.cursor_queries() >= 2
        });
    }

    fn is_at_prompt(&self) -> bool {
        let (row, column) = self.terminal.screen().cursor_position();
        let rows = self.terminal.rows();
        let line = rows.get(usize::from(row)).map(String::as_str).unwrap_or_default();
        line.ends_with(['❯', '>']) && usize::from(column) == line.chars().count() + 1
    }

    #[track_caller]
    pub(crate) fn shows_twice(&mut self, words: &str) {
        self.until(words, |terminal| terminal.rows().iter().filter(|row| row.contains(words)).count() == 2);
    }

    /// Ctrl-D, and the end.
    #[track_caller]
    pub(crate) fn leaves(&mut self) {
        // Before that, the key is the kernel's and gets lost.
        self.until("a prompt", Self::is_at_prompt);
        self.types("\x04");
        self.ends();
        assert!(self.has("left"), "{}", self.screen());
    }

    /// Whether a line is wrapped or not.
    pub(crate) fn has(&self, words: &str) -> bool {
        self.screen().contains(words) || self.rows().concat().contains(words)
    }

    fn rows(&self) -> Vec<String> {
        let (_, columns) = self.terminal.screen().size();
        self.terminal.screen().rows(0, columns).collect()
    }

    pub(crate) fn screen(&self) -> String {
        self.terminal.screen().contents()
    }

    fn text(&self) -> String {
        self.terminal.raw()
    }

    /// Was this ever written, on the screen or not?
    pub(crate) fn wrote(&self, bytes: &str) -> bool {
        self.text().contains(bytes)
    }

    pub(crate) fn escapes(&self) -> usize {
        self.text().matches('\x1b').count()
    }

    /// The last line that holds the words is in this colour of the palette.
    #[track_caller]
    pub(crate) fn is_coloured(&mut self, words: &str, colour: u8) {
        let is_so = |terminal: &Self| {
            let rows = terminal.rows();
            let Some((row, text)) = rows.iter().enumerate().rev().find(|(_, row)| row.contains(words)) else {
                return false;
            };
            let column = text.split(words).next().unwrap().chars().count();
            let cell = terminal.terminal.screen().cell(row as u16, column as u16);
            cell.is_some_and(|cell| cell.fgcolor() == Color::Idx(colour))
        };
        self.until(&format!("{words} in colour {colour}"), is_so);
    }

    pub(crate) fn brackets_pastes(&self) -> bool {
        self.terminal.screen().bracketed_paste()
    }

    /// Does the terminal edit lines itself, as before anything ran in it?
    pub(crate) fn is_cooked(&self) -> bool {
        let modes = self.terminal.modes().unwrap();
        let cooked = LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
        modes.local_modes.contains(cooked)
            && modes.special_codes[rustix::termios::SpecialCodeIndex::VINTR] == 3
    }

    pub(crate) fn types(&mut self, keys: &str) {
        self.terminal.types(keys).unwrap();
    }

    /// Waits until it is stopped; what it wrote since it let go of the terminal.
    #[track_caller]
    pub(crate) fn stops(&mut self) -> String {
        let pid = Pid::from_child(&self.child);
        let options = WaitOptions::UNTRACED | WaitOptions::NOHANG;
        self.until("a stop", |_| {
            waitpid(Some(pid), options).unwrap().is_some_and(|(_, status)| status.stopped())
        });
        // All that it wrote before.
        while self.terminal.listens() {}
        self.text().rsplit("\x1b[?2004l").next().unwrap().to_owned()
    }

    /// As a shell does with `fg`.
    pub(crate) fn goes_on(&mut self) {
        let pid = Pid::from_child(&self.child);
        kill_process_group(pid, Signal::CONT).unwrap();
    }

    /// Types while the program does not run: it finds all of it at once.
    #[track_caller]
    pub(crate) fn types_at_once(&mut self, keys: &str) {
        kill_process_group(Pid::from_child(&self.child), Signal::STOP).unwrap();
        self.stops();
        self.types(keys);
        self.goes_on();
    }

    /// The same, in a terminal that has got another width meanwhile.
    #[track_caller]
    pub(crate) fn resizes_and_types(&mut self, columns: u16, keys: &str) {
        let pid = Pid::from_child(&self.child);
        kill_process_group(pid, Signal::STOP).unwrap();
        self.stops();
        self.terminal.resizes(columns, 24).unwrap();
        self.types(keys);
        kill_process(pid, Signal::WINCH).unwrap();
        self.goes_on();
    }

    /// The lines that begin with these words, of those that have scrolled off the screen and those on it.
    pub(crate) fn history(&mut self, words: &str) -> Vec<String> {
        self.terminal.history().into_iter().filter(|line| line.starts_with(words)).collect()
    }

    #[track_caller]
    pub(crate) fn resizes(&mut self, columns: u16) {
        let before = self.terminal.cursor_queries();
        self.terminal.resizes(columns, 24).unwrap();
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::WINCH).unwrap();
        self.until("a line drawn anew", |terminal| {
            terminal.is_at_prompt() && terminal.terminal.cursor_queries() > before
        });
    }

    /// Waits for its end, and takes what it wrote until then.
    #[track_caller]
    pub(crate) fn ends(&mut self) {
        let deadline = Deadline::begin();
        let status = loop {
            self.terminal.listens();
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            deadline.check(|| format!("it does not end:\n{}", self.screen()));
        };
        assert!(status.success(), "{status}\n{}", self.screen());
        while self.terminal.listens() {}
    }
}

/// The program at a terminal that goes away while a line is awaited, without a signal that says so: how it ended.
pub(crate) fn hung_up() -> ExitStatus {
    let mut terminal = Terminal::run(&[], Manner::Answers);
    terminal.begins();
    // It writes to nobody from here on.
    let mut command = Command::new("true");
    command.env_clear();
    let (other, mut done) = converse_testkit::pty::Terminal::run(command, Setup::default()).unwrap();
    done.wait().unwrap();
    drop(std::mem::replace(&mut terminal.terminal, other));
    let deadline = Deadline::begin();
    loop {
        if let Some(status) = terminal.child.try_wait().unwrap() {
            return status;
        }
        deadline.check(|| "it does not end");
        std::thread::sleep(Duration::from_millis(20));
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
