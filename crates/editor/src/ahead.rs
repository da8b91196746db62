//! What is typed while a turn runs: the entries that the next prompts begin with. Bytes of the keyboard come in; it does
//! no I/O.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use converse_text::clusters;

use crate::Meaning;
use crate::entry::{is_continued, is_open};
use crate::focus::{FOCUS_GAINED, FOCUS_LOST, Focus};

/// Bytes of all that waits, a paste of several lines counting twice; what is typed beyond it is lost.
const MOST: usize = 8 * 1024 * 1024;
/// Bytes of a paste; a longer one is lost as a whole.
const LONGEST_PASTE: usize = 4 * 1024 * 1024;
/// Bytes of a key or of a terminal's reply, which is no key.
const LONGEST_KEY: usize = 4096;
/// An escape after which nothing comes for so long is the key Esc.
const ESCAPE_ALONE: Duration = Duration::from_millis(50);
/// A key of several bytes whose end does not come for so long never ends.
const KEY_LOST: Duration = Duration::from_millis(500);
/// How long it is waited for the next bytes of a paste that has begun.
const REST_OF_PASTE: Duration = Duration::from_secs(30);
const PASTE_BEGINS: &[u8] = b"\x1b[200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";
/// Shift-Tab.
const SWITCH: &[u8] = b"\x1b[Z";

/// The text that an entry begins with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Draft {
    pub text: String,
    /// The pastes of several lines in it, as they were.
    pub pastes: Vec<String>,
    /// Enter was pressed after it; Ctrl-D, if it is empty.
    pub is_sent: bool,
}

impl Draft {
    /// Returns whether Ctrl-D was pressed instead of anything else.
    pub(crate) fn is_end(&self) -> bool {
        self.is_sent && self.text.is_empty()
    }

    fn bytes(&self) -> usize {
        self.text.len() + self.pastes.iter().map(String::len).sum::<usize>()
    }

    /// One that was not sent.
    pub(crate) fn of(text: String) -> Self {
        Self { text, ..Self::default() }
    }
}

/// What was typed, and is for the next prompts.
#[derive(Debug, Default)]
pub struct TypedAhead {
    sent: VecDeque<Draft>,
    line: Draft,
    /// Bytes of a key or paste that has not ended.
    open: Vec<u8>,
    /// A paste that is too long has begun: nothing is a key until it ends.
    discards: bool,
    /// When the last bytes came.
    came: Option<Instant>,
    bytes: usize,
    /// How often Shift-Tab was pressed.
    switches: usize,
    focus: Focus,
    /// The last bytes are more than one Enter.
    at_once: bool,
    meaning: Meaning,
}

enum Key {
    Escape,
    Enter,
    Newline,
    Backspace,
    ClearsWord,
    ClearsLine,
    End,
    Text(String),
    Paste(String),
    Switch,
    Picture,
    /// No key: the terminal gained or lost the focus.
    Focus(bool),
    Other,
}

impl TypedAhead {
    /// What entries mean from now on.
    pub fn follows(&mut self, meaning: Meaning) {
        self.meaning = meaning;
    }

    /// Takes in what the keyboard sent by now. Returns whether Esc was pressed.
    pub fn hears(&mut self, bytes: &[u8], now: Instant) -> bool {
        if bytes.is_empty() {
            return false;
        }
        let mut escaped = self.pauses(now);
        self.at_once = !self.open.is_empty() || bytes != b"\r";
        self.came = Some(now);
        self.open.extend_from_slice(bytes);
        self.skips_paste();
        while let Some((key, length)) = self.next_key() {
            self.open.drain(..length);
            escaped |= matches!(key, Key::Escape);
            match key {
                Key::Focus(focused) => self.focus.reports(focused),
                // It may be a reply of the terminal.
                Key::Other => {}
                _ => self.focus.acts(now),
            }
            self.presses(key);
        }
        self.drops_what_is_too_long();
        escaped
    }

    /// Nothing has come since the last bytes: an escape that has been there alone for a while is the key Esc, which
    /// this returns, and a key that is not whole by now is none.
    pub fn pauses(&mut self, now: Instant) -> bool {
        let quiet = self.quiet(now);
        if self.is_pasting() || quiet < ESCAPE_ALONE {
            return false;
        }
        let escaped = !self.open.is_empty() && self.open.iter().all(|byte| *byte == 0x1b);
        if escaped || quiet >= KEY_LOST {
            self.open.clear();
        }
        escaped
    }

