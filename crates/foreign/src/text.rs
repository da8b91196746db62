//! Text with references, as other programs and converse write them, and the secrets in it.
//!
//! | dialect | reference |
//! | --- | --- |
//! | braces | `${NAME}`, `${NAME:-default}`, `${env:NAME}`, `${input:id}`, `${userHome}`, `${workspaceFolder}` |
//! | dollar | all of these, and `$NAME` |
//! | curly | `{env:NAME}` |
//! | none | text is text |

use std::collections::BTreeMap;

use converse_text::secrets::{self, MIN_SECRET, has_option, holds_secret, is_scheme, scheme, shows_itself};

use crate::name::is_variable;

/// Bytes of one reference with its default.
const MAX_REFERENCE: usize = 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// <https://code.claude.com/docs/en/mcp>, <https://cursor.com/docs/mcp>,
    /// <https://code.visualstudio.com/docs/reference/variables-reference> (checked 2026-11)
    Braces,
    /// <https://geminicli.com/docs/tools/mcp-server> (checked 2026-11)
    Dollar,
    /// <https://opencode.ai/docs/config> (checked 2026-11)
    Curly,
    None,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    Plain(String),
    Variable {
        name: String,
        default: Option<String>,
    },
    /// Something that the other program expands and converse cannot.
    Unknown,
}

pub(crate) type Text = Vec<Piece>;

/// `${input:id}` by id.
pub(crate) type Inputs = BTreeMap<String, Piece>;

impl Dialect {
    pub(crate) fn parse(self, text: &str, inputs: &Inputs) -> Text {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, inside, after)) = self.next(rest) {
            plain(&mut pieces, before);
            match self.meaning(inside, inputs) {
                Piece::Plain(text) => plain(&mut pieces, &text),
                piece => pieces.push(piece),
            }
            rest = after;
        }
        plain(&mut pieces, rest);
        pieces
    }

    /// The text before the next reference, the reference, and the rest.
    fn next(self, text: &str) -> Option<(&str, &str, &str)> {
        match self {
            Self::None => None,
            Self::Braces => braced(text),
            Self::Curly => {
                let begins = |rest: &str| rest.starts_with("{env:") || rest.starts_with("{file:");
                let mut braces = text.match_indices('{').map(|(at, _)| text.split_at(at));
                let (before, rest) = braces.find(|(_, rest)| begins(rest))?;
                let end = rest.find('}')?;
                Some((before, rest.get(1..end)?, rest.get(end + 1..)?))
            }
            Self::Dollar => Self::bare_or_braced(text),
        }
    }

    fn bare_or_braced(text: &str) -> Option<(&str, &str, &str)> {
        let mut never_closed = false;
        text.match_indices('$').find_map(|(at, _)| {
            let (before, rest) = (text.get(..at)?, text.get(at + 1..)?);
            if let Some(inner) = rest.strip_prefix('{') {
                let found = if never_closed { None } else { closed(inner) };
                never_closed |= found.is_none();
                return found.map(|(inside, after)| (before, inside, after));
            }
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
            let name = rest.get(..end).filter(|name| is_variable(name))?;
            Some((before, name, rest.get(end..)?))
        })
    }

    fn meaning(self, inside: &str, inputs: &Inputs) -> Piece {
        let variable = |name: &str| match is_variable(name) {
            true => Piece::Variable { name: name.to_owned(), default: None },
            false => Piece::Unknown,
        };
        if let Some(name) = inside.strip_prefix("env:") {
            return variable(name);
        }
        if let Some(id) = inside.strip_prefix("input:") {
            return inputs.get(id).cloned().unwrap_or(Piece::Unknown);
        }
        match inside {
            "userHome" => return variable("HOME"),
            "workspaceFolder" | "workspaceRoot" | "cwd" => return variable("PWD"),
            "pathSeparator" | "/" => return Piece::Plain("/".to_owned()),
            "workspaceFolderBasename" => return Piece::Unknown,
            _ => {}
        }
        match inside.split_once(":-") {
            // References are not nested in converse, and a default ends at the first brace.
            Some((name, default)) if is_variable(name) && !default.contains(['{', '}']) => {
                Piece::Variable { name: name.to_owned(), default: Some(default.to_owned()) }
            }
            Some(_) => Piece::Unknown,
            None => variable(inside),
        }
    }
}

/// The first `${…}`.
fn braced(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once("${")?;
    closed(rest).map(|(inside, after)| (before, inside, after))
}

/// The text before the matching closing brace, and the text after it.
fn closed(text: &str) -> Option<(&str, &str)> {
    let mut depth = 1_usize;
    for (at, byte) in text.bytes().enumerate().take(MAX_REFERENCE) {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some((text.get(..at)?, text.get(at + 1..)?));
        }
    }
    None
}

fn plain(pieces: &mut Text, text: &str) {
    match pieces.last_mut() {
        _ if text.is_empty() => {}
        Some(Piece::Plain(before)) => before.push_str(text),
        _ => pieces.push(Piece::Plain(text.to_owned())),
    }
}

/// The form in a descriptor. `None`: descriptors cannot express a literal `${`.
pub(crate) fn write(text: &Text) -> Option<String> {
    if let [Piece::Variable { name, default: None }] = text.as_slice() {
        return Some(format!("env:{name}"));
    }
    let mut written = String::new();
    for piece in text {
        match piece {
            Piece::Plain(plain) => written.push_str(plain),
            Piece::Variable { name, default: None } => written.push_str(&format!("${{{name}}}")),
            Piece::Variable { name, default: Some(default) } => {
                written.push_str(&format!("${{{name}:-{default}}}"));
            }
            Piece::Unknown => return None,
        }
    }
    // A `$` before a reference makes another `${`, so the result is counted.
    let references = text.iter().filter(|piece| matches!(piece, Piece::Variable { .. })).count();
    let sound = written.matches("${").count() == references && !written.starts_with("env:");
    sound.then_some(written)
}

