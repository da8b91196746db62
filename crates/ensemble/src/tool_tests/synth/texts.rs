//! Texts: of a format, of a pattern, of a length.

use serde_json::Value;

use super::flat::{Flat, number};
use super::pattern;
use super::{Drawn, MOST_TEXT};

/// Quotes, a shell's and a terminal's letters and more than one script: what careless tools trip over.
const AWKWARD: &str = "Zoë's \"naïve\" 日本 🦀 $(x) `y` %s; <z> & \\";

/// RFC 3339, 5321, 3986, 9562 and so on, as JSON Schema names them (checked 2026-11:
/// <https://json-schema.org/draft/2020-12/json-schema-validation#section-7.3>).
const FORMATS: &[(&str, &[&str])] = &[
    ("date", &["2024-02-29", "1999-12-31"]),
    ("date-time", &["2024-02-29T23:59:59Z", "1999-12-31T00:00:00.5+05:30"]),
    ("time", &["23:59:59Z", "00:00:00+01:00"]),
    ("duration", &["P1DT2H", "PT0S"]),
    ("email", &["someone@example.org"]),
    ("idn-email", &["someone@example.org"]),
    ("hostname", &["example.org"]),
    ("idn-hostname", &["example.org"]),
    ("ipv4", &["192.0.2.1"]),
    ("ipv6", &["2001:db8::1"]),
    ("uri", &["https://example.org/a?b=c"]),
    ("uri-reference", &["a/b", "https://example.org/"]),
    ("iri", &["https://example.org/a"]),
    ("iri-reference", &["a/b"]),
    ("url", &["https://example.org/a?b=c"]),
    ("uri-template", &["https://example.org/{id}"]),
    ("uuid", &["01890a5d-ac96-774b-bcce-b302099a8057"]),
    ("json-pointer", &["/a/0"]),
    ("relative-json-pointer", &["1/a"]),
    ("regex", &["^a+$"]),
];

pub(super) fn texts(flat: &Flat) -> Vec<Drawn> {
    let least = number(flat, "minLength").unwrap_or(0);
    let most = number(flat, "maxLength").unwrap_or(usize::MAX);
    let fits = |text: &str| (least..=most).contains(&text.chars().count());
    if let Some(pattern) = flat.get("pattern").and_then(Value::as_str) {
        let matching = pattern::texts(pattern, least).into_iter().filter(|text| fits(text));
        return matching.map(|text| Drawn::new("a text of the pattern", text)).collect();
    }
    let format = flat.get("format").and_then(Value::as_str).unwrap_or_default();
    let known = FORMATS.iter().find(|(name, _)| *name == format);
    let formatted: Vec<Drawn> = known
        .into_iter()
        .flat_map(|(name, texts)| {
            texts.iter().map(move |text| Drawn::new(format!("a text of the format {name}"), *text))
        })
        .filter(|drawn| drawn.value.as_str().is_some_and(fits))
        .collect();
    if !formatted.is_empty() {
        return formatted;
    }
    let plain = of_length(4.clamp(least.min(most), most));
    let shortest = of_length(least).map(|text| Drawn::new("the shortest text", text));
    let longest = Some(most).filter(|most| *most < usize::MAX).and_then(of_length);
    let longest = longest.map(|text| Drawn::new("the longest text", text));
    let awkward = fits(AWKWARD).then(|| Drawn::new("quotes and scripts", AWKWARD));
    let plain = plain.map(|text| Drawn::new("a text", text));
    plain.into_iter().chain(longest).chain(awkward).chain(shortest).collect()
}

/// Of the same type, and of no length or pattern that fits.
pub(super) fn unfit(flat: &Flat) -> Vec<Drawn> {
    let least = number(flat, "minLength").unwrap_or(0);
    let short = least.checked_sub(1).and_then(of_length).map(|text| Drawn::new("too short", text));
    let long = number(flat, "maxLength").and_then(|most| of_length(most.checked_add(1)?));
    let long = long.map(|text| Drawn::new("too long", text));
    let strange = flat.contains_key("pattern").then(|| {
        let attempts = ["\u{1} ~", ""];
        attempts.map(|text| Drawn::new("not of the pattern", text))
    });
    short.into_iter().chain(long).chain(strange.into_iter().flatten()).collect()
}

/// So many characters; `None` if that is too long.
fn of_length(length: usize) -> Option<String> {
    if length > MOST_TEXT {
        return None;
    }
    Some("text ".chars().cycle().take(length).collect::<String>()).map(|text| match text.strip_suffix(' ') {
        Some(rest) => format!("{rest}x"),
        None => text,
    })
}
