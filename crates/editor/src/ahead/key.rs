//! The keys that bytes of a keyboard are.

use crate::focus::{FOCUS_GAINED, FOCUS_LOST};

pub(crate) const PASTE_BEGINS: &[u8] = b"\x1b[200~";
pub(super) const PASTE_ENDS: &[u8] = b"\x1b[201~";
/// Shift-Tab.
const SWITCH: &[u8] = b"\x1b[Z";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Key {
    Escape,
    Enter,
    Newline,
    Backspace,
    Delete,
    ClearsWord,
    ClearsLine,
    /// Drops what is behind the cursor in its line.
    ClearsRest,
    /// Ctrl-D.
    End,
    Moves(Move),
    Text(String),
    Paste(String),
    /// Ctrl-S.
    Steers,
    Switch,
    Picture,
    /// No key: the terminal gained or lost the focus.
    Focus(bool),
    Other,
}

/// Where a key takes the cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Move {
    Left,
    Right,
    Up,
    Down,
    Start,
    End,
}

/// The first key and its length; `None` if it has not ended.
pub(crate) fn key(bytes: &[u8]) -> Option<(Key, usize)> {
    let (first, rest) = bytes.split_first()?;
    let of_one = |key| Some((key, 1));
    match first {
        0x1b => escape(bytes, rest),
        b'\r' => of_one(Key::Enter),
        b'\n' => of_one(Key::Newline),
        0x01 => of_one(Key::Moves(Move::Start)),
        0x02 => of_one(Key::Moves(Move::Left)),
        0x04 => of_one(Key::End),
        0x05 => of_one(Key::Moves(Move::End)),
        0x06 => of_one(Key::Moves(Move::Right)),
        0x0b => of_one(Key::ClearsRest),
        0x0e => of_one(Key::Moves(Move::Down)),
        0x10 => of_one(Key::Moves(Move::Up)),
        0x7f | 0x08 => of_one(Key::Backspace),
        0x13 => of_one(Key::Steers),
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
        b'[' => sequence(rest).map(|length| (of_sequence(rest.get(1..length)), length + 1)),
        // A key of the keypad, or Alt-O.
        b'O' => rest.get(1).map(|last| match (0x20..0x7f).contains(last) {
            true => (of_sequence(Some(&[*last])), 3),
            false => (Key::Other, 2),
        }),
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
            Some((Key::Moves(Move::Up), length)) => Some((Key::Moves(Move::Up), length + 1)),
            Some((Key::Other | Key::Switch | Key::Moves(_) | Key::Delete, length)) => {
                Some((Key::Other, length + 1))
            }
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

/// The key of a control sequence, without what introduces it. Alt with Up (`1;3A`) is Up, as in other programs.
fn of_sequence(sequence: Option<&[u8]>) -> Key {
    match sequence {
        Some(b"A" | b"1;3A") => Key::Moves(Move::Up),
        Some(b"B") => Key::Moves(Move::Down),
        Some(b"C") => Key::Moves(Move::Right),
        Some(b"D") => Key::Moves(Move::Left),
        Some(b"H" | b"1~" | b"7~") => Key::Moves(Move::Start),
        Some(b"F" | b"4~" | b"8~") => Key::Moves(Move::End),
        Some(b"3~") => Key::Delete,
        _ => Key::Other,
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

pub(super) fn position(bytes: &[u8], searched: &[u8]) -> Option<usize> {
    bytes.windows(searched.len()).position(|window| window == searched)
}

/// The text of a paste.
pub(super) fn pasted(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace("\r\n", "\n").replace('\r', "\n")
}

/// What has come of a paste without the mark of its end, as far as that has come.
pub(super) fn without_begun_end(inner: &[u8]) -> &[u8] {
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
