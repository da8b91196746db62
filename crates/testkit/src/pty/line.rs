//! The line between a program and its user: a pseudo-terminal that its own thread reads.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};

/// Bytes that are read at once.
const PIECE: usize = 4096;
/// Pieces that wait to be looked at. A program that writes more waits for its reader, as at any terminal.
const MOST_WAITING: usize = 16 * 1024;

/// Somebody else who gets to see all that is written, as it comes.
pub type Tap = Box<dyn FnMut(&[u8]) + Send>;

/// The result of a wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// The next bytes that were written.
    Bytes(Vec<u8>),
    /// None within that time.
    Nothing,
    /// The other end is closed.
    End,
}

/// Dropping it hangs up: the program gets SIGHUP if the terminal is its controlling one.
pub struct Line {
    keyboard: File,
    written: Receiver<Vec<u8>>,
    /// Goes with this value, and then the thread that listens goes as well, and the last of our end with it.
    _follower: UnixStream,
}

impl Line {
    /// Starts a program whose stdin, stdout and stderr are a new terminal of that size, in cells.
    ///
    /// # Errors
    ///
    /// No terminal is available, or the program cannot be started.
    pub fn run(mut command: Command, columns: u16, rows: u16, tap: Option<Tap>) -> io::Result<(Self, Child)> {
        let (keyboard, programs) = open()?;
        tcsetwinsize(&keyboard, cells(columns, rows))?;
        command.stdin(programs.try_clone()?).stdout(programs.try_clone()?).stderr(programs);
        let child = command.spawn()?;
        // Closes this copy of the program's end, so that only the program has it.
        drop(command);
        let display = keyboard.try_clone()?;
        let (follower, dropped) = UnixStream::pair()?;
        let (sender, written) = sync_channel(MOST_WAITING);
        std::thread::spawn(move || listen(display, &dropped, &sender, tap));
        Ok((Self { keyboard, written, _follower: follower }, child))
    }

    /// Returns the next bytes that are written within that time.
    pub fn hears(&self, within: Duration) -> Heard {
        match self.written.recv_timeout(within) {
            Ok(bytes) => Heard::Bytes(bytes),
            Err(RecvTimeoutError::Timeout) => Heard::Nothing,
            Err(RecvTimeoutError::Disconnected) => Heard::End,
        }
    }

    /// Presses keys.
    ///
    /// # Errors
    ///
    /// The terminal takes none any more.
    pub fn types(&mut self, keys: &[u8]) -> io::Result<()> {
        self.keyboard.write_all(keys)
    }

    /// Changes the size in cells. Programs at the terminal get SIGWINCH.
    ///
    /// # Errors
    ///
    /// It is gone.
    pub fn resizes(&self, columns: u16, rows: u16) -> io::Result<()> {
        Ok(tcsetwinsize(&self.keyboard, cells(columns, rows))?)
    }

    /// Returns the settings of the terminal, also after the program has ended.
    ///
    /// # Errors
    ///
    /// It is gone.
    pub fn modes(&self) -> io::Result<Termios> {
        Ok(tcgetattr(&self.keyboard)?)
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line").finish_non_exhaustive()
    }
}

/// Opens both ends. Programs that are started meanwhile do not inherit them, because they would keep the line open.
fn open() -> io::Result<(File, OwnedFd)> {
    #[cfg(target_os = "linux")]
    let own = OpenptFlags::CLOEXEC;
    #[cfg(not(target_os = "linux"))]
    let own = OpenptFlags::empty();
    let keyboard = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | own)?;
    grantpt(&keyboard)?;
    unlockpt(&keyboard)?;
    let name = ptsname(&keyboard, Vec::new())?;
    let programs = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
    Ok((File::from(keyboard), programs))
}

fn cells(columns: u16, rows: u16) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

/// Reads until the other end is closed (an error on Linux) or the receiver is dropped.
fn listen(mut display: File, dropped: &UnixStream, written: &SyncSender<Vec<u8>>, mut tap: Option<Tap>) {
    let mut buffer = [0; PIECE];
    while is_held(&display, dropped) {
        let count = match display.read(&mut buffer) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else { return };
        if let Some(tap) = &mut tap {
            tap(bytes);
        }
        if written.send(bytes.to_vec()).is_err() {
            return;
        }
    }
}

/// Waits for input; false if the receiver was dropped.
fn is_held(display: &File, dropped: &UnixStream) -> bool {
    let mut waits = [PollFd::new(dropped, PollFlags::IN), PollFd::new(display, PollFlags::IN)];
    match poll(&mut waits, None) {
        Ok(_) => waits.first().is_some_and(|dropped| dropped.revents().is_empty()),
        Err(error) => error == rustix::io::Errno::INTR,
    }
}

#[cfg(test)]
mod tests {
    use rustix::termios::LocalModes;

    use super::*;
    use crate::hang_guard::{LIMIT, wait_until};

    fn shell(script: &str, tap: Option<Tap>) -> (Line, Child) {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Line::run(command, 31, 17, tap).unwrap()
    }

    /// Until the end, or these words.
    fn all(line: &Line, words: &str) -> String {
        let mut all = Vec::new();
        loop {
            match line.hears(LIMIT) {
                Heard::Bytes(bytes) => all.extend(bytes),
                Heard::End => break,
                Heard::Nothing => panic!("{:?}", String::from_utf8_lossy(&all)),
            }
            if !words.is_empty() && String::from_utf8_lossy(&all).contains(words) {
                break;
            }
        }
        String::from_utf8(all).unwrap()
    }

    #[test]
    fn a_program_has_a_terminal_of_that_size_and_what_it_writes_is_heard_twice() {
        let (sender, tapped) = std::sync::mpsc::channel();
        let tap: Tap = Box::new(move |bytes: &[u8]| sender.send(bytes.to_vec()).unwrap());
        let (mut line, mut child) = shell("stty size; read x; echo \"got $x\"; echo wrong >&2", Some(tap));
        let before = all(&line, "17 31");
        line.types(b"words\n").unwrap();
        let after = all(&line, "");
        assert!(before.starts_with("17 31"), "{before:?}");
        let output = format!("{before}{after}").replace("17 31\r\n", "");
        assert_eq!(output, "words\r\ngot words\r\nwrong\r\n");
        assert!(child.wait().unwrap().success());
        let tapped: Vec<u8> = tapped.try_iter().flatten().collect();
        assert_eq!(tapped, format!("17 31\r\n{output}").as_bytes());
    }

    #[test]
    fn its_modes_and_its_size_are_those_of_the_program() {
        let (mut line, mut child) = shell("stty -echo; echo one; read x; stty size", None);
        all(&line, "one");
        assert!(!line.modes().unwrap().local_modes.contains(LocalModes::ECHO));
        line.resizes(99, 44).unwrap();
        line.types(b"\n").unwrap();
        assert!(all(&line, "").ends_with("44 99\r\n"));
        child.wait().unwrap();
        assert!(!line.modes().unwrap().local_modes.contains(LocalModes::ECHO), "also when it has ended");
    }

    #[test]
    fn dropped_it_hangs_up_also_where_others_were_started_meanwhile() {
        let (line, mut child) = shell("read x", None);
        let mut other = Command::new("sleep").arg("600").spawn().unwrap();
        drop(line);
        // What reads from it comes to the end.
        wait_until("somebody still holds it", || child.try_wait().unwrap().is_some());
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
