//! From what people call a time zone to the zone.
//!
//! Tried in this order: `local`, UTC and offsets from it, IANA names in any case, the table of places, the last part of
//! IANA names (`Tokyo`), and place names in another grammatical case: Russian puts endings on names (`в Москве`), so
//! names are compared without theirs. A test makes sure that no two places of different zones look alike then.

use converse_text::suggest::near_names;
use jiff::tz::{Offset, TimeZone, TimeZoneDatabase};

use super::places::PLACES;
use crate::builtin::arguments::shown;

#[derive(Debug, Clone)]
pub(super) struct Zone {
    /// As IANA spells it, or `UTC+03:00`.
    pub(super) name: String,
    pub(super) zone: TimeZone,
}

const MAX_NAME_CHARS: usize = 100;
const MOST_NEAR: usize = 5;

/// Returns the zone for a name, or a message with similar names.
pub(super) fn find(asked: &str, local: &Zone) -> Result<Zone, String> {
    let name = plain(asked);
    if name.chars().count() > MAX_NAME_CHARS {
        return Err(format!("`{}` is too long for a time zone", shown(asked)));
    }
    if matches!(name.as_str(), "" | "local" | "system" | "default") {
        return Ok(local.clone());
    }
    if let Some(offset) = offset(&name)? {
        return Ok(offset);
    }
    let database = TimeZoneDatabase::bundled();
    let found = named(&database, &name.replace(' ', "_"))
        .or_else(|| place(&name).and_then(|zone| named(&database, zone)))
        .or_else(|| last_part(&database, &name))
        .or_else(|| inflected(&name).and_then(|zone| named(&database, zone)));
    found.ok_or_else(|| unknown(&database, asked, &name))
}

/// Lower case, single blanks, without a preposition before or a country after.
fn plain(asked: &str) -> String {
    let first = asked.split(',').next().unwrap_or_default().to_lowercase().replace('ё', "е");
    let first = first.replace(['\u{2010}', '\u{2011}', '\u{2013}', '\u{2014}'], "-").replace('\u{2212}', "-");
    let mut words: Vec<&str> = first.split_whitespace().collect();
    while words.len() > 1
        && matches!(words.first(), Some(&("в" | "во" | "in" | "город" | "городе" | "г." | "city")))
    {
        words.remove(0);
    }
    words.join(" ")
}

fn named(database: &TimeZoneDatabase, name: &str) -> Option<Zone> {
    let zone = database.get(name).ok()?;
    let name = zone.iana_name().unwrap_or(name).to_owned();
    Some(Zone { name, zone })
}

fn place(name: &str) -> Option<&'static str> {
    PLACES.iter().find(|(_, names)| names.contains(&name)).map(|(zone, _)| *zone)
}

fn last_part(database: &TimeZoneDatabase, name: &str) -> Option<Zone> {
    let tail = format!("/{}", name.replace(' ', "_"));
    let full = database.available().map(|full| full.as_str().to_owned());
    let full = full.into_iter().find(|full| full.to_lowercase().ends_with(&tail))?;
    named(database, &full)
}

fn inflected(name: &str) -> Option<&'static str> {
    let stem = stem(name);
    if stem.chars().count() < 3 {
        return None;
    }
    let meant = |names: &&[&str]| names.iter().any(|known| inflects(known) && self::stem(known) == stem);
    PLACES.iter().find(|(_, names)| meant(names)).map(|(zone, _)| *zone)
}

fn is_cyrillic(name: &str) -> bool {
    name.starts_with(|character| matches!(character, 'а'..='я'))
}

/// Foreign names in `о` (Кито) have one form only; those in `ово` and `ево` may have more.
fn inflects(name: &str) -> bool {
    is_cyrillic(name) && (!name.ends_with('о') || name.ends_with("ово") || name.ends_with("ево"))
}

/// A Russian name without the endings of its cases: each word loses its last vowels, `ь` and `й`.
fn stem(name: &str) -> String {
    let ending = |c: char| matches!(c, 'а' | 'е' | 'и' | 'о' | 'у' | 'ы' | 'э' | 'ю' | 'я' | 'ь' | 'й');
    name.split(' ').map(|word| word.trim_end_matches(ending)).collect::<Vec<_>>().join(" ")
}

