//! A prompt into clauses: the pieces that each ask for one thing.
//!
//! Ends of sentences, semicolons and lines always part. A conjunction ("and", «а», a comma) parts only where both sides
//! look like requests of their own, which the caller judges; so "between 3 and 5" and "in Tokyo and Paris" stay whole.
//! Nothing is parted within quotes, brackets, sums and addresses, nor behind a colon, where free text begins.

use crate::evidence::{Evidence, Kind, evidence};
use crate::lexicon::lexicon;
use crate::tokens;
use crate::words::{Word, words};

/// A clause with what was found in it.
#[derive(Debug, Clone)]
pub(crate) struct Clause {
    pub(crate) text: String,
    pub(crate) words: Vec<Word>,
    pub(crate) evidence: Vec<Evidence>,
}

/// Bytes of a clause that are looked at.
const CLAUSE: usize = 4 * 1024;
const CLAUSES: usize = 64;
const JOINTS: usize = 32;
/// Bytes of either side of a conjunction by which it is judged.
const SIDE: usize = 512;

impl Clause {
    pub(crate) fn read(text: &str) -> Self {
        let text = front(text.trim(), CLAUSE).to_owned();
        Self { words: words(&text), evidence: evidence(&text), text }
    }

    /// A noun that is a verb where a clause begins with it ("note it in a.txt"): where it stands, and the verb that it
    /// stands for. "Note that …" and "Note: …" ask for nothing.
    pub(crate) fn opener(&self) -> Option<(usize, &'static str)> {
        let mut words = self.words.iter().skip_while(|word| lexicon().is_stop(&word.text));
        let first = words.next()?;
        let verb = lexicon().opener(&first.text)?;
        let colon = self.text.get(first.end..).is_some_and(|rest| rest.starts_with(':'));
        let follows = words.next().is_some_and(|word| word.text != "that");
        (follows && !colon).then_some((first.start, verb))
    }

    /// Whether there is more in it than "tell me" and "hello".
    pub(crate) fn says_something(&self) -> bool {
        self.words.iter().any(|word| !lexicon().is_stop(&word.text))
    }
}

