//! String formats of form fields.

/// A string format; only its syntax is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Email,
    Uri,
    Date,
    DateTime,
}

impl Format {
    /// Returns `None` for an unknown format, which allows any text.
    pub(super) fn read(word: &str) -> Option<Self> {
        match word {
            "email" => Some(Self::Email),
            "uri" => Some(Self::Uri),
            "date" => Some(Self::Date),
            "date-time" => Some(Self::DateTime),
            _ => None,
        }
    }

    pub(super) fn description(self) -> &'static str {
        match self {
            Self::Email => "an e-mail address",
            Self::Uri => "an address (https://…)",
            Self::Date => "a date (2026-12-31)",
            Self::DateTime => "a time (2026-12-31T23:59:59Z)",
        }
    }

    pub(super) fn check(self, text: &str) -> Result<(), String> {
        let fits = match self {
            Self::Email => is_email(text),
            Self::Uri => reqwest::Url::parse(text).is_ok(),
            Self::Date => is_date(text),
            Self::DateTime => is_date_time(text),
        };
        if fits { Ok(()) } else { Err(format!("it must be {}", self.description())) }
    }
}

fn is_email(text: &str) -> bool {
    let plain = !text.chars().any(|c| c.is_whitespace() || c.is_control());
    plain
        && matches!(text.rsplit_once('@'), Some((who, at)) if !who.is_empty() && !at.is_empty() && !who.contains('@'))
}

/// Returns the numbers in a text of exactly this shape, where `0` stands for a digit.
fn numbers(text: &str, shape: &str) -> Option<Vec<u32>> {
    let fits = |(c, s): (char, char)| if s == '0' { c.is_ascii_digit() } else { c.eq_ignore_ascii_case(&s) };
    if text.chars().count() != shape.chars().count() || !text.chars().zip(shape.chars()).all(fits) {
        return None;
    }
    text.split(|c: char| !c.is_ascii_digit())
        .filter(|part| !part.is_empty())
        .map(|part| part.parse().ok())
        .collect()
}

fn is_date(text: &str) -> bool {
    let Some([year, month, day]) =
        numbers(text, "0000-00-00").as_deref().and_then(|n| <[u32; 3]>::try_from(n).ok())
    else {
        return false;
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&day)
}

fn is_date_time(text: &str) -> bool {
    let Some((date, rest)) = text.split_at_checked(10) else { return false };
    let Some((time, rest)) = rest.split_at_checked(9) else { return false };
    let in_day = |numbers: &[u32]| matches!(numbers, [hour, minute, rest @ ..] if *hour < 24 && *minute < 60 && rest.iter().all(|second| *second <= 60));
    let zone = match rest.strip_prefix('.') {
        None => rest,
        Some(rest) => {
            let zone = rest.trim_start_matches(|c: char| c.is_ascii_digit());
            if zone.len() == rest.len() {
                return false;
            }
            zone
        }
    };
    let zoned = zone.eq_ignore_ascii_case("z")
        || numbers(zone, "+00:00")
            .or_else(|| numbers(zone, "-00:00"))
            .is_some_and(|numbers| in_day(&numbers));
    is_date(date) && numbers(time, "T00:00:00").is_some_and(|numbers| in_day(&numbers)) && zoned
}
