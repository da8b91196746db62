//! Words, their stems, and the word table (`words.toml`).
//!
//! The stemmer only makes forms of one word comparable: "files" and "file", «папку» and «папка». `ё` counts as `е`.

use std::collections::HashMap;
use std::sync::OnceLock;

use toml::{Table, Value};

/// A word in lower case with its place in the text (byte offsets).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) text: String,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Returns the runs of letters and digits, in order.
pub(crate) fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        match (c.is_alphanumeric(), start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                words.push(Word { text: lower(&text[from..at]), start: from, end: at });
                start = None;
            }
            _ => {}
        }
    }
    words
}

/// Lower case, with `ё` as `е`.
pub(crate) fn lower(text: &str) -> String {
    text.to_lowercase().replace('ё', "е")
}

/// Splits an identifier: `createNote`, `create_note` and `create-note` are all "create", "note".
pub(crate) fn identifier_words(name: &str) -> Vec<String> {
    let mut spaced = String::with_capacity(name.len() + 8);
    let mut after_lower = false;
    for c in name.chars() {
        if c.is_uppercase() && after_lower {
            spaced.push(' ');
        }
        after_lower = c.is_lowercase() || c.is_ascii_digit();
        spaced.push(if c.is_alphanumeric() { c } else { ' ' });
    }
    spaced.split_whitespace().map(lower).collect()
}

pub(crate) fn is_cyrillic(c: char) -> bool {
    ('\u{0400}'..='\u{04ff}').contains(&c)
}

/// Returns at most this many bytes from the front of a text, whole characters only.
pub(crate) fn front(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// Returns the stem of a word in lower case.
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
    if let Some(base) = word.strip_suffix("ies").filter(|base| base.len() > 1) {
        return format!("{base}y");
    }
    let mut stem = word;
    if ["sses", "ches", "shes", "xes"].iter().any(|end| word.ends_with(end)) {
        stem = word.strip_suffix("es").unwrap_or(word);
    } else if word.len() > 3 && !["ss", "us", "is"].iter().any(|end| word.ends_with(end)) {
        stem = word.strip_suffix('s').unwrap_or(word);
    }
    for (end, least) in [("ing", 3), ("ed", 3), ("ly", 5)] {
        if let Some(base) = stem.strip_suffix(end).filter(|base| base.len() >= least) {
            return undoubled(base).to_owned();
        }
    }
    if stem.len() > 4 { stem.strip_suffix('e').unwrap_or(stem) } else { stem }.to_owned()
}

/// "runn" becomes "run"; "call" and "pass" stay.
fn undoubled(base: &str) -> &str {
    let bytes = base.as_bytes();
    match bytes {
        [.., a, b] if a == b && !b"lsz".contains(b) => &base[..base.len() - 1],
        [.., b'e'] if base.len() > 4 => &base[..base.len() - 1],
        _ => base,
    }
}

/// Longest first: the first that fits is cut.
const RUSSIAN_ENDINGS: [&str; 48] = [
    "иями", "ями", "ами", "ого", "его", "ому", "ему", "ыми", "ими", "ешь", "ишь", "ете", "ите", "ать", "ять",
    "ить", "еть", "ая", "яя", "ое", "ее", "ые", "ие", "ый", "ий", "ой", "ую", "юю", "ом", "ем", "ам", "ям",
    "ах", "ях", "ов", "ев", "ей", "ия", "ии", "ию", "а", "я", "о", "е", "ы", "и", "у", "ю",
];

fn russian_stem(word: &str) -> String {
    let cut = |end: &&str| word.strip_suffix(*end).filter(|base| base.chars().count() >= 3);
    let base = RUSSIAN_ENDINGS.iter().find_map(cut).unwrap_or(word);
    base.trim_end_matches(['ь', 'й']).to_owned()
}

/// Named groups of words. A pattern `abc*` is a beginning (three letters at least); any other is compared by its stem.
#[derive(Debug, Default)]
struct Groups {
    names: Vec<String>,
    stems: HashMap<String, Vec<usize>>,
    beginnings: HashMap<String, Vec<(String, usize)>>,
}

impl Groups {
    fn read(table: Option<&Value>) -> Self {
        let mut groups = Self::default();
        for (name, patterns) in table.and_then(Value::as_table).into_iter().flatten() {
            let id = groups.names.len();
            groups.names.push(name.clone());
            for pattern in patterns.as_array().into_iter().flatten().filter_map(Value::as_str) {
                match pattern.strip_suffix('*') {
                    Some(start) => {
                        groups.beginnings.entry(bucket(start)).or_default().push((start.to_owned(), id));
                    }
                    None => groups.stems.entry(stem(&lower(pattern))).or_default().push(id),
                }
            }
        }
        groups
    }

