//! What a clause holds that a parameter could take: quoted texts, URLs, paths, dates, places, sums, numbers.
//!
//! The order matters: what is found first keeps its place in the text, so the dot of a URL is no file's and the digits
//! of a date no sum. Only numbers may lie within another find, for a tool that wants the operands and not the sum.

use crate::expression::expressions;
use crate::folders::{is_bare_folder, named_path};
use crate::lexicon::{Catalogue, lexicon};
use crate::numbers::{number_at, number_words};
use crate::places::{is_zone, places, unknown_place};
use crate::tokens;
use crate::words::{Word, is_cyrillic, lower, words};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    Quoted,
    Url,
    Email,
    /// `2026-11-20`, perhaps with a time.
    Date,
    /// A time of day, `HH:MM`.
    Clock,
    Path(Shape),
    Zone,
    /// The zone, if the place is known.
    Place(Option<String>),
    Expression {
        strong: bool,
    },
    /// `5 km to miles`.
    Conversion,
    Number,
    /// The code; the value is the name.
    Language(String),
    Currency(String),
    Sql,
}

/// What a path looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    File,
    Directory,
    Unknown,
}

/// Which side of "from … to …" it stands on. "In" may be the latter if nothing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    From,
    To,
    In,
    /// "For", "about": what something is done for or with, and never where it goes.
    About,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Evidence {
    pub(crate) kind: Kind,
    pub(crate) value: String,
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) role: Option<Role>,
}

/// All that is in the clause, in the order of the text.
pub(crate) fn evidence(clause: &str) -> Vec<Evidence> {
    let mut scan = Scan { clause, words: words(clause), found: Vec::new() };
    scan.quoted();
    scan.sql();
    scan.tokens();
    scan.clocks();
    scan.conversion();
    scan.catalogue(&lexicon().languages, Kind::Language);
    scan.currencies();
    scan.places();
    for sum in expressions(clause) {
        let code = scan
            .words
            .iter()
            .any(|word| word.start >= sum.start && word.end <= sum.end && word.text.len() > 30);
        if !code {
            let strong = sum.strong || scan.asks_no_more_than(sum.start, sum.end);
            scan.add(Kind::Expression { strong }, sum.text, sum.start, sum.end);
        }
    }
    scan.numbers();
    scan.found.sort_by_key(|one| (one.start, std::cmp::Reverse(one.end)));
    scan.found
}

struct Scan<'a> {
    clause: &'a str,
    words: Vec<Word>,
    found: Vec<Evidence>,
}

