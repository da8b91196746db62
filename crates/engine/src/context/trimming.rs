//! Results, and what was said, that a model is shown in fewer words. What has been shortened stays so: providers read a prompt that begins
//! as the last one did for a tenth of its price.

use std::collections::{HashMap, HashSet};

use converse_canister::{
    Arguments, Blobs, Canister, Content, Invocation, InvocationId, InvocationResult, TurnId, canonical,
};
use serde_json::Value;

use super::shortened_input::ShortenedInput;
use super::view::pinned;
use super::weight::content_weight;

/// Less is not worth a line of its own.
const LEAST: u64 = 256;
/// Replies whose results stay whole as long as the window allows.
const FRESH: usize = 3;
/// Bytes of a result that has gone stale, and of it those that stay.
const LARGE: u64 = 4 * 1024;
const HEAD: usize = 500;
/// The same where there is no room for what is fresh.
const SQUEEZED: usize = 1024;

/// How tools call the part of a file that they are to read.
const PIECE: [&str; 10] =
    ["offset", "limit", "start", "end", "from", "to", "start_line", "end_line", "head", "tail"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trim {
    /// A later answer to the same question says what is so now.
    Superseded,
    /// The piece of a file that was read whole since.
    Contained,
    /// So many bytes of it stay.
    Head(usize),
}

/// What is shown how.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Trims {
    results: HashMap<InvocationId, Trim>,
    input: ShortenedInput,
}

impl Trims {
    pub(crate) fn is_empty(&self) -> bool {
        self.results.is_empty() && self.input.len() == 0
    }

    /// How much of what the user said or handed over is shown in part.
    pub(crate) fn shortened_inputs(&self) -> usize {
        self.input.len()
    }

    /// Those only that are of one of these.
    pub(crate) fn retain(&mut self, canisters: &[Canister]) {
        let there: HashSet<&InvocationId> = results(canisters).map(|result| &result.id).collect();
        self.results.retain(|id, _| there.contains(id));
        self.input.retain(canisters.len());
    }

    /// The canister of this place as it is shown.
    pub(super) fn shown(&self, at: usize, canister: &Canister) -> Canister {
        let shorter = match canister {
            Canister::Result(result) => self.result(result).map(Canister::Result),
            canister => self.input.shown(at, canister),
        };
        shorter.unwrap_or_else(|| canister.clone())
    }

    /// The result in fewer words, if it is to be shown so.
    fn result(&self, result: &InvocationResult) -> Option<InvocationResult> {
        let text = words(&result.content);
        let bytes = text.len();
        let shorter = match self.results.get(&result.id)? {
            Trim::Superseded => format!(
                "[trimmed: superseded by a later call of the same tool with the same arguments; {bytes} bytes are kept \
                 in the session]"
            ),
            Trim::Contained => format!(
                "[trimmed: a later read of the whole file holds it, as it was then; {bytes} bytes are kept in the session]"
            ),
            Trim::Head(most) => {
                let head = text.get(..text.floor_char_boundary(*most)).unwrap_or_default();
                format!(
                    "{head}\n[trimmed: the first {} of {bytes} bytes; the session keeps them all]",
                    head.len()
                )
            }
        };
        Some(InvocationResult { content: vec![Content::text(shorter)], ..result.clone() })
    }

    /// Results that the same question has another answer for since. `reads`: a tool that changes nothing; what others
    /// answer tells what they did.
    pub(crate) fn superseded(
        &mut self,
        canisters: &[Canister],
        blobs: &dyn Blobs,
        reads: impl Fn(&str) -> bool,
    ) {
        let calls = calls(canisters);
        let mut answered: HashSet<String> = HashSet::new();
        for canister in canisters.iter().rev() {
            let Canister::Result(result) = canister else { continue };
            let Some(call) = calls.get(&result.id).filter(|call| reads(&call.tool)) else { continue };
            let questions = questions(call);
            let held = questions.iter().zip([Trim::Superseded, Trim::Contained]);
            let old = held.filter(|(question, _)| answered.contains(*question)).map(|(_, trim)| trim).next();
            if let Some(trim) = old.filter(|_| weight(result, blobs) > LEAST) {
                // What has been shown so stays so.
                let mark = self.results.entry(result.id.clone()).or_insert(trim);
                *mark = if matches!(mark, Trim::Head(_)) { trim } else { *mark };
            }
            // A failure says nothing about what was known before, and half an answer not all of it.
            if result.outcome.is_success() && result.truncated.is_none() {
                answered.extend(questions.into_iter().next());
            }
        }
    }