/// `UTC`, `GMT`, `Z`, and offsets: `UTC+3`, `+05:30`, `GMT-0330`. `Etc/GMT+3` is not one of these: it means the reverse.
fn offset(name: &str) -> Result<Option<Zone>, String> {
    let based = ["utc", "gmt"].iter().find_map(|base| name.strip_prefix(base));
    let rest = based.unwrap_or(name).trim();
    if rest.is_empty() || name == "z" {
        return Ok(Some(Zone { name: "UTC".to_owned(), zone: TimeZone::UTC }));
    }
    let Some((sign, digits)) = signed(rest) else { return Ok(None) };
    let wrong = || format!("`{}` is not an offset between -12:00 and +14:00", shown(name));
    let minutes = minutes(digits.trim()).ok_or_else(wrong)? * sign;
    if !(-12 * 60..=14 * 60).contains(&minutes) {
        return Err(wrong());
    }
    let zone = TimeZone::fixed(Offset::from_seconds(minutes * 60).map_err(|_| wrong())?);
    let shown = format!(
        "UTC{}{:02}:{:02}",
        if minutes < 0 { '-' } else { '+' },
        minutes.abs() / 60,
        minutes.abs() % 60
    );
    Ok(Some(Zone { name: shown, zone }))
}

fn signed(text: &str) -> Option<(i32, &str)> {
    let plus = text.strip_prefix('+').map(|digits| (1, digits));
    plus.or_else(|| text.strip_prefix('-').map(|digits| (-1, digits)))
}

/// `3`, `03`, `0330`, `3:30` and `03:30` in minutes.
fn minutes(digits: &str) -> Option<i32> {
    let (hours, minutes) = match digits.split_once(':') {
        Some((hours, minutes)) if minutes.len() == 2 => (hours, minutes),
        Some(_) => return None,
        None if digits.len() == 4 => digits.split_at_checked(2)?,
        None => (digits, "0"),
    };
    let number = |text: &str| {
        let plain = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        plain.then(|| text.parse::<i32>().ok()).flatten()
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    (minutes < 60).then_some(hours * 60 + minutes)
}

fn unknown(database: &TimeZoneDatabase, asked: &str, name: &str) -> String {
    let iana: Vec<String> = database.available().map(|full| full.as_str().to_owned()).collect();
    let mut names: Vec<&str> = PLACES.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    names.extend(iana.iter().map(String::as_str));
    names.extend(iana.iter().filter_map(|full| full.rsplit('/').next()));
    names.sort_unstable();
    names.dedup();
    let near = near_names(name, &names, MOST_NEAR);
    let hint = if near.is_empty() {
        "use an IANA name such as `Europe/Paris`, a large city, or an offset such as `UTC+3`".to_owned()
    } else {
        format!("near it: {}", near.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "))
    };
    format!("`{}` is not a known time zone or city; {hint}", shown(asked))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn every_place_has_a_zone_and_is_there_once() {
        let database = TimeZoneDatabase::bundled();
        let mut seen: HashMap<&str, &str> = HashMap::new();
        for (zone, names) in PLACES {
            assert_eq!(database.get(zone).unwrap().iana_name(), Some(*zone));
            for name in *names {
                assert_eq!(plain(name), *name, "written as it is looked up");
                assert_eq!(seen.insert(name, zone), None, "{name} is there twice");
            }
        }
        let cities = PLACES.iter().flat_map(|(_, names)| *names).filter(|name| is_cyrillic(name));
        assert!(cities.count() >= 150);
    }

    #[test]
    fn no_two_places_of_different_zones_look_alike_without_endings() {
        let mut stems: HashMap<String, &str> = HashMap::new();
        for (zone, names) in PLACES {
            for name in names.iter().filter(|name| inflects(name)) {
                let other = stems.insert(stem(name), zone);
                assert!(other.is_none_or(|other| other == *zone), "{name}: {zone} and {other:?}");
            }
        }
    }

    #[test]
    fn offsets_are_read_in_every_usual_spelling() {
        for (text, expected) in [
            ("utc", Some("UTC")),
            ("gmt", Some("UTC")),
            ("z", Some("UTC")),
            ("utc+3", Some("UTC+03:00")),
            ("utc +3", Some("UTC+03:00")),
            ("gmt-03:30", Some("UTC-03:30")),
            ("+0530", Some("UTC+05:30")),
            ("+14", Some("UTC+14:00")),
            ("-12:00", Some("UTC-12:00")),
            ("utc-0", Some("UTC+00:00")),
            ("tokyo", None),
            ("gmt0x", None),
        ] {
            assert_eq!(offset(text).unwrap().map(|zone| zone.name).as_deref(), expected, "{text}");
        }
        for text in ["utc+15", "-12:01", "+1:60", "+1:5", "+123", "+", "utc+x", "+99999999999999999999"] {
            assert!(offset(text).is_err(), "{text}");
        }
    }
}