impl Scan<'_> {
    fn free(&self, start: usize, end: usize) -> bool {
        self.found.iter().all(|one| one.end <= start || end <= one.start)
    }

    fn add(&mut self, kind: Kind, value: impl Into<String>, start: usize, end: usize) {
        if self.free(start, end) {
            let role = self.role(start);
            self.found.push(Evidence { kind, value: value.into(), start, end, role });
        }
    }

    /// "What is 10/4" can only mean the quotient, «10-15 человек» is a range.
    fn asks_no_more_than(&self, start: usize, end: usize) -> bool {
        let asking = [
            "what",
            "s",
            "is",
            "are",
            "how",
            "much",
            "the",
            "please",
            "and",
            "сколько",
            "будет",
            "чему",
            "равно",
            "это",
            "пожалуйста",
            "и",
            "а",
        ];
        let mut around = self.words.iter().filter(|word| word.end <= start || end <= word.start);
        around.all(|word| asking.contains(&word.text.as_str()))
    }

    /// The last word before this place, if no more than an article or a noun of its kind stands between.
    fn role(&self, start: usize) -> Option<Role> {
        let before = self.words.iter().rev().filter(|word| word.end <= start).take(2);
        for word in before {
            match word.text.as_str() {
                "from" | "из" | "с" | "со" => return Some(Role::From),
                "to" | "into" | "на" | "по" => return Some(Role::To),
                "in" | "в" | "во" => return Some(Role::In),
                "for" | "about" | "of" | "для" | "про" | "о" | "об" => return Some(Role::About),
                "the" | "file" | "файл" | "файла" | "city" | "language" | "город" | "городе" =>
                    {}
                _ => return None,
            }
        }
        None
    }

    fn quoted(&mut self) {
        for (inside, start, end) in tokens::quoted(self.clause) {
            self.add(Kind::Quoted, inside, start, end);
        }
    }

    /// From `SELECT` and the like in capitals, or in any case before what follows it in SQL, to the end.
    fn sql(&mut self) {
        for (word, next) in self.words.iter().zip(self.words.iter().skip(1)) {
            let written = self.clause.get(word.start..word.end).unwrap_or_default();
            let capital =
                ["SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "WITH", "PRAGMA"].contains(&written);
            let follows = |word: &str| match word {
                "select" => self.clause.to_lowercase().contains(" from "),
                "insert" => next.text == "into",
                _ => false,
            };
            if (capital || follows(&word.text)) && self.free(word.start, word.end) {
                let text = self
                    .clause
                    .get(word.start..)
                    .unwrap_or_default()
                    .trim_end_matches(['.', '?', ' '])
                    .to_owned();
                let (start, end) = (word.start, word.start + text.len());
                // Quoted texts within are its own.
                self.found.retain(|one| one.end <= start);
                self.add(Kind::Sql, text, start, end);
                return;
            }
        }
    }

    fn tokens(&mut self) {
        let all = tokens::tokens(self.clause);
        for (index, token) in all.iter().enumerate() {
            let before = index.checked_sub(1).and_then(|at| all.get(at)).map_or("", |token| token.text);
            let (text, start, end) = (token.text, token.start, token.end);
            if let Some(url) = tokens::url(text) {
                self.add(Kind::Url, url, start, end);
            } else if tokens::is_email(text) {
                self.add(Kind::Email, text, start, end);
            } else if tokens::is_date(text) {
                self.add(Kind::Date, text, start, end);
            } else if is_zone(text) {
                self.add(Kind::Zone, text, start, end);
            } else if text == "/" && index + 1 < all.len() {
                // Between two things it divides; at the end it is the root.
            } else if let Some(shape) = tokens::path_shape(text) {
                self.add(Kind::Path(shape), text, start, end);
            } else if let Some(shape) = named_path(self.clause, token, before, all.get(index + 1)) {
                self.add(Kind::Path(shape), text, start, end);
            } else if is_bare_folder(self.clause, &self.words, token) {
                self.add(Kind::Path(Shape::Directory), text, start, end);
            }
        }
    }

    fn clocks(&mut self) {
        for (value, start, end) in tokens::clocks(self.clause) {
            self.add(Kind::Clock, value, start, end);
        }
    }

    /// "5 km to miles", «5 км в милях», "how many miles are in 5 km".
    fn conversion(&mut self) {
        let russian = self.clause.chars().any(is_cyrillic);
        let mut amount: Option<(String, String, usize, usize)> = None;
        let mut target: Option<(String, usize, usize)> = None;
        let mut at = 0;
        while let Some(c) = self.clause.get(at..).and_then(|rest| rest.chars().next()) {
            let begins = self.clause.get(..at).is_none_or(|before| !before.ends_with(char::is_alphanumeric));
            if let Some((number, end)) =
                number_at(self.clause, at, russian).filter(|_| begins && amount.is_none())
            {
                let rest = self.clause.get(end..).unwrap_or_default();
                if let Some((unit, length)) = unit(rest) {
                    amount = Some((number, unit, at, end + length));
                    at = end + length;
                    continue;
                }
            }
            if let Some((unit, length)) =
                self.clause.get(at..).filter(|_| begins && c.is_alphabetic()).and_then(unit)
            {
                target = Some((unit, at, at + length));
                at += length;
                continue;
            }
            at += c.len_utf8();
        }
        let (Some((number, from, a, b)), Some((to, c, d))) = (amount, target) else { return };
        if from != to {
            self.add(Kind::Conversion, format!("{number} {from} to {to}"), a.min(c), b.max(d));
        }
    }

    fn catalogue(&mut self, catalogue: &Catalogue, kind: fn(String) -> Kind) {
        for word in self.words.clone() {
            if let Some((code, name)) = catalogue.find(&word.text) {
                self.add(kind(code.to_owned()), name, word.start, word.end);
            }
        }
    }

    fn currencies(&mut self) {
        self.catalogue(&lexicon().currencies, Kind::Currency);
        for (sign, code) in [('$', "USD"), ('€', "EUR"), ('£', "GBP"), ('₽', "RUB")] {
            if let Some(at) = self.clause.find(sign) {
                self.add(Kind::Currency(code.to_owned()), code, at, at + sign.len_utf8());
            }
        }
    }

    fn places(&mut self) {
        for place in places(self.clause) {
            self.add(Kind::Place(Some(place.zone)), place.name, place.start, place.end);
        }
        let any = self.found.iter().any(|one| matches!(one.kind, Kind::Place(_) | Kind::Zone));
        if let Some((name, start, end)) = unknown_place(self.clause).filter(|_| !any) {
            self.add(Kind::Place(None), name, start, end);
        }
    }

    /// Numbers may lie within a sum.
    fn numbers(&mut self) {
        let russian = self.clause.chars().any(is_cyrillic);
        let mut numbers = Vec::new();
        let mut skip = 0;
        for (index, word) in self.words.iter().enumerate() {
            if word.start < skip {
                continue;
            }
            let before = self.clause.get(..word.start).unwrap_or_default();
            if before.ends_with('.') && before.trim_end_matches('.').ends_with(char::is_alphanumeric) {
                continue;
            }
            if let Some((number, end)) = number_at(self.clause, word.start, russian) {
                let number = if before.ends_with(" -") { format!("-{number}") } else { number };
                let stuck = self.clause.get(end..).is_some_and(|rest| rest.starts_with(char::is_alphabetic));
                if !stuck {
                    numbers.push((number, word.start, end));
                }
                skip = end;
            } else {
                let texts: Vec<&str> =
                    self.words.iter().skip(index).take(8).map(|word| word.text.as_str()).collect();
                if let Some((number, count)) = number_words(&texts).filter(|(number, _)| *number > 1) {
                    let end = self.words.get(index + count - 1).map_or(word.end, |word| word.end);
                    numbers.push((number.to_string(), word.start, end));
                    skip = end;
                }
            }
        }
        for (number, start, end) in numbers {
            let within = |one: &Evidence| matches!(one.kind, Kind::Expression { .. } | Kind::Conversion);
            if self.found.iter().filter(|one| !within(one)).all(|one| one.end <= start || end <= one.start) {
                let role = self.role(start);
                self.found.push(Evidence { kind: Kind::Number, value: number, start, end, role });
            }
        }
    }
}