/// Replaces references to variables in `given` by their values, up to `room` bytes in total.
pub(crate) fn expanded(text: Text, given: &[(String, Text)], room: &mut usize) -> Text {
    let mut whole = Text::new();
    for piece in text {
        let found = match &piece {
            Piece::Variable { name, .. } => given.iter().find(|(known, _)| known == name),
            Piece::Plain(_) | Piece::Unknown => None,
        };
        // A value that cannot be written becomes a variable of the same name.
        let found = found.map(|(_, value)| value).filter(|value| !value.contains(&Piece::Unknown));
        // `X = "${X}"` passes on the variable itself.
        let found = found.filter(|value| !is_same(value, &piece));
        let left = found.and_then(|value| room.checked_sub(literal(value).len()));
        let pieces = match (found, left) {
            (Some(value), Some(left)) => {
                *room = left;
                value.clone()
            }
            _ => vec![piece],
        };
        for piece in pieces {
            match piece {
                Piece::Plain(text) => plain(&mut whole, &text),
                piece => whole.push(piece),
            }
        }
    }
    whole
}

fn is_same(value: &Text, reference: &Piece) -> bool {
    let name = |piece: &Piece| match piece {
        Piece::Variable { name, .. } => Some(name.clone()),
        Piece::Plain(_) | Piece::Unknown => None,
    };
    matches!(value.as_slice(), [one] if name(one).is_some() && name(one) == name(reference))
}

/// The literal text, without references.
pub(crate) fn literal(text: &Text) -> String {
    let plain = |piece: &Piece| match piece {
        Piece::Plain(plain) => plain.clone(),
        Piece::Variable { default, .. } => default.clone().unwrap_or_default(),
        Piece::Unknown => String::new(),
    };
    text.iter().map(plain).collect()
}

/// The text with a placeholder for each unknown value.
pub(crate) fn with_placeholders(text: &Text) -> String {
    let shown = |piece: &Piece| match piece {
        Piece::Plain(plain) => plain.clone(),
        Piece::Variable { default: Some(default), .. } => default.clone(),
        Piece::Variable { default: None, .. } | Piece::Unknown => "${X}".to_owned(),
    };
    text.iter().map(shown).collect()
}

/// Whether the text has references.
pub(crate) fn refers(text: &Text) -> bool {
    text.iter().any(|piece| !matches!(piece, Piece::Plain(_)))
}

/// Returns whether the text is a secret, by its name or by itself.
pub(crate) fn is_secret(name: &str, text: &Text) -> bool {
    let literal = literal(text);
    // The rest of a text with a reference is a word like `Bearer`, or a separator.
    (secrets::is_secret(name, &literal) && !(refers(text) && is_short(&literal))) || looks_secret(text)
}

/// Returns whether the text contains a secret, whatever its name.
pub(crate) fn looks_secret(text: &Text) -> bool {
    shows_itself(&literal(text)) || has_option(&with_placeholders(text))
}

/// Returns whether a text for people, such as a description, holds a secret.
pub(crate) fn text_holds_secret(text: &str) -> bool {
    holds_secret(text) || has_option(text)
}

fn is_short(literal: &str) -> bool {
    let (scheme, rest) = literal.split_at(scheme(literal).len());
    let word = if scheme.is_empty() { rest.trim() } else { rest };
    is_scheme(word) || word.chars().filter(char::is_ascii_alphanumeric).count() < MIN_SECRET
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_of_others_become_ours() {
        let mut inputs = Inputs::new();
        inputs.insert("tok".into(), Piece::Variable { name: "TOK".into(), default: None });
        for (dialect, text, ours) in [
            (Dialect::Braces, "${A}", Some("env:A")),
            (Dialect::Braces, "x ${A:-b:c} y", Some("x ${A:-b:c} y")),
            (Dialect::Braces, "Bearer ${env:A}", Some("Bearer ${A}")),
            (Dialect::Braces, "Bearer ${input:tok}", Some("Bearer ${TOK}")),
            (Dialect::Braces, "${input:other}", None),
            (Dialect::Braces, "${userHome}${/}x", Some("${HOME}/x")),
            (Dialect::Braces, "${workspaceFolder}/x", Some("${PWD}/x")),
            (Dialect::Braces, "${A:-${B}}c", None),
            (Dialect::Braces, "${A:-{}}", None),
            (Dialect::Braces, "${config:x.y}", None),
            (Dialect::Braces, "$A {b}", Some("$A {b}")),
            (Dialect::Braces, "a ${open", None),
            (Dialect::Dollar, "$A-${B}$C", Some("${A}-${B}${C}")),
            (Dialect::Dollar, "$5 $", Some("$5 $")),
            (Dialect::Curly, "a {env:B} c", Some("a ${B} c")),
            (Dialect::Curly, "{file:~/.k}", None),
            (Dialect::Curly, "${A}", None),
            (Dialect::None, "${A}", None),
            (Dialect::None, "env:A", None),
            (Dialect::None, "$A", Some("$A")),
            (Dialect::Braces, "", Some("")),
        ] {
            let parsed = dialect.parse(text, &inputs);
            assert_eq!(write(&parsed).as_deref(), ours, "{text} {parsed:?}");
        }
    }
}
