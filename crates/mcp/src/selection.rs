//! [`Selection`]: the tools of a server that its descriptor keeps, and settings that match no tool.

use std::collections::BTreeMap;

use converse_canister::InvokerName;
use converse_config::{Policy, ToolFilter};
use globset::{GlobBuilder, GlobMatcher};

use crate::error::Failure;
use crate::listing::Declared;

/// A compiled [`ToolFilter`]. Keeps tools that match an include (any tool if there is none) and no exclude.
/// `*` and `?` match any characters, as in permission rules.
#[derive(Debug)]
pub(crate) struct Selection {
    include: Vec<GlobMatcher>,
    exclude: Vec<GlobMatcher>,
}

impl Selection {
    pub(crate) fn new(filter: &ToolFilter) -> Result<Self, Failure> {
        let compiled = |patterns: &[String]| {
            patterns.iter().map(|pattern| matcher(pattern)).collect::<Result<Vec<_>, Failure>>()
        };
        Ok(Self { include: compiled(&filter.include)?, exclude: compiled(&filter.exclude)? })
    }

    pub(crate) fn keeps(&self, name: &InvokerName) -> bool {
        let matches = |globs: &[GlobMatcher]| globs.iter().any(|glob| glob.is_match(name.as_str()));
        (self.include.is_empty() || matches(&self.include)) && !matches(&self.exclude)
    }

    /// Returns the settings that match no tool.
    pub(crate) fn unmatched(
        &self,
        tools: &[Declared],
        policies: &BTreeMap<InvokerName, Policy>,
    ) -> Vec<UnmatchedSetting> {
        let unmatched = |glob: &&GlobMatcher| !tools.iter().any(|tool| glob.is_match(tool.name.as_str()));
        let text = |glob: &GlobMatcher| glob.glob().glob().to_owned();
        let include = self.include.iter().filter(unmatched).map(|glob| UnmatchedSetting::Include(text(glob)));
        let exclude = self.exclude.iter().filter(unmatched).map(|glob| UnmatchedSetting::Exclude(text(glob)));
        let absent = policies.keys().filter(|name| !tools.iter().any(|tool| tool.name == **name));
        include.chain(exclude).chain(absent.cloned().map(UnmatchedSetting::Tool)).collect()
    }
}

/// A setting of a descriptor that has no effect because the server has no such tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnmatchedSetting {
    /// A pattern of `include`.
    Include(String),
    /// A pattern of `exclude`.
    Exclude(String),
    /// `[tools.NAME]`.
    Tool(InvokerName),
}

impl UnmatchedSetting {
    /// Returns whether the setting is an exclude pattern that may match future tools, which needs no warning.
    pub(crate) fn is_precaution(&self) -> bool {
        matches!(self, Self::Exclude(pattern) if pattern.contains(['*', '?', '[', '{']))
    }
}

impl std::fmt::Display for UnmatchedSetting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Include(pattern) => write!(f, "no tool matches `{pattern}` of `include`"),
            Self::Exclude(pattern) => write!(f, "no tool matches `{pattern}` of `exclude`"),
            Self::Tool(name) => write!(f, "there is no tool for `[tools.{name}]`"),
        }
    }
}

fn matcher(pattern: &str) -> Result<GlobMatcher, Failure> {
    let glob = GlobBuilder::new(pattern).literal_separator(false).backslash_escape(true).build();
    let glob =
        glob.map_err(|error| Failure::Unusable(format!("`{pattern}` is not a pattern: {}", error.kind())))?;
    Ok(glob.compile_matcher())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(name: &str) -> InvokerName {
        InvokerName::new(name).unwrap()
    }

    fn selection(include: &[&str], exclude: &[&str]) -> Selection {
        let owned = |patterns: &[&str]| patterns.iter().map(|&pattern| pattern.to_owned()).collect();
        Selection::new(&ToolFilter { include: owned(include), exclude: owned(exclude) }).unwrap()
    }

    #[test]
    fn include_then_exclude() {
        for (include, exclude, tool, kept) in [
            (&[][..], &[][..], "any", true),
            (&["get_*"], &[], "get_x", true),
            (&["get_*"], &[], "set_x", false),
            (&["get_*"], &["get_admin_*"], "get_admin_x", false),
            (&["a", "b"], &[], "b", true),
            (&[], &["*"], "x", false),
            (&["admin*"], &[], "admin.tools/list", true),
        ] {
            assert_eq!(
                selection(include, exclude).keeps(&name(tool)),
                kept,
                "{include:?} {exclude:?} {tool}"
            );
        }
        assert!(Selection::new(&ToolFilter { include: vec!["[".into()], exclude: vec![] }).is_err());
    }

    #[test]
    fn settings_without_a_tool_are_reported() {
        let tool = |tool: &str| Declared {
            name: name(tool),
            description: String::new(),
            arguments: serde_json::json!({}),
            output: None,
            raw: "{}".into(),
        };
        let policies =
            BTreeMap::from([(name("get_x"), Policy::default()), (name("gone"), Policy::default())]);
        let unmatched = selection(&["get_*", "put_*"], &["get_x", "nothing", "drop_*"])
            .unmatched(&[tool("get_x")], &policies)
            .into_iter();
        let reported: Vec<_> = unmatched.map(|one| (one.to_string(), one.is_precaution())).collect();
        let wanted = [
            ("no tool matches `put_*` of `include`", false),
            ("no tool matches `nothing` of `exclude`", false),
            ("no tool matches `drop_*` of `exclude`", true),
            ("there is no tool for `[tools.gone]`", false),
        ];
        assert_eq!(reported, wanted.map(|(text, precaution)| (text.to_owned(), precaution)));
    }
}