    /// Others read the keyboard from now on: a key that has not ended is none, and a paste ends here.
    pub fn settles(&mut self) {
        let open = std::mem::take(&mut self.open);
        if let Some(inner) = open.strip_prefix(PASTE_BEGINS).filter(|_| !self.discards) {
            self.presses(Key::Paste(pasted(without_begun_end(inner))));
        }
        self.discards = false;
        self.came = None;
    }

    /// Returns whether a key or paste has begun whose next bytes are still to be expected.
    pub fn awaits(&self, now: Instant) -> bool {
        let within = if self.is_pasting() { REST_OF_PASTE } else { ESCAPE_ALONE };
        (self.is_pasting() || !self.open.is_empty()) && self.quiet(now) < within
    }

    /// Returns whether a paste has begun and not ended.
    pub fn is_pasting(&self) -> bool {
        self.discards || self.open.starts_with(PASTE_BEGINS)
    }

    fn quiet(&self, now: Instant) -> Duration {
        self.came.map_or(Duration::ZERO, |came| now.saturating_duration_since(came))
    }

    fn next_key(&self) -> Option<(Key, usize)> {
        if self.discards { None } else { key(&self.open) }
    }

    /// Drops what has come of a paste that is too long. What may be the beginning of its end is kept.
    fn skips_paste(&mut self) {
        if !self.discards {
            return;
        }
        let end = position(&self.open, PASTE_ENDS);
        let length =
            end.map_or(self.open.len().saturating_sub(PASTE_ENDS.len() - 1), |end| end + PASTE_ENDS.len());
        self.open.drain(..length);
        self.discards = end.is_none();
    }

    fn drops_what_is_too_long(&mut self) {
        if self.is_pasting() && self.open.len() > LONGEST_PASTE {
            self.discards = true;
            self.skips_paste();
        } else if !self.is_pasting() && self.open.len() > LONGEST_KEY {
            self.open.clear();
        }
    }

    /// Returns what the next prompt begins with.
    pub fn take_next(&mut self) -> Option<Draft> {
        let next = self.sent.pop_front().unwrap_or_else(|| std::mem::take(&mut self.line));
        self.bytes = self.bytes.saturating_sub(next.bytes());
        Some(next).filter(|next| next.is_sent || !next.text.is_empty())
    }

    /// What is known of the focus of the terminal.
    pub fn focus(&mut self) -> &mut Focus {
        &mut self.focus
    }

    /// Returns whether messages wait that were sent.
    pub fn has_sent(&self) -> bool {
        !self.sent.is_empty()
    }

    /// Returns how often Shift-Tab was pressed since the last call.
    pub fn take_switches(&mut self) -> usize {
        std::mem::take(&mut self.switches)
    }

    /// Returns the texts of the messages that wait, and that of the line.
    pub fn shown(&self) -> (impl Iterator<Item = &str>, &str) {
        (self.sent.iter().map(|draft| draft.text.as_str()), &self.line.text)
    }

    fn presses(&mut self, key: Key) {
        let before = self.line.bytes();
        match key {
            Key::Escape | Key::Focus(_) | Key::Other => {}
            Key::Switch => self.switches += 1,
            Key::Picture => (self.meaning.picture)(),
            Key::Newline => {
                self.gains("\n");
            }
            Key::Text(text) => {
                self.gains(&text);
            }
            Key::Paste(text) => self.gains_paste(text),
            Key::Backspace => {
                let last = clusters(&self.line.text, usize::MAX).last().map_or(0, |(last, _)| last.len());
                self.keeps(self.line.text.len() - last);
            }
            Key::ClearsWord => {
                let word = self.line.text.trim_end().rfind(char::is_whitespace);
                self.keeps(word.map_or(0, |at| at + 1));
            }
            Key::ClearsLine => self.line = Draft::default(),
            // One after another says nothing more.
            Key::End if self.line.text.is_empty() && !self.sent.back().is_some_and(Draft::is_end) => {
                self.sent.push_back(Draft { is_sent: true, ..Draft::default() });
            }
            Key::End => {}
            Key::Enter if is_continued(&self.line.text) => {
                self.line.text.pop();
                self.line.text.push('\n');
            }
            Key::Enter if is_open(&self.line.text) => {
                self.gains("\n");
            }
            Key::Enter if self.line.text.trim().is_empty() => self.line = Draft::default(),
            // As pasted text comes in a terminal that does not bracket it.
            Key::Enter if self.at_once && (self.meaning.acts)(&self.line.text) => {
                self.gains("\n");
            }
            Key::Enter => {
                let sent = std::mem::take(&mut self.line);
                return self.sent.push_back(Draft { is_sent: true, ..sent });
            }
        }
        self.bytes = (self.bytes + self.line.bytes()).saturating_sub(before);
    }

