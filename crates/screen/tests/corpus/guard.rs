//! What may reach a terminal: printable text, line ends, and the few sequences that the program itself writes.

use converse_text::is_unsafe;

/// Whose words a terminal is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Text and line ends alone.
    Plain,
    /// With colours and links.
    Styled,
    /// A region is drawn anew in place, or a line is being edited.
    Drawn,
}

/// The first thing in these bytes that is not ours, with what stands around it.
pub(crate) fn foreign(bytes: &[u8], manner: Manner) -> Option<String> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(wrong) => return Some(format!("no UTF-8: {:?}", around(bytes, wrong.valid_up_to()))),
    };
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let long = match c {
            '\x1b' => ours(&text[at..], manner),
            '\x07' if manner == Manner::Drawn => call(&text[at..]),
            '\r' if manner == Manner::Drawn || text[at..].trim_start_matches('\r').starts_with('\n') => {
                Some(1)
            }
            c if is_unsafe(c) => None,
            c => Some(c.len_utf8()),
        };
        match long {
            Some(long) => at += long,
            None => return Some(format!("{c:?} in {:?}", around(bytes, at))),
        }
    }
    None
}

/// How long the bell with one of our notifications is that the text begins with.
fn call(text: &str) -> Option<usize> {
    let words = ["a question waits for your answer", "the answer is ready", "the turn failed"];
    let calls = words.map(|words| format!("\x07\x1b]9;converse: {words}\x07"));
    calls.iter().find(|call| text.starts_with(call.as_str())).map(String::len)
}

fn around(bytes: &[u8], at: usize) -> String {
    let part = &bytes[at.saturating_sub(120)..(at + 60).min(bytes.len())];
    String::from_utf8_lossy(part).into_owned()
}

/// How long our sequence is that the text begins with.
fn ours(text: &str, manner: Manner) -> Option<usize> {
    match text.as_bytes().get(1)? {
        b'[' => {
            let body = &text[2..];
            let end = body.find(|c: char| !c.is_ascii_digit() && c != ';' && c != '?')?;
            let (parameters, kind) = (&body[..end], body.as_bytes()[end]);
            is_ours(parameters, kind, manner).then_some(2 + end + 1)
        }
        // The editor remembers where its line began.
        b'7' | b'8' if manner == Manner::Drawn => Some(2),
        b']' if manner != Manner::Plain => {
            if let Some(title) = text.strip_prefix("\x1b]2;converse ").filter(|_| manner == Manner::Drawn) {
                let end = title.find('\x07')?;
                let is_clean = !title[..end].chars().any(is_unsafe);
                return is_clean.then_some("\x1b]2;converse ".len() + end + 1);
            }
            // The question for the background.
            if manner == Manner::Drawn && text.starts_with("\x1b]11;?\x1b\\") {
                return Some("\x1b]11;?\x1b\\".len());
            }
            let rest = text.strip_prefix("\x1b]8;;")?;
            let end = rest.find("\x1b\\")?;
            let url = &rest[..end];
            let known = ["https://", "http://", "mailto:"].iter().any(|scheme| url.starts_with(scheme));
            let clean = url.bytes().all(|byte| byte.is_ascii_graphic());
            (url.is_empty() || known && clean).then_some(5 + end + 2)
        }
        _ => None,
    }
}

fn is_ours(parameters: &str, kind: u8, manner: Manner) -> bool {
    let small = |parameters: &str| parameters.is_empty() || parameters.parse::<u16>().is_ok_and(|n| n < 200);
    match kind {
        b'm' => manner != Manner::Plain && is_a_look(parameters),
        b'A' | b'B' | b'C' | b'D' | b'G' => manner == Manner::Drawn && small(parameters),
        b'H' => manner == Manner::Drawn && parameters.split(';').all(small),
        b'J' | b'K' => manner == Manner::Drawn && ["", "0", "1", "2"].contains(&parameters),
        b'h' | b'l' => {
            let modes = ["?7", "?25", "?1004", "?2004", "?2026"];
            manner == Manner::Drawn && modes.contains(&parameters)
        }
        b't' => manner == Manner::Drawn && ["22;2", "23;2"].contains(&parameters),
        b'n' => manner == Manner::Drawn && parameters == "6",
        _ => false,
    }
}

/// Nothing that blinks or hides, and no colour behind the text.
fn is_a_look(parameters: &str) -> bool {
    if let Some(colour) = parameters.strip_prefix("38;5;") {
        return colour.parse::<u8>().is_ok();
    }
    let known =
        |part: &str| matches!(part.parse(), Ok(0..=4 | 7 | 9 | 22..=24 | 27 | 29 | 30..=37 | 39 | 90..=97));
    !parameters.is_empty() && parameters.split(';').all(known)
}
