//! One word of a pattern: written out, or with a `*` in it.

use serde_json::Value;

use super::signs::passes;
use crate::escape::quoted;
use crate::rule::predicate::Test;
use crate::rule::reading::{Kind, Origins, readings};
use crate::rule::{Doubt, ValueGlob};

#[derive(Debug, Clone)]
pub(super) enum Word {
    Literal(String),
    Wild {
        /// Of the text as it is written, and of the path or address that it is.
        tests: Vec<Test>,
        shape: Shape,
        /// It begins with its `*`, which is not to become an option.
        open: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Or a path within the workspace.
    Plain,
    /// A path that begins at the root, at the home or above the workspace.
    FromRoot,
    Address,
}

impl Word {
    pub(super) fn new(text: &str) -> Result<Self, String> {
        if !text.contains('*') {
            return Ok(Self::Literal(text.to_owned()));
        }
        let shape = if text.contains("://") {
            of_one_host(text)?;
            Shape::Address
        } else if text.starts_with(['/', '~']) || text.starts_with("../") {
            Shape::FromRoot
        } else {
            Shape::Plain
        };
        if !passes(text, shape == Shape::Address) {
            return Err(format!(
                "{} mixes `*` with a quote, a backslash or a sign that a shell acts upon",
                quoted(text)
            ));
        }
        if text.split('/').any(|part| part.contains("**") && part != "**") {
            return Err("`**` stands alone between slashes, as in `src/**`".to_owned());
        }
        let glob = |path| ValueGlob::new(&only_stars(text), path).map_err(|why| format!("no pattern: {why}"));
        let tests = vec![Test::Glob(glob(false)?), Test::Path(glob(true)?)];
        Ok(Self::Wild { tests, shape, open: text.starts_with('*') })
    }

    /// Of one with a `*` in it.
    pub(super) fn shape(&self) -> Option<Shape> {
        match self {
            Self::Literal(_) => None,
            Self::Wild { shape, .. } => Some(*shape),
        }
    }

    pub(super) fn fits(&self, text: &str, origins: Origins<'_>) -> bool {
        let (tests, shape, open) = match self {
            Self::Literal(wanted) => return text == wanted,
            Self::Wild { tests, shape, open } => (tests, *shape, *open),
        };
        if text.is_empty() || (open && text.starts_with('-')) {
            return false;
        }
        let is_address = shape == Shape::Address;
        let all = readings(text, origins);
        let sound = !all.cut
            && passes(text, is_address)
            && all.list.iter().all(|reading| {
                // What is a path in one reading and an address in another is neither for sure.
                passes(&reading.text, is_address) && (is_address || reading.kind != Kind::Address)
            });
        let value = Value::from(text);
        sound && tests.iter().all(|test| test.fits(&value, Doubt::Misses, origins))
    }
}

/// Scheme and host are written out and end with a slash: `https://example.com*` is also another host.
fn of_one_host(text: &str) -> Result<(), String> {
    let (scheme, rest) = text.split_once("://").unwrap_or_default();
    let host = rest.split_once('/').map(|(host, _)| host);
    let plain = |text: &str| !text.is_empty() && !text.contains(['*', '@', '?', '#', '%']);
    let named = scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    match host {
        Some(host) if plain(scheme) && named && plain(host) => Ok(()),
        _ => Err(
            "of an address the host must be written out, with a slash behind it, as in `https://example.com/**`"
                .to_owned(),
        ),
    }
}

/// As a glob in which nothing else is special.
fn only_stars(text: &str) -> String {
    text.split('*').map(globset::escape).collect::<Vec<_>>().join("*")
}
