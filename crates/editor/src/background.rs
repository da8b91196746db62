//! The background of the terminal: what it replies to OSC 11, and such a reply that comes too late. It does no I/O.
//!
//! The colour is as XParseColor reads it, `rgb:RRRR/GGGG/BBBB` with one to four digits each; some terminals say
//! `rgba:`. Source: "XTerm Control Sequences", operating system commands, read 2026-11-29.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};

/// The question.
pub(crate) const ASKS_BACKGROUND: &[u8] = b"\x1b]11;?\x1b\\";
const BEGINS: &[u8] = b"\x1b]11;";
/// Relative luminance (WCAG 2.2) above which black has more contrast than white.
const MIDDLE: f64 = 0.179;
/// Characters of a reply behind its number.
const LONGEST: usize = 64;

/// A reply among what was heard, or its beginning.
struct Reply<'h> {
    from: usize,
    colour: &'h [u8],
    /// `None`: more is to come.
    to: Option<usize>,
}

fn reply(heard: &[u8]) -> Option<Reply<'_>> {
    let from = heard.windows(BEGINS.len()).position(|bytes| bytes == BEGINS)?;
    let inner = heard.get(from + BEGINS.len()..)?;
    let length = inner.iter().position(|byte| *byte < 0x20).unwrap_or(inner.len());
    let end = match inner.get(length..)? {
        [0x07, ..] => Some(1),
        [0x1b, b'\\', ..] => Some(2),
        [] | [0x1b] => None,
        // It is cut, and something else begins.
        _ => Some(0),
    };
    let to = end.map(|end| from + BEGINS.len() + length + end);
    Some(Reply { from, colour: inner.get(..length)?, to })
}

/// Returns whether a reply has begun and not ended.
pub(crate) fn is_open(heard: &[u8]) -> bool {
    let begun = (2..BEGINS.len()).filter_map(|length| BEGINS.get(..length));
    reply(heard)
        .map_or_else(|| begun.into_iter().any(|begun| heard.ends_with(begun)), |reply| reply.to.is_none())
}

/// Takes a reply out of what was heard. Returns the rest, and whether the background is light if the reply says so.
pub(crate) fn without_reply(heard: &[u8]) -> (Vec<u8>, Option<bool>) {
    let Some(Reply { from, colour, to }) = reply(heard) else { return (heard.to_vec(), None) };
    let (before, after) = (heard.get(..from), heard.get(to.unwrap_or(heard.len())..));
    let rest = [before.unwrap_or_default(), after.unwrap_or_default()].concat();
    (rest, is_light(colour))
}

fn is_light(colour: &[u8]) -> Option<bool> {
    let colour = std::str::from_utf8(colour).ok()?;
    let parts = colour.strip_prefix("rgb:").or_else(|| colour.strip_prefix("rgba:"))?;
    let mut parts = parts.split('/').map(linear);
    let (red, green, blue) = (parts.next()??, parts.next()??, parts.next()??);
    Some(0.2126 * red + 0.7152 * green + 0.0722 * blue > MIDDLE)
}

/// The linear value, 0 to 1, of one to four hexadecimal digits.
fn linear(digits: &str) -> Option<f64> {
    if !(1..=4).contains(&digits.len()) || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let most = 16_u32.pow(u32::try_from(digits.len()).ok()?) - 1;
    let value = f64::from(u32::from_str_radix(digits, 16).ok()?) / f64::from(most);
    Some(if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) })
}

/// Keys that are a reply which comes late: the library takes it for Alt-], text, and Alt-\ or Ctrl-G.
#[derive(Debug, Default)]
pub(crate) struct LateReply {
    /// What came behind Alt-]; `None`: nothing has begun.
    held: Option<String>,
}

