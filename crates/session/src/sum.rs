//! The checksum at the end of each line of a journal.
//!
//! ```text
//! {"seq":2,"at":"…","type":"note","text":"hi","sum":"<8 hex digits>"}
//! ```
//! It is the CRC-32 (IEEE 802.3) of the line's bytes before `,"sum"`. It detects accidental damage, not manipulation.
//!
//! A line that was written after a sync has `,"synced":<line>` before the checksum: see [`crate::synced`].

const BEFORE: &[u8] = b",\"sum\":\"";
const BEHIND: &[u8] = b"\"}";
const SYNCED: &[u8] = b",\"synced\":";
const DIGITS: usize = 8;

/// Adds the checksum to a line: a JSON object with at least one field, without a newline.
pub(crate) fn seal(line: &mut Vec<u8>) {
    line.pop();
    let digits = digits(line);
    line.extend([BEFORE, &digits, BEHIND].concat());
}

/// Adds the number of the last line that is on disk. The checksum comes after it.
pub(crate) fn mark(line: &mut Vec<u8>, synced: u64) {
    line.pop();
    line.extend([SYNCED, synced.to_string().as_bytes(), b"}"].concat());
}

/// Returns the number that [`mark`] added to a line with a checksum.
pub(crate) fn synced(line: &[u8]) -> Option<u64> {
    split_mark(unsealed(line.strip_suffix(b"}")?)?).1
}

/// Returns whether the checksum of a line (without newline) matches; `None` if there is no checksum.
pub(crate) fn holds(line: &[u8]) -> Option<bool> {
    let (line, end) = line.split_at_checked(line.len().checked_sub(BEHIND.len())?)?;
    let (line, sum) = line.split_at_checked(line.len().checked_sub(DIGITS)?)?;
    let (line, before) = line.split_at_checked(line.len().checked_sub(BEFORE.len())?)?;
    (end == BEHIND && before == BEFORE).then(|| digits(line) == sum)
}

/// Returns the line without its checksum, its mark and its last brace.
pub(crate) fn without(line: &[u8]) -> Option<&[u8]> {
    let line = line.strip_suffix(b"}")?;
    Some(unsealed(line).map_or(line, |line| split_mark(line).0))
}

/// Returns a line that has lost its last brace without its checksum.
fn unsealed(line: &[u8]) -> Option<&[u8]> {
    let (line, _) = line.strip_suffix(b"\"")?.split_last_chunk::<DIGITS>()?;
    line.strip_suffix(BEFORE)
}

fn split_mark(line: &[u8]) -> (&[u8], Option<u64>) {
    let digits = line.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (rest, number) = line.split_at(line.len() - digits);
    let number = std::str::from_utf8(number).ok().and_then(|number| number.parse().ok());
    match (rest.strip_suffix(SYNCED), number) {
        (Some(rest), Some(number)) => (rest, Some(number)),
        _ => (line, None),
    }
}

/// Returns the checksum in lower case. It is compared as text, so a digit in upper case counts as damage.
fn digits(bytes: &[u8]) -> [u8; DIGITS] {
    let sum = crc32fast::hash(bytes);
    std::array::from_fn(|place| {
        let digit = (sum >> (28 - 4 * place)) as u8 & 0xf;
        if digit < 10 { b'0' + digit } else { b'a' + digit - 10 }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_the_one_that_everybody_has() {
        // The check value of CRC-32/ISO-HDLC, https://reveng.sourceforge.io/crc-catalogue/all.htm, checked 2026-11.
        assert_eq!(&digits(b"123456789"), b"cbf43926");
        let mut line = b"{\"a\":1}".to_vec();
        seal(&mut line);
        assert_eq!(line, [b"{\"a\":1,\"sum\":\"", digits(b"{\"a\":1").as_slice(), b"\"}"].concat());
        assert_eq!(holds(&line), Some(true));
    }

    #[test]
    fn a_mark_is_read_only_where_it_was_written() {
        let sealed = |line: &str, synced: Option<u64>| {
            let mut line = line.as_bytes().to_vec();
            synced.into_iter().for_each(|number| mark(&mut line, number));
            seal(&mut line);
            line
        };
        for (line, number, rest) in [
            ("{\"a\":1}", Some(12), "{\"a\":1"),
            ("{\"a\":1}", None, "{\"a\":1"),
            ("{\"a\":\",\\\"synced\\\":3\"}", None, "{\"a\":\",\\\"synced\\\":3\""),
        ] {
            let line = sealed(line, number);
            assert_eq!((synced(&line), without(&line)), (number, Some(rest.as_bytes())));
        }
        assert_eq!(synced(b"{\"a\":1,\"synced\":4}"), None);
    }

    #[test]
    fn every_changed_byte_is_seen() {
        let mut line = br#"{"seq":2,"text":"a,\"sum\":\"00000000\"}"}"#.to_vec();
        assert_eq!(holds(&line), None);
        seal(&mut line);
        for at in 0..line.len() {
            for bit in 0..8 {
                let mut changed = line.clone();
                changed[at] ^= 1 << bit;
                assert_ne!(holds(&changed), Some(true), "{at} {bit}");
            }
        }
        for length in 0..line.len() {
            assert_eq!(holds(&line[..length]), None, "{length}");
        }
    }
}
