//! Evidence for parameters in a clause: quoted texts, URLs, paths, places, sums, numbers.
//!
//! Earlier evidence keeps its place in the text, so the dot of a URL does not make a file. Only numbers may also be
//! inside a sum, for a tool that takes the operands.

use crate::arithmetic::{conversion, number_at, sums};
use crate::places::{is_zone, places};
use crate::tokens::{Shape, Token, is_unread, path_shape, quoted, tokens, url};
use crate::words::{Word, among, is, is_cyrillic, is_stop, lower, means, words};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    Quoted,
    Url,
    Path(Shape),
    /// A time zone as written.
    Zone,
    /// A place with its zone, if the city is known.
    Place(Option<String>),
    Sum {
        certain: bool,
    },
    /// `5 km to miles`.
    Conversion,
    Number,
    /// The number of `5%` or "5 percent".
    Percent,
    /// An e-mail address, a date, a time of day, SQL or a number in words, which no parameter takes.
    Unread,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Evidence {
    pub(crate) kind: Kind,
    pub(crate) value: String,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Returns all evidence of a clause in the order of the text.
pub(crate) fn evidence(clause: &str) -> Vec<Evidence> {
    let mut scan = Scan { clause, words: words(clause), evidence: Vec::new() };
    for (inside, start, end) in quoted(clause) {
        scan.add(Kind::Quoted, inside, start, end);
    }
    scan.tokens();
    if let Some((text, start, end)) = conversion(clause) {
        scan.add(Kind::Conversion, text, start, end);
    }
    for place in places(clause) {
        scan.add(Kind::Place(place.zone), place.name, place.start, place.end);
    }
    for sum in sums(clause) {
        let certain = sum.certain || scan.asks_only_for(sum.start, sum.end);
        scan.add(Kind::Sum { certain }, sum.text, sum.start, sum.end);
    }
    scan.numbers();
    scan.evidence.sort_by_key(|one| (one.start, std::cmp::Reverse(one.end)));
    scan.evidence
}

struct Scan<'a> {
    clause: &'a str,
    words: Vec<Word>,
    evidence: Vec<Evidence>,
}