impl LateReply {
    /// Returns whether the key is of a reply. If it is not, also the text that was held for one and is none.
    pub(crate) fn takes(&mut self, event: &Event) -> (bool, String) {
        let Event::Key(KeyEvent { code, modifiers, .. }) = event else { return (false, String::new()) };
        let has = |modifier| modifiers.contains(modifier);
        let (alt, control) = (has(KeyModifiers::ALT), has(KeyModifiers::CONTROL));
        let Some(mut held) = self.held.take() else {
            let begins = *code == KeyCode::Char(']') && alt;
            self.held = begins.then(String::new);
            return (begins, String::new());
        };
        let is_whole = held.starts_with("11;");
        let ends = (*code == KeyCode::Char('\\') && alt) || (*code == KeyCode::Char('g') && control);
        match code {
            _ if ends && is_whole => return (true, String::new()),
            KeyCode::Char(next) if !alt && !control && held.len() < LONGEST => {
                held.push(*next);
                if "11;rgb".starts_with(&held) || held.starts_with("11;rgb") {
                    self.held = Some(held);
                    return (true, String::new());
                }
                held.pop();
            }
            _ => {}
        }
        (false, held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_taken_out_of_what_is_typed() {
        for (heard, rest, light) in [
            (b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\".as_slice(), "", Some(true)),
            (b"\x1b]11;rgb:0000/0000/0000\x07", "", Some(false)),
            (b"\x1b]11;rgba:ff/ff/e0/ff\x07", "", Some(true)),
            (b"\x1b]11;rgb:2/2/2\x07", "", Some(false)),
            (b"ab\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\cd", "abcd", Some(false)),
            // Solarized, light.
            (b"\x1b]11;rgb:fdfd/f6f6/e3e3\x07", "", Some(true)),
            (b"\x1b]11;rgb:fffff/0/0\x07x", "x", None),
            (b"\x1b]11;red\x07x", "x", None),
            (b"\x1b]11;rgb:+f/0/0\x07", "", None),
            (b"\x1b]11;rgb:ff/ff\x07", "", None),
            (b"\x1b]11;rgb:ff\x1b[1;1R", "\x1b[1;1R", None),
            (b"\x1b]11;rgb:ff", "", None),
            (b"11;rgb:ffff/ffff/ffff", "11;rgb:ffff/ffff/ffff", None),
        ] {
            let (left, is_light) = without_reply(heard);
            assert_eq!((String::from_utf8(left).unwrap().as_str(), is_light), (rest, light), "{heard:?}");
        }
    }

    #[test]
    fn a_reply_that_has_begun_is_waited_for() {
        for (heard, open) in [
            (b"\x1b[1;1R\x1b]".as_slice(), true),
            (b"\x1b]11", true),
            (b"\x1b]11;rgb:ff", true),
            (b"\x1b]11;rgb:ff/ff/ff\x1b", true),
            (b"\x1b]11;rgb:ff/ff/ff\x1b\\", false),
            (b"\x1b]11;rgb:ff/ff/ff\x07", false),
            (b"\x1b", false),
            (b"", false),
        ] {
            assert_eq!(is_open(heard), open, "{heard:?}");
        }
    }

    /// The text that is left of keys, and how many keys were taken.
    fn left(keys: &[(char, KeyModifiers)]) -> String {
        let mut late = LateReply::default();
        let mut text = String::new();
        for (key, modifiers) in keys {
            let (taken, held) = late.takes(&Event::Key(KeyEvent::new(KeyCode::Char(*key), *modifiers)));
            text += &held;
            if !taken {
                text.push(*key);
            }
        }
        text
    }

    #[test]
    fn a_late_reply_is_no_text() {
        let plain = |text: &str| text.chars().map(|key| (key, KeyModifiers::NONE)).collect::<Vec<_>>();
        let begins = vec![(']', KeyModifiers::ALT)];
        for end in [('\\', KeyModifiers::ALT), ('g', KeyModifiers::CONTROL)] {
            let keys =
                [&plain("a")[..], &begins, &plain("11;rgb:ffff/FFFF/ffff"), &[end], &plain("b")].concat();
            assert_eq!(left(&keys), "ab");
        }
        for (typed, text) in [("12", "12"), ("x", "x"), ("11;x", "11;x")] {
            assert_eq!(left(&[&begins[..], &plain(typed)].concat()), text);
        }
    }
}
