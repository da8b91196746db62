use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use percent_encoding::{NON_ALPHANUMERIC, percent_encode};
use proptest::prelude::*;

use super::*;

/// Has bytes that Base64 writes with the last two signs of its alphabets, and that a URL encodes.
const KEY: &str = "sk-canary/0?~~>>ÿ12 3&456";

fn finder(secret: &str) -> Finder {
    Finder::new([secret])
}

fn clean(finder: &Finder, text: &str) -> String {
    finder.redacted(text).unwrap_or_else(|| text.to_owned())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The encodings of a text that a tool or a model may write.
fn encodings(text: &str) -> Vec<String> {
    let engines = [&STANDARD, &STANDARD_NO_PAD, &URL_SAFE, &URL_SAFE_NO_PAD];
    let mut all: Vec<String> = engines.iter().map(|engine| engine.encode(text)).collect();
    let upper = percent_encode(text.as_bytes(), NON_ALPHANUMERIC).to_string();
    let every = text.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let form = upper.replace("%20", "+");
    all.extend([hex(text.as_bytes()), hex(text.as_bytes()).to_uppercase(), upper, every, form]);
    all
}

#[test]
fn an_encoded_key_is_redacted_whole() {
    let finder = finder(KEY);
    for encoded in encodings(KEY) {
        assert_eq!(clean(&finder, &format!("it is {encoded}.")), "it is [redacted].", "{encoded}");
        assert_eq!(finder.first(&encoded), Some(0), "{encoded}");
    }
    for plain in ["", "nothing", "c2stY2Fu is short", "100%", "sk-cana\nry"] {
        assert_eq!(finder.redacted(plain), None, "{plain}");
    }
}

#[test]
fn a_key_in_an_encoded_text_is_redacted_at_each_place() {
    let finder = finder(KEY);
    for before in 0..9 {
        for after in 0..4 {
            let text =
                format!("{}{KEY}{}", "a: password".get(..before).unwrap(), "\n.\n\n".get(..after).unwrap());
            for encoded in encodings(&text) {
                let clean = clean(&finder, &encoded);
                assert!(clean.contains("[redacted]"), "{text:?} {encoded}");
                // At most two characters on each side have bits of the key.
                assert!(clean.len() <= "[redacted]".len() + 4 * (before + after) + 4, "{text:?} {clean}");
            }
        }
    }
}

#[test]
fn a_key_is_redacted_wherever_a_line_of_its_encoding_breaks() {
    let finder = finder(KEY);
    for encoded in encodings(&format!("key={KEY}")) {
        for at in 12..encoded.len() {
            let (start, end) = encoded.split_at(at);
            for broken in [format!("{start}\n{end}"), format!("{start}\r\n    {end}")] {
                let clean = clean(&finder, &broken);
                // A break within `%XX` ends the encoding.
                let is_split =
                    start.get(start.len().saturating_sub(2)..).is_some_and(|end| end.contains('%'));
                assert!(clean.contains("[redacted]") || is_split, "{broken:?} {clean}");
            }
        }
    }
}

#[test]
fn of_a_text_that_ends_early_the_beginning_is_redacted() {
    let finder = finder(KEY);
    for encoded in encodings(KEY) {
        for end in 0..=encoded.len() {
            let cut = encoded.get(..end).unwrap();
            let left = clean(&finder, cut);
            // The first bytes of a key are known to everybody.
            assert!(left.len() <= 3 * 12, "{cut} {left}");
        }
    }
}

#[test]
fn keys_that_begin_alike_are_redacted_to_their_ends() {
    let keys = ["sk-live-v01-AAAAAAAA", "sk-live-v01-BBBBBBBBBB", "sk-live-v01-AAAACCCC"];
    let finder = Finder::new(keys);
    for key in &keys {
        assert_eq!(clean(&finder, &format!("<{key}>")), "<[redacted]>");
    }
    assert_eq!(clean(&finder, "sk-live-v01-AAAADDDD"), "[redacted]DDDD");
    let apart = Finder::new(["abcdefghijkl", "ijklmnopqrst"]);
    assert_eq!(clean(&apart, "<abcdefghijklmnopqrst>"), "<[redacted]>");
    assert_eq!(clean(&apart, "<abcdefghijklijklmnopqrst>"), "<[redacted][redacted]>");
}

#[test]
fn a_key_of_several_lines_is_found_on_one_and_encoded() {
    let key = "-----BEGIN KEY-----\nMIIcanary0123456\nabc%41def\n-----END KEY-----";
    let finder = finder(key);
    for text in encodings(key).into_iter().chain([key.to_owned(), key.replace('\n', "\r\n  ")]) {
        assert_eq!(clean(&finder, &format!("<{text}>")), "<[redacted]>", "{text}");
    }
}

#[test]
fn odd_keys_redact_nothing_else() {
    for key in
        ["%0a%0a%0a%0a%0a", "%41%42%43", "日本語日本語日本語", "\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}"]
    {
        let finder = finder(key);
        assert_eq!(
            clean(&finder, "a text with %41 and\nlines, 日本 too"),
            "a text with %41 and\nlines, 日本 too"
        );
        assert_eq!(clean(&finder, &format!("<{key}>")), "<[redacted]>");
    }
    assert_eq!(clean(&finder("日本語日本語日本語"), "<日本語日本詞>"), "<[redacted]>");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_encoded_key_survives(
        key in "[ -~é]{8,60}",
        before in "[ -~]{0,8}",
        after in "[ -~]{0,8}",
        texts in "[ -~\n]{0,8}",
    ) {
        let key = key.trim();
        prop_assume!(key.len() >= 8);
        let finder = finder(key);
        for encoded in encodings(&format!("{before}{key}{after}")) {
            let clean = clean(&finder, &format!("{texts} {encoded}"));
            for hidden in encodings(key).iter().chain(&[encoded]) {
                let core = hidden.trim_end_matches('=');
                prop_assert!(!clean.contains(core), "{key:?} {hidden} {clean}");
            }
        }
    }

    #[test]
    fn a_text_without_keys_stays_as_it_is(text in "\\PC{0,200}") {
        let finder = finder("sk-canary-0123456789");
        prop_assert_eq!(finder.redacted(&text), None);
    }
}
