//! A question that one key answers: a letter, arrows and Enter, Esc; or words. Bytes of the keyboard come in with their
//! time; it does no I/O.
//!
//! A letter counts if nothing follows it for a while, so that words may begin with it. What comes in one piece, as a paste
//! does, is text: nothing in it is a key, except a letter with its Enter and nothing else.

use std::time::{Duration, Instant};

use converse_text::clusters;

use crate::ahead::key::{Key, Move, PASTE_BEGINS, key};
use crate::ahead::{ESCAPE_ALONE, KEY_LOST, REST_OF_PASTE};

/// A letter after which nothing comes for so long is an answer.
const LETTER_ALONE: Duration = Duration::from_millis(300);
/// A letter and its Enter, after which nothing comes for so long, are an answer.
const ENTERED_ALONE: Duration = Duration::from_millis(20);
/// How long after a letter was taken an Enter still belongs to it.
const STRAY_ENTER: Duration = Duration::from_secs(1);
/// Bytes of words, and of a paste; more are lost.
const MOST: usize = 64 * 1024;
const CTRL_Z: u8 = 0x1a;

/// What was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Picked {
    /// The option at this place, with Enter.
    Option(usize),
    /// The option at this place, by its letter alone.
    Letter(usize),
    /// Words, neither empty nor with blanks around them.
    Words(String),
    /// Esc or Ctrl-D.
    Nothing,
    /// Ctrl-Z.
    Suspend,
}

/// A question that is open.
#[derive(Debug, Clone)]
pub struct Choosing {
    /// The letters of each option, in lower case.
    letters: Vec<&'static str>,
    selected: usize,
    words: String,
    letter: Option<Letter>,
    /// Bytes of a key or paste that has not ended.
    open: Vec<u8>,
    /// When the last bytes came.
    came: Option<Instant>,
    /// Until then, an Enter before any other key belongs to the answer before.
    stray_enter: Option<Instant>,
}

/// A letter that is an answer unless something follows it.
#[derive(Debug, Clone)]
struct Letter {
    letter: char,
    option: usize,
    due: Instant,
    entered: bool,
}

/// A key, as far as it matters here.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Press {
    Char(char),
    Paste(String),
    Enter,
    Up,
    Down,
    Back,
    Backspace,
    ClearsWord,
    ClearsLine,
    Suspend,
}

impl Press {
    fn is_text(&self) -> bool {
        matches!(self, Self::Char(_) | Self::Paste(_))
    }
}

impl Choosing {
    /// `letters` of each option, in lower case; `selected` is the option that Enter takes first. `after` is when the
    /// question before was answered by a letter alone.
    pub fn new(letters: Vec<&'static str>, selected: usize, after: Option<Instant>) -> Self {
        let stray_enter = after.map(|after| after + STRAY_ENTER);
        let (words, open) = (String::new(), Vec::new());
        Self { letters, selected, words, letter: None, open, came: None, stray_enter }
    }

    /// The option that is selected.
    pub fn selected(&self) -> usize {
        self.letter.as_ref().map_or(self.selected, |letter| letter.option)
    }

    /// The words that are typed; empty while there are none.
    pub fn words(&self) -> &str {
        &self.words
    }

    /// Returns the time after which [`Choosing::pauses`] has to be called, if nothing comes.
    pub fn wakes(&self, now: Instant) -> Option<Duration> {
        if !self.open.is_empty() {
            return Some(ESCAPE_ALONE);
        }
        self.letter.as_ref().map(|letter| letter.due.saturating_duration_since(now))
    }

    /// Nothing has come since the last bytes. A letter that is alone is an answer, an escape that is alone is Esc, and
    /// a key that is not whole by now is none.
    pub fn pauses(&mut self, now: Instant) -> Option<Picked> {
        if self.open.is_empty() {
            let letter = self.letter.take_if(|letter| now >= letter.due)?;
            return Some(if letter.entered {
                Picked::Option(letter.option)
            } else {
                Picked::Letter(letter.option)
            });
        }
        let quiet = self.came.map_or(Duration::ZERO, |came| now.saturating_duration_since(came));
        if self.open.iter().all(|byte| *byte == 0x1b) && quiet >= ESCAPE_ALONE {
            self.open.clear();
            return self.presses(Press::Back, now);
        }
        if quiet >= if self.is_pasting() { REST_OF_PASTE } else { KEY_LOST } {
            self.open.clear();
        }
        None
    }

