//! Text without percent encoding and without line breaks.

use std::ops::Range;

/// Bytes without a blank before a line break that may be inside a secret. Encoders break lines at a width, and never after
/// fewer bytes; lines of prose seldom end in so long a word.
const LONG_RUN: usize = 12;

/// Returns whether folding may show a secret: the text has percent encoding, or a line ends within a long run.
pub(super) fn is_foldable(text: &[u8]) -> bool {
    let is_encoded = |at: usize| text.get(at + 1..at + 3).and_then(decoded).is_some();
    let is_within = |at: usize| {
        let line = text.get(..at).unwrap_or_default();
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let run = line.get(line.len().saturating_sub(LONG_RUN)..).unwrap_or_default();
        run.len() == LONG_RUN && !run.iter().any(u8::is_ascii_whitespace)
    };
    let mut places = memchr::memchr3_iter(b'%', b'\n', b'\r', text);
    places.any(|at| if text.get(at) == Some(&b'%') { is_encoded(at) } else { is_within(at) })
}

/// Returns the text with each `%XX` as its byte, and without line breaks and the blanks that indent a line.
pub(super) fn folded(text: &[u8]) -> Vec<u8> {
    Folded { text, at: 0, decodes: true }.map(|(_, byte)| byte).collect()
}

/// Returns the text without line breaks and the blanks that indent a line.
pub(super) fn joined(text: &[u8]) -> Vec<u8> {
    Folded { text, at: 0, decodes: false }.map(|(_, byte)| byte).collect()
}

/// Returns where ranges of the folded text are in the text. The ranges are sorted and do not overlap.
pub(super) fn unfolded(text: &[u8], ranges: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut places = Folded { text, at: 0, decodes: true }.map(|(place, _)| place).enumerate();
    let place = |range: &Range<usize>| {
        let first = places.by_ref().find(|(at, _)| *at == range.start)?.1;
        let last = match range.end - 1 {
            last if last == range.start => first.clone(),
            last => places.by_ref().find(|(at, _)| *at == last)?.1,
        };
        Some(first.start..last.end)
    };
    ranges.iter().filter(|range| !range.is_empty()).filter_map(place).collect()
}

/// The bytes of a folded text, each with its place in the text.
struct Folded<'t> {
    text: &'t [u8],
    at: usize,
    decodes: bool,
}

impl Iterator for Folded<'_> {
    type Item = (Range<usize>, u8);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (start, byte) = (self.at, *self.text.get(self.at)?);
            let (length, byte) = match byte {
                b'%' if self.decodes => {
                    self.text.get(start + 1..start + 3).and_then(decoded).map_or((1, byte), |byte| (3, byte))
                }
                byte => (1, byte),
            };
            self.at += length;
            if !matches!(byte, b'\n' | b'\r') {
                return Some((start..self.at, byte));
            }
            let rest = self.text.get(self.at..).unwrap_or_default();
            self.at += rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        }
    }
}

fn decoded(digits: &[u8]) -> Option<u8> {
    let value = |digit: &u8| char::from(*digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
    let [high, low] = digits else { return None };
    Some(16 * value(high)? + value(low)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_not_folded() {
        for (text, folds) in [
            ("a line of prose\nand another one, 100 % of it\r\n", false),
            ("c2stY2FuYXJ5\nLzA/\n", true),
            ("c2stY2FuYXJ5\r\nLzA/\n", true),
            ("c2stY2FuYXJ\nLzA/", false),
            ("a%2Fb", true),
            ("", false),
        ] {
            assert_eq!(is_foldable(text.as_bytes()), folds, "{text:?}");
        }
    }

    #[test]
    fn percent_encoding_and_line_breaks_are_folded_away() {
        for (text, expected) in [
            ("a%2Fb%2fc", "a/b/c"),
            ("ab\r\n  cd\n\te f", "abcde f"),
            ("50% of %zz %4", "50% of %zz %4"),
            ("a%0A  b", "ab"),
            ("", ""),
        ] {
            assert_eq!(String::from_utf8(folded(text.as_bytes())).unwrap(), expected, "{text:?}");
        }
        let text = b"a%2Fb\n c%41d";
        assert_eq!(folded(text), b"a/bcAd");
        assert_eq!(unfolded(text, &[0..2, 2..4, 4..5]), [0..4, 4..8, 8..11]);
    }
}
