//! Globs over names of tools, texts of arguments, and paths.

use globset::{GlobBuilder, GlobMatcher};

use super::MatchMode;
use super::address::plain_glob;
use super::reading::below_home;

/// A pattern that is not a valid glob.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{pattern}` is not a tool pattern: {reason}")]
pub struct BadPattern {
    pub pattern: String,
    pub reason: String,
}

/// A glob over `ensemble.invoker`.
#[derive(Debug, Clone)]
pub struct ToolPattern {
    /// With `.*` appended for a whole ensemble.
    pub(super) whole: String,
    matcher: GlobMatcher,
}

impl ToolPattern {
    /// Compiles a glob; the name of an ensemble alone means all its tools.
    ///
    /// # Errors
    ///
    /// The text is not a glob.
    pub fn new(pattern: &str) -> Result<Self, BadPattern> {
        let bad = |reason: String| BadPattern { pattern: pattern.to_owned(), reason };
        if pattern.trim().is_empty() {
            return Err(bad("the pattern is empty".into()));
        }
        let whole =
            if pattern.contains('.') || pattern == "*" { pattern.to_owned() } else { format!("{pattern}.*") };
        let matcher = compiled(&whole, false).map_err(bad)?;
        Ok(Self { whole, matcher })
    }

    /// A glob over other names, in which no dot is needed.
    pub(super) fn verbatim(pattern: &str) -> Result<Self, BadPattern> {
        let bad = |reason| BadPattern { pattern: pattern.to_owned(), reason };
        let matcher = compiled(pattern, false).map_err(bad)?;
        Ok(Self { whole: pattern.to_owned(), matcher })
    }

    /// Matches exactly this name, whatever characters it has.
    pub(crate) fn literal(name: &str) -> Result<Self, BadPattern> {
        let whole = globset::escape(name);
        let bad = |reason| BadPattern { pattern: name.to_owned(), reason };
        let matcher = compiled(&whole, false).map_err(bad)?;
        Ok(Self { whole, matcher })
    }

    /// Returns whether a tool, as `ensemble.invoker`, matches.
    pub fn matches(&self, tool: &str) -> bool {
        self.matcher.is_match(tool)
    }
}

fn compiled(pattern: &str, path: bool) -> Result<GlobMatcher, String> {
    let glob = GlobBuilder::new(pattern).literal_separator(path).backslash_escape(true).build();
    Ok(glob.map_err(|error| error.kind().to_string())?.compile_matcher())
}

/// A glob over a text or path of the arguments. A leading `./` is ignored, and `$HOME/` equals `~/`.
#[derive(Debug, Clone)]
pub(crate) struct ValueGlob {
    pub(crate) text: String,
    /// The glob begins at the root or at the home directory.
    pub(super) from_root: bool,
    matchers: Vec<GlobMatcher>,
    /// For `dir/**`: `dir` itself. Rules that deny or ask match it too, because an operation on a directory affects its
    /// content.
    root: Option<GlobMatcher>,
}

impl ValueGlob {
    /// With `path`, `*` and `?` stop at `/` and `**` does not; otherwise they match any characters.
    pub(crate) fn new(text: &str, path: bool) -> Result<Self, String> {
        if text.is_empty() {
            return Err("the pattern is empty".to_owned());
        }
        let at_home = below_home(text).map(|rest| format!("~{rest}"));
        let bare = at_home.as_deref().or_else(|| text.strip_prefix("./").filter(|bare| !bare.is_empty()));
        let plain = plain_glob(text);
        let written = (!path || bare.is_none()).then_some(text);
        let all = written.into_iter().chain(bare).chain(plain.as_deref());
        let matchers = all.map(|text| compiled(text, path)).collect::<Result<_, _>>()?;
        let root = bare.unwrap_or(text).strip_suffix("/**").filter(|root| !root.is_empty());
        let root = root.map(|root| compiled(root, path)).transpose()?;
        let from_root = text.starts_with('/') || at_home.is_some();
        Ok(Self { text: text.to_owned(), from_root, matchers, root })
    }

    pub(super) fn is_match(&self, text: &str, mode: MatchMode) -> bool {
        let root = self.root.as_ref().filter(|_| mode == MatchMode::Any);
        self.matchers.iter().chain(root).any(|matcher| matcher.is_match(text))
    }
}

/// Returns whether a glob in `include` or `exclude` matches an invoker. An invalid glob matches nothing.
pub(crate) fn names(glob: &str, invoker: &str) -> bool {
    compiled(glob, false).is_ok_and(|glob| glob.is_match(invoker))
}