    /// Returns the names of the groups that a word (lower case) belongs to.
    fn find(&self, word: &str) -> Vec<&str> {
        let mut ids = self.stems.get(&stem(word)).cloned().unwrap_or_default();
        let beginnings = self.beginnings.get(&bucket(word)).into_iter().flatten();
        ids.extend(beginnings.filter(|(start, _)| word.starts_with(start.as_str())).map(|(_, id)| *id));
        ids.sort_unstable();
        ids.dedup();
        ids.into_iter().filter_map(|id| self.names.get(id)).map(String::as_str).collect()
    }
}

fn bucket(word: &str) -> String {
    word.chars().take(3).collect()
}

#[derive(Debug, Default)]
struct WordTable {
    concepts: Groups,
    lists: Groups,
    units: Groups,
}

fn table() -> &'static WordTable {
    static TABLE: OnceLock<WordTable> = OnceLock::new();
    // A test parses the file, which is part of the program; with an empty table no plain question would find a tool.
    TABLE.get_or_init(|| {
        let table: Table = include_str!("words.toml").parse().unwrap_or_default();
        let groups = |name: &str| Groups::read(table.get(name));
        WordTable { concepts: groups("concepts"), lists: groups("lists"), units: groups("units") }
    })
}

/// Returns the concepts of a word.
pub(crate) fn concepts(word: &str) -> Vec<&'static str> {
    table().concepts.find(word)
}

pub(crate) fn means(word: &str, concept: &str) -> bool {
    concepts(word).contains(&concept)
}

/// Returns whether a word is one of a list that is written with blanks.
pub(crate) fn among(word: &str, list: &str) -> bool {
    list.split(' ').any(|one| one == word)
}

/// Returns whether a word is in a list of the table.
pub(crate) fn is(word: &str, list: &str) -> bool {
    table().lists.find(word).contains(&list)
}

pub(crate) fn is_stop(word: &str) -> bool {
    is(word, "stop")
}

/// "Deleted", «изменил»: a deed of the past, which neither a tool offers nor a request asks for.
pub(crate) fn is_done(word: &str) -> bool {
    word.ends_with("ed") || is(word, "done")
}

/// Returns the unit of measurement that a word names, as a tool for sums takes it.
pub(crate) fn unit(word: &str) -> Option<&'static str> {
    table().units.find(word).first().copied()
}

/// Returns what a word is compared by: its concepts, written `#time`, and its stem.
pub(crate) fn terms(word: &str) -> Vec<String> {
    concepts(word).into_iter().map(|name| format!("#{name}")).chain([stem(word)]).collect()
}

/// Returns whether two words share a stem or a concept.
pub(crate) fn related(one: &str, other: &str) -> bool {
    let mine = terms(one);
    terms(other).iter().any(|term| mine.contains(term))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_share_a_stem() {
        for (one, other) in [
            ("file", "files"),
            ("created", "creates"),
            ("entry", "entries"),
            ("branch", "branches"),
            ("run", "running"),
            ("call", "called"),
            ("recent", "recently"),
            ("заметка", "заметку"),
            ("файл", "файлами"),
            ("коммиты", "коммитов"),
            ("москва", "москве"),
        ] {
            assert_eq!(stem(one), stem(other), "{one} {other}");
        }
        assert_ne!(stem("status"), stem("state"));
        assert_ne!(stem("час"), stem("часть"));
    }

    #[test]
    fn words_have_their_places_and_identifiers_are_split() {
        let text = "Ещё: read-me, 2 раза";
        let actual = words(text);
        let texts: Vec<_> = actual.iter().map(|word| word.text.as_str()).collect();
        assert_eq!(texts, ["еще", "read", "me", "2", "раза"]);
        assert!(actual.iter().all(|word| lower(&text[word.start..word.end]) == word.text));
        for name in ["createNote", "create_note", "create-note", "Create Note"] {
            assert_eq!(identifier_words(name), ["create", "note"], "{name}");
        }
    }

    #[test]
    fn both_languages_share_concepts() {
        include_str!("words.toml").parse::<Table>().unwrap();
        for (english, russian, concept) in [
            ("time", "время", "time"),
            ("folders", "папке", "directory"),
            ("calculate", "посчитай", "calculate"),
            ("saved", "сохрани", "write"),
            ("weather", "погоду", "weather"),
        ] {
            assert!(means(english, concept) && means(russian, concept), "{english} {russian}");
        }
        assert!(!means("часть", "time") && is_stop("какую") && !is_stop("weather"));
        assert_eq!((unit("kilometres"), unit("bananas")), (Some("km"), None));
    }
}
