//! Modes of the terminal that the REPL changes: while an answer comes, keys are not echoed into it. They are taken in
//! as they come, and are for the next prompt.

use std::io::{stderr, stdin, stdout};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr,
    tcsetattr,
};

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::sleep;

use converse_editor::{FOCUS_UNREPORTED, TITLE_RESTORED, TypedAhead};

/// Text pasted meanwhile comes between marks, so that the editor takes it as one paste later.
pub(super) const BRACKET_PASTES: &str = "\x1b[?2004h";
pub(super) const PASTES_AS_KEYS: &str = "\x1b[?2004l";

const MOST_AT_ONCE: usize = 1024 * 1024;
/// How soon the next byte of a paste is there.
const AT_ONCE: Duration = Duration::from_millis(1);
/// POSIX's `_POSIX_VDISABLE`.
const NO_KEY: u8 = if cfg!(target_os = "linux") { 0 } else { 0xff };

/// What has to be restored, by whichever thread ends the process.
#[derive(Debug, Default)]
pub(crate) struct TerminalModes {
    /// The modes before the echo was switched off.
    before: Mutex<Option<Termios>>,
    cursor_hidden: AtomicBool,
    /// The terminal has a title of ours.
    titled: AtomicBool,
    typed: Mutex<TypedAhead>,
}

impl TerminalModes {
    /// Switches the echo off; `false` if it is off already or there is no terminal. Signals of the keyboard stay,
    /// except that Ctrl-Z does nothing while the cursor is hidden.
    pub(super) fn hold_echo(&self) -> bool {
        let mut held = self.before.lock();
        let Some(before) = held.is_none().then(|| tcgetattr(stdin()).ok()).flatten() else { return false };
        if !set_keys(&before) {
            return false;
        }
        // What was typed before had its Enter turned into a line break.
        let before_it: Vec<u8> =
            pending().into_iter().map(|byte| if byte == b'\n' { b'\r' } else { byte }).collect();
        self.typed.lock().hears(&before_it, Instant::now());
        *held = Some(before);
        true
    }

    /// Takes in the keys that were pressed while the echo is off. Returns whether Esc was among them.
    pub(super) fn hear_keys(&self) -> bool {
        let held = self.before.lock();
        if held.is_none() {
            return false;
        }
        hear(&mut self.typed.lock())
    }

    /// Returns whether a key or paste has begun whose end is still to be expected.
    pub(super) fn awaits_keys(&self) -> bool {
        self.holds_echo() && self.typed.lock().awaits(Instant::now())
    }

    pub(super) fn holds_echo(&self) -> bool {
        self.before.lock().is_some()
    }

    /// What was typed and is for the next prompts.
    pub(super) fn typed(&self) -> MutexGuard<'_, TypedAhead> {
        self.typed.lock()
    }

    /// Ends the hearing of keys and restores the modes; returns whether they were changed.
    pub(super) fn hand_over_and_restore(&self) -> bool {
        let Some(before) = self.hand_over() else { return false };
        let _ = tcsetattr(stdin(), OptionalActions::Now, &before);
        true
    }

    /// Restores the modes for a while; returns whether they were changed. A paste that has begun goes on later.
    pub(super) fn free_echo(&self) -> bool {
        let Some(before) = self.before.lock().take() else { return false };
        hear(&mut self.typed.lock());
        let _ = tcsetattr(stdin(), OptionalActions::Now, &before);
        true
    }

    /// Ends the hearing of keys and returns the modes of before, which others restore: as long as nobody does, no key is
    /// echoed, and Enter is no line break. Waits for nothing: what has begun and not ended is over.
    pub(super) fn hand_over(&self) -> Option<Termios> {
        let before = self.before.lock().take()?;
        let mut typed = self.typed.lock();
        hear(&mut typed);
        typed.settles();
        Some(before)
    }

    pub(super) fn set_cursor_hidden(&self, hidden: bool) {
        self.cursor_hidden.store(hidden, Ordering::SeqCst);
    }

    /// Notes whether the terminal has a title of ours; returns whether it had one.
    pub(super) fn titled(&self, titled: bool) -> bool {
        self.titled.swap(titled, Ordering::SeqCst)
    }

    /// Leaves the terminal as it was found, for a process that ends without unwinding. Waits for nothing.
    pub(crate) fn restore(&self) {
        let before = self.before.lock().take();
        if let Some(before) = &before {
            // What was typed is for no prompt, and not for a shell.
            let _ = pending();
            let _ = tcsetattr(stdin(), OptionalActions::Now, before);
        }
        if self.cursor_hidden.swap(false, Ordering::SeqCst) {
            write_at_once("\x1b[?25h\r\x1b[J");
        }
        if before.is_some() {
            write_at_once(PASTES_AS_KEYS);
            write_at_once(FOCUS_UNREPORTED);
        }
        if self.titled(false) {
            write_at_once(TITLE_RESTORED);
        }
    }
}

