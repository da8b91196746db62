//! A prompt into clauses: the pieces that each ask for one thing.
//!
//! Ends of sentences, semicolons and lines always separate. "And", «и» or a comma separate only where a verb or a
//! question word follows, so "between 3 and 5" and "in Tokyo and Paris" stay whole.

use crate::evidence::{Evidence, Kind, evidence};
use crate::tokens::shielded;
use crate::words::{Word, among, front, is, is_done, is_stop, words};

/// A clause with what was found in it.
#[derive(Debug, Clone)]
pub(crate) struct Clause {
    pub(crate) text: String,
    pub(crate) words: Vec<Word>,
    pub(crate) evidence: Vec<Evidence>,
}

/// Bytes of a clause that are considered.
const CLAUSE: usize = 4 * 1024;
const CLAUSES: usize = 64;

impl Clause {
    pub(crate) fn read(text: &str) -> Self {
        let text = front(text.trim(), CLAUSE).to_owned();
        let mut words = words(&text);
        if let Some((at, verb)) = opening_verb(&text, &words) {
            words[at].text = verb.to_owned();
        }
        Self { evidence: evidence(&text), words, text }
    }

    /// Whether there is more in it than "tell me" and "hello".
    pub(crate) fn says_something(&self) -> bool {
        self.words.iter().any(|word| !is_stop(&word.text))
    }

    /// Whether the clause requests no action: "don't read it", "how do I list files in Python?", "what did you change?".
    pub(crate) fn is_declined(&self) -> bool {
        let words: Vec<&str> = self.words.iter().map(|word| word.text.as_str()).collect();
        let spoken: Vec<&str> =
            words.iter().copied().filter(|word| !among(word, "please пожалуйста")).collect();
        let negated = match spoken.as_slice() {
            ["не", second, ..] => !second.starts_with("мог") && !second.starts_with("подскаж"),
            ["do", "not", ..] => true,
            [first, ..] => is(first, "negations"),
            [] => false,
        };
        let asks_how = match words.as_slice() {
            ["how", "to", ..]
            | ["how", "do" | "can" | "could" | "should" | "would", "i" | "we" | "one", ..] => true,
            ["explain" | "describe", "how" | "why", ..] | ["объясни" | "расскажи", "как" | "почему", ..] => {
                true
            }
            ["как", verb, ..] => verb.ends_with("ть") || verb.ends_with("ти") || *verb == "мне",
            _ => false,
        };
        let computes = |one: &Evidence| matches!(one.kind, Kind::Sum { .. } | Kind::Conversion);
        let asks_back = words.windows(2).any(|pair| match pair {
            ["did", next] => *next == "you",
            ["ты" | "вы", next] => is_done(next),
            _ => false,
        });
        negated || asks_back || (asks_how && !self.evidence.iter().any(computes))
    }
}

/// A noun that is a verb where a clause begins with it: "note it in a.txt", "cat a.txt". "Note that …" asks for nothing.
fn opening_verb(text: &str, words: &[Word]) -> Option<(usize, &'static str)> {
    let at = words.iter().position(|word| !is_stop(&word.text))?;
    let verb = match words[at].text.as_str() {
        "note" | "record" => "append",
        "cat" => "read",
        "google" => "search",
        _ => return None,
    };
    let follows = words.get(at + 1).is_some_and(|next| next.text != "that");
    (follows && !text[words[at].end..].starts_with(':')).then_some((at, verb))
}

/// Returns the clauses of a text.
pub(crate) fn clauses(text: &str) -> Vec<String> {
    let parts = sentences(text).into_iter().take(CLAUSES).flat_map(parts);
    parts.filter(|part| part.chars().any(char::is_alphanumeric)).take(CLAUSES).collect()
}

const ABBREVIATIONS: &str = "e.g i.e etc mr mrs dr st vs т.е т.к г";

