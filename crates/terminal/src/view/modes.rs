//! Modes of the terminal that the REPL changes: while an answer comes, keys are not echoed into it and wait for the next
//! prompt.

use std::io::{stdin, stdout};
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};

/// Text pasted meanwhile comes between marks, so that the editor takes it as one paste later.
pub(super) const BRACKET_PASTES: &str = "\x1b[?2004h";
pub(super) const PASTES_AS_KEYS: &str = "\x1b[?2004l";

const NO_WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
/// POSIX's `_POSIX_VDISABLE`.
const NO_KEY: u8 = if cfg!(target_os = "linux") { 0 } else { 0xff };

/// What has to be restored, by whichever thread ends the process.
#[derive(Debug, Default)]
pub(crate) struct TerminalModes {
    /// The modes before the echo was switched off.
    before: Mutex<Option<Termios>>,
    cursor_hidden: AtomicBool,
}

impl TerminalModes {
    /// Switches the echo off; `false` if it is off already or there is no terminal. Signals of the keyboard stay,
    /// except that Ctrl-Z does nothing while the cursor is hidden.
    pub(super) fn hold_echo(&self) -> bool {
        let mut held = self.before.lock();
        let Some(before) = held.is_none().then(|| tcgetattr(stdin()).ok()).flatten() else { return false };
        let mut modes = before.clone();
        modes.local_modes -= LocalModes::ECHO | LocalModes::ECHONL | LocalModes::ICANON;
        // Enter stays what it is: an editor reads these keys.
        modes.input_modes -= InputModes::ICRNL;
        modes.special_codes[SpecialCodeIndex::VSUSP] = NO_KEY;
        if tcsetattr(stdin(), OptionalActions::Now, &modes).is_err() {
            return false;
        }
        *held = Some(before);
        true
    }

    /// Restores the modes; returns whether they were changed.
    pub(super) fn free_echo(&self) -> bool {
        let before = self.before.lock().take();
        if let Some(before) = &before {
            let _ = tcsetattr(stdin(), OptionalActions::Now, before);
        }
        before.is_some()
    }

    pub(super) fn set_cursor_hidden(&self, hidden: bool) {
        self.cursor_hidden.store(hidden, Ordering::SeqCst);
    }

    /// Leaves the terminal as it was found, for a process that ends without unwinding. Waits for nothing.
    pub(crate) fn restore(&self) {
        let held = self.free_echo();
        if self.cursor_hidden.swap(false, Ordering::SeqCst) {
            write_at_once("\x1b[?25h\r\x1b[J");
        }
        if held {
            write_at_once(PASTES_AS_KEYS);
        }
    }
}

/// Writes if that does not block. Not through the lock of stdout, whose holder may be stuck.
fn write_at_once(text: &str) {
    let out = stdout();
    let mut waits = [PollFd::new(&out, PollFlags::OUT)];
    if poll(&mut waits, Some(&NO_WAIT)) == Ok(1) {
        let _ = rustix::io::write(&out, text.as_bytes());
    }
}
