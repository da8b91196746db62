//! Patterns that may be proposed for the texts of a call: how each could vary without being quite another call.
//!
//! A proposal is never wider than its text makes plain: the directory of a path, the host of an address, the first words of
//! a command, anything only of what is read and not acted upon.

use serde_json::{Map, Value};

use super::ArgumentPattern;

/// That are shown.
const MOST: usize = 9;
/// What texts for a reader are called.
const READ: [&str; 10] = [
    "content",
    "text",
    "body",
    "message",
    "query",
    "question",
    "description",
    "prompt",
    "summary",
    "comment",
];

/// Returns patterns with the names of their arguments, in the order of the tool. Each matches the text that it was made
/// from, as far as this module can tell.
pub fn proposed_patterns(arguments: &Map<String, Value>) -> Vec<(String, ArgumentPattern)> {
    let texts = arguments.iter().filter_map(|(name, value)| Some((name, value.as_str()?)));
    let made = texts.filter_map(|(name, text)| Some((name.clone(), proposal(name, text)?)));
    made.take(MOST).collect()
}

fn proposal(name: &str, text: &str) -> Option<ArgumentPattern> {
    let pattern = of_address(text)
        .or_else(|| of_command(name, text))
        .or_else(|| is_read(name).then(|| "*".to_owned()))
        .or_else(|| of_path(text))?;
    // What holds a star of its own would be taken for a pattern.
    let plain = pattern == "*" || !text.contains('*');
    ArgumentPattern::new(name, &pattern).ok().filter(|_| plain)
}

fn is_read(name: &str) -> bool {
    let name = name.to_lowercase();
    READ.iter()
        .any(|read| name == *read || name.strip_suffix(read).is_some_and(|rest| rest.ends_with(['_', '-'])))
}

/// Its host.
fn of_address(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://")?;
    let host = rest.split(['/', '?', '#']).next().filter(|host| !host.is_empty())?;
    Some(format!("{scheme}://{host}/**"))
}

/// Its program and the word that says what it is to do.
fn of_command(name: &str, text: &str) -> Option<String> {
    let name = name.to_lowercase();
    let commanding = ["command", "cmd"].iter().any(|part| name.contains(part));
    let mut words = text.split(' ').filter(|_| commanding);
    let (program, task) = (words.next()?, words.next()?);
    let is_word = |text: &str| text.starts_with(|c: char| c.is_ascii_lowercase()) && is_plain(text);
    (is_word(program) && is_word(task)).then(|| format!("{program} {task} *"))
}

fn is_plain(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

/// Its directory; of what has none, others that end like it.
fn of_path(text: &str) -> Option<String> {
    if text.is_empty() || text.contains(char::is_whitespace) {
        return None;
    }
    match text.rsplit_once('/') {
        Some((directory, _))
            if directory.split('/').any(|part| !part.is_empty() && part != "." && part != "..") =>
        {
            Some(format!("{directory}/**"))
        }
        Some(_) => None,
        None => {
            let (stem, ending) = text.rsplit_once('.')?;
            let is_ending =
                !stem.is_empty() && is_plain(ending) && ending.contains(|c: char| c.is_ascii_alphabetic());
            is_ending.then(|| format!("*.{ending}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_proposal_is_no_wider_than_its_text() {
        for (name, text, expected) in [
            ("path", "src/a.rs", Some("src/**")),
            ("path", "src/a/b.rs", Some("src/a/**")),
            ("path", "./src/a.rs", Some("./src/**")),
            ("path", "/home/u/p/a", Some("/home/u/p/**")),
            ("path", "README.md", Some("*.md")),
            ("path", "/etc", None),
            ("path", "../x", None),
            ("path", "./x", None),
            ("path", ".env", None),
            ("path", "Makefile", None),
            ("path", "my notes/a.md", None),
            ("path", "src/*.rs", None),
            ("path", "a'b/c", None),
            ("url", "https://a.example/x?q=1", Some("https://a.example/**")),
            ("url", "https://a.example", Some("https://a.example/**")),
            ("url", "https://u@a.example/x", None),
            ("command", "git status -s", Some("git status *")),
            ("command", "git status; rm x", None),
            ("command", "rm -rf x", None),
            ("command", "sudo reboot now", Some("sudo reboot *")),
            ("command", "env sh -c x", None),
            ("command", "sh -c x", None),
            ("command", "ls", None),
            ("command", "./x y", None),
            ("content", "a\nb; c *", Some("*")),
            ("new_text", "", Some("*")),
            ("context", "x", None),
            ("encoding", "utf-8", None),
            ("version", "1.5", None),
            ("branch", "main", None),
        ] {
            let arguments = json!({ name: text, "n": 1 });
            let made = proposed_patterns(arguments.as_object().unwrap());
            let made: Vec<(&str, &str)> =
                made.iter().map(|(name, vary)| (name.as_str(), vary.text())).collect();
            let expected: Vec<(&str, &str)> = expected.map(|text| (name, text)).into_iter().collect();
            assert_eq!(made, expected, "{name}={text}");
        }
    }
}
