//! Keys that are pressed while an answer comes are not echoed into it: they wait for the next prompt, as they were typed.

use std::io::{stdin, stdout};
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};

/// What is pasted meanwhile comes between marks: it is one thing then for whoever reads it later.
pub(super) const BRACKET_PASTES: &str = "\x1b[?2004h";
pub(super) const PASTES_AS_KEYS: &str = "\x1b[?2004l";

/// As the terminal was before; whoever ends the process finds it here, whatever thread they are.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);
/// A region is up, and the cursor is hidden.
static HIDDEN: AtomicBool = AtomicBool::new(false);

const NO_WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
/// POSIX's `_POSIX_VDISABLE`.
const NO_KEY: u8 = if cfg!(target_os = "linux") { 0 } else { 0xff };

/// As long as it lives, nothing is echoed. Signals of the keyboard stay, except that nothing is stopped (Ctrl-Z) while
/// the cursor is hidden.
#[derive(Debug)]
pub(super) struct Unechoed(());

impl Unechoed {
    /// `None`: no terminal.
    pub(super) fn begin() -> Option<Self> {
        let before = tcgetattr(stdin()).ok()?;
        let mut modes = before.clone();
        modes.local_modes -= LocalModes::ECHO | LocalModes::ECHONL | LocalModes::ICANON;
        // Enter stays what it is: an editor reads these keys.
        modes.input_modes -= InputModes::ICRNL;
        modes.special_codes[SpecialCodeIndex::VSUSP] = NO_KEY;
        let mut kept = BEFORE.lock();
        tcsetattr(stdin(), OptionalActions::Now, &modes).ok()?;
        kept.get_or_insert(before);
        Some(Self(()))
    }
}

impl Drop for Unechoed {
    fn drop(&mut self) {
        restore_modes();
    }
}

pub(super) fn note_cursor(hidden: bool) {
    HIDDEN.store(hidden, Ordering::SeqCst);
}

/// Leaves the terminal as it was found; for whoever ends the process without unwinding. Waits for nothing.
pub(crate) fn restore_terminal() {
    let held = restore_modes();
    if HIDDEN.swap(false, Ordering::SeqCst) {
        writes_at_once("\x1b[?25h\r\x1b[J");
    }
    if held {
        writes_at_once(PASTES_AS_KEYS);
    }
}

/// Or not at all. Not through the lock: who holds it may be stuck.
fn writes_at_once(text: &str) {
    let out = stdout();
    let mut waits = [PollFd::new(&out, PollFlags::OUT)];
    if poll(&mut waits, Some(&NO_WAIT)) == Ok(1) {
        let _ = rustix::io::write(&out, text.as_bytes());
    }
}

/// Were there any to restore?
fn restore_modes() -> bool {
    let before = BEFORE.lock().take();
    if let Some(before) = &before {
        let _ = tcsetattr(stdin(), OptionalActions::Now, before);
    }
    before.is_some()
}