    fn has_room(&self, bytes: usize) -> bool {
        self.bytes + bytes <= MOST
    }

    /// Returns whether the text was taken.
    fn gains(&mut self, text: &str) -> bool {
        let fits = self.has_room(text.len());
        if fits {
            self.line.text.push_str(text);
        }
        fits
    }

    /// A paste of several lines is kept as it was, too.
    fn gains_paste(&mut self, text: String) {
        let text = (self.meaning.pasted)(&text).unwrap_or(text);
        let of_lines = text.contains('\n');
        let fits = !of_lines || self.has_room(2 * text.len());
        if fits && self.gains(&text) && of_lines {
            self.line.pastes.push(text);
        }
    }

    /// Drops the end of the line. No paste is in one that is empty.
    fn keeps(&mut self, length: usize) {
        self.line.text.truncate(length);
        if self.line.text.is_empty() {
            self.line.pastes.clear();
        }
    }
}

/// The first key and its length; `None` if it has not ended.
fn key(bytes: &[u8]) -> Option<(Key, usize)> {
    let (first, rest) = bytes.split_first()?;
    let of_one = |key| Some((key, 1));
    match first {
        0x1b => escape(bytes, rest),
        b'\r' => of_one(Key::Enter),
        b'\n' => of_one(Key::Newline),
        0x04 => of_one(Key::End),
        0x7f | 0x08 => of_one(Key::Backspace),
        0x15 => of_one(Key::ClearsLine),
        0x16 => of_one(Key::Picture),
        0x17 => of_one(Key::ClearsWord),
        0..0x20 => of_one(Key::Other),
        _ => text(bytes),
    }
}

/// The key that begins with an escape, behind which is the rest. An escape with a character is Alt with that key.
fn escape(bytes: &[u8], rest: &[u8]) -> Option<(Key, usize)> {
    if let Some(inner) = bytes.strip_prefix(PASTE_BEGINS) {
        let end = position(inner, PASTE_ENDS)?;
        let text = pasted(inner.get(..end)?);
        return Some((Key::Paste(text), PASTE_BEGINS.len() + end + PASTE_ENDS.len()));
    }
    if bytes.starts_with(SWITCH) {
        return Some((Key::Switch, SWITCH.len()));
    }
    for (report, focused) in [(FOCUS_GAINED, true), (FOCUS_LOST, false)] {
        if bytes.starts_with(report.as_bytes()) {
            return Some((Key::Focus(focused), report.len()));
        }
    }
    match rest.first()? {
        b'[' => sequence(rest).map(|length| (Key::Other, length + 1)),
        // A key of the keypad, or Alt-O.
        b'O' => rest.get(1).map(|last| (Key::Other, 2 + usize::from((0x20..0x7f).contains(last)))),
        b']' | b'P' => reply(rest).map(|length| (Key::Other, length + 1)),
        b'\r' | b'\n' => Some((Key::Newline, 2)),
        0x7f | 0x08 => Some((Key::ClearsWord, 2)),
        0x1b => escape_twice(rest),
        0..0x20 => Some((Key::Escape, 1)),
        _ => with_alt(rest),
    }
}

/// Alt with a key that is an escape sequence itself, or Esc before something else.
fn escape_twice(rest: &[u8]) -> Option<(Key, usize)> {
    match rest.get(1)? {
        b'[' | b'O' => match escape(rest, rest.get(1..)?) {
            Some((Key::Other | Key::Switch, length)) => Some((Key::Other, length + 1)),
            // The paste or report is whole.
            Some(_) => Some((Key::Escape, 1)),
            None => rest.starts_with(PASTE_BEGINS).then_some((Key::Escape, 1)),
        },
        _ => Some((Key::Escape, 1)),
    }
}

