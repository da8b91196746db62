//! The terminal itself: its modes, its width, whether it answers.

use std::io::{IsTerminal as _, Write as _, stderr, stdin, stdout};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

use crate::background::{ASKS_BACKGROUND, is_open, without_reply};

/// How long a terminal may take to say where its cursor is; ssh across the world takes a third of it.
const ANSWER: Duration = Duration::from_secs(1);
/// How often it is looked whether it is still there.
const LOOKS: Duration = Duration::from_secs(1);
/// How soon the next key of a paste is there. Without any time the library does not look.
const AT_ONCE: Duration = Duration::from_millis(1);
const MOST_TYPED: usize = 64 * 1024;

/// What a terminal said of itself.
#[derive(Debug, Default)]
pub(crate) struct SelfReport {
    /// Lines can be drawn.
    pub(crate) draws: bool,
    /// Its background is light; `None`: it did not say.
    pub(crate) light: Option<bool>,
    /// What was typed while that was found out.
    pub(crate) typed: String,
}

/// The modes a terminal had before anything was read. Restored when the last [`crate::Editor`] goes; a program that ends
/// without unwinding restores them itself.
#[derive(Debug, Clone)]
pub struct Modes {
    saved: Option<Termios>,
    /// Whether something is being drawn, so that pastes are bracketed.
    pub(crate) drawing: Arc<AtomicBool>,
}

impl Modes {
    pub(crate) fn of_now() -> Self {
        let saved = stdin().is_terminal().then(|| tcgetattr(stdin()).ok()).flatten();
        Self { saved, drawing: Arc::default() }
    }

    /// As it was. May be called from any thread, any number of times.
    pub fn restore(&self) {
        let Some(saved) = &self.saved else { return };
        let _ = tcsetattr(stdin(), OptionalActions::Now, saved);
        if self.drawing.swap(false, Ordering::SeqCst) {
            let mut stdout = stdout().lock();
            let _ = stdout.write_all(b"\x1b[?2004l\x1b[?25h").and_then(|()| stdout.flush());
        }
    }

    /// Asks the terminal where its cursor is and, in the same round trip, for its background.
    pub(crate) fn answers(&self, asks_background: bool) -> SelfReport {
        let Some(saved) = &self.saved else { return SelfReport::default() };
        if !stdout().is_terminal() || !stderr().is_terminal() {
            return SelfReport::default();
        }
        let Some(heard) = raw(saved, || read_position(asks_background)) else { return SelfReport::default() };
        let (heard, light) = without_reply(&heard);
        match without_report(&heard) {
            Some(typed) => SelfReport { draws: true, light, typed: text_of(&typed) },
            None => SelfReport { draws: false, light: None, typed: text_of(&heard) },
        }
    }
}

/// With keys as they come, and the saved modes after.
fn raw<T>(saved: &Termios, read: impl FnOnce() -> T) -> Option<T> {
    let mut raw = saved.clone();
    raw.make_raw();
    tcsetattr(stdin(), OptionalActions::Now, &raw).ok()?;
    let heard = read();
    let _ = tcsetattr(stdin(), OptionalActions::Now, saved);
    Some(heard)
}

/// Takes what there is; not if there can be nothing any more.
fn hears(heard: &mut Vec<u8>) -> bool {
    let mut bytes = [0; 1024];
    match rustix::io::read(stdin(), &mut bytes) {
        Ok(count @ 1..) => heard.extend(bytes.iter().take(count)),
        Err(rustix::io::Errno::INTR) => {}
        _ => return false,
    }
    true
}

/// Asks for the cursor position and reads until the answer or a timeout. A terminal replies in order, so what it says of its
/// background is there by then.
fn read_position(asks_background: bool) -> Vec<u8> {
    let mut heard = Vec::new();
    let mut out = stdout().lock();
    let background = if asks_background { ASKS_BACKGROUND } else { b"" };
    if out.write_all(&[background, b"\x1b[6n"].concat()).and_then(|()| out.flush()).is_err() {
        return heard;
    }
    drop(out);
    let until = Instant::now() + ANSWER;
    while heard.len() < MOST_TYPED && (without_report(&heard).is_none() || is_open(&heard)) {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || (waits(left) && !hears(&mut heard)) {
            break;
        }
    }
    heard
}

/// Resolves when the terminal is gone; for a pipe, possibly with unread input. A process with this controlling terminal
/// also gets a signal, others do not.
pub(crate) async fn hung_up() {
    let is_there = || {
        let stdin = stdin();
        let mut looks = [PollFd::new(&stdin, PollFlags::empty())];
        !matches!(poll(&mut looks, Some(&Timespec::default())), Ok(1..))
    };
    while is_there() {
        tokio::time::sleep(LOOKS).await;
    }
}

