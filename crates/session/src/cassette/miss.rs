//! A request without an equal recorded request, with an explanation.

use std::collections::HashMap;

use converse_canister::diffable;
use converse_text::difference::Difference;
use converse_text::shorten::chars;
use serde_json::Value;

use crate::cassette::question::sorted;

/// Lines around a change.
const CONTEXT: usize = 3;
/// Lines of a diff that are shown.
const MOST: usize = 60;
/// Characters of a line of a diff.
const MAX_LINE: usize = 200;
/// Recorded questions that are looked through for the nearest.
const MAX_COMPARED: usize = 500;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Miss {
    /// In one line.
    pub message: String,
    /// The line of the nearest recorded request.
    pub line: Option<usize>,
    /// The difference to it, as a unified diff; empty without a difference.
    pub diff: String,
}

/// A recorded question.
#[derive(Debug)]
pub(super) struct Known<'a> {
    pub(super) line: usize,
    /// Canonical JSON.
    pub(super) key: &'a str,
    pub(super) used: bool,
}

impl Miss {
    pub(super) fn new(file: &str, what: &str, asked: &Value, known: &[Known<'_>]) -> Self {
        let key = converse_canister::canonical(asked);
        let same = known.iter().filter(|known| known.key == key).count();
        if same > 0 {
            let times = if same == 1 { "once".to_owned() } else { format!("{same} times") };
            let line = known.iter().filter(|known| known.key == key).map(|known| known.line).max();
            let message = format!("{file} answers {what} {times}, but the run asks again");
            return Self { message, line, diff: String::new() };
        }
        let asked = diffable(&sorted(asked));
        let Some((nearest, recorded)) = nearest(&asked, known) else {
            let message = format!("{file} has no answer to {what}: the cassette has nothing similar");
            return Self { message, line: None, diff: String::new() };
        };
        let line = nearest.line;
        let used = if nearest.used { ", which was answered already" } else { "" };
        let message = format!("{file} has no answer to {what}; the nearest is in line {line}{used}");
        Self { message, line: Some(line), diff: diff(&recorded, &asked, line) }
    }
}

fn nearest<'k>(asked: &str, known: &'k [Known<'k>]) -> Option<(&'k Known<'k>, String)> {
    let mut best: Option<(&Known<'_>, String, usize)> = None;
    for known in known.iter().take(MAX_COMPARED) {
        let Ok(value) = serde_json::from_str(known.key) else { continue };
        let recorded = diffable(&value);
        let otherwise = otherwise(&recorded, asked);
        // Among equally near requests the first; unused ones come before used ones.
        if best.as_ref().is_none_or(|(_, _, least)| otherwise < *least) {
            best = Some((known, recorded, otherwise));
        }
    }
    best.map(|(known, recorded, _)| (known, recorded))
}

/// Returns how many lines are in only one of the texts, at any position.
fn otherwise(a: &str, b: &str) -> usize {
    let mut counts: HashMap<&str, i64> = HashMap::new();
    a.lines().for_each(|line| *counts.entry(line).or_default() += 1);
    b.lines().for_each(|line| *counts.entry(line).or_default() -= 1);
    counts.values().map(|count| count.unsigned_abs() as usize).sum()
}

fn diff(recorded: &str, asked: &str, line: usize) -> String {
    let names = (format!("recorded (line {line})"), "asked");
    let unified = Difference::between(recorded, asked).unified(CONTEXT, Some((&names.0, names.1)));
    let all: Vec<&str> = unified.lines().collect();
    let shown = if all.len() > MOST { MOST - 1 } else { all.len() };
    let mut text: Vec<String> =
        all.iter().take(shown).map(|line| chars(line, MAX_LINE).into_owned()).collect();
    if all.len() > MOST {
        text.push(format!("… and {} more lines", all.len() - shown));
    }
    text.join("\n")
}
