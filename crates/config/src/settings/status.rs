//! `[repl] status`: the line above the prompt.

use crate::diagnostic::quoted;

/// Limit on the characters of a template.
const MAX_CHARS: usize = 500;

const NAMES: [(&str, StatusValue); 7] = [
    ("model", StatusValue::Model),
    ("context", StatusValue::Context),
    ("cost", StatusValue::Cost),
    ("mode", StatusValue::Mode),
    ("servers", StatusValue::Servers),
    ("branch", StatusValue::Branch),
    ("directory", StatusValue::Directory),
];

/// What a template can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusValue {
    Model,
    /// The share of the context window that is left.
    Context,
    /// What the conversation has cost.
    Cost,
    /// The permission mode.
    Mode,
    /// The number of connected MCP servers.
    Servers,
    /// The branch of the repository.
    Branch,
    /// The name of the current directory.
    Directory,
}

/// The template of a line of parts. A part whose value is not known or empty is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusTemplate(Vec<Vec<Piece>>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Value(StatusValue),
}

impl Default for StatusTemplate {
    /// `{context} | {cost} | {servers} | {branch}`: the prompt itself names the model and the mode.
    fn default() -> Self {
        let values = [StatusValue::Context, StatusValue::Cost, StatusValue::Servers, StatusValue::Branch];
        Self(values.into_iter().map(|value| vec![Piece::Value(value)]).collect())
    }
}

impl StatusTemplate {
    /// Parses a template: parts separated by `|`, with `{name}` for values. An empty one shows nothing.
    ///
    /// # Errors
    ///
    /// A message that says what is wrong.
    pub(super) fn new(text: &str) -> Result<Self, String> {
        if text.chars().count() > MAX_CHARS {
            return Err(format!("the template has more than {MAX_CHARS} characters"));
        }
        let parts = text.split('|').map(str::trim).filter(|part| !part.is_empty());
        parts.map(pieces).collect::<Result<_, _>>().map(Self)
    }

    /// Returns whether the template shows this value.
    pub fn shows(&self, value: StatusValue) -> bool {
        self.0.iter().flatten().any(|piece| *piece == Piece::Value(value))
    }

    /// Returns the parts of the line. `value` returns a value, if it is known and not empty.
    pub fn parts(&self, value: impl Fn(StatusValue) -> Option<String>) -> Vec<String> {
        let filled = |piece: &Piece| match piece {
            Piece::Text(text) => Some(text.clone()),
            Piece::Value(which) => value(*which),
        };
        self.0.iter().filter_map(|part| part.iter().map(filled).collect()).collect()
    }
}

fn pieces(part: &str) -> Result<Vec<Piece>, String> {
    let (mut pieces, mut rest) = (Vec::new(), part);
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}').ok_or("a `{` has no `}`")?;
        let value = NAMES.iter().find(|(known, _)| *known == name);
        let (_, value) = value.ok_or_else(|| format!("there is no value {}", quoted(name)))?;
        if !before.is_empty() {
            pieces.push(Piece::Text(before.to_owned()));
        }
        pieces.push(Piece::Value(*value));
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest.to_owned()));
    }
    Ok(pieces)
}

/// How to write a template.
pub(super) fn hint() -> String {
    let names: Vec<String> = NAMES.iter().map(|(name, _)| format!("`{{{name}}}`")).collect();
    format!("values are {}; parts are separated by `|`", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> Result<String, String> {
        let value = |which| match which {
            StatusValue::Model => Some("a/b".to_owned()),
            StatusValue::Branch => Some("main".to_owned()),
            _ => None,
        };
        StatusTemplate::new(text).map(|template| template.parts(value).join(" | "))
    }

    #[test]
    fn parts_with_an_unknown_value_are_left_out() {
        for (text, shown) in [
            ("{model}|{cost}|{branch}", "a/b | main"),
            (" on {branch} | {model} for {cost} ", "on main"),
            ("{model}{branch}", "a/bmain"),
            ("hello | }", "hello | }"),
            ("", ""),
            (" | ", ""),
        ] {
            assert_eq!(filled(text).as_deref(), Ok(shown), "{text}");
        }
        let value = |which| (which == StatusValue::Branch).then(|| "main".to_owned());
        assert_eq!(StatusTemplate::default().parts(value), ["main"]);
        assert!(StatusTemplate::default().shows(StatusValue::Context));
        assert!(!StatusTemplate::default().shows(StatusValue::Model));
    }

    #[test]
    fn mistakes_are_told() {
        for (text, why) in [
            ("{modle}", "there is no value `modle`"),
            ("{model", "a `{` has no `}`"),
            ("{}", "there is no value ``"),
            ("x".repeat(MAX_CHARS + 1).as_str(), "more than 500 characters"),
        ] {
            let error = filled(text).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
