//! A terminal with a screen: what it shows is what a person would see, and it says where its cursor is.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};
use vt100::Parser;

use crate::env::{TestEnv, wait};

const PATIENCE: Duration = Duration::from_secs(30);
const ROWS: u16 = 60;
const COLUMNS: u16 = 100;

pub(crate) struct Screen {
    keyboard: File,
    written: Receiver<Vec<u8>>,
    bytes: Vec<u8>,
    parser: Parser,
    /// How often the program asked where the cursor is: once for each line that it reads; and when something was typed last.
    asked: usize,
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
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let slave: OwnedFd = OpenOptions::new().read(true).write(true).open(name).unwrap().into();
        let size = Winsize { ws_row: ROWS, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&slave, size).unwrap();
        let end = || Stdio::from(slave.try_clone().unwrap());
        let child = command.env("TERM", term).stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        let keyboard = File::from(master);
        let mut display = keyboard.try_clone().unwrap();
        let (sender, written) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            let mut kept = crate::env::canary::screen();
            while let Ok(count @ 1..) = display.read(&mut buffer) {
                crate::env::canary::saw(&mut kept, &buffer[..count]);
                if sender.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self {
            keyboard,
            written,
            bytes: Vec::new(),
            parser: Parser::new(ROWS, COLUMNS, 0),
            asked: 0,
            typed: 0,
            draws: term != "dumb",
            child,
        }
    }

    /// Everything that was ever written, as it was.
    pub(crate) fn raw(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn text(&self) -> String {
        self.parser.screen().contents()
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
        self.typed = self.asked;
        self.types(line);
        self.types("\r");
    }

    /// Of the terminal, as the program has set them.
    pub(crate) fn modes(&self) -> Termios {
        tcgetattr(&self.keyboard).unwrap()
    }

    pub(crate) fn types(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for the end, and listens till then.
    #[track_caller]
    pub(crate) fn finishes(&mut self) -> i32 {
        use std::os::unix::process::ExitStatusExt as _;
        let began = Instant::now();
        while self.listens() {
            assert!(began.elapsed() < PATIENCE, "it does not end: {}", self.text());
        }
        let status = self.child.wait().unwrap();
        status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap()
    }

    /// Waits for the end; what was written till then is in [`Screen::text`] no more.
    pub(crate) fn ends(self) -> i32 {
        let Self { child, written, .. } = self;
        // Whoever writes must not wait for a reader.
        let drain = std::thread::spawn(move || written.iter().count());
        let code = wait(child).code;
        drop(drain);
        code
    }

    fn is_prompted(&self) -> bool {
        let screen = self.parser.screen();
        let (row, column) = screen.cursor_position();
        let line = screen.rows(0, COLUMNS).nth(usize::from(row)).unwrap_or_default();
        let before: String = line.chars().take(usize::from(column)).collect();
        before.trim_end().ends_with(['❯', '>']) && line.trim_end().chars().count() <= usize::from(column)
    }

    fn awaits_words(&self) -> bool {
        self.is_prompted() && (self.asked > self.typed || !self.draws)
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

    /// Waits until the words are on the screen; false if the program ends before.
    #[track_caller]
    #[allow(dead_code, reason = "of the kill loop, which shares this file")]
    pub(crate) fn shows_unless_over(&mut self, words: &str) -> bool {
        self.comes(|screen| screen.text().contains(words))
    }

    #[track_caller]
    #[allow(dead_code, reason = "of the kill loop, which shares this file")]
    fn comes(&mut self, is_so: impl Fn(&Self) -> bool) -> bool {
        let began = Instant::now();
        while !is_so(self) {
            assert!(began.elapsed() < PATIENCE, "it hangs at\n{}", self.text());
            if !self.listens() {
                return is_so(self);
            }
        }
        true
    }

    #[track_caller]
    fn until(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) -> String {
        let began = Instant::now();
        while !is_so(self) {
            assert!(began.elapsed() < PATIENCE, "no {what:?} in\n{}\n{:?}", self.text(), self.raw());
            self.listens();
        }
        self.text()
    }

    /// False when nothing will come any more.
    pub(crate) fn listens(&mut self) -> bool {
        let bytes = match self.written.recv_timeout(Duration::from_millis(20)) {
            Ok(bytes) => bytes,
            Err(end) => return end == RecvTimeoutError::Timeout,
        };
        for byte in bytes {
            self.bytes.push(byte);
            self.parser.process(&[byte]);
            if self.bytes.ends_with(b"\x1b[6n") {
                self.asked += 1;
                let (row, column) = self.parser.screen().cursor_position();
                let answer = format!("\x1b[{};{}R", row + 1, column + 1);
                // Whoever was killed in between hears no answer.
                let _ = self.keyboard.write_all(answer.as_bytes());
            }
        }
        true
    }
}