fn with_alt(rest: &[u8]) -> Option<(Key, usize)> {
    let of_character = rest.get(..rest.len().min(4))?.utf8_chunks().next()?;
    match of_character.valid().chars().next() {
        Some(character) => Some((Key::Other, 1 + character.len_utf8())),
        None if std::str::from_utf8(rest).is_err_and(|error| error.error_len().is_none()) => None,
        None => Some((Key::Other, 1 + of_character.invalid().len())),
    }
}

/// The length of a control sequence that begins with its bracket. A byte that cannot end it is not of it.
fn sequence(bytes: &[u8]) -> Option<usize> {
    let end = bytes.iter().skip(1).position(|byte| !(0x20..=0x3f).contains(byte))? + 1;
    let is_of_it = (0x40..=0x7e).contains(bytes.get(end)?);
    Some(end + usize::from(is_of_it))
}

/// The length of a terminal's reply that begins with its letter and ends with BEL or `ESC \`. It is the letter alone,
/// pressed with Alt, if the rest is no reply.
fn reply(bytes: &[u8]) -> Option<usize> {
    const OF_KEY: usize = 1;
    if !(0x21..=0x3f).contains(bytes.get(1)?) {
        return Some(OF_KEY);
    }
    let end = bytes.iter().position(|byte| *byte < 0x20)?;
    match bytes.get(end)? {
        0x07 => Some(end + 1),
        0x1b if *bytes.get(end + 1)? == b'\\' => Some(end + 2),
        _ => Some(OF_KEY),
    }
}

fn position(bytes: &[u8], searched: &[u8]) -> Option<usize> {
    bytes.windows(searched.len()).position(|window| window == searched)
}

/// The text of a paste.
fn pasted(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace("\r\n", "\n").replace('\r', "\n")
}

/// What has come of a paste without the mark of its end, as far as that has come.
fn without_begun_end(inner: &[u8]) -> &[u8] {
    let begun = (1..PASTE_ENDS.len()).rev().filter_map(|length| PASTE_ENDS.get(..length));
    begun.filter_map(|begun| inner.strip_suffix(begun)).next().unwrap_or(inner)
}

