//! A kept conversation, to be read: at the terminal, as Markdown, as one page of HTML.

mod edits;
mod fences;
mod format;
mod html;
mod markdown;
mod text;

use std::collections::HashMap;

use converse_canister::{Assistant, Canister, Content, InvocationId, InvocationResult, Outcome, Stop};
use converse_session::Document;
use jiff::Timestamp;

use converse_text::wording::{counted, grouped};

pub use format::Format;
pub use html::html;
pub use markdown::markdown;
pub use text::{Look, text};

/// A time to the minute, in UTC, as it sorts.
pub fn minute(at: Timestamp) -> String {
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

/// Shown below a reply that is not complete.
const CUT_SHORT: &str = "(cut short)";

fn is_cut(reply: &Assistant) -> bool {
    matches!(reply.stop, Stop::Cut | Stop::Truncated)
}

/// Each fact of a conversation in a few words.
fn facts(document: &Document) -> Vec<String> {
    let mut facts = Vec::new();
    facts.extend(document.model.clone());
    facts.push(counted(document.canisters.len(), "message"));
    let times = || document.canisters.iter().map(|kept| kept.at);
    // A fork was made after what is in it was said.
    let from = minute(times().min().map_or(document.created, |first| first.min(document.created)));
    let to = minute(times().max().unwrap_or(document.created));
    // The day is said once if it is the same.
    let to = match to.split_once(' ') {
        Some((day, time)) if from.starts_with(day) => time.to_owned(),
        _ => to,
    };
    facts.push(if from.ends_with(&to) { format!("{from} UTC") } else { format!("{from} – {to} UTC") });
    let usage = document.usage;
    if usage.input.is_some() || usage.output.is_some() {
        let (input, output) = (usage.input.unwrap_or(0), usage.output.unwrap_or(0));
        facts.push(format!("{} tokens in, {} out", grouped(input), grouped(output)));
    }
    if document.cost.0 > 0 {
        facts.push(dollars(document.cost.0));
    }
    facts
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
    use converse_canister::User;
    use converse_session::Kept;

    use super::*;

    fn at(time: &str) -> Timestamp {
        format!("2026-11-22T{time}:00Z").parse().unwrap()
    }

    /// What was said at 13:30, a minute each.
    pub(super) fn of(canisters: Vec<Canister>) -> Document {
        let kept = |(canister, minute)| Kept { at: at(&format!("13:{minute}")), canister };
        Document {
            program: "converse".into(),
            session: "0197f1a0".into(),
            created: at("13:30"),
            name: None,
            tags: vec![],
            model: None,
            usage: Default::default(),
            cost: Default::default(),
            condensed: None,
            canisters: canisters.into_iter().zip(30..).map(kept).collect(),
            decisions: vec![],
            contents: Default::default(),
        }
    }

    #[test]
    fn numbers_are_readable() {
        for (cost, text) in [(12, "$0.000012"), (12_345, "$0.0123"), (1_234_567, "$1.23")] {
            assert_eq!(dollars(cost), text);
        }
    }

    #[test]
    fn times_run_forward() {
        let said = || Canister::User(User::text("x"));
        for (count, created, told) in [
            (0, "13:30", "0 messages · 2026-11-22 13:30 UTC"),
            (1, "13:30", "1 message · 2026-11-22 13:30 UTC"),
            (2, "13:29", "2 messages · 2026-11-22 13:29 – 13:31 UTC"),
            // A fork is made after what it took over.
            (1, "13:46", "1 message · 2026-11-22 13:30 UTC"),
            (3, "13:46", "3 messages · 2026-11-22 13:30 – 13:32 UTC"),
        ] {
            let canisters = (0..count).map(|_| said()).collect();
            let document = Document { created: at(created), ..of(canisters) };
            assert_eq!(facts(&document).join(" · "), told);
        }
    }
}