    /// Takes in what the keyboard sent in one piece.
    pub fn hears(&mut self, bytes: &[u8], now: Instant) -> Option<Picked> {
        self.came = Some(now);
        self.open.extend_from_slice(bytes);
        let mut presses = Vec::new();
        while let Some((key, length)) = key(&self.open) {
            let bytes: Vec<u8> = self.open.drain(..length).collect();
            presses.extend(pressed(key, &bytes));
        }
        if self.open.len() > MOST {
            // The middle of a paste goes; what may be the beginning of its end stays.
            self.open.drain(PASTE_BEGINS.len()..self.open.len() - PASTE_BEGINS.len());
        }
        match presses.as_slice() {
            [] => None,
            [_] => self.presses(presses.remove(0), now),
            [Press::Char(_), Press::Enter] if self.words.is_empty() && self.letter.is_none() => {
                presses.into_iter().find_map(|press| self.presses(press, now))
            }
            more if more.iter().any(Press::is_text) => {
                self.gains_at_once(presses);
                None
            }
            _ => presses
                .into_iter()
                .filter(|press| *press != Press::Enter)
                .find_map(|press| self.presses(press, now)),
        }
    }

    fn is_pasting(&self) -> bool {
        self.open.starts_with(PASTE_BEGINS)
    }

    fn presses(&mut self, press: Press, now: Instant) -> Option<Picked> {
        let stray_enter = self.stray_enter.take();
        if !self.words.is_empty() {
            return self.presses_in_words(press);
        }
        match (press, self.letter.take()) {
            (Press::Char(c), None) if c.is_whitespace() => {}
            (Press::Char(c), None) => match self.option_of(c) {
                Some(option) => {
                    let due = now + LETTER_ALONE;
                    self.letter = Some(Letter { letter: c, option, due, entered: false });
                }
                None => self.gains(c.encode_utf8(&mut [0; 4])),
            },
            (press @ (Press::Char(_) | Press::Paste(_)), letter) => {
                self.letter = letter;
                self.gains_at_once(vec![press]);
            }
            (Press::Enter, Some(letter)) => {
                let due = letter.due.min(now + ENTERED_ALONE);
                self.letter = Some(Letter { entered: true, due, ..letter });
            }
            (Press::Enter, None) if stray_enter.is_some_and(|until| now < until) => {}
            (Press::Enter, None) => return Some(Picked::Option(self.selected)),
            (Press::Up, _) => self.selected = self.selected.saturating_sub(1),
            (Press::Down, _) => {
                self.selected = (self.selected + 1).min(self.letters.len().saturating_sub(1));
            }
            (Press::Back, _) => return Some(Picked::Nothing),
            (Press::Suspend, _) => return Some(Picked::Suspend),
            (Press::Backspace | Press::ClearsWord | Press::ClearsLine, _) => {}
        }
        None
    }

    fn presses_in_words(&mut self, press: Press) -> Option<Picked> {
        match press {
            Press::Char(c) => self.gains(c.encode_utf8(&mut [0; 4])),
            Press::Paste(text) => self.gains(&text),
            Press::Enter => return Some(Picked::Words(std::mem::take(&mut self.words).trim().to_owned())),
            Press::Suspend => return Some(Picked::Suspend),
            Press::Back | Press::ClearsLine => self.words.clear(),
            Press::Backspace => {
                let last = clusters(&self.words, usize::MAX).last().map_or(0, |(last, _)| last.len());
                self.words.truncate(self.words.len() - last);
            }
            Press::ClearsWord => {
                let word = self.words.trim_end().rfind(char::is_whitespace);
                self.words.truncate(word.map_or(0, |at| at + 1));
            }
            Press::Up | Press::Down => {}
        }
        self.drops_blanks();
        None
    }

    /// Text that came in one piece, behind a letter that was not alone.
    fn gains_at_once(&mut self, presses: Vec<Press>) {
        self.stray_enter = None;
        if let Some(Letter { letter, entered, .. }) = self.letter.take() {
            self.words.push(letter);
            self.words.push_str(if entered { "\n" } else { "" });
        }
        for press in presses {
            match press {
                Press::Enter => self.gains("\n"),
                press @ (Press::Char(_) | Press::Paste(_) | Press::Backspace) => {
                    self.presses_in_words(press);
                }
                _ => {}
            }
        }
        self.drops_blanks();
    }