/// A unit of measurement at the front of a text (blanks skipped), and the bytes up to its end.
fn unit(text: &str) -> Option<(String, usize)> {
    let trimmed = text.trim_start_matches([' ', '\u{a0}', '°']);
    let length = trimmed.find(|c: char| !c.is_alphabetic()).unwrap_or(trimmed.len());
    let word = lower(trimmed.get(..length).filter(|word| !word.is_empty())?);
    let (code, _) = lexicon().units.find(&word)?;
    Some((code.to_owned(), text.len() - trimmed.len() + length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(clause: &str) -> Vec<(Kind, String)> {
        evidence(clause)
            .into_iter()
            .filter(|one| one.kind != Kind::Number)
            .map(|one| (one.kind, one.value))
            .collect()
    }

    #[test]
    fn each_thing_is_found_as_what_it_is() {
        let place = |zone: &str| Kind::Place(Some(zone.to_owned()));
        for (clause, kind, value) in [
            ("fetch https://example.org/a?b=1.", Kind::Url, "https://example.org/a?b=1"),
            ("open example.com", Kind::Url, "https://example.com"),
            ("write to ann@example.org", Kind::Email, "ann@example.org"),
            ("on 2026-11-20", Kind::Date, "2026-11-20"),
            ("at 15:30", Kind::Clock, "15:30"),
            ("at 3pm", Kind::Clock, "15:00"),
            ("read docs/guide.md", Kind::Path(Shape::File), "docs/guide.md"),
            ("read Cargo.toml", Kind::Path(Shape::File), "Cargo.toml"),
            ("list src/", Kind::Path(Shape::Directory), "src/"),
            ("list the folder docs", Kind::Path(Shape::Directory), "docs"),
            ("what is in the docs folder", Kind::Path(Shape::Directory), "docs"),
            ("что в папке src", Kind::Path(Shape::Directory), "src"),
            ("say \"good day\"", Kind::Quoted, "good day"),
            ("скажи «добрый день»", Kind::Quoted, "добрый день"),
            ("time in Asia/Tokyo", Kind::Zone, "Asia/Tokyo"),
            ("time in Tokyo", place("Asia/Tokyo"), "Tokyo"),
            ("время в Париже", place("Europe/Paris"), "Paris"),
            ("time in Gotham", Kind::Place(None), "Gotham"),
            ("15% of 2500", Kind::Expression { strong: true }, "15% of 2500"),
            ("what is 10/4", Kind::Expression { strong: true }, "10 / 4"),
            ("10/4 of the people", Kind::Expression { strong: false }, "10 / 4"),
            ("what is (12 - 3) / 4", Kind::Expression { strong: true }, "(12 - 3) / 4"),
            ("list the files in /", Kind::Path(Shape::Directory), "/"),
            ("convert 5 km to miles", Kind::Conversion, "5 km to miles"),
            ("5 км в милях", Kind::Conversion, "5 km to miles"),
            ("how many minutes are in 3 hours", Kind::Conversion, "3 hours to minutes"),
            ("into French", Kind::Language("fr".into()), "French"),
            ("на немецкий", Kind::Language("de".into()), "German"),
            ("to EUR", Kind::Currency("EUR".into()), "euro"),
            ("run SELECT a FROM b WHERE c = 'd'", Kind::Sql, "SELECT a FROM b WHERE c = 'd'"),
        ] {
            let found = kinds(clause);
            assert!(found.contains(&(kind, value.to_owned())), "{clause}: {found:?}");
        }
    }

    #[test]
    fn ordinary_words_are_no_evidence() {
        for clause in [
            "tell me a joke",
            "what is in the current directory",
            "e.g. this",
            "and/or",
            "the file is long",
            "список дел",
        ] {
            assert_eq!(kinds(clause), [], "{clause}");
        }
    }

    #[test]
    fn from_and_to_are_told_apart() {
        let roles: Vec<_> = evidence("from Tokyo to New York").into_iter().map(|one| one.role).collect();
        assert_eq!(roles, [Some(Role::From), Some(Role::To)]);
    }

    #[test]
    fn numbers_are_found_within_sums_and_as_words() {
        let numbers = |clause: &str| -> Vec<String> {
            evidence(clause).into_iter().filter(|one| one.kind == Kind::Number).map(|one| one.value).collect()
        };
        assert_eq!(numbers("add 2 and 3"), ["2", "3"]);
        assert_eq!(numbers("the last five commits"), ["5"]);
        assert_eq!(numbers("последние десять строк"), ["10"]);
        assert_eq!(numbers("on 2026-11-20 at 15:30 in v1.2.3 the 3rd one"), Vec::<String>::new());
    }
}
