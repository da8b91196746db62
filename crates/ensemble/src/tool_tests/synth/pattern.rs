//! Texts of a simple regular expression: letters, classes, groups, alternatives and repetitions.
//!
//! Other constructs (look-around, back references, Unicode classes, flags) are not supported.

use std::iter::Peekable;
use std::str::Chars;

use super::MOST_TEXT;

/// Groups in groups.
const MOST_NESTED: usize = 20;

/// The shortest texts that it makes of the pattern, and longer ones; none if it gives up. With `least` characters, if
/// repeating more makes them.
pub(super) fn texts(pattern: &str, least: usize) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for more in [0, 1, least.min(MOST_TEXT)] {
        let mut reader = Reader { rest: pattern.chars().peekable(), more, nested: 0 };
        let Some(text) = reader.alternatives().filter(|_| reader.rest.peek().is_none()) else {
            return Vec::new();
        };
        if text.len() <= MOST_TEXT && !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts
}

struct Reader<'p> {
    rest: Peekable<Chars<'p>>,
    /// How often more than needed something is repeated.
    more: usize,
    nested: usize,
}

impl Reader<'_> {
    /// A text of the first of several; the others are read over.
    fn alternatives(&mut self) -> Option<String> {
        let first = self.sequence()?;
        while self.rest.next_if_eq(&'|').is_some() {
            self.sequence()?;
        }
        Some(first)
    }

    fn sequence(&mut self) -> Option<String> {
        let mut text = String::new();
        while let Some(c) = self.rest.next_if(|c| !matches!(c, '|' | ')')) {
            let unit = match c {
                '^' | '$' => continue,
                '(' => self.group()?,
                '[' => self.class()?.to_string(),
                '.' => "a".to_owned(),
                '\\' => self.escape()?.to_string(),
                '*' | '+' | '?' | '{' => return None,
                c => c.to_string(),
            };
            let (least, most) = self.repetition()?;
            let times = least.saturating_add(self.more).min(most);
            if unit.len().saturating_mul(times).saturating_add(text.len()) > MOST_TEXT {
                return None;
            }
            text.push_str(&unit.repeat(times));
        }
        Some(text)
    }

    fn group(&mut self) -> Option<String> {
        self.nested += 1;
        if self.nested > MOST_NESTED {
            return None;
        }
        if self.rest.next_if_eq(&'?').is_some() {
            self.rest.next_if_eq(&':')?;
        }
        let text = self.alternatives()?;
        self.rest.next_if_eq(&')')?;
        self.nested -= 1;
        Some(text)
    }

    /// Returns the minimum and maximum of a repetition.
    fn repetition(&mut self) -> Option<(usize, usize)> {
        let bounds = match self.rest.peek() {
            Some('*') => (0, usize::MAX),
            Some('+') => (1, usize::MAX),
            Some('?') => (0, 1),
            Some('{') => {
                self.rest.next();
                return self.counted().inspect(|_| self.lazily());
            }
            _ => return Some((1, 1)),
        };
        self.rest.next();
        self.lazily();
        Some(bounds)
    }

    fn lazily(&mut self) {
        self.rest.next_if(|c| matches!(c, '?' | '+'));
    }

    fn counted(&mut self) -> Option<(usize, usize)> {
        let mut inside = String::new();
        loop {
            match self.rest.next()? {
                '}' => break,
                c => inside.push(c),
            }
        }
        match inside.split_once(',') {
            None => inside.parse().ok().map(|count| (count, count)),
            Some((least, "")) => Some((least.parse().ok()?, usize::MAX)),
            Some((least, most)) => Some((least.parse().ok()?, most.parse().ok()?)),
        }
    }

    fn escape(&mut self) -> Option<char> {
        match self.rest.next()? {
            'd' => Some('1'),
            'w' | 'D' | 'S' => Some('a'),
            's' => Some(' '),
            'W' => Some('-'),
            't' => Some('\t'),
            'n' => Some('\n'),
            c if c.is_ascii_alphanumeric() => None,
            c => Some(c),
        }
    }

    /// A character of the class.
    fn class(&mut self) -> Option<char> {
        let negated = self.rest.next_if_eq(&'^').is_some();
        let mut ranges: Vec<(char, char)> = Vec::new();
        loop {
            let from = match self.rest.next()? {
                ']' if !ranges.is_empty() => break,
                '[' => return None,
                '\\' => match self.rest.peek()? {
                    'D' | 'S' | 'W' => return None,
                    'd' | 'w' | 's' if negated => {
                        self.rest.next();
                        ranges.push(('\0', 'z'));
                        continue;
                    }
                    _ => self.escape()?,
                },
                c => c,
            };
            let mut ahead = self.rest.clone();
            let to = match (ahead.next(), ahead.next()) {
                (Some('-'), Some(to)) if to != ']' && to != '\\' => {
                    self.rest = ahead;
                    to
                }
                _ => from,
            };
            ranges.push((from, to));
        }
        let within = |c: char| ranges.iter().any(|(from, to)| (*from..=*to).contains(&c));
        if negated {
            return ['a', 'A', '1', ' ', '_', '~', 'ж'].into_iter().find(|c| !within(*c));
        }
        ranges.first().map(|(from, _)| *from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simple_patterns_have_texts() {
        for (pattern, expected) in [
            ("^abc$", &["abc"][..]),
            ("^[a-z0-9_-]+$", &["a", "aa"]),
            (r"^\d{4}-\d{2}-\d{2}$", &["1111-11-11"]),
            ("^(GET|POST)$", &["GET"]),
            (r"^(?:v)?\d+(\.\d+){0,2}$", &["1", "v11.11"]),
            ("^[A-Z]{3,5}$", &["AAA", "AAAA"]),
            (r"\.\w+@x", &[".a@x", ".aa@x"]),
            (r"^[^/\s]+?$", &["~", "~~"]),
            ("", &[""]),
            ("x|y", &["x"]),
        ] {
            let texts = texts(pattern, 0);
            assert_eq!(texts, expected, "{pattern}");
            let compiled = regex::Regex::new(pattern).unwrap();
            assert!(texts.iter().all(|text| compiled.is_match(text)), "{pattern}");
        }
        assert!(texts("^a*$", 7).contains(&"a".repeat(7)));
    }

    #[test]
    fn others_are_given_up_on() {
        for pattern in [
            r"^(?=a)b$",
            r"^(a)\1$",
            r"\p{L}",
            "(?i)a",
            "a{1000000}",
            "(",
            "[",
            "a**",
            r"\",
            "[[:alpha:]]",
            "a)",
        ] {
            assert!(texts(pattern, 0).is_empty(), "{pattern}");
        }
        assert!(texts(&"(".repeat(100_000), 0).is_empty());
    }
}
