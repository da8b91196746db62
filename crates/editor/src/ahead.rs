//! What is typed while a turn runs: the entries that the next prompts begin with. Bytes of the keyboard come in; it does
//! no I/O.

pub(crate) mod key;
mod line;
mod queue;

use std::time::{Duration, Instant};

use crate::Meaning;
use crate::entry::{is_continued, is_open, unfenced};
use crate::focus::Focus;
use key::{Key, Move, PASTE_BEGINS, PASTE_ENDS, key, pasted, position, without_begun_end};
use line::Line;
use queue::Queue;

/// Bytes of all that waits, a paste of several lines counting twice; what is typed beyond it is lost.
const MOST: usize = 8 * 1024 * 1024;
/// Bytes of a paste; a longer one is lost as a whole.
const LONGEST_PASTE: usize = 4 * 1024 * 1024;
/// Bytes of a key or of a terminal's reply, which is no key.
const LONGEST_KEY: usize = 4096;
/// An escape after which nothing comes for so long is the key Esc.
pub(crate) const ESCAPE_ALONE: Duration = Duration::from_millis(50);
/// A key of several bytes whose end does not come for so long never ends.
pub(crate) const KEY_LOST: Duration = Duration::from_millis(500);
/// How long it is waited for the next bytes of a paste that has begun.
pub(crate) const REST_OF_PASTE: Duration = Duration::from_secs(30);

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
    sent: Queue,
    /// So many of them, the first ones, are for the turn that runs.
    steers: usize,
    line: Line,
    /// Where the line was among those that were sent, if it was taken back.
    place: Option<Place>,
    /// Why a message could not be sent to the turn that runs, and waits instead.
    refusal: Option<&'static str>,
    /// Bytes of a key or paste that has not ended.
    open: Vec<u8>,
    /// A paste that is too long has begun: nothing is a key until it ends.
    discards: bool,
    /// When the last bytes came.
    came: Option<Instant>,
    /// How often Shift-Tab was pressed.
    switches: usize,
    focus: Focus,
    /// The last bytes are more than one Enter.
    at_once: bool,
    meaning: Meaning,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    at: usize,
    /// It was for the turn that runs.
    steers: bool,
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

    /// Returns what the next prompt begins with. A line that was taken back from the front is not overtaken by those behind
    /// it.
    pub fn take_next(&mut self) -> Option<Draft> {
        self.ends_turn();
        let next = if self.sends_next() { self.take_first() } else { None };
        let next = next.unwrap_or_else(|| {
            self.place = None;
            std::mem::take(&mut self.line).into_draft()
        });
        Some(next).filter(|next| next.is_sent || !next.text.is_empty())
    }

    /// Returns the words of the next message for the turn that runs.
    pub fn take_steering(&mut self) -> Option<String> {
        self.steers = self.steers.checked_sub(1)?;
        let draft = self.take_first()?;
        Some(self.words(&draft.text).unwrap_or(draft.text))
    }

    /// The turn has ended: messages for it that it did not take are the next ones.
    pub fn ends_turn(&mut self) {
        (self.steers, self.refusal) = (0, None);
        if let Some(place) = &mut self.place {
            place.steers = false;
        }
    }

    fn take_first(&mut self) -> Option<Draft> {
        if let Some(place) = &mut self.place {
            place.at = place.at.saturating_sub(1);
        }
        self.sent.take(0)
    }

    /// Returns why a message waits that was to be sent to the turn that runs, once.
    pub fn take_refusal(&mut self) -> Option<&'static str> {
        self.refusal.take()
    }

    /// What is known of the focus of the terminal.
    pub fn focus(&mut self) -> &mut Focus {
        &mut self.focus
    }

    /// Returns whether the next prompt begins with a message that was sent.
    pub fn sends_next(&self) -> bool {
        self.sent.len() > 0 && self.place.is_none_or(|place| place.at > 0)
    }

    /// Returns how often Shift-Tab was pressed since the last call.
    pub fn take_switches(&mut self) -> usize {
        std::mem::take(&mut self.switches)
    }

    /// Returns the texts of the messages that wait, and whether each is for the turn that runs. An empty one is Ctrl-D.
    pub fn queued(&self) -> impl Iterator<Item = (bool, &str)> {
        self.sent.texts().enumerate().map(|(at, text)| (at < self.steers, text))
    }

    /// Returns the text of the line before and behind the cursor.
    pub fn line(&self) -> (&str, &str) {
        self.line.text().split_at(self.line.cursor())
    }

    fn presses(&mut self, key: Key) {
        match key {
            Key::Escape | Key::Focus(_) | Key::Other => {}
            Key::Switch => self.switches += 1,
            Key::Picture => (self.meaning.picture)(),
            Key::Newline => self.gains("\n"),
            Key::Text(text) => self.gains(&text),
            Key::Paste(text) => self.gains_paste(text),
            Key::Backspace => self.line.backspace(),
            Key::Delete => self.line.delete(),
            Key::ClearsWord => self.line.drop_word(),
            Key::ClearsRest => self.line.drop_rest(),
            Key::ClearsLine => self.line = Line::default(),
            Key::Moves(Move::Up) if self.is_browsing() => self.takes_back_earlier(),
            Key::Moves(Move::Down) if self.is_browsing() => self.takes_back_later(),
            Key::Moves(to) => self.line.moves(to),
            Key::End if self.line.text().is_empty() => self.sent.ends(),
            Key::End => {}
            Key::Enter => self.enters(),
            Key::Steers => self.steers(),
        }
        if self.line.text().is_empty() {
            self.place = None;
        }
    }

    fn enters(&mut self) {
        let text = self.line.text();
        if is_continued(text) {
            self.line.continues();
        } else if is_open(text) {
            self.gains("\n");
        } else if text.trim().is_empty() {
            self.line = Line::default();
        } else if self.at_once && (self.meaning.acts)(text) {
            // As pasted text comes in a terminal that does not bracket it.
            self.gains("\n");
        } else {
            self.sends();
        }
    }

    /// The line is one of those that were sent: where it was, if it was taken back, or the last.
    fn sends(&mut self) {
        let at = self.place.take().map_or(self.sent.len(), |place| place.at.max(self.steers));
        self.puts_line(at);
    }

    fn puts_line(&mut self, at: usize) {
        let draft = std::mem::take(&mut self.line).into_draft();
        self.sent.put(at, Draft { is_sent: true, ..draft });
    }

    /// The line is for the turn that runs, or the first message that waits, if the line is empty.
    fn steers(&mut self) {
        let text = self.line.text();
        if text.trim().is_empty() {
            let Some(text) = self.sent.text(self.steers).filter(|text| !text.is_empty()) else { return };
            match self.words(text) {
                Ok(_) => self.steers += 1,
                Err(why) => self.refusal = Some(why),
            }
        } else if !is_open(text) {
            match self.words(text) {
                Ok(_) => {
                    self.place = None;
                    self.puts_line(self.steers);
                    self.steers += 1;
                }
                Err(why) => {
                    self.refusal = Some(why);
                    self.sends();
                }
            }
        }
    }

    fn words(&self, entry: &str) -> Result<String, &'static str> {
        (self.meaning.steers)(&unfenced(entry))
    }

    /// Returns whether Up and Down are for the messages that wait, and not for the lines of what is typed.
    fn is_browsing(&self) -> bool {
        self.line.text().is_empty() || self.place.is_some() && !self.line.is_changed
    }

    fn takes_back_earlier(&mut self) {
        let at = self.place.map_or(self.sent.len(), |place| place.at);
        if let Some(earlier) = at.checked_sub(1) {
            self.takes_back(earlier);
        }
    }

    fn takes_back_later(&mut self) {
        if let Some(place) = self.place {
            self.takes_back(place.at + 1);
        }
    }

    /// Takes the message at this place into the line; the one that is there goes back to its own.
    fn takes_back(&mut self, at: usize) {
        if let Some(place) = self.place {
            self.puts_line(place.at);
            self.steers += usize::from(place.steers);
        }
        let taken = self.sent.take(at);
        let steers = taken.is_some() && at < self.steers;
        self.steers -= usize::from(steers);
        self.place = taken.is_some().then_some(Place { at, steers });
        self.line = taken.map(Line::of).unwrap_or_default();
    }

    fn bytes(&self) -> usize {
        self.sent.bytes() + self.line.bytes()
    }

    fn has_room(&self, bytes: usize) -> bool {
        self.bytes() + bytes <= MOST
    }

    fn gains(&mut self, text: &str) {
        if self.has_room(text.len()) {
            self.line.insert(text);
        }
    }

    /// A paste of several lines is kept as it was, too.
    fn gains_paste(&mut self, text: String) {
        let text = (self.meaning.pasted)(&text).unwrap_or(text);
        if !text.contains('\n') {
            self.gains(&text);
        } else if self.has_room(2 * text.len()) {
            self.line.insert(&text);
            self.line.keep_paste(text);
        }
    }
}

#[cfg(test)]
mod tests;
