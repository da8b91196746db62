//! Text into words, and words into stems.
//!
//! The stemmer is light on purpose: it only has to bring "files" to "file" and «заметку» to «заметк», so that two
//! texts can be compared. It refuses to be a linguist. Surprising: `ё` becomes `е`, because people write either.

/// A word in lower case with its place in the text (byte offsets).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) text: String,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Runs of letters and digits, in order.
pub(crate) fn words(text: &str) -> Vec<Word> {
    let mut found = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices() {
        match (c.is_alphanumeric(), start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                found.push(word(text, from, at));
                start = None;
            }
            _ => {}
        }
    }
    if let Some(from) = start {
        found.push(word(text, from, text.len()));
    }
    found
}

fn word(text: &str, start: usize, end: usize) -> Word {
    Word { text: lower(text.get(start..end).unwrap_or_default()), start, end }
}

/// Lower case, with `ё` as `е`.
pub(crate) fn lower(text: &str) -> String {
    text.to_lowercase().replace('ё', "е")
}

/// The words of an identifier: `createNote`, `create_note` and `create-note` are all "create", "note".
pub(crate) fn identifier_words(name: &str) -> Vec<String> {
    let mut spaced = String::with_capacity(name.len() + 8);
    let mut before_is_lower = false;
    for c in name.chars() {
        if c.is_uppercase() && before_is_lower {
            spaced.push(' ');
        }
        before_is_lower = c.is_lowercase() || c.is_ascii_digit();
        spaced.push(if c.is_alphanumeric() { c } else { ' ' });
    }
    spaced.split_whitespace().map(lower).collect()
}

pub(crate) fn is_cyrillic(c: char) -> bool {
    ('\u{0400}'..='\u{04ff}').contains(&c)
}

/// The stem of a word in lower case.
pub(crate) fn stem(word: &str) -> String {
    if word.chars().any(is_cyrillic) {
        russian_stem(word)
    } else if word.is_ascii() {
        english_stem(word)
    } else {
        word.to_owned()
    }
}

fn english_stem(word: &str) -> String {
    let mut stem = word;
    if let Some(base) = word.strip_suffix("ies").filter(|base| base.len() > 1) {
        return format!("{base}y");
    }
    if ["sses", "ches", "shes", "xes"].iter().any(|end| word.ends_with(end)) {
        stem = word.strip_suffix("es").unwrap_or(word);
    } else if word.len() > 3 && !["ss", "us", "is"].iter().any(|end| word.ends_with(end)) {
        stem = word.strip_suffix('s').unwrap_or(word);
    }
    for end in ["ing", "ed", "ly"] {
        if let Some(base) = stem.strip_suffix(end).filter(|base| base.len() > if end == "ly" { 4 } else { 2 })
        {
            return undoubled(base).to_owned();
        }
    }
    let bare = if stem.len() > 4 { stem.strip_suffix('e').unwrap_or(stem) } else { stem };
    bare.to_owned()
}

/// "runn" to "run", but "call" and "pass" stay.
fn undoubled(base: &str) -> &str {
    let mut last = base.chars().rev();
    match (last.next(), last.next()) {
        (Some(a), Some(b)) if a == b && !"lsz".contains(a) => {
            base.get(..base.len() - a.len_utf8()).unwrap_or(base)
        }
        _ if base.len() > 4 => base.strip_suffix('e').unwrap_or(base),
        _ => base,
    }
}

/// Longest first, so that the first that fits is the one to cut.
const RUSSIAN_ENDINGS: [&str; 48] = [
    "иями", "ями", "ами", "ого", "его", "ому", "ему", "ыми", "ими", "ешь", "ишь", "ете", "ите", "ать", "ять",
    "ить", "еть", "ая", "яя", "ое", "ее", "ые", "ие", "ый", "ий", "ой", "ую", "юю", "ом", "ем", "ам", "ям",
    "ах", "ях", "ов", "ев", "ей", "ия", "ии", "ию", "а", "я", "о", "е", "ы", "и", "у", "ю",
];

fn russian_stem(word: &str) -> String {
    let cut = |end: &str| word.strip_suffix(end).filter(|base| base.chars().count() >= 3);
    let base = RUSSIAN_ENDINGS.iter().find_map(|end| cut(end)).unwrap_or(word);
    base.trim_end_matches(['ь', 'й']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_share_a_stem() {
        for (one, other) in [
            ("file", "files"),
            ("create", "creating"),
            ("created", "creates"),
            ("entry", "entries"),
            ("branch", "branches"),
            ("run", "running"),
            ("issue", "issues"),
            ("call", "called"),
            ("recent", "recently"),
            ("заметка", "заметку"),
            ("файл", "файлами"),
            ("коммиты", "коммитов"),
            ("погода", "погоды"),
        ] {
            assert_eq!(stem(one), stem(other), "{one} {other}");
        }
        assert_ne!(stem("status"), stem("state"));
        assert_ne!(stem("час"), stem("часть"));
    }

    #[test]
    fn words_know_their_places() {
        let text = "Ещё: read-me, 2 раза";
        let found = words(text);
        let texts: Vec<_> = found.iter().map(|w| w.text.as_str()).collect();
        assert_eq!(texts, ["еще", "read", "me", "2", "раза"]);
        assert!(found.iter().all(|w| lower(&text[w.start..w.end]) == w.text));
    }

    #[test]
    fn identifiers_are_taken_apart() {
        for name in ["createNote", "create_note", "create-note", "Create Note"] {
            assert_eq!(identifier_words(name), ["create", "note"], "{name}");
        }
    }
}
