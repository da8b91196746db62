//! Shortened results and messages. A shortened message stays shortened, because a prompt that begins like the last one costs a
//! tenth.

use std::collections::{HashMap, HashSet};

use converse_canister::{
    Arguments, Blobs, Canister, Content, Invocation, InvocationId, InvocationResult, TurnId, canonical,
};
use serde_json::Value;

use super::shortened_input::ShortenedInput;
use super::view::pinned;
use super::weight::content_weight;

/// Smaller results are not replaced by a note.
const LEAST: u64 = 256;
/// Number of latest replies whose results stay complete as long as the window allows.
const FRESH: usize = 3;
/// Bytes of an old result that is shortened, and bytes of it that stay.
const LARGE: u64 = 4 * 1024;
const HEAD: usize = 500;
/// The same for new results if there is no room for them.
const SQUEEZED: usize = 1024;

/// Names of arguments that select a part of a file.
const PIECE: [&str; 10] =
    ["offset", "limit", "start", "end", "from", "to", "start_line", "end_line", "head", "tail"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trim {
    /// A later call has the current result.
    Superseded,
    /// The part of a file that was read completely later.
    Contained,
    /// This many bytes of it stay.
    Head(usize),
}

/// The ways in which canisters are shortened.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Trims {
    results: HashMap<InvocationId, Trim>,
    input: ShortenedInput,
}

impl Trims {
    pub(crate) fn is_empty(&self) -> bool {
        self.results.is_empty() && self.input.len() == 0
    }

    /// Returns the number of questions and documents that are shortened.
    pub(crate) fn shortened_inputs(&self) -> usize {
        self.input.len()
    }

    /// Keeps only entries of these canisters.
    pub(crate) fn retain(&mut self, canisters: &[Canister]) {
        let there: HashSet<&InvocationId> = results(canisters).map(|result| &result.id).collect();
        self.results.retain(|id, _| there.contains(id));
        self.input.retain(canisters.len());
    }

    /// Returns the canister at this index as it is shown.
    pub(super) fn shown(&self, at: usize, canister: &Canister) -> Canister {
        let shorter = match canister {
            Canister::Result(result) => self.result(result).map(Canister::Result),
            canister => self.input.shown(at, canister),
        };
        shorter.unwrap_or_else(|| canister.clone())
    }

    /// Returns the shortened result, if it is shortened.
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

    /// Replaces results of calls that were repeated later. Only of tools that only read (`reads`): results of other tools say
    /// what they did.
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
            let trims = questions.iter().zip([Trim::Superseded, Trim::Contained]);
            let old = trims.filter(|(question, _)| answered.contains(*question)).map(|(_, trim)| trim).next();
            if let Some(trim) = old.filter(|_| weight(result, blobs) > LEAST) {
                // A canister keeps the form in which it was shown.
                let mark = self.results.entry(result.id.clone()).or_insert(trim);
                *mark = if matches!(mark, Trim::Head(_)) { trim } else { *mark };
            }
            // A failure says nothing about what was known before, and half an answer not all of it.
            if result.outcome.is_success() && result.truncated.is_none() {
                answered.extend(questions.into_iter().next());
            }
        }
    }

    /// Shortens large results of older replies.
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

    /// Shortens questions that were refused for their length, if others follow. Nothing from `current` on is shortened.
    pub(crate) fn unanswered(&mut self, canisters: &[Canister], blobs: &dyn Blobs, current: usize) {
        self.input.unanswered(canisters, blobs, current);
    }

    /// Shortens the documents that stay after a summary of `covers` canisters to this many bytes together.
    pub(crate) fn pinned(&mut self, canisters: &[Canister], covers: usize, blobs: &dyn Blobs, bytes: u64) {
        let documents: Vec<usize> = pinned(canisters, covers)
            .into_iter()
            .filter(|at| matches!(canisters.get(*at), Some(Canister::Document(_))))
            .collect();
        self.input.bounded(canisters, &documents, blobs, bytes);
    }

    /// Shortens everything large after the summary, the largest first, until this many bytes are saved: the last resort.
    /// First results, then messages before `current`.
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

    /// Shortens large results. Returns the bytes saved.
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

/// Returns the key of a call, and that of the wider call whose result contains its result, such as reading a whole file.
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