impl Scan<'_> {
    fn add(&mut self, kind: Kind, value: impl Into<String>, start: usize, end: usize) {
        if self.evidence.iter().all(|one| one.end <= start || end <= one.start) {
            self.evidence.push(Evidence { kind, value: value.into(), start, end });
        }
    }

    fn tokens(&mut self) {
        let all = tokens(self.clause);
        for (index, token) in all.iter().enumerate() {
            let (text, start, end) = (token.text, token.start, token.end);
            if is_unread(text) {
                self.add(Kind::Unread, text, start, end);
            } else if let Some(url) = url(text) {
                self.add(Kind::Url, url, start, end);
            } else if is_zone(text) {
                self.add(Kind::Zone, text, start, end);
            } else if text == "/" && index + 1 < all.len() {
                // Between two things it divides; at the end it is the root.
            } else if let Some(shape) = path_shape(text) {
                self.add(Kind::Path(shape), text, start, end);
            } else if self.is_folder(&all, index) {
                self.add(Kind::Path(Shape::Directory), text, start, end);
            }
        }
    }

    /// A bare name that only the words around it make a folder: "the docs folder", "ls docs", "the files in src".
    fn is_folder(&self, all: &[Token<'_>], index: usize) -> bool {
        let token = &all[index];
        let name = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let word = lower(token.text);
        let letter = word.len() == 1 && !among(&word, "a i");
        let good = token.text.chars().all(name)
            && token.text.starts_with(|c: char| c.is_ascii_alphabetic())
            && (letter || !is_stop(&word))
            && !["weak", "starters", "not_folders"].iter().any(|list| is(&word, list))
            && !["list", "file", "directory"].iter().any(|concept| means(&word, concept))
            && !word.ends_with("ly");
        let near = |at: Option<usize>| {
            at.and_then(|at| all.get(at)).map_or(String::new(), |token| lower(token.text))
        };
        let is_one = |word: &str| word == "ls" || (means(word, "directory") && !word.ends_with('s'));
        let (before, after) = (near(index.checked_sub(1)), near(Some(index + 1)));
        let russian = self.clause.chars().any(is_cyrillic);
        let ends = after.is_empty()
            || is_stop(&after)
            || after.ends_with("ly")
            || self.clause[token.end..].starts_with([',', '?', '.', '!']);
        let beside = (is_one(&before) && (ends || russian)) || (is_one(&after) && !russian);
        good && (beside || (ends && self.is_inside(all, index)))
    }

    /// "The files in src", «файлы в src»: the token is after "in" and a word for what a folder holds.
    fn is_inside(&self, all: &[Token<'_>], index: usize) -> bool {
        let mut before = all[..index].iter().rev().map(|token| lower(token.text));
        let preposition = before.next().unwrap_or_default();
        let preposition = if preposition == "the" { before.next().unwrap_or_default() } else { preposition };
        let within = among(&preposition, "in inside under of в из внутри");
        let thing = before.find(|word| !is_stop(word) || word == "everything").unwrap_or_default();
        let is_content =
            ["file", "directory", "content", "list"].iter().any(|concept| means(&thing, concept));
        within && (is_content || thing == "everything")
    }

    /// Returns whether a question asks for nothing else: "what is 10/4" means the quotient, «10-15 человек» a range.
    fn asks_only_for(&self, start: usize, end: usize) -> bool {
        let mut around = self.words.iter().filter(|word| word.end <= start || end <= word.start);
        around.all(|word| is_stop(&word.text))
    }

    fn numbers(&mut self) {
        let russian = self.clause.chars().any(is_cyrillic);
        let mut skip = 0;
        for word in self.words.clone() {
            let in_version = self.clause[..word.start].ends_with(|c: char| ".-_".contains(c));
            if word.start < skip || in_version {
                continue;
            }
            let Some((number, end)) = number_at(self.clause, word.start, russian) else { continue };
            skip = end;
            let Some((kind, end)) = self.amount(word.start, end) else { continue };
            // "10-15" may be a range and "4/5" a grade.
            let inside = |one: &Evidence| matches!(one.kind, Kind::Sum { certain: true } | Kind::Conversion);
            let mut others = self.evidence.iter().filter(|one| !inside(one));
            let free = others.all(|one| one.end <= word.start || end <= one.start);
            if free {
                self.evidence.push(Evidence { kind, value: number, start: word.start, end });
            }
        }
    }

    /// Returns what the signs and words around a number make of it, and where that ends. A part of a unit (`m/s^2`), a
    /// multiple ("5 million", "2 pi") and a number with letters at its end are not numbers by themselves.
    fn amount(&self, start: usize, end: usize) -> Option<(Kind, usize)> {
        let (before, rest) = (&self.clause[..start], &self.clause[end..]);
        let in_unit = before.strip_suffix(['^', '/']).is_some_and(|one| one.ends_with(char::is_alphabetic));
        if in_unit || rest.starts_with(char::is_alphabetic) {
            return None;
        }
        let next = self.words.iter().find(|word| word.start >= end);
        let next = next.filter(|word| self.clause[end..word.start].chars().all(|c| " \u{a0}-".contains(c)));
        let (text, to) = next.map_or(("", end), |word| (word.text.as_str(), word.end));
        match text {
            _ if rest.trim_start().starts_with('%') => {
                Some((Kind::Percent, end + 1 + rest.len() - rest.trim_start().len()))
            }
            _ if text.starts_with("percent") || text.starts_with("процент") => {
                Some((Kind::Percent, to))
            }
            "am" | "pm" => Some((Kind::Unread, to)),
            "pi" | "π" => None,
            _ if is(text, "numbers") => None,
            _ => Some((Kind::Number, end)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_read_with_what_stands_around_it() {
        let found = |text: &str| -> Vec<(Kind, String)> {
            let all = evidence(text).into_iter();
            let number = |one: &Evidence| matches!(one.kind, Kind::Number | Kind::Percent);
            all.filter(number).map(|one| (one.kind, one.value)).collect()
        };
        for (text, numbers) in [
            ("a load of 7 kg/m^2 on 3 m^3", &["7", "3"][..]),
            ("a pull of 9 N/2 s", &["9"]),
            ("a town of 3 million people", &[]),
            ("a flock of 3 thousand birds", &[]),
            ("город на 3 миллиона человек", &[]),
            ("an arc of 3 pi", &[]),
            ("supper at 7 PM", &[]),
            ("a room for 10-15 guests", &[]),
            ("a grade of 4/5", &[]),
            ("what is 10/4", &["10", "4"]),
            ("a box of 1,200 nails", &["1200"]),
        ] {
            let wanted: Vec<_> = numbers.iter().map(|one| (Kind::Number, (*one).to_owned())).collect();
            assert_eq!(found(text), wanted, "{text}");
        }
        for text in ["a tip of 12%", "a tip of 12 %", "a tip of 12 percent", "скидка 12 процентов"]
        {
            assert_eq!(found(text), [(Kind::Percent, "12".to_owned())], "{text}");
        }
    }
}
