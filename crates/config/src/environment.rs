//! The environment as data, and text that refers to its variables.
//!
//! `env:NAME` is the value of a variable. `${NAME}` and `${NAME:-default}` are references inside other text. References
//! are resolved once, when the value is needed. Values are not searched for further references, and a plan never
//! contains a value.

use std::collections::BTreeMap;

use crate::diagnostic::quoted;
use crate::plan::{Piece, SecretRef};

/// A snapshot of the environment variables.
#[derive(Clone, Default)]
pub struct Environment {
    variables: BTreeMap<String, String>,
}

impl Environment {
    pub fn new(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        Self { variables: variables.into_iter().collect() }
    }

    /// Returns the value of a variable; an empty value counts as set.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }
}

/// Shows the names only, because values may be secret.
impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.variables.keys()).finish()
    }
}

/// A required variable that is not set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the environment variable `{name}` is not set; set it: `export {name}=…`")]
pub struct UnsetVariable {
    pub name: String,
}

impl SecretRef {
    /// Parses the text of a descriptor.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some(name) = text.strip_prefix("env:") {
            return variable(name).map(Self::Environment);
        }
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let Some((inside, after)) = after.split_once('}') else {
                return Err("a `${` is not closed".to_owned());
            };
            let (name, default) =
                inside.split_once(":-").map_or((inside, None), |(name, default)| (name, Some(default)));
            if default.is_some_and(|default| default.contains("${")) {
                return Err("references cannot be nested".to_owned());
            }
            if !before.is_empty() {
                pieces.push(Piece::Text(before.to_owned()));
            }
            pieces.push(Piece::Variable { name: variable(name)?, default: default.map(str::to_owned) });
            rest = after;
        }
        if pieces.is_empty() {
            return Ok(Self::Literal(text.to_owned()));
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest.to_owned()));
        }
        match pieces.as_slice() {
            [Piece::Variable { name, default: None }] => Ok(Self::Environment(name.clone())),
            _ => Ok(Self::Template(pieces)),
        }
    }

    /// Returns whether the literal text, including defaults, contains such a character.
    pub(crate) fn holds(&self, matches: impl Fn(char) -> bool) -> bool {
        match self {
            Self::Literal(text) => text.contains(&matches),
            Self::Environment(_) => false,
            Self::Template(pieces) => pieces.iter().any(|piece| match piece {
                Piece::Text(text) | Piece::Variable { default: Some(text), .. } => text.contains(&matches),
                Piece::Variable { default: None, .. } => false,
            }),
        }
    }

    /// Returns the variables that must be set.
    pub(crate) fn required(&self) -> Vec<&str> {
        match self {
            Self::Literal(_) => Vec::new(),
            Self::Environment(name) => vec![name],
            Self::Template(pieces) => pieces.iter().filter_map(Piece::required).collect(),
        }
    }

    /// Returns the value with references resolved. A default replaces a variable that is unset or empty.
    pub fn read(&self, environment: &Environment) -> Result<String, UnsetVariable> {
        let get = |name: &str| environment.get(name).ok_or_else(|| UnsetVariable { name: name.to_owned() });
        match self {
            Self::Literal(text) => Ok(text.clone()),
            Self::Environment(name) => get(name).map(str::to_owned),
            Self::Template(pieces) => pieces
                .iter()
                .map(|piece| match piece {
                    Piece::Text(text) => Ok(text.as_str()),
                    Piece::Variable { name, default: Some(default) } => {
                        Ok(environment.get(name).filter(|value| !value.is_empty()).unwrap_or(default))
                    }
                    Piece::Variable { name, default: None } => get(name),
                })
                .collect(),
        }
    }
}

impl Piece {
    fn required(&self) -> Option<&str> {
        match self {
            Self::Variable { name, default: None } => Some(name),
            _ => None,
        }
    }
}

fn variable(name: &str) -> Result<String, String> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.len() <= 256
        && name.starts_with(|c| is_word(c) && !c.is_ascii_digit())
        && name.chars().all(is_word)
    {
        Ok(name.to_owned())
    } else {
        Err(format!("{} is not a valid variable name", quoted(name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment() -> Environment {
        let set = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        Environment::new([set("KEY", "s3cret"), set("EMPTY", ""), set("NEST", "${KEY}")])
    }

    #[test]
    fn references_are_read_once() {
        for (text, value) in [
            ("plain $KEY {KEY}", "plain $KEY {KEY}"),
            ("env:KEY", "s3cret"),
            ("${KEY}", "s3cret"),
            ("Bearer ${KEY}!", "Bearer s3cret!"),
            ("${KEY}${KEY}", "s3crets3cret"),
            ("${NONE:-x:-y}", "x:-y"),
            ("${EMPTY:-x}", "x"),
            ("a${EMPTY}b", "ab"),
            ("${NEST}", "${KEY}"),
            ("x env:KEY", "x env:KEY"),
            ("", ""),
        ] {
            assert_eq!(SecretRef::parse(text).unwrap().read(&environment()).as_deref(), Ok(value), "{text}");
        }
        let unset = SecretRef::parse("a ${NONE}").unwrap().read(&environment());
        assert_eq!(unset, Err(UnsetVariable { name: "NONE".into() }));
    }

    #[test]
    fn malformed_references_are_refused() {
        for text in ["${", "a ${KEY", "${}", "${1X}", "${A B}", "env:", "env:A-B", "${A:-${B}}", "env:${A}"] {
            assert!(SecretRef::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn debug_shows_no_values() {
        assert!(!format!("{:?}", environment()).contains("s3cret"));
    }
}
