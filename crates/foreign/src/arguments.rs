//! Replaces the secrets in a command line: known by the flag before them, by their name or by themselves.

use converse_text::secrets::{is_harmless, is_secret_name, looks_like_flag, scheme, telling_flag};

use crate::address;
use crate::name::is_variable;
use crate::text::{Piece, Text, is_secret, literal, looks_secret, refers};

/// Flags whose value is a header, or a variable with its value.
const OF_HEADERS: [&str; 3] = ["--header", "--headers", "-H"];
const OF_VARIABLES: [&str; 3] = ["-e", "--env", "--environment"];

/// Replaces the secrets in each word. `lift` gets a name and the value, and returns the name of the variable.
pub(crate) fn without_secrets(words: Vec<Text>, mut lift: impl FnMut(&str, &str) -> String) -> Vec<Text> {
    let mut before = String::new();
    let mut done = Vec::new();
    // The first word is the program, which may be an address or a script with a secret.
    for (at, word) in words.into_iter().enumerate() {
        let plain = literal(&word);
        let value_of = (at > 1).then_some(before.as_str()).and_then(flag);
        done.push(one(word, value_of, &mut lift));
        before = plain;
    }
    done
}

/// Returns a command line for a report: `[redacted]` replaces each secret, and each value of `NAME=value`, which is a
/// variable for `env` and similar programs.
pub fn without_values<S: AsRef<str>>(words: &[S]) -> Vec<String> {
    const REDACTED: &str = "[redacted]";
    let plain = |word: &S| vec![Piece::Plain(word.as_ref().to_owned())];
    let shown = |text: Text| -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Plain(plain) => plain.clone(),
            Piece::Variable { .. } | Piece::Unknown => REDACTED.to_owned(),
        };
        text.iter().map(piece).collect()
    };
    let assigned = |word: String| match word.split_once('=') {
        Some((name, value)) if is_variable(name) && !value.is_empty() => format!("{name}={REDACTED}"),
        _ => word,
    };
    let words = without_secrets(words.iter().map(plain).collect(), |name, _| name.to_owned());
    words.into_iter().map(shown).map(assigned).collect()
}

/// The name of a flag that takes the next word as its value.
fn flag(word: &str) -> Option<&str> {
    let is_flag = word.starts_with('-') && word.len() > 1 && !word.contains(['=', ' ']);
    is_flag.then_some(word)
}

fn one(word: Text, flag: Option<&str>, lift: &mut impl FnMut(&str, &str) -> String) -> Text {
    let text = literal(&word);
    if text.is_empty() {
        return word;
    }
    let telling =
        flag.and_then(telling_flag).filter(|name| !looks_like_flag(&text) && is_secret(name, &word));
    if let Some(name) = telling {
        return whole(name, &word, lift);
    }
    if let Some(parted) = parted(&word, flag, lift) {
        return parted;
    }
    if text.contains("://") && !text.contains(char::is_whitespace) && !text.starts_with(['{', '[']) {
        let word = address::without_secrets(&word, &mut *lift);
        return if looks_secret(&word) { whole("argument", &word, lift) } else { word };
    }
    if looks_secret(&word) { whole("argument", &word, lift) } else { word }
}

/// Splits `--key=value`, `NAME=value` and `Name: value`, and keeps the name.
fn parted(word: &Text, flag: Option<&str>, lift: &mut impl FnMut(&str, &str) -> String) -> Option<Text> {
    let (Piece::Plain(first), rest) = word.split_first()? else { return None };
    let at = first.find(['=', ':'])?;
    let (name, mark) = (first.get(..at)?, first.get(at..=at)?);
    let mut behind = first.get(at + 1..)?;
    let sound = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if name.is_empty() || !name.chars().all(sound) || behind.starts_with("//") {
        return None;
    }
    let bare = name.trim_start_matches('-');
    let nested = OF_HEADERS.contains(&name) || OF_VARIABLES.contains(&name);
    if nested && mark == "=" {
        let mut inner = vec![Piece::Plain(behind.to_owned())];
        inner.extend(rest.iter().cloned());
        return Some(after(&format!("{name}="), one(inner, Some(name), lift)));
    }
    let header = mark == ":" || flag.is_some_and(|flag| OF_HEADERS.contains(&flag));
    let blank = behind.len() - behind.trim_start().len();
    let mut kept = format!("{name}{mark}");
    let mut schemed = false;
    if header {
        kept.push_str(behind.get(..blank)?);
        behind = behind.get(blank..)?;
        let scheme = scheme(behind);
        kept.push_str(scheme);
        schemed = !scheme.is_empty();
        behind = behind.get(scheme.len()..)?;
    }
    let mut value: Text = Vec::new();
    if !behind.is_empty() {
        value.push(Piece::Plain(behind.to_owned()));
    }
    value.extend(rest.iter().cloned());
    if !header && name == bare && is_secret_name(bare) && behind.trim().contains(char::is_whitespace) {
        // A line for a shell, with more than the value.
        return Some(whole("argument", word, lift));
    }
    let telling = schemed || (is_secret_name(bare) && is_secret(bare, &value));
    if telling && !is_harmless(&literal(&value)) {
        return Some(after(&kept, whole(bare, &value, lift)));
    }
    // The value of a flag may be an address, or look like a key itself.
    if mark == "=" && looks_secret(word) && !value.is_empty() {
        return Some(after(&kept, one(value, None, lift)));
    }
    None
}

fn after(kept: &str, mut text: Text) -> Text {
    match text.first_mut() {
        Some(Piece::Plain(first)) => first.insert_str(0, kept),
        _ => text.insert(0, Piece::Plain(kept.to_owned())),
    }
    text
}

