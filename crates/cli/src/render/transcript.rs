//! A kept conversation, to be read: at the terminal, as Markdown, as one page of HTML.

mod fences;
mod html;
mod markdown;
mod page;
mod text;

use std::collections::HashMap;

use converse_canister::{Canister, Content, InvocationId, InvocationResult, Outcome};
use converse_session::Document;
use jiff::Timestamp;

pub(crate) use html::html;
pub(crate) use markdown::markdown;
pub(crate) use text::{Look, text};

/// A time to the minute, in UTC, as it sorts.
pub(crate) fn minute(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M").to_string()
}

/// What a conversation is called: its name, or how it begins.
fn title(document: &Document) -> String {
    let named = document.name.clone().filter(|name| !name.trim().is_empty());
    let said = || {
        let texts = document.canisters.iter().filter_map(|kept| match &kept.canister {
            Canister::User(user) => user.content.iter().find_map(Content::as_text),
            _ => None,
        });
        let line = texts.filter_map(|text| text.lines().find(|line| !line.trim().is_empty())).next()?;
        Some(line.trim().chars().take(80).collect())
    };
    named.or_else(said).unwrap_or_else(|| "A conversation".to_owned())
}

/// Each fact of a conversation in a few words.
fn facts(document: &Document) -> Vec<String> {
    let mut facts = Vec::new();
    facts.extend(document.model.clone());
    facts.push(format!("{} messages", thousands(document.canisters.len() as u64)));
    let last = document.canisters.last().map_or(document.created, |kept| kept.at);
    let (from, to) = (minute(document.created), minute(last));
    // The day is said once if it is the same.
    let to = match to.split_once(' ') {
        Some((day, time)) if from.starts_with(day) => time.to_owned(),
        _ => to,
    };
    facts.push(if from.ends_with(&to) { format!("{from} UTC") } else { format!("{from} – {to} UTC") });
    let usage = document.usage;
    if usage.input.is_some() || usage.output.is_some() {
        let (input, output) = (usage.input.unwrap_or(0), usage.output.unwrap_or(0));
        facts.push(format!("{} tokens in, {} out", thousands(input), thousands(output)));
    }
    if document.cost.0 > 0 {
        facts.push(dollars(document.cost.0));
    }
    facts
}

/// `1234567` as `1,234,567`.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let grouped = digits.chars().rev().enumerate().flat_map(|(place, digit)| {
        let comma = (place > 0 && place % 3 == 0).then_some(',');
        comma.into_iter().chain([digit])
    });
    grouped.collect::<String>().chars().rev().collect()
}

/// Of millionths: to the cent, and of small amounts to the first digits that count.
fn dollars(millionths: u64) -> String {
    let amount = millionths as f64 / 1e6;
    match millionths {
        1_000_000.. => format!("${amount:.2}"),
        1_000.. => format!("${amount:.4}"),
        _ => format!("${amount:.6}"),
    }
}

/// The result of each call, with its number.
fn results(document: &Document) -> HashMap<&InvocationId, (usize, &InvocationResult)> {
    let numbered = document.canisters.iter().zip(1..);
    let results = numbered.filter_map(|(kept, number)| match &kept.canister {
        Canister::Result(result) => Some((&result.id, (number, result))),
        _ => None,
    });
    results.collect()
}

/// How a call ended, in a sign and in words.
fn ended(outcome: Outcome) -> (&'static str, String) {
    let sign = match outcome {
        Outcome::Success => "✓",
        Outcome::Refused | Outcome::Cancelled => "⊘",
        Outcome::Interrupted => "?",
        _ => "✗",
    };
    (sign, outcome.label().replace('_', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(thousands(number), text);
        }
        for (cost, text) in [(12, "$0.000012"), (12_345, "$0.0123"), (1_234_567, "$1.23")] {
            assert_eq!(dollars(cost), text);
        }
    }
}
