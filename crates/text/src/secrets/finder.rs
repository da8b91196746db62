//! Finds known secrets in a text, in all their forms at once.
//!
//! One automaton searches for the beginnings of all forms, so the time does not depend on the number of secrets. From a
//! beginning on, a form covers as much of the text as agrees with it: a secret may be cut off.

mod folded;
mod forms;

use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use folded::{folded, is_foldable, unfolded};
use forms::{Form, forms};

/// Bytes of a secret that are enough to recognise it.
const TELLING: usize = 12;
/// A shorter value is not a secret.
const SHORTEST: usize = 8;

/// Finds known secrets as they are, in Base64, in hexadecimal and percent-encoded.
pub struct Finder {
    /// Each form, and the index of its secret.
    forms: Vec<(Form, usize)>,
    /// `None` if there is nothing to find.
    automaton: Option<AhoCorasick>,
    /// Whether the automaton cannot be built. Then all of a text counts as secret.
    is_blind: bool,
}

impl Finder {
    /// Values that are too short to be a key are ignored.
    pub fn new<'s>(secrets: impl IntoIterator<Item = &'s str>) -> Self {
        let mut all = Vec::new();
        for (index, secret) in secrets.into_iter().enumerate() {
            let Some(beginning) = beginning(secret) else { continue };
            all.extend(forms(secret.as_bytes(), beginning.len()).into_iter().map(|form| (form, index)));
        }
        if all.is_empty() {
            return Self { forms: all, automaton: None, is_blind: false };
        }
        let beginnings = all.iter().filter_map(|(form, _)| form.text.get(..form.telling));
        // Much faster to build than a table of all bytes.
        let kind = Some(AhoCorasickKind::ContiguousNFA);
        let automaton = AhoCorasick::builder().kind(kind).build(beginnings).ok();
        Self { forms: all, is_blind: automaton.is_none(), automaton }
    }

    /// Returns the index of a secret that the text contains.
    pub fn first(&self, text: &str) -> Option<usize> {
        let text = text.as_bytes();
        if self.is_blind {
            return Some(0);
        }
        let first = |text: &[u8]| {
            let hit = self.automaton.as_ref()?.find(text)?;
            self.forms.get(hit.pattern().as_usize()).map(|(_, secret)| *secret)
        };
        first(text).or_else(|| if is_foldable(text) { first(&folded(text)) } else { None })
    }

    /// Returns the text without secrets; `None` if it contains none.
    pub fn redacted(&self, text: &str) -> Option<String> {
        let ranges = self.ranges(text.as_bytes());
        if ranges.is_empty() {
            return None;
        }
        let (mut clean, mut at) = (String::with_capacity(text.len()), 0);
        for range in ranges {
            // Of a character that is secret in part, all is.
            let (start, end) = (text.floor_char_boundary(range.start), text.ceil_char_boundary(range.end));
            clean.push_str(text.get(at..start).unwrap_or_default());
            clean.push_str("[redacted]");
            at = end;
        }
        clean.push_str(text.get(at..).unwrap_or_default());
        Some(clean)
    }

    /// Returns where secrets are: sorted ranges that do not touch.
    fn ranges(&self, text: &[u8]) -> Vec<Range<usize>> {
        if self.is_blind {
            return Vec::from_iter((!text.is_empty()).then_some(0..text.len()));
        }
        let Some(automaton) = &self.automaton else { return Vec::new() };
        let mut ranges = self.hits(automaton, text);
        if is_foldable(text) {
            let folded = folded(text);
            ranges.extend(unfolded(text, &self.hits(automaton, &folded)));
            ranges = merged(ranges);
        }
        ranges
    }

    fn hits(&self, automaton: &AhoCorasick, text: &[u8]) -> Vec<Range<usize>> {
        let covered = |(index, range): (usize, Range<usize>)| {
            let (form, _) = self.forms.get(index)?;
            Some(range.start..range.end + form.rest(text.get(range.end..)?))
        };
        let matches = automaton.find_overlapping_iter(text);
        merged(matches.map(|hit| (hit.pattern().as_usize(), hit.range())).filter_map(covered).collect())
    }
}

/// Returns a prefix long enough to recognise the secret; `None` if the value is too short to be one.
fn beginning(secret: &str) -> Option<&str> {
    // The part of a URL up to its host is not specific enough.
    let host = secret
        .split_once("://")
        .map(|(scheme, rest)| scheme.len() + 3 + rest.find('/').unwrap_or(rest.len()));
    let end = secret.floor_char_boundary(TELLING + host.unwrap_or_default());
    secret.get(..end).filter(|_| secret.len() >= SHORTEST)
}

impl Form {
    /// Returns how many bytes behind the beginning belong to the secret.
    fn rest(&self, text: &[u8]) -> usize {
        let rest = self.text.get(self.telling..).unwrap_or_default();
        let same = text.iter().zip(rest).take_while(|(a, b)| a == b).count();
        if same < rest.len() || !self.is_padded {
            return same;
        }
        let behind = text.get(same..).unwrap_or_default();
        let is_base64 = |byte: &&u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte);
        let last = usize::from(self.is_partial && behind.first().as_ref().is_some_and(is_base64));
        let padding = behind.iter().skip(last).take(2).take_while(|byte| **byte == b'=').count();
        same + last + padding
    }
}

/// Sorts ranges and joins those that touch.
fn merged(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

impl std::fmt::Debug for Finder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Finder").field("forms", &self.forms.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
