//! Large cities and time zones in a text: «в Токио», "New York", `Europe/Paris`, `UTC+3`.
//!
//! A name in small letters counts only after a preposition: «вена» is a vein and "lima" a bean.

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::words::{among, stem, words};

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

/// Returns the places of a text in order: known cities, and capitalised names after "in" or «в», which a tool may know.
pub(crate) fn places(text: &str) -> Vec<Place> {
    let all = words(text);
    let stems: Vec<String> = all.iter().map(|word| stem(&word.text)).collect();
    let mut places = Vec::new();
    let mut at = 0;
    while at < all.len() {
        let before = at.checked_sub(1).map_or("", |before| all[before].text.as_str());
        let capital = text[all[at].start..].starts_with(char::is_uppercase);
        let named = cities().get(&stems[at]).into_iter().flatten().find(|city| {
            let count = city.stems.len();
            let fits = stems[at..].starts_with(&city.stems);
            let near = |c: char| c.is_alphanumeric() || " -.".contains(c);
            fits && (capital || among(before, PREPOSITIONS))
                && text[all[at].start..all[at + count - 1].end].chars().all(near)
        });
        let written = &text[all[at].start..all[at].end];
        let stranger = capital
            && among(before, "in в во")
            && written.chars().count() > 2
            && written.chars().all(char::is_alphabetic)
            && written.chars().any(char::is_lowercase);
        let count = named.map_or(1, |city| city.stems.len());
        let (start, end) = (all[at].start, all[at + count - 1].end);
        if let Some(City { name, zone, .. }) = named {
            places.push(Place { name: name.clone(), zone: Some(zone.clone()), start, end });
        } else if stranger {
            places.push(Place { name: written.to_owned(), zone: None, start, end });
        }
        at += count;
    }
    places
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
