//! A terminal: it shows what the program writes, answers where its cursor is, and has keys.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, kill_process_group, waitpid};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use vt100::{Color, Parser};

const PATIENCE: Duration = Duration::from_secs(30);

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
    keyboard: File,
    slave: OwnedFd,
    written: Receiver<Vec<u8>>,
    bytes: Vec<u8>,
    parser: Parser,
    asked: usize,
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
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let slave: OwnedFd = OpenOptions::new().read(true).write(true).open(name).unwrap().into();
        tcsetwinsize(&slave, size(80)).unwrap();
        let end = || Stdio::from(slave.try_clone().unwrap());
        let mut command = Command::new(example());
        command.args(words).env("TERM", "xterm-256color").env_remove("NO_COLOR");
        // Of its own, as a shell gives it: what it tells its group, it tells nobody else.
        command.process_group(0);
        let child = command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        let keyboard = File::from(master);
        let mut display = keyboard.try_clone().unwrap();
        let (sender, written) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = display.read(&mut buffer) {
                if sender.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        let parser = Parser::new(24, 80, 0);
        Self { keyboard, slave, written, bytes: Vec::new(), parser, asked: 0, manner, child }
    }

    /// Takes what was written, and answers what was asked.
    fn listens(&mut self) {
        let Ok(bytes) = self.written.recv_timeout(Duration::from_millis(20)) else { return };
        for byte in bytes {
            self.bytes.push(byte);
            self.parser.process(&[byte]);
            if self.bytes.ends_with(b"\x1b[6n") {
                self.answers();
            }
        }
    }

    fn answers(&mut self) {
        let lead = match self.manner {
            Manner::Silent => return,
            Manner::TypesFirst(keys) if self.asked == 0 => keys,
            _ => "",
        };
        self.asked += 1;
        let (row, column) = self.parser.screen().cursor_position();
        let answer = format!("{lead}\x1b[{};{}R", row + 1, column + 1);
        self.keyboard.write_all(answer.as_bytes()).unwrap();
    }

    #[track_caller]
    fn until(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let began = Instant::now();
        while !is_so(self) {
            assert!(began.elapsed() < PATIENCE, "no {what:?} in\n{}\n{:?}", self.screen(), self.text());
            self.listens();
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
        let before = self.asked;
        self.types(keys);
        let is_new = move |terminal: &Self| match terminal.manner {
            Manner::Answers | Manner::TypesFirst(_) => terminal.asked > before,
            Manner::Silent | Manner::Plain => true,
        };
        self.until("another prompt", |terminal| terminal.is_at_prompt() && is_new(terminal));
    }

    /// The first prompt: the program asked to see whether there is an answer, then for itself.
    #[track_caller]
    pub(crate) fn begins(&mut self) {
        self.until("the first prompt", |terminal| terminal.is_at_prompt() && terminal.asked >= 2);
    }

    fn is_at_prompt(&self) -> bool {
        let (row, column) = self.parser.screen().cursor_position();
        let rows = self.rows();
        let line = rows.get(usize::from(row)).map(|row| row.trim_end()).unwrap_or_default();
        line.ends_with(['❯', '>']) && usize::from(column) == line.chars().count() + 1
    }

    #[track_caller]
    pub(crate) fn shows_twice(&mut self, words: &str) {
        self.until(words, |terminal| terminal.rows().iter().filter(|row| row.contains(words)).count() == 2);
    }

    /// Ctrl-D, and the end.
    #[track_caller]
    pub(crate) fn leaves(&mut self) {
        self.types("\x04");
        self.ends();
        assert!(self.has("left"), "{}", self.screen());
    }

    /// Whether a line is wrapped or not.
    pub(crate) fn has(&self, words: &str) -> bool {
        self.screen().contains(words) || self.rows().concat().contains(words)
    }

    fn rows(&self) -> Vec<String> {
        let (_, columns) = self.parser.screen().size();
        self.parser.screen().rows(0, columns).collect()
    }

    pub(crate) fn screen(&self) -> String {
        self.parser.screen().contents()
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
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
            let cell = terminal.parser.screen().cell(row as u16, column as u16);
            cell.is_some_and(|cell| cell.fgcolor() == Color::Idx(colour))
        };
        self.until(&format!("{words} in colour {colour}"), is_so);
    }

    pub(crate) fn brackets_pastes(&self) -> bool {
        self.parser.screen().bracketed_paste()
    }

    /// Does the terminal edit lines itself, as before anything ran in it?
    pub(crate) fn is_cooked(&self) -> bool {
        let modes = tcgetattr(&self.slave).unwrap();
        let cooked = LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
        modes.local_modes.contains(cooked)
            && modes.special_codes[rustix::termios::SpecialCodeIndex::VINTR] == 3
    }

    pub(crate) fn types(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
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
        while let Ok(bytes) = self.written.recv_timeout(Duration::from_millis(50)) {
            self.parser.process(&bytes);
            self.bytes.extend(bytes);
        }
        self.text().rsplit("\x1b[?2004l").next().unwrap().to_owned()
    }

    /// As a shell does with `fg`.
    pub(crate) fn goes_on(&mut self) {
        let pid = Pid::from_child(&self.child);
        kill_process_group(pid, Signal::CONT).unwrap();
    }

    #[track_caller]
    pub(crate) fn resizes(&mut self, columns: u16) {
        let before = self.asked;
        tcsetwinsize(&self.slave, size(columns)).unwrap();
        self.parser.screen_mut().set_size(24, columns);
        let pid = Pid::from_child(&self.child);
        rustix::process::kill_process(pid, Signal::WINCH).unwrap();
        self.until("a line drawn anew", |terminal| terminal.is_at_prompt() && terminal.asked > before);
    }

    /// Waits for its end, and takes what it wrote until then.
    #[track_caller]
    pub(crate) fn ends(&mut self) {
        let began = Instant::now();
        let status = loop {
            self.listens();
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(began.elapsed() < PATIENCE, "it does not end:\n{}", self.screen());
        };
        assert!(status.success(), "{status}\n{}", self.screen());
        while let Ok(bytes) = self.written.recv_timeout(Duration::from_millis(50)) {
            self.parser.process(&bytes);
            self.bytes.extend(bytes);
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn size(columns: u16) -> Winsize {
    Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}
