//! A terminal with a screen, and the program at it.

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use converse_testkit::pty::Setup;
use vt100::Screen;

use crate::Result;

const PATIENCE: Duration = Duration::from_secs(30);

pub(super) struct Terminal {
    terminal: converse_testkit::pty::Terminal,
    child: Child,
}

impl Terminal {
    pub(super) fn run(command: Command, (columns, rows): (u16, u16)) -> Result<Self> {
        let setup = Setup { columns, rows, ..Setup::default() };
        let (terminal, child) = converse_testkit::pty::Terminal::run(command, setup)?;
        Ok(Self { terminal, child })
    }

    pub(super) fn screen(&self) -> &Screen {
        self.terminal.screen()
    }

    pub(super) fn types(&mut self, keys: &str) -> Result<()> {
        Ok(self.terminal.types(keys)?)
    }

    /// Waits until it is so.
    pub(super) fn until(&mut self, what: &str, is_so: impl Fn(&Screen) -> bool) -> Result<()> {
        self.waits(what, |terminal| is_so(terminal.screen()))
    }

    /// Until the words are on the screen and an empty prompt is under the cursor.
    pub(super) fn answers(&mut self, words: &str) -> Result<()> {
        self.waits(words, |terminal| terminal.screen().contents().contains(words) && terminal.is_prompted())
    }

    fn waits(&mut self, what: &str, is_so: impl Fn(&converse_testkit::pty::Terminal) -> bool) -> Result<()> {
        let began = Instant::now();
        while !is_so(&self.terminal) {
            if began.elapsed() > PATIENCE {
                return Err(format!("no {what} in\n{}", self.screen().contents()).into());
            }
            self.terminal.listens();
        }
        Ok(())
    }

    /// Takes in all that is written until it ends.
    pub(super) fn ends(&mut self) -> Result<()> {
        while self.child.try_wait()?.is_none() {
            self.terminal.listens();
        }
        while self.terminal.listens() {}
        Ok(())
    }

    pub(super) fn hides_cursor(&mut self) {
        self.terminal.draws(b"\x1b[?25l");
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
