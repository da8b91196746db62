//! Times, amounts, and text that comes in pieces.

use std::time::Duration;

use converse_canister::Cost;
use converse_text::width;

use converse_text::wording::grouped;

/// A longer word is passed on in parts.
const LONGEST_WORD: usize = 4096;

/// Passes text on word by word, because a secret is found only in a whole word.
#[derive(Debug, Default)]
pub(super) struct Words {
    begun: String,
}

impl Words {
    pub(super) fn push(&mut self, text: &str, clean: impl Fn(&str) -> String) -> String {
        self.begun.push_str(text);
        let end = match self.begun.char_indices().rev().find(|(_, c)| ends_word(*c)) {
            Some((at, c)) => at + c.len_utf8(),
            None if self.begun.len() > LONGEST_WORD => self.begun.len(),
            None => 0,
        };
        let rest = self.begun.split_off(end);
        let whole = std::mem::replace(&mut self.begun, rest);
        if whole.is_empty() { whole } else { clean(&whole) }
    }

    pub(super) fn end(&mut self, clean: impl Fn(&str) -> String) -> String {
        clean(&std::mem::take(&mut self.begun))
    }
}

/// Wide characters end a word too: scripts without blanks use them, and no key has any.
fn ends_word(c: char) -> bool {
    c.is_whitespace() || (!c.is_ascii() && width(c.encode_utf8(&mut [0; 4])) == 2)
}

/// Formats how long something took.
pub(super) fn took(time: Duration) -> String {
    match time.as_millis() {
        ms if ms < 1000 => format!("{ms} ms"),
        ms if ms < 60_000 => format!("{:.1} s", time.as_secs_f64()),
        _ => format!("{} min {} s", time.as_secs() / 60, time.as_secs() % 60),
    }
}

/// Formats how long something has taken so far.
pub(super) fn so_far(time: Duration) -> String {
    match time.as_secs() {
        s if s < 60 => format!("{s} s"),
        s => format!("{} min {} s", s / 60, s % 60),
    }
}

/// Formats an amount: `$1.25`, `$0.0042`; small ones to the micro-dollar.
pub(crate) fn money(Cost(micros): Cost) -> String {
    let (dollars, rest) = (micros / 1_000_000, micros % 1_000_000);
    let digits = format!("{rest:06}");
    let digits = if dollars > 0 { digits.get(..2).unwrap_or_default() } else { digits.trim_end_matches('0') };
    format!("${}.{digits:0<2}", grouped(dollars))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_in_pieces_is_no_less_a_secret() {
        let clean = |text: &str| text.replace("sk-secret", "***");
        let mut words = Words::default();
        let mut out: String =
            ["the ke", "y is sk-", "sec", "ret, ok", " then"].map(|t| words.push(t, clean)).concat();
        out += &words.end(clean);
        assert_eq!(out, "the key is ***, ok then");
        assert_eq!(words.push("日本語a", clean), "日本語");
        assert_eq!(words.end(clean), "a");
        assert!(!words.push(&"x".repeat(LONGEST_WORD + 1), clean).is_empty());
    }

    #[test]
    fn amounts_are_short() {
        let times = [340, 3_140, 59_990, 125_000].map(|ms| took(Duration::from_millis(ms)));
        assert_eq!(times, ["340 ms", "3.1 s", "60.0 s", "2 min 5 s"]);
        assert_eq!([0, 59, 61].map(|s| so_far(Duration::from_secs(s))), ["0 s", "59 s", "1 min 1 s"]);
        let costs = [1, 4200, 250_000, 1_259_000, 1_000_000_000].map(|micros| money(Cost(micros)));
        assert_eq!(costs, ["$0.000001", "$0.0042", "$0.25", "$1.25", "$1,000.00"]);
    }
}
