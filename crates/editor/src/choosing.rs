//! A question that one key answers: a letter, arrows and Enter, Esc; or words. Bytes of the keyboard come in with their
//! time; it does no I/O.
//!
//! A letter counts if nothing follows it for a while, so that words may begin with it. What comes in one piece, as a paste
//! does, is text: nothing in it is a key, except a letter with its Enter and nothing else.
//!
//! A list has no letters: words search in it, and Enter takes the selected entry. Nothing in it is an approval, so what
//! comes in one piece is keys, except a paste that the terminal marks as one.

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
    /// The options are entries of a list.
    is_list: bool,
    /// The entries are not yet those that the words find.
    is_behind: bool,
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
        Self {
            letters,
            selected,
            is_list: false,
            is_behind: false,
            words,
            letter: None,
            open,
            came: None,
            stray_enter,
        }
    }

    /// A list that is searched with these words; empty until [`Choosing::offer`]. An Enter before the entries that the words
    /// find are offered gives the words.
    pub fn list(words: &str) -> Self {
        Self { is_list: true, words: words.to_owned(), ..Self::new(Vec::new(), 0, None) }
    }

    /// The list has this many entries from now on, of which this one is selected.
    pub fn offer(&mut self, count: usize, selected: usize) {
        self.letters = vec![""; count];
        self.selected = selected.min(count.saturating_sub(1));
        self.is_behind = false;
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
            _ if self.is_list => presses.into_iter().find_map(|press| self.presses(press, now)),
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
        if self.is_list {
            return self.presses_in_list(press);
        }
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
            (press @ (Press::Up | Press::Down), _) => self.moves(press == Press::Down),
            (Press::Back, _) => return Some(Picked::Nothing),
            (Press::Suspend, _) => return Some(Picked::Suspend),
            (Press::Backspace | Press::ClearsWord | Press::ClearsLine, _) => {}
        }
        None
    }

    fn moves(&mut self, down: bool) {
        let last = self.letters.len().saturating_sub(1);
        self.selected = if down { (self.selected + 1).min(last) } else { self.selected.saturating_sub(1) };
    }

    fn presses_in_list(&mut self, press: Press) -> Option<Picked> {
        match press {
            Press::Up | Press::Down => self.moves(press == Press::Down),
            Press::Enter if !self.letters.is_empty() && !self.is_behind => {
                return Some(Picked::Option(self.selected));
            }
            Press::Enter if self.words.is_empty() => {}
            Press::Enter => return Some(Picked::Words(self.words.trim().to_owned())),
            Press::Back if self.words.is_empty() => return Some(Picked::Nothing),
            _ => {
                self.is_behind = true;
                return self.presses_in_words(press);
            }
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
mod tests;