/// Replaces the whole text by a variable.
fn whole(name: &str, text: &Text, lift: &mut impl FnMut(&str, &str) -> String) -> Text {
    // Texts with references are equal only if their references are.
    let value = if refers(text) { format!("{text:?}") } else { literal(text) };
    vec![Piece::Variable { name: lift(name, &value), default: None }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{Dialect, Inputs, write};

    #[test]
    fn a_report_has_no_values_of_variables_and_no_secrets() {
        for (line, expected) in [
            (&["env", "KEY=abc", "A=1", "x", "--port=80"][..], "env KEY=[redacted] A=[redacted] x --port=80"),
            (
                &["docker", "run", "-e", "NAME=x", "-e", "NAME", "i"],
                "docker run -e NAME=[redacted] -e NAME i",
            ),
            (&["x", "--api-key", "abc", "sk-abcdefgh12345678"], "x --api-key [redacted] [redacted]"),
            (&["x", "--header", "Authorization: Bearer abc"], "x --header Authorization: Bearer [redacted]"),
            (&["x", "postgres://me:pw123@h/d", "A="], "x postgres://me:[redacted]@h/d A="),
            (&["npx", "-y", "@scope/pkg@1.2.3", "/home/me"], "npx -y @scope/pkg@1.2.3 /home/me"),
        ] {
            assert_eq!(without_values(line).join(" "), expected);
        }
    }

    #[test]
    fn secrets_in_command_lines_are_replaced() {
        for (line, expected) in [
            (&["npx", "-y", "pkg@1.2.3", "/home/me"][..], &["npx", "-y", "pkg@1.2.3", "/home/me"][..]),
            (&["x", "--api-key=abc"], &["x", "--api-key=${api-key}"]),
            (&["x", "--api-key", "abc", "d"], &["x", "--api-key", "env:api-key", "d"]),
            (&["x", "--token", "--verbose"], &["x", "--token", "--verbose"]),
            (&["x", "--no-auth", "dir"], &["x", "--no-auth", "dir"]),
            (&["x", "--auth", "oauth"], &["x", "--auth", "oauth"]),
            (&["docker", "run", "-e", "API_KEY=abc"], &["docker", "run", "-e", "API_KEY=${API_KEY}"]),
            (&["docker", "run", "-e", "API_KEY"], &["docker", "run", "-e", "API_KEY"]),
            (&["docker", "run", "--env=API_KEY=abc"], &["docker", "run", "--env=API_KEY=${API_KEY}"]),
            (
                &["x", "--header", "Authorization: Bearer abc"],
                &["x", "--header", "Authorization: Bearer ${Authorization}"],
            ),
            (&["x", "--header=X-Api-Key: abc"], &["x", "--header=X-Api-Key: ${X-Api-Key}"]),
            (&["x", "--header", "Authorization:${AUTH}"], &["x", "--header", "Authorization:${AUTH}"]),
            (
                &["x", "--header", "Authorization: Bearer ${T}"],
                &["x", "--header", "Authorization: Bearer ${T}"],
            ),
            (&["x", "--header", "Accept: a/b"], &["x", "--header", "Accept: a/b"]),
            (&["x", "https://a.example/mcp?key=abc"], &["x", "https://a.example/mcp?key=${key}"]),
            (&["x", "postgres://me:pw123@h/d"], &["x", "postgres://me:${password}@h/d"]),
            (&["x", "--db=postgres://me:pw123@h/d"], &["x", "--db=postgres://me:${password}@h/d"]),
            (&["x", "sk-abcdefgh12345678"], &["x", "env:argument"]),
            (&["x", "--flag=sk-abcdefgh12345678"], &["x", "--flag=${argument}"]),
            (&["sh", "-c", "API_KEY=abcdef node x"], &["sh", "-c", "env:argument"]),
            (&["x", "--config", "{\"apiKey\":\"abc\"}"], &["x", "--config", "env:argument"]),
            (&["x", "--port=80", "--url=http://h:80/"], &["x", "--port=80", "--url=http://h:80/"]),
            (&["x", "--with-token", "abc"], &["x", "--with-token", "env:with-token"]),
            (&["x", "--token-file", "/run/t"], &["x", "--token-file", "/run/t"]),
            (&["x", "--header", "X-Any: Bearer abc"], &["x", "--header", "X-Any: Bearer ${X-Any}"]),
            (&["x", "Bearer abc"], &["x", "env:argument"]),
            (&["bash", "-c", "npx -y srv --api-key X --token Y"], &["bash", "-c", "env:argument"]),
            (&["bash", "-c", "srv --token ${T} run"], &["bash", "-c", "srv --token ${T} run"]),
            (&["x", "--args=--api-key X"], &["x", "--args=${argument}"]),
            (&["sh", "-c", "PASSWORD=$ecret node x"], &["sh", "-c", "env:argument"]),
            (&["sh", "-c", "PASSWORD=$DB_PASSWORD node x"], &["sh", "-c", "env:argument"]),
            (&["x", "https://a.example/%3Fapi_key%3Dabc"], &["x", "https://a.example/${url key}"]),
            (&["x", "--password", "-"], &["x", "--password", "env:password"]),
        ] {
            let words = line.iter().map(|word| Dialect::Braces.parse(word, &Inputs::new())).collect();
            let done: Vec<String> = without_secrets(words, |name, _| name.to_owned())
                .iter()
                .map(|text| write(text).unwrap())
                .collect();
            assert_eq!(done, expected, "{line:?}");
        }
    }
}
