//! Places and time zones in a text: «в Токио», "New York", `Europe/Paris`, `UTC+3`.
//!
//! Surprising: Russian names are matched in all their cases by cutting the last vowel and allowing case endings, and
//! a name in small letters counts only after a preposition or before "time", because «вена» is a vein and "lima" a bean.

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::words::{Word, is_cyrillic, lower, words};

/// A place that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// The English name.
    pub(crate) name: String,
    /// Its IANA zone.
    pub(crate) zone: String,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

#[derive(Debug)]
struct Entry {
    /// The words of the name; the last is a stem when it declines.
    words: Vec<String>,
    form: Form,
    name: String,
    zone: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Exact,
    /// Any word that begins so.
    Beginning,
    /// A case ending may follow each word.
    Declined,
}

const CASES: [&str; 22] = [
    "", "а", "у", "е", "ом", "ой", "ы", "и", "ю", "ь", "ем", "ею", "ей", "ью", "я", "й", "ам", "ами", "ах",
    "ого", "ому", "ую",
];
const PREPOSITIONS: [&str; 20] = [
    "in",
    "at",
    "for",
    "from",
    "to",
    "of",
    "into",
    "near",
    "в",
    "во",
    "из",
    "на",
    "для",
    "по",
    "между",
    "and",
    "и",
    "between",
    "около",
    "до",
];

/// Entries by the first two letters of their first word.
fn table() -> &'static HashMap<String, Vec<Entry>> {
    static TABLE: OnceLock<HashMap<String, Vec<Entry>>> = OnceLock::new();
    TABLE.get_or_init(|| read(include_str!("places.toml")))
}

fn read(text: &str) -> HashMap<String, Vec<Entry>> {
    let mut entries: HashMap<String, Vec<Entry>> = HashMap::new();
    let table: toml::Table = text.parse().unwrap_or_default();
    let rows = table.get("places").and_then(toml::Value::as_array);
    for row in rows.into_iter().flatten().filter_map(toml::Value::as_str) {
        let mut columns = row.split('|').map(str::trim);
        let (zone, english) = (columns.next().unwrap_or_default(), columns.next().unwrap_or_default());
        let names = |column: &str| column.split(',').map(|name| name.trim().to_owned()).collect::<Vec<_>>();
        let english = names(english);
        let main = english.first().cloned().unwrap_or_default();
        for name in
            english.iter().chain(&names(columns.next().unwrap_or_default())).filter(|name| !name.is_empty())
        {
            let entry = entry(name, &main, zone);
            entries.entry(key(entry.words.first().map_or("", String::as_str))).or_default().push(entry);
        }
    }
    // The longest name first: "New York City" before "New York".
    entries.values_mut().for_each(|list| list.sort_by_key(|entry| std::cmp::Reverse(entry.words.len())));
    entries
}

fn entry(name: &str, main: &str, zone: &str) -> Entry {
    let (name, beginning) = match name.strip_suffix('*') {
        Some(name) => (name, true),
        None => (name, false),
    };
    let parts: Vec<String> = words(name).into_iter().map(|word| word.text).collect();
    let last = parts.last().cloned().unwrap_or_default();
    let declines =
        last.chars().any(is_cyrillic) && !last.ends_with(['о', 'и', 'у', 'э']) && last.chars().count() > 2;
    let form = match (beginning, declines) {
        (true, _) => Form::Beginning,
        (_, true) => Form::Declined,
        _ => Form::Exact,
    };
    let words = if form == Form::Declined { parts.iter().map(|part| base(part)).collect() } else { parts };
    Entry { words, form, name: main.to_owned(), zone: zone.to_owned() }
}

/// A name without what declension changes: «Москва» «Москв», «Германия» «Германи», «Нижний» «Нижн».
fn base(word: &str) -> String {
    let cut = ["ий", "ый", "ая", "ой"]
        .iter()
        .find_map(|end| word.strip_suffix(end).filter(|_| word.chars().count() > 4));
    let soft = |c: char| "аяыьйе".contains(c);
    cut.map_or_else(|| word.strip_suffix(soft).unwrap_or(word).to_owned(), str::to_owned)
}

fn key(word: &str) -> String {
    word.chars().take(2).collect()
}

impl Entry {
    /// How many words from the front it takes, or none.
    fn takes(&self, found: &[Word]) -> Option<usize> {
        let here = found.get(..self.words.len())?;
        let last = self.words.len().saturating_sub(1);
        let fits = |(at, (mine, word)): (usize, (&String, &Word))| match self.form {
            Form::Exact => *mine == word.text,
            Form::Beginning if at == last => word.text.starts_with(mine.as_str()),
            Form::Beginning => *mine == word.text,
            Form::Declined => word
                .text
                .strip_prefix(mine.as_str())
                .is_some_and(|end| CASES.contains(&end) || end == "ий" || end == "ая"),
        };
        self.words.iter().zip(here).enumerate().all(fits).then_some(self.words.len())
    }
}

/// All places of the table in this text, in order.
pub(crate) fn places(text: &str) -> Vec<Place> {
    let all = words(text);
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(rest) = all.get(at..).filter(|rest| !rest.is_empty()) {
        let first = rest.first().map_or("", |word| word.text.as_str());
        let entries = table().get(&key(first)).map_or(&[][..], Vec::as_slice);
        let hit = entries.iter().find_map(|entry| entry.takes(rest).map(|count| (entry, count)));
        match hit.and_then(|(entry, count)| place(text, &all, at, count, entry)) {
            Some((place, count)) => {
                found.push(place);
                at += count;
            }
            None => at += 1,
        }
    }
    found
}