/// Returns whether there is input within that time.
pub(crate) fn waits(time: Duration) -> bool {
    let stdin = stdin();
    let mut waits = [PollFd::new(&stdin, PollFlags::IN)];
    let time = Timespec::try_from(time).ok();
    matches!(poll(&mut waits, time.as_ref()), Ok(1..))
}

/// Returns whether more keys have come, where the library reads them.
pub(crate) fn has_more_keys() -> bool {
    // It does not look either if that time is over before it begins.
    (0..3).any(|_| crossterm::event::poll(AT_ONCE).unwrap_or(false))
}

/// Returns the input without the first `ESC [ row ; column R`; `None` if there is none.
pub(crate) fn without_report(heard: &[u8]) -> Option<Vec<u8>> {
    let starts = heard.windows(2).enumerate().filter(|(_, pair)| *pair == b"\x1b[");
    starts.map(|(at, _)| at).find_map(|at| {
        let (before, rest) = heard.split_at(at);
        let inner = rest.get(2..)?;
        let length = inner.iter().position(|byte| !byte.is_ascii_digit() && *byte != b';')?;
        let is_report = inner.get(length) == Some(&b'R') && inner.get(..length)?.contains(&b';');
        is_report.then(|| [before, inner.get(length + 1..).unwrap_or_default()].concat())
    })
}

/// The words of what was typed: neither arrows nor other keys.
fn text_of(typed: &[u8]) -> String {
    let typed = String::from_utf8_lossy(typed).replace('\r', "\n");
    without_keys(typed.trim_end_matches('\n')).chars().filter(|c| *c == '\n' || !c.is_control()).collect()
}

/// Returns the text without `ESC [ …`, `ESC O …` and what a terminal says of its background: arrow keys in a line without an
/// editor, or a late answer.
pub(crate) fn without_keys(text: &str) -> String {
    let (mut kept, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, after)) = rest.split_once('\x1b') {
        kept.push_str(before);
        if let Some(reply) = after.strip_prefix("]11;") {
            let end = reply.find(char::is_control).unwrap_or(reply.len());
            let tail = reply.get(end..).unwrap_or_default();
            rest = tail.strip_prefix('\x07').or_else(|| tail.strip_prefix("\x1b\\")).unwrap_or(tail);
            continue;
        }
        let Some(inner) = after.strip_prefix(['[', 'O']) else {
            rest = after;
            continue;
        };
        let end = inner.find(|c: char| !matches!(c, '\x20'..='\x3f')).unwrap_or(inner.len());
        let mut tail = inner.get(end..).unwrap_or_default().chars();
        if tail.clone().next().is_some_and(|c| c.is_ascii()) {
            tail.next();
        }
        rest = tail.as_str();
    }
    kept + rest
}

/// The width of the terminal; 80 if unknown.
pub(crate) fn columns() -> usize {
    let columns = tcgetwinsize(stderr()).map_or(0, |size| usize::from(size.ws_col));
    if columns > 0 { columns } else { 80 }
}

/// A line of our own to the person.
pub(crate) fn says(text: &str) {
    let mut stderr = stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_found_among_what_is_typed() {
        for (heard, rest) in [
            (b"\x1b[1;1R".as_slice(), Some("")),
            (b"ab\x1b[24;80Rcd", Some("abcd")),
            (b"\x1b[A\x1b[2;3R", Some("\x1b[A")),
            (b"\x1b[R", None),
            (b"\x1b[12;", None),
            (b"\x1b[12R", None),
            (b"12;3R", None),
        ] {
            let found = without_report(heard).map(|rest| String::from_utf8(rest).unwrap());
            assert_eq!(found.as_deref(), rest, "{heard:?}");
        }
    }

    #[test]
    fn keys_are_no_text() {
        for (typed, text) in [
            ("plain", "plain"),
            ("a\x1b[Ab", "ab"),
            ("\x1b[24;1Rhello", "hello"),
            ("\x1bOPx", "x"),
            ("a\x1b]11;rgb:ffff/ffff/ffff\x1b\\b\x1b]11;rgb:0/0/0\x07c", "abc"),
            ("\x1b[1;5Cx\x1b", "x"),
            ("\x1b[", ""),
            ("\x1b[Щx", "Щx"),
        ] {
            assert_eq!(without_keys(typed), text, "{typed:?}");
        }
        assert_eq!(text_of(b"one\rtwo\x03\r"), "one\ntwo");
    }
}
