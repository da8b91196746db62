//! Large cities and time zones in a text: «в Токио», "New York", `Europe/Paris`, `UTC+3`.
//!
//! A name in small letters counts only after a preposition: «вена» is a vein and "lima" a bean.

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::words::{Word, among, is, is_cyrillic, is_stop, stem, words};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// The English name of a known city, or the name as written.
    pub(crate) name: String,
    /// The IANA zone of a known city.
    pub(crate) zone: Option<String>,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

#[derive(Debug)]
struct City {
    /// The stems of the words of one of its names.
    stems: Vec<String>,
    name: String,
    zone: String,
}

/// The names of cities by the stem of their first word, longest names first.
fn cities() -> &'static HashMap<String, Vec<City>> {
    static CITIES: OnceLock<HashMap<String, Vec<City>>> = OnceLock::new();
    CITIES.get_or_init(|| {
        let table: toml::Table = include_str!("places.toml").parse().unwrap_or_default();
        let rows = table.get("places").and_then(toml::Value::as_array).into_iter().flatten();
        let mut cities: HashMap<String, Vec<City>> = HashMap::new();
        for row in rows.filter_map(toml::Value::as_str) {
            let mut columns = row.split(" | ");
            let zone = columns.next().unwrap_or_default().to_owned();
            let names: Vec<&str> = columns.flat_map(|column| column.split(", ")).collect();
            let main = names.first().copied().unwrap_or_default();
            for name in names {
                let stems: Vec<String> = words(name).iter().map(|word| stem(&word.text)).collect();
                let first = stems.first().cloned().unwrap_or_default();
                let city = City { stems, name: main.to_owned(), zone: zone.clone() };
                cities.entry(first).or_default().push(city);
            }
        }
        cities.values_mut().for_each(|list| list.sort_by_key(|city| std::cmp::Reverse(city.stems.len())));
        cities
    })
}

const PREPOSITIONS: &str = "in at for from to of near and в во из на для по до и";

/// Returns the places of a text in order: known cities, and capitalised names after "in" or «в», which a tool may know. A
/// place is named in full: "New York City", "Lake Como", "Springfield, Illinois", "the Mississippi river".
pub(crate) fn places(text: &str) -> Vec<Place> {
    let all = words(text);
    let mut places = Vec::new();
    let mut at = 0;
    while at < all.len() {
        let before = at.checked_sub(1).map_or("", |before| all[before].text.as_str());
        let named = city(text, &all, at);
        let written = &text[all[at].start..all[at].end];
        let stranger = is_name(written) && among(before, "in в во");
        let count = named.map_or(1, |city| city.stems.len());
        if named.is_some() || stranger {
            let last = whole(text, &all, at + count - 1, named.is_some());
            let (start, end) = (all[at].start, all[last].end);
            let known =
                named.filter(|city| last == at + count - 1 && !text[start..end].starts_with(&city.name));
            let name = known.map_or(&text[start..end], |city| city.name.as_str());
            let zone = named.map(|city| city.zone.clone());
            places.push(Place { name: name.to_owned(), zone, start, end });
            at = last + 1;
        } else {
            at += 1;
        }
    }
    places
}

fn city(text: &str, all: &[Word], at: usize) -> Option<&'static City> {
    let before = at.checked_sub(1).map_or("", |before| all[before].text.as_str());
    let capital = text[all[at].start..].starts_with(char::is_uppercase);
    cities().get(&stem(&all[at].text)).into_iter().flatten().find(|city| {
        let count = city.stems.len();
        let fits = all.len() >= at + count
            && all[at..].iter().zip(&city.stems).all(|(word, mine)| stem(&word.text) == *mine);
        let near = |c: char| c.is_alphanumeric() || " -.".contains(c);
        fits && (capital || among(before, PREPOSITIONS))
            && text[all[at].start..all[at + count - 1].end].chars().all(near)
    })
}

fn is_name(written: &str) -> bool {
    written.starts_with(char::is_uppercase)
        && written.chars().count() > 2
        && written.chars().all(char::is_alphabetic)
        && written.chars().any(char::is_lowercase)
}

/// Returns the last word of a place whose name so far ends with this one: over the capitalised words behind it, a word
/// such as "river", and the state or country after a comma. The Russian name of a city is known without what follows.
fn whole(text: &str, all: &[Word], last: usize, known: bool) -> usize {
    let written = |at: usize| &text[all[at].start..all[at].end];
    let between = |at: usize| &text[all[at].end..all[at + 1].start];
    let word = |at: usize| at < all.len() && !is_stop(&all[at].text) && !is(&all[at].text, "calendar");
    let capital =
        |at: usize| word(at) && written(at).len() > 1 && written(at).starts_with(char::is_uppercase);
    let run = |mut at: usize| {
        while capital(at + 1) && between(at) == " " {
            at += 1;
        }
        at
    };
    if known && written(last).chars().any(is_cyrillic) {
        return last;
    }
    let mut last = run(last);
    if word(last + 1) && between(last) == " " && is(&all[last + 1].text, "landforms") {
        last += 1;
    }
    let region = last + 1;
    if !capital(region)
        || between(last) != ", "
        || city(text, all, region).is_some()
        || is(&all[region].text, "starters")
    {
        return last;
    }
    // "In Lyon, Nice and Metz" is a list.
    let end = run(region);
    let listed = (end + 1 < all.len()) && (between(end) == ", " || among(&all[end + 1].text, "and or и или"));
    let listed = listed && (capital(end + 1) || (end + 2 < all.len() && capital(end + 2)));
    if listed { last } else { end }
}

