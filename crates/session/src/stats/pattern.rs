//! Patterns over names: `*` matches any text, `?` any character. Case is ignored.

/// A pattern over the names of models or tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(Vec<char>);

impl Pattern {
    pub fn new(text: &str) -> Self {
        Self(text.to_lowercase().chars().collect())
    }

    /// Returns whether the whole name matches, in time proportional to the product of both lengths.
    pub fn matches(&self, name: &str) -> bool {
        let name: Vec<char> = name.to_lowercase().chars().collect();
        let (mut at, mut next) = (0, 0);
        // Position of the last `*`, and the end of the text that it matches.
        let mut star: Option<(usize, usize)> = None;
        while at < name.len() {
            match self.0.get(next) {
                Some('*') => {
                    star = Some((next, at));
                    next += 1;
                }
                Some(c) if *c == '?' || Some(c) == name.get(at) => (at, next) = (at + 1, next + 1),
                _ => match &mut star {
                    Some((place, end)) => {
                        *end += 1;
                        (at, next) = (*end, *place + 1);
                    }
                    None => return false,
                },
            }
        }
        self.0.get(next..).unwrap_or_default().iter().all(|c| *c == '*')
    }
}

/// Returns `ensemble.invoker` for a name that models see, `ensemble__invoker`, and any other name unchanged. If the
/// descriptor has a prefix, the prefix replaces the ensemble's name.
pub fn tool_name(seen: &str) -> String {
    match seen.split_once("__") {
        Some((ensemble, invoker)) if !ensemble.is_empty() && !invoker.is_empty() => {
            format!("{ensemble}.{invoker}")
        }
        _ => seen.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, name, expected) in [
            ("gpt-5", "gpt-5", true),
            ("gpt", "gpt-5", false),
            ("GPT*", "gpt-5", true),
            ("*5", "gpt-5", true),
            ("*a*b", "xaabab", true),
            ("*a*b", "xaaba", false),
            ("io.?ead_file", "io.read_file", true),
            ("io.?", "io.", false),
            ("*", "", true),
            ("", "", true),
            ("", "x", false),
            ("**", "x/y", true),
        ] {
            assert_eq!(Pattern::new(pattern).matches(name), expected, "{pattern} {name}");
        }
        let slow = Pattern::new(&"*a".repeat(200));
        assert!(!slow.matches(&("a".repeat(2000) + "b")));
    }

    #[test]
    fn names_are_read_back_at_the_first_double_underscore() {
        for (seen, name) in [
            ("io__read_file", "io.read_file"),
            ("a__b__c", "a.b__c"),
            ("read_file", "read_file"),
            ("io.read", "io.read"),
            ("__x", "__x"),
            ("x__", "x__"),
        ] {
            assert_eq!(tool_name(seen), name);
        }
    }
}