fn sentences(text: &str) -> Vec<&str> {
    let shielded = shielded(text);
    let mut sentences = Vec::new();
    let mut from = 0;
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        let before = || &text[text.ceil_char_boundary(at.saturating_sub(8)).max(from)..at];
        let last = || before().rsplit(char::is_whitespace).next().unwrap_or_default().to_lowercase();
        let ends = match c {
            '\n' => true,
            '.' if among(&last(), ABBREVIATIONS) => false,
            // A factorial.
            '!' if before().ends_with(|c: char| c.is_ascii_digit() || c == ')') => false,
            ';' | '.' | '!' | '?' | '…' => !shielded[at] && text[end..].starts_with(char::is_whitespace),
            _ => false,
        };
        if ends {
            sentences.push(text[from..end].trim().trim_end_matches(';'));
            from = end;
        }
    }
    sentences.push(text[from..].trim());
    sentences.retain(|one| !one.is_empty());
    sentences
}

const CONJUNCTIONS: &str = "and then also и а затем потом также after";
/// After a comma these words continue the clause before it.
const RELATIVES: &str = "when where who which когда где который кто что";

/// The parts of a sentence. Free text after a colon is not separated.
fn parts(sentence: &str) -> Vec<String> {
    let text = front(sentence, CLAUSE);
    let Clause { words, evidence, .. } = Clause::read(text);
    let shielded = shielded(text);
    let colon = text.find(": ").unwrap_or(text.len());
    let whole = |one: &Evidence, at: usize| one.kind != Kind::Number && one.start < at && at < one.end;
    let open = |at: usize| at < colon && !shielded[at] && !evidence.iter().any(|one| whole(one, at));
    let conditional = words.first().is_some_and(|word| among(&word.text, "if when если когда"));
    // "08:15 in Chicago, what is that in Madrid?" is one question.
    let unread = evidence.iter().any(|one| one.kind == Kind::Unread);
    let mut parts = Vec::new();
    let mut from = 0;
    for (index, word) in words.iter().enumerate().filter(|(_, word)| is(&word.text, "starters")) {
        let joints = words[..index].iter().rev();
        let joints = joints.take_while(|word| among(&word.text, CONJUNCTIONS)).count();
        let Some(last) = index.checked_sub(joints + 1).map(|at| &words[at]) else { continue };
        let relative = conditional || unread || among(&word.text, RELATIVES);
        let comma = text[last.end..words[index - joints].start].contains(',') && !relative;
        let says =
            words.iter().any(|word| from <= word.start && word.end <= last.end && !is_stop(&word.text));
        if (joints > 0 || comma) && says && from < last.end && open(last.end) && open(word.start) {
            parts.push(text[from..last.end].trim().to_owned());
            from = word.start;
        }
    }
    parts.push(text[from..].trim().to_owned());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_separated() {
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
            ("What time is it in Tokyo and Paris?", &["What time is it in Tokyo and Paris?"]),
            ("read a.txt and b.txt", &["read a.txt and b.txt"]),
            (
                "write \"read this; and what is that?\" to a.txt",
                &["write \"read this; and what is that?\" to a.txt"],
            ),
            ("show v1.2.3 of https://example.org/a?b=1;c", &["show v1.2.3 of https://example.org/a?b=1;c"]),
            ("create a note: buy milk and read a book", &["create a note: buy milk and read a book"]),
            ("what time is it in St. Petersburg", &["what time is it in St. Petersburg"]),
            (
                "when it is noon in Tokyo, what time is it here?",
                &["when it is noon in Tokyo, what time is it here?"],
            ),
            ("compute (2 + 3; 4)", &["compute (2 + 3; 4)"]),
        ] {
            assert_eq!(clauses(text), parts, "{text}");
        }
    }

    #[test]
    fn a_hostile_prompt_is_bounded() {
        assert!(clauses(&"read a.txt. ".repeat(5000)).len() <= CLAUSES);
        assert!(clauses(&"what, and read ".repeat(6000)).len() <= CLAUSES);
        assert!(clauses(&"«".repeat(30_000)).is_empty());
    }
}
