//! A person at a terminal. The terminal has a screen, says where its cursor is, and is the controlling one of a shell
//! of its own: Ctrl-C is a key here, and the kernel makes a signal of it. The shell notes the terminal's modes before
//! the program and after it.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use vt100::{Cell, Parser};

use crate::env::TestEnv;

const PATIENCE: Duration = Duration::from_secs(30);
/// What was asked to end and does not within this time hangs.
const ENDS_WITHIN: Duration = Duration::from_secs(20);
const ROWS: u16 = 40;
const COLUMNS: u16 = 80;
/// The parser goes wrong where there is less; the program is told the truth.
const DRAWABLE: (u16, u16) = (8, 3);
const SHELL: &str =
    "trap : INT QUIT TERM\nstty -g >\"$HOME/before\"\n\"$@\"\ncode=$?\nstty -g >\"$HOME/after\"\nexit $code";
const WHERE: &[u8] = b"\x1b[6n";
const WHO: &[u8] = b"\x1b[c";

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
    fn bytes(self) -> Vec<u8> {
        match self {
            Self::Enter => b"\r".to_vec(),
            Self::AltEnter => b"\x1b\r".to_vec(),
            Self::Tab => b"\t".to_vec(),
            Self::Backspace => b"\x7f".to_vec(),
            Self::Up => b"\x1b[A".to_vec(),
            Self::Down => b"\x1b[B".to_vec(),
            Self::Left => b"\x1b[D".to_vec(),
            Self::Home => b"\x1b[H".to_vec(),
            Self::End => b"\x1b[F".to_vec(),
            Self::Ctrl(letter) => vec![letter.to_ascii_uppercase() as u8 & 0x1f],
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
}

impl Default for Kind {
    fn default() -> Self {
        Self { term: "xterm-256color", rows: ROWS, columns: COLUMNS, answers: true }
    }
}

pub(super) struct Person {
    keyboard: File,
    heard: Receiver<Vec<u8>>,
    bytes: Vec<u8>,
    parser: Parser,
    kind: Kind,
    /// How often it was asked where the cursor is: once for each line that is read; and how often when one was said last.
    asked: usize,
    said: usize,
    shell: Child,
    home: PathBuf,
}

/// How it ended: all of this is looked at once it has.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) code: i32,
    #[allow(dead_code, reason = "shown where a test fails")]
    screen: String,
}

impl Person {
    pub(super) fn runs(env: &TestEnv, args: &[&str]) -> Self {
        Self::at(Kind::default(), env, args)
    }

    pub(super) fn at(kind: Kind, env: &TestEnv, args: &[&str]) -> Self {
        let program = env.command(args);
        let mut words = vec![program.get_program().to_owned()];
        words.extend(program.get_args().map(ToOwned::to_owned));
        let mut shell = Command::new("setsid");
        shell.args(["--ctty", "bash", "-c", SHELL, "bash"]).args(words);
        Self::sits(kind, env, shell)
    }

    /// At a shell with jobs, where `$converse` is the program.
    pub(super) fn at_a_shell(env: &TestEnv) -> Self {
        let mut shell = Command::new("setsid");
        shell.args(["--ctty", "bash", "--norc", "--noprofile", "--noediting", "-i"]);
        shell.env("converse", env!("CARGO_BIN_EXE_converse")).env("PS1", "shell> ");
        Self::sits(Kind::default(), env, shell)
    }

