//! Text that is filled in when a tool is called: `{name}` is an argument of the call, `${VAR}` is a variable of the
//! environment, `{{` and `}}` are braces.
//!
//! Filled-in values are not read again: an argument `${KEY}` or `{other}` stays as it is.

use serde_json::{Map, Value};

use crate::diagnostic::quoted;
use crate::environment::{Environment, UnsetVariable};
use crate::plan::{Piece, SecretRef};

/// Parsed text with placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    pub pieces: Vec<TemplatePiece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplatePiece {
    Text(String),
    Variable {
        name: String,
        default: Option<String>,
    },
    /// A property of the arguments.
    Argument(String),
}

/// Writes the template as in a descriptor.
impl std::fmt::Display for Template {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.pieces.iter().try_for_each(|piece| match piece {
            TemplatePiece::Text(text) => f.write_str(&text.replace('{', "{{").replace('}', "}}")),
            TemplatePiece::Variable { name, default: None } => write!(f, "${{{name}}}"),
            TemplatePiece::Variable { name, default: Some(default) } => write!(f, "${{{name}:-{default}}}"),
            TemplatePiece::Argument(name) => write!(f, "{{{name}}}"),
        })
    }
}

impl Template {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.starts_with("env:") {
            return SecretRef::parse(text).map(|secret| Self::from(&secret));
        }
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}', '$']) {
            plain.push_str(&rest[..at]);
            rest = &rest[at..];
            if let Some(after) = rest.strip_prefix("{{").or_else(|| rest.strip_prefix("}}")) {
                plain.push_str(&rest[..1]);
                rest = after;
                continue;
            }
            // The message does not contain the following text, which may be secret.
            let end =
                || rest.find('}').ok_or_else(|| "a `{` is not closed; write `{{` for a brace".to_owned());
            let found = if rest.starts_with("${") {
                let inside = &rest[..=end()?];
                rest = &rest[inside.len()..];
                of_secret(&SecretRef::parse(inside)?)
            } else if rest.starts_with('{') {
                let inside = &rest[1..end()?];
                rest = &rest[inside.len() + 2..];
                vec![TemplatePiece::Argument(argument(inside)?)]
            } else if rest.starts_with('$') {
                plain.push('$');
                rest = &rest[1..];
                continue;
            } else {
                return Err("a `}` has no `{` before it; write `}}` for a brace".to_owned());
            };
            if !plain.is_empty() {
                pieces.push(TemplatePiece::Text(std::mem::take(&mut plain)));
            }
            pieces.extend(found);
        }
        plain.push_str(rest);
        if !plain.is_empty() || pieces.is_empty() {
            pieces.push(TemplatePiece::Text(plain));
        }
        Ok(Self { pieces })
    }

    /// Returns the arguments it refers to, in order.
    pub fn arguments(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            TemplatePiece::Argument(name) => Some(name.as_str()),
            _ => None,
        })
    }

    /// Returns the variables it refers to.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            TemplatePiece::Variable { name, .. } => Some(name.as_str()),
            _ => None,
        })
    }

    /// Returns its literal texts, including defaults of variables.
    pub fn literals(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            TemplatePiece::Text(text) => Some(text.as_str()),
            TemplatePiece::Variable { default, .. } => default.as_deref(),
            TemplatePiece::Argument(_) => None,
        })
    }

    /// Returns the variables that must be set.
    pub(crate) fn required(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            TemplatePiece::Variable { name, default: None } => Some(name.as_str()),
            _ => None,
        })
    }

    /// Returns the argument if the template is a single argument, whose value can keep its type.
    pub fn sole_argument(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [TemplatePiece::Argument(name)] => Some(name),
            _ => None,
        }
    }

    /// Returns the filled-in text, or `None` if an argument is missing or null. `written` makes a text of the value of an
    /// argument, given its name, and keeps the value from changing the meaning of the surrounding text.
    pub fn fill(
        &self,
        arguments: &Map<String, Value>,
        environment: &Environment,
        written: impl Fn(&str, &Value) -> String,
    ) -> Result<Option<String>, UnsetVariable> {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                TemplatePiece::Text(plain) => text.push_str(plain),
                TemplatePiece::Variable { name, default } => {
                    let piece = Piece::Variable { name: name.clone(), default: default.clone() };
                    text.push_str(&SecretRef::Template(vec![piece]).read(environment)?);
                }
                TemplatePiece::Argument(name) => match arguments.get(name) {
                    None | Some(Value::Null) => return Ok(None),
                    Some(value) => text.push_str(&written(name, value)),
                },
            }
        }
        Ok(Some(text))
    }
}

impl From<&SecretRef> for Template {
    fn from(secret: &SecretRef) -> Self {
        Self { pieces: of_secret(secret) }
    }
}

/// Returns a text as it is, and any other value as JSON.
pub fn value_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn of_secret(secret: &SecretRef) -> Vec<TemplatePiece> {
    let piece = |piece: &Piece| match piece {
        Piece::Text(text) => TemplatePiece::Text(text.clone()),
        Piece::Variable { name, default } => {
            TemplatePiece::Variable { name: name.clone(), default: default.clone() }
        }
    };
    match secret {
        SecretRef::Literal(text) => vec![TemplatePiece::Text(text.clone())],
        SecretRef::Environment(name) => vec![TemplatePiece::Variable { name: name.clone(), default: None }],
        SecretRef::Template(pieces) => pieces.iter().map(piece).collect(),
    }
}

fn argument(name: &str) -> Result<String, String> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if name.is_empty() || name.len() > 128 || !name.chars().all(is_allowed) {
        return Err(format!("{} is not a valid argument name; write `{{{{` for a brace", quoted(name)));
    }
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn filled(text: &str, arguments: Value) -> Result<Option<String>, UnsetVariable> {
        let environment = Environment::new([("KEY".to_owned(), "s{x}".to_owned())]);
        let Value::Object(arguments) = arguments else { unreachable!() };
        Template::parse(text)
            .unwrap()
            .fill(&arguments, &environment, |_, value| format!("<{}>", value_text(value)))
    }

    #[test]
    fn filled_in_values_are_not_read_again() {
        let arguments = json!({ "a": "${KEY}{b}", "n": 1.5, "l": [1, "x"], "none": null });
        for (text, expected) in [
            ("{a}", Some("<${KEY}{b}>")),
            ("-n{n} {{n}} $5 $", Some("-n<1.5> {n} $5 $")),
            ("{l}", Some("<[1,\"x\"]>")),
            ("key=${KEY}&n={n}", Some("key=s{x}&n=<1.5>")),
            ("${NO:-d}", Some("d")),
            ("env:KEY", Some("s{x}")),
            ("{none}", None),
            ("x {absent}", None),
            ("", Some("")),
        ] {
            assert_eq!(filled(text, arguments.clone()), Ok(expected.map(str::to_owned)), "{text}");
        }
        assert_eq!(filled("${NO}", json!({})), Err(UnsetVariable { name: "NO".into() }));
    }

    #[test]
    fn malformed_templates_are_refused() {
        for text in ["{", "{a", "}", "{}", "{a b}", "${", "{a}}", "${A:-${B}}", "env:A-B"] {
            assert!(Template::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn arguments_are_listed_and_a_sole_one_is_known() {
        let template = Template::parse("{a}-${V}-{b}").unwrap();
        assert_eq!(template.arguments().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(template.sole_argument(), None);
        assert_eq!(Template::parse("{files}").unwrap().sole_argument(), Some("files"));
    }
}