    fn gains(&mut self, text: &str) {
        if self.words.len() + text.len() <= MOST {
            self.words.push_str(text);
        }
    }

    /// Blanks alone are no words.
    fn drops_blanks(&mut self) {
        if self.words.trim().is_empty() {
            self.words.clear();
        }
    }

    fn option_of(&self, letter: char) -> Option<usize> {
        let mut lower = letter.to_lowercase();
        self.letters
            .iter()
            .position(|letters| lower.clone().all(|c| letters.contains(c)))
            .filter(|_| lower.next().is_some())
    }
}

fn pressed(key: Key, bytes: &[u8]) -> Vec<Press> {
    let press = match key {
        Key::Text(text) => return text.chars().map(Press::Char).collect(),
        Key::Paste(text) => Press::Paste(text),
        Key::Enter | Key::Newline => Press::Enter,
        Key::Escape | Key::End => Press::Back,
        Key::Backspace => Press::Backspace,
        Key::ClearsWord => Press::ClearsWord,
        Key::ClearsLine => Press::ClearsLine,
        Key::Moves(Move::Up | Move::Left) => Press::Up,
        Key::Moves(Move::Down | Move::Right) => Press::Down,
        Key::Other if bytes == [CTRL_Z] => Press::Suspend,
        _ => return Vec::new(),
    };
    vec![press]
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: [&str; 3] = ["yд", "nн", "e"];

    /// What comes of these pieces, each after so many milliseconds; the last one is followed by a long pause.
    fn picked(pieces: &[(u64, &[u8])]) -> (Option<Picked>, String) {
        plays(&mut Choosing::new(OPTIONS.to_vec(), 1, None), pieces)
    }

    /// As a reader does: it looks when it is told to, and whenever bytes come.
    fn plays(choosing: &mut Choosing, pieces: &[(u64, &[u8])]) -> (Option<Picked>, String) {
        let mut now = Instant::now();
        for (index, (wait, bytes)) in pieces.iter().chain([&(2000, &b""[..])]).enumerate() {
            let comes = now + Duration::from_millis(*wait);
            while let Some(wakes) = choosing.wakes(now).filter(|wakes| now + *wakes < comes) {
                now += wakes;
                if let Some(picked) = choosing.pauses(now) {
                    assert!(index >= pieces.len(), "answered before {bytes:?}");
                    return (Some(picked), choosing.words().to_owned());
                }
            }
            now = comes;
            if let Some(picked) = choosing.hears(bytes, now).filter(|_| !bytes.is_empty()) {
                assert!(index + 1 == pieces.len(), "answered by {bytes:?}");
                return (Some(picked), choosing.words().to_owned());
            }
        }
        (None, choosing.words().to_owned())
    }

    #[test]
    fn one_key_answers() {
        for (bytes, expected) in [
            (&b"y"[..], Picked::Letter(0)),
            (b"Y", Picked::Letter(0)),
            ("д".as_bytes(), Picked::Letter(0)),
            (b"e", Picked::Letter(2)),
            (b"y\r", Picked::Option(0)),
            (b"y\n", Picked::Option(0)),
            (b"\r", Picked::Option(1)),
            (b"\n", Picked::Option(1)),
            (b"\x1b", Picked::Nothing),
            (b"\x04", Picked::Nothing),
            (b"\x1a", Picked::Suspend),
        ] {
            assert_eq!(picked(&[(0, bytes)]), (Some(expected), String::new()), "{bytes:?}");
        }
    }

    #[test]
    fn keys_that_come_one_after_the_other() {
        let words = |text: &str| Some(Picked::Words(text.to_owned()));
        for (pieces, expected) in [
            (&[(0, &b"\x1b[A"[..]), (9, b"\r")][..], Some(Picked::Option(0))),
            (&[(0, b"\x1bOB"), (0, b"\x1b[C"), (0, b"\r")], Some(Picked::Option(2))),
            (&[(0, b"\x1b[B\x1b[B"), (0, b"\x1b[A\x1b[A\x1b[A"), (0, b"\r")], Some(Picked::Option(0))),
            (&[(0, b"y"), (250, b"\r")], Some(Picked::Option(0))),
            (&[(0, b"y"), (9, b"\x1b")], Some(Picked::Nothing)),
            (&[(0, b"y"), (9, b"\x7f"), (9, b"\r")], Some(Picked::Option(1))),
            (&[(0, b"y"), (9, b"\x1b[B"), (9, b"\r")], Some(Picked::Option(2))),
            (&[(0, b"y"), (250, b"o"), (250, b"u"), (900, b"\r")], words("you")),
            (&[(0, b"n"), (99, b" "), (99, b"x"), (99, b"\r")], words("n x")),
            (&[(0, b"w"), (900, b"y"), (900, b"\r")], words("wy")),
            (&[(0, b"not\x7fw"), (9, b"\x17"), (9, b"e"), (300, b"\r")], Some(Picked::Option(2))),
            (&[(0, b"ab c"), (9, b"\x17"), (9, b"\x7f"), (9, b"\r")], words("ab")),
            (&[(0, b"ab"), (9, b"\x15"), (9, b"\r")], Some(Picked::Option(1))),
            (&[(0, b"ab"), (9, b"\x1b"), (99, b"y")], Some(Picked::Letter(0))),
            (&[(0, "ü".as_bytes()), (9, b"\x7f"), (9, b" "), (9, b"y\r")], Some(Picked::Option(0))),
            (&[(0, b"x"), (9, b"\x1a")], Some(Picked::Suspend)),
        ] {
            assert_eq!(picked(pieces).0, expected, "{pieces:?}");
        }
    }

    #[test]
    fn a_paste_answers_nothing() {
        for (pieces, words) in [
            (&[(0, &b"\x1b[200~y\r\x1b[201~"[..])][..], "y\n"),
            (&[(0, b"\x1b[200~y"), (900, b"\r\x1b[201~")], "y\n"),
            (&[(0, b"\x1b[200~\r\r\x1b[201~")], ""),
            (&[(0, b"y\ry\r")], "y\ny\n"),
            (&[(0, b"yes\r")], "yes\n"),
            (&[(0, b"x"), (9, b"y\r")], "xy\n"),
            (&[(0, b"\ry\r")], "\ny\n"),
            (&[(0, b"y\r"), (9, b"rm -r x\r")], "y\nrm -r x\n"),
            (&[(0, b"y"), (9, b"\x1b[200~\r\x1b[201~")], "y\n"),
            (&[(0, b"a\x1by")], "a"),
            (&[(0, b"a\x1b[Ab\x1a\r")], "ab\n"),
            (&[(0, b"\r\r")], ""),
            (&[(0, b"\x1b[B\r")], ""),
        ] {
            assert_eq!(picked(pieces), (None, words.to_owned()), "{pieces:?}");
        }
        let (long, mut choosing) = (vec![b'x'; 3 * MOST], Choosing::new(OPTIONS.to_vec(), 1, None));
        let paste = [PASTE_BEGINS, &long, b"y\x1b[20"].concat();
        assert_eq!(plays(&mut choosing, &[(0, &paste), (9, b"1~")]).0, None);
        assert!(choosing.words().ends_with("xy") && choosing.words().len() < 99 && choosing.open.is_empty());
    }

    #[test]
    fn reports_of_the_terminal_are_no_keys() {
        for bytes in
            [&b"\x1b[I"[..], b"\x1b[O", b"\x1b[24;80R", b"\x1b]11;rgb:0/0/0\x07", b"\x1b[Z", b"\x1by"]
        {
            assert_eq!(picked(&[(0, bytes)]), (None, String::new()), "{bytes:?}");
            assert_eq!(picked(&[(0, b"y"), (9, bytes)]).0, Some(Picked::Letter(0)), "{bytes:?}");
        }
        // The rest of what follows a letter is waited for.
        assert_eq!(
            picked(&[(0, b"y"), (9, b"\xd0"), (299, b"\xb4"), (9, b"\r")]).0,
            Some(Picked::Words("yд".into()))
        );
    }

    #[test]
    fn an_enter_behind_a_letter_that_was_taken_is_not_for_the_next_question() {
        for (wait, pieces, expected) in [
            (0, &[(0, &b"\r"[..])][..], None),
            (0, &[(0, b"\r"), (0, b"\r")], Some(Picked::Option(1))),
            (0, &[(0, b"\x1b[A"), (0, b"\r")], Some(Picked::Option(0))),
            (1001, &[(0, b"\r")], Some(Picked::Option(1))),
        ] {
            let after = Instant::now().checked_sub(Duration::from_millis(wait));
            let mut choosing = Choosing::new(OPTIONS.to_vec(), 1, after);
            assert_eq!(plays(&mut choosing, pieces).0, expected, "{wait} {pieces:?}");
        }
    }
}