    /// Large results of replies that are not among the last ones.
    pub(crate) fn old(&mut self, canisters: &[Canister], blobs: &dyn Blobs) {
        let mut turns: Vec<TurnId> = canisters.iter().rev().filter_map(Canister::turn).collect();
        turns.dedup();
        let fresh: HashSet<TurnId> = turns.into_iter().take(FRESH).collect();
        let calls = calls(canisters);
        let of_old = |result: &&InvocationResult| {
            calls.get(&result.id).is_some_and(|call| !fresh.contains(&call.turn))
        };
        for result in results(canisters).filter(of_old) {
            if weight(result, blobs) > LARGE {
                self.results.entry(result.id.clone()).or_insert(Trim::Head(HEAD));
            }
        }
    }

    /// Questions that were refused for their length, if others follow; nothing from `current` on.
    pub(crate) fn unanswered(&mut self, canisters: &[Canister], blobs: &dyn Blobs, current: usize) {
        self.input.unanswered(canisters, blobs, current);
    }

    /// Documents that outlive a summary of so many canisters, to this many bytes together.
    pub(crate) fn pinned(&mut self, canisters: &[Canister], covers: usize, blobs: &dyn Blobs, bytes: u64) {
        let documents: Vec<usize> = pinned(canisters, covers)
            .into_iter()
            .filter(|at| matches!(canisters.get(*at), Some(Canister::Document(_))))
            .collect();
        self.input.bounded(canisters, &documents, blobs, bytes);
    }

    /// Whatever is large and stands behind what a summary `covers`, the largest first, until so many bytes are saved:
    /// where nothing else has helped. Results, and where they do not suffice, what was said before `current`.
    pub(crate) fn squeeze(
        &mut self,
        canisters: &[Canister],
        (covers, current): (usize, usize),
        blobs: &dyn Blobs,
        bytes: u64,
    ) {
        let saved = self.squeeze_results(canisters.get(covers..).unwrap_or_default(), blobs, bytes);
        if saved < bytes {
            let pinned = pinned(canisters, covers);
            let shown = |at: usize| at < current && (at >= covers || pinned.contains(&at));
            self.input.squeeze(canisters, shown, blobs, bytes - saved);
        }
    }

    /// What it saves.
    fn squeeze_results(&mut self, canisters: &[Canister], blobs: &dyn Blobs, bytes: u64) -> u64 {
        let whole = results(canisters).filter(|result| !self.results.contains_key(&result.id));
        let mut large: Vec<(u64, &InvocationId)> = whole
            .map(|result| (weight(result, blobs), &result.id))
            .filter(|(weight, _)| *weight > 2 * SQUEEZED as u64)
            .collect();
        large.sort_by_key(|(weight, _)| std::cmp::Reverse(*weight));
        let mut saved = 0;
        for (weight, id) in large {
            if saved >= bytes {
                break;
            }
            saved += weight - SQUEEZED as u64;
            self.results.insert(id.clone(), Trim::Head(SQUEEZED));
        }
        saved
    }
}

fn weight(result: &InvocationResult, blobs: &dyn Blobs) -> u64 {
    result.content.iter().map(|content| content_weight(content, blobs)).sum()
}

fn results(canisters: &[Canister]) -> impl Iterator<Item = &InvocationResult> {
    canisters.iter().filter_map(|canister| match canister {
        Canister::Result(result) => Some(result),
        _ => None,
    })
}

fn calls(canisters: &[Canister]) -> HashMap<&InvocationId, &Invocation> {
    let calls = canisters.iter().filter_map(|canister| match canister {
        Canister::Invocation(invocation) => Some((&invocation.id, invocation)),
        _ => None,
    });
    calls.collect()
}

/// What a call asks, and the wider question that holds its answer too: a piece of a file is in the whole of it.
fn questions(call: &Invocation) -> Vec<String> {
    let Invocation { tool, arguments: Arguments { object, .. }, .. } = call;
    let question = |arguments: Value| format!("{tool} {}", canonical(&arguments));
    let mut questions = vec![question(Value::Object(object.clone()))];
    let a_piece = object.len() > 1 && object.keys().all(|key| key == "path" || PIECE.contains(&key.as_str()));
    if let Some(path @ Value::String(_)) = object.get("path").filter(|_| a_piece) {
        questions.push(question(Value::from_iter([("path", path.clone())])));
    }
    questions
}

/// All that is in words.
pub(super) fn words(contents: &[Content]) -> String {
    let word = |content: &Content| match content {
        Content::Text { text, .. } => Some(text.clone()),
        Content::Structured { value } => Some(value.to_string()),
        Content::Blob { mime, name, .. } => Some(format!("[{}: {mime}]", name.as_deref().unwrap_or("bytes"))),
        Content::Resource { uri, .. } => Some(format!("[{uri}]")),
        Content::Reasoning { .. } => None,
    };
    contents.iter().filter_map(word).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests;