const AREAS: &str = "Africa America Antarctica Arctic Asia Atlantic Australia Europe Indian Pacific Etc";

/// Returns whether a token has the form of a time zone: `Asia/Tokyo`, `UTC`, `GMT`, `UTC+3`, `UTC+05:30`.
pub(crate) fn is_zone(token: &str) -> bool {
    if let Some((area, city)) = token.split_once('/') {
        let good = |c: char| c.is_ascii_alphanumeric() || "_-+/".contains(c);
        return among(area, AREAS) && !city.is_empty() && city.chars().all(good);
    }
    let rest = token.strip_prefix("UTC").or_else(|| token.strip_prefix("GMT"));
    let is_offset = |rest: &str| {
        let digits = rest.strip_prefix(['+', '-']).unwrap_or_default();
        (1..=5).contains(&digits.len()) && digits.chars().all(|c| c.is_ascii_digit() || c == ':')
    };
    rest.is_some_and(|rest| rest.is_empty() || is_offset(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cities_are_found_in_both_languages_and_in_their_cases() {
        assert!(cities().values().flatten().count() > 150);
        assert!(cities().values().flatten().all(|city| is_zone(&city.zone)));
        for (text, zones) in [
            ("What time is it in Tokyo?", &["Asia/Tokyo"][..]),
            ("который час в Токио", &["Asia/Tokyo"]),
            ("из Москвы", &["Europe/Moscow"]),
            ("в Нью-Йорке", &["America/New_York"]),
            ("New York City time", &["America/New_York"]),
            ("в Санкт-Петербурге", &["Europe/Moscow"]),
            ("в лондоне", &["Europe/London"]),
            ("в Рио-де-Жанейро", &["America/Sao_Paulo"]),
            ("в Вене", &["Europe/Vienna"]),
            ("from Tokyo to New York and Berlin", &["Asia/Tokyo", "America/New_York", "Europe/Berlin"]),
            ("вены болят", &[]),
            ("lima beans", &[]),
        ] {
            let actual: Vec<_> = places(text).into_iter().filter_map(|place| place.zone).collect();
            assert_eq!(actual, zones, "{text}");
        }
        let name = |text: &str| places(text).first().map(|place| place.name.clone());
        assert_eq!(name("time in Gotham now").as_deref(), Some("Gotham"));
        assert_eq!(name("time in the kitchen"), None);
    }

    #[test]
    fn a_place_is_named_in_full() {
        for (text, names) in [
            ("the weather in Gotham Heights now", &["Gotham Heights"][..]),
            ("the weather in San Serif", &["San Serif"]),
            ("the weather in London Docklands", &["London Docklands"]),
            ("the weather in New York City", &["New York City"]),
            ("fish in Anduin river", &["Anduin river"]),
            ("the weather in Lisbon, Portugal today", &["Lisbon, Portugal"]),
            ("hotels near Chicago, IL", &["Chicago, IL"]),
            ("the weather in Paris Tuesday", &["Paris"]),
            ("the weather in Paris, Berlin", &["Paris", "Berlin"]),
            ("the weather in Paris, Berlin and Rome", &["Paris", "Berlin", "Rome"]),
            ("the weather in Gotham, Bree and Arkham", &["Gotham"]),
            ("the weather in Paris, Show it", &["Paris"]),
            ("погода в Москве, Россия", &["Moscow"]),
            ("погода в Нижнем Городе", &["Нижнем Городе"]),
        ] {
            let actual: Vec<_> = places(text).into_iter().map(|place| place.name).collect();
            assert_eq!(actual, names, "{text}");
        }
        assert_eq!(places("in New York City")[0].zone.as_deref(), Some("America/New_York"));
    }

    #[test]
    fn zones_have_a_form() {
        for zone in ["Asia/Tokyo", "UTC", "UTC+3", "UTC-05:30", "America/Argentina/Buenos_Aires", "Etc/GMT-3"]
        {
            assert!(is_zone(zone), "{zone}");
        }
        for other in ["src/main", "Asia/", "utc", "UTCX", "UTC+", "and/or"] {
            assert!(!is_zone(other), "{other}");
        }
    }
}
