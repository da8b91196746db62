//! A person at a terminal. The terminal has a screen, says where its cursor is, and is the controlling one of a shell
//! of its own: Ctrl-C is a key here, and the kernel makes a signal of it. The shell notes the terminal's modes before
//! the program and after it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use converse_testkit::hang_guard::Deadline;
use converse_testkit::pty::{Setup, Terminal};
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::Termios;
use vt100::Cell;

use crate::env::TestEnv;

const ROWS: u16 = 40;
const COLUMNS: u16 = 80;
const SHELL: &str =
    "trap : INT QUIT TERM\nstty -g >\"$HOME/before\"\n\"$@\"\ncode=$?\nstty -g >\"$HOME/after\"\nexit $code";

/// What has no letter.
#[derive(Debug, Clone, Copy)]
pub(super) enum Key {
    Enter,
    AltEnter,
    Tab,
    Backspace,
    Up,
    Down,
    Left,
    Home,
    End,
    Ctrl(char),
}

impl Key {
    fn text(self) -> String {
        match self {
            Self::Enter => "\r".to_owned(),
            Self::AltEnter => "\x1b\r".to_owned(),
            Self::Tab => "\t".to_owned(),
            Self::Backspace => "\x7f".to_owned(),
            Self::Up => "\x1b[A".to_owned(),
            Self::Down => "\x1b[B".to_owned(),
            Self::Left => "\x1b[D".to_owned(),
            Self::Home => "\x1b[H".to_owned(),
            Self::End => "\x1b[F".to_owned(),
            Self::Ctrl(letter) => char::from(letter.to_ascii_uppercase() as u8 & 0x1f).to_string(),
        }
    }
}

/// How the terminal is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kind {
    pub(super) term: &'static str,
    pub(super) rows: u16,
    pub(super) columns: u16,
    /// Says where its cursor is when it is asked.
    pub(super) answers: bool,
    /// What it says when it is asked for its background; empty: nothing.
    pub(super) background: &'static str,
}

impl Default for Kind {
    fn default() -> Self {
        Self { term: "xterm-256color", rows: ROWS, columns: COLUMNS, answers: true, background: "" }
    }
}

pub(super) struct Person {
    terminal: Terminal,
    /// How often it had been asked where the cursor is when something was said last: once for each line that is read.
    said: usize,
    shell: Child,
    home: PathBuf,
    sizes: Vec<(usize, u16)>,
}

/// How it ended: all of this is looked at once it has.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) code: i32,
    pub(super) screen: String,
}

impl Person {
    pub(super) fn runs(env: &TestEnv, args: &[&str]) -> Self {
        Self::at(Kind::default(), env, args)
    }

    pub(super) fn at(kind: Kind, env: &TestEnv, args: &[&str]) -> Self {
        Self::under(&[], kind, env, args)
    }

    /// What is run is the last words of another program, which runs it.
    pub(super) fn under(words: &[&str], kind: Kind, env: &TestEnv, args: &[&str]) -> Self {
        let program = env.command(args);
        let mut shell = Command::new("setsid");
        shell.args(["--ctty", "bash", "-c", SHELL, "bash"]).args(words);
        shell.arg(program.get_program()).args(program.get_args());
        Self::sits(kind, env, shell)
    }

    /// At a shell with jobs, where `$converse` is the program.
    pub(super) fn at_a_shell(env: &TestEnv) -> Self {
        Self::at_this_shell(&["bash", "--norc", "--noprofile", "--noediting", "-i"], env)
    }

    /// The same, at one that leaves the modes of the terminal to its jobs.
    pub(super) fn at_a_careless_shell(env: &TestEnv) -> Self {
        Self::at_this_shell(&["sh", "-i"], env)
    }

    fn at_this_shell(words: &[&str], env: &TestEnv) -> Self {
        let mut shell = Command::new("setsid");
        shell.arg("--ctty").args(words);
        shell.env("converse", crate::env::binary()).env("PS1", "shell> ");
        Self::sits(Kind::default(), env, shell)
    }