fn place(text: &str, all: &[Word], at: usize, count: usize, entry: &Entry) -> Option<(Place, usize)> {
    let (first, last) = (all.get(at)?, all.get(at + count - 1)?);
    let between = text.get(first.start..last.end)?;
    let near = between.chars().all(|c| c.is_alphanumeric() || " -.\u{2010}\u{2011}".contains(c));
    let capital = text.get(first.start..)?.starts_with(char::is_uppercase);
    let before = at
        .checked_sub(1)
        .and_then(|at| all.get(at))
        .is_some_and(|word| PREPOSITIONS.contains(&word.text.as_str()));
    let timely = all.get(at + count).is_some_and(|word| word.text == "time" || word.text.starts_with("врем"));
    let sure = capital || before || timely || entry.form == Form::Beginning || count > 1;
    let place =
        Place { name: entry.name.clone(), zone: entry.zone.clone(), start: first.start, end: last.end };
    (near && sure).then_some((place, count))
}

const AREAS: [&str; 11] = [
    "Africa",
    "America",
    "Antarctica",
    "Arctic",
    "Asia",
    "Atlantic",
    "Australia",
    "Europe",
    "Indian",
    "Pacific",
    "Etc",
];

/// Whether a token is a time zone by its form: `Asia/Tokyo`, `UTC`, `GMT`, `UTC+3`, `UTC+05:30`.
pub(crate) fn is_zone(token: &str) -> bool {
    if let Some((area, city)) = token.split_once('/') {
        let good = |c: char| c.is_ascii_alphanumeric() || "_-+/".contains(c);
        return AREAS.contains(&area) && !city.is_empty() && city.chars().all(good);
    }
    let rest = token.strip_prefix("UTC").or_else(|| token.strip_prefix("GMT"));
    rest.is_some_and(|rest| rest.is_empty() || is_offset(rest))
}

fn is_offset(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or_default();
    !digits.is_empty() && digits.len() <= 5 && digits.chars().all(|c| c.is_ascii_digit() || c == ':')
}

/// A capitalised name after "in" or «в» that the table lacks: the tool may know it.
pub(crate) fn unknown_place(text: &str) -> Option<(String, usize, usize)> {
    let all = words(text);
    all.windows(2).find_map(|pair| {
        let [before, name] = pair else { return None };
        let written = text.get(name.start..name.end)?;
        let asked = ["in", "at", "near", "в", "во"].contains(&before.text.as_str());
        let named = written.starts_with(char::is_uppercase) && written.chars().all(char::is_alphabetic);
        let longer = written.chars().count() > 2 && written.chars().any(char::is_lowercase);
        let language = crate::lexicon::lexicon().languages.find(&lower(written)).is_some();
        (asked && named && longer && !language).then(|| (written.to_owned(), name.start, name.end))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_the_cities_it_promises() {
        let all = table().values().flatten().count();
        let zones: std::collections::HashSet<_> =
            table().values().flatten().map(|e| e.name.clone()).collect();
        assert!(all > 300 && zones.len() >= 180, "{all} {}", zones.len());
        assert!(table().values().flatten().all(|entry| is_zone(&entry.zone)));
    }

    #[test]
    fn names_are_found_in_both_languages_and_in_their_cases() {
        for (text, zone) in [
            ("What time is it in Tokyo?", "Asia/Tokyo"),
            ("который час в Токио", "Asia/Tokyo"),
            ("время в Москве", "Europe/Moscow"),
            ("из Москвы", "Europe/Moscow"),
            ("по московскому времени", "Europe/Moscow"),
            ("в Нью-Йорке", "America/New_York"),
            ("New York City time", "America/New_York"),
            ("в Нижнем Новгороде", "Europe/Moscow"),
            ("в Санкт-Петербурге", "Europe/Moscow"),
            ("в Лондоне", "Europe/London"),
            ("в лондоне", "Europe/London"),
            ("Парижем", "Europe/Paris"),
            ("в Германии", "Europe/Berlin"),
            ("в Южной Корее", "Asia/Seoul"),
            ("в Рио-де-Жанейро", "America/Sao_Paulo"),
            ("в Вене", "Europe/Vienna"),
            ("вены болят", ""),
            ("lima beans", ""),
            ("london time", "Europe/London"),
            ("в Казани", "Europe/Moscow"),
        ] {
            let zones: Vec<_> = places(text).into_iter().map(|place| place.zone).collect();
            let wanted: Vec<_> = Some(zone).into_iter().filter(|zone| !zone.is_empty()).collect();
            assert_eq!(zones, wanted, "{text}");
        }
    }

    #[test]
    fn several_places_come_in_order() {
        let names: Vec<_> =
            places("from Tokyo to New York and Berlin").into_iter().map(|place| place.name).collect();
        assert_eq!(names, ["Tokyo", "New York", "Berlin"]);
    }

    #[test]
    fn zones_are_known_by_their_form() {
        for zone in
            ["Asia/Tokyo", "UTC", "GMT", "UTC+3", "UTC-05:30", "America/Argentina/Buenos_Aires", "Etc/GMT-3"]
        {
            assert!(is_zone(zone), "{zone}");
        }
        for other in ["src/main", "Asia/", "utc", "UTCX", "UTC+", "and/or"] {
            assert!(!is_zone(other), "{other}");
        }
    }

    #[test]
    fn a_capitalised_stranger_after_a_preposition_may_be_a_place() {
        assert_eq!(unknown_place("time in Gotham now").map(|found| found.0), Some("Gotham".to_owned()));
        assert_eq!(unknown_place("time in the kitchen"), None);
        assert_eq!(unknown_place("say it in French"), None);
    }
}
