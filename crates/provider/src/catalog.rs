//! The built-in model table (`catalog.txt`, which names the source of each fact and when it was read). A look-up scans
//! the text and parses the one line it finds; nothing is built beforehand.

use crate::facts::{AcceptedMedia, Facts, LongPromptPrice, Price, Thinking};

const TABLE: &str = include_str!("catalog.txt");

/// A model of the built-in table.
#[derive(Debug, Clone, PartialEq)]
pub struct KnownModel {
    /// Its first name in the table.
    pub name: &'static str,
    pub facts: Facts,
    /// The day on which the vendor shuts it down.
    pub ends: Option<&'static str>,
    /// Source of its price, and when it was read.
    pub source: &'static str,
}

/// Returns the table's facts of a model on the day `today` (`2026-11-22`); expired prices are omitted. A name that ends in
/// a snapshot's date is also looked up without it.
pub fn known(provider: &str, model: &str, today: &str) -> Option<KnownModel> {
    let (source, lines) = section(provider)?;
    let line_of = |model: &str| lines.lines().find(|line| names(line).any(|name| name == model));
    let line = line_of(model).or_else(|| line_of(undated(model)?))?;
    read(line, source, today)
}

/// Returns all models of a provider in the table.
pub fn known_models(provider: &str, today: &str) -> impl Iterator<Item = KnownModel> {
    let today = today.to_owned();
    section(provider).into_iter().flat_map(move |(source, lines)| {
        let today = today.clone();
        lines.lines().filter_map(move |line| read(line, source, &today))
    })
}

/// Returns the source and the lines of a provider's section.
fn section(provider: &str) -> Option<(&'static str, &'static str)> {
    let mut rest = TABLE;
    while let Some((_, at)) = rest.split_once("\n@") {
        let (head, lines) = at.split_once('\n')?;
        if let Some((name, source)) = head.split_once(' ')
            && name == provider
        {
            return Some((source, lines.split_once("\n@").map_or(lines, |(lines, _)| lines)));
        }
        rest = at;
    }
    None
}

fn names(line: &str) -> impl Iterator<Item = &str> {
    let first = if line.starts_with('#') { "" } else { line.split(' ').next().unwrap_or_default() };
    first.split('|').filter(|name| !name.is_empty())
}

/// `claude-haiku-4-5` of `claude-haiku-4-5-20251001`, `gpt-5.4` of `gpt-5.4-2026-03-05`.
fn undated(model: &str) -> Option<&str> {
    let digits = |text: &str, many| text.len() == many && text.bytes().all(|byte| byte.is_ascii_digit());
    let (rest, last) = model.rsplit_once('-')?;
    if digits(last, 8) && last.starts_with("20") {
        return Some(rest);
    }
    let (rest, month) = rest.rsplit_once('-')?;
    let (rest, year) = rest.rsplit_once('-')?;
    (digits(last, 2) && digits(month, 2) && digits(year, 4)).then_some(rest)
}

fn read(line: &'static str, source: &'static str, today: &str) -> Option<KnownModel> {
    let name = names(line).next()?;
    let mut known = KnownModel { name, facts: Facts::default(), ends: None, source };
    let (facts, mut until) = (&mut known.facts, None);
    for word in line.split(' ').skip(1) {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        match key {
            "window" => facts.window = value.parse().ok(),
            "max" => facts.max_output = value.parse().ok(),
            "takes" | "lacks" => media(&mut facts.takes, value, key == "takes"),
            "tools" | "no-tools" => facts.tools = Some(key == "tools"),
            "sampling" | "no-sampling" => facts.sampling = Some(key == "sampling"),
            "schema" | "no-schema" => facts.structured = Some(key == "schema"),
            "thinks" => facts.thinking = thinking(value),
            "responses" => facts.needs_responses = true,
            "price" => facts.price = rates(value).map(|rates| Price { above: None, ..rates }),
            "above" => {
                if let Some(price) = &mut facts.price {
                    price.above = above(value);
                }
            }
            "until" => until = Some(value),
            "ends" => known.ends = Some(value),
            // There is a test that every word is known.
            _ => {}
        }
    }
    if until.is_some_and(|until| today > until) {
        known.facts.price = None;
    }
    Some(known)
}

fn media(takes: &mut AcceptedMedia, value: &str, yes: bool) {
    for medium in value.split(',') {
        match medium {
            "image" => takes.images = Some(yes),
            "document" => takes.documents = Some(yes),
            "audio" => takes.audio = Some(yes),
            _ => {}
        }
    }
}

fn thinking(value: &str) -> Option<Thinking> {
    match value {
        "none" => Some(Thinking::None),
        "budget" => Some(Thinking::Budget),
        "effort" => Some(Thinking::Effort),
        _ => None,
    }
}

fn above(value: &str) -> Option<LongPromptPrice> {
    let (tokens, long) = value.split_once(':')?;
    let Price { input, output, cache_read, cache_write, .. } = rates(long)?;
    Some(LongPromptPrice { tokens: tokens.parse().ok()?, input, output, cache_read, cache_write })
}

fn rates(value: &str) -> Option<Price> {
    let mut parts = value.split('/').map(per_million);
    let (input, output) = (parts.next()??, parts.next()??);
    Some(Price { input, output, cache_read: parts.next()?, cache_write: parts.next()?, above: None })
}

/// Converts decimal dollars to millionths of a dollar, exactly.
pub(crate) fn per_million(dollars: &str) -> Option<u64> {
    decimal(dollars, 6)
}

/// Parses a decimal number times ten to the power of `places`, truncated.
pub(crate) fn decimal(text: &str, places: usize) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    if whole.is_empty() || !whole.bytes().chain(part.bytes()).all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let part: String = part.chars().chain(std::iter::repeat('0')).take(places).collect();
    format!("{whole}{part}").parse().ok()
}

#[cfg(test)]
mod tests;