/// The first bytes of a text, whole characters only.
pub(crate) fn front(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// The clauses of a text. `looks` says whether a piece looks like a request.
pub(crate) fn clauses(text: &str, looks: &dyn Fn(&str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for sentence in sentences(text) {
        parts(sentence, looks, &mut found);
        if found.len() >= CLAUSES {
            break;
        }
    }
    found.truncate(CLAUSES);
    found
}

const ABBREVIATIONS: [&str; 14] =
    ["e.g", "i.e", "etc", "mr", "mrs", "dr", "st", "vs", "no", "т.е", "т.к", "т.д", "г", "ул"];

fn sentences(text: &str) -> Vec<&str> {
    let quoted = tokens::quoted(text);
    let mut found = Vec::new();
    let (mut from, mut depth, mut next) = (0, 0_usize, 0);
    for (at, c) in text.char_indices() {
        while quoted.get(next).is_some_and(|(_, _, end)| *end <= at) {
            next += 1;
        }
        let inside = quoted.get(next).is_some_and(|(_, start, end)| *start < at && at + 1 < *end);
        depth = match c {
            '(' | '[' => depth + 1,
            ')' | ']' => depth.saturating_sub(1),
            '\n' => 0,
            _ => depth,
        };
        let ends = match c {
            '\n' => true,
            ';' => {
                !inside
                    && depth == 0
                    && text
                        .get(at + 1..)
                        .is_none_or(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
            }
            '.' | '!' | '?' | '…' => !inside && depth == 0 && is_end(text, from, at, c),
            _ => false,
        };
        if ends {
            found.push(text.get(from..at + c.len_utf8()).unwrap_or_default());
            from = at + c.len_utf8();
        }
    }
    found.push(text.get(from..).unwrap_or_default());
    found
        .into_iter()
        .map(|one| one.trim().trim_end_matches(';').trim())
        .filter(|one| one.chars().any(char::is_alphanumeric))
        .collect()
}

/// Whether this mark ends a sentence: a blank and the beginning of something come after it.
fn is_end(text: &str, from: usize, at: usize, c: char) -> bool {
    let after = text.get(at + c.len_utf8()..).unwrap_or_default();
    let blank = after.starts_with(char::is_whitespace);
    let begins = after.trim_start().starts_with(|c: char| c.is_alphanumeric() || "\"'«“@(√".contains(c));
    let before = text.get(from..at).unwrap_or_default();
    let last = before.rsplit(char::is_whitespace).next().unwrap_or_default().to_lowercase();
    let factorial = c == '!' && before.ends_with(|c: char| c.is_ascii_digit() || c == ')');
    blank && begins && !factorial && !(c == '.' && ABBREVIATIONS.contains(&last.as_str()))
}

fn parts(sentence: &str, looks: &dyn Fn(&str) -> bool, found: &mut Vec<String>) {
    let mut rest = sentence;
    let mut from = 0;
    for (start, end, comma) in joints(sentence) {
        if start < from {
            continue;
        }
        let left = sentence.get(from..start).unwrap_or_default();
        let right = sentence.get(end..).unwrap_or_default();
        // "When it is noon in Tokyo, what …" is one question.
        if comma && words(front(left, 64)).first().is_some_and(|word| is_condition(&word.text)) {
            continue;
        }
        let first = words(front(right, 64)).first().map(|word| word.text.clone()).unwrap_or_default();
        // "…, when it is noon in Tokyo" belongs to what is before it.
        let begins = lexicon().is_starter(&first)
            && !(comma
                && ["when", "where", "who", "which", "когда", "где", "который", "что"]
                    .contains(&first.as_str()));
        if (!comma || begins) && looks(front(left, SIDE)) && looks(front(right, SIDE)) {
            found.push(left.trim().to_owned());
            (rest, from) = (right, end);
        }
    }
    found.push(rest.trim().to_owned());
}

fn is_condition(word: &str) -> bool {
    ["when", "if", "once", "unless", "когда", "если"].contains(&word)
}

const CONJUNCTIONS: [&str; 10] = ["and", "then", "also", "plus", "и", "а", "затем", "потом", "также", "еще"];

/// Where a sentence may be parted: span of the conjunction, and whether it is no more than a comma.
fn joints(sentence: &str) -> Vec<(usize, usize, bool)> {
    let looked_at = front(sentence, CLAUSE);
    let clause = Clause::read(looked_at);
    let whole = |one: &Evidence| !matches!(one.kind, Kind::Number);
    let brackets = tokens::brackets(looked_at);
    let colon = looked_at.find(": ").unwrap_or(looked_at.len());
    let shut = |at: usize| {
        at > colon
            || clause.evidence.iter().filter(|one| whole(one)).any(|one| one.start < at && at < one.end)
            || brackets.iter().any(|(start, end)| *start < at && at < *end)
    };
    let mut found: Vec<(usize, usize, bool)> = Vec::new();
    let mut run: Option<(usize, usize)> = None;
    let all = words(looked_at);
    for (index, word) in all.iter().enumerate() {
        if CONJUNCTIONS.contains(&word.text.as_str()) {
            run = Some((run.map_or(word.start, |(start, _)| start), word.end));
            continue;
        }
        let before = index.checked_sub(1).and_then(|at| all.get(at)).map_or(0, |word| word.end);
        let comma = looked_at.get(before..word.start).and_then(|gap| gap.find(',')).map(|at| before + at);
        match (run.take(), comma) {
            (Some((start, end)), _) => found.push((back_over_comma(looked_at, start), end, false)),
            (None, Some(at)) => found.push((at, at + 1, true)),
            _ => {}
        }
    }
    found.retain(|(start, end, _)| *start > 0 && !shut(*start) && !shut(*end));
    found.truncate(JOINTS);
    found
}

fn back_over_comma(text: &str, start: usize) -> usize {
    let before = text.get(..start).unwrap_or_default().trim_end();
    before.strip_suffix(',').unwrap_or(before).len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests here are whatever begins with a question or a verb, or holds a sum.
    fn split(text: &str) -> Vec<String> {
        clauses(text, &|part| {
            let clause = Clause::read(part);
            let begins = clause.words.first().is_some_and(|word| lexicon().is_starter(&word.text));
            (begins && clause.says_something())
                || clause.evidence.iter().any(|one| matches!(one.kind, Kind::Expression { .. }))
        })
    }

    #[test]
    fn requests_are_parted() {
        for (text, parts) in [
            (
                "What is 15% of 2500, and what time is it in Tokyo?",
                &["What is 15% of 2500", "what time is it in Tokyo?"][..],
            ),
            (
                "Посчитай 15% от 2500 и скажи, который час в Токио",
                &["Посчитай 15% от 2500", "скажи, который час в Токио"],
            ),
            ("Посчитай 2+2, а затем покажи файлы", &["Посчитай 2+2", "покажи файлы"]),
            ("Read a.txt; read b.txt\nread c.txt", &["Read a.txt", "read b.txt", "read c.txt"]),
            ("What is 2.5 * 4? What is 3^2?", &["What is 2.5 * 4?", "What is 3^2?"]),
            ("calculate 2+2, then list files, then read x.md", &["calculate 2+2", "list files", "read x.md"]),
            ("Read a.txt. Then show b.txt!", &["Read a.txt.", "Then show b.txt!"]),
        ] {
            assert_eq!(split(text), parts, "{text}");
        }
    }

    #[test]
    fn what_belongs_together_stays() {
        for text in [
            "What time is it in Tokyo and Paris?",
            "read a.txt and b.txt",
            "a random number between 3 and 5",
            "сумма 3 и 5",
            "write \"read this; and what is that?\" to out.txt",
            "show v1.2.3 of https://example.org/a?b=1;c",
            "create a note: buy milk and read a book, show it",
            "what time is it in St. Petersburg",
            "when it is noon in Tokyo, what time is it in London?",
            "compute (2 + 3; 4)",
        ] {
            assert_eq!(split(text).len(), 1, "{text}: {:?}", split(text));
        }
    }

    #[test]
    fn a_noun_in_front_may_be_a_verb() {
        let verb = |text: &str| Clause::read(text).opener().map(|(_, verb)| verb);
        assert_eq!(verb("Please note it in a.txt: x"), Some("append"));
        assert_eq!(verb("cat /etc/hosts"), Some("read"));
        for text in ["Note: x", "note that x is so", "a cat", "read the note", "note"] {
            assert_eq!(verb(text), None, "{text}");
        }
    }

    #[test]
    fn a_hostile_prompt_is_bounded() {
        assert!(split(&"read a.txt. ".repeat(5000)).len() <= CLAUSES);
        assert!(split(&"what, and ".repeat(6000)).len() <= JOINTS + 1);
        assert!(split(&"«".repeat(30_000)).len() <= 1);
    }
}