/// The characters up to the next key that is none.
fn text(bytes: &[u8]) -> Option<(Key, usize)> {
    let end = bytes.iter().position(|byte| *byte < 0x20 || *byte == 0x7f).unwrap_or(bytes.len());
    let part = bytes.get(..end)?;
    let (text, length) = match std::str::from_utf8(part) {
        Ok(text) => (text.to_owned(), end),
        // A character that has not ended.
        Err(error) if error.error_len().is_none() && end == bytes.len() => {
            let whole = part.get(..error.valid_up_to())?;
            (String::from_utf8_lossy(whole).into_owned(), whole.len())
        }
        Err(_) => (String::from_utf8_lossy(part).into_owned(), end),
    };
    (length > 0).then_some((Key::Text(text), length))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    const SOON: Duration = Duration::from_millis(20);

    /// Someone who types, and the time.
    struct Typist {
        typed: TypedAhead,
        now: Instant,
    }

    impl Typist {
        fn new() -> Self {
            Self { typed: TypedAhead::default(), now: Instant::now() }
        }

        fn hears(&mut self, bytes: &[u8]) -> bool {
            self.typed.hears(bytes, self.now)
        }

        fn pauses(&mut self, length: Duration) -> bool {
            self.now += length;
            self.typed.pauses(self.now)
        }

        fn awaits(&self) -> bool {
            self.typed.awaits(self.now)
        }

        fn next(&mut self) -> Option<Draft> {
            self.typed.take_next()
        }
    }

    fn draft(text: &str, is_sent: bool) -> Draft {
        Draft { text: text.to_owned(), pastes: Vec::new(), is_sent }
    }

    #[test]
    fn keys_become_the_entries_of_the_next_prompts() {
        for (keys, sent, line) in [
            (&b"one\rtwo"[..], &["one"][..], "two"),
            (b"a\r\r b\r", &["a", " b"], ""),
            (b"helo\x7fp\r", &["help"], ""),
            ("日本👩‍👩‍👧\x7f\r".as_bytes(), &["日本"], ""),
            (b"one two\x17three\r", &["one three"], ""),
            (b"gone\x15kept", &[], "kept"),
            (b"two\\\rlines\r", &["two\nlines"], ""),
            (b"two\x1b\rlines\ntoo\r", &["two\nlines\ntoo"], ""),
            (b"\"\"\"\rx\r\"\"\"\r", &["\"\"\"\nx\n\"\"\""], ""),
            (b"a\x1b[D\x1bOAb\x1b[1;5C\t\x01\r", &["ab"], ""),
            (b"\xff\r", &["\u{fffd}"], ""),
        ] {
            // However the bytes come.
            for piece in [1, 2, 100] {
                let mut typed = Typist::new();
                let escaped = keys.chunks(piece).any(|keys| typed.hears(keys));
                assert!(!escaped, "{keys:?}");
                for text in sent {
                    assert_eq!(typed.next(), Some(draft(text, true)), "{keys:?} by {piece}");
                }
                assert_eq!(typed.next(), Some(draft(line, false)).filter(|_| !line.is_empty()), "{keys:?}");
                assert_eq!((typed.next(), typed.typed.bytes), (None, 0));
            }
        }
    }

    #[test]
    fn shift_tab_is_counted_and_changes_no_text() {
        for piece in [1, 2, 100] {
            let mut typed = Typist::new();
            let keys = b"a\x1b[Zb\x1b[Z\x1b\x1b[Z\x1b[1;2Zc\x1b[200~\x1b[Z\x1b[201~\r";
            assert!(!keys.chunks(piece).any(|keys| typed.hears(keys)));
            assert_eq!((typed.typed.take_switches(), typed.typed.take_switches()), (2, 0), "by {piece}");
            assert_eq!(typed.next(), Some(draft("abc\x1b[Z", true)));
        }
    }

    #[test]
    fn reports_of_the_focus_are_no_keys() {
        for piece in [1, 2, 3, 100] {
            let mut typed = Typist::new();
            let hears =
                |typed: &mut Typist, keys: &[u8]| assert!(!keys.chunks(piece).any(|keys| typed.hears(keys)));
            hears(&mut typed, b"a\x1b[I");
            let late = typed.now + Duration::from_secs(3600);
            assert!(!typed.typed.focus().is_elsewhere(late), "by {piece}");
            hears(&mut typed, b"b\x1b[O");
            assert!(typed.typed.focus().is_elsewhere(typed.now), "by {piece}");
            hears(&mut typed, b"\x1b]11;rgb:0/0/0\x07");
            assert!(typed.typed.focus().is_elsewhere(typed.now), "a reply is no key");
            hears(&mut typed, b"c\x1b[200~\x1b[O\x1b[201~\r");
            assert!(!typed.typed.focus().is_elsewhere(late), "not by what is pasted");
            assert_eq!(typed.next(), Some(draft("abc\x1b[O", true)));
        }
    }

    #[test]
    fn a_line_that_was_not_sent_goes_on_behind_what_was() {
        let mut typed = Typist::new();
        typed.hears(b"one\rtw");
        assert_eq!(typed.next(), Some(draft("one", true)));
        typed.hears(b"o\r");
        assert_eq!((typed.next(), typed.next()), (Some(draft("two", true)), None));
    }

    #[test]
    fn ctrl_d_is_the_end_where_nothing_is_typed() {
        let mut typed = Typist::new();
        typed.hears(b"x\x04\r\x04\x04\x04");
        assert_eq!(typed.next(), Some(draft("x", true)));
        assert!(typed.next().is_some_and(|draft| draft.is_end()) && typed.next().is_none());
    }

    #[test]
    fn esc_is_a_key_where_nothing_follows_it() {
        let mut typed = Typist::new();
        assert!(!typed.hears(b"a\x1b") && !typed.pauses(SOON));
        assert!(typed.pauses(ESCAPE_ALONE) && !typed.pauses(ESCAPE_ALONE));
        assert!(!typed.hears(b"\x1b"));
        typed.now += ESCAPE_ALONE;
        assert!(typed.hears(b"xy\r"), "the letter is not lost");
        assert_eq!(typed.next(), Some(draft("axy", true)));
        assert!(!typed.hears(b"\x1b") && !typed.hears(b"[A") && !typed.pauses(ESCAPE_ALONE));
        assert!(!typed.hears(b"\x1b\x1b") && typed.pauses(ESCAPE_ALONE), "twice");
        assert!(typed.hears(b"\x1b\x1b[200~x\x1b[201~"), "before a paste");
        assert_eq!(typed.next(), Some(draft("x", false)));
        assert!(!typed.hears(b"\x1bO\x1b[200~y\x1b[201~\x1bO\r"), "Alt-O");
        assert_eq!((typed.next(), typed.next()), (Some(draft("y", true)), None));
    }

    #[test]
    fn no_bytes_are_too_much() {
        let parts = [
            &b"\x1b"[..],
            b"[",
            b"200~",
            b"201~",
            b"]",
            b"P",
            b"1",
            b"\\",
            b"\x07",
            b"\r",
            b"O",
            b"\xe6",
            b"a",
        ];
        let mut state = 1_u32;
        let mut typed = Typist::new();
        for step in 0..20_000_u64 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            typed.hears(parts[(state >> 16) as usize % parts.len()]);
            typed.now += Duration::from_millis(step % 7);
            if step % 50 == 0 {
                typed.typed.settles();
                assert!(!typed.awaits());
                while typed.next().is_some() {}
                assert_eq!(typed.typed.bytes, 0);
            }
        }
    }

    #[test]
    fn what_else_begins_with_an_escape_is_no_esc() {
        for keys in [
            &b"\x1bu"[..],
            "\x1bé".as_bytes(),
            b"\x1bb",
            b"\x1b\x1b[A",
            b"\x1b\x1bOA",
            b"\x1b]11;rgb:1e1e/1e1e/1e1e\x07",
            b"\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\",
            b"\x1bP>|term(1)\x1b\\",
            b"\x1bP1$r0m\x1b\\",
            b"\x1b]\x1bP",
        ] {
            for piece in [1, 2, 100] {
                let mut typed = Typist::new();
                let escaped = keys.chunks(piece).any(|keys| typed.hears(keys));
                assert!(!escaped && !typed.pauses(KEY_LOST), "{keys:?} by {piece}");
                typed.hears(b"ok\r");
                assert_eq!(typed.next(), Some(draft("ok", true)), "{keys:?} by {piece}");
            }
        }
    }

    #[test]
    fn a_reply_that_is_none_hides_no_key() {
        let mut typed = Typist::new();
        assert!(!typed.hears(b"\x1b]one\r\x1b]11;two\r"));
        assert_eq!((typed.next(), typed.next()), (Some(draft("one", true)), Some(draft("11;two", true))));
    }

    #[test]
    fn a_key_that_has_not_ended_is_not_handed_over() {
        for begun in [&b"\x1b"[..], b"\x1b[", b"\x1b[1;", b"\x1bO", b"\x1b]11;", b"\xe6"] {
            let mut typed = Typist::new();
            assert!(!typed.hears(begun));
            assert!(typed.awaits());
            typed.now += ESCAPE_ALONE;
            assert!(!typed.awaits());
            typed.typed.settles();
            assert!(!typed.awaits() && !typed.pauses(ESCAPE_ALONE), "{begun:?}");
            assert!(!typed.hears(b"x\r"));
            assert_eq!(typed.next(), Some(draft("x", true)), "{begun:?}");
        }
    }

    #[test]
    fn a_paste_that_has_not_ended_is_handed_over_as_far_as_it_came() {
        for end in ["", "\x1b", "\x1b[201"] {
            let mut typed = Typist::new();
            typed.hears(format!("\x1b[200~one\rtwo{end}").as_bytes());
            assert!(!typed.pauses(KEY_LOST));
            assert!(typed.awaits());
            typed.now += REST_OF_PASTE;
            assert!(!typed.awaits() && typed.typed.is_pasting());
            typed.typed.settles();
            let pastes = vec!["one\ntwo".to_owned()];
            let expected = Draft { text: "one\ntwo".to_owned(), pastes, is_sent: false };
            assert_eq!((typed.awaits(), typed.next()), (false, Some(expected)));
            typed.hears(b"x\r");
            assert_eq!(typed.next(), Some(draft("x", true)));
        }
    }

    fn meaning() -> Meaning {
        let pasted = |text: &str| (text == "/a.png").then(|| "[a picture]".to_owned());
        Meaning { acts: |entry| entry.starts_with('!'), pasted: Arc::new(pasted), picture: Arc::new(|| {}) }
    }

    #[test]
    fn a_dropped_file_stands_in_the_entry() {
        let mut typed = Typist::new();
        typed.typed.follows(meaning());
        typed.hears(b"see \x1b[200~/a.png\x1b[201~!\r\x1b[200~/b.png\x1b[201~");
        let drafts = (typed.next(), typed.next());
        assert_eq!(drafts, (Some(draft("see [a picture]!", true)), Some(draft("/b.png", false))));
    }

    #[test]
    fn a_command_that_comes_at_once_with_its_enter_waits_for_another() {
        for (keys, text) in [
            (&[&b"!ls\r"[..]][..], "!ls\n"),
            (&[b"!ls\r\rmore\r"], "!ls\n\nmore\n"),
            (&[b"!l", b"s\r"], "!ls\n"),
            (&[b"!ls"], "!ls"),
        ] {
            let mut typed = Typist::new();
            typed.typed.follows(meaning());
            for keys in keys {
                typed.hears(keys);
            }
            assert!(!typed.typed.has_sent(), "{text}");
            typed.hears(b"\r");
            assert_eq!(typed.next(), Some(draft(text, true)));
        }
        let mut typed = Typist::new();
        typed.typed.follows(meaning());
        typed.hears(b"one\r!ls\r");
        assert_eq!((typed.next(), typed.next()), (Some(draft("one", true)), Some(draft("!ls\n", false))));
    }

    #[test]
    fn a_paste_that_is_too_long_runs_nothing() {
        let mut typed = Typist::new();
        typed.hears(b"a\x1b[200~");
        typed.hears(&vec![b'x'; LONGEST_PASTE]);
        assert!(!typed.hears(b"\r/allow *\r\x1b") && !typed.pauses(KEY_LOST));
        assert!(typed.awaits());
        assert!(!typed.hears(b"[20") && !typed.hears(b"1~b\r"));
        assert_eq!((typed.next(), typed.next()), (Some(draft("ab", true)), None));
        // One that is left to others is over, too.
        typed.hears(b"\x1b[200~");
        typed.hears(&vec![b'x'; LONGEST_PASTE]);
        typed.typed.settles();
        typed.hears(b"c\r");
        assert_eq!((typed.next(), typed.next()), (Some(draft("c", true)), None));
    }

    #[test]
    fn pastes_that_find_no_room_are_not_kept() {
        let mut typed = Typist::new();
        let paste = format!("\x1b[200~{}\n\x1b[201~", "x".repeat(LONGEST_PASTE / 2));
        for _ in 0..4 {
            typed.hears(paste.as_bytes());
        }
        assert!(typed.typed.bytes <= MOST);
        let next = typed.next().unwrap();
        assert_eq!((next.pastes.len(), next.bytes()), (1, LONGEST_PASTE + 2));
        assert_eq!(typed.typed.bytes, 0);
        for _ in 0..4 {
            typed.hears(b"\x1b[200~a\nb\x1b[201~\x17\x17");
        }
        assert_eq!((typed.next(), typed.typed.bytes), (None, 0));
    }

    #[test]
    fn a_paste_sends_nothing_and_is_known_as_one() {
        let mut typed = Typist::new();
        typed.hears(b"see \x1b[200~one\rtw");
        assert!(typed.typed.is_pasting() && !typed.pauses(ESCAPE_ALONE));
        typed.hears(b"o\x1b[201~ now\r");
        assert!(!typed.typed.is_pasting());
        let pastes = vec!["one\ntwo".to_owned()];
        let expected = Draft { text: "see one\ntwo now".to_owned(), pastes, is_sent: true };
        assert_eq!(typed.next(), Some(expected));
    }

    #[test]
    fn there_is_an_end_to_what_is_kept() {
        let mut typed = Typist::new();
        typed.hears(&vec![b'x'; MOST]);
        typed.hears(b"y");
        assert_eq!(typed.next().map(|draft| draft.text.len()), Some(MOST));
    }
}
