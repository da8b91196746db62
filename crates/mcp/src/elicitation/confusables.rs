//! Text as a reader sees it: invisible characters removed, look-alike letters replaced by Latin ones.

use converse_text::invisible::is_ignorable;

/// Returns the folded text in lower case. A character without a Latin look-alike stays.
pub(super) fn fold(text: &str) -> String {
    let seen = text.chars().filter(|c| !is_ignorable(*c)).map(|c| latin_look_alike(c).unwrap_or(c));
    seen.flat_map(char::to_lowercase).collect()
}

/// Returns the text without invisible characters.
pub(super) fn visible(text: &str) -> String {
    text.chars().filter(|c| !is_ignorable(*c)).collect()
}

/// Returns the Latin letter that looks the same (<https://www.unicode.org/reports/tr39/#Confusable_Detection>, checked
/// 2026-11).
fn latin_look_alike(c: char) -> Option<char> {
    const DOUBLES: [(&str, char); 24] = [
        ("аАαΑ@", 'a'),
        ("вВβΒЬь", 'b'),
        ("сСϲϹ", 'c'),
        ("ԁ", 'd'),
        ("еЕёЁεΕ", 'e'),
        ("ɡ", 'g'),
        ("һНнΗ", 'h'),
        ("іІїιΙı", 'i'),
        ("јЈ", 'j'),
        ("кКκΚ", 'k'),
        ("ӏⅼ", 'l'),
        ("мМΜ", 'm'),
        ("пηΝ", 'n'),
        ("оОοΟσ", 'o'),
        ("рРρΡ", 'p'),
        ("ԛ", 'q'),
        ("гʀ", 'r'),
        ("ѕЅ$", 's'),
        ("тТτΤ", 't'),
        ("υ", 'u'),
        ("νѵ", 'v'),
        ("ԝѡω", 'w'),
        ("хХχΧ", 'x'),
        ("уУγΥ", 'y'),
    ];
    let at = |base: u32, of: u32| char::from_u32(base + (c as u32 - of));
    match c {
        // Full-width forms, and mathematical letters, 52 of each style.
        '\u{ff01}'..='\u{ff5e}' => at(0x21, 0xff01),
        '\u{1d400}'..='\u{1d6a3}' => {
            let place = (c as u32 - 0x1d400) % 52;
            char::from_u32(if place < 26 { 'A' as u32 + place } else { 'a' as u32 + place - 26 })
        }
        c if c.is_ascii_alphanumeric() => None,
        c => DOUBLES.iter().find(|(doubles, _)| doubles.contains(c)).map(|(_, letter)| *letter),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_the_same_is_the_same() {
        for (text, seen) in [
            ("Password", "password"),
            ("pa\u{ad}ss\u{200b}wo\u{fe0f}rd", "password"),
            ("раѕѕwоrd", "password"),
            ("ΡΑSSWΟRD", "password"),
            ("ｐａｓｓｗｏｒｄ", "password"),
            ("𝐩𝐚𝐬𝐬𝐰𝐨𝐫𝐝 𝑃𝐴", "password pa"),
            ("日本", "日本"),
        ] {
            assert_eq!(fold(text), seen, "{text}");
        }
        assert_eq!(visible("па\u{200b}роль"), "пароль");
    }
}