    fn sits(kind: Kind, env: &TestEnv, mut shell: Command) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let slave: OwnedFd = OpenOptions::new().read(true).write(true).open(name).unwrap().into();
        tcsetwinsize(&master, size(kind.rows, kind.columns)).unwrap();
        let end = || Stdio::from(slave.try_clone().unwrap());
        let program = env.command([""; 0]);
        let vars: Vec<_> = program.get_envs().filter_map(|(name, value)| Some((name, value?))).collect();
        let more: Vec<_> =
            shell.get_envs().map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned))).collect();
        shell.env_clear().envs(vars).env("TERM", kind.term).current_dir(env.path("work"));
        shell.envs(more.into_iter().filter_map(|(name, value)| Some((name, value?))));
        let shell = shell.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        let keyboard = File::from(master);
        let heard = listen(keyboard.try_clone().unwrap());
        let parser = Parser::new(kind.rows.max(DRAWABLE.1), kind.columns.max(DRAWABLE.0), 0);
        let home = env.path("home");
        Self { keyboard, heard, bytes: Vec::new(), parser, kind, asked: 0, said: 0, shell, home }
    }

    /// What is on the screen, without spaces at the ends of lines and without empty lines below.
    pub(super) fn screen(&self) -> String {
        let (_, columns) = self.parser.screen().size();
        let rows: Vec<String> =
            self.parser.screen().rows(0, columns).map(|row| row.trim_end().to_owned()).collect();
        rows.join("\n").trim_end().to_owned()
    }

    /// Everything that was ever written, as it was.
    pub(super) fn raw(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// The cell where these words begin, for how it looks.
    pub(super) fn cell(&self, words: &str) -> Option<&Cell> {
        let (_, columns) = self.parser.screen().size();
        let mut rows = self.parser.screen().rows(0, columns).enumerate();
        let (row, column) = rows.find_map(|(row, text)| {
            let at = text.find(words)?;
            Some((row, text[..at].chars().count()))
        })?;
        self.parser.screen().cell(u16::try_from(row).ok()?, u16::try_from(column).ok()?)
    }

    pub(super) fn is_asked_for_a_line(&self) -> bool {
        self.parser.screen().bracketed_paste()
    }

    pub(super) fn hides_cursor(&self) -> bool {
        self.parser.screen().hide_cursor()
    }

    pub(super) fn types(&mut self, text: &str) {
        self.keyboard.write_all(text.as_bytes()).unwrap();
    }

    pub(super) fn presses(&mut self, key: Key) {
        self.keyboard.write_all(&key.bytes()).unwrap();
    }

    /// As a terminal hands a clipboard over: bracketed, if that was asked for.
    pub(super) fn pastes(&mut self, text: &str) {
        let text = text.replace('\n', "\r");
        match self.parser.screen().bracketed_paste() {
            true => self.types(&format!("\x1b[200~{text}\x1b[201~")),
            false => self.types(&text),
        }
    }

    pub(super) fn resizes(&mut self, columns: u16, rows: u16) {
        let (least_columns, least_rows) = DRAWABLE;
        self.parser.screen_mut().set_size(rows.max(least_rows), columns.max(least_columns));
        tcsetwinsize(&self.keyboard, size(rows, columns)).unwrap();
    }

    /// Waits for an empty prompt under the cursor.
    #[track_caller]
    pub(super) fn prompts(&mut self) {
        self.until("a prompt", |person| {
            // Where lines are not drawn nobody asks.
            let is_asked = person.asked > person.said || person.asked == 0;
            is_asked && person.is_prompted()
        });
    }

    /// Types a line at the prompt, and sends it when it is there.
    #[track_caller]
    pub(super) fn says(&mut self, line: &str) {
        self.prompts();
        self.types(line);
        let typed = [format!("❯ {line}"), format!("> {line}")];
        self.until(line, |person| typed.iter().any(|typed| person.screen().contains(typed)));
        self.said = self.asked;
        self.presses(Key::Enter);
    }

    /// Waits until the words are on the screen.
    #[track_caller]
    pub(super) fn sees(&mut self, words: &str) -> String {
        self.until(words, |person| person.screen().contains(words));
        self.screen()
    }

    #[track_caller]
    pub(super) fn until(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let began = Instant::now();
        while !is_so(self) {
            let late = began.elapsed() > PATIENCE;
            assert!(!late, "no {what:?} in\n{}\n{:?}", self.screen(), self.raw());
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

    /// Hangs up: nobody is at the terminal any more.
    pub(super) fn goes(mut self) -> Vec<PathBuf> {
        let Self { keyboard, heard, home, shell, .. } = &mut self;
        drop(std::mem::replace(keyboard, File::open("/dev/null").unwrap()));
        drop(std::mem::replace(heard, channel().1));
        let _ = shell.kill();
        let _ = shell.wait();
        left(home)
    }

    /// Waits for its end. The terminal is as it was before, and nothing that was started still runs.
    #[track_caller]
    pub(super) fn ends(mut self) -> Ended {
        let began = Instant::now();
        let status = loop {
            if let Some(status) = self.shell.try_wait().unwrap() {
                break status;
            }
            assert!(began.elapsed() < ENDS_WITHIN, "it does not end:\n{}\n{:?}", self.screen(), self.raw());
            self.listens();
        };
        while self.listens() {}
        assert!(!self.hides_cursor(), "the cursor is hidden: {:?}", self.raw());
        assert!(!self.parser.screen().bracketed_paste(), "pastes are bracketed: {:?}", self.raw());
        let modes = |name: &str| std::fs::read_to_string(self.home.join(name)).unwrap_or_default();
        if !modes("before").is_empty() {
            assert_eq!(modes("before"), modes("after"), "modes of the terminal");
        }
        assert_eq!(left(&self.home), Vec::<PathBuf>::new(), "processes are left");
        Ended { code: status.code().unwrap(), screen: self.screen() }
    }

    fn is_prompted(&self) -> bool {
        let screen = self.parser.screen();
        let ((row, column), (_, columns)) = (screen.cursor_position(), screen.size());
        let line = screen.rows(0, columns).nth(usize::from(row)).unwrap_or_default();
        let before: String = line.chars().take(usize::from(column)).collect();
        before.trim_end().ends_with(['❯', '>']) && line.trim_end().chars().count() <= usize::from(column)
    }

    /// Takes in what has been written; was there something?
    pub(super) fn listens(&mut self) -> bool {
        let Ok(bytes) = self.heard.recv_timeout(Duration::from_millis(20)) else { return false };
        for byte in bytes {
            self.bytes.push(byte);
            self.parser.process(&[byte]);
            if !self.kind.answers {
                continue;
            }
            if self.bytes.ends_with(WHERE) {
                self.asked += 1;
                let (row, column) = self.parser.screen().cursor_position();
                self.types(&format!("\x1b[{};{}R", row + 1, column + 1));
            } else if self.bytes.ends_with(WHO) {
                self.types("\x1b[?1;2c");
            }
        }
        true
    }
}

fn size(rows: u16, columns: u16) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

fn listen(mut display: File) -> Receiver<Vec<u8>> {
    let (sender, heard) = channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = display.read(&mut buffer) {
            if sender.send(buffer[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    heard
}

/// Processes that were started with this home and still run, a while after.
fn left(home: &Path) -> Vec<PathBuf> {
    let began = Instant::now();
    loop {
        let left = running(home);
        if left.is_empty() || began.elapsed() > Duration::from_secs(5) {
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