    fn sits(kind: Kind, env: &TestEnv, mut shell: Command) -> Self {
        let program = env.command([""; 0]);
        let vars: Vec<_> = program.get_envs().filter_map(|(name, value)| Some((name, value?))).collect();
        let more: Vec<_> =
            shell.get_envs().map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned))).collect();
        shell.env_clear().envs(vars).env("TERM", kind.term).current_dir(env.path("work"));
        shell.envs(more.into_iter().filter_map(|(name, value)| Some((name, value?))));
        let Kind { rows, columns, answers, background, .. } = kind;
        let setup =
            Setup { rows, columns, answers, background, tap: crate::screen::tap(), ..Setup::default() };
        let (terminal, shell) = Terminal::run(shell, setup).unwrap();
        Self { terminal, said: 0, shell, home: env.path("home"), sizes: Vec::new() }
    }

    /// What is on the screen, without spaces at the ends of lines and without empty lines below.
    pub(super) fn screen(&self) -> String {
        self.terminal.rows().join("\n").trim_end().to_owned()
    }

    /// The lines that have scrolled off the screen and those on it, the oldest first.
    pub(super) fn history(&mut self) -> Vec<String> {
        self.terminal.history()
    }

    /// Everything that was ever written, byte by byte.
    pub(super) fn bytes(&self) -> &[u8] {
        self.terminal.bytes()
    }

    /// The same as text.
    pub(super) fn raw(&self) -> String {
        self.terminal.raw()
    }

    /// The cell where these words begin, for how it looks.
    pub(super) fn cell(&self, words: &str) -> Option<&Cell> {
        let (_, columns) = self.terminal.screen().size();
        let mut rows = self.terminal.screen().rows(0, columns).enumerate();
        let (row, column) = rows.find_map(|(row, text)| {
            let at = text.find(words)?;
            Some((row, text[..at].chars().count()))
        })?;
        self.terminal.screen().cell(u16::try_from(row).ok()?, u16::try_from(column).ok()?)
    }

    pub(super) fn brackets_pastes(&self) -> bool {
        self.terminal.screen().bracketed_paste()
    }

    pub(super) fn is_prompted(&self) -> bool {
        self.terminal.is_prompted()
    }

    pub(super) fn hides_cursor(&self) -> bool {
        self.terminal.screen().hide_cursor()
    }

    pub(super) fn types(&mut self, text: &str) {
        self.terminal.types(text).unwrap();
    }

    pub(super) fn presses(&mut self, key: Key) {
        self.terminal.types(&key.text()).unwrap();
    }

    /// As a terminal hands a clipboard over: bracketed, if that was asked for.
    pub(super) fn pastes(&mut self, text: &str) {
        let text = text.replace('\n', "\r");
        match self.brackets_pastes() {
            true => self.types(&format!("\x1b[200~{text}\x1b[201~")),
            false => self.types(&text),
        }
    }

    pub(super) fn resizes(&mut self, columns: u16, rows: u16) {
        self.sizes.push((self.bytes().len(), columns));
        self.terminal.resizes(columns, rows).unwrap();
    }

    /// The widths that it got, each after so many bytes.
    pub(super) fn sizes(&self) -> &[(usize, u16)] {
        &self.sizes
    }

    /// Of the terminal, as they are set now.
    pub(super) fn modes(&self) -> Termios {
        self.terminal.modes().unwrap()
    }

    /// Waits for an empty prompt under the cursor.
    #[track_caller]
    pub(super) fn prompts(&mut self) {
        self.until("a prompt", |person| {
            // Where lines are not drawn nobody asks.
            let is_asked =
                person.terminal.cursor_queries() > person.said || person.terminal.cursor_queries() == 0;
            is_asked && person.terminal.is_prompted()
        });
    }

    /// Types a line at the prompt, and sends it when it is there.
    #[track_caller]
    pub(super) fn says(&mut self, line: &str) {
        self.prompts();
        self.types(line);
        let typed = [format!("❯ {line}"), format!("> {line}")];
        self.until(line, |person| {
            let screen = person.screen();
            // Until names are read, Enter does not send.
            typed.iter().any(|typed| screen.contains(typed)) && !screen.contains("reading the names of files")
        });
        self.said = self.terminal.cursor_queries();
        self.presses(Key::Enter);
    }

    /// Answers a question with words, and sends them when they are there.
    #[track_caller]
    pub(super) fn answers(&mut self, words: &str) {
        self.types(words);
        self.sees(&format!(": {words}"));
        self.presses(Key::Enter);
    }

    /// Returns whether a question about one call is open, whose answer is a key or a line.
    pub(super) fn is_asked(&self) -> bool {
        let screen = self.screen();
        screen.ends_with("words = no, and why") || screen.ends_with("rest of this run:")
    }

    /// Waits for a line that begins with these words, and removes them.
    #[track_caller]
    pub(super) fn clears(&mut self, words: &str) {
        self.until(words, |person| person.screen().ends_with(&format!("❯ {words}")));
        self.presses(Key::Ctrl('u'));
    }

    /// Waits until the words are on the screen.
    #[track_caller]
    pub(super) fn sees(&mut self, words: &str) -> String {
        self.until(words, |person| person.screen().contains(words));
        self.screen()
    }

    #[track_caller]
    pub(super) fn until(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let deadline = Deadline::begin();
        while !is_so(self) {
            deadline.check(|| format!("no {what:?} in\n{}\n{:?}", self.screen(), self.raw()));
            self.listens();
        }
    }

    /// To the program itself, as `kill` does.
    pub(super) fn sends(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.program().unwrap()).unwrap(), signal).unwrap();
    }

    /// The program's number while it runs.
    pub(super) fn program(&self) -> Option<i32> {
        let shell = self.shell.id();
        let children = std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children")).ok()?;
        children.split_whitespace().find_map(|pid| pid.parse().ok())
    }

    /// Starts the program at a shell, with these words behind its name, and waits for its prompt.
    #[track_caller]
    pub(super) fn starts(&mut self, words: &str) {
        self.until("a shell", |person| person.screen().ends_with("shell>"));
        self.types(&format!("$converse {words}\n"));
        self.is_back();
        self.sees("/help");
    }

    /// Waits for a prompt of the program at the end of the screen.
    #[track_caller]
    pub(super) fn is_back(&mut self) {
        self.until("a prompt", |person| person.screen().ends_with('❯'));
    }

    /// Leaves the program, and then the shell.
    #[track_caller]
    pub(super) fn leaves_both(mut self) {
        self.is_back();
        self.presses(Key::Ctrl('d'));
        self.until("the shell", |person| person.screen().ends_with("shell>"));
        self.types("exit\n");
        assert_eq!(self.ends().code, 0);
    }

    /// Hangs up: nobody is at the terminal any more.
    pub(super) fn goes(self) -> Vec<PathBuf> {
        let Self { terminal, home, mut shell, .. } = self;
        drop(terminal);
        let _ = shell.kill();
        let _ = shell.wait();
        left(&home)
    }

    /// Waits for its end. The terminal is as it was before, and nothing that was started still runs.
    #[track_caller]
    pub(super) fn ends(mut self) -> Ended {
        let deadline = Deadline::begin();
        let status = loop {
            if let Some(status) = self.shell.try_wait().unwrap() {
                break status;
            }
            deadline.check(|| format!("it does not end:\n{}\n{:?}", self.screen(), self.raw()));
            self.listens();
        };
        // Whoever still holds the terminal is found below.
        let patience = Instant::now() + Duration::from_secs(20);
        while !self.terminal.is_over() && Instant::now() < patience {
            self.listens();
        }
        assert!(!self.hides_cursor(), "the cursor is hidden: {:?}", self.raw());
        assert!(!self.brackets_pastes(), "pastes are bracketed: {:?}", self.raw());
        let modes = |name: &str| std::fs::read_to_string(self.home.join(name)).unwrap_or_default();
        if !modes("before").is_empty() {
            assert_eq!(modes("before"), modes("after"), "modes of the terminal");
        }
        assert_eq!(left(&self.home), Vec::<PathBuf>::new(), "processes are left");
        Ended { code: status.code().unwrap(), screen: self.screen() }
    }

    /// Takes in what has been written; was there something?
    pub(super) fn listens(&mut self) -> bool {
        self.terminal.listens()
    }
}

/// Processes that were started with this home and do not end.
fn left(home: &Path) -> Vec<PathBuf> {
    let deadline = Deadline::begin();
    loop {
        let left = running(home);
        if left.is_empty() || deadline.is_over() {
            return left;
        }
        std::thread::yield_now();
    }
}

fn running(home: &Path) -> Vec<PathBuf> {
    let wanted = format!("HOME={}", home.display());
    let of_home = |pid: &Path| {
        let environ = std::fs::read(pid.join("environ")).unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|one| one == wanted.as_bytes())
    };
    let all = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let alive = all.filter(|pid| of_home(pid));
    alive
        .filter_map(|pid| Some(PathBuf::from(std::fs::read_to_string(pid.join("comm")).ok()?.trim())))
        .collect()
}