/// The modes before a question that keys answer. There is one terminal, and whichever thread ends the process restores it.
static BEFORE_QUESTION: Mutex<Option<Termios>> = Mutex::new(None);

/// As long as it lives, keys come one by one and are not echoed, and pastes are bracketed. Ctrl-C stays a signal, Ctrl-Z
/// is a key.
#[derive(Debug)]
pub(crate) struct QuestionKeys(());

impl QuestionKeys {
    /// `None` if there is no terminal, or another question is open. What was typed before is dropped.
    pub(crate) fn hold() -> Option<Self> {
        let mut held = BEFORE_QUESTION.lock();
        let before = held.is_none().then(|| tcgetattr(stdin()).ok()).flatten()?;
        if !set_keys(&before) {
            return None;
        }
        *held = Some(before);
        let _ = tcflush(stdin(), QueueSelector::IFlush);
        write_if_ready(&stderr(), BRACKET_PASTES);
        Some(Self(()))
    }

    /// What the keyboard has sent in one piece: what comes at once belongs to it.
    pub(crate) async fn heard(&self) -> Vec<u8> {
        let mut bytes = pending();
        while !bytes.is_empty() && bytes.len() < MOST_AT_ONCE {
            sleep(AT_ONCE).await;
            let more = pending();
            if more.is_empty() {
                break;
            }
            bytes.extend(more);
        }
        bytes
    }
}

impl Drop for QuestionKeys {
    fn drop(&mut self) {
        release_question();
    }
}

/// Restores the modes from before a question that is open, and removes its options. Waits for nothing.
pub(crate) fn release_question() {
    if let Some(before) = BEFORE_QUESTION.lock().take() {
        let _ = tcsetattr(stdin(), OptionalActions::Now, &before);
        write_if_ready(&stderr(), "\r\x1b[J\x1b[?25h\x1b[?2004l");
    }
}

/// Keys come one by one and are not echoed.
fn set_keys(before: &Termios) -> bool {
    let mut modes = before.clone();
    modes.local_modes -= LocalModes::ECHO | LocalModes::ECHONL | LocalModes::ICANON;
    // Enter stays what it is, and Alt-Enter something else. Ctrl-S is a key, and does not stop the output.
    modes.input_modes -= InputModes::ICRNL | InputModes::IXON;
    modes.special_codes[SpecialCodeIndex::VSUSP] = NO_KEY;
    tcsetattr(stdin(), OptionalActions::Now, &modes).is_ok()
}

/// Returns the keyboard to wait for it; `None` if standard input is nothing that can be waited for.
#[expect(deprecated, reason = "its replacement is unsafe; the descriptor is owned here, so it stays open")]
pub(crate) fn keyboard() -> Option<AsyncFd<OwnedFd>> {
    let keyboard = stdin().as_fd().try_clone_to_owned().ok()?;
    AsyncFd::with_interest(keyboard, Interest::READABLE).ok()
}

/// Resolves when the keyboard has sent something; never without one.
pub(super) async fn pressed(keyboard: Option<&AsyncFd<OwnedFd>>) {
    if let Some(keyboard) = keyboard
        && let Ok(mut ready) = keyboard.readable().await
    {
        // A terminal that went away has nothing more to say, and would say so without end.
        let is_closed = ready.ready().is_read_closed();
        // Others may read it: what is new after this is told again.
        ready.clear_ready();
        if !is_closed {
            return;
        }
    }
    std::future::pending().await
}

/// Takes in what the keyboard has sent. Returns whether Esc was pressed.
fn hear(typed: &mut TypedAhead) -> bool {
    let (bytes, now) = (pending(), Instant::now());
    if bytes.is_empty() { typed.pauses(now) } else { typed.hears(&bytes, now) }
}

/// Returns whether the file can be read or written at once.
fn is_ready(file: PollFd<'_>) -> bool {
    poll(&mut [file], Some(&Timespec::default())) == Ok(1)
}

/// The bytes that the keyboard has sent.
fn pending() -> Vec<u8> {
    let stdin = stdin();
    let mut bytes = Vec::new();
    while bytes.len() < MOST_AT_ONCE && is_ready(PollFd::new(&stdin, PollFlags::IN)) {
        let mut part = [0; 4096];
        match rustix::io::read(&stdin, &mut part) {
            Ok(count @ 1..) => bytes.extend(part.iter().take(count)),
            _ => break,
        }
    }
    bytes
}

/// Writes if that does not block. Not through the lock of stdout, whose holder may be stuck.
fn write_at_once(text: &str) {
    write_if_ready(&stdout(), text);
}

fn write_if_ready(out: &impl AsFd, text: &str) {
    if is_ready(PollFd::new(out, PollFlags::OUT)) {
        let _ = rustix::io::write(out, text.as_bytes());
    }
}
