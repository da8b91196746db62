//! A terminal with a screen, and the program at it.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use vt100::{Parser, Screen};

use crate::Result;

const PATIENCE: Duration = Duration::from_secs(30);
const WHERE: &[u8] = b"\x1b[6n";

pub(super) struct Terminal {
    keyboard: File,
    heard: Receiver<Vec<u8>>,
    bytes: Vec<u8>,
    parser: Parser,
    child: Child,
}

impl Terminal {
    pub(super) fn run(mut command: Command, (columns, rows): (u16, u16)) -> Result<Self> {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let name = ptsname(&master, Vec::new())?.into_string()?;
        let slave: OwnedFd = OpenOptions::new().read(true).write(true).open(name)?.into();
        tcsetwinsize(&master, Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 })?;
        command.stdin(slave.try_clone()?).stdout(slave.try_clone()?).stderr(Stdio::from(slave));
        let child = command.spawn()?;
        drop(command);
        let keyboard = File::from(master);
        let heard = listen(keyboard.try_clone()?);
        Ok(Self { keyboard, heard, bytes: Vec::new(), parser: Parser::new(rows, columns, 0), child })
    }

    pub(super) fn screen(&self) -> &Screen {
        self.parser.screen()
    }

    pub(super) fn types(&mut self, keys: &str) -> Result<()> {
        Ok(self.keyboard.write_all(keys.as_bytes())?)
    }

    /// Waits until it is so, then until nothing more is written for a moment.
    pub(super) fn until(&mut self, what: &str, is_so: impl Fn(&Screen) -> bool) -> Result<()> {
        let began = Instant::now();
        while !is_so(self.parser.screen()) {
            if began.elapsed() > PATIENCE {
                return Err(format!("no {what} in\n{}", self.parser.screen().contents()).into());
            }
            self.listens()?;
        }
        Ok(())
    }

    /// Until the words are on the screen and an empty prompt is under the cursor.
    pub(super) fn answers(&mut self, words: &str) -> Result<()> {
        self.until(words, |screen| screen.contents().contains(words) && is_prompted(screen))
    }

    /// Takes in all that is written until it ends.
    pub(super) fn ends(&mut self) -> Result<()> {
        while self.child.try_wait()?.is_none() {
            self.listens()?;
        }
        while self.listens()? {}
        Ok(())
    }

    pub(super) fn hides_cursor(&mut self) {
        self.parser.process(b"\x1b[?25l");
    }

    fn listens(&mut self) -> Result<bool> {
        let bytes = match self.heard.recv_timeout(Duration::from_millis(20)) {
            Ok(bytes) => bytes,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return Ok(false),
        };
        for byte in bytes {
            self.bytes.push(byte);
            self.parser.process(&[byte]);
            if self.bytes.ends_with(WHERE) {
                let (row, column) = self.parser.screen().cursor_position();
                self.types(&format!("\x1b[{};{}R", row + 1, column + 1))?;
            }
        }
        Ok(true)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn is_prompted(screen: &Screen) -> bool {
    let ((row, column), (_, columns)) = (screen.cursor_position(), screen.size());
    let line = screen.rows(0, columns).nth(usize::from(row)).unwrap_or_default();
    line.trim_end().ends_with('❯') && line.trim_end().chars().count() <= usize::from(column)
}

fn listen(mut display: File) -> Receiver<Vec<u8>> {
    let (sender, heard) = channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count) = display.read(&mut buffer) {
            let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else { return };
            if sender.send(bytes.to_vec()).is_err() {
                return;
            }
        }
    });
    heard
}
